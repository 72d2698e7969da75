"""An identity provider on loopback that a test makes sign anything, and that can fail."""

import base64
import hashlib
import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler
from typing import Any, Final
from urllib.parse import parse_qs, urlencode, urlsplit

from joserfc import jwt
from joserfc.jwk import ECKey, Key
from joserfc.jws import JWSRegistry

from holder_service.identity.published import Published
from holder_service.identity.tokens import Tokens
from holder_service.settings.oidc import OidcSettings
from testing.http_servers import serving_http
from testing.ports import reserved_port
from testing.waits import wait_until

AUDIENCE: Final = "https://holder.test/api"
SECRET: Final = "the-consoles-secret"
NATIVE_CLIENT: Final = "auditors"
"""What auditors' programs are registered as: without a secret."""
ROLES: Final = (("pafer-auditors", "auditor"), ("pafer-admins", "administrator"))


@dataclass
class InventedProvider:
    """What it publishes, all of which a test may change, and how often it was asked for what."""

    issuer: str = ""
    keys: dict[str, Key] = field(default_factory=lambda: {"first": ECKey.generate_key("P-256")})
    discovery: dict[str, Any] = field(default_factory=dict)
    published: list[dict[str, Any]] | None = None
    answers: bool = True
    asked: dict[str, int] = field(default_factory=dict)
    codes: dict[str, dict[str, Any]] = field(default_factory=dict)
    kept: Published | None = None
    renewable: dict[str, dict[str, Any]] = field(default_factory=dict)
    renewed: int = 0
    revoked: list[str] = field(default_factory=list)
    device_errors: list[str] = field(default_factory=list)

    def settings(self, **changes: Any) -> OidcSettings:
        """A holder's settings for it."""
        return OidcSettings(self.issuer, **{"audience": AUDIENCE, "roles": ROLES, **changes})

    def tokens(self, **changes: Any) -> Tokens:
        """What a holder reads tokens with; all keep the same of what was published."""
        settings = self.settings(**changes)
        self.kept = self.kept or Published(settings)
        return Tokens(settings, self.kept)

    def claims(self, **changes: Any) -> dict[str, Any]:
        """What a token of the auditor says, but for what is changed; what becomes None is left out."""
        now_s = int(datetime.now(UTC).timestamp())
        claims = {
            "iss": self.issuer, "aud": AUDIENCE, "sub": "ADR", "roles": ["pafer-auditors"], "iat": now_s,
            "exp": now_s + 300, **changes,
        }  # fmt: skip
        return {name: value for name, value in claims.items() if value is not None}

    def token(
        self, *, kid: str | None = "first", alg: str = "ES256", key: Any = None, header: Any = (), **changes: Any
    ) -> str:
        """A signed token; by the provider's own first key unless another one is given."""
        head = {"alg": alg, **({"kid": kid} if kid else {}), **dict(header)}
        signed_by = key if key is not None else self.keys[kid or "first"]
        return jwt.encode(head, self.claims(**changes), signed_by, registry=JWSRegistry(algorithms=[alg]))

    def sign_in(self, url: str, **changes: Any) -> str:
        """Where a browser is sent back to that came by an authorization URL; what is changed is in the ID token."""
        asked = {name: values[0] for name, values in parse_qs(urlsplit(url).query).items()}
        native = asked["client_id"] == NATIVE_CLIENT
        own = {"aud": asked["resource"]} if native else {"aud": asked["client_id"], "nonce": asked["nonce"]}
        code = f"code-{len(self.codes)}-{asked['code_challenge'][:20]}"
        self.codes[code] = {"asked": asked, "claims": {**own, **changes}}
        return f"{asked['redirect_uri']}?{urlencode({'code': code, 'state': asked['state']})}"

    def exchange(self, form: dict[str, str], authorization: str) -> dict[str, Any] | None:
        """The answer to a code, once: for its client, its address and its proof key; or to what renews tokens."""
        kind = form.get("grant_type", "")
        if kind == "refresh_token" and self.answers:
            claims = self.renewable.pop(form["refresh_token"], None)
            self.renewed += 1
            return None if claims is None else self.granted(claims)
        if kind.endswith(":device_code") and self.answers:
            return self.granted({"aud": form["resource"]}) if not self.device_errors else None
        known = self.codes.get(form.get("code", ""), {}).pop("asked", None)
        if not self.answers or known is None:
            return None
        challenge = base64.urlsafe_b64encode(hashlib.sha256(form["code_verifier"].encode()).digest()).decode()
        client = f"{known['client_id']}:{SECRET}".encode()
        native = known["client_id"] == NATIVE_CLIENT == form.get("client_id")
        shown = "" if native else f"Basic {base64.b64encode(client).decode()}"
        if (form["redirect_uri"], challenge.rstrip("="), authorization) == (
            known["redirect_uri"], known["code_challenge"], shown
        ):  # fmt: skip
            claims = self.codes[form["code"]]["claims"]
            return self.granted(claims) if native else {"id_token": self.token(**claims)}
        return None

    def granted(self, claims: dict[str, Any]) -> dict[str, Any]:
        """Tokens for a program without a secret; each that renews them is taken once."""
        renewing = f"renewing-{len(self.renewable)}-{self.renewed}"
        self.renewable[renewing] = claims
        token = self.token(**{**claims, "jti": renewing})
        return {"access_token": token, "refresh_token": renewing, "expires_in": 300, "token_type": "Bearer"}

    def document(self, path: str) -> dict[str, Any] | None:
        """What it has at a path."""
        self.asked[path] = self.asked.get(path, 0) + 1
        if not self.answers:
            return None
        if path == "/keys":
            keys = [{**key.as_dict(private=False), "kid": kid, "use": "sig"} for kid, key in self.keys.items()]
            return {"keys": keys if self.published is None else self.published}
        return {
            "issuer": self.issuer, "jwks_uri": f"{self.issuer}/keys", "token_endpoint": f"{self.issuer}/token",
            "authorization_endpoint": f"{self.issuer}/authorize", "revocation_endpoint": f"{self.issuer}/revoke",
            **self.discovery,
        }  # fmt: skip


