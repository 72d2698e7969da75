"""Request bodies, read strictly: bounded, UTF-8, no field twice, no number that is not finite (4-interface)."""

from collections.abc import Callable, Coroutine
from typing import Any

import jiter
from fastapi import Request, Response
from fastapi.routing import APIRoute

from holder_service.domain.errors import InvalidRequest, TooLargeBody
from shared import limits


class StrictRequest(Request):
    """A request whose JSON is read once, refusing what a lenient reader would let pass."""

    _document: Any

    async def read_document(self) -> None:
        """Read the body; from then on `json` gives its document.

        Raises:
            InvalidRequest: It is no JSON, nests too deeply, or names a field twice.
            TooLargeBody: It is longer than the public limit; what is beyond is not kept.
        """
        media_type = self.headers.get("content-type", "").partition(";")[0].strip().lower()
        if media_type != "application/json":
            raise InvalidRequest("Send a JSON document with the content type application/json.")
        body = bytearray()
        async for chunk in self.stream():
            body += chunk
            if len(body) > limits.BODY_BYTES_MAX:
                raise TooLargeBody(limit_bytes=limits.BODY_BYTES_MAX)
        self._body = bytes(body)
        try:
            self._document = jiter.from_json(self._body, catch_duplicate_keys=True, allow_inf_nan=False)
        except ValueError as error:
            # jiter quotes at most a key, which is the caller's own word.
            raise InvalidRequest(f"The body is no admissible JSON: {error}.") from None

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
