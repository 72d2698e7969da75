"""The console's pages about the ledger: entries a page at a time, one of them, export, verification, a restore."""

import json
from typing import Annotated, Final, get_args
from urllib.parse import urlencode

from fastapi import APIRouter, Path, Query, Response
from fastapi.responses import StreamingResponse

from holder_service.domain.errors import Conflict
from holder_service.domain.ledger import Kind
from holder_service.services import accounts, ledger, overview, signing_keys
from holder_service.storage.ledger_views import EntryFilter
from holder_service.web.admin_ledger import Restore
from holder_service.web.console.forms import Form
from holder_service.web.console.pages import ROOT, Refusal
from holder_service.web.console.session import CheckedForm, ConsoleRoute, Visit, Visitor
from holder_service.web.ledger_export import csv_pages
from shared import limits

PAGE_ENTRIES: Final = 50
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)

router = APIRouter(prefix=ROOT, route_class=ConsoleRoute, include_in_schema=False)


@router.get("/ledger")
def list_entries(
    visit: Visitor,
    kind: Annotated[str, Query()] = "",
    population: Annotated[str, Query()] = "",
    account: Annotated[str, Query()] = "",
    before: Annotated[int | None, Query(ge=1, le=limits.INTEGER_MAX)] = None,
) -> Response:
    """Entries, newest first, of a kind, about a population, by or about an account."""
    which = EntryFilter(
        next((one for one in KINDS if one == kind), None), population=population or None, account=account or None
    )
    found = overview.newest_entries(visit.books, which, before=before, limit=PAGE_ENTRIES + 1)
    shown = found[:PAGE_ENTRIES]
    asked = {name: value for name, value in (("kind", kind), ("population", population), ("account", account)) if value}
    older = {**asked, "before": shown[-1].sequence} if len(found) > PAGE_ENTRIES else None
    return visit.page(
        "ledger.html.j2", section="ledger", entries=shown, which=which, before=before, kinds=KINDS,
        populations=[state.population.name for state in overview.every_population(visit.books)],
        accounts=[found.name for found, _ in accounts.every_account(visit.books)],
        newest=urlencode(asked), older=urlencode(older) if older else None,
        signing_keys=visit.holder.public_keys().keys,
    )  # fmt: skip


@router.get("/ledger/{sequence}")
def show_entry(visit: Visitor, sequence: Annotated[int, Path(ge=1, le=limits.INTEGER_MAX)]) -> Response:
    """All that an entry holds."""
    return visit.page(
        "entry.html.j2", section="ledger", entry=(entry := overview.entry(visit.books, sequence)),
        document=json.dumps(entry.document(), indent=2, ensure_ascii=False), head=ledger.head(visit.books)[0],
    )  # fmt: skip


@router.get("/ledger.csv")
def export_entries(visit: Visitor) -> Response:
    """The whole ledger, as the REST interface exports it."""
    headers = {"Content-Disposition": 'attachment; filename="ledger.csv"'}
    return StreamingResponse(csv_pages(visit.books), media_type="text/csv", headers=headers)


@router.post("/ledger/verify")
def verify(visit: Visitor, _: CheckedForm) -> Response:
    """Recompute the chain and every balance, and say what was found."""

    def work() -> Response:
        found = ledger.verify(visit.books)
        if found.intact:
            text = f"Intact: {found.entries} entries were recomputed, and every balance and stored release follows."
        else:
            text = f"Broken at entry {found.broken_at}: {found.reason}."
        return visit.done(f"{ROOT}/ledger", text, good=found.intact)

    return visit.attempt(work, visit.refused)


@router.post("/signing-keys")
def rotate_signing_key(visit: Visitor, form: CheckedForm) -> Response:
    """Put a new signing key in force."""

    def work() -> Response:
        if form.text("newest") != visit.holder.public_keys().keys[-1].id:
            raise Conflict("This form was sent before, or somebody else put a key in force meanwhile: look below.")
        made = signing_keys.rotate(visit.books, visit.holder.signing, actor=visit.actor)
        return visit.done(f"{ROOT}/ledger", f"Signing key {made.id} is in force.")

    return visit.attempt(work, visit.refused)


@router.get("/restore")
def show_restore(visit: Visitor) -> Response:
    """Where ledger and anchor stand, and how to record a restore."""
    return _restore_page(visit)


@router.post("/restore")
def record_restore(visit: Visitor, form: CheckedForm) -> Response:
    """Record that the database was restored from a copy."""

    def work() -> Response:
        restore = Restore(reason=form.text("reason"))
        entry = ledger.record_restore(visit.books, actor=visit.actor, reason=restore.reason)
        return visit.done(f"{ROOT}/restore", f"The restore is entry {entry.sequence}; the holder may release again.")

    return visit.attempt(work, lambda refusal: _restore_page(visit, form, refusal))


def _restore_page(visit: Visit, form: Form | None = None, refusal: Refusal | None = None) -> Response:
    return visit.page(
        "restore.html.j2", section="restore", refusal=refusal, entered=form, state=overview.store_state(visit.books)
    )
