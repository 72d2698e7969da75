"""Requests to an identity provider to sign somebody in: the same for the holder's console and for auditors.

OpenID Connect's discovery and its authorization code flow, with a proof key (RFC 7636). Nothing is sent here: each
party has a way of its own to ask, with its own limits.
"""

import base64
import hashlib
from collections.abc import Mapping
from ipaddress import ip_address
from re import fullmatch
from typing import Any, Final, Self
from urllib.parse import urlencode, urlsplit

from pydantic import BaseModel, ConfigDict, Field

DISCOVERY: Final = "/.well-known/openid-configuration"


class Discovery(BaseModel):
    """The provider's description of itself, as far as it is used."""

    model_config = ConfigDict(frozen=True)

    issuer: str
    jwks_uri: str
    authorization_endpoint: str | None = None
    token_endpoint: str | None = None
    end_session_endpoint: str | None = None
    revocation_endpoint: str | None = None
    device_authorization_endpoint: str | None = None
    token_endpoint_auth_methods_supported: tuple[str, ...] = ("client_secret_basic",)
    authorization_response_iss_parameter_supported: bool = False

    @staticmethod
    def address(issuer: str) -> str:
        """Return where an issuer publishes it."""
        return issuer.removesuffix("/") + DISCOVERY

    @classmethod
    def of(cls, issuer: str, document: Mapping[str, Any]) -> Self:
        """Return what was published for an issuer.

        Raises:
            ValueError: It is another issuer's, or lacks something.
        """
        discovery = cls.model_validate(document)
        if discovery.issuer == issuer:
            return discovery
        raise ValueError("the discovery document is another issuer's")

    def answered_by(self, issuer: str | None) -> bool:
        """Whether an answer that came by a browser is this provider's, as far as it says (RFC 9207)."""
        return issuer == self.issuer or (issuer is None and not self.authorization_response_iss_parameter_supported)

    def authorization_url(self, verifier: str, **asked: str) -> str:
        """Return where a browser goes to sign in.

        Args:
            verifier: The secret that the proof key is made of; it is shown with the code alone.
            asked: Further members of the request: client, redirect address, scope, state.

        Raises:
            ValueError: The provider has no such address that a browser may be sent to.
        """
        proof = {"code_challenge": challenge(verifier), "code_challenge_method": "S256"}
        return self.page(self.authorization_endpoint, response_type="code", **asked, **proof)

    def page(self, endpoint: str | None, **asked: str) -> str:
        """A page of the provider for a browser, with what is asked of it.

        Raises:
            ValueError: There is none, or others could read what is sent there.
        """
        if endpoint is None or not is_address(endpoint, plain=is_plain(self.issuer)):
            raise ValueError("the provider publishes no such page")
        return f"{endpoint}{'&' if '?' in endpoint else '?'}{urlencode(asked)}"


class SignInOffer(BaseModel):
    """Where auditors sign in, as the holder says it to everybody: by the authorization code flow, as native programs.

    The holder is not trusted with it: whoever signs in confirms the issuer, and a token goes to the holder only if it
    is for the audience.
    """

    model_config = ConfigDict(frozen=True)

    issuer: str = Field(description="The identity provider, as its discovery document names it.", max_length=2048)
    client_id: str = Field(description="What auditors' programs are registered as there.", max_length=512)
    scope: str = Field(description="What they ask for.", max_length=2048)
    audience: str = Field(description="What a token has in `aud`, alone, to be accepted here.", max_length=2048)


def challenge(verifier: str) -> str:
    """Return what is sent ahead of a verifier: its hash (S256)."""
    return base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()


def code_form(code: str, *, redirect_url: str, verifier: str) -> dict[str, str]:
    """Return what a code is exchanged for tokens by."""
    return {
        "grant_type": "authorization_code", "code": code, "redirect_uri": redirect_url, "code_verifier": verifier,
    }  # fmt: skip


def is_plain(issuer: str) -> bool:
    """Whether a provider is asked without TLS, as one on this machine may be."""
    return urlsplit(issuer).scheme == "http"


def is_address(url: str, *, plain: bool) -> bool:
    """Whether a URL can be asked, or a browser sent to it, without others reading it; plain, on this machine alone."""
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
        if not fullmatch("[!-~]+", url) or not host or parts.port == 0 or parts.username is not None or parts.fragment:
            return False
        return parts.scheme == "https" or (plain and parts.scheme == "http" and is_loopback(host))
    except ValueError:  # brackets without an address, or a port that is no number
        return False


def is_loopback(host: str) -> bool:
    """Whether a host is this machine."""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False
