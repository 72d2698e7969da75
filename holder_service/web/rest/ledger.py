"""What administrators call about the ledger: read, export, verify, report, record a restore; and the signing keys."""

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Path, Query, Response
from fastapi.responses import HTMLResponse, JSONResponse, StreamingResponse

from holder_service.domain.ledger import Kind
from holder_service.services.ledger import key_rotation
from holder_service.services.ledger import reading as ledger_reading
from holder_service.services.ledger.export import EXPORT_PAGE_ENTRIES, MEDIA_TYPES, csv_pages, json_pages
from holder_service.services.releases import questions
from holder_service.services.releases.questions import ChargedQuestion
from holder_service.services.releases.transparency import transparency_report
from holder_service.storage.ledger_views import EntryFilter
from holder_service.web.console.transparency import transparency_document, transparency_page
from holder_service.web.edge.bodies import StrictRoute
from holder_service.web.edge.dependencies import PathDataset, TheHolder
from holder_service.web.edge.roles import Administrator, Reader
from holder_service.web.rest.answers import LedgerPage, ShownRestore, ShownVerification, TransparencyDocument
from holder_service.web.rest.contract import refusals
from shared.contract.datasets import Restore
from shared.kinds.releases import SigningKey
from shared.wire import limits
from shared.wire.text import Name
from shared.wire.timestamps import Timestamp

router = APIRouter(prefix="/v1/admin", tags=["administrator"], route_class=StrictRoute)


def _filter(
    *,
    kind: Annotated[Kind | None, Query(description="Only entries of this kind.")] = None,
    population: Annotated[Name | None, Query(description="Only entries about this population.")] = None,
    dataset: Annotated[Name | None, Query(description="Only entries about this dataset.")] = None,
    auditor: Annotated[Name | None, Query(description="Only entries about this auditor.")] = None,
    account: Annotated[
        Name | None, Query(description="Only what this account did, and what was done about it.")
    ] = None,
    since: Annotated[Timestamp | None, Query(description="From this time on, with its zone.")] = None,
    until: Annotated[Timestamp | None, Query(description="Before this time, with its zone.")] = None,
) -> EntryFilter:
    return EntryFilter(kind, population, dataset, auditor, account, since, until)


Filter = Annotated[EntryFilter, Depends(_filter)]


@router.get(
    "/ledger",
    response_model=None,
    responses={
        200: {"model": LedgerPage, "content": {media: {"schema": {"type": "string"}} for media in MEDIA_TYPES.values()}}
    },
)
def read_ledger(
    holder: TheHolder,
    _: Reader,
    which: Filter,
    *,
    after: Annotated[int, Query(ge=0, le=limits.INTEGER_MAX, description="Only entries behind this number.")] = 0,
    upto: Annotated[
        int | None, Query(ge=0, le=limits.INTEGER_MAX, description="Only entries up to this number, and it.")
    ] = None,
    limit: Annotated[int, Query(ge=1, le=EXPORT_PAGE_ENTRIES, description="The most entries in a page of JSON.")] = 100,
    as_format: Annotated[
        Literal["json", "jsonl", "csv"], Query(alias="format", description="A page as JSON, or all as lines or CSV.")
    ] = "json",
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


@router.get("/ledger/{sequence}/question", openapi_extra=refusals("not-found"))
def show_question(
    holder: TheHolder,
    _: Reader,
    sequence: Annotated[int, Path(ge=1, le=limits.INTEGER_MAX, description="The entry's number.", examples=[34])],
) -> ChargedQuestion:
    """What was asked for a charge: the plan, training or watch, whole, as its release keeps it."""
    return questions.question_of(holder.store, sequence)


@router.post("/ledger/verify")
def verify_ledger(holder: TheHolder, _: Reader) -> ShownVerification:
    """Recompute the chain and every balance, and compare the tables with what the entries say."""
    return ShownVerification.of(ledger_reading.verify(holder.store, seals=holder.seals))


@router.post("/ledger/restore", status_code=201, openapi_extra=refusals("conflict"))
def record_restore(holder: TheHolder, caller: Administrator, response: Response, restore: Restore) -> ShownRestore:
    """Record that the database was restored from a copy, and close every cap until it is declared again."""
    recorded = ledger_reading.record_restore(holder.store, actor=caller.name, reason=restore.reason)
    response.headers["Location"] = f"/v1/ledger/entries/{recorded.entry.sequence}"
    return ShownRestore(sequence=recorded.entry.sequence, hash=recorded.entry.hash, closed=recorded.closed)


@router.get(
    "/datasets/{dataset}/report",
    response_model=None,
    responses={200: {"model": TransparencyDocument, "content": {"text/html": {"schema": {"type": "string"}}}}},
    openapi_extra=refusals("not-found"),
)
def report_on_dataset(
    holder: TheHolder,
    _: Reader,
    dataset: PathDataset,
    *,
    as_format: Annotated[
        Literal["json", "html"], Query(alias="format", description="A document, or a page to publish.")
    ] = "json",
) -> Response:
    """What was released about a dataset, to whom, when and at what loss: to be published."""
    report = transparency_report(holder.store, dataset, organisation=holder.settings.organisation)
    if as_format == "html":
        return HTMLResponse(transparency_page(holder.store, report))
    return JSONResponse(transparency_document(report))  # which is JSON already: FastAPI would copy all of it


@router.post("/signing-keys", status_code=201, openapi_extra=refusals("conflict", "restore-unrecorded"))
def rotate_signing_key(holder: TheHolder, caller: Administrator, response: Response) -> SigningKey:
    """Put a new signing key in force, which the one before hands over to; `GET /v1/keys` lists them all."""
    response.headers["Location"] = "/v1/keys"
    return key_rotation.rotate(holder.store, holder.signing, actor=caller.name)
