"""The ledger as its readers see it: head, one entry, all of them, verification, a recorded restore."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from holder_service.domain.approvals import ApprovalReplay
from holder_service.domain.errors import Conflict, NotFound, Unavailable
from holder_service.domain.ledger import BrokenLedger, Entry, Event, Replay
from holder_service.domain.second_officers import SecondOfficerReplay
from holder_service.domain.table_facts import TableFacts
from holder_service.domain.watch_replay import WatchReplay
from holder_service.keys.watch_seals import BrokenSeal, OtherSecret, WatchSeals
from holder_service.services.ledger.release_checks import UNREADABLE, Children, ReleaseChecks, children_for
from holder_service.services.ledger.store import LedgerStore, Transaction
from holder_service.storage import (
    approvals,
    block_losses,
    datasets,
    ledger,
    ledger_views,
    releases,
    table_rows,
    watches,
)
from holder_service.storage.database import Connection, Database
from holder_service.storage.ledger_views import EntryFilter
from shared.kinds.releases import LedgerPosition
from shared.wire import limits

EVERYTHING: Final = EntryFilter()


@dataclass(frozen=True, slots=True)
class Verification:
    """What recomputing the ledger found; `broken_at` and `reason` name the first thing that does not follow."""

    entries: int
    head: str
    broken_at: int | None = None
    reason: str | None = None

    @property
    def intact(self) -> bool:
        """Whether everything follows."""
        return self.reason is None


@dataclass(frozen=True, slots=True)
class RecordedRestore:
    """The entry of a restore, and the populations whose cap it closed."""

    entry: Entry
    closed: tuple[str, ...]


def head(store: LedgerStore) -> LedgerPosition:
    """The newest entry."""
    return store.look_up(ledger.head)


def hash_at(store: LedgerStore, sequence: int) -> str:
    """The hash of one entry, recomputed: that of an edited entry differs from its receipt's.

    Raises:
        NotFound: The ledger has no entry of this number.
    """
    try:
        entry = store.look_up(ledger.entry_at, sequence)
        recomputed = None if entry is None else entry.recomputed_hash
    except UNREADABLE:
        recomputed = None
    if recomputed is None:
        raise NotFound(f"The ledger does not have an entry {sequence}. Use a number up to that of its head.")
    return recomputed


def page(
    store: LedgerStore, *, after: int, limit: int, upto: int | None = None, which: EntryFilter = EVERYTHING
) -> list[Entry]:
    """Entries that pass a filter, in order, from after one sequence number up to another."""
    return store.look_up(ledger_views.in_order, which, after=after, upto=upto, limit=limit)


def verify(store: LedgerStore, *, seals: WatchSeals, chain_only: bool = False) -> Verification:
    """Recompute the chain and every balance; compare stored releases, tables, head and anchor with the entries.

    With `chain_only` chain, balances and head: a holder does that before it serves (100 000 entries take seconds).
    """
    # The anchor is read first: what it holds was committed before, so a snapshot taken now must have it.
    anchored = None if chain_only else store.anchored()

    def check_anchor(connection: Connection, newest: int) -> None:
        if anchored is None:
            raise BrokenLedger(
                newest, "the chain of entries is complete, but the anchor cannot be read, so later entries may be lost"
            )
        if ledger.hash_at(connection, anchored.sequence) != anchored.hash:
            raise BrokenLedger(anchored.sequence, "the anchored entry is not in the database, which was rolled back")

    return _verified(store.database, check_anchor, seals, chain_only=chain_only)


def verify_copy(database_file: Path, watch_secret: Path) -> Verification:
    """The same of a copy of an embedded database, which has no anchor: what was entered after it is not known here.

    Args:
        database_file: The copy.
        watch_secret: The file of the key that watches are sealed under, beside it.

    Raises:
        NotFound: There is no such file, or it has watches and their key is not there.
        UnusableWatchSecret: The key's file holds something else.
        Conflict: It cannot be opened, has no tables, or those of another version.
    """
    if not database_file.is_file():
        raise NotFound(f"{database_file} does not exist. Name a folder that `holder backup` made.")
    database = Database(f"sqlite:///{database_file.absolute()}")
    try:
        if not database.is_current():
            raise Conflict("The copy's tables belong to another version of this program. Verify it with that version.")
        return _verified(database, lambda *_: None, WatchSeals.load(watch_secret))
    except FileNotFoundError:
        raise NotFound(f"{watch_secret} does not exist. Restore it from a back-up.") from None
    except Unavailable:
        raise Conflict(
            "The copy cannot be opened as a database. This user must be able to read it and to write "
            "into its folder: copy it into a folder of your own. If that does not help, the copy is "
            "damaged, or is not a copy of a holder's database."
        ) from None
    finally:
        database.close()


class _Facts:
    """What entries say of more than balances: of the other tables' rows, and of what was approved."""

    def __init__(self) -> None:
        self.tables = TableFacts()
        self.approvals = ApprovalReplay()
        self.watches = WatchReplay()
        self.second_officers = SecondOfficerReplay()

    def apply(self, entry: Entry) -> None:
        """Take the next entry of a chain that follows.

        Raises:
            BrokenLedger: It charges what had to be approved and was not, or allows more without a second officer.
        """
        self.tables.apply(entry)
        self.approvals.apply(entry)
        self.second_officers.apply(entry)


