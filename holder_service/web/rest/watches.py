"""What auditors call about watches: verdicts that the holder asks again of every new version (8-time §3)."""

from typing import Annotated

from fastapi import APIRouter, Path, Response
from starlette.concurrency import run_in_threadpool

from holder_service.services.releases import releases, watching
from holder_service.services.releases.watching import ListedWatch
from holder_service.web.edge.bodies import StrictRoute
from holder_service.web.edge.dependencies import PathDataset, TheHolder, TheRooms
from holder_service.web.edge.roles import Auditor
from holder_service.web.rest.answers import WatchList, WatchSummary
from holder_service.web.rest.auditors import PLAN_REFUSALS, After, PageSize
from holder_service.web.rest.contract import refusals
from holder_service.web.rest.releasing import APPROVAL, REFUSALS, Purpose, released
from shared.kinds.quotes import QuoteBase
from shared.kinds.watches import ANSWER_KIND, SKIP_KIND, Watch, WatchQuote, WatchRelease, WatchReport
from shared.wire.canonical import canonical_bytes, object_bytes

router = APIRouter(prefix="/v1/datasets/{dataset}/watches", tags=["auditor"], route_class=StrictRoute)
WatchId = Annotated[
    str, Path(pattern="^sha256:[0-9a-f]{64}$", description="The watch's id.", examples=["sha256:" + "0" * 64])
]


@router.post("/quotes", response_model=WatchQuote, openapi_extra=refusals(*PLAN_REFUSALS))
async def quote_watch(holder: TheHolder, caller: Auditor, dataset: PathDataset, watch: Watch) -> QuoteBase:
    """A watch's price and noise; touches neither records nor budget."""
    return await run_in_threadpool(releases.quote, holder.store, auditor=caller.name, dataset=dataset, asked=watch)


@router.post(
    "",
    status_code=201,
    response_model=WatchRelease,
    responses={
        200: {"model": WatchRelease, "description": "The watch was set before: the same bytes, at no cost"},
        202: APPROVAL,
    },
    openapi_extra=refusals(*REFUSALS),
)
async def set_watch(
    holder: TheHolder, rooms: TheRooms, caller: Auditor, dataset: PathDataset, watch: Watch, *, purpose: Purpose = None
) -> Response:
    """Have a verdict watched: charged once and whole; the current version is answered next, then every new one."""
    answer = await released(holder, rooms, caller, dataset=dataset, asked=watch, listed_at="watches", purpose=purpose)
    holder.wake_rounds()
    return answer


@router.get("", openapi_extra=refusals("not-found", "restore-unrecorded"))
async def list_watches(
    holder: TheHolder, caller: Auditor, dataset: PathDataset, after: After = 0, limit: PageSize = 1000
) -> WatchList:
    """The caller's own watches about a dataset: unchanged up to which version, or changed at which."""
    found = await run_in_threadpool(
        watching.page, holder.store, auditor=caller.name, dataset=dataset, after=after, limit=limit
    )
    following = found[-1].release.sequence if len(found) == limit else None
    return WatchList(watches=tuple(map(_summary, found)), next=following)


@router.get("/{watch_id}", response_model=WatchReport, openapi_extra=refusals("not-found", "restore-unrecorded"))
async def show_watch(holder: TheHolder, caller: Auditor, dataset: PathDataset, watch_id: WatchId) -> Response:
    """One of the caller's watches with all that was signed about it, byte for byte."""
    one = await run_in_threadpool(watching.shown, holder.store, auditor=caller.name, dataset=dataset, identity=watch_id)
    due = canonical_bytes(None if one.due is None else one.due.isoformat())
    content = object_bytes(
        {
            "answers": _list_bytes(one.bodies(ANSWER_KIND)), "skipped": _list_bytes(one.bodies(SKIP_KIND)),
            "watch": one.release.body, "due": due, "pending": canonical_bytes(one.pending),
        }
    )  # fmt: skip
    return Response(content, 200, media_type="application/json")


def _summary(one: ListedWatch) -> WatchSummary:
    return WatchSummary(
        id=one.release.id, version=one.release.version, sequence=one.release.sequence, created=one.release.created,
        answered=one.answered, changed=one.changed, pending=one.pending,
        due=None if one.due is None else one.due.isoformat(), rehearsal_of=one.rehearsal_of,
    )  # fmt: skip


def _list_bytes(documents: list[bytes]) -> bytes:
    return b"[" + b",".join(documents) + b"]"
