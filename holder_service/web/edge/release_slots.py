"""How many plans are worked on at once, so that a crowd gets a refusal at once and no endless wait (2-privacy §7).

A slot is held until its answer leaves, not until the work is done: who waits for a slot, and whom the holder turns
away, depends on what was asked and never on how long a count took. No auditor holds more than half of the slots, and a
slot that is free again goes to the auditor who holds fewest.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from holder_service.domain.errors import RateLimited


class ReleaseSlots:
    """Slots for plans under way in one process; each auditor may wait with as many plans as it may hold slots."""

    def __init__(self, slots: int) -> None:
        self._free = slots
        self._share = -(-slots // 2)
        self._held: Counter[str] = Counter()
        self._waiting: list[tuple[str, asyncio.Future[None]]] = []

    @asynccontextmanager
    async def taken(self, auditor: str) -> AsyncIterator[None]:
        """Wait for a slot and hold it.

        Raises:
            RateLimited: The auditor waits with as many plans as it may already.
        """
        if sum(name == auditor and not turn.done() for name, turn in self._waiting) >= self._share:
            raise RateLimited(
                "The holder is already working on the maximum number of your requests. Wait a second, then "
                "send this one again. Nothing was charged."
            )
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append((auditor, turn))
        self._deal()
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._give_back(auditor)
            raise
        finally:
            self._waiting = [one for one in self._waiting if one[1] is not turn]
        try:
            yield
        finally:
            self._give_back(auditor)

    def _give_back(self, auditor: str) -> None:
        self._held[auditor] -= 1
        self._free += 1
        self._deal()

    def _deal(self) -> None:
        """Give free slots away: to who holds fewest, and of those to who waits longest."""
        while self._free > 0:
            waiting = [one for one in self._waiting if not one[1].done() and self._held[one[0]] < self._share]
            if not waiting:
                return
            auditor, turn = min(waiting, key=lambda one: self._held[one[0]])
            turn.set_result(None)
            self._held[auditor] += 1
            self._free -= 1
