"""An auditor who asks much, or about invented people, keeps nobody else waiting; no test here waits for a time."""

import asyncio
import itertools
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import pytest

from holder_service.domain.turns import FREE_REST
from holder_service.records import local_engine
from holder_service.records.counting import TrueCounts, count_cells
from holder_service.storage import watches
from holder_service.web.edge.public_times import DrawQueue
from holder_service.web.edge.release_rooms import ReleaseRooms
from shared.wire import limits
from testing.holders import TestedHolder, running_holder
from testing.registers import plan, register_csv, watch

REHEARSAL: Final = "big-rehearsal"
PEOPLE: Final = 100


@pytest.fixture(scope="module")
def big(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestedHolder]:
    """A register, and the rehearsal of a dataset of fifty million people."""
    with running_holder(tmp_path_factory.mktemp("fair-turns"), quantum_ms=25) as holder:
        holder.declare("big", records_max=50_000_000).raise_for_status()
        publish(holder)
        yield holder


def publish(holder: TestedHolder) -> None:
    holder.admin("POST", "/datasets/big/rehearsal", json={"people": PEOPLE}).raise_for_status()


def rules(age_from: int, number: int) -> list[dict[str, Any]]:
    return [
        {"id": f"r{age_from}-{index}", "all_of": [
            {"column": "age", "op": "eq", "value": age_from + index % 40},
            {"column": "hours", "op": "lt", "value": index + 0.5},
        ]}
        for index in range(number)
    ]  # fmt: skip


def large_watch(draw: int) -> dict[str, Any]:
    """Half a second of work by the model, and two with the rest before it."""
    return watch(
        draw=draw, margin=-1_000_000,
        favourable={"id": "f", "any_of": rules(0, 2000)}, unfavourable={"id": "u", "any_of": rules(41, 2000)},
    )  # fmt: skip


def deadlines_s(holder: TestedHolder) -> float:
    """All deadlines so far, added up."""
    [line] = (
        line for line in holder.metrics().text.splitlines() if line.startswith("holder_release_deadline_seconds_sum")
    )
    return float(line.split()[1])


def set_watch(holder: TestedHolder, dataset: str, key: str, body: dict[str, Any]) -> str:
    answer = holder.auditor("POST", f"/datasets/{dataset}/watches", key=key, json=body)
    assert answer.status_code == 201, answer.text
    return str(answer.json()["id"])


def due_s(holder: TestedHolder, dataset: str, key: str, identity: str, since: datetime) -> float:
    shown = holder.auditor("GET", f"/datasets/{dataset}/watches/{identity}", key=key).json()
    assert shown["pending"] is not None
    return (datetime.fromisoformat(shown["due"]) - since).total_seconds()


def last_load(holder: TestedHolder, dataset: str) -> datetime:
    at = [entry["at"] for entry in holder.entries() if entry["kind"] == "records" and entry["dataset"] == dataset]
    return datetime.fromisoformat(at[-1])


