"""Signing in as an auditor: at the provider that was confirmed, for this holder alone, and renewed without a word."""

import logging
import socket
import stat
import threading
import time
import webbrowser
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qs, parse_qsl, urlsplit

import httpx
import pytest
from stamina.instrumentation import set_on_retry_hooks
from typer.testing import CliRunner

from auditor_client import Auditor
from auditor_client.cli import app
from auditor_client.errors import (
    AuditorError,
    HolderLied,
    NotFound,
    ProviderUnavailable,
    SettingsRefused,
    SignInNeeded,
    SignInRefused,
)
from auditor_client.exchange.sessions import AHEAD_S, KeptSignIn, SignedIn, discovered
from auditor_client.exchange.sign_in import SignInBegun, offered, sign_in_by_device
from auditor_client.settings import AuditorSettings
from shared.wire.identity_providers import SignInOffer
from testing.identity_providers import AUDIENCE, NATIVE_CLIENT, InventedProvider, identity_provider
from testing.ports import reserved_port
from testing.simulated_holder import SimulatedHolder, simulated_holder

ELSEWHERE: Final = "https://evil.example"


@pytest.fixture
def provider() -> Iterator[InventedProvider]:
    with identity_provider() as one:
        yield one


@pytest.fixture
def holder(provider: InventedProvider) -> Iterator[SimulatedHolder]:
    with simulated_holder() as one:
        one.offer = SignInOffer(
            issuer=provider.issuer, client_id=NATIVE_CLIENT, scope="openid offline_access", audience=AUDIENCE
        )
        yield one


@pytest.fixture
def settings(holder: SimulatedHolder, tmp_path: Path) -> AuditorSettings:
    return AuditorSettings(holder_url=holder.url, oidc_audience=AUDIENCE, state=tmp_path / "state")


def begun(settings: AuditorSettings) -> SignInBegun:
    return SignInBegun.at(settings, offered(settings), 4711)


def answer(provider: InventedProvider, url: str, **claims: Any) -> dict[str, str]:
    return dict(parse_qsl(urlsplit(provider.sign_in(url, **claims)).query))


def signed_in(provider: InventedProvider, settings: AuditorSettings, *, life_s: float = 300.0) -> KeptSignIn:
    """A sign-in that is kept, and whose token is good for so long."""
    one = begun(settings)
    kept = KeptSignIn(settings)
    kept.keep(
        one.complete(answer(provider, one.url)).model_copy(update={"expires": time.time() + life_s, "life_s": 300.0})
    )
    return kept


def secrets_of(signed: SignedIn | None) -> tuple[str, str]:
    assert signed is not None
    assert signed.refresh_token is not None
    return signed.access_token, signed.refresh_token


