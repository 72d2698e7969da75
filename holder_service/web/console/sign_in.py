"""Signing in at the identity provider: OpenID Connect's authorization code flow, with a proof key (docs/adr/0056).

A sign-in belongs to one browser: its cookie holds a secret, from which follow state, nonce and proof key. So nothing is
stored until it is completed, and then that it is. The session's cookie is strict: no browser sends it on the way from
another site. So the last step is a page of the console's own, which leads on.
"""

import logging
import secrets
from datetime import UTC, datetime, timedelta
from typing import Final

from fastapi import APIRouter, Request, Response
from fastapi.responses import RedirectResponse
from pydantic import BaseModel

from holder_service.domain.errors import Forbidden, HolderError, NotFound, RateLimited, Unauthenticated
from holder_service.identity.provider import IdentityProvider
from holder_service.identity.tokens import RefusedToken
from holder_service.services.accounts import logins
from holder_service.services.accounts.logins import Session
from holder_service.services.running.holder import Holder
from holder_service.settings.oidc import CALLBACK
from holder_service.web.console.cookies import Cookie, derived, opened, sealed
from holder_service.web.console.log_in import LogInLimit, inside, log_in_page
from holder_service.web.console.pages import LOG_IN, LOGGED_OUT, ROOT, Refusal, render
from holder_service.web.console.session import SESSION_COOKIE, ConsoleRoute
from holder_service.web.edge.dependencies import TheHolder
from holder_service.web.edge.lanes import Lane

SIGN_IN_COOKIE: Final = Cookie("holder-sign-in", samesite="lax")
SIGN_IN_LIFETIME: Final = timedelta(minutes=10)
QUERY_CHARACTERS_MAX: Final = 8192
_log = logging.getLogger(__name__)

router = APIRouter(route_class=ConsoleRoute, include_in_schema=False)


class Begun(BaseModel):
    """What a sign-in's state says: where to go on to afterwards, and until when it may be completed."""

    then: str
    until: float


@router.get(f"{ROOT}/sign-in")
async def begin_sign_in(request: Request, holder: TheHolder, then: str = ROOT) -> Response:
    """Send a browser to the identity provider."""
    provider, lane = _provider(holder), _lane(request)
    secret = secrets.token_urlsafe(32)
    until = holder.store.clock() + SIGN_IN_LIFETIME
    state = sealed(secret, {"then": inside(then), "until": until.timestamp()})
    try:
        url = await lane.do_soon(
            provider.authorization_url,
            state=state,
            nonce=derived(secret, "nonce"),
            verifier=derived(secret, "verifier"),
        )
    except HolderError as error:
        return log_in_page(request, holder, then, Refusal.of(error))
    response = RedirectResponse(url, status_code=303)
    SIGN_IN_COOKIE.set(response, request, secret, max_age_s=int(SIGN_IN_LIFETIME.total_seconds()))
    return response


@router.get(CALLBACK)
async def complete_sign_in(request: Request, holder: TheHolder) -> Response:
    """Take a browser back from the identity provider, and open its session."""
    limit: LogInLimit = request.app.state.log_in_limit
    address = request.client.host if request.client else ""
    then = ROOT
    response: Response
    try:
        if not limit.admits(address):
            raise RateLimited("Too many failed log-ins from this address. Wait a minute, then try again.")
        then, until = _begun(request, holder)
        session = await _lane(request).do_soon(_session, holder, request, until)
        request.state.caller = session.caller
        _log.info("console log-in", extra={"actor": session.caller.name})
        response = render("signed_in.html.j2", then=then)
        left = session.expires - holder.store.clock()
        SESSION_COOKIE.set(response, request, session.token, max_age_s=max(int(left.total_seconds()), 0))
    except (Unauthenticated, Forbidden) as error:
        limit.count_failure(address)
        reason = error.reason if isinstance(error, RefusedToken) else "account"
        _log.warning("console log-in refused", extra={"reason": reason})
        detail = error.on_page if isinstance(error, RefusedToken) else error.detail
        response = log_in_page(request, holder, then, Refusal("forbidden", detail))
    except HolderError as error:
        response = log_in_page(request, holder, then, Refusal.of(error))
    SIGN_IN_COOKIE.delete(response, request)
    return response


@router.get(LOGGED_OUT)
async def log_out_at_provider(request: Request, holder: TheHolder) -> Response:
    """Lead a browser whose session has ended on to the provider, to end the one there too."""
    try:
        url = await _lane(request).do_soon(_provider(holder).log_out_url)
    except HolderError as error:
        return log_in_page(request, holder, ROOT, Refusal.of(error))
    return RedirectResponse(LOG_IN, status_code=303) if url is None else render("logged_out.html.j2", url=url)


def _begun(request: Request, holder: Holder) -> tuple[str, datetime]:
    """Return where to go on to after a sign-in that this browser began, and until when it may be completed.

    Raises:
        RefusedToken: It began none, or too long ago.
    """
    secret, state = SIGN_IN_COOKIE.read(request), request.query_params.get("state", "")
    begun = opened(secret, state, Begun) if secret and len(state) <= QUERY_CHARACTERS_MAX else None
    now = holder.store.clock()
    if begun is None or not now.timestamp() < begun.until:
        raise RefusedToken("state")
    latest = now + SIGN_IN_LIFETIME  # whoever sealed it themselves may say any time, and what is completed is kept
    return inside(begun.then), datetime.fromtimestamp(min(begun.until, latest.timestamp()), UTC)


def _session(holder: Holder, request: Request, until: datetime) -> Session:
    """The session of whoever signed in: the code is shown once, and the token for it has to answer this sign-in.

    Raises:
        RefusedToken: The provider did not confirm it, or its token does not count; or it was completed before.
        Forbidden: It opens no account, or none of an administrator.
        Unavailable: The provider does not answer.
    """
    provider, secret = _provider(holder), SIGN_IN_COOKIE.read(request)
    code = request.query_params.get("code", "")
    logins.complete_sign_in(holder.store, secret, expires=until)
    if not 0 < len(code) <= QUERY_CHARACTERS_MAX or not provider.answered_by(request.query_params.get("iss")):
        raise RefusedToken("code")
    token = provider.id_token(code, verifier=derived(secret, "verifier"))
    identity = provider.tokens.signed_in(token, nonce=derived(secret, "nonce"), now=holder.store.clock())
    return logins.sign_in(holder.store, identity)


def _provider(holder: Holder) -> IdentityProvider:
    if holder.provider is not None and holder.provider.settings.client_id is not None:
        return holder.provider
    raise NotFound(
        "This console accepts only keys: the holder's settings do not configure an identity "
        "provider. Log in with a key."
    )


def _lane(request: Request) -> Lane:
    lane: Lane = request.app.state.sign_in_lane
    return lane
