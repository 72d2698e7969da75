"""A lane does so many things at once, in the order in which they were asked for, and says what became of each."""

import asyncio
import threading

import pytest

from holder_service.domain.errors import Forbidden
from holder_service.web.edge.lanes import Lane


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_its_threads_work_at_once_and_no_more(threads: int) -> None:
    together, lock, at_once = threading.Barrier(threads), threading.Lock(), [0]

    def work(number: int) -> int:
        with lock:
            at_once.append(at_once[-1] + 1)
        together.wait(timeout=30)
        with lock:
            at_once.append(at_once[-1] - 1)
        return number

    async def run() -> list[int]:
        lane = Lane("test", threads)
        return list(await asyncio.gather(*(lane.do(work, number) for number in range(6))))

    assert asyncio.run(run()) == [0, 1, 2, 3, 4, 5]
    assert max(at_once) == threads


def test_who_waits_is_given_the_refusal_of_the_work() -> None:
    def refuse() -> None:
        raise Forbidden("No.")

    async def run() -> None:
        lane = Lane("test")
        for way in (lane.do, lane.do_soon):
            with pytest.raises(Forbidden, match="No"):
                await way(refuse)

    asyncio.run(run())


def test_one_lane_does_not_wait_for_another() -> None:
    async def run() -> str:
        busy, idle, gate = Lane("busy"), Lane("idle"), threading.Event()
        waiting = asyncio.ensure_future(busy.do(gate.wait))
        found = await idle.do_soon(lambda: "found")
        gate.set()
        await waiting
        return found

    assert asyncio.run(run()) == "found"
