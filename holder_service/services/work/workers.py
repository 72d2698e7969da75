"""Work in the background: a thread that comes and goes with it."""

import logging
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Final

LOOKED_AGAIN_S: Final = 0.2
"""How long a process waits before it asks again whether another one is still at the same work."""

_log = logging.getLogger(__name__)


class Worker(ABC):
    """Does all there is to do whenever it is woken, and what failed again after a while.

    What is to be done is in the database, so nothing is lost with a process.
    """

    def __init__(self, name: str, *, failed_waits_s: float) -> None:
        """Start nothing yet.

        Args:
            name: What it does, as the log calls it where that fails.
            failed_waits_s: How long after that it is tried again.
        """
        self._name = name
        self._failed_waits_s = failed_waits_s
        self._guard = threading.Lock()
        self._thread: threading.Thread | None = None
        self._wanted = False
        self._closed = threading.Event()

    def wake(self) -> None:
        """Have everything done that is to be; returns at once."""
        with self._guard:
            self._wanted = True
            if self._thread is None and not self._closed.is_set():
                self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
                self._thread.start()

    def close(self) -> None:
        """Break off what is under way; the next process finds it."""
        self._closed.set()
        if self._thread is not None:
            self._thread.join(timeout=10)

    @abstractmethod
    def _work_off(self) -> bool:
        """Do all there is to do; whether all of it was done."""

    def _begin(self) -> None:  # noqa: B027 - a worker may have nothing to do then
        """Done once whenever a thread starts."""

    def _rest(self) -> None:  # noqa: B027 - likewise
        """Done whenever there is nothing more to do, and the thread ends."""

    def _run(self) -> None:
        self._succeeds(self._begin)
        while self._is_wanted():
            if not self._succeeds(self._work_off) and not self._closed.wait(self._failed_waits_s):
                with self._guard:
                    self._wanted = True

    def _succeeds(self, step: Callable[[], bool | None]) -> bool:
        try:
            return step() is not False
        except Exception as error:  # noqa: BLE001 - its text might quote a record, and without a thread nothing is done
            _log.error("background work failed", extra={"work": self._name, "error": type(error).__name__})
            return False

    def _is_wanted(self) -> bool:
        """Whether there is something to do; if not the thread ends, and the next call of `wake` starts another."""
        with self._guard:
            wanted, self._wanted = self._wanted and not self._closed.is_set(), False
            if not wanted:
                self._thread = None
        if not wanted:
            self._rest()
        return wanted
