"""The console at `/console`: what administrators do, as pages (4-interface). Each action calls the service that
the REST endpoint of the same name calls; no logic stands here a second time.
"""

from typing import Final

from fastapi import APIRouter, FastAPI, Response
from fastapi.staticfiles import StaticFiles

from holder_service.domain.errors import NotFound
from holder_service.services.accounts import access
from holder_service.services.running import overview
from holder_service.storage.ledger_views import EntryFilter
from holder_service.web.console import approvals, auditors, budgets, datasets, ledger, loads, log_in, sign_in
from holder_service.web.console.log_in import LogInLimit
from holder_service.web.console.pages import ROOT, STATIC, STATIC_FOLDER, SecurityHeaders
from holder_service.web.console.pictures import spending_chart
from holder_service.web.console.session import ConsoleRoute, Visitor
from holder_service.web.edge.lanes import LOOKING_UP, Lane
from shared import look

ENTRIES_SHOWN: Final = 8

router = APIRouter(route_class=ConsoleRoute, include_in_schema=False)


def install(app: FastAPI) -> None:
    """Add the console to the holder's application."""
    app.state.log_in_limit = LogInLimit()
    app.state.sign_in_lane = Lane("sign-in", LOOKING_UP)
    app.mount(STATIC, StaticFiles(directory=STATIC_FOLDER, packages=[(look.__name__, look.STATIC)]))
    for part in (log_in, sign_in, datasets, loads, auditors, budgets, approvals, ledger):
        app.include_router(part.router)
    app.include_router(router)
    app.add_middleware(SecurityHeaders)


@router.get(f"{ROOT}/")
@router.get(ROOT)
def show_overview(visit: Visitor) -> Response:
    """Everything at a glance."""
    now = visit.store.clock()
    populations = overview.every_population(visit.store)
    names = [state.population.name for state in populations]
    charts = {
        name: spending_chart(visit.store.look_up(visit.store.sums.balances_over_time, name), now) for name in names
    }
    return visit.page(
        "overview.html.j2", section="overview", populations=populations, charts=charts,
        store=overview.store_state(visit.store), holder=visit.holder,
        signing_key=visit.holder.public_keys().keys[-1].id,
        names=access.display_names(visit.store), notices=visit.notices(),
        entries=overview.newest_entries(visit.store, EntryFilter(), before=None, limit=ENTRIES_SHOWN),
    )  # fmt: skip


@router.get(f"{ROOT}/{{path:path}}")
def show_nothing(_: Visitor, path: str) -> Response:
    """Any other page below the console's path."""
    raise NotFound(f"The console does not have a page {path[:80]!r}. Use the navigation.")
