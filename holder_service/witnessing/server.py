"""A witness as a web application: the call `add-checkpoint` of C2SP `tlog-witness`, and a page that says who it is.

A witness cosigns a checkpoint if a key of the log signed it and the checkpoint that the witness cosigned before is a
prefix of it. It writes what it has seen to the disk before the cosignature leaves. So it never cosigns two histories
of one log, and an auditor who requires its cosignature cannot be shown a history of their own.
"""

import logging
from collections.abc import Callable
from datetime import UTC, datetime
from http import HTTPStatus

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from holder_service.witnessing.calls import SIZE_MEDIA_TYPE
from holder_service.witnessing.requests import BODY_BYTES_MAX, AddCheckpoint
from holder_service.witnessing.state import WatchedLog, WitnessFolder
from shared.log.checkpoints import Checkpoint
from shared.log.merkle import BadProof, verify_consistency
from shared.log.notes import BadNote, SignedNote

_log = logging.getLogger(__name__)


class Refused(Exception):
    """A checkpoint is not cosigned; the status and a sentence."""

    def __init__(self, status: HTTPStatus, reason: str, *, media_type: str = "text/plain") -> None:
        super().__init__(reason)
        self.status = status
        self.media_type = media_type


def create_witness(folder: WitnessFolder, *, clock: Callable[[], datetime] = lambda: datetime.now(UTC)) -> Starlette:
    """Build the application of a witness that was set up.

    Raises:
        UnusableWitness: It was not, or its files are damaged.
    """
    key = folder.key()
    folder.logs()

    async def add_checkpoint(request: Request) -> Response:
        body = bytearray()
        async for chunk in request.stream():
            body += chunk
            if len(body) > BODY_BYTES_MAX:
                return PlainTextResponse("The body is too large.\n", HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
        try:
            cosignature = await run_in_threadpool(cosign, bytes(body))
        except Refused as refusal:
            _log.warning("checkpoint not cosigned", extra={"status": int(refusal.status)})
            return Response(f"{refusal}\n", refusal.status, {"Content-Type": refusal.media_type})
        return PlainTextResponse(f"{cosignature}\n")

    def cosign(body: bytes) -> str:
        asked = _parsed(body)
        checkpoint = _checkpoint(asked.note)
        with folder.alone() as logs:
            watched = logs.get(checkpoint.origin)
            if watched is None:
                raise Refused(HTTPStatus.NOT_FOUND, "This witness does not watch a log of this origin.")
            if watched.replaced_by is not None:
                raise Refused(HTTPStatus.FORBIDDEN, f"The log {watched.replaced_by!r} took the place of this one.")
            _require_signed(asked.note, watched)
            _require_consistent(asked, checkpoint, watched)
            seen = WatchedLog(watched.keys, checkpoint.size, checkpoint.root)
            if seen != watched:
                folder.keep({**logs, checkpoint.origin: seen})
            return str(key.cosign(asked.note.text, now=clock()))

    async def show(_: Request) -> Response:
        return PlainTextResponse(f"A witness of ledgers. Its key:\n{key.verifier}\n")

    return Starlette(routes=[Route("/add-checkpoint", add_checkpoint, methods=["POST"]), Route("/", show)])


def _parsed(body: bytes) -> AddCheckpoint:
    try:
        return AddCheckpoint.parse(body)
    except BadNote as error:
        raise Refused(HTTPStatus.BAD_REQUEST, str(error)) from None


def _checkpoint(note: SignedNote) -> Checkpoint:
    try:
        return Checkpoint.parse(note.text)
    except BadNote as error:
        raise Refused(HTTPStatus.BAD_REQUEST, str(error)) from None


def _require_signed(note: SignedNote, watched: WatchedLog) -> None:
    try:
        signed = note.verified(watched.keys)
    except BadNote as error:
        raise Refused(HTTPStatus.FORBIDDEN, str(error)) from None
    if not signed:
        raise Refused(HTTPStatus.FORBIDDEN, "None of the log's keys signed this checkpoint.")


def _require_consistent(asked: AddCheckpoint, checkpoint: Checkpoint, watched: WatchedLog) -> None:
    if asked.old_size > checkpoint.size:
        raise Refused(HTTPStatus.BAD_REQUEST, "The old size is larger than the checkpoint's.")
    if asked.old_size != watched.size:
        raise Refused(HTTPStatus.CONFLICT, str(watched.size), media_type=SIZE_MEDIA_TYPE)
    try:
        verify_consistency(
            first=watched.size, second=checkpoint.size, first_root=watched.root, second_root=checkpoint.root,
            proof=asked.proof,
        )  # fmt: skip
    except BadProof as error:
        is_forked = watched.size == checkpoint.size and watched.root != checkpoint.root
        status = HTTPStatus.CONFLICT if is_forked else HTTPStatus.UNPROCESSABLE_ENTITY
        raise Refused(status, str(error)) from None
