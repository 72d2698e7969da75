"""Signing in as a person with a program of one's own: the authorization code flow with a proof key, back to loopback.

RFC 8252, or, on a machine without a browser, RFC 8628. The holder says where, and is not trusted with that: a holder
that lies could name a provider of its own, to be shown a password, or another service, to be sent its tokens. So the
issuer is confirmed by whoever signs in, or is in the settings; the audience is an address of the holder's own, or in
the settings; and a token for anything else is not sent (`sessions`).
"""

import hmac
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlsplit

from auditor_client.errors import HolderLied, ProviderUnavailable, SettingsRefused, SignInRefused
from auditor_client.exchange.calls import ask_provider
from auditor_client.exchange.holder import HolderClient
from auditor_client.exchange.sessions import SignedIn, discovered, endpoint, resource
from auditor_client.settings import AuditorSettings
from auditor_client.text import readable
from shared.wire.identity_providers import Discovery, SignInOffer, code_form, is_address, is_loopback

CALLBACK: Final = "/signed-in"
"""Where on loopback the provider sends the browser back to."""
SIGN_IN_S: Final = 600.0
"""How long a sign-in may take."""
_DEVICE_CODE: Final = "urn:ietf:params:oauth:grant-type:device_code"


def offered(settings: AuditorSettings) -> SignInOffer:
    """Where the holder has auditors sign in, as far as it may say that; whoever signs in confirms the issuer.

    Raises:
        NotFound: Nowhere: they have keys.
        SettingsRefused, HolderLied: It names what it may not.
    """
    url = settings.holder_url
    with HolderClient(url=url, key=None, allow_plain_http=settings.allow_plain_http) as holder:
        offer = holder.sign_in_offer()
    if settings.oidc_issuer not in (None, offer.issuer):
        raise SettingsRefused(
            f"The holder names {readable(offer.issuer)} for sign-in, but AUDITOR_OIDC_ISSUER is "
            f"{settings.oidc_issuer}. Ask the holder's administrator, in another way, which is right."
        )
    plain = urlsplit(url).scheme == "http" and is_loopback(urlsplit(url).hostname or "")
    if not is_address(offer.issuer, plain=plain):
        raise HolderLied(
            "The holder names a sign-in address that others could read along: it is neither https "
            "nor on this machine. Report it to the holder's administrator."
        )
    if settings.oidc_audience is None and _origin(offer.audience) != _origin(url):
        raise SettingsRefused(
            f"The holder asks for tokens for {readable(offer.audience)}, which is not one of its own addresses. "
            "Another service of that name would accept your tokens too. If the holder's administrator confirms "
            "the name, set AUDITOR_OIDC_AUDIENCE to it."
        )
    if settings.oidc_audience not in (None, offer.audience):
        raise SettingsRefused(
            f"The holder asks for tokens for {readable(offer.audience)}, but AUDITOR_OIDC_AUDIENCE is "
            f"{settings.oidc_audience}. Ask the holder's administrator, in another way, which is right."
        )
    return offer


