"""Waiting for what another thread or process does: by asking for it, not by guessing how long it takes."""

import time
from collections.abc import Callable


def wait_until(condition: Callable[[], bool], *, within_s: float = 180.0) -> None:
    """Ask again and again until something is so.

    Raises:
        TimeoutError: It was not so in time.
    """
    until_s = time.monotonic() + within_s
    while not condition():
        if time.monotonic() > until_s:
            raise TimeoutError(f"not so within {within_s:.0f} s")
        time.sleep(0.01)
