"""Nothing that anybody can see of a release moves before its public deadline, however soon it was drawn (2-privacy §7).

The count is made to take no time, or most of the time to the deadline. What is asserted needs no luck: a time to which
a release must not be seen, and an order that a difference of tenths of a second decides. On a slow machine nobody looks
before a near deadline, which shows nothing: then one that is farther off is tried.
"""

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import httpx
import pytest

from holder_service.records import local_engine
from holder_service.records.counting import TrueCounts, count_cells
from holder_service.web.rest import releasing
from shared.kinds.plans import Plan
from testing.holders import TestedHolder
from testing.registers import plan

QUANTUM_MS: Final = 1000
"""The deadline of a small plan is one quantum."""
FARTHER_QUANTA_MS: Final = (QUANTUM_MS, 4 * QUANTUM_MS, 16 * QUANTUM_MS, 64 * QUANTUM_MS)
SLOW_S: Final = 0.4
PAUSE_S: Final = 0.01
SLOTS: Final = 64


@pytest.fixture
def unhurried(set_up_holder: TestedHolder, tmp_path: Path) -> Iterator[TestedHolder]:
    with set_up_holder.copied(tmp_path, quantum_ms=QUANTUM_MS) as holder:
        yield holder


def count_slowly(monkeypatch: pytest.MonkeyPatch, count_s: float) -> None:
    """Have every count take so long."""

    def count(*given: Any) -> TrueCounts:
        time.sleep(count_s)
        return count_cells(*given)

    monkeypatch.setattr(local_engine, "count_cells", count)


def look(holder: TestedHolder, body: dict[str, Any]) -> tuple[Any, ...]:
    """All that an auditor can see of a release on a second connection."""
    asked = Plan.model_validate({**body, "version": 1})
    name = asked.identity(auditor="ADR", dataset="register")
    return (
        holder.auditor("GET", f"/datasets/register/releases/{name}").status_code,
        len(holder.auditor("GET", "/datasets/register/releases").json()["releases"]),
        holder.spent(),
        holder.auditor("GET", "/ledger/head").json()["sequence"],
        "released" if "holder_release_deadline_seconds_count 0.0" not in holder.metrics().text else "",
    )


@pytest.mark.parametrize("count_s", [0.0, SLOW_S])
def test_nothing_of_a_release_is_seen_before_its_deadline(
    set_up_holder: TestedHolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, count_s: float
) -> None:
    count_slowly(monkeypatch, count_s)
    for quantum_ms in FARTHER_QUANTA_MS:
        with set_up_holder.copied(tmp_path / str(quantum_ms), quantum_ms=quantum_ms) as holder:
            if looks_before_the_deadline(holder, quantum_ms / 1000):
                return
    pytest.fail("nobody looked before the deadline")


def looks_before_the_deadline(holder: TestedHolder, due_s: float) -> int:
    """How many times all that can be seen was seen before the deadline of a release, each time as it was before."""
    body = plan()
    before = look(holder, body)
    sent_s, sent_at = time.monotonic(), time.time()
    looks: list[tuple[float, tuple[Any, ...]]] = []

    with ThreadPoolExecutor(1) as other:
        asked = other.submit(holder.release, body)
        while not asked.done():
            seen = look(holder, body)
            looks.append((time.monotonic() - sent_s, seen))
            time.sleep(PAUSE_S)
        answer = asked.result()
        answered_s = time.monotonic() - sent_s

    too_early = [seen for at_s, seen in looks if at_s <= due_s]
    assert set(too_early) <= {before}
    assert datetime.fromisoformat(answer.json()["created"]).timestamp() - sent_at >= due_s
    assert answered_s >= 2 * due_s, "the answer leaves one quantum after the deadline"
    assert look(holder, body) != before
    return len(too_early)


