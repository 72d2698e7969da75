"""Signing in at the desk: to the identity provider and back, in the one browser that was let in."""

import re
from typing import Final
from urllib.parse import urlsplit

from fastapi import APIRouter, Request, Response
from fastapi.responses import PlainTextResponse

from auditor_client.desk.desk import Desk
from auditor_client.desk.pages import Sent, TheDesk, fault_text, go, page
from auditor_client.errors import AuditorError
from auditor_client.exchange.sessions import KeptSignIn
from auditor_client.exchange.sign_in import CALLBACK, SignInBegun, offered

SIGN_IN: Final = "/sign-in"
_IN_TERMINALS: Final = re.compile(r" Give | Sign in(?: again)?: ")
router = APIRouter()
entrance = APIRouter()
"""Where the provider sends the browser back to: outside the desk's own pages, whose path it is not shown."""


@router.get(SIGN_IN)
def show_sign_in(desk: TheDesk) -> Response:
    """Where to sign in, to be confirmed; or who is signed in."""
    return sign_in_page(desk)


def sign_in_page(desk: Desk, fault: str = "") -> Response:
    """The page that leads to the identity provider; it says first why somebody is sent here."""
    signed_in = None if desk.settings.key is not None or fault else KeptSignIn(desk.settings).read()
    desk.offer = None if desk.settings.key is not None or signed_in is not None else offered(desk.settings)
    return page(
        desk, "sign_in.html.j2", status=403 if fault else 200, fault=fault, signed_in=signed_in, offer=desk.offer,
        host=None if desk.offer is None else urlsplit(desk.offer.issuer).netloc,
    )  # fmt: skip


def without_command(text: str) -> str:
    """Why somebody has to sign in, without how that is done in a terminal: the page itself does it."""
    return _IN_TERMINALS.split(text)[0]


@router.post(SIGN_IN)
def begin_sign_in(desk: TheDesk, sent: Sent) -> Response:
    """Lead the browser to the provider that was shown and confirmed."""
    offer = desk.offer
    if offer is None or sent.typed.get("issuer") != offer.issuer:
        return go(desk, SIGN_IN)
    desk.begun = SignInBegun.at(desk.settings, offer, desk.door.port)
    response = page(desk, "leads_on.html.j2", title="To the identity provider", to=desk.begun.url)
    desk.door.expect_back(response, CALLBACK)
    return response


@entrance.get(CALLBACK)
def complete_sign_in(request: Request, desk: TheDesk) -> Response:
    """Take the browser back that was sent away; whoever else comes is shown nothing of the desk."""
    query = dict(request.query_params)
    begun = desk.begun
    if begun is None or not desk.door.is_back(request.headers) or not begun.is_answered_by(query.get("state", "")):
        return PlainTextResponse(
            "This browser did not start this sign-in, or started it too long ago. Start again at the desk.\n", 403
        )
    desk.begun = None
    try:
        KeptSignIn(desk.settings).keep(begun.complete(query))
    except (AuditorError, OSError) as error:
        return page(desk, "fault.html.j2", status=403, fault=fault_text(error))
    to, desk.back = f"{desk.door.root}{desk.back}", ""
    return page(desk, "leads_on.html.j2", title="You are signed in", to=to)


@router.post("/sign-out")
def sign_out(desk: TheDesk, _: Sent) -> Response:
    """End the sign-in, here and at the provider."""
    ended = KeptSignIn(desk.settings).forget()
    return page(desk, "signed_out.html.j2", revoked=ended)
