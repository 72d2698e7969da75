"""Request bodies, read strictly: bounded, UTF-8, no field twice, no number that is not finite (4-interface)."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request, Response

from holder_service.domain.errors import TooLargeBody, TooSlow, UnsupportedMediaType
from holder_service.web.edge.documents import strict_document
from holder_service.web.edge.release_rooms import ReleaseRooms
from holder_service.web.edge.roles import AUDITORS, RoleRoute
from shared.wire import limits


class StrictRequest(Request):
    """A request whose JSON is read once, refusing what a lenient reader would let pass."""

    _document: Any

    async def read_document(self, *, in_turns: bool) -> None:
        """Read the body; from then on `json` gives its document.

        Args:
            in_turns: Whether it asks something about a dataset that may cost nothing, and may have to wait its turn.

        Raises:
            InvalidRequest: It is no JSON, nests too deeply, or names a field twice.
            RateLimited: Too many of the auditor wait.
            UnsupportedMediaType, TooLargeBody, TooSlow: As `read_bounded`.
            TooManyParts: It holds more lists and objects than any request needs.
        """
        self._body = await read_bounded(self, bytes_max=limits.BODY_BYTES_MAX, media_type="application/json")
        if in_turns:
            rooms: ReleaseRooms = self.app.state.release_rooms
            await rooms.reading(
                self.app.state.holder.store, self.path_params["dataset"], self.state.caller.name,
                size=len(self._body), quoted=self.scope["path"].endswith("/quotes"),
            )  # fmt: skip
        self._document = strict_document(self._body, parts_max=limits.LISTS_AND_OBJECTS_PER_BODY_MAX)

    async def json(self) -> Any:
        """The document that `read_document` read."""
        return self._document


async def read_bounded(request: Request, *, bytes_max: int, media_type: str | None = None) -> bytes:
    """A whole body.

    Raises:
        UnsupportedMediaType: It is not of the media type.
        TooLargeBody: It is longer than the limit; refused unread where it says so, and else as soon as it is.
        TooSlow: It does not come in time.
    """
    if media_type is not None:
        sent = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if sent != media_type:
            raise UnsupportedMediaType(
                "The content type is missing or not supported. Send a JSON document with the content type "
                f"{media_type}."
            )
    if int(request.headers.get("content-length", "0")) > bytes_max:  # the server has refused what is no number
        raise TooLargeBody(limit_bytes=bytes_max)
    body = bytearray()
    try:
        async with asyncio.timeout(limits.BODY_READ_S):
            async for chunk in request.stream():
                body += chunk
                if len(body) > bytes_max:
                    raise TooLargeBody(limit_bytes=bytes_max)
    except TimeoutError:
        raise TooSlow(limit_s=limits.BODY_READ_S) from None
    return bytes(body)


class StrictRoute(RoleRoute):
    """A route that hands its endpoint a `StrictRequest`, and reads the document if the endpoint takes one."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The framework's handler, given the strict request."""
        handle = super().get_route_handler()

        async def strictly(request: Request) -> Response:
            strict = StrictRequest(request.scope, request.receive)
            if self.admission is not None:
                self.admission.require(request.state.caller)  # before anything is read
            if self.body_field is not None:
                await strict.read_document(in_turns=self.admission == AUDITORS and "dataset" in request.path_params)
            return await handle(strict)

        return strictly
