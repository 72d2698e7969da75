"""The ledger's public log in the formats of C2SP: the checkpoint, and the tiles of its tree (`tlog-tiles`)."""

from typing import Annotated, Any, Final

from fastapi import APIRouter, Path, Response
from starlette.concurrency import run_in_threadpool

from holder_service.domain.errors import NotFound
from holder_service.services.ledger.log import NO_LOG, LedgerLog
from holder_service.services.running.holder import Holder
from holder_service.web.edge.dependencies import TheHolder
from holder_service.web.edge.roles import RoleRoute
from holder_service.web.rest.contract import refusals
from shared.log.tiles import NoTile, Tile

router = APIRouter(prefix="/v1/log", tags=["public"], route_class=RoleRoute)
_TEXT: Final[dict[int | str, dict[str, Any]]] = {200: {"content": {"text/plain": {"schema": {"type": "string"}}}}}
_BYTES: Final[dict[int | str, dict[str, Any]]] = {
    200: {"content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}}
}
_CACHED: Final = "public, max-age=60"
"""Of a full tile of hashes. It changes only with a restore, after which the log has another name."""


@router.get("/checkpoint", response_class=Response, responses=_TEXT, openapi_extra=refusals("not-found"))
async def log_checkpoint(holder: TheHolder) -> Response:
    """The newest published checkpoint: the log's name, its size, its root; signed by the holder and its witnesses."""
    note = await run_in_threadpool(_log_of(holder).published)
    if note is None:
        raise NotFound("No checkpoint of the log is published yet. Try again in a few seconds.")
    return Response(str(note), media_type="text/plain", headers={"Cache-Control": "no-cache"})


@router.get("/tile/{tile:path}", response_class=Response, responses=_BYTES, openapi_extra=refusals("not-found"))
async def log_tile(
    holder: TheHolder,
    tile: Annotated[
        str, Path(description="A level and a number, or `entries` and a number.", examples=["0/000.p/1"], max_length=64)
    ],
) -> Response:
    """A tile of hashes of the log's tree, or a bundle of its leaves, that the published checkpoint covers."""
    try:
        parsed = Tile.parse(tile)
    except NoTile as error:
        raise NotFound(str(error)) from None
    content = await run_in_threadpool(_log_of(holder).tile, parsed)
    return Response(
        content,
        media_type="application/octet-stream",
        headers={"Cache-Control": _CACHED if parsed.is_full else "no-cache"},
    )


def _log_of(holder: Holder) -> LedgerLog:
    if holder.log is None:
        raise NotFound(NO_LOG)
    return holder.log
