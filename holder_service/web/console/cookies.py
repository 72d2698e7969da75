"""The console's cookies, and what follows from their secrets: the token of every form, and sealed messages.

A cookie goes to no other site (SameSite), to no script (HttpOnly), and over no plain connection to another
machine (Secure, `__Host-`). Every form carries a token that follows from a cookie's secret, so that no other
site can make a form up.
"""

import base64
import hashlib
import hmac
import ipaddress
import json
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from fastapi import Request, Response
from pydantic import BaseModel

from holder_service.domain.errors import Forbidden

_Form = TypeVar("_Form", bound=BaseModel)


def form_token(secret: str) -> str:
    """The token of the forms that go with a cookie's secret."""
    return _mac(secret, "form")


def check_origin(request: Request, secret: str, sent: str) -> None:
    """Refuse a form that a page of this console did not send.

    Raises:
        Forbidden: The token does not go with the cookie, or the browser says that another site sent it.
    """
    from_here = request.headers.get("sec-fetch-site", "same-origin") in ("same-origin", "none")
    if from_here and secret and hmac.compare_digest(form_token(secret).encode(), sent.encode()):
        return
    raise Forbidden("This form belongs to another session. Go back, reload the page, and send the form from there.")


@dataclass(frozen=True, slots=True)
class Cookie:
    """A cookie of the console, by its name where it may go over a plain connection.

    `samesite`: a lax one comes along when another site leads a browser here, as after a sign-in.
    """

    name: str
    samesite: Literal["strict", "lax"] = "strict"

    def read(self, request: Request) -> str:
        return request.cookies.get(self._name(request), "")

    def set(self, response: Response, request: Request, value: str, *, max_age_s: int) -> None:
        response.set_cookie(
            self._name(request), value, max_age_s, secure=is_secure(request), httponly=True, samesite=self.samesite
        )

    def delete(self, response: Response, request: Request) -> None:
        response.delete_cookie(self._name(request), secure=is_secure(request), httponly=True, samesite=self.samesite)

    def _name(self, request: Request) -> str:
        """`__Host-` makes a browser refuse the cookie from any other host or from a plain connection."""
        return f"__Host-{self.name}" if is_secure(request) else self.name


def is_secure(request: Request) -> bool:
    """Whether cookies may travel encrypted alone: everywhere but on this very machine."""
    try:
        host = request.url.hostname or ""
        loopback = host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:  # a name, or no host at all
        loopback = False
    return request.url.scheme == "https" or not loopback


def sealed(secret: str, message: dict[str, Any]) -> str:
    """A message in a cookie, which nobody makes up who does not know the secret."""
    text = base64.urlsafe_b64encode(json.dumps(message).encode()).decode()
    return f"{text}.{_mac(secret, f'message {text}')}"


def opened(secret: str, kept: str, form: type[_Form]) -> _Form | None:
    """A message that was sealed with this secret; None without one, it was made up, or is of another form.

    Whoever has the cookie knows its secret, and can seal anything.
    """
    text, _, mac = kept.partition(".")
    if text and hmac.compare_digest(_mac(secret, f"message {text}").encode(), mac.encode()):
        try:
            return form.model_validate_json(base64.urlsafe_b64decode(text))
        except ValueError:
            return None
    return None


def derived(secret: str, name: str) -> str:
    """A further secret of 256 bits that follows from a cookie's."""
    return _mac(secret, f"derived {name}")


def _mac(secret: str, content: str) -> str:
    return hmac.new(secret.encode(), content.encode(), hashlib.sha256).hexdigest()
