"""The values of derived columns are made here, one column after the other, for whichever records are current.

What is to be made is in the database, and whether it was made is whether its file is there. So nothing is lost with a
process: whoever comes next finds what is missing. The processes of a holder take turns by a lock on a file, which goes
with a process; that two of them make the same file would do no harm. The work itself is done apart (`services.apart`),
and leaves nothing that anybody sees but the file: no line in the log, no row, no metric. When a column may be used is
decided by its public time alone (`services.column_jobs.readiness`).
"""

import logging
from dataclasses import replace
from functools import partial

from holder_service.domain.errors import Unavailable
from holder_service.records.engines import DerivedValues, Engine
from holder_service.records.files import RecordFiles
from holder_service.services.datasets.column_jobs import Pace, to_be_made
from holder_service.services.datasets.datasets import encoded_version
from holder_service.services.ledger.store import LedgerStore, Transaction
from holder_service.services.work.apart import MAKING, Apart, WorkFailed
from holder_service.services.work.workers import LOOKED_AGAIN_S, Worker
from holder_service.storage import columns, datasets
from holder_service.storage.columns import StoredColumn

_log = logging.getLogger(__name__)


class Preparation(Worker):
    """Makes what is to be made."""

    def __init__(self, store: LedgerStore, engine: Engine, files: RecordFiles, pace: Pace) -> None:
        super().__init__("preparation", failed_waits_s=30)
        self._store = store
        self._engine = engine
        self._files = files
        self._pace = pace
        self._apart = Apart(niceness=MAKING)

    def wake_if_missing(self) -> None:
        """Wake it if something is missing: after a start, or when somebody asks for what another process left."""
        if not self._closed.is_set() and self._missing():
            self.wake()

    def close(self) -> None:
        """Break off what is under way; the next process finds it."""
        self._closed.set()
        self._apart.close()
        super().close()

    def _rest(self) -> None:
        self._apart.rest()

    def _begin(self) -> None:
        """Give what was left behind a new public time, if nobody is at work on it.

        Everybody sees that such a column overran its time, perhaps by days while no holder ran. This happens when a
        thread starts, at a public time, and not between two columns: when one was done is nobody's to see. Where it
        fails, for the database is away, its time doubles, as that of others does.
        """
        if self._pace.quantum_ms == 0:
            return
        with self._files.making() as alone:
            for column in self._missing() if alone else ():
                if column.due is not None and column.due < self._store.clock():
                    self._store.commit(partial(_begun_anew, column=column, pace=self._pace))

    def _work_off(self) -> bool:
        """Make all that is missing, one after the other; whether all of it was made."""
        failed: set[str | None] = set()
        while not self._closed.is_set():
            with self._files.making() as alone:
                while alone and not self._closed.is_set():
                    missing = [one for one in self._missing() if one.values_file not in failed]
                    if not missing:
                        return not failed
                    if not self._make(missing[0]):
                        failed.add(missing[0].values_file)
            self._closed.wait(LOOKED_AGAIN_S)
        return True

    def _missing(self) -> list[StoredColumn]:
        with self._store.database.read() as connection:
            prepared = columns.prepared(connection)
            current = {one.name: one.version for one in datasets.every(connection)}
        return [
            one
            for one in prepared
            if one.values_file
            and one.version == current[one.dataset]
            and self._files.derived_at(one.values_file) is None
        ]

    def _make(self, column: StoredColumn) -> bool:
        """Make one column's values; whether that was done, or is of no more use."""
        with self._store.database.read() as connection:
            dataset = datasets.find_dataset(connection, column.dataset)
            document = columns.document(connection, column.id)
        if dataset is None or dataset.version != column.version or dataset.records_file is None or document is None:
            return True
        values = DerivedValues(document, column.linked_file, str(column.values_file))
        try:
            self._engine.make_column(encoded_version(dataset), values, apart=self._apart.run)
        except (Unavailable, WorkFailed) as error:
            if not self._closed.is_set() and self._is_named(column):
                _log.error("derived column could not be made", extra={"error": type(error).__name__})
            return not self._is_named(column)
        if not self._is_named(column):
            self._files.remove(derived=column.values_file)
        return True

    def _is_named(self, column: StoredColumn) -> bool:
        with self._store.database.read() as connection:
            now = columns.find(connection, column.id, dataset=column.dataset)
        return now is not None and now.values_file == column.values_file


def _begun_anew(transaction: Transaction, column: StoredColumn, pace: Pace) -> None:
    """Begin the time of a column anew, for the same file."""
    now = columns.find(transaction.connection, column.id, dataset=column.dataset)
    dataset = datasets.find_dataset(transaction.connection, column.dataset)
    if now is not None and dataset is not None and now.values_file == column.values_file:
        anew = to_be_made(transaction, now, dataset, pace)
        columns.change(transaction.connection, replace(anew, values_file=now.values_file))
