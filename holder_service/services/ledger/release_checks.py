"""Whether stored releases are the ones that were signed and charged: checked beside the replay, on several cores.

To verify a signature takes most of the time of a verification. So a long ledger's releases are checked by children of
the process (`services.work.apart`), batch by batch, while the replay goes on. Children see what is stored and decide
nothing else; the first entry that does not follow is the same as if all were checked one after the other.
"""

import json
import os
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from queue import SimpleQueue
from typing import Any, Final, NamedTuple

from holder_service.domain.ledger import BrokenLedger, Entry, Replay
from holder_service.domain.watch_replay import WatchReplay
from holder_service.services.work.apart import Apart
from holder_service.storage import signing_keys, watches
from holder_service.storage.database import Connection
from holder_service.storage.ledger import RELEASING
from holder_service.storage.releases import StoredRelease
from shared.kinds.releases import SigningKeys, has_answer_digest, verify_signature

BATCH: Final = 250
CHILDREN_FROM: Final = 10_000
"""So many entries take about as long as the children take to start."""
CHILDREN_MAX: Final = 8
UNREADABLE: Final = (AttributeError, KeyError, TypeError, ValueError)
"""What reading an entry or a release raises whose columns somebody filled with something else."""


class ChargedRelease(NamedTuple):
    """What of an entry its release has to agree with, and the release that is stored."""

    sequence: int
    hash: str
    kind: str
    actor: str
    dataset: str | None
    answer: str | None
    detail: Mapping[str, Any]
    stored: StoredRelease | None

    @classmethod
    def of(cls, entry: Entry, stored: StoredRelease | None) -> "ChargedRelease":
        event = entry.event
        return cls(
            entry.sequence, entry.hash, event.kind, event.actor, event.dataset, event.answer, event.detail, stored
        )


class Checked(NamedTuple):
    """What the check of a batch found.

    Attributes:
        fault: The first entry whose release is wrong, and how; None if none is.
        of_watches: The releases before it that watches are replayed with, by the entry's sequence.
    """

    fault: tuple[int, str] | None
    of_watches: Mapping[int, Mapping[str, Any]]


def checked(batch: Sequence[ChargedRelease], keys: SigningKeys) -> Checked:
    """Check the releases of a batch, in order."""
    of_watches: dict[int, Mapping[str, Any]] = {}
    for charged in batch:
        try:
            release = _checked_release(charged, keys)
        except BrokenLedger as broken:
            return Checked((broken.sequence, broken.reason), of_watches)
        except UNREADABLE:
            return Checked((charged.sequence, "is not a valid entry"), of_watches)
        if WatchReplay.takes(charged.detail):
            of_watches[charged.sequence] = release
    return Checked(None, of_watches)


class ReleaseChecks:
    """The releases of entries that a replay took; what is wrong with one is raised later, but as if it were at once."""

    def __init__(self, replay: Replay, watched: WatchReplay, children: "Children | None") -> None:
        self._replay = replay
        self._watched = watched
        self._children = children
        self._entries: list[Entry] = []
        self._batch: list[ChargedRelease] = []
        self._pending: deque[tuple[list[Entry], Future[Checked]]] = deque()

    def take(self, connection: Connection, entry: Entry, stored: StoredRelease | None) -> None:
        """Take an entry that follows, with the release that it charges.

        Raises:
            BrokenLedger: The release of this entry, or of one before it, is not what the entry says.
        """
        if entry.event.kind in RELEASING:
            self._entries.append(entry)
            self._batch.append(ChargedRelease.of(entry, stored))
            if len(self._batch) == BATCH:
                self._send(connection)

    def finish(self, connection: Connection) -> None:
        """Check all that was taken.

        Raises:
            BrokenLedger: As `take` raises it.
        """
        self._send(connection)
        while self._pending:
            self._settle()

    def _send(self, connection: Connection) -> None:
        if not self._batch:
            return
        # Keys are read after the entries: the key of each of them is there by now.
        keys = SigningKeys(keys=tuple(signing_keys.every(connection)))
        entries, batch, self._entries, self._batch = self._entries, self._batch, [], []
        if self._children is None:
            self._replay_watches(entries, checked(batch, keys))
            return
        self._pending.append((entries, self._children.check(batch, keys)))
        if len(self._pending) > 2 * self._children.number:
            self._settle()

    def _settle(self) -> None:
        entries, found = self._pending.popleft()
        self._replay_watches(entries, found.result())

    def _replay_watches(self, entries: Sequence[Entry], found: Checked) -> None:
        for entry in entries:
            try:
                if found.fault is not None and found.fault[0] == entry.sequence:
                    raise BrokenLedger(*found.fault)
                if entry.sequence in found.of_watches:
                    self._watched.apply(entry, found.of_watches[entry.sequence])
            except (BrokenLedger, *UNREADABLE):
                # Nothing after this entry counts, as if it had not been taken yet.
                self._pending.clear()
                self._entries, self._batch = [], []
                self._replay.sequence, self._replay.hash = entry.sequence, entry.hash
                raise


