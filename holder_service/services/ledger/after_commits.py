"""Work that follows the ledger in the background, in a thread of its own."""

import threading
from collections.abc import Callable

from holder_service.services.ledger.store import LedgerStore


class AfterCommits:
    """Calls something at once, after each commit of this process, and now and then, one call at a time."""

    def __init__(
        self, store: LedgerStore, work: Callable[[], None], *, name: str, again_s: float, at_least_s: float
    ) -> None:
        """Prepare; `start` begins.

        Args:
            store: Whose commits are followed.
            work: What is called; it raises nothing.
            name: The name of the thread.
            again_s: The shortest time between two calls: many commits in a row are followed by one.
            at_least_s: The longest: another process may have changed something.
        """
        self._store = store
        self._work = work
        self._name = name
        self._again_s = again_s
        self._at_least_s = at_least_s
        self._guard = threading.Lock()
        self._thread: threading.Thread | None = None
        self._wanted = threading.Event()
        self._closed = threading.Event()

    def start(self) -> None:
        """Begin; a second call does nothing."""
        with self._guard:
            if self._thread is None and not self._closed.is_set():
                self._store.on_append.append(self._wanted.set)
                self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
                self._thread.start()

    def close(self) -> None:
        """End after the call that is under way, and wait for that at most 10 seconds."""
        self._closed.set()
        self._wanted.set()
        if self._thread is not None:
            self._thread.join(timeout=10)

    def _run(self) -> None:
        while not self._closed.is_set():
            self._wanted.clear()
            self._work()
            if not self._closed.wait(self._again_s):
                self._wanted.wait(self._at_least_s)