@dataclass(frozen=True, slots=True)
class SignInBegun:
    """A sign-in that one browser was sent to, and that comes back once."""

    holder_url: str
    offer: SignInOffer
    discovery: Discovery
    redirect_url: str
    state: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)
    verifier: str = field(default_factory=lambda: secrets.token_urlsafe(48), repr=False)
    until: float = field(default_factory=lambda: time.monotonic() + SIGN_IN_S)

    @classmethod
    def at(cls, settings: AuditorSettings, offer: SignInOffer, port: int) -> "SignInBegun":
        """Begin one at an issuer that was confirmed, to come back to a port of loopback.

        Raises:
            ProviderUnavailable: The provider does not answer.
        """
        url = settings.holder_url.rstrip("/")
        return cls(url, offer, discovered(offer.issuer), f"http://127.0.0.1:{port}{CALLBACK}")

    @property
    def url(self) -> str:
        """Where the browser goes.

        Raises:
            ProviderUnavailable: The provider signs nobody in by a browser.
        """
        consent = {"prompt": "consent"} if "offline_access" in self.offer.scope.split() else {}
        try:
            return self.discovery.authorization_url(
                self.verifier, client_id=self.offer.client_id, redirect_uri=self.redirect_url, scope=self.offer.scope,
                state=self.state, **resource(self.offer), **consent,
            )  # fmt: skip
        except ValueError:
            raise ProviderUnavailable(
                "The identity provider does not publish a page to sign in. Ask its administrator."
            ) from None

    @property
    def is_late(self) -> bool:
        """Whether its time is over."""
        return time.monotonic() >= self.until

    def is_answered_by(self, state: str) -> bool:
        """Whether an answer is to this sign-in, and in time."""
        return hmac.compare_digest(state.encode(), self.state.encode()) and not self.is_late

    def complete(self, query: Mapping[str, str]) -> SignedIn:
        """What the answer that a browser brought leaves.

        Raises:
            SignInRefused: It is to another sign-in, or from another provider, or the provider says no.
            ProviderUnavailable: The provider does not answer.
        """
        if not self.is_answered_by(query.get("state", "")):
            raise SignInRefused(
                "This answer belongs to another sign-in, or came after more than ten minutes. Start again."
            )
        if not self.discovery.answered_by(query.get("iss")):
            raise SignInRefused(
                "Another identity provider answered than the one that was asked. Start again, "
                "and report it to the holder's administrator."
            )
        code = query.get("code", "")
        if not code:
            why = readable(query.get("error", "no code"))[:80]
            raise SignInRefused(f"The identity provider did not sign you in ({why}). Start again.")
        form = code_form(code, redirect_url=self.redirect_url, verifier=self.verifier)
        form |= {"client_id": self.offer.client_id, **resource(self.offer)}
        status, answer = ask_provider("POST", endpoint(self.discovery, "token_endpoint"), form)
        if status != 200:
            raise SignInRefused("The identity provider did not confirm the sign-in. Start again.")
        return SignedIn.of(self.holder_url, self.offer, answer)


def sign_in_by_device(
    settings: AuditorSettings,
    offer: SignInOffer,
    show: Callable[[str, str], None],
    wait: Callable[[float], None] = time.sleep,
) -> SignedIn:
    """Sign in with a browser on another machine, which is shown a code.

    Args:
        settings: Of the auditor.
        offer: At an issuer that was confirmed.
        show: Takes the address to open there, and the code to type.
        wait: Waits for seconds.

    Raises:
        SignInRefused: Nobody confirmed it in time, or somebody refused.
        ProviderUnavailable: The provider does not answer, or offers no such sign-in.
    """
    discovery = discovered(offer.issuer)
    client = {"client_id": offer.client_id, **resource(offer)}
    form = {**client, "scope": offer.scope}
    status, begun = ask_provider("POST", endpoint(discovery, "device_authorization_endpoint"), form)
    names = ("device_code", "user_code", "verification_uri")
    if status != 200 or not all(isinstance(begun.get(name), str) for name in names):
        raise ProviderUnavailable(
            "The identity provider does not offer sign-in with a code from another "
            "machine. Sign in with a browser on this machine."
        )
    show(readable(begun["verification_uri"]), readable(begun["user_code"]))
    every_s = max(_seconds(begun, "interval", 5.0), 1.0)
    until = time.monotonic() + _seconds(begun, "expires_in", SIGN_IN_S)
    form = {**client, "grant_type": _DEVICE_CODE, "device_code": begun["device_code"]}
    while time.monotonic() < until:
        wait(every_s)
        try:
            status, answer = ask_provider("POST", endpoint(discovery, "token_endpoint"), form)
        except ProviderUnavailable:
            status, answer = 503, {}
        if status == 200:
            return SignedIn.of(settings.holder_url.rstrip("/"), offer, answer)
        if answer.get("error") == "slow_down" or status in (429, 503):
            every_s += 5.0
        elif answer.get("error") != "authorization_pending":
            raise SignInRefused("The identity provider did not sign you in. Start again.")
    raise SignInRefused("The code was not confirmed in time. Start again.")


def _seconds(document: Mapping[str, Any], name: str, usual: float) -> float:
    given = document.get(name)
    return min(max(float(given), 0.0), SIGN_IN_S) if isinstance(given, int | float) else usual


def _origin(url: str) -> tuple[str, str | None, int | None]:
    try:
        parts = urlsplit(url)
        return parts.scheme, parts.hostname, parts.port or {"https": 443, "http": 80}.get(parts.scheme)
    except ValueError:
        return "", url, None
