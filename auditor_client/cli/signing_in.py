"""Commands that sign people in at the holder's identity provider, and out."""

import os
import webbrowser
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Annotated, Final
from urllib.parse import parse_qsl

import typer

from auditor_client.cli.flags import with_flags
from auditor_client.cli.options import Connection
from auditor_client.cli.output import clear_errors, fail
from auditor_client.errors import SignInRefused
from auditor_client.exchange.sessions import KeptSignIn
from auditor_client.exchange.sign_in import CALLBACK, SignInBegun, offered, sign_in_by_device
from auditor_client.settings import AuditorSettings, load_settings
from auditor_client.text import readable
from shared.wire.flags import Without
from shared.wire.identity_providers import SignInOffer

Holder = Annotated[Connection, Without(("receipts", "asked_for", "wait_approval", "key_file", "token_file"))]
_PAGE: Final = "You can close this page, and go back to the terminal: it says whether you are signed in.\n"


@with_flags
def login(
    *,
    no_browser: Annotated[
        bool,
        typer.Option(
            "--no-browser", help="Show the address instead of opening it. Open it in a browser on this machine."
        ),
    ] = False,
    device: Annotated[
        bool, typer.Option("--device", help="Show a code to enter in a browser on any other machine.")
    ] = False,
    connection: Holder,
) -> None:
    """Sign in at the holder's identity provider instead of using a key. The sign-in is renewed automatically."""
    with clear_errors():
        settings = _settings(connection)
        offer = offered(settings)
        _confirm(settings, offer)
        if device:
            signed_in = sign_in_by_device(settings, offer, _show_code)
        else:
            with _Listener(("127.0.0.1", 0), _Back) as listener:
                begun = SignInBegun.at(settings, offer, listener.server_port)
                typer.echo(f"Sign in within ten minutes, in a browser of this machine: {begun.url}")
                if not no_browser:
                    webbrowser.open(begun.url)
                signed_in = begun.complete(listener.answer_to(begun))
        KeptSignIn(settings).keep(signed_in)
        typer.echo("You are signed in. `auditor logout` ends it.")
        if settings.key is not None:
            typer.echo(
                "Your settings also name a key or a token, which is used instead of the sign-in. Remove "
                "it to use the sign-in."
            )


@with_flags
def logout(*, connection: Holder) -> None:
    """Sign out: on this machine, and at the identity provider if it can revoke tokens."""
    with clear_errors():
        ended = KeptSignIn(_settings(connection)).forget()
        if ended is None:
            typer.echo("You were not signed in.")
        elif ended:
            typer.echo("You are signed out, and the identity provider revoked the tokens of the sign-in.")
        else:
            typer.echo(
                "You are signed out here. The identity provider did not revoke the tokens: a copy of them would "
                "be valid until they expire."
            )


def _settings(connection: Connection) -> AuditorSettings:
    return load_settings(dict(connection), os.environ, connection.config)


def _confirm(settings: AuditorSettings, offer: SignInOffer) -> None:
    """Have the issuer confirmed, unless the settings say it: the holder could name any."""
    if settings.oidc_issuer is not None:
        return
    typer.echo(f"The holder at {settings.holder_url} asks you to sign in at")
    typer.echo(f"    {readable(offer.issuer)}")
    typer.echo(f"as {readable(offer.client_id)}, for {readable(offer.audience)} ({readable(offer.scope)}).")
    try:
        said = input("Is that where you sign in? Type your password nowhere else [y/N]: ")
    except EOFError:  # nobody is there to be asked
        said = ""
    if said.strip().lower() not in ("y", "yes"):
        fail(
            "Nothing was sent there. Ask the holder's administrator, in another way, where auditors sign in; "
            "AUDITOR_OIDC_ISSUER names it beforehand."
        )


def _show_code(address: str, code: str) -> None:
    typer.echo(f"Open {address} in any browser, and type the code {code} there. Nobody else may ask you for it.")


class _Listener(HTTPServer):
    """Takes a browser back, once."""

    allow_reuse_address = False
    timeout = 1.0
    begun: SignInBegun
    found: dict[str, str] | None = None

    def answer_to(self, begun: SignInBegun) -> dict[str, str]:
        """The answer that a browser brings.

        Raises:
            SignInRefused: None came in time.
        """
        self.begun = begun
        while self.found is None:
            if begun.is_late:
                raise SignInRefused("The identity provider did not send anybody back within ten minutes. Start again.")
            self.handle_request()
        return self.found

    def handle_error(self, *_: object) -> None:
        """Say nothing: whoever goes away early, or sends what is no request, is no fault."""


class _Back(BaseHTTPRequestHandler):
    """Answers what belongs to the sign-in, and nothing else that other pages and programs of this machine may send."""

    server: _Listener
    timeout = 5.0

    def do_GET(self) -> None:
        """Take the answer, if it is to the sign-in that was begun."""
        path, _, brought = self.path.partition("?")
        query = dict(parse_qsl(brought))
        own = f"127.0.0.1:{self.server.server_port}"
        is_answer = self.headers.get_all("Host") == [own] and path == CALLBACK
        if is_answer and self.server.begun.is_answered_by(query.get("state", "")):
            self.server.found = query
            self._say(200, _PAGE)
        else:
            self._say(404, "Nothing is here.\n")

    def _say(self, status: int, text: str) -> None:
        self.send_response(status)
        for name, value in (("Content-Type", "text/plain; charset=utf-8"), ("Cache-Control", "no-store"),
                            ("Referrer-Policy", "no-referrer"), ("X-Content-Type-Options", "nosniff")):  # fmt: skip
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_: object) -> None:
        """Say nothing: the address has the code."""
