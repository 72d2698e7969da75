"""What administrators call about the ledger: read, export, verify, report, record a restore; and the signing keys."""

from dataclasses import asdict
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Path, Query, Response
from fastapi.responses import HTMLResponse, StreamingResponse

from holder_service.domain.ledger import Kind
from holder_service.services import key_rotation, ledger_reading
from holder_service.services.ledger_export import EXPORT_PAGE_ENTRIES, MEDIA_TYPES, csv_pages, json_pages
from holder_service.services.transparency import transparency_report
from holder_service.storage.ledger_views import EntryFilter
from holder_service.web.console.transparency import transparency_document, transparency_page
from holder_service.web.edge.bodies import StrictRoute
from holder_service.web.edge.dependencies import Administrator, TheHolder
from holder_service.web.rest.documentation import PROBLEM_RESPONSES
from shared import limits
from shared.datasets import Restore
from shared.releases import LedgerPosition, SigningKey
from shared.text import Name
from shared.timestamps import Timestamp

router = APIRouter(prefix="/v1/admin", tags=["administrator"], route_class=StrictRoute, responses=PROBLEM_RESPONSES)


class ShownRestore(LedgerPosition):
    """Where a restore's entry is, and the populations whose cap it closed until they are declared again."""

    closed: tuple[str, ...]


def _filter(
    *,
    kind: Annotated[Kind | None, Query()] = None,
    population: Annotated[Name | None, Query()] = None,
    dataset: Annotated[Name | None, Query()] = None,
    auditor: Annotated[Name | None, Query()] = None,
    account: Annotated[Name | None, Query(description="What it did, and what was done about it.")] = None,
    since: Annotated[Timestamp | None, Query(description="From this time on, with its zone.")] = None,
    until: Annotated[Timestamp | None, Query(description="Before this time, with its zone.")] = None,
) -> EntryFilter:
    return EntryFilter(kind, population, dataset, auditor, account, since, until)


Filter = Annotated[EntryFilter, Depends(_filter)]


@router.get("/ledger", response_model=None, responses={200: {"content": {media: {} for media in MEDIA_TYPES.values()}}})
def read_ledger(
    holder: TheHolder,
    _: Administrator,
    which: Filter,
    *,
    after: Annotated[int, Query(ge=0, le=limits.INTEGER_MAX)] = 0,
    upto: Annotated[int | None, Query(ge=0, le=limits.INTEGER_MAX)] = None,
    limit: Annotated[int, Query(ge=1, le=EXPORT_PAGE_ENTRIES)] = 100,
    as_format: Annotated[Literal["json", "jsonl", "csv"], Query(alias="format")] = "json",
) -> Response | dict[str, Any]:
    """Entries in order, those that pass all filters: a page as JSON, or all of them as CSV or as lines of JSON.

    The last line of an export has the kind "end-of-export": without it the export is not whole.
    """
    if as_format != "json":
        pages = csv_pages if as_format == "csv" else json_pages
        content = pages(holder.store, after=after, upto=upto, which=which)
        return StreamingResponse(content, media_type=MEDIA_TYPES[as_format])
    found = ledger_reading.page(holder.store, after=after, upto=upto, limit=limit, which=which)
    return {
        "entries": [entry.document() for entry in found],
        "next": found[-1].sequence if len(found) == limit else None,
    }


@router.post("/ledger/verify")
def verify_ledger(holder: TheHolder, _: Administrator) -> dict[str, Any]:
    """Recompute the chain and every balance, and compare the tables with what the entries say."""
    verification = ledger_reading.verify(holder.store)
    return {"intact": verification.intact, **asdict(verification)}


@router.post("/ledger/restore", status_code=201)
def record_restore(holder: TheHolder, caller: Administrator, restore: Restore) -> ShownRestore:
    """Record that the database was restored from a copy, and close every cap until it is declared again."""
    recorded = ledger_reading.record_restore(holder.store, actor=caller.name, reason=restore.reason)
    return ShownRestore(sequence=recorded.entry.sequence, hash=recorded.entry.hash, closed=recorded.closed)


@router.get("/datasets/{dataset}/report", response_model=None, responses={200: {"content": {"text/html": {}}}})
def report_on_dataset(
    holder: TheHolder,
    _: Administrator,
    dataset: Annotated[Name, Path()],
    *,
    as_format: Annotated[Literal["json", "html"], Query(alias="format")] = "json",
) -> Response | dict[str, Any]:
    """What was released about a dataset, to whom, when and at what loss: to be published."""
    report = transparency_report(holder.store, dataset)
    if as_format == "html":
        return HTMLResponse(transparency_page(holder.store, report))
    return transparency_document(report)


@router.post("/signing-keys", status_code=201)
def rotate_signing_key(holder: TheHolder, caller: Administrator) -> SigningKey:
    """Put a new signing key in force, which the one before hands over to; `GET /v1/keys` lists them all."""
    return key_rotation.rotate(holder.store, holder.signing, actor=caller.name)
