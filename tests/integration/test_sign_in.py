"""Signing in to the console at an identity provider: who gets in, by one sign-in of one browser, and until when."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from sqlalchemy import func, select

from holder_service.domain.errors import Unauthenticated
from holder_service.identity.tokens import Identity, RefusedToken
from holder_service.services.accounts import logins
from holder_service.services.accounts.access import NO_ACCOUNT
from holder_service.services.running.holder import Holder, initialise
from holder_service.settings.oidc import OidcSettings
from holder_service.storage.tables import completed_sign_ins
from holder_service.web.console.cookies import sealed
from holder_service.web.console.sign_in import SIGN_IN_LIFETIME
from holder_service.web.edge.logs import JsonLines
from shared.wire.identity_providers import SignInOffer
from testing.console_visitors import Page, Visitor, visitor
from testing.holders import TestedHolder, opened, settings_in, stopped_holder
from testing.identity_providers import SECRET, InventedProvider, identity_provider
from testing.kept_logs import logged
from testing.postgres import PostgresServer

ADMINISTRATOR: Final = {"sub": "administrator", "roles": ["pafer-admins"]}


@pytest.fixture(scope="module")
def provider() -> Iterator[InventedProvider]:
    with identity_provider() as one:
        yield one


@pytest.fixture(scope="module")
def holder(provider: InventedProvider, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestedHolder]:
    """A holder whose console people sign in to."""
    stopped = stopped_holder(tmp_path_factory.mktemp("sign-in"))
    oidc = provider.settings(
        client_id="console", client_secret=SECRET, redirect_url="https://holder.test/console/signed-in"
    )
    with opened(replace(stopped.settings, oidc=oidc), stopped.admin_key, stopped.auditor_key) as serving:
        yield serving


@pytest.fixture
def visits(holder: TestedHolder) -> Iterator[Visitor]:
    """Somebody with a browser; no failure before counts."""
    with visitor(holder, logged_in=False) as somebody:
        yield somebody


@pytest.fixture(autouse=True)
def unlimited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("holder_service.web.console.log_in.FAILURES_WITHIN_S", 0.0)


def begin(visits: Visitor, then: str = "/console/ledger") -> str:
    """Where the console sends a browser to sign in."""
    answer = visits.client.get("/console/sign-in", params={"then": then}, follow_redirects=False)
    assert answer.status_code == 303, answer.text
    return answer.headers["location"]


def back(visits: Visitor, url: str, **changes: str) -> Page:
    """The page at the address that the provider sends a browser back to."""
    query = {name: values[0] for name, values in parse_qs(urlsplit(url).query).items()}
    return visits.get(f"/console/signed-in?{urlencode(query | changes)}")


def test_whom_the_provider_vouches_for_gets_in(
    holder: TestedHolder, provider: InventedProvider, visits: Visitor
) -> None:
    assert 'href="/console/sign-in?then=/console/ledger"' in visits.get("/console/ledger").answer.text
    asked = begin(visits)
    page = back(visits, provider.sign_in(asked, **ADMINISTRATOR))
    session = next(one for one in page.answer.headers.get_list("set-cookie") if one.startswith("holder-session="))

    assert {"response_type=code", "code_challenge_method=S256"} <= set(urlsplit(asked).query.split("&"))
    assert page.status == 200
    assert {"http-equiv": "refresh", "content": "0; url=/console/ledger"} in page.all("meta")
    assert {"HttpOnly", "SameSite=strict"} <= set(session.split("; "))
    assert "administrator" in visits.get("/console").text
    visits.send("/console", {}, to="log-out")
    assert visits.get("/console").path == "/console/log-in"


def test_logging_out_leads_on_to_the_provider_that_has_a_page_for_it(
    holder: TestedHolder, provider: InventedProvider, visits: Visitor
) -> None:
    back(visits, provider.sign_in(begin(visits), **ADMINISTRATOR))
    assert visits.send("/console", {}, to="log-out").path == "/console/log-in", "it publishes none"

    with changed_discovery(holder, provider, end_session_endpoint=f"{provider.issuer}/end?ui=en"):
        back(visits, provider.sign_in(begin(visits), **ADMINISTRATOR))
        page = visits.send("/console", {}, to="log-out")
        leads, _, query = page.all("meta")[-1]["content"].partition("&")
        assert page.path == "/console/logged-out"
        assert leads == f"0; url={provider.issuer}/end?ui=en"
        assert parse_qs(query) == {
            "client_id": ["console"], "post_logout_redirect_uri": ["https://holder.test/console/log-in"],
        }  # fmt: skip
        assert visits.get("/console").path == "/console/log-in"
        visits.log_in(holder.admin_key)
        assert visits.send("/console", {}, to="log-out").path == "/console/log-in", "a key's session is of nobody else"
    with changed_discovery(holder, provider, end_session_endpoint="javascript:alert()"):
        assert visits.get("/console/logged-out").path == "/console/log-in"
    with changed_discovery(holder, provider, issuer="https://evil.example"):
        assert "does not answer" in visits.get("/console/logged-out").text


@contextmanager
def changed_discovery(holder: TestedHolder, provider: InventedProvider, **changes: Any) -> Iterator[None]:
    """A provider that publishes something else, to a holder that does not know it yet."""

    def forget() -> None:
        assert holder.holder.provider is not None
        holder.holder.provider.published._discovery._fetched_s = float("-inf")
        holder.holder.provider.published._discovery._tried_s = float("-inf")

    provider.discovery = changes
    forget()
    yield
    provider.discovery = {}
    forget()


def test_everybody_is_shown_where_auditors_sign_in(holder: TestedHolder, provider: InventedProvider) -> None:
    asked = holder.client.get("/v1/sign-in")
    assert (asked.status_code, asked.json()["type"]) == (404, "/problems/not-found")
    oidc = OidcSettings(provider.issuer, audience="https://holder.test/api", auditor_client_id="auditors")
    assert oidc.offer == SignInOffer(
        issuer=provider.issuer, client_id="auditors", scope="openid offline_access", audience="https://holder.test/api"
    )


def changed(**claims: Any) -> Callable[[InventedProvider, Visitor], Page]:
    return lambda provider, visits: back(visits, provider.sign_in(begin(visits), **ADMINISTRATOR | claims))


def sent(**query: str) -> Callable[[InventedProvider, Visitor], Page]:
    return lambda provider, visits: back(visits, provider.sign_in(begin(visits), **ADMINISTRATOR), **query)


def without_cookie(provider: InventedProvider, visits: Visitor, **query: str) -> Page:
    url = provider.sign_in(begin(visits), **ADMINISTRATOR)
    visits.client.cookies.clear()
    return back(visits, url, **query)


def with_own_state(**begun: Any) -> Callable[[InventedProvider, Visitor], Page]:
    """Whoever sends both cookie and state may seal in it whatever they like."""

    def attempt(_: InventedProvider, visits: Visitor) -> Page:
        visits.client.cookies.set("holder-sign-in", "own")
        return visits.get(f"/console/signed-in?{urlencode({'code': 'any', 'state': sealed('own', begun)})}")

    return attempt


REFUSED: dict[str, tuple[str, Callable[[InventedProvider, Visitor], Page]]] = {
    "another issuer": ("issuer", changed(iss="https://evil.example")),
    "another audience": ("audience", changed(aud="https://holder.test/api")),
    "another sign-in": ("nonce", changed(nonce="x" * 64)),
    "expired": ("expired", changed(exp=1, iat=1)),
    "nobody here": ("account", changed(sub="nobody")),
    "role removed": ("account", changed(roles=[])),
    "an auditor": ("account", changed(sub="ADR", roles=["pafer-auditors"])),
    "another code": ("code", sent(code="made-up")),
    "no code": ("code", sent(code="")),
    "said no": ("code", sent(code="", error="access_denied<b>")),
    "from another issuer": ("code", sent(iss="https://evil.example")),
    "state made up": ("state", sent(state="x.y")),
    "no state": ("state", sent(state="")),
    "another browser": ("state", without_cookie),
    "own state of nothing": ("state", with_own_state()),
    "own state of another form": ("state", with_own_state(then=5, until=[])),
    "own state of no time": ("state", with_own_state(then="/console", until=float("nan"))),
    "no browser's": ("state", lambda provider, visits: without_cookie(
        provider, visits, state=sealed("", {"then": "/console", "until": 1e12})
    )),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_anybody_else_is_refused_and_no_secret_is_logged(
    provider: InventedProvider, visits: Visitor, case: str
) -> None:
    reason, attempt = REFUSED[case]
    with logged() as records:
        page = attempt(provider, visits)
    lines = [json.loads(JsonLines().format(record)) for record in records]
    text = json.dumps(lines) + "".join(record.getMessage() for record in records)

    assert page.status == 403
    assert page.values["then"] in ("/console", "/console/ledger")
    assert (NO_ACCOUNT[:80] in page.text or "The console requires an account" in page.text) == (reason == "account")
    assert [line["reason"] for line in lines if line["event"] == "console log-in refused"] == [reason]
    assert not any(secret in text for secret in ("eyJ", "code-", SECRET, "evil", "denied"))
    assert "holder-session" not in page.answer.headers.get("set-cookie", "")
    assert visits.get("/console").path == "/console/log-in"


@pytest.mark.parametrize("until", [9e9, float("inf")])
def test_nobody_has_a_sign_in_kept_for_longer_than_it_may_take(
    holder: TestedHolder, provider: InventedProvider, visits: Visitor, until: float
) -> None:
    before = datetime.now(UTC)
    page = with_own_state(then="/console", until=until)(provider, visits)
    with holder.holder.store.database.read() as connection:
        kept = connection.execute(select(func.max(completed_sign_ins.c.expires))).scalar_one()

    assert page.status == 403
    assert datetime.fromisoformat(kept) - before < SIGN_IN_LIFETIME + timedelta(minutes=1)


def test_a_sign_in_is_completed_once(provider: InventedProvider, visits: Visitor) -> None:
    """Whatever the provider does: here it would answer the code again."""
    url = provider.sign_in(begin(visits), **ADMINISTRATOR)
    cookies, known = dict(visits.client.cookies), next(reversed(provider.codes.values()))
    asked = known["asked"]
    assert back(visits, url).status == 200

    known["asked"] = asked
    visits.client.cookies.clear()
    visits.client.cookies.update(cookies)
    again = back(visits, url)

    assert again.status == 403
    assert "completed it already" in again.text


def test_a_sign_in_takes_ten_minutes_and_a_session_lasts_as_long_as_its_token(
    holder: TestedHolder, provider: InventedProvider, visits: Visitor
) -> None:
    store, clock = holder.holder.store, holder.holder.store.clock
    now_s = int(datetime.now(UTC).timestamp())
    try:
        url = provider.sign_in(begin(visits), **ADMINISTRATOR, exp=now_s + 3600)
        store.clock = lambda: datetime.now(UTC) + timedelta(minutes=11)
        assert "over ten minutes ago" in back(visits, url).text
        store.clock = clock
        assert back(visits, provider.sign_in(begin(visits), **ADMINISTRATOR, exp=now_s + 120)).status == 200
        assert visits.get("/console").path == "/console"
        store.clock = lambda: datetime.now(UTC) + timedelta(minutes=3)
        assert visits.get("/console").path == "/console/log-in"
    finally:
        store.clock = clock


def test_a_session_ends_with_its_account_and_with_its_issuer(
    holder: TestedHolder, provider: InventedProvider, visits: Visitor
) -> None:
    holder.admin("POST", "/auditors", json={"name": "second", "role": "administrator"})
    claims = {**ADMINISTRATOR, "sub": "second"}
    assert back(visits, provider.sign_in(begin(visits), **claims)).status == 200
    elsewhere = replace(
        holder.settings, oidc=replace(provider.settings(client_id="console"), issuer="https://other.example")
    )
    with opened(elsewhere, holder.admin_key) as again, visitor(again, logged_in=False) as moved:
        moved.client.cookies.update(visits.client.cookies)
        assert moved.get("/console").path == "/console/log-in"

    assert visits.get("/console").path == "/console"
    holder.admin("PATCH", "/auditors/second", json={"disabled": True})
    assert visits.get("/console").path == "/console/log-in"


def test_while_the_provider_is_down_a_key_opens_the_console(holder: TestedHolder, provider: InventedProvider) -> None:
    provider.answers = False
    try:
        with holder.reopened() as again, visitor(again, logged_in=False) as visits:
            page = visits.get("/console/sign-in")
            assert page.status == 503
            assert "use an API key" in page.text
            assert visits.log_in(holder.admin_key).path == "/console"
    finally:
        provider.answers = True


def test_a_console_without_a_provider_takes_keys_alone(
    holder: TestedHolder,
) -> None:
    with opened(replace(holder.settings, oidc=None), holder.admin_key) as plain, visitor(plain, logged_in=False) as one:
        assert "Sign in at" not in one.get("/console/log-in").text
        assert one.get("/console/sign-in").status == 404
        assert one.get("/console/signed-in?code=x").status == 403


@pytest.mark.slow
@pytest.mark.postgres
def test_sign_ins_on_postgresql(postgres_server: PostgresServer, tmp_path: Path) -> None:
    until = datetime.now(UTC) + timedelta(minutes=5)
    with postgres_server.database() as url:
        settings = settings_in(tmp_path, url)
        initialise(settings)
        serving = Holder.open(settings)
        try:
            logins.complete_sign_in(serving.store, "secret", expires=until)
            with pytest.raises(RefusedToken):
                logins.complete_sign_in(serving.store, "secret", expires=until)
            session = logins.sign_in(
                serving.store, Identity("administrator", frozenset({"administrator"}), until, "https://login.test")
            )
            assert logins.resume(serving.store, session.token, issuer="https://login.test").expires == until
            with pytest.raises(Unauthenticated):
                logins.resume(serving.store, session.token, issuer=None)
        finally:
            serving.close()
