"""What a sign-in leaves: tokens in a private file, for one holder each, renewed before they expire.

Refresh tokens are used once (rotation): so one process at a time renews, the others wait and take what it got, and the
next token is on the disk before this one's successor is used. A provider that sees an old one again ends the sign-in.
"""

import base64
import hashlib
import json
import os
import stat
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from auditor_client.durable_files import write_durably
from auditor_client.errors import AuditorError, ProviderUnavailable, SettingsRefused, SignInNeeded, SignInRefused
from auditor_client.exchange.calls import Shown, ask_provider
from auditor_client.settings import SETTINGS, AuditorSettings
from auditor_client.text import readable
from shared.wire.identity_providers import Discovery, SignInOffer

if sys.platform != "win32":
    import fcntl

AHEAD_S: Final = 60.0
"""How long before its end a token is renewed, or in the last half of its life, if that is shorter."""
LIFE_S_MAX: Final = 86_400.0
"""How long a token is good for at most: no holder takes one for longer."""
TOKEN_CHARACTERS_MAX: Final = 16 * 1024
_FILE_BYTES_MAX: Final = 64 * 1024
_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO
_OTHERS_WRITE: Final = stat.S_IWGRP | stat.S_IWOTH
_renewing: Final = threading.Lock()


class SignedIn(BaseModel):
    """What somebody signed in for, and the tokens: hidden in every text, and in one file alone.

    Attributes:
        holder_url: Whom the tokens are sent to.
        offer: At which provider, for what.
        access_token: What shows who asks.
        refresh_token: What renews it; None if nothing does.
        expires: When the token ends, in seconds of the Unix epoch, by this machine's clock.
        life_s: How long it was good for.
    """

    model_config = ConfigDict(frozen=True)

    holder_url: str
    offer: SignInOffer
    access_token: str = Field(repr=False)
    refresh_token: str | None = Field(repr=False)
    expires: float
    life_s: float

    @property
    def is_fresh(self) -> bool:
        """Whether it need not be renewed yet; not, where the clock was set back and says that it lives too long."""
        return min(AHEAD_S, self.life_s / 2) < self.expires - time.time() < self.life_s + AHEAD_S

    @classmethod
    def of(cls, holder_url: str, offer: SignInOffer, answer: dict[str, Any], before: Self | None = None) -> Self:
        """What a provider's answer with tokens leaves; a refresh token that it does not replace goes on.

        The access token is looked at before the holder gets it: one that others take too, or instead, it does not get.

        Raises:
            SignInRefused: There is no token, or it is not for this holder alone.
        """
        token, renewing = answer.get("access_token"), answer.get("refresh_token")
        claims = _claims(token)
        if claims is None or not isinstance(token, str):
            raise SignInRefused(
                f"The identity provider did not give a signed token (JWT) for {readable(offer.audience)}. Nothing "
                "was sent to the holder. Ask the administrators of both to agree on the token."
            )
        if claims.get("aud") not in (offer.audience, [offer.audience]):
            raise SignInRefused(
                f"The token is not only for {readable(offer.audience)}, so it was not sent to the holder. Ask the "
                "administrators of holder and provider to agree on its audience."
            )
        given = answer.get("expires_in")
        if not isinstance(given, int | float):
            given = claims["exp"] - claims["iat"] if _has_times(claims) else AHEAD_S
        life_s = min(max(given, 0.0), LIFE_S_MAX)
        kept = renewing if isinstance(renewing, str) else before.refresh_token if before else None
        return cls(
            holder_url=holder_url, offer=offer, access_token=token, refresh_token=kept, expires=time.time() + life_s,
            life_s=life_s,
        )  # fmt: skip


