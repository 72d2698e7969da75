"""When anything of a release may be seen: at times that follow from public facts alone (2-privacy §7).

A release has two. At the first, its deadline, the count and the draw are done and the charge is entered; so its time,
its sequence number, the budget, the head and the stored answer change then. At the second, one quantum later, the
answer leaves. What takes longer than its period waits for the double of it.

Requests at once share the processor. They are drawn one after the other, so that none makes another overrun, and
auditors take turns. When a turn begins follows from when requests came and from the modelled time of each, so a
deadline is fixed when its turn begins (docs/adr/0059-fair-turns.md).
"""

import asyncio
import math
import time
from collections import Counter

from holder_service.domain.deadlines import Work, public_time_s, reading_s, release_deadline_s
from holder_service.domain.errors import RateLimited
from holder_service.domain.turns import DrawTurn, DrawTurns
from holder_service.web.edge.lanes import Lane
from shared.wire import limits


class DrawQueue:
    """The priced requests of one process that are to be drawn; auditors take turns.

    Attributes:
        lane: Draws one request at a time.
    """

    def __init__(self, quantum_ms: int, *, rest: int = 0) -> None:
        """No other turn begins after one for `rest` times as long as it is modelled to take."""
        self.lane = Lane("draw")
        self._quantum_ms = quantum_ms
        self._rest = rest
        self._bodies: Counter[str] = Counter()
        self._turns = DrawTurns()
        self._waiting: dict[DrawTurn, asyncio.Future[float]] = {}
        self._timer: asyncio.TimerHandle | None = None

    async def turn(self, auditor: str, *, begun_s: float, work: Work) -> float:
        """Wait until a request is to be drawn: then ask `lane` before anything else is awaited.

        Args:
            auditor: Who asks; the auditors take turns.
            begun_s: When its work began, by the monotonic clock.
            work: How long its parts are supposed to take at most, in milliseconds.

        Returns:
            Its deadline in seconds after it began: a function of when requests came, of whom, and how large they are.

        Raises:
            RateLimited: The auditor's requests that wait would take too long together.
        """
        if self._quantum_ms == 0:
            return 0.0
        turn = self._turn(auditor, begun_s, (work.total - work.pauses) / 1000, work.pauses / 1000)
        self._require_room(turn)
        return release_deadline_s(await self._begins(turn) - begun_s, quantum_ms=self._quantum_ms)

    async def reading(self, auditor: str, size: int) -> None:
        """Wait until a body of so many bytes, which is there, is to be read.

        Raises:
            RateLimited: As many bodies of the auditor wait as may.
        """
        if self._quantum_ms == 0:
            return
        if self._bodies[auditor] >= limits.BODIES_WAITING_MAX:
            raise RateLimited(
                f"{limits.BODIES_WAITING_MAX} of your free requests are already waiting, the maximum. Send "
                "this one again when one of them is answered."
            )
        self._bodies[auditor] += 1
        try:
            await self._begins(self._turn(auditor, time.monotonic(), reading_s(size)))
        finally:
            self._bodies[auditor] -= 1
            self._bodies += Counter()  # forget whose count is 0

    def _turn(self, auditor: str, begun_s: float, work_s: float, pauses_s: float = 0.0) -> DrawTurn:
        return DrawTurn(auditor, begun_s, work_s, pauses_s, self._rest * work_s)

    async def _begins(self, turn: DrawTurn) -> float:
        """Wait until a turn begins; when it is done."""
        begins: asyncio.Future[float] = asyncio.get_running_loop().create_future()
        self._waiting[turn] = begins
        self._turns.join(turn)
        self._begin()
        try:
            return await begins
        finally:
            self._waiting.pop(turn, None)
            self._turns.leave(turn)

    def _require_room(self, turn: DrawTurn) -> None:
        """Refuse a request whose auditor has enough waiting; nothing of it is measured."""
        waiting_s = self._turns.waiting_s(turn.auditor)
        if waiting_s and waiting_s + turn.work_s > limits.RELEASE_QUEUE_S_MAX:
            raise RateLimited(
                f"Your waiting requests would together take more than {limits.RELEASE_QUEUE_S_MAX} seconds, "
                "the maximum. Send this one again when one of them is answered. Nothing was charged.",
                retry_after_s=max(math.ceil((self._turns.next_s or 0.0) - time.monotonic()), 1),
            )

    def _begin(self) -> None:
        """Begin the turns that are next, one quantum ahead of their modelled time, so that an idle processor works."""
        ahead_s = self._quantum_ms / 1000
        for turn, done_s in self._turns.begin(time.monotonic() + ahead_s):
            begins = self._waiting[turn]
            if not begins.done():
                begins.set_result(done_s)
        if self._timer is not None:
            self._timer.cancel()
        next_s = self._turns.next_s
        loop = asyncio.get_running_loop()
        self._timer = None if next_s is None else loop.call_at(next_s - ahead_s, self._begin)


async def wait_until_public(begun_s: float, period_s: float) -> tuple[float, bool]:
    """Wait until a period has passed since a start, or the double of it, and so on.

    Args:
        begun_s: The start, by the monotonic clock.
        period_s: A public period; 0 to go on at once.

    Returns:
        The time that was waited for, and whether it is later than the first.
    """
    due_s, overran = public_time_s(begun_s=begun_s, period_s=period_s, now_s=time.monotonic())
    if period_s > 0:
        # The timer is set to the time itself: a period from now on would keep a trace of when that was.
        loop = asyncio.get_running_loop()
        due = loop.create_future()
        timer = loop.call_at(due_s, due.set_result, None)
        try:
            await due
        finally:
            timer.cancel()
    return due_s, overran
