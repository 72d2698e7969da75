"""The holder as a web application; made by a call, so importing this does nothing."""

import gc
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI
from starlette.concurrency import run_in_threadpool

from holder_service.files.core_dumps import forbid_core_dumps
from holder_service.files.private import keep_new_files_private
from holder_service.services.running.holder import Holder
from holder_service.settings.holder import Settings
from holder_service.web.console import overview as console
from holder_service.web.edge import problems
from holder_service.web.edge.addresses import AddressesWithoutNul
from holder_service.web.edge.dependencies import Authentication
from holder_service.web.edge.head_requests import HeadAsGet
from holder_service.web.edge.metrics import Metrics
from holder_service.web.edge.rate_limits import RateLimits
from holder_service.web.edge.release_rooms import ReleaseRooms
from holder_service.web.edge.release_slots import ReleaseSlots
from holder_service.web.edge.telemetry import Telemetry
from holder_service.web.rest import (
    administrators,
    approvals,
    auditors,
    columns,
    documentation,
    health,
    kinds,
    ledger,
    log,
    problem_pages,
    watches,
)
from holder_service.web.rest.contract import VERSION, contract

GC_THRESHOLD = 10_000
"""A large plan is a million objects that all go together; looking for cycles among them took half of its time."""
COLUMN_CALLS = 4
"""How many calls that bring a score document or linked values each process takes at once."""
_log = logging.getLogger(__name__)


def create_served_app() -> FastAPI:
    """The application in a process of its own, as `holder serve` runs it."""
    forbid_core_dumps()
    keep_new_files_private()
    return create_app()


def create_app(settings: Settings | None = None) -> FastAPI:
    """Build the application of a holder that was set up; its settings are the environment's if none are given.

    Raises:
        NotInitialised: `holder init` has to run first.
    """
    holder = Holder.open(settings or Settings.from_environment())

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        # What start-up made stays for good; without this a full collection pauses answers now and then.
        _log.info("holder starts", extra={"version": VERSION})
        await run_in_threadpool(holder.sweep)
        holder.engine.start()
        holder.wake()
        holder.notices.start()
        if holder.publisher is not None:
            holder.publisher.start()
        gc.collect()
        gc.freeze()
        gc.set_threshold(GC_THRESHOLD)
        yield
        holder.close()

    app = FastAPI(
        title="PAFER holder",
        version=VERSION,
        summary="Noisy histograms over rules, charged to a ledger",
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        # The framework's own observers, which the environment could switch on: spans would say how long a draw took,
        # and logs what an exception quotes (2-privacy §7).
        telemetry={"tracing": False, "metrics": False, "logs": False, "auto_configure": False},
        generate_unique_id_function=lambda route: route.name,
    )
    app.state.holder = holder
    app.state.metrics = Metrics()
    app.state.release_rooms = ReleaseRooms(holder.settings.concurrent_releases, holder.settings.release_quantum_ms)
    app.state.column_slots = ReleaseSlots(COLUMN_CALLS)
    # Routes are tried in order, and the first is called most.
    app.include_router(kinds.routes(kinds.PLANS, [kinds.add_ask]))
    app.include_router(auditors.router)
    app.include_router(kinds.routes(kinds.PLANS, [kinds.add_quote, kinds.add_list]))
    further = (watches, approvals, administrators, ledger, log, health, problem_pages, documentation)
    for router in (
        auditors.positions, columns.router, *map(kinds.routes, kinds.OTHERS), *(room.router for room in further),
    ):  # fmt: skip
        app.include_router(router)
    console.install(app)
    problems.install(app)
    app.add_middleware(AddressesWithoutNul)
    app.add_middleware(Authentication, holder=holder)
    app.add_middleware(RateLimits, requests_per_s=holder.settings.requests_per_s)
    app.add_middleware(problems.LastResort)
    app.add_middleware(Telemetry, metrics=app.state.metrics)
    app.add_middleware(HeadAsGet)
    app.openapi = lambda: contract(app)  # type: ignore[method-assign]  # the documented way to extend it
    return app
