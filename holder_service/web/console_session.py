"""Who is in the console: log-in by an administrator's key, the session's cookie, the token of every form.

The cookie holds a random token; the store has its hash (`services.sessions`). It goes to no other site
(SameSite), to no script (HttpOnly), and over no plain connection to another machine (Secure, `__Host-`). Every
form carries a token that follows from the cookie's, so that no other site can make one up.
"""

import base64
import hashlib
import hmac
import ipaddress
import json
import logging
import re
import secrets
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Final

from fastapi import APIRouter, Depends, Request, Response
from fastapi.responses import RedirectResponse
from pydantic import ValidationError

from holder_service.domain.errors import Forbidden, HolderError, RateLimited, Unauthenticated
from holder_service.services import sessions
from holder_service.services.bookkeeping import Books
from holder_service.services.holder import Holder
from holder_service.services.sessions import SESSION_LIFETIME, Session
from holder_service.web.console_forms import Form, read_form
from holder_service.web.console_pages import LOG_IN, ROOT, ConsoleRoute, LogInNeeded, Refusal, render
from holder_service.web.dependencies import TheHolder

SESSION_COOKIE: Final = "holder-session"
LOG_IN_COOKIE: Final = "holder-log-in"
MESSAGE_COOKIE: Final = "holder-message"
MESSAGE_S_MAX: Final = 60
FAILURES_MAX: Final = 10
FAILURES_WITHIN_S: Final = 60.0
ADDRESSES_MAX: Final = 10_000
_INSIDE: Final = re.compile(rf"{ROOT}(/[A-Za-z0-9._%-]+)*")
_log = logging.getLogger(__name__)

router = APIRouter(prefix=ROOT, route_class=ConsoleRoute, include_in_schema=False)


class LogInLimit:
    """How many log-ins may fail from one address within a minute; each process counts its own.

    A key's 256 random bits cannot be guessed: this bounds noise and work, and locks nobody else out.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._failures: OrderedDict[str, deque[float]] = OrderedDict()

    def admits(self, address: str) -> bool:
        """Whether an address may try again."""
        with self._lock:
            return len(self._recent(address)) < FAILURES_MAX

    def count_failure(self, address: str) -> None:
        """A log-in from an address failed."""
        with self._lock:
            times = self._recent(address)
            times.append(self._clock())
            self._failures[address] = times
            self._failures.move_to_end(address)
            if len(self._failures) > ADDRESSES_MAX:
                self._failures.popitem(last=False)

    def _recent(self, address: str) -> deque[float]:
        times = self._failures.get(address, deque())
        while times and self._clock() - times[0] > FAILURES_WITHIN_S:
            times.popleft()
        return times


@dataclass(frozen=True, slots=True)
class Visit:
    """A request of an administrator who is logged in."""

    request: Request
    holder: Holder
    session: Session

    @property
    def books(self) -> Books:
        """The holder's books."""
        return self.holder.books

    @property
    def actor(self) -> str:
        """In whose name things are done."""
        return self.session.caller.name

    def page(self, template: str, *, section: str, refusal: Refusal | None = None, **context: Any) -> Response:
        """A page of the console, with the message that a redirect left for it.

        Args:
            template: The template's file name.
            section: Of the navigation.
            refusal: What the page has to say first.
            context: What the template shows.
        """
        name = _cookie_name(self.request, MESSAGE_COOKIE)
        kept = self.request.cookies.get(name)
        response = render(
            template, refusal=refusal, section=section, session=self.session, message=_opened(self.session.token, kept),
            form_token=form_token(self.session.token), here=self.request.url.path, **context,
        )  # fmt: skip
        if kept is not None:
            response.delete_cookie(name, secure=_is_secure(self.request), httponly=True, samesite="strict")
        return response

    def done(self, path: str, text: str, *, good: bool = True) -> Response:
        """Go to a page and say there, once, what was done."""
        response = RedirectResponse(path, status_code=303)
        sealed = _sealed(self.session.token, {"text": text, "good": good})
        _set_cookie(response, self.request, MESSAGE_COOKIE, sealed, max_age_s=MESSAGE_S_MAX)
        return response

    @staticmethod
    def attempt(work: Callable[[], Response], page: Callable[[Refusal], Response]) -> Response:
        """Do something; if it is refused, show a page that says why and still has what was typed."""
        try:
            return work()
        except (HolderError, ValidationError) as error:
            return page(Refusal.of(error))


def visitor(request: Request, holder: TheHolder) -> Visit:
    """Who visits.

    Raises:
        LogInNeeded: Nobody who is logged in; or the key that opened the session is no longer in force.
    """
    try:
        session = sessions.resume(holder.books, request.cookies.get(_cookie_name(request, SESSION_COOKIE), ""))
    except (Unauthenticated, Forbidden):
        raise LogInNeeded from None
    request.state.caller = session.caller
    return Visit(request, holder, session)


Visitor = Annotated[Visit, Depends(visitor)]


async def checked_form(request: Request, visit: Visitor) -> Form:
    """The fields of a form that this console gave out.

    Raises:
        Forbidden: It is another site's.
    """
    form = await read_form(request)
    check_origin(request, visit.session.token, form.text("form_token"))
    return form


