"""When anything of a release may be seen: at times that follow from public facts alone (2-privacy §7).

A release has two. At the first, its deadline, the count and the draw are done and the charge is entered; so its time,
its sequence number, the budget, the head and the stored answer change then. At the second, one quantum later, the
answer leaves. What takes longer than its period waits for the double of it.
"""

import asyncio
import time

from holder_service.domain.deadlines import public_time_s


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
