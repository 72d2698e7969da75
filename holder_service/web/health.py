"""Liveness and readiness, without a key and without a word about the inside."""

from fastapi import APIRouter, Response
from starlette.concurrency import run_in_threadpool

from holder_service.domain.errors import RestoreUnrecorded, Unavailable
from holder_service.web.dependencies import TheHolder
from holder_service.web.documentation import PROBLEM_RESPONSES

router = APIRouter(tags=["public"])


@router.get("/healthz")
async def alive() -> dict[str, str]:
    """Whether the process runs."""
    return {"status": "alive"}


@router.get("/readyz", responses={503: PROBLEM_RESPONSES[503]})
async def ready(holder: TheHolder) -> dict[str, str]:
    """Whether the holder may release: store reachable, tables current, anchored entry there."""
    if await run_in_threadpool(holder.books.database.is_current):
        if await run_in_threadpool(holder.books.is_anchored):
            return {"status": "ready"}
        raise RestoreUnrecorded("The database lacks the anchored entry: an administrator has to record a restore.")
    raise Unavailable("The database's tables are of another version than this holder.")


@router.get("/favicon.ico", include_in_schema=False)
async def no_icon() -> Response:
    """There is none; browsers ask for it all the same."""
    return Response(status_code=204)
