"""Take every way of signing in to a real provider and a real holder: `./run check real_provider`.

The provider is `oidc-provider` for Node, a certified one, started on loopback in a folder that is removed at the end.
Exit status 0: all went as it has to. 1: something did not; it says what. 75: Node, npm or the registry is missing.
"""

import base64
import json
import os
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import webbrowser
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Final
from unittest.mock import patch
from urllib.parse import urljoin

import httpx
import uvicorn
from typer.testing import CliRunner

from auditor_client import Auditor
from auditor_client.cli import app
from auditor_client.desk.app import create_desk
from auditor_client.desk.desk import Desk
from auditor_client.errors import AuditorError, Forbidden, SignInNeeded, Unauthenticated
from auditor_client.exchange.sessions import KeptSignIn, discovered
from auditor_client.exchange.sign_in import offered, sign_in_by_device
from auditor_client.settings import AuditorSettings
from holder_service.settings.oidc import OidcSettings
from testing.console_visitors import Page
from testing.holders import TestedHolder, listening, opened, stopped_holder

HERE: Final = Path(__file__).parent
FILES: Final = ("package.json", "package-lock.json", "provider.mjs")
MISSING: Final = 75
STEPS_MAX: Final = 30
SECRET: Final = secrets.token_hex(16)
ROLES: Final = (("pafer-auditors", "auditor"), ("pafer-admins", "administrator"))


@dataclass
class RealProvider:
    """The provider's process, which a line changes."""

    issuer: str
    process: subprocess.Popen[str]

    def change(self, **what: Any) -> None:
        """Have it give other roles, or sign with a new key."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(what) + "\n")
        self.process.stdin.flush()
        self.await_line("changed")

    def await_line(self, line: str) -> None:
        """Wait until it says so; it warns between, of forms that nobody is to use in earnest."""
        assert self.process.stdout is not None
        assert line in (said.strip() for said in self.process.stdout), "the provider has ended"


@dataclass
class Person:
    """Somebody with a browser, who fills in the provider's forms."""

    name: str
    client: httpx.Client = field(default_factory=lambda: httpx.Client(timeout=60))
    shown: list[str] = field(default_factory=list)

    def go(self, url: str, stop: str, *, done: str = "") -> str:
        """Go by redirects and forms until an address that begins so, which is not opened, or a page that says this."""
        answer = None
        for _ in range(STEPS_MAX):
            if url.startswith(stop):
                return url
            answer = answer or self.client.get(url)
            if answer.is_redirect:
                url, answer = urljoin(str(answer.url), answer.headers["location"]), None
                continue
            page = Page(answer)
            forms = [form for form in page.all("form") if form.get("method", "").lower() == "post"]
            if not forms and done and done in page.text:
                return url
            if not forms:
                raise AssertionError(f"{self.name} is stuck at {answer.url}: {page.text[:300]}")
            filled = {**page.values, "login": self.name, "password": "of-no-account", "logout": "yes"}
            self.shown.append(" ".join(sorted(page.values)))
            answer = self.client.post(urljoin(str(answer.url), forms[0]["action"]), data=filled)
            url = str(answer.url)
        raise AssertionError(f"{self.name} goes round in circles at {url}")


