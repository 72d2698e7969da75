"""Turns: auditors take them one after the other, however much each of them asks (docs/adr/0059-fair-turns.md)."""

from collections import deque
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

T = TypeVar("T")
FREE_REST: Final = 3
"""So many times as long as what costs nothing is modelled to take, nothing else that costs nothing is worked on.

No budget bounds what is free, so it gets a quarter of the processor by the model, and less of a real one.
"""


class RoundRobin(Generic[T]):
    """What waits for a turn: the next one is for the auditor whose last one is longest ago, and for its oldest item."""

    def __init__(self) -> None:
        self._waiting: dict[str, deque[T]] = {}
        self._served: dict[str, int] = {}
        self._turns = 0

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def add(self, auditor: str, item: T) -> None:
        """Have an item wait behind all others of its auditor."""
        self._waiting.setdefault(auditor, deque()).append(item)

    def discard(self, auditor: str, item: T) -> None:
        """Let an item wait no longer, if it does."""
        own = self._waiting.get(auditor, deque())
        if item in own:
            own.remove(item)
            if not own:
                del self._waiting[auditor]

    def of(self, auditor: str) -> tuple[T, ...]:
        """The items of an auditor that wait, oldest first."""
        return tuple(self._waiting.get(auditor, ()))

    def take(self) -> T:
        """Remove and return the item whose turn is next."""
        auditor = min(self._waiting, key=lambda name: self._served.get(name, 0))
        item = self._waiting[auditor].popleft()
        if not self._waiting[auditor]:
            del self._waiting[auditor]
        self.count_turn(auditor)
        return item

    def count_turn(self, auditor: str) -> None:
        """Note that an auditor had a turn just now."""
        self._turns += 1
        self._served[auditor] = self._turns


@dataclass(frozen=True, slots=True, eq=False)
class DrawTurn:
    """A priced request that waits to be drawn; times by one clock, in seconds.

    Attributes:
        begun_s: When the work on it began.
        work_s: How long the work on it is modelled to take, pauses left out.
        pauses_s: What is allowed for pauses of the process.
        rest_s: How long no other turn begins when it is done.
    """

    auditor: str
    begun_s: float
    work_s: float
    pauses_s: float
    rest_s: float = 0.0


class DrawTurns:
    """Which request is drawn next and when it is done, if each takes its modelled time.

    Everything here follows from when requests came and from their public sizes. How long a draw really took goes into
    nothing.
    """

    def __init__(self) -> None:
        self._waiting: RoundRobin[DrawTurn] = RoundRobin()
        self._free_s = 0.0

    @property
    def next_s(self) -> float | None:
        """When the next turn begins; `None` if nothing waits."""
        return self._free_s if self._waiting else None

    def join(self, turn: DrawTurn) -> None:
        """Have a request wait for its turn."""
        self._waiting.add(turn.auditor, turn)

    def leave(self, turn: DrawTurn) -> None:
        """Let a request wait no longer; one whose turn has begun keeps it."""
        self._waiting.discard(turn.auditor, turn)

    def waiting_s(self, auditor: str) -> float:
        """Return how long the requests of an auditor that wait are modelled to take."""
        return sum(turn.work_s for turn in self._waiting.of(auditor))

    def begin(self, until_s: float) -> list[tuple[DrawTurn, float]]:
        """The turns that begin until a time, in order, each with when it is done.

        A pause is allowed for once in each deadline and not once for each turn before it: it delays all that wait by
        itself alone.
        """
        begun = []
        while self._waiting and self._free_s <= until_s:
            turn = self._waiting.take()
            done_s = max(self._free_s, turn.begun_s) + turn.work_s
            self._free_s = done_s + turn.rest_s
            begun.append((turn, done_s + turn.pauses_s))
        return begun
