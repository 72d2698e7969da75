"""Request bodies, read strictly: bounded, UTF-8, no field twice, no number that is not finite (4-interface)."""

from collections.abc import Callable, Coroutine
from typing import Any

import jiter
from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute


class StrictRequest(Request):
    """A request whose JSON is read once, refusing what a lenient reader would let pass."""

    async def json(self) -> Any:
        """The body's JSON.

        Raises:
            RequestValidationError: It is no JSON, nests too deeply, or names a field twice.
        """
        body = await self.body()
        try:
            return jiter.from_json(body, catch_duplicate_keys=True, allow_inf_nan=False)
        except ValueError as error:
            # jiter quotes at most a key, which is the caller's own word.
            problem = {"type": "json_invalid", "loc": ("body",), "msg": f"No admissible JSON: {error}.", "input": {}}
            raise RequestValidationError([problem]) from None


class StrictRoute(APIRoute):
    """A route that hands its endpoint a `StrictRequest`."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The framework's handler, given the strict request."""
        handle = super().get_route_handler()

        async def strictly(request: Request) -> Response:
            return await handle(StrictRequest(request.scope, request.receive))

        return strictly
