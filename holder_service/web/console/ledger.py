"""The console's pages about the ledger: entries a page at a time, one of them, export, verification, a restore."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Final, get_args
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, Path, Query, Request, Response
from fastapi.responses import StreamingResponse

from holder_service.domain.errors import Conflict, InvalidRequest
from holder_service.domain.ledger import Entry, Kind
from holder_service.services.accounts import access
from holder_service.services.datasets.datasets import metadata_of
from holder_service.services.ledger import key_rotation
from holder_service.services.ledger import reading as ledger_reading
from holder_service.services.ledger.export import csv_pages
from holder_service.services.releases import questions
from holder_service.services.running import overview
from holder_service.storage import datasets
from holder_service.storage.ledger_views import EntryFilter
from holder_service.web.console.forms import read_timestamp
from holder_service.web.console.pages import ROOT
from holder_service.web.console.session import (
    AdministratorVisit,
    CheckedForm,
    ConsoleRoute,
    ReaderVisit,
    Visit,
    Visitor,
    or_again,
)
from holder_service.web.console.words import summary_facts
from shared.contract.datasets import Restore
from shared.kinds.registry import kind_of_entry
from shared.wire import limits

PAGE_ENTRIES: Final = 50
FILTERS: Final = ("kind", "population", "dataset", "account", "since", "until")
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)

router = APIRouter(prefix=ROOT, route_class=ConsoleRoute, include_in_schema=False)


def _filter_text(request: Request) -> dict[str, str]:
    return {name: request.query_params.get(name, "") for name in FILTERS}


FilterText = Annotated[dict[str, str], Depends(_filter_text)]
"""What somebody chose or typed to filter by; empty where nothing."""


def _list_page(visit: Visit, filters: FilterText, *, found: Sequence[Entry] = (), newer: int | None = None) -> Response:
    """The page of the entries that were found below `newer`, one more than it shows if there are older ones."""
    shown = found[:PAGE_ENTRIES]
    given = {name: text for name, text in filters.items() if text}
    older = {**given, "before": shown[-1].sequence} if len(found) > PAGE_ENTRIES else None
    with visit.store.database.read() as connection:
        populations = [population.name for population in datasets.every_population(connection)]
        named = [dataset.name for dataset in datasets.every(connection)]
    return visit.page(
        "ledger.html.j2", section="ledger", filters=filters, entries=shown, before=newer, kinds=KINDS,
        populations=_with(populations, filters["population"]),
        datasets=_with(named, filters["dataset"]),
        accounts=_with((account.name for account, _ in access.every_account(visit.store)), filters["account"]),
        query=urlencode(given), older=urlencode(older) if older else None,
        names=access.display_names(visit.store), signing_keys=visit.holder.public_keys().keys,
    )  # fmt: skip


@router.get("/ledger")
@or_again(_list_page)
def list_entries(
    visit: Visitor, filters: FilterText, before: Annotated[int | None, Query(ge=1, le=limits.INTEGER_MAX)] = None
) -> Response:
    """Entries that pass all filters, newest first."""
    found = overview.newest_entries(visit.store, _filter(filters), before=before, limit=PAGE_ENTRIES + 1)
    return _list_page(visit, filters, found=found, newer=before)


@router.get("/ledger/{sequence}")
def show_entry(visit: Visitor, sequence: Annotated[int, Path(ge=1, le=limits.INTEGER_MAX)]) -> Response:
    """All that an entry holds, and what was asked for a charge."""
    entry = overview.entry(visit.store, sequence)
    question = questions.find_question(visit.store, sequence)
    summary = None if question is None else question.request.summary()
    words = None if question is None else metadata_of(visit.store, question.dataset)
    return visit.page(
        "entry.html.j2", section="ledger", entry=entry, kind=kind_of_entry(entry.event.detail), question=question,
        summary=summary, facts=[] if summary is None or words is None else summary_facts(summary, words),
        document=json.dumps(entry.document(), indent=2, ensure_ascii=False),
        head=ledger_reading.head(visit.store).sequence, names=access.display_names(visit.store),
    )  # fmt: skip


@router.get("/ledger.csv")
def export_entries(visit: Visitor, filters: FilterText) -> Response:
    """All entries that pass all filters, as the REST interface exports them."""
    headers = {"Content-Disposition": 'attachment; filename="ledger.csv"'}
    return StreamingResponse(csv_pages(visit.store, which=_filter(filters)), media_type="text/csv", headers=headers)


@router.post("/ledger/verify")
def verify(visit: ReaderVisit, _: CheckedForm) -> Response:
    """Recompute the chain and every balance, and say what was found."""
    found = ledger_reading.verify(visit.store, seals=visit.holder.seals)
    text = f"The ledger is not valid from entry {found.broken_at} on: {found.reason}."
    if found.intact:
        text = f"Intact: {found.entries} entries were recomputed, and every balance and stored release follows."
    return visit.done(f"{ROOT}/ledger", text, good=found.intact)


@router.post("/signing-keys")
def rotate_signing_key(visit: AdministratorVisit, form: CheckedForm) -> Response:
    """Put a new signing key in force."""
    if form.text("newest") != visit.holder.public_keys().keys[-1].id:
        raise Conflict(
            "This form was already sent, or another administrator replaced the key at the same time. "
            "Look at the keys below before you send it again."
        )
    made = key_rotation.rotate(visit.store, visit.holder.signing, actor=visit.actor)
    return visit.done(f"{ROOT}/ledger", f"Signing key {made.id} is in force.")


@router.get("/restore")
def show_restore(visit: Visitor) -> Response:
    """Where ledger and anchor stand, and how to record a restore."""
    return visit.page("restore.html.j2", section="restore", state=overview.store_state(visit.store))


@router.post("/restore")
@or_again(show_restore)
def record_restore(visit: AdministratorVisit, form: CheckedForm) -> Response:
    """Record that the database was restored from a copy."""
    restore = Restore(reason=form.text("reason"))
    entry = ledger_reading.record_restore(visit.store, actor=visit.actor, reason=restore.reason).entry
    return visit.done(
        f"{ROOT}/restore",
        f"The restore is entry {entry.sequence}. Every cap is closed: set each again on a dataset’s page, lowered "
        "by what is missing.",
    )


def _filter(filters: Mapping[str, str]) -> EntryFilter:
    """Return what the texts mean.

    Raises:
        InvalidRequest: The kind is unknown, or a time is not one.
    """
    kind = next((kind for kind in KINDS if kind == filters["kind"]), None)
    if filters["kind"] and kind is None:
        raise InvalidRequest("This kind of entry does not exist. Choose one from the list.")
    return EntryFilter(
        kind, filters["population"] or None, filters["dataset"] or None, account=filters["account"] or None,
        since=read_timestamp("From", filters["since"]), until=read_timestamp("Before", filters["until"]),
    )  # fmt: skip


def _with(names: Iterable[str], chosen: str) -> list[str]:
    """Names to choose from, with the one that is chosen even if it is none of them."""
    return sorted({*names, chosen} - {""})
