"""HEAD wherever GET is: the same answer, and the server leaves its body out."""

from starlette.types import ASGIApp, Receive, Scope, Send


class HeadAsGet:
    """Outermost: serves HEAD as GET. Server and client know that no body follows; nobody else has to."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request."""
        asked = {**scope, "method": "GET"} if scope.get("method") == "HEAD" else scope
        await self._app(asked, receive, send)
