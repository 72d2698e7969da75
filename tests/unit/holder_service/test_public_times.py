"""A request is drawn in its auditor's turn, and its deadline allows for the turns before it and for nothing else."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from holder_service.domain.deadlines import Work
from holder_service.domain.errors import RateLimited
from holder_service.domain.turns import FREE_REST
from holder_service.web.edge import public_times
from holder_service.web.edge.public_times import DrawQueue
from shared.wire.limits import BODIES_WAITING_MAX, RELEASE_QUEUE_S_MAX


def work(drawing_ms: float, pricing_ms: float = 2.0) -> Work:
    return Work(pricing=pricing_ms, starting=0, counting=drawing_ms, noise=0, writing=0, pauses=8)


@dataclass
class Clock:
    """A clock that a test sets; the timers of `loop` fire by it."""

    now_s: float = 100.0

    def monotonic(self) -> float:
        return self.now_s


class Timers(asyncio.SelectorEventLoop):
    """A loop whose time is a clock's: it passes, without anybody waiting, from one timer to the next."""

    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self.clock = clock

    def time(self) -> float:
        return self.clock.now_s

    def _run_once(self) -> None:
        if not self._ready and self._scheduled:  # type: ignore[attr-defined]
            self.clock.now_s = max(self.clock.now_s, self._scheduled[0].when())  # type: ignore[attr-defined]
        super()._run_once()  # type: ignore[misc]


Scenario = Callable[[DrawQueue, Clock], Any]


def run(scenario: Scenario, monkeypatch: pytest.MonkeyPatch, *, quantum_ms: int = 25, rest: int = 0) -> Any:
    clock = Clock()
    monkeypatch.setattr(public_times, "time", clock)
    with asyncio.Runner(loop_factory=lambda: Timers(clock)) as runner:
        return runner.run(scenario(DrawQueue(quantum_ms, rest=rest), clock))


async def ask(queue: DrawQueue, clock: Clock, auditor: str, drawing_ms: float) -> tuple[float, float]:
    """When the turn of a request began and its deadline, both in seconds after it was asked."""
    begun_s = clock.now_s
    deadline_s = await queue.turn(auditor, begun_s=begun_s, work=work(drawing_ms))
    return clock.now_s - begun_s, deadline_s


def test_a_plan_alone_is_due_when_its_own_work_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario(queue: DrawQueue, clock: Clock) -> list[tuple[float, float]]:
        first = await ask(queue, clock, "ADR", 50)
        await asyncio.sleep(1)
        return [first, await ask(queue, clock, "ADR", 50)]

    assert run(scenario, monkeypatch) == [pytest.approx((0, 0.075)), pytest.approx((0, 0.075))]


