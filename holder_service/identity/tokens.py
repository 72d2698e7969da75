"""Tokens of the identity provider: verified whole, then read as an account's name and roles.

Nothing of a token is believed before its signature is checked, but for the names of its algorithm and key, and the
algorithm has to be one of ours. The library checks signature and claims (joserfc); what it is to check is here.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from joserfc import jws, jwt
from joserfc.errors import ExpiredTokenError, InvalidClaimError, JoseError, MissingClaimError
from joserfc.jwk import Key
from joserfc.jws import JWSRegistry
from joserfc.jwt import Claims, JWTClaimsRegistry

from holder_service.domain.errors import Unauthenticated
from holder_service.identity.published import Published
from holder_service.settings.oidc import OidcSettings

ALGORITHMS: Final[Mapping[str, str]] = {"RS256": "RSA", "PS256": "RSA", "ES256": "EC", "Ed25519": "OKP", "EdDSA": "OKP"}
"""The algorithms that tokens may be signed with, and the type of key of each; no other is looked at."""
BEARER_TYPES: Final = frozenset({None, "jwt", "at+jwt", "application/at+jwt"})
ID_TYPES: Final = frozenset({None, "jwt"})
SKEW_S: Final = 30
"""How far the clocks of holder and provider may be apart."""
LIFETIME_S_MAX: Final = 24 * 3600
WHY: Final[Mapping[str, str]] = {
    "form": "it is not a signed JWT of an accepted kind",
    "algorithm": f"it has to be signed by one of {', '.join(ALGORITHMS)}",
    "key": "the provider publishes no key of that id",
    "signature": "its signature is not the provider's",
    "issuer": "it comes from another issuer",
    "audience": "it is not for this holder alone",
    "expired": "it has expired",
    "early": "it is not valid yet",
    "lifetime": "it lasts for over a day",
    "nonce": "it belongs to another sign-in",
    "state": "this browser did not begin the sign-in, or over ten minutes ago, or has completed it already",
    "code": "the provider did not confirm the sign-in",
    "account": "its claims name no account",
    "claims": "one of its claims is missing or malformed",
}
"""Why a token is refused; the reasons are in the log, and each says what the caller knows already."""
_COMPACT: Final = re.compile(r"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*")
"""The library passes over other characters; a token has one spelling."""
_CLAIMS: Final = {"iss": "issuer", "aud": "audience", "nbf": "early", "iat": "early", "exp": "expired"}


class RefusedToken(Unauthenticated):
    """A token that does not count; `reason` is one of `WHY`."""

    def __init__(self, reason: str) -> None:
        super().__init__(
            f"The token is refused: {WHY[reason]}. Get a new one from your identity provider for this use."
        )
        self.reason = reason

    @property
    def on_page(self) -> str:
        """What a person is shown who did not sign in."""
        return f"You are not signed in: {WHY[self.reason]}. Sign in again, or use a key."


UNMAPPED: Final = frozenset({"auditor"})
"""The roles of every token where `HOLDER_OIDC_ROLES` maps none: a claim that people choose themselves opens no more."""


@dataclass(frozen=True, slots=True)
class Identity:
    """Whom a token vouches for: an account's name, the roles it has there, and until when."""

    account: str
    roles: frozenset[str]
    expires: datetime
    issuer: str


