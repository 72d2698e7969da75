"""Lanes: few threads, each for one kind of work, and waiting for them without a thread (docs/adr/0049).

The threads of one interpreter take turns. The more of them want to go on at once, the more of the processor's time goes
into handing over instead of into answers. So what every call or release does has a lane, and its turn there.
"""

import asyncio
from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Final, ParamSpec, TypeVar

from holder_service.storage.database import LOCK_WAIT_S, give_up

T = TypeVar("T")
P = ParamSpec("P")
LOOKING_UP: Final = 2
"""How many calls are looked up by their keys at once: next to nothing each, but for waiting for a store elsewhere."""
PREPARING: Final = 3
"""How many plans are priced at once. Each may take a second, and small ones should not have to wait for two."""


class Lane:
    """So many threads for one kind of work, first come, first served."""

    def __init__(self, name: str, threads: int = 1) -> None:
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix=name)

    async def do(self, work: Callable[P, T], *given: P.args, **named: P.kwargs) -> T:
        """Have some work done in its turn, however long that takes.

        Its turn is behind all that was asked before, without anything being awaited between.
        """
        return await asyncio.wrap_future(self._threads.submit(partial(work, *given, **named)))

    async def do_soon(self, work: Callable[P, T], *given: P.args, **named: P.kwargs) -> T:
        """The same, as long as it begins in time.

        Raises:
            Unavailable: As `outcome`.
        """
        return await outcome(self._threads.submit(partial(work, *given, **named)))


class FairLane:
    """A lane in which each auditor has only so many pieces of work at once, so that auditors take turns there."""

    def __init__(self, name: str, threads: int = 1, *, share: int = 1) -> None:
        self._lane = Lane(name, threads)
        self._gates: defaultdict[str, asyncio.Semaphore] = defaultdict(partial(asyncio.Semaphore, share))

    async def do_soon(self, auditor: str, work: Callable[P, T], /, *given: P.args, **named: P.kwargs) -> T:
        """Have some work done, behind what waits of the auditor and one piece or so of each other auditor.

        Raises:
            Unavailable: As `outcome`.
        """
        async with self._gates[auditor]:
            return await self._lane.do_soon(work, *given, **named)


async def outcome(queued: Future[T]) -> T:
    """Return what became of something that waits for its turn, such as for the ledger.

    Raises:
        Unavailable: Its turn did not come in time, and nothing was done. Else whatever it raised.
    """
    waiting = asyncio.wrap_future(queued)
    await asyncio.wait([waiting], timeout=LOCK_WAIT_S)
    if not waiting.done():
        give_up(queued)
    return await waiting
