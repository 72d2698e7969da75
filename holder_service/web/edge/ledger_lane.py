"""Waiting for the ledger without a thread: for what is charged in a transaction that releases share."""

import asyncio
from concurrent.futures import Future
from typing import TypeVar

from holder_service.storage.database import LOCK_WAIT_S, give_up

T = TypeVar("T")


async def outcome(queued: Future[T]) -> T:
    """What became of something that waits for the ledger.

    Raises:
        Unavailable: Its turn did not come in time, and nothing was done. Else whatever it raised.
    """
    waiting = asyncio.wrap_future(queued)
    await asyncio.wait([waiting], timeout=LOCK_WAIT_S)
    if not waiting.done():
        give_up(queued)
    return await waiting
