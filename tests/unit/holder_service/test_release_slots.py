"""Slots for plans under way are shared out: nobody holds more than half, and who holds fewest comes first."""

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from holder_service.domain.errors import RateLimited
from holder_service.web.edge.release_slots import ReleaseSlots


class Crowd:
    """Plans that wait for slots or hold them, each by a task of its own."""

    def __init__(self, slots: int) -> None:
        self.slots = ReleaseSlots(slots)
        self.holding: list[str] = []
        self._ends: list[tuple[str, asyncio.Event]] = []
        self._tasks: list[asyncio.Task[None]] = []

    async def ask(self, auditor: str) -> asyncio.Task[None]:
        """Ask a plan, which holds its slot until `end`."""
        task = asyncio.create_task(self._hold(auditor))
        self._tasks.append(task)
        await settle()
        return task

    async def end(self, auditor: str) -> None:
        """The auditor's oldest plan ends."""
        slot = next(one for one in self._ends if one[0] == auditor)
        self._ends.remove(slot)
        slot[1].set()
        await settle()

    async def end_all(self) -> None:
        while self._ends:
            await self.end(self._ends[0][0])
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _hold(self, auditor: str) -> None:
        async with self.slots.taken(auditor):
            self.holding.append(auditor)
            end = asyncio.Event()
            self._ends.append((auditor, end))
            await end.wait()
        self.holding.remove(auditor)


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


def run(scenario: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(scenario, timeout=30))


def test_one_auditor_holds_half_and_another_is_served_at_once() -> None:
    async def scenario() -> None:
        crowd = Crowd(4)
        for _ in range(4):
            await crowd.ask("ADR")
        assert crowd.holding == ["ADR", "ADR"]
        await crowd.ask("BDR")
        assert crowd.holding == ["ADR", "ADR", "BDR"]
        await crowd.end_all()

    run(scenario())


def test_who_waits_with_as_many_plans_as_it_may_hold_is_refused() -> None:
    async def scenario() -> None:
        crowd = Crowd(4)
        for _ in range(4):
            await crowd.ask("ADR")
        with pytest.raises(RateLimited):
            await (await crowd.ask("ADR"))
        await crowd.ask("BDR")
        assert crowd.holding == ["ADR", "ADR", "BDR"]
        await crowd.end_all()

    run(scenario())


def test_a_free_slot_goes_to_who_holds_fewest() -> None:
    async def scenario() -> None:
        crowd = Crowd(2)
        await crowd.ask("ADR")
        await crowd.ask("BDR")
        await crowd.ask("ADR")
        await crowd.ask("CDR")
        await crowd.end("ADR")
        assert crowd.holding == ["BDR", "ADR"], "neither holds any, and ADR waits longer"
        await crowd.ask("BDR")
        await crowd.end("BDR")
        assert crowd.holding == ["ADR", "CDR"]
        await crowd.end_all()
        assert crowd.holding == []

    run(scenario())


def test_a_single_slot_serves_everybody() -> None:
    async def scenario() -> None:
        crowd = Crowd(1)
        await crowd.ask("ADR")
        await crowd.ask("BDR")
        await crowd.end("ADR")
        assert crowd.holding == ["BDR"]
        await crowd.end_all()

    run(scenario())


def test_who_gives_up_waiting_leaves_no_trace() -> None:
    async def scenario() -> None:
        crowd = Crowd(2)
        await crowd.ask("ADR")
        waiting = await crowd.ask("ADR")
        waiting.cancel()
        await settle()
        await crowd.end("ADR")
        again = [await crowd.ask("ADR"), await crowd.ask("BDR")]
        assert crowd.holding == ["ADR", "BDR"]
        assert not any(task.done() for task in again)
        await crowd.end_all()

    run(scenario())
