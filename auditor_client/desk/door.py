"""Who may come in: the browser that brought the one-time token, and no other page, program or machine.

The server listens on loopback, where every program and every user of the machine can reach it, and where any page in
the browser can send requests. So each request is refused that names another host (a name rebound to this machine),
that another page sent, or that lacks the cookie which the token was exchanged for once. The cookie's path has random
characters of its own, because a browser sends cookies to every port of a host. One path takes a browser back that the
desk sent to an identity provider: another site leads it there, so it has a lax cookie of its own, and no page to show.
"""

import hmac
import secrets
import time
from collections.abc import Callable
from http import HTTPStatus
from typing import Final

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from auditor_client.exchange.sign_in import CALLBACK
from shared.look import HEADERS
from shared.wire.text import has_nul

ADDRESS: Final = "127.0.0.1"
ENTRANCE: Final = "/enter/"
COOKIE: Final = "desk"
TOKEN_S: Final = 600
"""How long the token can be exchanged, in seconds."""
BODY_BYTES_MAX: Final = 512 * 1024 * 1024
"""Of a form with its files."""
AGAIN: Final = "End the desk (Ctrl-C in its terminal) and start it again: `auditor desk`."
_METHODS: Final = ("GET", "HEAD", "POST")


class Door:
    """What one process of the desk lets in."""

    def __init__(self, port: int, clock: Callable[[], float] = time.monotonic) -> None:
        self.port = port
        self.root = f"/{secrets.token_urlsafe(12)}"
        self._hosts = tuple(f"{name}:{port}" for name in (ADDRESS, "localhost"))
        self._token: str | None = secrets.token_urlsafe(32)
        self._used = ""
        self._entrant = secrets.token_urlsafe(32)
        self._session: str | None = secrets.token_urlsafe(32)
        self._away = secrets.token_urlsafe(32)
        self._expires = clock() + TOKEN_S
        self._clock = clock
        self.form_token = secrets.token_urlsafe(32)
        self.address = f"http://{self._hosts[0]}{ENTRANCE}{self._token}"

    def guard(self, app: ASGIApp) -> ASGIApp:
        """The application behind the door."""

        async def guarded(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] == "lifespan":
                await app(scope, receive, send)
                return
            if scope["type"] != "http":
                return
            headers = Headers(scope=scope)
            answer = self._answer(scope["method"], scope["path"], headers) or app
            if answer is app and has_nul(scope["path"], scope["query_string"]):
                answer = _refused(HTTPStatus.BAD_REQUEST, "The address has a NUL character: open the desk's own page.")
            await answer(scope, receive, _with_headers(send))

        return guarded

    def is_own_form(self, sent: object) -> bool:
        """Whether a form is one that this desk gave out."""
        return isinstance(sent, str) and _same(sent, self.form_token)

    def expect_back(self, response: Response, path: str) -> None:
        """Have the browser of an answer come back to a path from another site."""
        self._away = secrets.token_urlsafe(32)
        response.set_cookie(COOKIE, self._away, TOKEN_S, path=path, httponly=True, samesite="lax")

    def is_back(self, headers: Headers) -> bool:
        """Whether that browser sent these."""
        return _has_cookie(headers, self._away)

    def _answer(self, method: str, path: str, headers: Headers) -> Response | None:
        """What a request is answered that may not come in, or that comes in for the first time; None for others."""
        if headers.getlist("host") not in [[host] for host in self._hosts]:
            return _refused(
                HTTPStatus.MISDIRECTED_REQUEST,
                "The desk answers only to its own address on this machine. Open that address.",
            )
        if method not in _METHODS:
            return _refused(HTTPStatus.METHOD_NOT_ALLOWED, "The desk serves only pages and forms.")
        if path == CALLBACK and method == "GET":
            return None
        if path.startswith(ENTRANCE):
            return self._entered(method, path.removeprefix(ENTRANCE), headers)
        if not self._may_send(method, headers):
            return _refused(
                HTTPStatus.FORBIDDEN, "Another page sent this request. Open the desk's own page and continue there."
            )
        if not self._is_inside(headers):
            return _refused(HTTPStatus.FORBIDDEN, f"This browser does not have access. {AGAIN}")
        length = headers.get("content-length", "")
        if method == "POST" and not (length.isascii() and length.isdigit() and int(length) <= BODY_BYTES_MAX):
            text = f"A form with its files has at most {BODY_BYTES_MAX >> 20} MiB: go back, and send smaller files."
            return _refused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, text)
        return None

    def _entered(self, method: str, token: str, headers: Headers) -> Response:
        """Exchange the token for the cookie, once.

        If another browser brings it, one of both stole it, and both are shut out. Where the pages are is said to nobody
        else: whoever knows it can have a browser send the cookie to a server of their own on this machine.
        """
        if self._used and _same(token, self._used):
            if _has_cookie(headers, self._entrant):
                return _refused(
                    HTTPStatus.FORBIDDEN, f"This browser already has access: go back to its page. Otherwise: {AGAIN}"
                )
            self._session = None
            return _refused(HTTPStatus.FORBIDDEN, f"This address was opened before, by another browser. {AGAIN}")
        in_time = self._clock() <= self._expires
        if method != "GET" or self._token is None or not _same(token, self._token) or not in_time:
            return _refused(HTTPStatus.FORBIDDEN, f"This address is not valid, or has expired. {AGAIN}")
        self._used, self._token = self._token, None
        response = RedirectResponse(self.root, HTTPStatus.SEE_OTHER)
        for path, secret in ((self.root, self._session or ""), (ENTRANCE, self._entrant)):
            response.set_cookie(COOKIE, secret, path=path, httponly=True, samesite="strict")
        return response

    def _may_send(self, method: str, headers: Headers) -> bool:
        """Whether no other page sent it. With no referrer a browser writes "null" for the origin of its own form."""
        if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
            return False
        own = ("null", *(f"http://{host}" for host in self._hosts))
        return method != "POST" or headers.get("origin", "null") in own

    def _is_inside(self, headers: Headers) -> bool:
        return self._session is not None and _has_cookie(headers, self._session)


def _has_cookie(headers: Headers, value: str) -> bool:
    """Whether the cookie is among those sent; other servers of this machine may have set one of the same name."""
    sent = (part.strip().partition("=") for part in headers.get("cookie", "").split(";"))
    return any(_same(written, value) for name, _, written in sent if name == COOKIE)


def _same(one: str, other: str) -> bool:
    return hmac.compare_digest(one.encode(), other.encode())


def _refused(status: HTTPStatus, text: str) -> Response:
    return PlainTextResponse(f"{text}\n", status)


def _with_headers(send: Send) -> Send:
    """Put the headers on every answer; a report has a stricter policy of its own."""

    async def with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers.setdefault(name, value)
            headers.setdefault("Cache-Control", "no-store")
        await send(message)

    return with_headers
