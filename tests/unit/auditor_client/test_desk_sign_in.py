"""Signing in at the desk: there and back in one browser, and no token on a page."""

import asyncio
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from auditor_client.desk.app import create_desk
from auditor_client.desk.asking import AuditDraft
from auditor_client.desk.desk import Desk
from auditor_client.desk.tasks import Step
from auditor_client.exchange.sessions import KeptSignIn
from auditor_client.settings import AuditorSettings
from shared.wire.identity_providers import SignInOffer
from testing.identity_providers import AUDIENCE, NATIVE_CLIENT, InventedProvider, identity_provider
from testing.simulated_holder import SimulatedHolder, simulated_holder
from testing.waits import wait_until

PORT: Final = 8812
FROM_ELSEWHERE: Final = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}


@dataclass(frozen=True)
class SignInDesk:
    """A desk of somebody who has no key, its holder and the provider."""

    desk: Desk
    holder: SimulatedHolder
    provider: InventedProvider

    def ask(self, method: str, path: str, *, headers: dict[str, str] | None = None, **sent: Any) -> httpx.Response:
        """An answer to the browser that was let in, unless other headers are given."""
        given = {"cookie": f"desk={self.desk.door._session}"} if headers is None else headers

        async def asked() -> httpx.Response:
            transport = httpx.ASGITransport(create_desk(self.desk))
            async with httpx.AsyncClient(transport=transport, base_url=f"http://127.0.0.1:{PORT}") as client:
                return await client.request(method, path, headers=given, **sent)

        return asyncio.run(asked())

    def send(self, path: str, **fields: str) -> httpx.Response:
        """An answer to a form of the desk."""
        return self.ask(
            "POST", f"{self.desk.door.root}{path}", data={"form_token": self.desk.door.form_token, **fields}
        )

    def begin(self) -> tuple[str, str]:
        """Where the browser is sent, and the cookie that it comes back with."""
        self.ask("GET", f"{self.desk.door.root}/sign-in")
        begun = self.send("/sign-in", issuer=self.provider.issuer)
        leads = re.search(r'content="0; url=([^"]+)"', begun.text)
        assert leads is not None, begun.text
        cookie = begun.headers["set-cookie"]
        assert {"HttpOnly", "Path=/signed-in", "SameSite=lax"} <= set(cookie.split("; "))
        return leads[1].replace("&amp;", "&"), cookie.partition(";")[0]

    def back(self, url: str, cookie: str, **changes: str) -> httpx.Response:
        """The answer to the browser that comes back."""
        parts = urlsplit(url)
        query = {name: values[0] for name, values in parse_qs(parts.query).items()} | changes
        return self.ask("GET", parts.path, headers={"cookie": cookie, **FROM_ELSEWHERE}, params=query)


@pytest.fixture
def signing(tmp_path: Path) -> Iterator[SignInDesk]:
    with identity_provider() as provider, simulated_holder() as holder:
        holder.offer = SignInOffer(issuer=provider.issuer, client_id=NATIVE_CLIENT, scope="openid", audience=AUDIENCE)
        settings = AuditorSettings(
            holder_url=holder.url, oidc_audience=AUDIENCE, state=tmp_path / "state", receipts=tmp_path / "receipts"
        )
        desk = Desk(settings, PORT)
        yield SignInDesk(desk, holder, provider)
        desk.close()


def test_a_person_comes_from_the_sign_in_to_the_budgets_and_out_again(signing: SignInDesk) -> None:
    root, provider = signing.desk.door.root, signing.provider
    needed = signing.ask("GET", f"{root}/new")
    assert needed.status_code == 403
    assert provider.issuer in needed.text
    assert "you are not signed in" in needed.text
    assert "auditor login" not in needed.text
    assert provider.asked == {}, "nothing is asked of an issuer that is not confirmed"
    assert signing.send("/sign-in", issuer="https://evil.example").status_code == 303

    url, cookie = signing.begin()
    home = signing.back(provider.sign_in(url), cookie)
    kept = KeptSignIn(signing.desk.settings).read()
    assert kept is not None
    assert f'content="0; url={root}/new"' in home.text
    assert parse_qs(urlsplit(url).query)["redirect_uri"] == [f"http://127.0.0.1:{PORT}/signed-in"]
    assert signing.ask("GET", f"{root}/new").status_code == 200
    assert signing.holder.headers["Authorization"] == f"Bearer {kept.access_token}"
    state = signing.ask("GET", f"{root}/sign-in")
    again = signing.back(provider.sign_in(url), cookie)
    assert again.status_code == 403, "a sign-in is completed once"
    out = signing.send("/sign-out")
    assert "You are signed out" in out.text
    assert provider.revoked == [kept.refresh_token]
    assert signing.ask("GET", f"{root}/new").status_code == 403
    pages = needed.text + home.text + state.text + out.text
    assert not any(secret in pages for secret in ("eyJ", "renewing-", "code-"))


@pytest.mark.slow
def test_a_sign_in_that_ends_amid_a_task_leads_on_from_there_and_back(signing: SignInDesk) -> None:
    desk, root = signing.desk, signing.desk.door.root
    draft = desk.draft(AuditDraft, "register")
    planned = signing.send(f"/new/{draft.id}", sensitive="sex")
    assert (planned.status_code, draft.fault) == (403, "")
    assert signing.provider.issuer in planned.text

    def act(_: Step) -> str:
        with desk.auditor() as auditor:
            return auditor.dataset("register").name

    task = desk.tasks.begin("Planning", f"/new/{draft.id}", act)
    wait_until(lambda: task.ended)
    shown = signing.ask("GET", f"{root}/tasks/{task.id}")
    assert (shown.status_code, "Sign in at" in shown.text, "auditor login" in shown.text) == (403, True, False)
    url, cookie = signing.begin()
    assert f'content="0; url={root}/new/{draft.id}"' in signing.back(signing.provider.sign_in(url), cookie).text


def test_nobody_else_completes_a_sign_in_or_sees_where_the_desk_is(signing: SignInDesk) -> None:
    url, cookie = signing.begin()
    strangers = {
        "no cookie": ("", {}), "another cookie": ("desk=x", {}), "the pages' cookie":
        (f"desk={signing.desk.door._session}", {}), "another state": (cookie, {"state": "x"}),
    }  # fmt: skip
    for who, (shown, changes) in strangers.items():
        refused = signing.back(signing.provider.sign_in(url), shown, **changes)
        assert refused.status_code == 403, who
        assert signing.desk.door.root not in refused.text + str(refused.headers)
        assert KeptSignIn(signing.desk.settings).read() is None
    assert signing.ask("POST", "/signed-in", headers={"cookie": cookie}).status_code == 403
    assert signing.ask("GET", "/signed-in", headers={"cookie": cookie, "host": "rebound.example"}).status_code == 421
    assert signing.back(signing.provider.sign_in(url), cookie).status_code == 200


def test_a_provider_that_says_no_or_is_down_is_reported(signing: SignInDesk) -> None:
    url, cookie = signing.begin()
    no = signing.back(signing.provider.sign_in(url), cookie, code="", error="access_denied<b>")
    assert no.status_code == 403
    assert "access_denied&lt;b&gt;" in no.text
    signing.ask("GET", f"{signing.desk.door.root}/sign-in")
    signing.provider.answers = False
    down = signing.send("/sign-in", issuer=signing.provider.issuer)
    assert "did not answer as expected" in down.text or "does not publish the description" in down.text
