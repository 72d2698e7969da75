"""The way into the console and out of it; how many log-ins may fail."""

import logging
import re
import secrets
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable
from typing import Annotated, Final
from urllib.parse import urlsplit

from fastapi import APIRouter, Depends, Request, Response
from fastapi.responses import RedirectResponse

from holder_service.domain.errors import Forbidden, HolderError, RateLimited, Unauthenticated
from holder_service.services.accounts import logins
from holder_service.services.accounts.logins import SESSION_LIFETIME
from holder_service.services.running.holder import Holder
from holder_service.web.console.cookies import Cookie, check_origin, form_token, is_secure
from holder_service.web.console.forms import Form, read_form
from holder_service.web.console.pages import LOG_IN, LOGGED_OUT, ROOT, Refusal, render
from holder_service.web.console.session import SESSION_COOKIE, CheckedForm, ConsoleRoute, Visitor
from holder_service.web.edge.dependencies import TheHolder

LOG_IN_COOKIE: Final = Cookie("holder-log-in")
SESSION_LIFETIME_S: Final = int(SESSION_LIFETIME.total_seconds())
FORM_BYTES_MAX: Final = 4096
FAILURES_MAX: Final = 10
FAILURES_WITHIN_S: Final = 60.0
ADDRESSES_MAX: Final = 10_000
_INSIDE: Final = re.compile(rf"{ROOT}(/[A-Za-z0-9._%:-]+)*")
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
        times = self._failures.get(address, deque())
        return len(times) < FAILURES_MAX or self._clock() - times[0] > FAILURES_WITHIN_S

    def count_failure(self, address: str) -> None:
        """A log-in from an address failed."""
        with self._lock:
            self._failures.setdefault(address, deque(maxlen=FAILURES_MAX)).append(self._clock())
            self._failures.move_to_end(address)
            if len(self._failures) > ADDRESSES_MAX:
                self._failures.popitem(last=False)


@router.get("/log-in")
def show_log_in(request: Request, holder: TheHolder, then: str = ROOT) -> Response:
    """The page that asks for a key."""
    return log_in_page(request, holder, then)


async def _log_in_form(request: Request) -> Form:
    return await read_form(request, bytes_max=FORM_BYTES_MAX)


@router.post("/log-in")
def log_in(request: Request, holder: TheHolder, form: Annotated[Form, Depends(_log_in_form)]) -> Response:
    """Open a session with a key of one of the holder's own people."""
    limit: LogInLimit = request.app.state.log_in_limit
    address = request.client.host if request.client else ""
    then = form.values.get("then", ROOT)
    try:
        check_origin(request, LOG_IN_COOKIE.read(request), form.text("form_token"))
        if not limit.admits(address):
            raise RateLimited("Too many failed log-ins from this address. Wait a minute, then try again.")
        session = logins.log_in(holder.store, form.text("key"))
    except (Unauthenticated, Forbidden) as error:
        limit.count_failure(address)
        _log.warning("console log-in refused")
        unknown = isinstance(error, Unauthenticated)
        detail = (
            "This key is not valid: it is unknown, expired or withdrawn. Enter a valid key."
            if unknown
            else error.detail
        )
        return log_in_page(request, holder, then, Refusal("forbidden", detail))
    except HolderError as error:
        return log_in_page(request, holder, then, Refusal.of(error))
    request.state.caller = session.caller
    _log.info("console log-in", extra={"actor": session.caller.name})
    response = RedirectResponse(inside(then), status_code=303)
    SESSION_COOKIE.set(response, request, session.token, max_age_s=SESSION_LIFETIME_S)
    return response


@router.post("/log-out")
def log_out(visit: Visitor, _: CheckedForm) -> Response:
    """End the session."""
    logins.log_out(visit.store, visit.session.token)
    _log.info("console log-out", extra={"actor": visit.actor})
    response = RedirectResponse(LOGGED_OUT if visit.session.signed_in else LOG_IN, status_code=303)
    SESSION_COOKIE.delete(response, visit.request)
    return response


def inside(path: str) -> str:
    """A path of the console, to go on to; its beginning instead of any other."""
    return path if _INSIDE.fullmatch(path) else ROOT


def log_in_page(request: Request, holder: Holder, then: str, refusal: Refusal | None = None) -> Response:
    """The page that asks for a key, or leads to the identity provider; it says first what was refused."""
    oidc = holder.settings.oidc
    secret = LOG_IN_COOKIE.read(request) or secrets.token_urlsafe(16)
    response = render(
        "log_in.html.j2", refusal=refusal, entered=None, form_token=form_token(secret),
        then=inside(then), signs_in=urlsplit(oidc.issuer).hostname if oidc and oidc.client_id else None,
        plain=request.url.scheme != "https" and is_secure(request),
    )  # fmt: skip
    LOG_IN_COOKIE.set(response, request, secret, max_age_s=SESSION_LIFETIME_S)
    return response
