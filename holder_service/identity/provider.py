"""The identity provider whose tokens open accounts: what it publishes, and how its tokens are read."""

import base64
import hashlib
from dataclasses import dataclass
from typing import Any, Self
from urllib.parse import quote, urlencode

from holder_service.domain.errors import Unavailable
from holder_service.identity.published import DOWN, ProviderFault, Published
from holder_service.identity.tokens import RefusedToken, Tokens
from holder_service.oidc_settings import OidcSettings, is_address


@dataclass(frozen=True, slots=True)
class IdentityProvider:
    """One provider; each process keeps what it published for itself."""

    settings: OidcSettings
    published: Published
    tokens: Tokens

    @classmethod
    def of(cls, settings: OidcSettings | None) -> Self | None:
        """The provider that the settings name, if they name one; nothing is asked of it yet."""
        if settings is None:
            return None
        published = Published(settings)
        return cls(settings, published, Tokens(settings, published))

    def close(self) -> None:
        """Close the connections to it."""
        self.published.close()

    def authorization_url(self, *, state: str, nonce: str, verifier: str) -> str:
        """Where a browser goes to sign in: the authorization code flow, with a proof key (PKCE).

        Raises:
            Unavailable: The provider does not answer, or signs nobody in.
        """
        endpoint = self.published.discovery().authorization_endpoint
        if endpoint is None or not is_address(endpoint, plain=self.settings.plain):
            raise Unavailable(DOWN)
        challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()
        asked = {
            "response_type": "code", "client_id": self.settings.client_id, "redirect_uri": self.settings.redirect_url,
            "scope": self.settings.scope, "state": state, "nonce": nonce, "code_challenge": challenge,
            "code_challenge_method": "S256",
        }  # fmt: skip
        return f"{endpoint}{'&' if '?' in endpoint else '?'}{urlencode(asked)}"

    def answered_by(self, issuer: str | None) -> bool:
        """Whether an answer that came by a browser is this provider's, as far as it says (RFC 9207)."""
        return issuer == self.settings.issuer or (
            issuer is None and not self.published.discovery().authorization_response_iss_parameter_supported
        )

    def id_token(self, code: str, *, verifier: str) -> str:
        """The ID token that the provider gives for a code.

        Raises:
            RefusedToken: It gives none.
            Unavailable: It does not answer.
        """
        discovery = self.published.discovery()
        form = {
            "grant_type": "authorization_code", "code": code, "redirect_uri": self.settings.redirect_url,
            "code_verifier": verifier,
        }  # fmt: skip
        shown: dict[str, Any] = {}
        secret, client_id = self.settings.client_secret, str(self.settings.client_id)
        if secret is not None and "client_secret_basic" in discovery.token_endpoint_auth_methods_supported:
            shown = {"auth": (quote(client_id, safe=""), quote(secret, safe=""))}
        else:
            form |= {"client_id": client_id} | ({} if secret is None else {"client_secret": secret})
        try:
            status, answer = self.published.ask("POST", discovery.token_endpoint or "", data=form, **shown)
        except ProviderFault:
            raise Unavailable(DOWN) from None
        token = answer.get("id_token")
        if status == 200 and isinstance(token, str):
            return token
        raise RefusedToken("code")