def test_the_order_of_entries_is_that_of_the_deadlines(
    set_up_holder: TestedHolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The plan that is asked first and counted longest is entered first. A busy machine may take longer than it has:
    then its deadline is the double, which shows nothing, and one that is farther off is tried.
    """
    begun = threading.Event()

    def count(*given: Any) -> TrueCounts:
        if not begun.is_set():
            begun.set()
            time.sleep(SLOW_S)
        return count_cells(*given)

    monkeypatch.setattr(local_engine, "count_cells", count)

    for quantum_ms in FARTHER_QUANTA_MS:
        begun.clear()
        with (
            set_up_holder.copied(tmp_path / str(quantum_ms), quantum_ms=quantum_ms) as holder,
            ThreadPoolExecutor(2) as pool,
        ):
            slow = pool.submit(holder.release, plan(draw=1))
            assert begun.wait(timeout=30)
            time.sleep(0.05)
            quick = pool.submit(holder.release, plan(draw=2))
            first, second = (asked.result().json()["ledger"]["sequence"] for asked in (slow, quick))
            overran = "holder_release_overruns_total 0.0" not in holder.metrics().text
        if not overran:
            assert first < second
            return
    pytest.fail("no plan was counted within its time")


@pytest.mark.parametrize(
    ("path", "body"), [("/auditors/ADR", {"disabled": True}), ("/datasets/register/budgets/ADR", {"epsilon": "0"})]
)
def test_who_may_no_longer_ask_at_the_deadline_is_refused(
    unhurried: TestedHolder, monkeypatch: pytest.MonkeyPatch, path: str, body: dict[str, Any]
) -> None:
    begun, go_on = threading.Event(), threading.Event()

    def count(*given: Any) -> TrueCounts:
        begun.set()
        go_on.wait(timeout=30)
        return count_cells(*given)

    monkeypatch.setattr(local_engine, "count_cells", count)
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(unhurried.release, plan())
        assert begun.wait(timeout=30)
        changed = unhurried.admin("PATCH" if path.startswith("/auditors") else "PUT", path, json=body)
        go_on.set()
        answer = asked.result()

    assert changed.is_success
    assert answer.status_code in (401, 403)
    assert [entry for entry in unhurried.entries() if entry["kind"] == "charge"] == []


def test_a_key_withdrawn_during_the_count_is_refused(unhurried: TestedHolder, monkeypatch: pytest.MonkeyPatch) -> None:
    def count(*given: Any) -> TrueCounts:
        path = f"/auditors/ADR/keys/{unhurried.auditor_key_id}"
        assert unhurried.admin("DELETE", path).status_code == 204
        return count_cells(*given)

    monkeypatch.setattr(local_engine, "count_cells", count)
    sent_s = time.monotonic()

    answer = unhurried.release(plan())

    assert answer.status_code == 401
    assert time.monotonic() - sent_s >= 2 * QUANTUM_MS / 1000, "a refusal after the count leaves as an answer does"
    assert [entry for entry in unhurried.entries() if entry["kind"] == "charge"] == []


def test_a_log_of_an_overrun_is_written_at_the_public_time(
    unhurried: TestedHolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    logged: list[float] = []
    monkeypatch.setattr(releasing._log, "warning", lambda *_, **__: logged.append(time.monotonic()))
    count_slowly(monkeypatch, 1.2 * QUANTUM_MS / 1000)
    sent_s = time.monotonic()

    answer: httpx.Response = unhurried.release(plan())

    assert answer.status_code == 201
    assert len(logged) == 1
    assert logged[0] - sent_s >= 2 * QUANTUM_MS / 1000


def test_plans_are_drawn_one_after_the_other(unhurried: TestedHolder, monkeypatch: pytest.MonkeyPatch) -> None:
    """And while one is counted whatever else is due is answered."""
    at_once, most, lock = 0, 0, threading.Lock()

    def count(*given: Any) -> TrueCounts:
        nonlocal at_once, most
        with lock:
            at_once += 1
            most = max(most, at_once)
        assert unhurried.client.get("/v1/keys").status_code == 200
        with lock:
            at_once -= 1
        return count_cells(*given)

    monkeypatch.setattr(local_engine, "count_cells", count)
    keys = [unhurried.auditor_key, unhurried.open_auditor("second", epsilon="10")]
    with ThreadPoolExecutor(8) as pool:
        asked = [pool.submit(unhurried.release, plan(draw=n + 1), key=keys[n % 2]) for n in range(8)]

    assert {one.result().status_code for one in asked} == {201}
    assert most == 1