class Tokens:
    """Reads tokens of one provider."""

    def __init__(self, settings: OidcSettings, published: Published) -> None:
        self._settings = settings
        self._published = published

    def bearer(self, text: str, *, now: datetime) -> Identity:
        """Return whom a bearer token vouches for.

        Raises:
            RefusedToken: It is not the provider's, not for this holder, not of this time, or names no account.
            Unavailable: The provider's keys cannot be had.
        """
        if self._settings.audience is None:
            raise RefusedToken("audience")
        claims = self._verified(text, BEARER_TYPES, now)
        # Whoever else a token is for could send it on, so it is for the holder alone.
        if claims["aud"] not in (self._settings.audience, [self._settings.audience]):
            raise RefusedToken("audience")
        return self._identity(claims)

    def signed_in(self, text: str, *, nonce: str, now: datetime) -> Identity:
        """Return whom an ID token vouches for, which answers one sign-in.

        Raises:
            RefusedToken: As of a bearer token; or it answers another sign-in.
            Unavailable: The provider's keys cannot be had.
        """
        claims = self._verified(text, ID_TYPES, now)
        client_id = self._settings.client_id
        audiences = claims["aud"] if isinstance(claims["aud"], list) else [claims["aud"]]
        several = len(audiences) > 1
        if client_id not in audiences or claims.get("azp", None if several else client_id) != client_id:
            raise RefusedToken("audience")
        if claims.get("nonce") != nonce:
            raise RefusedToken("nonce")
        return self._identity(claims)

    def _verified(self, text: str, types: frozenset[str | None], now: datetime) -> Claims:
        """The claims of a token with the provider's signature, and of this time."""
        if not _COMPACT.fullmatch(text):
            raise RefusedToken("form")
        try:
            header = jws.extract_compact(text.encode()).headers()
        except (JoseError, ValueError, RecursionError):
            raise RefusedToken("form") from None
        algorithm, kind = header.get("alg"), header.get("typ")
        if not isinstance(kind, str | None) or (kind and kind.lower()) not in types:
            raise RefusedToken("form")
        if not isinstance(algorithm, str) or algorithm not in ALGORITHMS:
            raise RefusedToken("algorithm")
        key = self._key(header.get("kid"), algorithm)
        try:
            token = jwt.decode(text, key, registry=_Algorithms(algorithms=list(ALGORITHMS)))
        except (JoseError, TypeError, ValueError, RecursionError):
            raise RefusedToken("signature") from None
        return self._of_this_time(token.claims, now)

    def _key(self, kid: Any, algorithm: str) -> Key:
        """The one key of an id that is of the algorithm's type."""

        def named(keys: tuple[Key, ...]) -> list[Key]:
            return [
                key for key in keys
                if key.key_type == ALGORITHMS[algorithm] and key.get("alg", algorithm) == algorithm
                and (key.get("kid") == kid or (kid is None and len(keys) == 1))
            ]  # fmt: skip

        matches = named(self._published.keys(lambda keys: bool(named(keys))))
        if len(matches) == 1:
            return matches[0]
        raise RefusedToken("key")

    def _of_this_time(self, claims: Claims, now: datetime) -> Claims:
        now_s = int(now.timestamp())
        rules = JWTClaimsRegistry(
            now_s, SKEW_S, iss={"essential": True, "value": self._settings.issuer}, aud={"essential": True},
            exp={"essential": True}, iat={"essential": True},
        )  # fmt: skip
        try:
            rules.validate(claims)
        except (ExpiredTokenError, InvalidClaimError) as error:
            raise RefusedToken(_CLAIMS.get(error.claim, "claims")) from None
        except (MissingClaimError, TypeError, OverflowError):
            raise RefusedToken("claims") from None
        if claims["exp"] - claims["iat"] <= LIFETIME_S_MAX:
            return claims
        raise RefusedToken("lifetime")

    def _identity(self, claims: Claims) -> Identity:
        account = _at(claims, self._settings.account_claim)
        if not isinstance(account, str) or not account:
            raise RefusedToken("account")
        expires = datetime.fromtimestamp(claims["exp"], UTC) + timedelta(seconds=SKEW_S)
        return Identity(account, self._roles(claims), expires, self._settings.issuer)

    def _roles(self, claims: Claims) -> frozenset[str]:
        """The roles that the provider gives; where none are mapped, a token vouches for auditors alone."""
        if not self._settings.roles:
            return UNMAPPED
        claim = _at(claims, self._settings.roles_claim)
        values = claim.split() if isinstance(claim, str) else claim if isinstance(claim, list) else []
        return frozenset(role for value, role in self._settings.roles if value in values)


class _Algorithms(JWSRegistry):
    """Those of `ALGORITHMS`; `EdDSA` is the older name of Ed25519, of no other curve here."""

    def get_alg(self, name: str) -> Any:
        return super().get_alg("Ed25519" if name == "EdDSA" else name)


def _at(claims: Claims, name: str) -> Any:
    """A claim by its name, or by its path into objects."""
    if not name.startswith("/"):
        return claims.get(name)
    value: Any = claims
    for part in name[1:].split("/"):
        value = value.get(part) if isinstance(value, dict) else None
    return value
