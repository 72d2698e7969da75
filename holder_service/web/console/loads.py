"""The console's pages about loads: records loaded from a file or by URL, and how far the loads of a dataset are."""

from pathlib import Path
from typing import Final

from fastapi import APIRouter, Request, Response
from pydantic import ValidationError
from starlette.concurrency import run_in_threadpool

from holder_service.domain.errors import HolderError
from holder_service.records.formats import RecordsUrl
from holder_service.records.progress import Report
from holder_service.services.datasets import datasets
from holder_service.services.running import loads
from holder_service.web.console.cookies import check_origin
from holder_service.web.console.datasets import path_of, show_dataset
from holder_service.web.console.files import format_of, receive_form
from holder_service.web.console.forms import Form
from holder_service.web.console.pages import ROOT, Refusal
from holder_service.web.console.session import CheckedForm, ConsoleRoute, StewardVisit
from holder_service.web.edge.dependencies import PathName
from holder_service.web.edge.uploads import Received, load_upload, load_url

REFRESHED_EVERY_S: Final = 2
"""The page of loads that are under way is loaded again that often; it has no form that somebody might be filling in."""

router = APIRouter(prefix=ROOT, route_class=ConsoleRoute, include_in_schema=False)


@router.get("/datasets/{dataset}/loads")
def show_loads(visit: StewardVisit, dataset: PathName) -> Response:
    """How far the loads of a dataset are; the page comes again by itself until there are none."""
    under_way = loads.under_way(visit.store, visit.holder.files, dataset)
    return visit.page(
        "loads.html.j2", section="datasets", dataset=datasets.read_dataset(visit.store, dataset), loads=under_way,
        refreshed_every_s=REFRESHED_EVERY_S,
    )  # fmt: skip


@router.post("/datasets/{dataset}/records")
async def load_records(request: Request, visit: StewardVisit, dataset: PathName) -> Response:
    """Load records from a file: all of them, or none."""
    fields: dict[str, str] = {}

    async def receive(path: Path, bytes_max: int, report: Report) -> Received:
        return await receive_form(
            request, path, bytes_max=bytes_max, fields=fields,
            check=lambda token: check_origin(request, visit.session.token, token), report=report,
        )  # fmt: skip

    try:
        version = await load_upload(visit.holder, actor=visit.actor, dataset=dataset, receive=receive)
    except (HolderError, ValidationError) as error:
        visit.refusal, visit.form = Refusal.of(error), Form(fields)
        return await run_in_threadpool(show_dataset, visit, dataset)
    if version is None:
        return visit.done(path_of(dataset), f"The file fits the declaration of {dataset}. Nothing was stored.")
    return visit.done(path_of(dataset), f"Version {version} of {dataset} is loaded.")


@router.post("/datasets/{dataset}/records/url")
async def load_records_from(visit: StewardVisit, dataset: PathName, form: CheckedForm) -> Response:
    """Load records from files that the holder reads by itself: all of them, or none."""
    try:
        source = RecordsUrl(form.text("url"), format_of(form.values))
        check = "check" in form.values
        version = await load_url(visit.holder, actor=visit.actor, dataset=dataset, source=source, check=check)
    except (HolderError, ValidationError) as error:
        visit.refusal = Refusal.of(error)
        return await run_in_threadpool(show_dataset, visit, dataset)
    if version is None:
        return visit.done(path_of(dataset), f"The files fit the declaration of {dataset}. Nothing was stored.")
    return visit.done(path_of(dataset), f"Version {version} of {dataset} is loaded.")
