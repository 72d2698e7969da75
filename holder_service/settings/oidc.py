"""The settings of sign-in by OpenID Connect: who vouches for whom, and which accounts that opens (docs/sign-in.md)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, get_args

from holder_service.files.set_up_errors import InvalidSettings
from holder_service.settings.secrets import secret
from shared.contract.datasets import Role
from shared.wire.identity_providers import DISCOVERY, SignInOffer, is_address, is_plain

PREFIX: Final = "HOLDER_OIDC_"
CALLBACK: Final = "/console/signed-in"
LOG_IN: Final = "/console/log-in"
SCOPE: Final = "openid"
AUDITOR_SCOPE: Final = "openid offline_access"
ACCOUNT_CLAIM: Final = "sub"
ROLES_CLAIM: Final = "roles"


@dataclass(frozen=True, slots=True)
class OidcSettings:
    """The identity provider whose tokens are accepted, and how its claims name accounts and roles.

    Attributes:
        issuer: The identity provider, as its discovery document and its tokens name it: an `https` URL. Without one,
            only keys open accounts.
        audience: What bearer tokens have in `aud`, and nothing else; without it, none is accepted.
        client_id: What the console is registered as at the provider; without it, the console takes keys alone.
        client_secret: The console's secret at the provider, better from a file (`HOLDER_OIDC_CLIENT_SECRET_FILE`); a
            public client has none.
        redirect_url: Where the provider sends people back to, as browsers reach it:
            `https://holder.example/console/signed-in`. Needed with a client id.
        scope: What the console asks the provider for when somebody signs in; `openid` has to be part of it.
        auditor_client_id: What auditors' own programs (`auditor login`, `auditor desk`) are registered as at the
            provider: a public client with addresses on loopback. Everybody is shown it. Needs an audience.
        auditor_scope: What those ask the provider for; `offline_access` has sign-ins renewed for longer than a token.
        account_claim: The claim that names the account; a path into objects begins with a slash.
        roles_claim: The claim with the roles; a path into objects begins with a slash, such as `/realm_access/roles`.
        roles: Which of its values stand for which role: `value=role`, with spaces between. Where there are any, a
            token opens an account only with a value for the account's own role. Without any, tokens open
            auditors' accounts alone. The console needs some.
    """

    issuer: str
    audience: str | None = None
    client_id: str | None = None
    client_secret: str | None = field(default=None, repr=False)
    redirect_url: str | None = None
    scope: str = SCOPE
    auditor_client_id: str | None = None
    auditor_scope: str = AUDITOR_SCOPE
    account_claim: str = ACCOUNT_CLAIM
    roles_claim: str = ROLES_CLAIM
    roles: tuple[tuple[str, str], ...] = ()

    @property
    def plain(self) -> bool:
        """Whether the provider is on this machine, and may be asked without TLS."""
        return is_plain(self.issuer)

    @property
    def offer(self) -> SignInOffer | None:
        """Where auditors sign in as people; None if they have keys and tokens alone."""
        if self.auditor_client_id is None or self.audience is None:
            return None
        return SignInOffer(
            issuer=self.issuer, client_id=self.auditor_client_id, scope=self.auditor_scope, audience=self.audience
        )

    @property
    def signed_out_url(self) -> str | None:
        """Where the provider sends people back to who logged out there."""
        return None if self.redirect_url is None else self.redirect_url.removesuffix(CALLBACK) + LOG_IN

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> "OidcSettings | None":
        """Read each setting from the variable of its name in capitals, after HOLDER_OIDC_.

        Raises:
            InvalidSettings: One of them is not usable, or one is needed and missing.
            UnreadableSecret: The file of the secret cannot be read.
        """
        given = {
            name.removeprefix(PREFIX): text for name, text in environment.items() if name.startswith(PREFIX) and text
        }
        issuer = given.get("ISSUER")
        if issuer is None:
            if given:
                raise InvalidSettings(f"{PREFIX}{min(given)} needs {PREFIX}ISSUER, the identity provider's address.")
            return None
        if not is_address(issuer, plain=True) or "?" in issuer or issuer.endswith(DISCOVERY):
            raise InvalidSettings(
                f"{PREFIX}ISSUER takes the provider's address as its tokens name it, such as https://login.example; "
                "without TLS only on this machine."
            )
        audience, client_id = given.get("AUDIENCE"), given.get("CLIENT_ID")
        if audience is None and client_id is None:
            raise InvalidSettings(f"{PREFIX}ISSUER needs {PREFIX}AUDIENCE for bearer tokens, or {PREFIX}CLIENT_ID.")
        if audience == client_id:
            raise InvalidSettings(
                f"{PREFIX}AUDIENCE and {PREFIX}CLIENT_ID have to differ: else what says who logged in could call too."
            )
        auditor_client_id = given.get("AUDITOR_CLIENT_ID")
        if auditor_client_id is not None and (audience is None or auditor_client_id in (audience, client_id)):
            raise InvalidSettings(
                f"{PREFIX}AUDITOR_CLIENT_ID needs {PREFIX}AUDIENCE, and to be neither that nor {PREFIX}CLIENT_ID: "
                "auditors' programs are a public client of their own."
            )
        roles = _roles(given.get("ROLES", ""))
        redirect_url = given.get("REDIRECT_URL")
        if client_id is not None and not (
            redirect_url and is_address(redirect_url, plain=True) and redirect_url.endswith(CALLBACK)
        ):
            raise InvalidSettings(
                f"{PREFIX}CLIENT_ID needs {PREFIX}REDIRECT_URL, such as https://holder.example{CALLBACK}."
            )
        if client_id is not None and not roles:
            raise InvalidSettings(
                f"{PREFIX}CLIENT_ID needs {PREFIX}ROLES: the console is for the holder's own people, and a token opens "
                "no account of theirs without a mapped role."
            )
        return cls(
            issuer, audience, client_id, secret(environment, f"{PREFIX}CLIENT_SECRET"), redirect_url,
            given.get("SCOPE", SCOPE), auditor_client_id, given.get("AUDITOR_SCOPE", AUDITOR_SCOPE),
            given.get("ACCOUNT_CLAIM", ACCOUNT_CLAIM), given.get("ROLES_CLAIM", ROLES_CLAIM),
            roles,
        )  # fmt: skip


def _roles(text: str) -> tuple[tuple[str, str], ...]:
    pairs = []
    for pair in text.split():
        value, _, role = pair.rpartition("=")
        if not value or role not in get_args(Role):
            raise InvalidSettings(f"{PREFIX}ROLES takes value=role, with a role of {', '.join(get_args(Role))}.")
        pairs.append((value, role))
    return tuple(pairs)
