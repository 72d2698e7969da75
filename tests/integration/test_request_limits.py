"""Too many requests, too slow ones and too long heads are refused early, whoever sends them, and nobody else is."""

import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final

import httpx
import pytest
import uvicorn

from holder_service.app import create_app
from holder_service.records import local_engine
from holder_service.records.counting import TrueCounts, count_cells
from holder_service.web.edge.connections import SERVER_OPTIONS, BoundedConnection
from holder_service.web.edge.rate_limits import ATTEMPTS_SHARE, BURST_S, RateLimits
from shared.wire import limits
from testing.holders import TestedHolder, listening, opened, stopped_holder
from testing.refusals import refused
from testing.registers import plan

REQUESTS_PER_S: Final = 3


class Impatient(BoundedConnection):
    """A connection that waits for a head as long as a test can."""

    head_read_s = 0.2


@pytest.fixture
def no_time_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was asked is not forgotten, however long a busy machine takes to ask the rest."""
    monkeypatch.setattr("holder_service.app.RateLimits", partial(RateLimits, clock=lambda: 0.0))


class Patient(BoundedConnection):
    """A connection that waits for a head for ever, so that only its length can end it."""

    head_read_s = 3600.0


@contextmanager
def limited(
    tmp_path: Path, *, requests_per_s: int = 0, concurrent_releases: int = 32, quantum_ms: int = 0
) -> Iterator[TestedHolder]:
    """A holder with limits of its own: its register and auditor are made while there are none."""
    made = stopped_holder(tmp_path)
    changed = replace(
        made.settings,
        release_quantum_ms=quantum_ms,
        requests_per_s=requests_per_s,
        concurrent_releases=concurrent_releases,
    )
    with opened(changed, made.admin_key, made.auditor_key) as tested:
        yield tested


@pytest.mark.usefixtures("no_time_passes")
def test_a_key_that_asks_too_much_is_refused_and_no_other(tmp_path: Path) -> None:
    with limited(tmp_path, requests_per_s=REQUESTS_PER_S) as holder:
        answers = [holder.auditor("GET", "/datasets") for _ in range(REQUESTS_PER_S * BURST_S * 2)]

        assert {answer.status_code for answer in answers[: REQUESTS_PER_S * BURST_S]} == {200}
        turned_away = [answer for answer in answers if answer.status_code != 200]
        refused(turned_away[0], "rate-limited", holder=holder)
        assert turned_away[0].headers["retry-after"] == "1"
        assert holder.admin("GET", "/auditors").status_code == 200


@pytest.mark.usefixtures("no_time_passes")
def test_attempts_without_a_valid_key_are_limited_and_lock_nobody_out(tmp_path: Path) -> None:
    with limited(tmp_path, requests_per_s=REQUESTS_PER_S) as holder:
        attempts_max = int(REQUESTS_PER_S * BURST_S * ATTEMPTS_SHARE)
        assert holder.auditor("GET", "/datasets").status_code == 200

        answers = [holder.auditor("GET", "/datasets", key=f"key-{number}") for number in range(3 * attempts_max)]

        assert [answer.status_code for answer in answers[:attempts_max]] == [401] * attempts_max
        refused(answers[-1], "rate-limited", holder=holder)
        assert holder.auditor("GET", "/datasets").status_code == 200


def test_a_valid_key_takes_no_attempts(tmp_path: Path) -> None:
    with limited(tmp_path, requests_per_s=REQUESTS_PER_S) as holder:
        assert {holder.auditor("GET", "/datasets").status_code for _ in range(10)} == {200}

        assert holder.auditor("GET", "/datasets", key="none").status_code == 401


@pytest.mark.usefixtures("no_time_passes")
def test_a_withdrawn_key_is_as_good_as_none(tmp_path: Path) -> None:
    with limited(tmp_path, requests_per_s=REQUESTS_PER_S) as holder:
        assert holder.auditor("GET", "/datasets").status_code == 200
        holder.admin("PATCH", "/auditors/ADR", json={"disabled": True})

        answers = [holder.auditor("GET", "/datasets").status_code for _ in range(10)]

        assert answers[0] == 401
        assert answers[-1] == 429


def test_of_a_crowd_of_plans_those_beyond_the_queue_are_refused_and_not_charged(tmp_path: Path) -> None:
    with limited(tmp_path, quantum_ms=1000, concurrent_releases=1) as holder, ThreadPoolExecutor(6) as crowd:
        asked = list(crowd.map(lambda draw: holder.release(plan(draw=draw)), range(1, 7)))

        released = [answer for answer in asked if answer.status_code == 201]
        assert 1 <= len(released) <= 5
        for answer in asked:
            if answer not in released:
                refused(answer, "rate-limited", holder=holder)
        assert holder.spent() == f"0.{len(released)}"


def test_a_plan_holds_its_slot_until_its_answer_leaves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first plan is counted long before its deadline; the second one waits, so a third one is refused."""
    counted = threading.Event()

    def count(*given: Any) -> TrueCounts:
        counts = count_cells(*given)
        counted.set()
        return counts

    monkeypatch.setattr(local_engine, "count_cells", count)
    with limited(tmp_path, quantum_ms=4000, concurrent_releases=1) as holder, ThreadPoolExecutor(2) as crowd:
        first = crowd.submit(holder.release, plan(draw=1))
        assert counted.wait(timeout=60)
        second = crowd.submit(holder.release, plan(draw=2))
        time.sleep(0.5)
        third = holder.release(plan(draw=3))

        assert not first.done()
        refused(third, "rate-limited", holder=holder)
        assert {first.result().status_code, second.result().status_code} == {201}


