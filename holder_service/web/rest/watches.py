"""What auditors call about watches that are set: what the holder has said of each version (8-time §3)."""

from typing import Annotated

from fastapi import APIRouter, Path, Response
from starlette.concurrency import run_in_threadpool

from holder_service.services.releases import watching
from holder_service.services.releases.watching import ListedWatch
from holder_service.web.edge.bodies import StrictRoute
from holder_service.web.edge.dependencies import PathDataset, TheHolder
from holder_service.web.edge.roles import Auditor
from holder_service.web.rest.answers import WatchList, WatchSummary
from holder_service.web.rest.contract import refusals
from holder_service.web.rest.kinds import After, PageSize
from shared.kinds.watches import ANSWER_KIND, SKIP_KIND, WatchReport
from shared.wire.canonical import canonical_bytes, object_bytes

router = APIRouter(prefix="/v1/datasets/{dataset}/watches", tags=["auditor"], route_class=StrictRoute)
WatchId = Annotated[
    str, Path(pattern="^sha256:[0-9a-f]{64}$", description="The watch's id.", examples=["sha256:" + "0" * 64])
]


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
