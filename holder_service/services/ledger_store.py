"""The one way to change anything: a transaction under the ledger's lock, then the anchor, then the answer.

2-privacy §5: commit durably → anchor → answer. A caller that gets a value back from `LedgerStore.commit` may
let it leave the holder.
"""

import logging
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Concatenate, ParamSpec, TypeVar

from holder_service.domain.errors import Conflict, RestoreUnrecorded, Unavailable
from holder_service.domain.ledger import Entry, Event
from holder_service.storage import ledger
from holder_service.storage.anchor import Anchor
from holder_service.storage.database import Connection, Database
from shared.releases import LedgerPosition

T = TypeVar("T")
P = ParamSpec("P")
Clock = Callable[[], datetime]
_log = logging.getLogger(__name__)


def utc_now() -> datetime:
    return datetime.now(UTC)


class Transaction:
    """A transaction under the ledger's lock: one time for all of it, and the entries it appends."""

    def __init__(self, connection: Connection, now: datetime, head: LedgerPosition) -> None:
        self.connection = connection
        self.now = now
        self.last: Entry | None = None
        self._head = head

    def append(self, event: Event) -> Entry:
        self.last = ledger.append(self.connection, event, now=self.now, after=self._head)
        self._head = self.last.position
        return self.last


class LedgerStore:
    """The database and its anchor."""

    def __init__(self, database: Database, anchor: Anchor, clock: Clock = utc_now) -> None:
        self.database = database
        self.anchor = anchor
        self.clock = clock

    def commit(self, work: Callable[[Transaction], T]) -> T:
        """Do some work as one transaction, durably, and anchor what it appended.

        Raises:
            RestoreUnrecorded: The database lacks the anchored entry; nothing was done.
            Unavailable: The database or the anchor failed. The work may have been committed, but no
                answer of it left; whoever asks again finds what was stored.
        """
        return self._commit(lambda transaction, _: work(transaction), restoring=False)

    def record_restore(self, work: Callable[[Transaction, LedgerPosition | None], T]) -> T:
        """Do the work that records a restore, although the anchored entry is missing, and anchor what it appended.

        Args:
            work: Is given what the anchor held, None if it was lost.

        Raises:
            Conflict: The database has the anchored entry: nothing was restored, and nothing was done.
            Unavailable: As for `commit`.
        """
        return self._commit(work, restoring=True)

    def look_up(self, work: Callable[Concatenate[Connection, P], T], *given: P.args, **named: P.kwargs) -> T:
        """What a function finds in the database.

        Raises:
            Unavailable: The database does not answer.
        """
        with self.database.read() as connection:
            return work(connection, *given, **named)

    def anchored(self) -> LedgerPosition | None:
        """The anchored entry, None if the anchor is lost.

        Raises:
            Unavailable: The anchor cannot be read.
        """
        try:
            return self.anchor.read()
        except OSError as error:
            raise _anchor_fault(error) from None

    def is_anchored(self) -> bool:
        """Whether the database has the anchored entry, so that the holder may release."""
        return self.look_up(self._has_anchored_entry)

    def ensure_anchored(self, sequence: int) -> None:
        """Anchor an entry whose own process may have died between commit and anchor.

        Raises:
            RestoreUnrecorded: The database lacks the anchored entry, or the anchor is lost: moving the
                anchor on to this entry would hide that.
        """
        anchored = self.anchored()
        if anchored is not None and anchored.sequence >= sequence:
            return
        with self.database.read() as connection:
            if not self._has_anchored_entry(connection):
                raise _rolled_back()
            entry_hash = ledger.hash_at(connection, sequence)
        if entry_hash is not None:
            self._advance(LedgerPosition(sequence=sequence, hash=entry_hash))

    def _commit(self, work: Callable[[Transaction, LedgerPosition | None], T], *, restoring: bool) -> T:
        appended: list[Entry] = []

        def transact(connection: Connection) -> T:
            # The anchor is read before the lock is taken: what it holds was committed by then.
            anchored = self.anchored()
            head, found = ledger.lock(connection, hash_at=anchored.sequence if anchored else 0)
            if restoring == (anchored is not None and anchored.hash == found):
                raise _nothing_restored() if restoring else _rolled_back()
            transaction = Transaction(connection, self.clock(), head)
            result = work(transaction, anchored)
            if transaction.last is not None:
                appended.append(transaction.last)
            return result

        result = self.database.write(transact)
        if appended:
            self._advance(appended[-1].position, restoring=restoring)
        return result

    def _has_anchored_entry(self, connection: Connection) -> bool:
        anchored = self.anchored()
        return anchored is not None and ledger.hash_at(connection, anchored.sequence) == anchored.hash

    def _has_entry(self, position: LedgerPosition) -> bool:
        return self.look_up(ledger.hash_at, position.sequence) == position.hash

    def _advance(self, head: LedgerPosition, *, restoring: bool = False) -> None:
        try:
            if restoring:
                self.anchor.restore(head, has=self._has_entry)
            else:
                self.anchor.advance(head)
        except OSError as error:
            raise _anchor_fault(error) from None


def _rolled_back() -> RestoreUnrecorded:
    return RestoreUnrecorded(
        "The holder's database lacks the entry that its anchor holds, so one of them was rolled back or lost. "
        "An administrator has to record the restore: POST /v1/admin/ledger/restore."
    )


def _nothing_restored() -> Conflict:
    return Conflict(
        "The database has the entry that the anchor holds: nothing was restored, and there is nothing to record."
    )


def _anchor_fault(error: OSError) -> Unavailable:
    _log.error("anchor unavailable", extra={"error": type(error).__name__})
    return Unavailable("The holder's anchor cannot be used. Ask again: a plan is never charged twice.")
