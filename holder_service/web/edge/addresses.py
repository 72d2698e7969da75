"""Paths and queries with a NUL are refused before anything reads them: neither files nor PostgreSQL take one."""

from typing import Final

from starlette.types import ASGIApp, Receive, Scope, Send

from holder_service.web.edge.problems import problem_response
from shared.wire.text import NUL, has_nul

NUL_REFUSED: Final = (
    "{} contains a NUL character, which names and texts may not contain. Remove it. Nothing was charged."
)


class AddressesWithoutNul:
    """A middleware that refuses a request whose path or query has a NUL."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request."""
        if scope["type"] == "http" and has_nul(scope["path"], scope["query_string"]):
            path = scope["path"].replace(NUL, "")
            refusal = problem_response("invalid-request", NUL_REFUSED.format("The address"), instance=path)
            await refusal(scope, receive, send)
        else:
            await self._app(scope, receive, send)