@contextmanager
def real_provider(folder: Path, holder_url: str) -> Iterator[RealProvider]:
    """The provider in a process of its own, on loopback."""
    port, native = free_port(), {"application_type": "native"}
    grants = ["authorization_code", "refresh_token", "urn:ietf:params:oauth:grant-type:device_code"]
    clients = [
        {"client_id": "console", "client_secret": SECRET, "redirect_uris": [f"{holder_url}/console/signed-in"],
         "post_logout_redirect_uris": [f"{holder_url}/console/log-in"], **native},
        {"client_id": "auditors", "token_endpoint_auth_method": "none", "grant_types": grants,
         "redirect_uris": ["http://127.0.0.1/signed-in"], **native},
    ]  # fmt: skip
    roles = {"ADR": ["pafer-auditors"], "administrator": ["pafer-admins"]}
    configuration = folder / "configuration.json"
    configuration.write_text(json.dumps({"audience": f"{holder_url}/api", "clients": clients, "roles": roles}))
    process = subprocess.Popen(
        [shutil.which("node") or "node", "provider.mjs", str(port), str(configuration)], cwd=folder, text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        provider = RealProvider(f"http://127.0.0.1:{port}", process)
        provider.await_line("listening")
        yield provider
    finally:
        process.kill()
        process.wait(timeout=30)


def free_port() -> int:
    """A port of loopback that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


def sign_in_to_the_console(holder: TestedHolder) -> None:
    """There, in, out here and at the provider; and then it asks again who it is."""
    person = Person("administrator")
    for _ in range(2):
        url = str(person.client.get(f"{holder.url}/console/sign-in").headers["location"])
        home = person.client.get(person.go(url, f"{holder.url}/console/signed-in"))
        assert "You are signed in" in home.text, home.text
        overview = Page(person.client.get(f"{holder.url}/console"))
        assert overview.status == 200
        out = person.client.post(
            f"{holder.url}/console/log-out", data={"form_token": overview.values["form_token"]}, follow_redirects=True
        )
        leads = Page(out).all("meta")[-1]["content"].removeprefix("0; url=")
        assert person.go(leads, f"{holder.url}/console/log-in")
        assert person.client.get(f"{holder.url}/console").is_redirect
    assert sum("login" in shown for shown in person.shown) == 2, "the provider asks again who it is"


def sign_in_by_command(settings: AuditorSettings, person: Person) -> None:
    """`auditor login`, in whose browser somebody signs in."""

    def browse(url: str) -> bool:
        stop = f"http://127.0.0.1:{port_of(url)}"
        threading.Thread(target=lambda: person.client.get(person.go(url, stop))).start()
        return True

    with patch.object(webbrowser, "open", browse):
        outcome = CliRunner().invoke(app, ["login"], env=environment(settings))
    assert outcome.exit_code == 0, outcome.output


def port_of(url: str) -> str:
    """The port of loopback that a sign-in comes back to."""
    return str(httpx.URL(httpx.URL(url).params["redirect_uri"]).port)


def environment(settings: AuditorSettings) -> dict[str, str]:
    """The variables of an auditor."""
    return {
        "AUDITOR_HOLDER_URL": settings.holder_url, "AUDITOR_STATE": str(settings.state),
        "AUDITOR_OIDC_ISSUER": str(settings.oidc_issuer), "AUDITOR_API_KEY": "", "AUDITOR_TOKEN_FILE": "",
    }  # fmt: skip


def expire(kept: KeptSignIn) -> tuple[str, str]:
    """Have the next call renew; gives the tokens until then."""
    found = kept.read()
    assert found is not None
    assert found.refresh_token is not None
    kept.keep(found.model_copy(update={"expires": 0.0}))
    return found.access_token, found.refresh_token


def part(token: str, number: int) -> dict[str, Any]:
    """The header or the claims of a token."""
    read: dict[str, Any] = json.loads(base64.urlsafe_b64decode(token.split(".")[number] + "=="))
    return read


def ask(settings: AuditorSettings) -> None:
    """Ask the holder something, as whoever is signed in."""
    with Auditor(settings.holder_url, state=settings.state) as auditor:
        assert auditor.datasets()


def refused(kind: type[AuditorError], settings: AuditorSettings) -> None:
    """Be refused by the holder, or sent back to the sign-in."""
    try:
        ask(settings)
    except kind:
        return
    raise AssertionError(f"the holder answers, and ought to refuse: {kind.__name__}")


def renewals(provider: RealProvider, settings: AuditorSettings) -> None:
    """Tokens are renewed, with another key and without a role too; a refresh token counts once."""
    kept = KeptSignIn(settings)
    first = expire(kept)
    assert part(first[0], 1)["aud"] == f"{settings.holder_url}/api"
    ask(settings)
    second = expire(kept)
    assert first[0] != second[0]
    assert first[1] != second[1], "the provider does not rotate"

    provider.change(keys="new")
    third = kept.token()
    assert part(third, 0)["kid"] != part(second[0], 0)["kid"]
    until = time.monotonic() + 30
    while True:
        try:
            ask(settings)
            break
        except (SignInNeeded, Unauthenticated):
            assert time.monotonic() < until, "the holder does not take the new key"
            time.sleep(1)

    provider.change(roles={"ADR": []})
    expire(kept)
    refused(Forbidden, settings)
    provider.change(roles={"ADR": ["pafer-auditors"]})
    expire(kept)
    ask(settings)

    _, newest = expire(kept)
    form = {"grant_type": "refresh_token", "refresh_token": second[1], "client_id": "auditors"}
    again = httpx.post(str(discovered(provider.issuer).token_endpoint), data=form)
    assert (again.status_code, again.json()["error"]) == (400, "invalid_grant"), "an old refresh token counts"
    assert newest != second[1]
    refused(SignInNeeded, settings)


def sign_out(provider: RealProvider, settings: AuditorSettings) -> None:
    """`auditor logout`: the provider takes the refresh token no more."""
    found = KeptSignIn(settings).read()
    assert found is not None
    outcome = CliRunner().invoke(app, ["logout"], env=environment(settings))
    assert "revoked the tokens of the sign-in" in outcome.output, outcome.output
    form = {"grant_type": "refresh_token", "refresh_token": str(found.refresh_token), "client_id": "auditors"}
    assert httpx.post(str(discovered(provider.issuer).token_endpoint), data=form).status_code == 400
    refused(SignInNeeded, settings)


def sign_in_at_the_desk(settings: AuditorSettings) -> None:
    """The desk's page, the provider, and back; then out."""
    port = free_port()
    desk = Desk(settings, port)
    with listening(uvicorn.Config(create_desk(desk), log_level="warning", access_log=False), port=port) as url:
        person = Person("ADR")
        person.client.get(desk.door.address)
        needed = Page(person.client.get(f"{url}{desk.door.root}/budgets"))
        assert needed.status == 403
        form = {name: needed.values[name] for name in ("form_token", "issuer")}
        begun = Page(person.client.post(f"{url}{desk.door.root}/sign-in", data=form))
        leads = begun.all("meta")[-1]["content"].removeprefix("0; url=")
        home = person.client.get(person.go(leads, f"{url}/signed-in"), headers={"Sec-Fetch-Site": "cross-site"})
        assert "You are signed in" in home.text, home.text
        assert person.client.get(f"{url}{desk.door.root}/budgets").status_code == 200
        out = person.client.post(f"{url}{desk.door.root}/sign-out", data={"form_token": form["form_token"]})
        assert "revoked the tokens of the sign-in" in out.text


def sign_in_by_code(settings: AuditorSettings) -> None:
    """A machine without a browser: somebody types the code elsewhere."""
    person = Person("ADR")

    def show(address: str, code: str) -> None:
        page = Page(person.client.get(address))
        action = urljoin(address, page.all("form")[0]["action"])
        typed = Page(person.client.post(action, data={**page.values, "user_code": code}))
        forms = typed.all("form")
        confirmed = person.client.post(urljoin(address, forms[0]["action"]), data=typed.values)
        person.go(urljoin(address, confirmed.headers.get("location", "")), "nowhere", done="Success")

    KeptSignIn(settings).keep(sign_in_by_device(settings, offered(settings), show))
    ask(settings)


def installed(folder: Path) -> bool:
    """Put the provider into a folder: whether it could be had."""
    for name in FILES:
        shutil.copy(HERE / name, folder)
    npm = shutil.which("npm")
    if shutil.which("node") is None or npm is None:
        return False
    command = [npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
    made = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=300)
    return made.returncode == 0


def ways(provider: RealProvider, holder: TestedHolder, settings: AuditorSettings) -> dict[str, Callable[[], None]]:
    """What is gone, in this order."""
    return {
        "the console: in, and out at the provider": partial(sign_in_to_the_console, holder),
        "the command line: in": partial(sign_in_by_command, settings, Person("ADR")),
        "tokens for the audience, renewed, by another key, without the role": partial(renewals, provider, settings),
        "the command line: in again": partial(sign_in_by_command, settings, Person("ADR")),
        "the command line: out, at the provider too": partial(sign_out, provider, settings),
        "the desk: in and out": partial(sign_in_at_the_desk, settings),
        "a code on another machine": partial(sign_in_by_code, settings),
    }


def main() -> int:
    """Install, start, and go all the ways."""
    for name in [name for name in os.environ if name.startswith("AUDITOR_")]:
        del os.environ[name]
    with tempfile.TemporaryDirectory(prefix="real-provider-") as name:
        folder = Path(name)
        if not installed(folder):
            print("Node, npm or the registry cannot be had here, so there is no provider to ask.", file=sys.stderr)
            return MISSING
        stopped, holder_port = stopped_holder(folder / "holder"), free_port()
        url = f"http://127.0.0.1:{holder_port}"
        with real_provider(folder, url) as provider:
            oidc = OidcSettings(
                provider.issuer, f"{url}/api", "console", SECRET, f"{url}/console/signed-in",
                auditor_client_id="auditors", roles=ROLES,
            )  # fmt: skip
            settings = AuditorSettings(
                holder_url=url, oidc_issuer=provider.issuer, state=folder / "state", receipts=folder / "receipts"
            )
            with opened(
                replace(stopped.settings, oidc=oidc), stopped.admin_key, stopped.auditor_key, port=holder_port
            ) as holder:
                for what, way in ways(provider, holder, settings).items():
                    way()
                    print(f"good: {what}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
