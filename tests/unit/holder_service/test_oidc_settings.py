"""The settings of sign-in are whole or refused by name, and the secret is in no text."""

from pathlib import Path

import pytest

from holder_service.files.set_up_errors import InvalidSettings, SetUpError
from holder_service.settings.oidc import OidcSettings

CONSOLE = {"CLIENT_ID": "console", "REDIRECT_URL": "https://holder.example/console/signed-in"}


def read(**given: str) -> OidcSettings | None:
    return OidcSettings.from_environment({f"HOLDER_OIDC_{name}": text for name, text in given.items()})


def test_without_an_issuer_there_is_none() -> None:
    assert read() is None
    assert read(ISSUER="", AUDIENCE="") is None


def test_everything_may_be_set(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("hidden\n")
    secret.chmod(0o400)
    settings = read(
        ISSUER="https://login.example/realms/a", AUDIENCE="api", CLIENT_SECRET_FILE=str(secret), **CONSOLE,
        SCOPE="openid roles", ACCOUNT_CLAIM="/who/name", ROLES_CLAIM="groups", ROLES="a=auditor x=y=administrator",
    )  # fmt: skip

    assert settings is not None
    assert settings.client_secret == "hidden"
    assert settings.roles == (("a", "auditor"), ("x=y", "administrator"))
    assert (settings.scope, settings.account_claim, settings.plain) == ("openid roles", "/who/name", False)
    assert "hidden" not in repr(settings)


@pytest.mark.parametrize(
    ("given", "names"),
    [
        ({"AUDIENCE": "api"}, "ISSUER"),
        *(({"ISSUER": issuer, "AUDIENCE": "api"}, "ISSUER") for issuer in (
            "http://login.example", "login.example", "https://", "https://u:p@login.example", "https://login.example?x",
            "https://login.example/.well-known/openid-configuration", "https://[::1", "file:///etc", "https://a b",
        )),
        ({"ISSUER": "https://login.example"}, "AUDIENCE"),
        ({"ISSUER": "https://login.example", "CLIENT_ID": "console"}, "REDIRECT_URL"),
        ({"ISSUER": "https://login.example", **CONSOLE, "REDIRECT_URL": "https://holder.example/"}, "REDIRECT_URL"),
        ({"ISSUER": "https://login.example", **CONSOLE}, "ROLES"),
        ({"ISSUER": "https://login.example", **CONSOLE, "AUDIENCE": "console"}, "differ"),
        ({"ISSUER": "https://login.example", "AUDIENCE": "api", "ROLES": "a=king"}, "ROLES"),
        ({"ISSUER": "https://login.example", "AUDIENCE": "api", "ROLES": "auditor"}, "ROLES"),
        (
            {"ISSUER": "https://login.example", **CONSOLE, "ROLES": "a=auditor", "CLIENT_SECRET_FILE": "/none"},
            "CLIENT_SECRET_FILE",
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_used_is_refused_by_name(given: dict[str, str], names: str) -> None:
    with pytest.raises(SetUpError, match=names):
        read(**given)


@pytest.mark.parametrize("issuer", ["http://127.0.0.1:9400", "http://localhost", "http://[::1]:1/x"])
def test_plain_providers_are_on_this_machine(issuer: str) -> None:
    settings = read(ISSUER=issuer, AUDIENCE="api")

    assert settings is not None
    assert settings.plain
    with pytest.raises(InvalidSettings):
        read(ISSUER="http://127.0.0.1.login.example", AUDIENCE="api")
