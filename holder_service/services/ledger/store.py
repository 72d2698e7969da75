"""The one way to change anything: a transaction under the ledger's lock, then the anchor, then the answer.

2-privacy §5: commit durably → anchor → answer. A caller that gets a value back from `LedgerStore.commit` may
let it leave the holder, and so may one that gets it from `commit_shared`, whose transaction is that of all who wait for
the ledger at the time (docs/adr/0039).
"""

import logging
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, Concatenate, Final, Generic, ParamSpec, TypeVar

from holder_service.domain.errors import Conflict, HolderError, RestoreUnrecorded, Unavailable
from holder_service.domain.ledger import Entry, Event, Kind
from holder_service.services.ledger.sums import LedgerSums
from holder_service.storage import datasets, ledger, ledger_views
from holder_service.storage.anchor import Anchor
from holder_service.storage.database import Connection, Database
from holder_service.storage.ledger_views import EntryFilter
from holder_service.storage.store_faults import StoreAddress, StoreUnavailable, fault_of
from shared.kinds.releases import LedgerPosition
from shared.wire import limits
from shared.wire.problems import PlanRefused

TOO_MANY: Final = (
    "You have made {} {} about these people within a day, withdrawn or deleted ones included, and one auditor may make "
    "no more: ask again tomorrow."
)
T = TypeVar("T")
P = ParamSpec("P")
Clock = Callable[[], datetime]
TRIED_EVERY_S: Final = 5.0
"""How old the outcome of a small write may be: `/readyz` needs no key, and each write is one to the disk."""
_log = logging.getLogger(__name__)


def utc_now() -> datetime:
    return datetime.now(UTC)


class Transaction:
    """A transaction under the ledger's lock: one time for all of it, and the entries it appends.

    Attributes:
        last: The last entry that it appended.
        rests_on: The sequence number of the newest entry before it on which an answer of it rests.
    """

    def __init__(self, connection: Connection, now: datetime, head: LedgerPosition) -> None:
        self.connection = connection
        self.now = now
        self.last: Entry | None = None
        self.rests_on = 0
        self._head = head
        self._found: dict[Callable[[Connection], Any], Any] = {}

    def append(self, event: Event) -> Entry:
        rehearsed = datasets.rehearsal_in(self.connection, event.population)
        if rehearsed is not None:
            event = replace(event, detail={**event.detail, "rehearsal_of": rehearsed})
        self.last = ledger.append(self.connection, event, now=self.now, after=self._head)
        self._head = self.last.position
        return self.last

    def require_few(
        self,
        kind: Kind,
        *,
        population: str | None = None,
        actor: str | None = None,
        subject: str | None = None,
        maximum: int | None = None,
        whose: str = "",
        refusal: str = "",
    ) -> None:
        """Refuse another entry of a kind that costs nothing, once as many were made within a day as may be.

        Args:
            population, actor, subject: Which entries count; all where none is named.
            maximum: How many there may be; by default `FREE_ENTRIES_PER_DAY_MAX`.
            whose: What those entries of one actor about a population are about, for the refusal.
            refusal: What is said to the caller instead.

        Raises:
            Conflict: The maximum is reached.
        """
        maximum = limits.FREE_ENTRIES_PER_DAY_MAX if maximum is None else maximum
        made = EntryFilter(kind=kind, actor=actor, population=population, subject=subject)
        number = ledger_views.number_within(self.connection, timedelta(days=1), made, now=self.now)
        if number >= maximum:
            raise Conflict(refusal or TOO_MANY.format(maximum, whose))

    def rest_on(self, sequence: int) -> None:
        """Have an entry anchored before anything is answered: its own process may have died after its commit."""
        self.rests_on = max(self.rests_on, sequence)

    def once(self, look_up: Callable[[Connection], T]) -> T:
        """What a look-up finds, asked once: nothing that works in this transaction changes it, and nobody else can."""
        if look_up not in self._found:
            self._found[look_up] = look_up(self.connection)
        found: T = self._found[look_up]
        return found


@dataclass(frozen=True, slots=True)
class _Shared(Generic[T]):
    """Work that waits for a transaction, with others, and what becomes of it."""

    work: Callable[[Transaction], T]
    outcome: "Future[T]"

    def attempt(self, transaction: Transaction) -> Callable[[], None]:
        """Do the work; gives what is to be done once all is committed and anchored: answer or refuse."""
        before = transaction.last
        try:
            result = self.work(transaction)
        except (HolderError, PlanRefused) as refusal:
            if transaction.last is not before:
                raise RuntimeError("Work in a shared transaction was refused after it wrote.") from refusal
            return partial(self.outcome.set_exception, refusal)
        return partial(self.outcome.set_result, result)