def _verified(
    database: Database, check_anchor: Callable[[Connection, int], None], seals: WatchSeals, *, chain_only: bool = False
) -> Verification:
    replay, facts = Replay(), None if chain_only else _Facts()
    try:
        with database.read() as connection, _children(connection, facts) as children:
            head = _replay_all(connection, replay, facts, children)
            if head != LedgerPosition(sequence=replay.sequence, hash=replay.hash):
                raise BrokenLedger(replay.sequence + 1, "the recorded head is not the newest entry")
            _check_blocks(connection, replay, facts, children)
            if facts is not None:
                _check_tables(connection, replay, facts, seals, children)
                uncharged = releases.uncharged(connection)
                if uncharged is not None:
                    raise BrokenLedger(replay.sequence, f"no entry charges the stored release {uncharged}")
                check_anchor(connection, replay.sequence)
    except BrokenLedger as broken:
        return Verification(replay.sequence, replay.hash, broken.sequence, broken.reason)
    except UNREADABLE:
        return Verification(replay.sequence, replay.hash, replay.sequence + 1, "is not a valid entry")
    return Verification(replay.sequence, replay.hash)


def _children(connection: Connection, facts: _Facts | None) -> AbstractContextManager[Children | None]:
    return children_for(0 if facts is None else ledger.head(connection).sequence)


def record_restore(store: LedgerStore, *, actor: str, reason: str) -> RecordedRestore:
    """Record that the database was restored from a copy, so that the holder may work again.

    What the lost entries charged is lost from the ledger; so the entry keeps what the anchor held, and
    whoever holds a receipt of a lost entry can show it. And nothing more is charged unknowingly: in the same
    transaction every population's cap is set to zero, until an administrator declares it again (docs/adr/0017), and
    every request that waits for an approval, or has one, is over: what was decided since the copy is lost.

    Raises:
        Conflict: Nothing was restored.
    """

    def work(transaction: Transaction, anchored: LedgerPosition | None) -> RecordedRestore:
        detail = {
            "reason": reason,
            "anchored_sequence": None if anchored is None else anchored.sequence,
            "anchored_hash": None if anchored is None else anchored.hash,
        }
        entry = transaction.append(Event("restore", actor, detail=detail))
        open_ones = [one for one in datasets.every_population(transaction.connection) if one.merged_into is None]
        approvals.end_all(transaction.connection)
        closing = {"closed_by": "restore"}
        for one in open_ones:
            cap = ledger.population_balance(transaction.connection, one.name).closed()
            transaction.append(Event("cap", actor, population=one.name, cap=cap, detail=closing))
        return RecordedRestore(entry, tuple(one.name for one in open_ones))

    return store.record_restore(work)


def _replay_all(
    connection: Connection, replay: Replay, facts: _Facts | None, children: Children | None
) -> LedgerPosition:
    """Apply every entry, those that others add meanwhile too, and give the recorded head.

    With `facts` the releases are checked as well, and what entries say about tables is collected.
    """
    while True:
        # From below zero on: there is no entry before the first either.
        after = replay.sequence or -limits.INTEGER_MAX
        if facts is None:
            for entry in ledger.read_entries(connection, after=after):
                replay.apply(entry)
        else:
            _replay_with_releases(
                connection, replay, facts, ReleaseChecks(replay, facts.watches, children), after=after
            )
        recorded = ledger.head(connection)
        if recorded.sequence <= replay.sequence or ledger.hash_at(connection, replay.sequence + 1) is None:
            return recorded


def _replay_with_releases(
    connection: Connection, replay: Replay, facts: _Facts, checks: ReleaseChecks, *, after: int
) -> None:
    try:
        for entry, stored in ledger.read_with_releases(connection, after=after):
            replay.apply(entry)
            facts.apply(entry)
            checks.take(connection, entry, stored)
    except (BrokenLedger, *UNREADABLE):
        checks.finish(connection)  # what is wrong with an earlier entry's release comes first
        raise
    checks.finish(connection)


def _check_blocks(connection: Connection, replay: Replay, facts: _Facts | None, children: Children | None) -> None:
    """Whether the sums by block follow from the entries; what others charge meanwhile is replayed first."""
    while block_losses.every(connection) != replay.blocks.nodes():
        known = replay.sequence
        _replay_all(connection, replay, facts, children)
        if replay.sequence == known:
            raise BrokenLedger(known, "the sums of losses by block are not those that follow from the charges")


def _check_tables(
    connection: Connection, replay: Replay, facts: _Facts, seals: WatchSeals, children: Children | None
) -> None:
    """Whether every row follows from the entries; what others change meanwhile is replayed first."""
    while True:
        try:
            facts.tables.require(table_rows.rows(connection))
            return facts.watches.require(watches.every(connection), partial(_sealed_changed, seals))
        except BrokenLedger:
            known = replay.sequence
            _replay_all(connection, replay, facts, children)
            if replay.sequence == known:
                raise


def _sealed_changed(seals: WatchSeals, row: watches.StoredWatch) -> bool:
    """What the seal of a watch says of the change.

    One under another key opens nowhere, so that watch has no further answers: then it is as its row says.

    Raises:
        ValueError: It does not open.
    """
    try:
        return seals.opened(row.id, row.sealed).changed
    except OtherSecret:
        return row.changed
    except BrokenSeal as broken:
        raise ValueError from broken
