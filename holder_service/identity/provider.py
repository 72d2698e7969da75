"""The identity provider whose tokens open accounts: what it publishes, and how its tokens are read."""

from dataclasses import dataclass
from typing import Any, Self
from urllib.parse import quote

from holder_service.domain.errors import Unavailable
from holder_service.identity.published import DOWN, ProviderFault, Published
from holder_service.identity.tokens import RefusedToken, Tokens
from holder_service.settings.oidc import OidcSettings
from shared.wire.identity_providers import code_form


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
        """Return where a browser goes to sign in: the authorization code flow, with a proof key (PKCE).

        Raises:
            Unavailable: The provider does not answer, or signs nobody in.
        """
        try:
            return self.published.discovery().authorization_url(
                verifier, client_id=str(self.settings.client_id), redirect_uri=str(self.settings.redirect_url),
                scope=self.settings.scope, state=state, nonce=nonce,
            )  # fmt: skip
        except ValueError:
            raise Unavailable(DOWN) from None

    def log_out_url(self) -> str | None:
        """Where a browser goes to end its session at the provider (RP-Initiated Logout); None if it has no such page.

        The provider asks whoever comes there: no ID token is kept to show it, and so nobody is logged out by a link.

        Raises:
            Unavailable: The provider does not answer.
        """
        discovery, back = self.published.discovery(), self.settings.signed_out_url
        try:
            return discovery.page(
                discovery.end_session_endpoint, client_id=str(self.settings.client_id),
                post_logout_redirect_uri=str(back),
            )  # fmt: skip
        except ValueError:
            return None

    def answered_by(self, issuer: str | None) -> bool:
        """Whether an answer that came by a browser is this provider's, as far as it says (RFC 9207)."""
        return self.published.discovery().answered_by(issuer)

    def id_token(self, code: str, *, verifier: str) -> str:
        """The ID token that the provider gives for a code.

        Raises:
            RefusedToken: It gives none.
            Unavailable: It does not answer.
        """
        discovery = self.published.discovery()
        form = code_form(code, redirect_url=str(self.settings.redirect_url), verifier=verifier)
        credentials: dict[str, Any] = {}
        secret, client_id = self.settings.client_secret, str(self.settings.client_id)
        if secret is not None and "client_secret_basic" in discovery.token_endpoint_auth_methods_supported:
            credentials = {"auth": (quote(client_id, safe=""), quote(secret, safe=""))}
        else:
            form |= {"client_id": client_id} | ({} if secret is None else {"client_secret": secret})
        try:
            status, answer = self.published.ask("POST", discovery.token_endpoint or "", data=form, **credentials)
        except ProviderFault:
            raise Unavailable(DOWN) from None
        token = answer.get("id_token")
        if status == 200 and isinstance(token, str):
            return token
        raise RefusedToken("code")