def test_a_person_signs_in_asks_and_signs_out(
    provider: InventedProvider, holder: SimulatedHolder, settings: AuditorSettings, monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:  # fmt: skip
    visited: list[httpx.Response] = []
    asked: list[str] = []
    visits: list[threading.Thread] = []

    def browse(url: str) -> bool:
        asked.append(url)
        back = provider.sign_in(url)
        own = urlsplit(back).netloc

        def visit() -> None:
            for broken in (b"GET http://[ HTTP/1.1\r\n\r\n", b"\xff\r\n\r\n"):
                with socket.create_connection(("127.0.0.1", urlsplit(back).port or 0)) as program:
                    program.sendall(broken)
                    program.recv(1)
            strangers = (
                (back.replace("state=", "state=x"), own), (back.replace("/signed-in", "/other"), own),
                (back, "rebound.example"), (back, own),
            )  # fmt: skip
            visited.extend(httpx.get(one, headers={"Host": host}, timeout=30) for one, host in strangers)

        visits.append(threading.Thread(target=visit))
        visits[0].start()
        return True

    monkeypatch.setattr(webbrowser, "open", browse)
    monkeypatch.setenv("AUDITOR_HOLDER_URL", holder.url)
    monkeypatch.setenv("AUDITOR_STATE", str(settings.state))
    monkeypatch.setenv("AUDITOR_OIDC_AUDIENCE", AUDIENCE)
    monkeypatch.delenv("AUDITOR_API_KEY", raising=False)
    caplog.set_level(logging.DEBUG)
    refused = CliRunner().invoke(app, ["login"], input="n\n")
    unasked = CliRunner().invoke(app, ["login"], input="")
    assert (refused.exit_code, unasked.exit_code, asked, provider.asked) == (2, 2, [], {}), (
        "nothing is asked of an issuer that is not confirmed"
    )
    assert "AUDITOR_OIDC_ISSUER names it beforehand." in unasked.stderr
    outcome = CliRunner().invoke(app, ["login"], input="y\n")
    query = parse_qs(urlsplit(asked[0]).query)
    kept = KeptSignIn(settings).read()
    access, renewing = secrets_of(kept)

    assert outcome.exit_code == 0, outcome.output
    assert "Traceback" not in outcome.output, "nothing on this machine breaks it off"
    visits[0].join()  # the browser may have its last page later than the command what it came for
    assert provider.issuer in outcome.output
    assert [one.status_code for one in visited] == [404, 404, 404, 200]
    assert query["resource"] == [AUDIENCE]
    assert query["code_challenge_method"] == ["S256"]
    assert urlsplit(query["redirect_uri"][0]).hostname == "127.0.0.1"
    with Auditor(holder.url, state=settings.state) as auditor:
        auditor.datasets()
        assert holder.headers["Authorization"] == f"Bearer {access}"
    file = KeptSignIn(settings).path
    assert (stat.S_IMODE(file.stat().st_mode), stat.S_IMODE(file.parent.stat().st_mode)) == (0o600, 0o700)
    assert "signed out" in CliRunner().invoke(app, ["logout"]).output
    assert provider.revoked == [renewing]
    assert not file.exists()
    with pytest.raises(SignInNeeded, match="`auditor login`"):
        Auditor(holder.url, state=settings.state)
    # But for the browser's own lines, which is in this process.
    logged = "".join(line for line in caplog.text.splitlines() if "/signed-in?" not in line and "/other?" not in line)
    shown = outcome.output + logged + repr(kept) + "".join(one.text for one in visited)
    assert not [secret for secret in (access, renewing, *provider.codes) if secret in shown]


ANSWERS: Final[dict[str, tuple[str, Callable[[dict[str, str]], dict[str, str]]]]] = {
    "another state": ("another sign-in", lambda query: query | {"state": "x"}),
    "no state": ("another sign-in", lambda query: {"code": query["code"]}),
    "another issuer": ("Another identity provider", lambda query: query | {"iss": ELSEWHERE}),
    "said no": (r"access_denied\)", lambda query: {"state": query["state"], "error": "access_denied"}),
    "another code": ("did not confirm", lambda query: query | {"code": "made-up"}),
}


@pytest.mark.parametrize("case", ANSWERS)
def test_no_other_answer_signs_anybody_in(provider: InventedProvider, settings: AuditorSettings, case: str) -> None:
    reason, change = ANSWERS[case]
    one = begun(settings)

    with pytest.raises(SignInRefused, match=reason):
        one.complete(change(answer(provider, one.url)))


def test_an_issuer_that_names_itself_has_to(provider: InventedProvider, settings: AuditorSettings) -> None:
    provider.discovery = {"authorization_response_iss_parameter_supported": True}
    one = begun(settings)
    given = answer(provider, one.url)

    with pytest.raises(SignInRefused, match="Another identity provider"):
        one.complete(given)
    assert one.complete(given | {"iss": provider.issuer}).holder_url == settings.holder_url


def test_a_code_of_another_browser_signs_nobody_in(provider: InventedProvider, settings: AuditorSettings) -> None:
    """Somebody else's code comes with the right state: the proof key is of another sign-in."""
    victim, other = begun(settings), begun(settings)
    code = answer(provider, other.url)["code"]

    with pytest.raises(SignInRefused, match="did not confirm"):
        victim.complete({"code": code, "state": victim.state})


@pytest.mark.parametrize("audience", ["https://other.test/api", [AUDIENCE, "https://other.test/api"], None])
def test_a_token_that_others_take_is_not_sent_to_the_holder(
    provider: InventedProvider, settings: AuditorSettings, audience: Any
) -> None:
    one = begun(settings)

    with pytest.raises(SignInRefused, match="not only for"):
        one.complete(answer(provider, one.url, aud=audience))


LIES: Final[dict[str, tuple[type[AuditorError], dict[str, str], dict[str, Any]]]] = {
    "another issuer than the settings'": (SettingsRefused, {}, {"oidc_issuer": ELSEWHERE}),
    "another audience than the settings'": (SettingsRefused, {}, {"oidc_audience": "https://holder.test/other"}),
    "an audience of somebody else": (SettingsRefused, {}, {"oidc_audience": None}),
    "an issuer that others can read": (HolderLied, {"issuer": "http://login.example"}, {}),
    "no issuer": (HolderLied, {"issuer": "javascript:alert()"}, {}),
    "a file": (HolderLied, {"issuer": "file:///etc/passwd"}, {}),
}


@pytest.mark.parametrize("case", LIES)
def test_a_holder_cannot_send_its_auditors_anywhere(
    provider: InventedProvider, holder: SimulatedHolder, settings: AuditorSettings, case: str
) -> None:
    kind, changes, more = LIES[case]
    assert holder.offer is not None
    holder.offer = holder.offer.model_copy(update=changes)

    with pytest.raises(kind):
        offered(settings.model_copy(update=more))
    assert provider.asked == {}


@pytest.mark.parametrize("address", ["https://login.example:port", "https://login.example:99999", "https://xn--/"])
def test_an_address_that_is_none_is_a_sentence(address: str) -> None:
    with pytest.raises(ProviderUnavailable, match="identity provider"):
        discovered(address)


def test_a_holder_that_is_away_is_asked_again_in_words(settings: AuditorSettings) -> None:
    set_on_retry_hooks(None)
    with reserved_port() as port:
        asked = ["login", "--holder-url", f"http://127.0.0.1:{port}"]
        outcome = CliRunner().invoke(app, asked, env={"AUDITOR_STATE": str(settings.state)})

    assert outcome.exit_code == 2
    assert "Asking again in" in outcome.stderr
    assert outcome.stderr.count("does not answer") == 2, "the first attempt and the end say it, not each attempt"
    assert not {"Errno", "charged"} & set(outcome.stderr.replace("]", " ").replace("[", " ").split())


def test_where_there_is_nothing_to_sign_in_that_is_said(holder: SimulatedHolder, settings: AuditorSettings) -> None:
    holder.offer = None

    with pytest.raises(NotFound):
        offered(settings)


def test_a_token_is_renewed_once_by_whoever_comes_first(provider: InventedProvider, settings: AuditorSettings) -> None:
    """The provider takes its time, until another asks too: so whoever does not wait for the first is there."""
    kept = signed_in(provider, settings, life_s=AHEAD_S / 2)
    before, tokens = secrets_of(kept.read()), set[str]()
    exchange, another = provider.exchange, threading.Barrier(2)

    def slowly(form: dict[str, str], authorization: str) -> dict[str, Any] | None:
        with suppress(threading.BrokenBarrierError):
            another.wait(1)
        return exchange(form, authorization)

    provider.exchange = slowly  # type: ignore[method-assign]
    threads = [threading.Thread(target=lambda: tokens.add(KeptSignIn(settings).token())) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    after = secrets_of(kept.read())

    assert tokens == {after[0]}
    assert provider.renewed == 1, "who asked again with the old one would have ended the sign-in"
    assert after[0] != before[0]
    assert after[1] != before[1]
    assert stat.S_IMODE(kept.path.stat().st_mode) == 0o600


def test_a_sign_in_during_a_renewal_is_the_one_that_is_kept(
    provider: InventedProvider, settings: AuditorSettings
) -> None:
    """Who signs in as somebody else while another process renews must not go on asking as the one before."""
    kept = signed_in(provider, settings, life_s=AHEAD_S / 2)
    one = begun(settings)
    new = one.complete(answer(provider, one.url, sub="OTHER"))
    exchange, reached, go_on = provider.exchange, threading.Event(), threading.Event()

    def slowly(form: dict[str, str], authorization: str) -> dict[str, Any] | None:
        reached.set()
        assert go_on.wait(30)
        return exchange(form, authorization)

    provider.exchange = slowly  # type: ignore[method-assign]  # the provider takes its time
    renewing = threading.Thread(target=kept.token)
    renewing.start()
    assert reached.wait(30)
    keeping = threading.Thread(target=lambda: KeptSignIn(settings).keep(new))
    keeping.start()
    keeping.join(0.5)  # long enough for who does not wait to come first, and be overwritten
    go_on.set()
    for thread in (renewing, keeping):
        thread.join()

    assert kept.read() == new


@pytest.mark.parametrize(
    ("life_s", "renewed"), [(40, 1), (0, 3), (10**400, 1), (None, 1)], ids=["short", "none", "endless", "unsaid"]
)
def test_a_token_of_a_short_life_is_not_renewed_at_each_call(
    provider: InventedProvider, settings: AuditorSettings, life_s: int | None, renewed: int
) -> None:
    """What a provider says of a token's life is bounded; where it says nothing, the token itself does."""
    kept, granted = signed_in(provider, settings, life_s=-1), provider.granted
    provider.granted = lambda claims: {**granted(claims), "expires_in": life_s}  # type: ignore[method-assign]

    for _ in range(3):
        kept.token()

    assert provider.renewed == renewed
    assert kept.read() is not None


def test_a_clock_that_is_set_back_has_a_token_renewed(provider: InventedProvider, settings: AuditorSettings) -> None:
    """It would be shown for hours after its end, and the holder would take it no more."""
    kept = signed_in(provider, settings, life_s=2 * 3600)

    assert kept.token() == secrets_of(kept.read())[0]
    assert provider.renewed == 1


def test_a_sign_in_that_is_not_renewed_leads_back(provider: InventedProvider, settings: AuditorSettings) -> None:
    kept = signed_in(provider, settings, life_s=-1)
    provider.renewable.clear()

    with pytest.raises(SignInNeeded, match="Sign in again: `auditor login`"):
        kept.token()
    assert kept.read() is None


def test_a_provider_that_is_down_ends_nothing(provider: InventedProvider, settings: AuditorSettings) -> None:
    kept = signed_in(provider, settings, life_s=AHEAD_S / 2)
    provider.answers = False
    assert kept.token() == secrets_of(kept.read())[0], "it is good for a while"

    kept = signed_in_before(kept)
    with pytest.raises(ProviderUnavailable):
        kept.token()
    provider.answers = True
    assert kept.token() == secrets_of(kept.read())[0]


def signed_in_before(kept: KeptSignIn) -> KeptSignIn:
    """The same, whose token has expired."""
    found = kept.read()
    assert found is not None
    kept.keep(found.model_copy(update={"expires": 0.0}))
    return kept


def test_a_file_that_others_can_read_counts_no_more(provider: InventedProvider, settings: AuditorSettings) -> None:
    kept = signed_in(provider, settings)
    kept.path.chmod(0o644)

    with pytest.raises(SettingsRefused, match="can be read by other users"):
        Auditor(settings.holder_url, state=settings.state)
    renewing = next(iter(provider.renewable))
    assert kept.forget() is True, "whoever read it is not to go on"
    assert (kept.forget(), provider.revoked) == (None, [renewing])


def test_a_file_that_others_can_write_is_sent_nowhere(provider: InventedProvider, settings: AuditorSettings) -> None:
    """They could have named another provider in it."""
    kept = signed_in(provider, settings)
    kept.path.chmod(0o620)

    assert kept.forget() is False
    assert provider.revoked == []


def test_a_sign_in_is_for_one_holder(provider: InventedProvider, settings: AuditorSettings) -> None:
    kept = signed_in(provider, settings)
    other = KeptSignIn(settings.model_copy(update={"holder_url": "https://other.test"}))
    kept.path.rename(other.path)

    assert other.read() is None


def test_a_token_that_the_holder_refuses_leads_back(
    provider: InventedProvider, holder: SimulatedHolder, settings: AuditorSettings
) -> None:
    signed_in(provider, settings)
    holder.reply(401, b'{"type": "/problems/unauthenticated", "title": "x", "status": 401, "detail": "Not today."}')

    with Auditor(holder.url, state=settings.state) as auditor, pytest.raises(SignInNeeded, match="Not today"):
        auditor.datasets()


def away_at_first(provider: InventedProvider, waited: list[float], seconds: float) -> None:
    """Wait, and have the provider not answer after the first time."""
    waited.append(seconds)
    provider.answers = len(waited) > 1


def test_a_machine_without_a_browser_is_signed_in_by_a_code(
    provider: InventedProvider, settings: AuditorSettings
) -> None:
    shown: list[tuple[str, str]] = []
    waited: list[float] = []
    provider.discovery = {"device_authorization_endpoint": f"{provider.issuer}/device"}

    def show(address: str, code: str) -> None:
        shown.append((address, code))

    provider.device_errors = ["authorization_pending", "slow_down"]
    signed = sign_in_by_device(settings, offered(settings), show, waited.append)

    assert shown == [(f"{provider.issuer}/device", "ABCD-EFGH")]
    assert waited == [1.0, 1.0, 6.0], "asked to slow down once"
    assert signed.refresh_token in provider.renewable
    waited.clear()
    sign_in_by_device(settings, offered(settings), show, lambda seconds: away_at_first(provider, waited, seconds))
    assert waited == [1.0, 6.0], "a provider that is away is asked less often, and ends nothing"
    provider.device_errors = ["access_denied"]
    with pytest.raises(SignInRefused):
        sign_in_by_device(settings, offered(settings), show, waited.append)