def test_a_body_that_does_not_come_in_time_is_given_up(
    lasting_holder: TestedHolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "BODY_READ_S", 0.2)
    for key, path, media in (
        (lasting_holder.auditor_key, "POST /v1/datasets/register/quotes", "application/json"),
        (lasting_holder.admin_key, "PUT /v1/admin/datasets/register/records", "text/csv"),
    ):
        head = f"{path} HTTP/1.1\r\nHost: x\r\nContent-Type: {media}\r\nAuthorization: Bearer {key}\r\n"

        answer = _sent(lasting_holder.client.base_url, f"{head}Content-Length: 5000\r\n\r\n".encode() + b"{")

        assert answer.startswith(b"HTTP/1.1 408 ")
        assert b"/problems/too-slow" in answer


def test_a_length_beyond_the_limit_is_refused_before_the_body(lasting_holder: TestedHolder) -> None:
    head = (
        f"POST /v1/datasets/register/quotes HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {lasting_holder.auditor_key}"
    )

    answer = _sent(
        lasting_holder.client.base_url,
        f"{head}\r\nConnection: close\r\nContent-Type: application/json\r\n"
        f"Content-Length: {limits.BODY_BYTES_MAX + 1}\r\n\r\n".encode(),
    )

    assert answer.startswith(b"HTTP/1.1 413 ")


@pytest.mark.parametrize(
    "head",
    [
        b"",
        b"GET /healthz HT",
        b"GET /healthz HTTP/1.1\r\nHost: x\r\nX-Slow: ",
        b"GET /healthz HTTP/1.1\r\n\r\nGET /hea",
    ],
)
def test_a_head_that_does_not_come_in_time_ends_the_connection(lasting_holder: TestedHolder, head: bytes) -> None:
    """On a busy machine what is whole may come too late as well: then one is tried that waits for longer."""
    answered = -1
    for patience in (1, 5, 25, 125):
        waits = type("Waits", (Impatient,), {"head_read_s": patience * Impatient.head_read_s})
        with serving_with(lasting_holder, waits) as url:
            answered = _sent(url, head).count(b"HTTP/1.1 200")
        if answered == head.count(b"\r\n\r\n"):
            break

    assert answered == head.count(b"\r\n\r\n")


@pytest.mark.parametrize("filler", [b"a", b"X-More: y\r\n"])
def test_a_head_beyond_the_limit_ends_the_connection(lasting_holder: TestedHolder, filler: bytes) -> None:
    head = b"GET /healthz HTTP/1.1\r\nHost: x\r\nX-Long: " + filler * (16 * limits.HEAD_BYTES_MAX // len(filler))
    with serving_with(lasting_holder, Patient) as url:
        answer = _sent(url, head)

    assert answer[:12] in (b"", b"HTTP/1.1 400")


def test_a_request_after_a_long_body_may_have_a_head_again(lasting_holder: TestedHolder) -> None:
    for _ in range(2):
        body = b" " * (4 * limits.HEAD_BYTES_MAX)
        answer = lasting_holder.auditor(
            "POST", "/datasets/register/quotes", content=body, headers={"Content-Type": "application/json"}
        )
        assert answer.status_code == 422


@contextmanager
def serving_with(holder: TestedHolder, connection: type[BoundedConnection]) -> Iterator[httpx.URL]:
    """The same holder, served once more through other connections."""
    options = {**SERVER_OPTIONS, "http": connection}
    with listening(uvicorn.Config(create_app(holder.settings), log_level="critical", **options)) as url:
        yield httpx.URL(url)


def _sent(url: httpx.URL, request: bytes) -> bytes:
    """Send bytes and nothing more, and read until the holder ends the connection."""
    with closing(socket.create_connection((url.host, url.port), timeout=60)) as connection:
        try:
            connection.sendall(request)
            return b"".join(iter(lambda: connection.recv(65_536), b""))
        except (BrokenPipeError, ConnectionResetError):
            return b""
