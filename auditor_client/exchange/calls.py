"""Calls to the holder over HTTP: limits in bytes and seconds, bounded retries, one host.

The holder is not trusted. An answer is read up to its limits, no redirect is followed, and the
key is sent to the holder's own address alone. Every call may be repeated: reading changes nothing,
a plan is charged once, however often it is asked (2-privacy §3, *Identity*), and the same derived column is made once.
So connection errors, timeouts, 429, 503 and a column that is not ready yet are tried again, within a bound on attempts
and on total time. An identity provider is asked once, within limits of its own. No other file uses httpx.
"""

import json
import re
import ssl
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import cache
from pathlib import Path
from threading import Thread
from typing import Any, Final, TypeVar
from urllib.parse import urlsplit

import httpx
import stamina
from pydantic import BaseModel, ValidationError
from stamina.instrumentation import RetryDetails, set_on_retry_hooks

from auditor_client.approval_words import approval_words
from auditor_client.errors import (
    ApprovalAwaited,
    ColumnNotReady,
    HolderLied,
    HolderUnavailable,
    ProviderUnavailable,
    SettingsRefused,
    SignInNeeded,
    Unauthenticated,
    refusal,
)
from auditor_client.settings import read_token
from auditor_client.text import first_fault, readable
from shared.contract.approvals import Approval
from shared.wire.identity_providers import is_address, is_loopback
from shared.wire.problems import Problem

HttpClient = httpx.Client
Shown = str | Path | Callable[[], str] | None
"""What shows who asks: a key; the file of a token, or what renews one, asked at each call; None where nobody does."""
PROVIDER_S: Final = 15.0
PROVIDER_BYTES_MAX: Final = 512 * 1024