def test_a_small_plan_beside_sixteen_large_ones_of_another_is_due_after_one(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario(queue: DrawQueue, clock: Clock) -> tuple[float, float]:
        crowd = [asyncio.create_task(ask(queue, clock, "crowd", 14_000)) for _ in range(16)]
        await asyncio.sleep(1)
        found = await ask(queue, clock, "ADR", 6)
        await asyncio.gather(*crowd)
        return found

    _, deadline_s = run(scenario, monkeypatch)

    assert 13 <= deadline_s <= 14.1


def test_a_deadline_is_a_multiple_of_the_quantum_whoever_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario(queue: DrawQueue, clock: Clock) -> list[tuple[float, float]]:
        return await asyncio.gather(*(ask(queue, clock, "abc"[number % 3], 7.3) for number in range(30)))

    found = run(scenario, monkeypatch)

    assert all(deadline_s / 0.025 == pytest.approx(round(deadline_s / 0.025)) for _, deadline_s in found)
    assert len({deadline_s for _, deadline_s in found}) > 5


def test_no_turn_begins_more_than_a_quantum_early(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario(queue: DrawQueue, clock: Clock) -> list[tuple[float, float]]:
        return await asyncio.gather(*(ask(queue, clock, "ADR", 100) for _ in range(5)))

    began_s = [began_s for began_s, _ in run(scenario, monkeypatch)]

    assert began_s == pytest.approx([0, 0.077, 0.179, 0.281, 0.383])


def test_one_auditors_waiting_requests_are_bounded_and_anothers_are_not_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    most_ms = 490 * RELEASE_QUEUE_S_MAX

    async def scenario(queue: DrawQueue, clock: Clock) -> None:
        crowd = [asyncio.create_task(ask(queue, clock, "crowd", most_ms)) for _ in range(3)]
        await asyncio.sleep(0)
        with pytest.raises(RateLimited, match="Your waiting requests") as refused:
            await ask(queue, clock, "crowd", 50_000)
        assert refused.value.fields["retry_after_s"] > 0
        other = asyncio.create_task(ask(queue, clock, "ADR", 6))
        await asyncio.gather(other, *crowd)

    run(scenario, monkeypatch)


def test_a_request_that_is_given_up_has_no_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario(queue: DrawQueue, clock: Clock) -> tuple[float, float]:
        drawn = asyncio.create_task(ask(queue, clock, "crowd", 1000))
        await asyncio.sleep(0)
        given_up = asyncio.create_task(ask(queue, clock, "crowd", 1000))
        await asyncio.sleep(0)
        given_up.cancel()
        await asyncio.sleep(0)
        found = await ask(queue, clock, "crowd", 6)
        await drawn
        return found

    _, deadline_s = run(scenario, monkeypatch)

    assert deadline_s == pytest.approx(1.025)


def test_without_a_quantum_nothing_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario(queue: DrawQueue, clock: Clock) -> list[tuple[float, float]]:
        return [await ask(queue, clock, "ADR", 2000) for _ in range(2)]

    assert run(scenario, monkeypatch, quantum_ms=0) == [(0, 0), (0, 0)]


BODY: int = 100_000
BODY_S = 0.051
"""What a body of that size is modelled to take."""


async def read(queue: DrawQueue, clock: Clock, auditor: str, size: int = BODY) -> float:
    """When a body was read."""
    await queue.reading(auditor, size)
    return clock.now_s


def test_what_costs_nothing_gets_a_quarter_of_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bodies that are read and requests that are drawn, of many auditors at once and renewed as long as it lasts."""
    begun: list[tuple[float, float]] = []

    async def ask_on(queue: DrawQueue, clock: Clock, auditor: str) -> None:
        for _ in range(5):
            begun.append((await read(queue, clock, auditor), BODY_S))
            await queue.turn(auditor, begun_s=clock.now_s, work=work(100))
            begun.append((clock.now_s, 0.102))

    async def scenario(queue: DrawQueue, clock: Clock) -> None:
        await asyncio.gather(*(ask_on(queue, clock, f"free-{number}") for number in range(8)))

    run(scenario, monkeypatch, rest=FREE_REST)

    assert len(begun) == 80
    took_s = begun[-1][0] - begun[0][0]
    assert sum(work_s for _, work_s in begun[:-1]) <= took_s / (1 + FREE_REST) * 1.01


def test_a_small_body_waits_for_one_large_one_of_each_other_auditor(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario(queue: DrawQueue, clock: Clock) -> float:
        crowd = [asyncio.create_task(read(queue, clock, f"free-{number % 2}")) for number in range(16)]
        await asyncio.sleep(0.01)
        asked_s = clock.now_s
        read_s = await read(queue, clock, "ADR", 1000)
        await asyncio.gather(*crowd)
        return read_s - asked_s

    assert run(scenario, monkeypatch, rest=FREE_REST) <= 2 * (1 + FREE_REST) * BODY_S


def test_a_body_that_nothing_waits_for_is_read_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario(queue: DrawQueue, clock: Clock) -> tuple[float, float]:
        return clock.now_s, await read(queue, clock, "ADR")

    asked_s, read_s = run(scenario, monkeypatch, rest=FREE_REST)

    assert read_s == asked_s


def test_only_so_many_bodies_of_one_auditor_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario(queue: DrawQueue, clock: Clock) -> None:
        first = await read(queue, clock, "crowd")
        crowd = [asyncio.create_task(read(queue, clock, "crowd")) for _ in range(BODIES_WAITING_MAX)]
        await asyncio.sleep(0)
        with pytest.raises(RateLimited, match="free requests"):
            await read(queue, clock, "crowd")
        other = asyncio.create_task(read(queue, clock, "ADR"))
        await asyncio.gather(other, *crowd)
        assert await read(queue, clock, "crowd") > first

    run(scenario, monkeypatch, rest=FREE_REST)


def test_plans_are_drawn_one_at_a_time_in_the_order_in_which_they_asked() -> None:
    async def drawn() -> list[int]:
        queue, found = DrawQueue(25), []

        def draw(number: int) -> None:
            found.append(number)
            time.sleep(0.001)
            found.append(number)

        await asyncio.gather(*(queue.lane.do(draw, number) for number in range(5)))
        return found

    assert asyncio.run(drawn()) == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]
