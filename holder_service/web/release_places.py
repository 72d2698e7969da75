"""How many plans are worked on at once, so that a crowd gets a refusal at once and no endless wait (2-privacy §7).

A place is held until its answer's public deadline, not until the work is done: who waits for a place, and whom the
holder turns away, so depends on what was asked and never on how long a count took.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from holder_service.domain.errors import RateLimited


class ReleasePlaces:
    """Places for plans under way in one process, and a queue of as many again."""

    def __init__(self, places: int) -> None:
        self._places = asyncio.Semaphore(places)
        self._waiting = 0
        self._waiting_max = places

    @asynccontextmanager
    async def taken(self) -> AsyncIterator[None]:
        """Wait for a place and hold it.

        Raises:
            RateLimited: The queue is full.
        """
        if self._places.locked() and self._waiting >= self._waiting_max:
            raise RateLimited(
                "The holder answers as many plans as it can at once. Wait a second, then ask again; nothing was "
                "charged."
            )
        self._waiting += 1
        try:
            await self._places.acquire()
        finally:
            self._waiting -= 1
        try:
            yield
        finally:
            self._places.release()
