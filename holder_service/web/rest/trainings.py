"""What auditors call about trainings: models that the holder learns, charged and signed like plans (7-training §1)."""

from typing import Annotated

from fastapi import APIRouter, Path, Response
from starlette.concurrency import run_in_threadpool

from holder_service.services.releases import releases
from holder_service.web.edge.bodies import StrictRoute
from holder_service.web.edge.dependencies import PathDataset, TheHolder, TheRooms
from holder_service.web.edge.roles import Auditor
from holder_service.web.rest.answers import TrainingList, summaries
from holder_service.web.rest.auditors import PLAN_REFUSALS, After, PageSize
from holder_service.web.rest.contract import refusals
from holder_service.web.rest.releasing import APPROVAL, REFUSALS, Purpose, released
from shared.kinds.quotes import QuoteBase
from shared.kinds.trainings import Training, TrainingQuote, TrainingRelease

router = APIRouter(prefix="/v1/datasets/{dataset}/trainings", tags=["auditor"], route_class=StrictRoute)
TrainingId = Annotated[
    str, Path(pattern="^sha256:[0-9a-f]{64}$", description="The training's id.", examples=["sha256:" + "0" * 64])
]


@router.post("/quotes", response_model=TrainingQuote, openapi_extra=refusals(*PLAN_REFUSALS))
async def quote_training(holder: TheHolder, caller: Auditor, dataset: PathDataset, training: Training) -> QuoteBase:
    """A training's price, its steps and their noise; touches neither records nor budget."""
    return await run_in_threadpool(releases.quote, holder.store, auditor=caller.name, dataset=dataset, asked=training)


@router.post(
    "",
    status_code=201,
    response_model=TrainingRelease,
    responses={
        200: {
            "model": TrainingRelease, "description": "The training was answered before: the same bytes, at no cost"
        },
        202: APPROVAL,
    },
    openapi_extra=refusals(*REFUSALS),
)  # fmt: skip
async def release_training(
    holder: TheHolder,
    rooms: TheRooms,
    caller: Auditor,
    dataset: PathDataset,
    training: Training,
    *,
    purpose: Purpose = None,
) -> Response:
    """Learn a model from the records under noise: charged once, however often it is asked."""
    return await released(
        holder, rooms, caller, dataset=dataset, asked=training, listed_at="trainings", purpose=purpose
    )


@router.get("", openapi_extra=refusals("not-found"))
async def list_trainings(
    holder: TheHolder, caller: Auditor, dataset: PathDataset, after: After = 0, limit: PageSize = 100
) -> TrainingList:
    """The caller's own trainings about a dataset, in the order of their ledger entries, a page at a time."""
    found = await run_in_threadpool(
        releases.page, holder.store, auditor=caller.name, dataset=dataset, kind="training", after=after, limit=limit
    )
    return TrainingList(trainings=summaries(found), next=found[-1].sequence if len(found) == limit else None)


@router.get(
    "/{training_id}",
    response_model=TrainingRelease,
    openapi_extra=refusals("not-found", "restore-unrecorded"),
)
async def show_training(holder: TheHolder, caller: Auditor, dataset: PathDataset, training_id: TrainingId) -> Response:
    """One of the caller's trainings again, byte for byte."""
    stored = await run_in_threadpool(
        releases.require_release, holder.store, auditor=caller.name, dataset=dataset, identity=training_id,
        kind="training",
    )  # fmt: skip
    return Response(stored.body, 200, media_type="application/json")
