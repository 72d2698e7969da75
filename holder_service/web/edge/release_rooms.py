"""Where requests are worked on: those about real people, and apart from them those about invented people.

A rehearsal costs nothing, so no budget bounds how many are asked. It has slots, threads and a queue of its own, and
nothing that is charged waits for it (docs/adr/0059-fair-turns.md).
"""

from typing import Final

from holder_service.domain.turns import FREE_REST
from holder_service.services.ledger.store import LedgerStore
from holder_service.services.releases import rehearsals
from holder_service.web.edge.lanes import PREPARING, FairLane, Lane
from holder_service.web.edge.public_times import DrawQueue
from holder_service.web.edge.release_slots import ReleaseSlots

PREPARING_SHARE: Final = 2
"""How many requests of one auditor are priced at once."""


class ReleaseRoom:
    """Slots for requests, threads that price them, and their turns to be drawn.

    Attributes:
        slots: For requests under way.
        preparing: Prices requests that hold a slot.
        draws: The requests that hold a slot and are to be drawn.
        free: The bodies that are to be read of requests that cost nothing.
    """

    def __init__(self, slots: int, preparing: FairLane, quantum_ms: int, *, free: bool) -> None:
        """Where all is free, reading and drawing take turns, and there is a rest behind each of them."""
        self.slots = ReleaseSlots(slots)
        self.preparing = preparing
        self.free = DrawQueue(quantum_ms, rest=FREE_REST)
        self.draws = self.free if free else DrawQueue(quantum_ms)


class ReleaseRooms:
    """The two rooms of one process."""

    def __init__(self, slots: int, quantum_ms: int) -> None:
        self._real = ReleaseRoom(slots, FairLane("prepare", PREPARING, share=PREPARING_SHARE), quantum_ms, free=False)
        self._rehearsed = ReleaseRoom(-(-slots // 2), FairLane("prepare-rehearsed"), quantum_ms, free=True)
        self._looking = Lane("rooms")
        self._known: dict[str, bool] = {}

    async def reading(self, store: LedgerStore, dataset: str, auditor: str, *, size: int, quoted: bool) -> None:
        """Wait until a body of so many bytes about a dataset is to be read.

        Prices, and answers about rehearsals, cost nothing, so no budget bounds how many are asked: their bodies take
        turns, and a rest comes behind each. Others are read at once.

        Raises:
            RateLimited: As many of the auditor wait as may.
        """
        room = await self.room(store, dataset)
        if quoted or room is self._rehearsed:
            await room.free.reading(auditor, size)

    async def room(self, store: LedgerStore, dataset: str) -> ReleaseRoom:
        """The room for requests about a dataset.

        A name that a rehearsal has or had is never that of real people, nor the reverse: it is looked up once.
        """
        if dataset not in self._known:
            known = await self._looking.do_soon(rehearsals.is_rehearsal, store, dataset)
            if known is None:
                return self._real
            self._known[dataset] = known
        return self._rehearsed if self._known[dataset] else self._real