class KeptSignIn:
    """The file of the sign-in at one holder; what is in it is sent to no other."""

    def __init__(self, settings: AuditorSettings) -> None:
        self.holder_url = settings.holder_url.rstrip("/")
        name = f"sign-in-{hashlib.sha256(self.holder_url.encode()).hexdigest()[:32]}.json"
        self.path = settings.state_folder / name

    def read(self) -> SignedIn | None:
        """What is kept; None if nothing is.

        Raises:
            SettingsRefused: Others can read or write it, or it is damaged.
        """
        return self._read(_OTHERS)

    def _read(self, refused: int) -> SignedIn | None:
        """What is kept, unless others have one of these rights to it."""
        try:
            with self.path.open("rb") as file:
                found, content = os.fstat(file.fileno()), file.read(_FILE_BYTES_MAX)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise SettingsRefused(f"{self.path} cannot be read: {error.strerror}.") from error
        if not _is_own(found, refused):
            raise SettingsRefused(
                f"{self.path} contains your sign-in and can be read by other users. Run `auditor logout`, then "
                "sign in again."
            )
        try:
            kept = SignedIn.model_validate_json(content)
        except ValidationError:
            raise SettingsRefused(f"{self.path} is damaged. Run `auditor logout`, then sign in again.") from None
        return kept if kept.holder_url == self.holder_url else None

    def keep(self, signed_in: SignedIn) -> None:
        """Put a new sign-in into the file, which nobody else can read; one that is being renewed is over then."""
        with self._alone():
            self._write(signed_in)

    def token(self) -> str:
        """Return a valid token, renewed if it is about to expire.

        Raises:
            SignInNeeded: Nobody is signed in, or the provider does not renew the sign-in.
            ProviderUnavailable: It has expired, and the provider does not answer.
        """
        kept = self._current()
        if kept.is_fresh:
            return kept.access_token
        with self._alone():
            kept = self._current()
            if kept.is_fresh:
                return kept.access_token
            try:
                return self._renewed(kept).access_token
            except ProviderUnavailable:
                if kept.expires > time.time():
                    return kept.access_token
                raise

    def forget(self) -> bool | None:
        """End the sign-in: whether the provider ended it too; None if there is none."""
        with self._alone():
            try:
                kept = self._read(_OTHERS_WRITE)  # what others can read has to end there too
            except SettingsRefused:
                kept = None
            was_there = self.path.exists()
            self.path.unlink(missing_ok=True)
        if kept is None:
            return False if was_there else None
        return _revoked(kept)

    def _current(self) -> SignedIn:
        kept = self.read()
        if kept is None:
            raise SignInNeeded("You are not signed in. Sign in: `auditor login`.")
        return kept

    def _renewed(self, kept: SignedIn) -> SignedIn:
        if kept.refresh_token is None:
            raise SignInNeeded("Your sign-in has ended. Sign in again: `auditor login`.")
        asked = {
            "grant_type": "refresh_token", "refresh_token": kept.refresh_token, "client_id": kept.offer.client_id,
            **resource(kept.offer),
        }  # fmt: skip
        status, answer = ask_provider("POST", endpoint(discovered(kept.offer.issuer), "token_endpoint"), asked)
        if answer.get("error") == "invalid_grant":
            self.path.unlink(missing_ok=True)
            raise SignInNeeded("Your sign-in has ended: the identity provider does not renew it. Sign in again: "
                               "`auditor login`.")  # fmt: skip
        if status != 200:
            raise ProviderUnavailable(
                f"The identity provider did not renew the token (status {status}). Try again in a moment, or sign "
                "in again: `auditor login`."
            )
        renewed = SignedIn.of(kept.holder_url, kept.offer, answer, kept)
        self._write(renewed)
        return renewed

    def _write(self, signed_in: SignedIn) -> None:
        write_durably(self.path, signed_in.model_dump_json().encode())

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """While no other thread and no other process changes the file."""
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(self.path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT, 0o600)
        try:
            with _renewing:
                if sys.platform != "win32":
                    fcntl.flock(descriptor, fcntl.LOCK_EX)
                yield
        finally:
            os.close(descriptor)


def shown_by(settings: AuditorSettings) -> Shown:
    """What shows who asks: the key or token of the settings, or what a sign-in left.

    Raises:
        SignInNeeded: There is none of these.
    """
    if settings.key is not None:
        return settings.key
    kept = KeptSignIn(settings)
    if kept.read() is not None:
        return kept.token
    raise SignInNeeded(
        f"Your key is not set, and you are not signed in. Give `api_key` or set {SETTINGS['api_key'].variable}. "
        "If the holder offers sign-in, run `auditor login`."
    )


def discovered(issuer: str) -> Discovery:
    """What an issuer publishes.

    Raises:
        ProviderUnavailable: It does not answer, or is another one.
    """
    status, document = ask_provider("GET", Discovery.address(issuer))
    try:
        if status == 200:
            return Discovery.of(issuer, document)
    except ValueError:
        pass
    raise ProviderUnavailable(
        f"{readable(issuer)} does not publish the description of an identity provider of "
        "that name. Ask the holder's administrator which is right."
    )


def endpoint(discovery: Discovery, name: str) -> str:
    """An address that the provider publishes, to be asked.

    Raises:
        ProviderUnavailable: It publishes none.
    """
    found = getattr(discovery, name)
    if isinstance(found, str):
        return found
    raise ProviderUnavailable(
        f"{readable(discovery.issuer)} does not publish its {name.replace('_', ' ')}. Ask its administrator."
    )


def resource(offer: SignInOffer) -> dict[str, str]:
    """The audience as a resource indicator (RFC 8707), where it is a URL."""
    return {"resource": offer.audience} if offer.audience.startswith(("https://", "http://")) else {}


def _is_own(found: os.stat_result, refused: int) -> bool:
    """Whether a file is its user's, and others have none of some rights to it; on Windows, a user's own folders are."""
    if sys.platform == "win32":
        return True
    return not found.st_mode & refused and found.st_uid == os.getuid()


def _revoked(kept: SignedIn) -> bool:
    """Whether the provider took the tokens back (RFC 7009)."""
    kind = "access_token" if kept.refresh_token is None else "refresh_token"
    form = {"token": kept.refresh_token or kept.access_token, "token_type_hint": kind}
    try:
        url = endpoint(discovered(kept.offer.issuer), "revocation_endpoint")
        status, _ = ask_provider("POST", url, {**form, "client_id": kept.offer.client_id})
    except AuditorError:
        return False
    return status == 200


def _claims(token: object) -> dict[str, Any] | None:
    """What a signed token says, unverified: it came from the provider itself, and is only looked at."""
    if not isinstance(token, str) or token.count(".") != 2 or len(token) > TOKEN_CHARACTERS_MAX:
        return None
    try:
        claims = json.loads(base64.urlsafe_b64decode(token.split(".")[1] + "=="))
    except (ValueError, RecursionError):
        return None
    return claims if isinstance(claims, dict) else None


def _has_times(claims: dict[str, Any]) -> bool:
    return all(isinstance(claims.get(name), int) for name in ("exp", "iat"))