class Children:
    """Children that check batches, each one after the other."""

    def __init__(self, number: int) -> None:
        self.number = number
        self._free: SimpleQueue[Apart] = SimpleQueue()
        self._all = [Apart() for _ in range(number)]
        for child in self._all:
            self._free.put(child)
        self._threads = ThreadPoolExecutor(number, thread_name_prefix="release-checks")

    def check(self, batch: Sequence[ChargedRelease], keys: SigningKeys) -> Future[Checked]:
        """Have a batch checked as soon as a child is free."""
        return self._threads.submit(self._checked, batch, keys)

    def close(self) -> None:
        """End the children; what is not checked yet is not checked any more."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        for child in self._all:
            child.close()
        self._threads.shutdown(wait=True)

    def _checked(self, batch: Sequence[ChargedRelease], keys: SigningKeys) -> Checked:
        child = self._free.get()
        try:
            return child.run(checked, batch, keys)
        finally:
            self._free.put(child)


@contextmanager
def children_for(entries: int) -> Iterator[Children | None]:
    """Children for the releases of so many entries, ended afterwards; None where it is done sooner without."""
    if entries < CHILDREN_FROM:
        yield None
        return
    children = Children(min(len(os.sched_getaffinity(0)), CHILDREN_MAX))
    try:
        yield children
    finally:
        children.close()


def _checked_release(charged: ChargedRelease, keys: SigningKeys) -> Mapping[str, Any]:
    """The release that an entry charges, if it is stored as it was signed, under its own auditor and dataset."""
    sequence, stored = charged.sequence, charged.stored
    if stored is None:
        raise BrokenLedger(sequence, "charges a release that is not stored")
    body = bytes(stored.body)
    try:
        release: dict[str, Any] = json.loads(body)
        verify_signature(release, keys, body=body)
    except (AttributeError, ValueError):
        raise BrokenLedger(sequence, "the stored release is not the one that was signed") from None
    filed = stored.auditor, stored.dataset, stored.sequence
    if stored.kind not in release or stored.kind != charged.detail.get("asked", "plan"):
        raise BrokenLedger(sequence, "the stored release has another kind than its row states")
    asked: Mapping[str, Any] = release[stored.kind]
    if not stored.refines == charged.detail.get("refines") == asked.get("refines"):
        raise BrokenLedger(sequence, "the stored release refines another release than its row states")
    is_charged = filed == (charged.actor, charged.dataset, sequence)
    if not (is_charged and has_answer_digest(release, charged.answer or "", body=body)):
        raise BrokenLedger(sequence, "the stored release is not the one that was charged")
    of = (release.get("rehearsal") or {}).get("of")
    kinds = ("watch-skipped", "charge" if of is None else "rehearsal")
    if of != charged.detail.get("rehearsal_of") or charged.kind not in kinds:
        raise BrokenLedger(sequence, "only one of release and entry is marked as a rehearsal")
    if stored.watch != (asked["watch"] if stored.kind in watches.STATEMENT_KINDS else None):
        raise BrokenLedger(sequence, "the row of the stored release names another watch")
    if release["ledger"] != {"sequence": sequence, "hash": charged.hash}:
        raise BrokenLedger(sequence, "the release was signed for another entry: the ledger was rewritten")
    return release
