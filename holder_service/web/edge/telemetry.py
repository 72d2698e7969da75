"""Each request once in the log and once in the metrics, by its public side alone (2-privacy §7)."""

import logging
import re
import secrets
import time
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from holder_service.web.edge.metrics import Metrics

METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
REFUSED_CALLERS: Final = (401, 429)
"""The statuses whose lines say from which address a call came and the id of the key that it showed."""
_KEY: Final = re.compile(rb"Bearer pafer_([0-9a-f]{12})_")
_log = logging.getLogger(__name__)


@dataclass(slots=True)
class RequestFacts:
    """A request's public side, in addition to method, route and caller; every layer of its handling adds to it."""

    id: str = field(default_factory=lambda: secrets.token_hex(8))
    status: int = 0
    problem: str | None = None
    deadline_s: float | None = None
    overran: bool = False


_current: ContextVar[RequestFacts] = ContextVar("request_facts")


def note_problem(code: str) -> None:
    """The request is answered with a problem of this code."""
    if facts := _current.get(None):
        facts.problem = code


def note_release(*, deadline_s: float, overran: bool) -> None:
    """The request's answer leaves at a public deadline, or at a multiple of it."""
    if facts := _current.get(None):
        facts.deadline_s, facts.overran = deadline_s, overran


class Telemetry:
    """Outermost: names each request, then logs and counts how it was answered."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request and log it; the answer carries the request's id, by which the log is searched."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        facts = RequestFacts()
        began_s = time.monotonic()

        async def noticing(message: Message) -> None:
            if message["type"] == "http.response.start":
                facts.status = message["status"]
                message["headers"] = [*message.get("headers", ()), (b"x-request-id", facts.id.encode())]
            await send(message)

        token = _current.set(facts)
        try:
            await self._app(scope, receive, noticing)
        finally:
            _current.reset(token)
            self._record(scope, facts, time.monotonic() - began_s)

    def _record(self, scope: Scope, facts: RequestFacts, elapsed_s: float) -> None:
        # Whoever calls may invent methods and paths, and each would become a series of its own.
        method = scope["method"] if scope["method"] in METHODS else "OTHER"
        route = str(getattr(scope.get("route"), "path", "none"))
        self._metrics.count_request(
            method=method, route=route, status=facts.status, elapsed_s=elapsed_s, problem=facts.problem
        )
        fields: dict[str, Any] = {
            "request_id": facts.id, "method": method, "route": route, "status": facts.status, "problem": facts.problem,
        }  # fmt: skip
        if facts.deadline_s is not None:
            self._metrics.count_release(deadline_s=facts.deadline_s, overran=facts.overran)
            fields["deadline_ms"] = round(facts.deadline_s * 1000)
        if facts.status in REFUSED_CALLERS:
            fields["client"] = (scope.get("client") or ("",))[0]
            fields["key_id"] = _key_id(scope)
        if caller := scope.get("state", {}).get("caller"):
            fields["actor"] = caller.name
        _log.info("request", extra=fields)


def _key_id(scope: Scope) -> str | None:
    """The public id in the key that a request shows, whether or not there is such a key."""
    shown = [_KEY.match(value) for name, value in scope["headers"] if name == b"authorization"]
    return shown[0][1].decode() if len(shown) == 1 and shown[0] else None
