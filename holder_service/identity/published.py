"""What the identity provider publishes: its discovery document and its keys, fetched with limits and kept for a while.

The provider is asked by what callers send, so this bounds how often: a document is fetched again when it is no longer
fresh or lacks what is looked for, and never sooner than `AGAIN_S` after the last attempt, failed ones included. While
the provider does not answer, what it published last holds for `STALE_S`.
"""

import json
import logging
import time
from collections.abc import Callable
from threading import Lock
from typing import Any, Final, Generic, TypeVar

import httpx
from joserfc.errors import JoseError
from joserfc.jwk import JWKRegistry, Key

from holder_service.domain.errors import Unavailable
from holder_service.settings.oidc import OidcSettings
from shared.wire.identity_providers import Discovery, is_address

FRESH_S: Final = 300.0
STALE_S: Final = 3600.0
AGAIN_S: Final = 10.0
TIMEOUT_S: Final = 5.0
DOCUMENT_BYTES_MAX: Final = 512 * 1024
KEYS_MAX: Final = 100
RSA_DIGITS_MIN: Final = 342
"""How many digits of base 64 the modulus of 2048 bits has."""
DOWN: Final = (
    "The identity provider does not answer as it has to, so no token can be checked. Try again in a moment, or use an "
    "API key; the holder's administrator finds more in its log."
)
_log = logging.getLogger(__name__)
_T = TypeVar("_T")


class ProviderFault(Exception):
    """The provider could not be reached, or answered something else than it has to."""


class KeptDocument(Generic[_T]):
    """A document of the provider, kept while it is fresh, and a while longer if there is no newer one to be had."""

    def __init__(self, fetch: Callable[[], _T], clock: Callable[[], float] = time.monotonic) -> None:
        self._fetch = fetch
        self._clock = clock
        self._lock = Lock()
        self._value: _T | None = None
        self._fetched_s = self._tried_s = float("-inf")
        self._failed = False

    def get(self, serves: Callable[[_T], bool] = lambda _: True) -> _T:
        """The document; the newest there is if the one that is kept does not serve.

        Where one is kept, nobody waits for the next but who fetches it.

        Raises:
            Unavailable: There is none, or none that serves, and the provider does not answer, or not yet.
        """
        value = self._current(FRESH_S)
        if value is not None and serves(value):
            return value
        old = self._current(STALE_S)
        if not self._lock.acquire(blocking=old is None):  # another thread fetches the next
            if old is not None and serves(old):
                return old
            raise Unavailable(DOWN)
        try:
            self._refresh(serves)
        finally:
            self._lock.release()
        value = self._current(STALE_S)
        if value is None or (self._failed and not serves(value)):
            raise Unavailable(DOWN)
        return value

    def _refresh(self, serves: Callable[[_T], bool]) -> None:
        value = self._current(FRESH_S)
        if (value is not None and serves(value)) or self._clock() - self._tried_s < AGAIN_S:
            return
        self._tried_s, self._failed = self._clock(), True
        try:
            self._value = self._fetch()
        except ProviderFault as error:
            _log.warning("identity provider unavailable", extra={"error": type(error.__cause__ or error).__name__})
            return
        self._fetched_s, self._failed = self._clock(), False

    def _current(self, age_s_max: float) -> _T | None:
        return self._value if self._clock() - self._fetched_s < age_s_max else None


class Published:
    """The documents of one provider."""

    def __init__(self, settings: OidcSettings, clock: Callable[[], float] = time.monotonic) -> None:
        self._settings = settings
        # A proxy from the environment reads a plain request; it only forwards an encrypted one.
        self._http = httpx.Client(
            timeout=TIMEOUT_S, trust_env=not settings.plain, headers={"Accept-Encoding": "identity"}
        )
        self._discovery = KeptDocument(self._discover, clock)
        self._keys = KeptDocument(self._fetch_keys, clock)

    def discovery(self) -> Discovery:
        """The provider's description of itself.

        Raises:
            Unavailable: The provider does not answer, or is another one.
        """
        return self._discovery.get()

    def keys(self, serves: Callable[[tuple[Key, ...]], bool]) -> tuple[Key, ...]:
        """The keys that the provider signs with; fetched again if the ones kept do not serve, but not too often.

        Raises:
            Unavailable: There are none, and the provider does not answer.
        """
        return self._keys.get(serves)

    def close(self) -> None:
        self._http.close()

    def ask(self, method: str, url: str, **request: Any) -> tuple[int, dict[str, Any]]:
        """A status, and the JSON object of an answer.

        Raises:
            ProviderFault: There is no answer in time, or none of that form.
        """
        if not is_address(url, plain=self._settings.plain):
            raise ProviderFault("the address is neither of https nor of this machine")
        give_up_s = time.monotonic() + TIMEOUT_S
        content = bytearray()
        try:
            with self._http.stream(method, url, follow_redirects=False, **request) as answer:
                for chunk in answer.iter_raw():
                    content += chunk
                    if len(content) > DOCUMENT_BYTES_MAX or time.monotonic() > give_up_s:
                        raise ProviderFault("the answer is too long, or takes too long")
                status = answer.status_code
            document = json.loads(content)
        except (httpx.HTTPError, httpx.InvalidURL, ValueError, RecursionError) as error:
            raise ProviderFault("no answer of the form that it has to have") from error
        if isinstance(document, dict):
            return status, document
        raise ProviderFault("the answer is not a JSON object")

    def _discover(self) -> Discovery:
        document = self._document(Discovery.address(self._settings.issuer))
        try:
            return Discovery.of(self._settings.issuer, document)
        except ValueError as error:
            raise ProviderFault("the discovery document is another issuer's, or lacks something") from error

    def _fetch_keys(self) -> tuple[Key, ...]:
        try:
            entries = self._document(self.discovery().jwks_uri).get("keys")
        except Unavailable as error:
            raise ProviderFault("the discovery document does not exist") from error
        keys = [key for entry in (entries if isinstance(entries, list) else [])[:KEYS_MAX] if (key := _imported(entry))]
        if keys:
            return tuple(keys)
        raise ProviderFault("it publishes no key that can be used")

    def _document(self, url: str) -> dict[str, Any]:
        status, document = self.ask("GET", url, headers={"Accept": "application/json"})
        if status == 200:
            return document
        raise ProviderFault("the answer is an error")


def _imported(document: Any) -> Key | None:
    """A key to check signatures with; None of any other kind, too short, malformed, or with its secret beside it."""
    if not isinstance(document, dict) or document.get("use", "sig") != "sig" or document.get("kty") == "oct":
        return None
    if "d" in document:  # whoever reads it can sign
        return None
    if document.get("kty") == "RSA" and len(str(document.get("n"))) < RSA_DIGITS_MIN:
        return None
    try:
        return JWKRegistry.import_key(document)
    except (JoseError, TypeError, ValueError):
        return None
