"""Watches are answered here, one after the other, whenever records were loaded or a watch was set.

What is to be answered, and when, is in the database (`services.watching`); so nothing is lost with a process, and
whoever comes next finds it. The processes of a holder take turns by a lock on a file, which goes with a process.
An answer is drawn, waits for its public time, and is entered. What overruns its time waits for the double of it.
"""

from functools import partial

from holder_service.domain.column_times import public_end
from holder_service.keys.watch_seals import WatchSeals
from holder_service.records.engines import Engine
from holder_service.records.files import RecordFiles
from holder_service.services.ledger.key_rotation import Signer
from holder_service.services.ledger.store import LedgerStore
from holder_service.services.releases import watching
from holder_service.services.work.workers import LOOKED_AGAIN_S, Worker
from holder_service.storage import watches
from holder_service.storage.watches import StoredWatch


class WatchRounds(Worker):
    """Answers what is to be answered about real people, or about rehearsals: these have rounds of their own."""

    def __init__(
        self, store: LedgerStore, engine: Engine, files: RecordFiles, signing: Signer, *, seals: WatchSeals,
        rehearsed: bool,
    ) -> None:  # fmt: skip
        super().__init__("rehearsed watches" if rehearsed else "watches", failed_waits_s=5)
        self._rehearsed = rehearsed
        self._store = store
        self._engine = engine
        self._files = files
        self._signing = signing
        self._seals = seals

    def _work_off(self) -> bool:
        """Answer all that is to be, one after the other; whether all of it was answered."""
        failed: set[str] = set()
        while not self._closed.is_set():
            with self._files.watching(rehearsed=self._rehearsed) as alone:
                while alone and not self._closed.is_set():
                    all_pending = self._store.look_up(partial(watches.pending, rehearsed=self._rehearsed))
                    pending = [one for one in all_pending if one.id not in failed]
                    if not pending:
                        return not failed
                    if not self._succeeds(partial(self._answer, pending[0])):
                        failed.add(pending[0].id)
            self._closed.wait(LOOKED_AGAIN_S)
        return True

    def _answer(self, watch: StoredWatch) -> None:
        """Draw, wait for the public time, and enter; what breaks off before was never seen."""
        drawn = watching.draw(self._store, watch, engine=self._engine, seals=self._seals)
        if watch.begun is not None and watch.due is not None:
            public = public_end(begun=watch.begun, due=watch.due, ended=self._store.clock())
            if self._closed.wait(max((public - self._store.clock()).total_seconds(), 0)):
                return
        self._store.commit(partial(watching.enter, watch=watch, drawn=drawn, signing=self._signing))
