"""Watches as they are set, with their sealed secret, and what was signed about each version."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import ColumnElement, Connection, Row, ScalarSelect, exists, func, insert, or_, select, update

from holder_service.storage.tables import datasets, entries, releases, watches
from shared.kinds.watches import ANSWER_KIND, SKIP_KIND


@dataclass(frozen=True, slots=True)
class StoredWatch:
    """A watch between two answers.

    Attributes:
        id: Of the release that set it.
        sequence: Of that release's entry.
        sealed: The noisy threshold, and whether the watch is used up (`holder_service.keys.watch_seals`).
        changed: Whether it has said that the verdict changed: it has no further answers.
        work_ms: How long an answer is supposed to take at most.
        version: Of the records that it is to answer; `None` where it has answered, or skipped, the last.
        begun: From when that takes.
        due: When the answer is entered, unless that is overrun.
    """

    id: str
    auditor: str
    dataset: str
    sequence: int
    sealed: bytes = field(repr=False)
    changed: bool
    work_ms: int
    version: int | None = None
    begun: datetime | None = None
    due: datetime | None = None


class Statement(NamedTuple):
    """What was signed about a version, or about versions up to one, of a watch."""

    sequence: int
    version: int
    kind: str
    body: bytes


def store(connection: Connection, watch: StoredWatch) -> None:
    """Keep a watch; in the transaction that charges it."""
    connection.execute(insert(watches).values(_values(watch)))


def change(connection: Connection, watch: StoredWatch) -> None:
    """Change what it is to answer, and its state; all else stays."""
    names = ("sealed", "changed", "version", "begun", "due")
    changing = {name: value for name, value in _values(watch).items() if name in names}
    connection.execute(update(watches).where(watches.c.id == watch.id).values(changing))


def find(connection: Connection, identity: str) -> StoredWatch | None:
    """The watch of an id."""
    row = connection.execute(select(watches).where(watches.c.id == identity)).one_or_none()
    return None if row is None else _watch(row)


def every(connection: Connection) -> list[StoredWatch]:
    """All watches."""
    return _watches(connection.execute(select(watches).order_by(watches.c.sequence)))


def of_auditor(
    connection: Connection, *, auditor: str, dataset: str | None, after: int = 0, limit: int | None = None
) -> list[StoredWatch]:
    """An auditor's own watches about a dataset, or about all, in order, behind an entry's number."""
    own = select(watches).where(watches.c.auditor == auditor, watches.c.sequence > after)
    if dataset is not None:
        own = own.where(watches.c.dataset == dataset)
    return _watches(connection.execute(own.order_by(watches.c.sequence).limit(limit)))


def number_open(connection: Connection, *, auditor: str, dataset: str) -> int:
    """Return how many watches of an auditor about a dataset have further answers."""
    own = (watches.c.auditor == auditor) & (watches.c.dataset == dataset)
    query = select(func.count()).select_from(watches).where(own, ~watches.c.changed, _since_restore())
    return int(connection.execute(query).scalar_one())


def is_open(connection: Connection, watch: StoredWatch) -> bool:
    """Whether a watch was set since the last restore: nobody knows what one from before it answered."""
    found = connection.execute(select(watches.c.id).where(watches.c.id == watch.id, _since_restore())).scalar()
    return found is not None


def to_begin(connection: Connection, dataset: str) -> list[StoredWatch]:
    """Those about a dataset that have something to say of new records, in the order of their entries.

    A watch from before a restore has one thing to say: that it has no further answers.
    """
    restored = _restored()
    named = select(releases.c.id).where(releases.c.watch == watches.c.id, releases.c.sequence > restored)
    wanted = select(watches).where(
        watches.c.dataset == dataset, ~watches.c.changed, or_(watches.c.sequence > restored, ~named.exists())
    )
    return _watches(connection.execute(wanted.order_by(watches.c.sequence)))


def open_ones_of(connection: Connection, auditor: str) -> list[StoredWatch]:
    """Those of an auditor that have further answers, about all datasets."""
    still = (watches.c.auditor == auditor) & ~watches.c.changed & _since_restore()
    return _watches(connection.execute(select(watches).where(still).order_by(watches.c.sequence)))


def pending(connection: Connection, *, rehearsed: bool) -> list[StoredWatch]:
    """All about rehearsals, or about real people, that have a version to answer; the first that is due first."""
    invented = exists().where(datasets.c.name == watches.c.dataset, datasets.c.rehearsal.is_not(None))
    waiting = select(watches).where(watches.c.version.is_not(None), invented if rehearsed else ~invented)
    return sorted(_watches(connection.execute(waiting)), key=lambda one: (str(one.due), one.sequence))


def statements(connection: Connection, identities: Sequence[str]) -> dict[str, list[Statement]]:
    """All that was signed about watches, by the watch's id, in order."""
    found: dict[str, list[Statement]] = {identity: [] for identity in identities}
    query = select(releases.c.watch, *_STATEMENT).where(releases.c.watch.in_(identities))
    for row in connection.execute(query.order_by(releases.c.sequence)):
        found[row.watch].append(Statement(row.sequence, row.version, row.kind, bytes(row.body)))
    return found


def last_statement(connection: Connection, identity: str) -> Statement | None:
    """The last that was signed about a watch."""
    query = select(*_STATEMENT).where(releases.c.watch == identity).order_by(releases.c.sequence.desc()).limit(1)
    row = connection.execute(query).one_or_none()
    return None if row is None else Statement(row.sequence, row.version, row.kind, bytes(row.body))


def last_answered(connection: Connection, identities: Sequence[str]) -> dict[str, tuple[int, int]]:
    """Of watches that have answered: the last version, and the entry of that answer."""
    last = (
        select(releases.c.watch, func.max(releases.c.version), func.max(releases.c.sequence))
        .where(releases.c.watch.in_(identities), releases.c.kind == ANSWER_KIND)
        .group_by(releases.c.watch)
    )
    return {watch: (version, sequence) for watch, version, sequence in connection.execute(last)}


_STATEMENT = (releases.c.sequence, releases.c.version, releases.c.kind, releases.c.body)
STATEMENT_KINDS = (ANSWER_KIND, SKIP_KIND)
"""What is filed with the watch that it is about."""


def _restored() -> ScalarSelect[int]:
    restored = select(func.coalesce(func.max(entries.c.sequence), 0)).where(entries.c.kind == "restore")
    return restored.scalar_subquery()


def _since_restore() -> ColumnElement[bool]:
    return watches.c.sequence > _restored()


def _values(watch: StoredWatch) -> dict[str, object]:
    return {
        name: value.isoformat() if isinstance(value := getattr(watch, name), datetime) else value
        for name in StoredWatch.__slots__
    }


def _watches(rows: Iterable[Row[tuple[object, ...]]]) -> list[StoredWatch]:
    return [_watch(row) for row in rows]


def _watch(row: Row[tuple[object, ...]]) -> StoredWatch:
    found = dict(row._mapping)
    for name in ("begun", "due"):
        found[name] = None if found[name] is None else datetime.fromisoformat(str(found[name]))
    return StoredWatch(**{**found, "sealed": bytes(row._mapping["sealed"])})
