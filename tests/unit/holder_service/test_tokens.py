"""A token counts if the provider signed it for this holder and this time; anything else is refused, and why is said."""

import base64
import json
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any

import pytest
from joserfc.jwk import ECKey, Key, OctKey, OKPKey, RSAKey

from holder_service.domain.errors import Unavailable
from holder_service.identity import published
from holder_service.identity.published import AGAIN_S, FRESH_S, STALE_S, KeptDocument, Published
from holder_service.identity.tokens import LIFETIME_S_MAX, SKEW_S, Identity, RefusedToken
from testing.identity_providers import AUDIENCE, InventedProvider, identity_provider

RSA, STRANGERS = RSAKey.generate_key(2048), ECKey.generate_key("P-256")
Make = Callable[[InventedProvider], str]


class Clock:
    """A clock that a test sets."""

    now_s = 1000.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture(scope="module")
def lasting_provider() -> Iterator[InventedProvider]:
    """A provider with a key of each kind, for tests that leave it as it was."""
    with identity_provider() as provider:
        provider.keys |= {"rsa": RSA, "ed": OKPKey.generate_key("Ed25519")}
        yield provider


@pytest.fixture
def provider() -> Iterator[InventedProvider]:
    """A provider of the test's own."""
    with identity_provider() as one:
        yield one


def now_s() -> int:
    return int(datetime.now(UTC).timestamp())


def read(provider: InventedProvider, token: str, **settings: Any) -> Identity:
    return provider.tokens(**settings).bearer(token, now=datetime.now(UTC))


def unsigned(provider: InventedProvider, header: dict[str, Any], signature: str = "") -> str:
    parts = (base64.urlsafe_b64encode(json.dumps(one).encode()).rstrip(b"=") for one in (header, provider.claims()))
    return f"{b'.'.join(parts).decode()}.{signature}"


@pytest.mark.parametrize(
    ("alg", "kid", "header"),
    [
        ("RS256", "rsa", {}), ("PS256", "rsa", {}), ("ES256", "first", {"typ": "at+JWT"}), ("Ed25519", "ed", {}),
        ("ES256", "first", {"typ": "application/at+jwt"}),
    ],
)  # fmt: skip
def test_a_token_of_the_provider_names_account_and_roles(
    lasting_provider: InventedProvider, alg: str, kid: str, header: dict[str, Any]
) -> None:
    identity = read(lasting_provider, lasting_provider.token(alg=alg, kid=kid, header=header, aud=[AUDIENCE]))

    assert identity.account == "ADR"
    assert identity.roles == frozenset({"auditor"})


def test_eddsa_is_the_older_name_of_ed25519(lasting_provider: InventedProvider) -> None:
    head, body, _ = lasting_provider.token(alg="Ed25519", kid="ed").split(".")
    header = {**json.loads(base64.urlsafe_b64decode(head + "==")), "alg": "EdDSA"}
    signed = f"{base64.urlsafe_b64encode(json.dumps(header).encode()).rstrip(b'=').decode()}.{body}"
    key: Any = lasting_provider.keys["ed"].private_key
    signature = base64.urlsafe_b64encode(key.sign(signed.encode())).rstrip(b"=").decode()

    assert read(lasting_provider, f"{signed}.{signature}").account == "ADR"