def test_a_plan_is_answered_while_a_rehearsal_is_counted(big: TestedHolder, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, go_on = threading.Event(), threading.Event()

    def count(*given: Any) -> TrueCounts:
        if not begun.is_set():
            begun.set()
            go_on.wait(timeout=60)
        return count_cells(*given)

    monkeypatch.setattr(local_engine, "count_cells", count)
    free = big.open_auditor("counts-a-rehearsal")
    with ThreadPoolExecutor(1) as pool:
        rehearsed = pool.submit(big.release, plan(), dataset=REHEARSAL, key=free)
        assert begun.wait(timeout=30)
        answer = big.release(plan(epsilon="0.001", draw=2))
        was_counted = go_on.is_set()
        go_on.set()

    assert answer.status_code == 201
    assert not was_counted
    assert rehearsed.result().status_code == 201


def test_rehearsals_take_no_slot_of_real_requests(big: TestedHolder, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two auditors who rehearse may hold all slots of rehearsals; a plan about real people has one at once."""
    begun, go_on = threading.Event(), threading.Event()

    def count(*given: Any) -> TrueCounts:
        if not begun.is_set():
            begun.set()
            go_on.wait(timeout=60)
        return count_cells(*given)

    monkeypatch.setattr(local_engine, "count_cells", count)
    keys = [big.open_auditor(f"rehearses-{number}") for number in range(2)]
    slots = big.settings.concurrent_releases
    with ThreadPoolExecutor(slots) as pool:
        crowd = [
            pool.submit(big.release, plan(draw=number // 2 + 1), dataset=REHEARSAL, key=keys[number % 2])
            for number in range(slots)
        ]
        assert begun.wait(timeout=30)
        answer = big.release(plan(epsilon="0.001", draw=3))
        was_counted = go_on.is_set()
        go_on.set()
        rehearsed = {one.result().status_code for one in crowd}

    assert answer.status_code == 201
    assert not was_counted
    assert rehearsed <= {201, 429}


def test_rehearsals_have_half_as_many_slots(big: TestedHolder) -> None:
    async def free_slots(rooms: ReleaseRooms, dataset: str) -> int:
        slots = (await rooms.room(big.holder.store, dataset)).slots
        async with AsyncExitStack() as stack:
            for number in range(8):
                try:
                    await asyncio.wait_for(stack.enter_async_context(slots.taken(f"asks-{number}")), timeout=2)
                except TimeoutError:
                    return number
        return 8

    async def scenario() -> tuple[int, int]:
        rooms = ReleaseRooms(6, quantum_ms=25)
        return await free_slots(rooms, "big"), await free_slots(rooms, REHEARSAL)

    assert asyncio.run(scenario()) == (6, 3)


def test_the_work_on_a_rehearsal_is_that_of_its_own_people(big: TestedHolder) -> None:
    """Fifty million people would take 14 s."""
    before_s = deadlines_s(big)
    cells = [{"id": "all", "any_of": rules(0, 500)}]

    answer = big.release(plan(epsilon="0.001", cells=cells), dataset=REHEARSAL, key=big.open_auditor("rehearses-once"))

    assert answer.status_code == 201, answer.text
    assert deadlines_s(big) - before_s < 1


def test_watches_about_rehearsals_are_not_before_those_about_real_people(big: TestedHolder) -> None:
    free = big.open_auditor("watches-a-rehearsal")
    for draw in (1, 2):
        set_watch(big, REHEARSAL, free, large_watch(draw))
    own = set_watch(big, "register", big.auditor_key, watch(margin=-5000))
    publish(big)

    big.load(register_csv(people=301)).raise_for_status()

    assert due_s(big, "register", big.auditor_key, own, last_load(big, "register")) <= 1


@pytest.mark.slow
def test_a_rest_comes_before_each_answer_of_a_free_watch(big: TestedHolder) -> None:
    free = big.open_auditor("watches-and-rests")
    for draw in (1, 2, 3):
        set_watch(big, REHEARSAL, free, large_watch(draw))

    publish(big)

    with big.holder.store.database.read() as connection:
        waiting = watches.pending(connection, rehearsed=True)
    assert len(waiting) >= 2
    assert all(one.work_ms > 300 for one in waiting if one.auditor == "watches-and-rests")
    dues = [one.due for one in waiting if one.due is not None]
    for after, (earlier, later) in zip(waiting[1:], itertools.pairwise(dues), strict=True):
        assert (later - earlier).total_seconds() >= (1 + FREE_REST) * after.work_ms / 1000


def test_what_costs_nothing_is_read_in_its_turn(big: TestedHolder, monkeypatch: pytest.MonkeyPatch) -> None:
    waited = []
    reading = DrawQueue.reading

    async def noted(queue: DrawQueue, auditor: str, size: int) -> None:
        waited.append(auditor)
        await reading(queue, auditor, size)

    monkeypatch.setattr(DrawQueue, "reading", noted)
    names = ("rehearses", "quotes-a-rehearsal", "watches-freely", "quotes")
    keys = {name: big.open_auditor(f"reads-{name}") for name in names}

    answers = [
        big.release(plan(), dataset=REHEARSAL, key=keys["rehearses"]),
        big.auditor("POST", f"/datasets/{REHEARSAL}/quotes", key=keys["quotes-a-rehearsal"], json=plan()),
        big.auditor("POST", f"/datasets/{REHEARSAL}/watches", key=keys["watches-freely"], json=watch(margin=-5000)),
        big.auditor("POST", "/datasets/register/quotes", key=keys["quotes"], json=plan()),
        big.release(plan(epsilon="0.001", draw=77)),
    ]

    assert [answer.status_code for answer in answers] == [201, 200, 201, 200, 201]
    assert waited == [f"reads-{name}" for name in names]


def test_auditors_take_turns_with_their_watches(tmp_path: Path) -> None:
    with running_holder(tmp_path, quantum_ms=25) as holder:
        other = holder.open_auditor("other", epsilon="1")
        many = [
            set_watch(holder, "register", holder.auditor_key, watch(draw=draw, margin=-5000)) for draw in range(1, 7)
        ]
        one = set_watch(holder, "register", other, watch(margin=-5000))

        holder.load(register_csv(people=301)).raise_for_status()

        since = last_load(holder, "register")
        assert due_s(holder, "register", other, one, since) <= 3
        assert due_s(holder, "register", holder.auditor_key, many[-1], since) >= 6


def test_one_auditors_open_watches_are_bounded(big: TestedHolder, monkeypatch: pytest.MonkeyPatch) -> None:
    free, other = big.open_auditor("watches-much"), big.open_auditor("watches-little")
    set_watch(big, REHEARSAL, free, watch(margin=-5000))
    monkeypatch.setattr(limits, "RELEASE_QUEUE_S_MAX", 0.001)

    refused = big.auditor("POST", f"/datasets/{REHEARSAL}/watches", key=free, json=watch(draw=2, margin=-5000))

    assert refused.status_code == 409, refused.text
    assert "open watches" in refused.json()["detail"]
    set_watch(big, REHEARSAL, other, watch(margin=-5000))


def test_free_answers_of_a_day_are_bounded(big: TestedHolder, monkeypatch: pytest.MonkeyPatch) -> None:
    free = big.open_auditor("rehearses-daily")
    monkeypatch.setattr(limits, "FREE_ENTRIES_PER_DAY_MAX", 2)

    answers = [big.release(plan(draw=draw), dataset=REHEARSAL, key=free) for draw in (1, 2, 3, 1)]

    assert [answer.status_code for answer in answers] == [201, 201, 409, 200]
    assert big.release(plan(draw=9, epsilon="0.001")).status_code == 201