CheckedForm = Annotated[Form, Depends(checked_form)]


def form_token(secret: str) -> str:
    """The token of the forms that go with a cookie's secret."""
    return _mac(secret, "form")


def check_origin(request: Request, secret: str, sent: str) -> None:
    """Refuse a form that a page of this console did not send.

    Raises:
        Forbidden: The token does not go with the cookie, or the browser says that another site sent it.
    """
    from_here = request.headers.get("sec-fetch-site", "same-origin") in ("same-origin", "none")
    if from_here and secret and hmac.compare_digest(form_token(secret).encode(), sent.encode()):
        return
    raise Forbidden("This form is not of this session: go back, load the page again, and send it from there.")


@router.get("/log-in")
def show_log_in(request: Request, then: str = ROOT) -> Response:
    """The page that asks for a key."""
    return _log_in_page(request, then)


async def _log_in_form(request: Request) -> Form:
    return await read_form(request, bytes_max=4096)


@router.post("/log-in")
def log_in(request: Request, holder: TheHolder, form: Annotated[Form, Depends(_log_in_form)]) -> Response:
    """Open a session with an administrator's key."""
    limit: LogInLimit = request.app.state.log_in_limit
    address = request.client.host if request.client else ""
    then = form.values.get("then", ROOT)
    try:
        check_origin(request, request.cookies.get(_cookie_name(request, LOG_IN_COOKIE), ""), form.text("form_token"))
        if not limit.admits(address):
            raise RateLimited("Too many log-ins failed from this address. Wait a minute, then try again.")
        session = sessions.log_in(holder.books, form.text("key"))
    except (Unauthenticated, Forbidden) as error:
        limit.count_failure(address)
        _log.warning("console log-in refused")
        unknown = isinstance(error, Unauthenticated)
        detail = "This key is unknown, expired or withdrawn." if unknown else error.detail
        return _log_in_page(request, then, Refusal("forbidden", detail))
    except HolderError as error:
        return _log_in_page(request, then, Refusal.of(error))
    request.state.caller = session.caller
    _log.info("console log-in", extra={"actor": session.caller.name})
    response = RedirectResponse(then if _INSIDE.fullmatch(then) else ROOT, status_code=303)
    lifetime_s = int(SESSION_LIFETIME.total_seconds())
    _set_cookie(response, request, SESSION_COOKIE, session.token, max_age_s=lifetime_s)
    return response


@router.post("/log-out")
def log_out(visit: Visitor, _: CheckedForm) -> Response:
    """End the session."""
    sessions.log_out(visit.books, visit.session.token)
    _log.info("console log-out", extra={"actor": visit.actor})
    response = RedirectResponse(LOG_IN, status_code=303)
    name, secure = _cookie_name(visit.request, SESSION_COOKIE), _is_secure(visit.request)
    response.delete_cookie(name, secure=secure, httponly=True, samesite="strict")
    return response


def _log_in_page(request: Request, then: str, refusal: Refusal | None = None) -> Response:
    secret = request.cookies.get(_cookie_name(request, LOG_IN_COOKIE)) or secrets.token_urlsafe(16)
    response = render(
        "log_in.html.j2", refusal=refusal, entered=None, form_token=form_token(secret),
        then=then if _INSIDE.fullmatch(then) else ROOT,
        plain=request.url.scheme != "https" and _is_secure(request),
    )  # fmt: skip
    _set_cookie(response, request, LOG_IN_COOKIE, secret, max_age_s=int(SESSION_LIFETIME.total_seconds()))
    return response


def _set_cookie(response: Response, request: Request, name: str, value: str, *, max_age_s: int) -> None:
    response.set_cookie(
        _cookie_name(request, name), value, max_age=max_age_s, secure=_is_secure(request), httponly=True,
        samesite="strict",
    )  # fmt: skip


def _cookie_name(request: Request, name: str) -> str:
    """`__Host-` makes a browser refuse such a cookie from any other host or from a plain connection."""
    return f"__Host-{name}" if _is_secure(request) else name


def _is_secure(request: Request) -> bool:
    """Whether cookies may travel encrypted alone: everywhere but on this very machine."""
    host = request.url.hostname or ""
    try:
        loopback = host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        loopback = False
    return request.url.scheme == "https" or not loopback


def _sealed(secret: str, message: dict[str, Any]) -> str:
    text = base64.urlsafe_b64encode(json.dumps(message).encode()).decode()
    return f"{text}.{_mac(secret, f'message {text}')}"


def _opened(secret: str, sealed: str | None) -> dict[str, Any] | None:
    """A message that this session sealed; None if there is none, or it was made up."""
    text, _, mac = (sealed or "").partition(".")
    if text and hmac.compare_digest(_mac(secret, f"message {text}").encode(), mac.encode()):
        message: dict[str, Any] = json.loads(base64.urlsafe_b64decode(text))
        return message
    return None


def _mac(secret: str, content: str) -> str:
    return hmac.new(secret.encode(), content.encode(), hashlib.sha256).hexdigest()
