"""Request bodies, read strictly: bounded, UTF-8, no field twice, no number that is not finite (4-interface)."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import jiter
from fastapi import Request, Response
from fastapi.routing import APIRoute

from holder_service.domain.errors import InvalidRequest, TooLargeBody, TooManyParts, TooSlow
from shared import limits


class StrictRequest(Request):
    """A request whose JSON is read once, refusing what a lenient reader would let pass."""

    _document: Any

    async def read_document(self) -> None:
        """Read the body; from then on `json` gives its document.

        Raises:
            InvalidRequest: It is no JSON, nests too deeply, or names a field twice.
            TooLargeBody: It is longer than the public limit, refused unread where its length is told; or it holds more
                lists and objects than any request needs.
            TooSlow: It does not come in time.
        """
        media_type = self.headers.get("content-type", "").partition(";")[0].strip().lower()
        if media_type != "application/json":
            raise InvalidRequest("Send a JSON document with the content type application/json.")
        if int(self.headers.get("content-length", "0")) > limits.BODY_BYTES_MAX:  # the server refuses what is no number
            raise TooLargeBody(limit_bytes=limits.BODY_BYTES_MAX)
        try:
            async with asyncio.timeout(limits.BODY_READ_S):
                self._body = await self._bounded()
        except TimeoutError:
            raise TooSlow(limit_s=limits.BODY_READ_S) from None
        if self._body.count(b"{") + self._body.count(b"[") > limits.LISTS_AND_OBJECTS_PER_BODY_MAX:
            raise TooManyParts(limit=limits.LISTS_AND_OBJECTS_PER_BODY_MAX)
        try:
            self._document = jiter.from_json(self._body, catch_duplicate_keys=True, allow_inf_nan=False)
        except ValueError as error:
            # jiter quotes at most a key, which is the caller's own word.
            raise InvalidRequest(f"The body is no admissible JSON: {error}.") from None

    async def _bounded(self) -> bytes:
        body = bytearray()
        async for chunk in self.stream():
            body += chunk
            if len(body) > limits.BODY_BYTES_MAX:
                raise TooLargeBody(limit_bytes=limits.BODY_BYTES_MAX)
        return bytes(body)

    async def json(self) -> Any:
        """The document that `read_document` read."""
        return self._document


class StrictRoute(APIRoute):
    """A route that hands its endpoint a `StrictRequest`, and reads the document if the endpoint takes one."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The framework's handler, given the strict request."""
        handle = super().get_route_handler()

        async def strictly(request: Request) -> Response:
            strict = StrictRequest(request.scope, request.receive)
            if self.body_field is not None:
                await strict.read_document()
            return await handle(strict)

        return strictly
