"""The deadline of a plan allows for all that is drawn before it, and for nothing else."""

import asyncio
import time

import pytest

from holder_service.web.edge.public_times import DrawQueue


def test_a_plan_alone_is_due_when_its_own_work_is_done() -> None:
    queue = DrawQueue()

    assert queue.deadline_s(begun_s=100.0, work_s=0.06, quantum_ms=25) == pytest.approx(0.075)
    assert queue.deadline_s(begun_s=200.0, work_s=0.06, quantum_ms=25) == pytest.approx(0.075)


def test_plans_that_come_together_are_due_one_after_the_other() -> None:
    queue = DrawQueue()

    found = [queue.deadline_s(begun_s=100.0, work_s=0.06, quantum_ms=25) for _ in range(4)]

    assert found == pytest.approx([0.075, 0.125, 0.2, 0.25])


def test_a_plan_that_comes_later_waits_for_what_is_left_of_those_before() -> None:
    queue = DrawQueue()
    queue.deadline_s(begun_s=100.0, work_s=2.0, quantum_ms=25)

    assert queue.deadline_s(begun_s=101.5, work_s=0.05, quantum_ms=25) == pytest.approx(0.55)


def test_without_a_quantum_nothing_waits() -> None:
    queue = DrawQueue()
    queue.deadline_s(begun_s=100.0, work_s=2.0, quantum_ms=0)

    assert queue.deadline_s(begun_s=100.0, work_s=2.0, quantum_ms=0) == 0.0


def test_plans_are_drawn_one_at_a_time_in_the_order_in_which_they_asked() -> None:
    async def run() -> list[int]:
        queue, drawn = DrawQueue(), []

        def draw(number: int) -> None:
            drawn.append(number)
            time.sleep(0.001)
            drawn.append(number)

        await asyncio.gather(*(queue.lane.do(draw, number) for number in range(5)))
        return drawn

    assert asyncio.run(run()) == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]