_ERRNO: Final = re.compile(r"^\[Errno -?\d+\] ")
_RETRIED_STATUSES: Final = (429, 503)
_PIECE_BYTES: Final = 1024 * 1024
_ResultT = TypeVar("_ResultT")
_ModelT = TypeVar("_ModelT", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class CallLimits:
    """The longest times, in seconds, and the largest answer that the client accepts.

    A release can take long: the holder sends it at a public deadline that grows with the plan and with the
    declared number of records (2-privacy §7). So an attempt may last much longer than connecting.
    """

    connect_s: float = 10.0
    attempt_s: float = 120.0
    total_s: float = 300.0
    attempts: int = 5
    first_wait_s: float = 0.2
    longest_wait_s: float = 30.0
    answer_bytes_max: int = 64 * 1024 * 1024
    bytes_sent_per_s: int = 256 * 1024
    """A body has so much more time."""


_DEFAULT_LIMITS: Final = CallLimits()


class HttpCaller:
    """Sends requests to one holder."""

    def __init__(
        self,
        http: HttpClient | None = None,
        *,
        url: str,
        key: Shown,
        allow_plain_http: bool = False,
        limits: CallLimits = _DEFAULT_LIMITS,
    ) -> None:
        """Prepare; sends nothing yet.

        Args:
            http: For a certificate authority or a proxy of your own; by default a plain client.
            url: The holder's address, with or without a path in front of `/v1`.
            key: The auditor's key or token, or where it comes from at each call.
            allow_plain_http: Let the key travel unencrypted to another machine.
            limits: Bounds on time, attempts and size.

        Raises:
            SettingsRefused: The address cannot be used, or is plain http to another machine.
        """
        address = _checked_url(url, allow_plain_http)
        # A proxy from the environment reads a plain request, key included; it only forwards an encrypted one.
        self._http = (
            http if http is not None else httpx.Client(verify=_authorities(), trust_env=address.scheme == "https")
        )
        self._owns_http = http is None
        self._key = key
        self._limits = limits
        self.url = str(address).rstrip("/")

    def close(self) -> None:
        """Close the connections; an `http` client of the caller's own stays open."""
        if self._owns_http:
            self._http.close()

    def call(
        self, method: str, path: str, content: bytes | Path | None = None, *, media_type: str = "application/json"
    ) -> bytes:
        """Send a request until it is answered, and return the body of a success; empty of a 204.

        The path is quoted, from "/v1" on. The content is a body; of a file, which is streamed, the path.

        Raises:
            HolderRefused: The holder sent a problem document; the class says which.
            ApprovalAwaited: The holder keeps the request until a budget officer approves it.
            HolderUnavailable: No answer within the limits, or what answered is no holder.
            HolderLied: The answer exceeds its limit or repeats the key.
        """
        sending = _Sending(method, path, content, media_type)
        sent_s = sending.size / self._limits.bytes_sent_per_s
        give_up_at = time.monotonic() + self._limits.total_s + sent_s
        try:
            for attempt in stamina.retry_context(
                on=_BackOff(give_up_at, self._limits.longest_wait_s),
                attempts=self._limits.attempts,
                timeout=self._limits.total_s + sent_s,
                wait_initial=self._limits.first_wait_s,
                wait_max=self._limits.longest_wait_s,
                wait_jitter=self._limits.first_wait_s,
            ):
                with attempt:
                    return self._attempt(sending, give_up_at)
        except _TryAgain as again:
            raise again.failure from again.__cause__
        raise HolderUnavailable(
            f"No request was sent to the holder at {self.url}, because the settings allow "
            "zero attempts. Allow at least one."
        )

    def _attempt(self, sending: "_Sending", give_up_at: float) -> bytes:
        path, key = sending.path, _now(self._key)
        attempt_s = self._limits.attempt_s + sending.size / self._limits.bytes_sent_per_s
        seconds = max(min(attempt_s, give_up_at - time.monotonic()), 0.001)
        try:
            answer = _within(seconds, lambda: self._exchange(sending, key, seconds))
        except (httpx.TransportError, TimeoutError) as error:
            reason = readable(_ERRNO.sub("", str(error))) or f"no whole answer within {seconds:.3g} s"
            free = ": a plan that was charged is answered again at no cost" if sending.method == "POST" else ""
            raise _TryAgain(
                HolderUnavailable(
                    f"The holder at {self.url} does not answer ({reason}). Check the address and the network and "
                    f"ask again{free}."
                )
            ) from error
        if key is not None and key.encode() in answer.body:
            raise HolderLied(f"The holder's answer to {path} repeats your key. Do not use it, and ask for a new key.")
        if answer.status in (200, 201, 204):
            return answer.body
        if answer.status == 202:
            raise awaited(fitted(Approval, answer.body, path))
        failure = self._failure(answer, path)
        if isinstance(failure, Unauthenticated) and callable(self._key):
            raise SignInNeeded(f"The holder no longer takes your sign-in: {failure} Sign in again: `auditor login`.")
        if answer.status in _RETRIED_STATUSES or isinstance(failure, ColumnNotReady):
            raise _TryAgain(failure, after_s=answer.retry_after_s)
        raise failure

    def _exchange(self, sending: "_Sending", key: str | None, seconds: float) -> "_Answer":
        """One request and its answer, read up to the limits."""
        give_up_at = time.monotonic() + seconds
        # `identity`: a small compressed body can grow without bound while it is unpacked.
        headers = {"Accept": "application/json", "Accept-Encoding": "identity"}
        if key is not None:
            headers["Authorization"] = f"Bearer {key}"
        if sending.content is not None:
            headers |= {"Content-Type": sending.media_type, "Content-Length": str(sending.size)}
        timeout = httpx.Timeout(seconds, connect=min(seconds, self._limits.connect_s))
        request = httpx.Request(
            sending.method,
            self.url + sending.path,
            content=sending.pieces(),
            headers=headers,
            extensions={"timeout": timeout.as_dict()},
        )
        try:
            return _received(self._http, request, give_up_at, self._limits.answer_bytes_max)
        except _TooLong:
            raise HolderLied(
                f"The holder's answer to {sending.path} exceeds {self._limits.answer_bytes_max} bytes, "
                "more than any answer of the contract. The rest was not read."
            ) from None

    def _failure(self, answer: "_Answer", path: str) -> Exception:
        """The error for an answer that is no success."""
        try:
            problem = Problem.model_validate(parsed(answer.body, path))
        except (HolderUnavailable, ValidationError):
            unexpected = f"Something at {self.url} answered {path} with status {answer.status}"
            if 300 <= answer.status < 400:
                return HolderUnavailable(
                    f"{unexpected}, a redirect. Redirects are not followed: set the holder's own address."
                )
            return HolderUnavailable(
                f"{unexpected} and not a problem document. Check that the address is a "
                "holder's, not that of a proxy before it."
            )
        detail = readable(problem.detail)
        if problem.code in ("unavailable", "internal"):
            return HolderUnavailable(f"{detail} (The holder answered with status {answer.status}; try again later.)")
        return refusal(detail, code=problem.code, status=answer.status, fields=dict(problem.model_extra or {}))


@dataclass(frozen=True, slots=True)
class _Sending:
    """A request; its body can be read again for another attempt."""

    method: str
    path: str
    content: bytes | Path | None
    media_type: str

    @property
    def size(self) -> int:
        """How many bytes the body has."""
        if isinstance(self.content, Path):
            return self.content.stat().st_size
        return len(self.content or b"")

    def pieces(self) -> bytes | Iterator[bytes] | None:
        """The body; that of a file piece by piece."""
        return _pieces(self.content) if isinstance(self.content, Path) else self.content


def _pieces(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while piece := file.read(_PIECE_BYTES):
            yield piece


@dataclass(frozen=True, slots=True)
class _Answer:
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def retry_after_s(self) -> float | None:
        """What `Retry-After` says, as seconds or as a date; None if absent or unreadable."""
        text = self.headers.get("Retry-After", "")
        if text.isascii() and text.isdigit():
            return float(text[:9])
        try:
            timestamp = parsedate_to_datetime(text)
        except (ValueError, TypeError):
            return None
        return max((timestamp.replace(tzinfo=timestamp.tzinfo or UTC) - datetime.now(UTC)).total_seconds(), 0.0)


class _TooLong(Exception):
    """An answer exceeds its limit."""


def _received(http: HttpClient, request: httpx.Request, give_up_at: float, bytes_max: int) -> _Answer:
    """Send a request, follow no redirect, and read the answer up to a limit."""
    response = http.send(request, stream=True, follow_redirects=False)
    try:
        body = bytearray()
        for chunk in response.iter_raw():
            body += chunk
            if len(body) > bytes_max:
                raise _TooLong
            if time.monotonic() > give_up_at:
                raise TimeoutError
        return _Answer(response.status_code, response.headers, bytes(body))
    finally:
        response.close()


def ask_provider(method: str, url: str, form: Mapping[str, str] | None = None) -> tuple[int, dict[str, Any]]:
    """Ask an identity provider once: the status, and the JSON object of its answer; an empty one of an empty answer.

    Raises:
        ProviderUnavailable: There is no answer in time, or none of that form.
    """
    if not is_address(url, plain=True):
        raise ProviderUnavailable(
            "The holder names an address of its identity provider that is neither https nor on this machine. "
            "Report it to the holder's administrator."
        )
    headers = {"Accept": "application/json", "Accept-Encoding": "identity"}
    timeout = httpx.Timeout(PROVIDER_S)
    give_up_at = time.monotonic() + PROVIDER_S
    try:
        request = httpx.Request(method, url, data=form, headers=headers, extensions={"timeout": timeout.as_dict()})
        with httpx.Client(verify=_authorities(), trust_env=request.url.scheme == "https") as http:
            answer = _within(PROVIDER_S, lambda: _received(http, request, give_up_at, PROVIDER_BYTES_MAX))
        return answer.status, parsed(answer.body, "a sign-in") if answer.body.strip() else {}
    except (httpx.HTTPError, httpx.InvalidURL, UnicodeError, TimeoutError, _TooLong, HolderUnavailable) as error:
        raise ProviderUnavailable(
            f"The identity provider at {urlsplit(url).hostname} did not answer as expected "
            f"({type(error).__name__}). Try again in a moment; your current sign-in is kept."
        ) from None


def _now(shown: Shown) -> str | None:
    """The key or token as it is now."""
    if isinstance(shown, Path):
        return read_token(shown)
    return shown() if callable(shown) else shown


class _TryAgain(Exception):
    """An attempt failed, and another may succeed; `failure` is raised if none does."""

    def __init__(self, failure: Exception, after_s: float | None = None) -> None:
        super().__init__(str(failure))
        self.failure = failure
        self.after_s = after_s


@dataclass(frozen=True, slots=True)
class _BackOff:
    """Whether to try again, and after how long: as long as the holder asks for, unless that is too long."""

    give_up_at: float
    longest_wait_s: float

    def __call__(self, error: Exception) -> bool | float:
        if not isinstance(error, _TryAgain):
            return False
        if error.after_s is None:
            return True
        if error.after_s <= self.longest_wait_s and time.monotonic() + error.after_s < self.give_up_at:
            return error.after_s
        return False


def report_retries(report: Callable[[str], None]) -> None:
    """Report every further attempt, the first with its reason. For programs, not libraries: it applies to the whole
    process.
    """

    def hook(details: RetryDetails) -> None:
        reason = f"{details.caused_by} " if details.retry_num == 1 else ""
        report(f"{reason}Asking again in {details.wait_for:.1f} s")

    set_on_retry_hooks([hook])


def parsed(body: bytes, path: str) -> dict[str, Any]:
    """An answer as a JSON object, in which names are unique, numbers finite and texts valid Unicode.

    Raises:
        HolderUnavailable: It is none, so no holder sent it.
    """
    try:
        document = json.loads(body.decode(), object_pairs_hook=_unrepeated, parse_constant=_refuse_constant)
        if isinstance(document, dict):
            if b"\\u" in body:
                json.dumps(document, ensure_ascii=False).encode()  # fails for half of a surrogate pair
            return document
    except (ValueError, RecursionError):
        pass  # The parser's text may quote the body, so it is not shown.
    raise HolderUnavailable(
        f"The answer to {path} is not a JSON object, so it does not come from a holder. Check the address."
    )


def fitted(model: type[_ModelT], body: bytes, path: str) -> _ModelT:
    """An answer as a type of the contract.

    Raises:
        HolderUnavailable: It is no JSON object, so no holder sent it.
        HolderLied: It does not fit.
    """
    try:
        return model.model_validate(parsed(body, path), extra="ignore")
    except ValidationError as error:
        where, why = map(readable, first_fault(error))
        raise HolderLied(
            f"The holder's answer to {path} does not fit the contract: {where or 'the answer'}: {why}. It was not "
            "used; report it to the holder's administrator."
        ) from error


def awaited(approval: Approval) -> ApprovalAwaited:
    """What somebody reads whose request has no answer yet, and what to do."""
    again = " Send the same request again once it is approved." if approval.state == "waiting" else ""
    return ApprovalAwaited(
        f"{approval_words(approval)}{again} `Auditor.approvals` shows its state. Its id is {approval.id}.", approval
    )


def _unrepeated(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    document = dict(pairs)
    if len(document) == len(pairs):
        return document
    raise ValueError("a name occurs twice")


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


@cache
def _authorities() -> ssl.SSLContext:
    """The authorities that may sign a holder's certificate: reading them takes longer than a call."""
    return httpx.create_ssl_context()


def _checked_url(url: str, allow_plain_http: bool) -> httpx.URL:
    try:
        address = httpx.URL(url)
    except (httpx.InvalidURL, TypeError) as error:
        raise SettingsRefused(f"The holder's address is not a URL: {error}.") from error
    if address.scheme not in ("http", "https") or not address.host:
        raise SettingsRefused(f'The holder\'s address {url!r} must be a URL such as "https://holder.example".')
    if address.userinfo or address.query or address.fragment:
        raise SettingsRefused(
            "The holder's address contains a user, password, query or fragment. Give it "
            'without them, such as "https://holder.example".'
        )
    if address.scheme == "http" and not (allow_plain_http or is_loopback(address.host)):
        raise SettingsRefused(
            f"{url} would send your key unencrypted to another machine. Use https, or, in a network that you "
            "trust, set AUDITOR_ALLOW_PLAIN_HTTP=true."
        )
    return address


def _within(seconds: float, work: Callable[[], _ResultT]) -> _ResultT:
    """Run work that may hang, for a limited time.

    The time limits of httpx are for each read: a server that sends one byte now and then, or a name that
    never resolves, would block it for ever. So the work runs in a daemon thread, which does not keep the
    process alive; after the time limit nobody waits for it.

    Raises:
        TimeoutError: It did not end in time.
    """
    outcome: Future[_ResultT] = Future()

    def run() -> None:
        try:
            outcome.set_result(work())
        except BaseException as error:  # noqa: BLE001 - the caller's thread raises it
            outcome.set_exception(error)

    Thread(target=run, name="holder-call", daemon=True).start()
    return outcome.result(timeout=seconds)