@contextmanager
def identity_provider() -> Iterator[InventedProvider]:
    """A provider until the end of the block."""
    provider = InventedProvider()

    class Answers(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path.startswith("/authorize?"):  # whoever comes has signed in before
                self.send_response(302)
                self.send_header("Location", provider.sign_in(self.path))
                self.end_headers()
            else:
                self._answer(provider.document(self.path), 503)

        def do_POST(self) -> None:
            content = self.rfile.read(int(self.headers["Content-Length"])).decode()
            form = {name: values[0] for name, values in parse_qs(content).items()}
            if self.path == "/device":
                begun = {"device_code": "d", "user_code": "ABCD-EFGH", "verification_uri": f"{provider.issuer}/device"}
                self._answer({**begun, "interval": 1, "expires_in": 60}, 400)
            elif self.path == "/revoke":
                provider.revoked.append(form["token"])
                self._answer({}, 400)
            else:
                error = provider.device_errors[0] if "device_code" in form and provider.device_errors else ""
                answer = provider.exchange(form, self.headers.get("Authorization", ""))
                del provider.device_errors[: bool(error)]
                self._answer(answer, 400 if provider.answers else 503, error or "invalid_grant")

        def _answer(self, document: dict[str, Any] | None, failure: int, error: str = "invalid_grant") -> None:
            self.send_response(failure if document is None else 200)
            self.end_headers()
            self.wfile.write(json.dumps({"error": error} if document is None else document).encode())

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with serving_http(Answers) as url:
        provider.issuer = url
        yield provider
        if provider.kept is not None:
            provider.kept.close()


@contextmanager
def published_provider(*people: dict[str, Any]) -> Iterator[str]:
    """The provider of `oidc-provider-mock` in a process of its own; gives its issuer."""
    claims = [argument for one in people for argument in ("--user-claims", json.dumps(one))]
    with reserved_port() as port:
        process = subprocess.Popen(
            [sys.executable, "-m", "oidc_provider_mock", "--port", str(port), *claims],
            env={**os.environ, "AUTHLIB_INSECURE_TRANSPORT": "1"}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        try:
            wait_until(lambda: process.poll() is not None or _listens(port))
            yield f"http://127.0.0.1:{port}"
        finally:
            process.kill()
            process.wait(timeout=30)


def _listens(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True
