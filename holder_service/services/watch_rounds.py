"""Watches are answered here, one after the other, whenever records were loaded or a watch was set.

What is to be answered, and when, is in the database (`services.watching`); so nothing is lost with a process, and
whoever comes next finds it. The processes of a holder take turns by a lock on a file, which goes with a process.
An answer is drawn, waits for its public time, and is entered. What overruns its time waits for the double of it.
"""

import logging
import threading
from functools import partial
from typing import Final

from holder_service.domain.column_times import public_end
from holder_service.domain.errors import HolderError
from holder_service.records.engines import Engine
from holder_service.records.files import RecordFiles
from holder_service.services import watching
from holder_service.services.key_rotation import Signer
from holder_service.services.ledger_store import LedgerStore
from holder_service.storage import watches
from holder_service.storage.watches import StoredWatch

LOOKED_AGAIN_S: Final = 0.2
FAILED_WAITS_S: Final = 5.0
_log = logging.getLogger(__name__)


class WatchRounds:
    """Answers what is to be answered, in a thread that comes and goes with the work."""

    def __init__(self, store: LedgerStore, engine: Engine, files: RecordFiles, signing: Signer) -> None:
        self._store = store
        self._engine = engine
        self._files = files
        self._signing = signing
        self._guard = threading.Lock()
        self._thread: threading.Thread | None = None
        self._wanted = False
        self._closed = threading.Event()

    def wake(self) -> None:
        """Have everything answered that is to be; returns at once."""
        with self._guard:
            self._wanted = True
            if self._thread is None and not self._closed.is_set():
                self._thread = threading.Thread(target=self._run, name="watches", daemon=True)
                self._thread.start()

    def close(self) -> None:
        """Break off what is under way; the next process finds it."""
        self._closed.set()
        if self._thread is not None:
            self._thread.join(timeout=10)

    def _run(self) -> None:
        while self._is_wanted():
            try:
                self._work_off()
            except (OSError, HolderError) as error:
                _log.error("watches could not be answered", extra={"error": type(error).__name__})
                if not self._closed.wait(FAILED_WAITS_S):
                    with self._guard:
                        self._wanted = True

    def _is_wanted(self) -> bool:
        with self._guard:
            wanted, self._wanted = self._wanted and not self._closed.is_set(), False
            if not wanted:
                self._thread = None
        return wanted

    def _work_off(self) -> None:
        while not self._closed.is_set():
            with self._files.watching() as alone:
                while alone and not self._closed.is_set():
                    pending = self._store.look_up(watches.pending)
                    if not pending:
                        return
                    self._answer(pending[0])
            self._closed.wait(LOOKED_AGAIN_S)

    def _answer(self, watch: StoredWatch) -> None:
        """Draw, wait for the public time, and enter; what breaks off before was never seen."""
        drawn = watching.draw(self._store, watch, engine=self._engine)
        if watch.begun is not None and watch.due is not None:
            public = public_end(begun=watch.begun, due=watch.due, ended=self._store.clock())
            if self._closed.wait(max((public - self._store.clock()).total_seconds(), 0)):
                return
        self._store.commit(partial(watching.enter, watch=watch, drawn=drawn, signing=self._signing))