class LedgerStore:
    """The database and its anchor.

    Attributes:
        sums: What this process has added up of the ledger.
        on_append: Each is called after every commit that appended an entry, once that is anchored; all return at once.
    """

    def __init__(self, database: Database, anchor: Anchor, clock: Clock = utc_now) -> None:
        self.database = database
        self.anchor = anchor
        self.clock = clock
        self.sums = LedgerSums()
        self.on_append: list[Callable[[], object]] = []
        self._guard = threading.Lock()
        self._waiting: list[_Shared[Any]] = []
        self._trying = threading.Lock()
        self._tried_s: float | None = None
        self._unwritable: Unavailable | None = None

    def commit(self, work: Callable[[Transaction], T]) -> T:
        """Do some work as one transaction, durably, and anchor what it appended.

        Raises:
            RestoreUnrecorded: The database lacks the anchored entry; nothing was done.
            Unavailable: The database or the anchor failed. The work may have been committed, but no
                answer of it left; whoever asks again finds what was stored.
        """
        return self._transact(lambda transaction, _: work(transaction), self.database.write)

    def commit_shared(self, work: Callable[[Transaction], T]) -> Future[T]:
        """Do some work in one transaction with all that waits for the ledger when its turn comes, and anchor it once.

        Each is done in the order in which it came, on what those before it left, and has its own outcome once all is
        committed and anchored. Who is refused touches no other. A failure of the transaction or the anchor is
        everybody's.

        Args:
            work: As for `commit`; but it has to refuse before it writes anything.

        Returns:
            What will have the result or the refusal, as `commit` would return or raise it. Until the transaction
            begins, it can be cancelled, which `database.give_up` does; then nothing was done.
        """
        shared = _Shared(work, Future[T]())
        with self._guard:
            self._waiting.append(shared)
            first = len(self._waiting) == 1
        if first:
            self.database.in_lane(self._commit_waiting)
        return shared.outcome

    def record_restore(self, work: Callable[[Transaction, LedgerPosition | None], T]) -> T:
        """Do the work that records a restore, although the anchored entry is missing, and anchor what it appended.

        Args:
            work: Is given what the anchor held, None if it was lost.

        Raises:
            Conflict: The database has the anchored entry: nothing was restored, and nothing was done.
            Unavailable: As for `commit`.
        """
        return self._transact(work, self.database.write, restoring=True)

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
            raise _anchor_fault(error, self.anchor.path) from None

    def require_writable(self) -> None:
        """Make a small write, and open the anchor for one; at most every `TRIED_EVERY_S`, however often it is asked.

        Raises:
            StoreUnavailable: One of them cannot be written.
        """
        with self._trying:
            if self._tried_s is None or time.monotonic() - self._tried_s >= TRIED_EVERY_S:
                self._unwritable = self._try_writing()
                self._tried_s = time.monotonic()
            unwritable = self._unwritable
        if unwritable is not None:
            raise unwritable.with_traceback(None)
        self.database.require_no_failure()

    def _try_writing(self) -> Unavailable | None:
        try:
            self.database.try_writing()
            self.anchor.try_writing()
        except Unavailable as error:
            return error
        except OSError as error:
            return _anchor_fault(error, self.anchor.path)
        return None

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

    def _commit_waiting(self) -> None:
        """In the lane: commit all that waits by now."""
        with self._guard:
            waiting, self._waiting = self._waiting, []
        if shared := [one for one in waiting if one.outcome.set_running_or_notify_cancel()]:
            self._commit_all(shared)

    def _commit_all(self, shared: Sequence[_Shared[Any]]) -> None:
        """Do works in one transaction; where one of them fails other than by a refusal, each in one of its own."""
        try:
            settle = self._transact(
                lambda transaction, _: [one.attempt(transaction) for one in shared], self.database.transaction
            )
        except HolderError as failure:
            settle = [partial(one.outcome.set_exception, failure) for one in shared]
        except Exception as fault:  # noqa: BLE001 - whoever waits is given it, and raises it
            if len(shared) > 1:
                for one in shared:
                    self._commit_all([one])
                return
            settle = [partial(one.outcome.set_exception, fault) for one in shared]
        for answer in settle:
            answer()

    def _transact(
        self,
        work: Callable[[Transaction, LedgerPosition | None], T],
        run: Callable[[Callable[[Connection], T]], T],
        *,
        restoring: bool = False,
    ) -> T:
        """Do some work under the ledger's lock by `run`, which commits it, then anchor what it appended or rests on."""
        done: list[Transaction] = []

        def transact(connection: Connection) -> T:
            # The anchor is read before the lock is taken: what it holds was committed by then.
            anchored = self.anchored()
            head, found = ledger.lock(connection, hash_at=anchored.sequence if anchored else 0)
            if restoring == (anchored is not None and anchored.hash == found):
                raise _nothing_restored() if restoring else _rolled_back()
            transaction = Transaction(connection, self.clock(), head)
            result = work(transaction, anchored)
            if transaction.last is not None:
                ledger.move_head(connection, transaction.last.position)
            done.append(transaction)
            return result

        result = run(transact)
        [transaction] = done
        if transaction.last is not None:
            self._advance(transaction.last.position, restoring=restoring)
            for listener in self.on_append:
                listener()
        elif transaction.rests_on > 0:
            self.ensure_anchored(transaction.rests_on)
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
            raise _anchor_fault(error, self.anchor.path) from None


def _rolled_back() -> RestoreUnrecorded:
    return RestoreUnrecorded(
        "The holder's database does not have the entry that its anchor names, so one of them was "
        "rolled back or lost. An administrator has to record the restore: POST "
        "/v1/admin/ledger/restore."
    )


def _nothing_restored() -> Conflict:
    return Conflict(
        "The database has the entry that the anchor names, so no restore has to be recorded. Nothing was changed."
    )


def _anchor_fault(error: OSError, path: Path) -> Unavailable:
    fault = fault_of(error)
    _log.error("anchor unavailable", extra={"error": type(error).__name__, **fault.fields})
    detail = f"The holder's anchor cannot be used: {fault.text}. Send the request again; nothing is charged twice."
    return StoreUnavailable(fault, StoreAddress(f"the anchor {path}"), detail=detail)
