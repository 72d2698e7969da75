"""When anything of a release may be seen: at times that follow from public facts alone (2-privacy §7).

A release has two. At the first, its deadline, the count and the draw are done and the charge is entered; so its time,
its sequence number, the budget, the head and the stored answer change then. At the second, one quantum later, the
answer leaves. What takes longer than its period waits for the double of it.

Plans at once share the processor. They are drawn one after the other, so that none makes another overrun: the deadline
of each is when it and all before it would be done if each took its modelled time.
"""

import asyncio
import time

from holder_service.domain.deadlines import public_time_s, release_deadline_s
from holder_service.web.edge.lanes import Lane


class DrawQueue:
    """The plans of one process that are to be drawn, first come, first served.

    Attributes:
        lane: Draws one plan at a time.
    """

    def __init__(self) -> None:
        self.lane = Lane("draw")
        self._done_s = 0.0

    def deadline_s(self, *, begun_s: float, work_s: float, quantum_ms: int) -> float:
        """The deadline of a plan that joins the queue now: it has to ask for its turn before anything is awaited.

        Args:
            begun_s: When its work began, by the monotonic clock.
            work_s: How long that is supposed to take at most.
            quantum_ms: The holder's quantum.

        Returns:
            Seconds after it began; a function of when plans came and how large they are.
        """
        self._done_s = max(self._done_s, begun_s) + work_s
        return release_deadline_s(self._done_s - begun_s, quantum_ms=quantum_ms)


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