REFUSED: dict[str, tuple[str, Make]] = {
    "nothing": ("form", lambda _: ""),
    "no token": ("form", lambda _: "eyJhbGciOiJub25lIn0"),
    "not ASCII": ("form", lambda provider: provider.token() + "é"),
    "of another kind": ("form", lambda provider: provider.token(header={"typ": "logout+jwt"})),
    "header is a list": ("form", lambda _: "W10.e30.AA"),
    "kinds in a list": ("form", lambda provider: unsigned(provider, {"alg": "ES256", "typ": ["JWT"]}, "AA")),
    "kind is an object": ("form", lambda provider: unsigned(provider, {"alg": "ES256", "typ": {}}, "AA")),
    "algorithm none": ("algorithm", lambda provider: unsigned(provider, {"alg": "none", "kid": "first"})),
    "algorithm None": ("algorithm", lambda provider: unsigned(provider, {"alg": "None"}, "AA")),
    "algorithm of an unknown kind": ("algorithm", lambda provider: unsigned(provider, {"alg": ["RS256"]}, "AA")),
    "signed by a secret": (
        "algorithm",
        lambda provider: provider.token(alg="HS256", kid="rsa", key=OctKey.import_key({"kty": "oct", "k": "A" * 43})),
    ),
    "key for another algorithm": ("key", lambda provider: provider.token(alg="RS256", kid="first", key=RSA)),
    "key of nobody": ("key", lambda provider: provider.token(kid="other", key=STRANGERS)),
    "which key is not said": ("key", lambda provider: provider.token(kid=None)),
    "key in the token": (
        "signature", lambda provider: provider.token(key=STRANGERS, header={"jwk": STRANGERS.as_dict(private=False)}),
    ),
    "signed by a stranger": ("signature", lambda provider: provider.token(key=STRANGERS)),
    "not signed": ("signature", lambda provider: provider.token().rpartition(".")[0] + "."),
    "changed": ("signature", lambda provider: ".".join(
        (provider.token().split(".")[0], provider.token(sub="eve").split(".")[1], provider.token().split(".")[2])
    )),
    "critical extension": ("signature", lambda provider: unsigned(
        provider, {"alg": "ES256", "kid": "first", "crit": ["exp"], "exp": 1}, "AA"
    )),
    "critical is no list": ("signature", lambda provider: unsigned(
        provider, {"alg": "ES256", "kid": "first", "crit": 5}, "AA"
    )),
    "critical are objects": ("signature", lambda provider: unsigned(
        provider, {"alg": "ES256", "kid": "first", "crit": [{}]}, "AA"
    )),
    "another issuer": ("issuer", lambda provider: provider.token(iss="https://evil.example")),
    "issuer with a slash": ("issuer", lambda provider: provider.token(iss=provider.issuer + "/")),
    "another audience": ("audience", lambda provider: provider.token(aud="https://other.example")),
    "audiences besides": ("audience", lambda provider: provider.token(aud=[AUDIENCE, "https://other.example"])),
    "audience as a beginning": ("audience", lambda provider: provider.token(aud=AUDIENCE + "/more")),
    "expired": ("expired", lambda provider: provider.token(iat=now_s() - 600, exp=now_s() - SKEW_S - 1)),
    "expiry in words": ("expired", lambda provider: provider.token(exp="tomorrow")),
    "not yet": ("early", lambda provider: provider.token(nbf=now_s() + SKEW_S + 60)),
    "made in the future": ("early", lambda provider: provider.token(iat=now_s() + SKEW_S + 60)),
    "for ever": ("lifetime", lambda provider: provider.token(exp=now_s() + LIFETIME_S_MAX + 60)),
    "no expiry": ("claims", lambda provider: provider.token(exp=None)),
    "no time": ("claims", lambda provider: provider.token(iat=None)),
    "no issuer": ("claims", lambda provider: provider.token(iss=None)),
    "no audience": ("claims", lambda provider: provider.token(aud=None)),
    "nobody": ("account", lambda provider: provider.token(sub=None)),
    "a list of people": ("claims", lambda provider: provider.token(sub=["ADR"])),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_any_other_token_is_refused(lasting_provider: InventedProvider, case: str) -> None:
    reason, make = REFUSED[case]
    token = make(lasting_provider)

    with pytest.raises(RefusedToken) as refused:
        read(lasting_provider, token)

    assert refused.value.reason == reason
    assert len(token) < 20 or token not in str(refused.value)


def test_clocks_may_be_a_little_apart(lasting_provider: InventedProvider) -> None:
    early: dict[str, Any] = {"iat": now_s() + 15, "nbf": now_s() + 15}
    late: dict[str, Any] = {"iat": now_s() - 300, "exp": now_s() - SKEW_S + 15}
    for claims in (early, late):
        assert read(lasting_provider, lasting_provider.token(**claims)).account == "ADR"


@pytest.mark.parametrize(
    ("claims", "roles"),
    [
        ({"roles": []}, set()), ({"roles": None}, set()), ({"roles": 7}, set()), ({"roles": ["auditor"]}, set()),
        ({"roles": "other pafer-admins"}, {"administrator"}), ({"roles": [["pafer-admins"], "x"]}, set()),
    ],
)  # fmt: skip
def test_only_values_that_are_named_stand_for_roles(
    lasting_provider: InventedProvider, claims: dict[str, Any], roles: set[str]
) -> None:
    assert read(lasting_provider, lasting_provider.token(**claims)).roles == frozenset(roles)


def test_claims_may_lie_in_objects_and_roles_that_are_not_mapped_are_auditors(
    lasting_provider: InventedProvider,
) -> None:
    claims: dict[str, Any] = {"who": {"name": "eve"}, "https://a.test/roles": ["pafer-admins"]}
    token = lasting_provider.token(**claims)

    named = read(lasting_provider, token, account_claim="/who/name", roles_claim="https://a.test/roles")
    assert named.account == "eve"
    assert named.roles == frozenset({"administrator"})
    assert read(lasting_provider, token, roles=()).roles == frozenset({"auditor"})
    with pytest.raises(RefusedToken, match="name no account"):
        read(lasting_provider, token, account_claim="/who/name/first")


@pytest.mark.parametrize("changed", [{"azp": "other"}, {"aud": ["console", "x"]}, {"aud": AUDIENCE}, {"nonce": "old"}])
def test_an_id_token_answers_one_sign_in_of_the_console(
    lasting_provider: InventedProvider, changed: dict[str, Any]
) -> None:
    tokens = lasting_provider.tokens(client_id="console")
    good: dict[str, Any] = {"aud": "console", "nonce": "n"}
    now = datetime.now(UTC)

    assert tokens.signed_in(lasting_provider.token(**good), nonce="n", now=now).account == "ADR"
    several = lasting_provider.token(**good | {"aud": ["console", "x"], "azp": "console"})
    assert tokens.signed_in(several, nonce="n", now=now).account == "ADR"
    with pytest.raises(RefusedToken):
        tokens.signed_in(lasting_provider.token(**{**good, **changed}), nonce="n", now=now)
    with pytest.raises(RefusedToken, match="not for this holder"):
        tokens.bearer(lasting_provider.token(**good), now=now)


def test_a_new_key_is_fetched_and_an_old_one_lapses(provider: InventedProvider) -> None:
    """Whoever makes key ids up has the provider asked once in `AGAIN_S`, and no more."""
    clock = Clock()
    provider.kept = Published(provider.settings(), clock)
    tokens = provider.tokens()
    now = datetime.now(UTC)
    old = provider.token()
    assert tokens.bearer(old, now=now).account == "ADR"

    provider.keys = {"second": ECKey.generate_key("P-256")}
    new = provider.token(kid="second")
    with pytest.raises(RefusedToken, match="no key of that id"):
        tokens.bearer(new, now=now)
    clock.now_s += AGAIN_S
    assert tokens.bearer(new, now=now).account == "ADR"
    with pytest.raises(RefusedToken, match="no key of that id"):
        tokens.bearer(old, now=now)
    for number in range(20):
        with pytest.raises(RefusedToken):
            tokens.bearer(provider.token(kid="second", header={"kid": f"made up {number}"}), now=now)
    assert provider.asked["/keys"] == 2
    clock.now_s += FRESH_S
    assert tokens.bearer(new, now=now).account == "ADR"
    assert provider.asked["/keys"] == 3


def test_while_the_provider_is_down_its_last_keys_hold_for_a_while(provider: InventedProvider) -> None:
    clock = Clock()
    provider.kept = Published(provider.settings(), clock)
    tokens = provider.tokens()
    now = datetime.now(UTC)
    provider.answers = False
    for _ in range(5):
        with pytest.raises(Unavailable, match="API key"):
            tokens.bearer(provider.token(), now=now)
    assert provider.asked == {"/.well-known/openid-configuration": 1}

    provider.answers = True
    clock.now_s += AGAIN_S
    assert tokens.bearer(provider.token(), now=now).account == "ADR"
    provider.answers = False
    clock.now_s += FRESH_S
    assert tokens.bearer(provider.token(), now=now).account == "ADR"
    with pytest.raises(Unavailable):
        tokens.bearer(provider.token(header={"kid": "other"}), now=now)
    clock.now_s += STALE_S
    with pytest.raises(Unavailable):
        tokens.bearer(provider.token(), now=now)


def test_nobody_waits_while_the_provider_is_asked_for_another() -> None:
    """Where it answers slowly, made-up key ids would else hold every thread that reads tokens."""
    asked, go_on = threading.Event(), threading.Event()

    def fetch() -> str:
        if document._value is not None:
            asked.set()
            go_on.wait(10)
            return "second"
        return "first"

    clock = Clock()
    document = KeptDocument(fetch, clock)
    assert document.get() == "first"
    clock.now_s += AGAIN_S
    with ThreadPoolExecutor(1) as other:
        fetched = other.submit(document.get, lambda found: found == "second")
        asked.wait()
        with pytest.raises(Unavailable):
            document.get(lambda found: found == "third")
        assert document.get() == "first"
        go_on.set()
        assert fetched.result() == "second"


def test_a_key_whose_secret_is_published_is_no_key(provider: InventedProvider) -> None:
    """Whoever reads it signs as the provider."""
    provider.published = [{**provider.keys["first"].as_dict(private=True), "kid": "first"}]

    with pytest.raises(Unavailable):
        read(provider, provider.token())


@pytest.mark.parametrize(
    "discovery",
    [
        {"issuer": "https://evil.example"}, {"jwks_uri": "http://192.0.2.1/keys"}, {"jwks_uri": 7},
        {"jwks_uri": "file:///etc/passwd"}, {"jwks_uri": "https://[::1/keys"},
    ],
)  # fmt: skip
def test_what_the_provider_publishes_is_its_own_and_not_read_by_others(
    provider: InventedProvider, discovery: dict[str, Any]
) -> None:
    provider.discovery = discovery

    with pytest.raises(Unavailable):
        read(provider, provider.token())


def test_keys_that_cannot_be_used_are_passed_over(provider: InventedProvider, monkeypatch: pytest.MonkeyPatch) -> None:
    good: Key = provider.keys["first"]
    provider.published = [
        "no key", {"kty": "oct", "k": "A" * 43}, {"kty": "new"}, {"kty": "RSA", "n": "x", "e": "AQAB"},  # type: ignore[list-item]
        {"kty": "EC", "crv": "P-256", "x": "a", "y": "b"}, {"kty": "RSA", "n": "x" * 342, "e": "!"},
        {**STRANGERS.as_dict(private=False), "kid": "first", "use": "enc"},
        {**good.as_dict(private=False), "kid": "first"},
    ]  # fmt: skip
    assert read(provider, provider.token()).account == "ADR"

    assert provider.kept is not None
    provider.kept.close()
    provider.kept = None
    monkeypatch.setattr(published, "DOCUMENT_BYTES_MAX", 100)
    with pytest.raises(Unavailable):
        read(provider, provider.token())
