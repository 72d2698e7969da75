"""Watches as they are set, and their secret: the noisy threshold, drawn once and kept for good."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime

from sqlalchemy import ColumnElement, Connection, Row, exists, func, insert, select, update

from holder_service.storage.tables import datasets, entries, releases, watches
from shared.watches import ANSWER_KIND


@dataclass(frozen=True, slots=True)
class StoredWatch:
    """A watch between two answers; printing it shows no noisy threshold.

    Attributes:
        id: Of the release that set it.
        sequence: Of that release's entry.
        noisy_threshold: A secret.
        changed: Whether that was answered: it has no further answers.
        work_ms: How long an answer is supposed to take at most.
        version: Of the records that it is to answer; `None` where it has answered, or passed over, the last.
        begun: From when that takes.
        due: When the answer is entered, unless that is overrun.
    """

    id: str
    auditor: str
    dataset: str
    sequence: int
    noisy_threshold: int = field(repr=False)
    changed: bool
    work_ms: int
    version: int | None = None
    begun: datetime | None = None
    due: datetime | None = None


def store(connection: Connection, watch: StoredWatch) -> None:
    """Keep a watch; in the transaction that charges it."""
    connection.execute(insert(watches).values(_values(watch)))


def change(connection: Connection, watch: StoredWatch) -> None:
    """Change what it is to answer, and whether it has said that the verdict changed; its threshold stays."""
    changing = {name: value for name, value in _values(watch).items() if name in ("changed", "version", "begun", "due")}
    connection.execute(update(watches).where(watches.c.id == watch.id).values(changing))


def find(connection: Connection, identity: str) -> StoredWatch | None:
    """The watch of an id."""
    row = connection.execute(select(watches).where(watches.c.id == identity)).one_or_none()
    return None if row is None else _watch(row)


def of_auditor(connection: Connection, *, auditor: str, dataset: str | None) -> list[StoredWatch]:
    """An auditor's own watches about a dataset, or about all, in the order of their entries."""
    own = select(watches).where(watches.c.auditor == auditor)
    if dataset is not None:
        own = own.where(watches.c.dataset == dataset)
    return _watches(connection.execute(own.order_by(watches.c.sequence)))


def open_ones(connection: Connection, dataset: str) -> list[StoredWatch]:
    """Those about a dataset that have further answers, in the order of their entries.

    After a restore nobody knows what a watch answered before it, so it has none.
    """
    return _open_ones(connection, watches.c.dataset == dataset)


def open_ones_of(connection: Connection, auditor: str) -> list[StoredWatch]:
    """Those of an auditor that have further answers, about all datasets."""
    return _open_ones(connection, watches.c.auditor == auditor)


def _open_ones(connection: Connection, which: ColumnElement[bool]) -> list[StoredWatch]:
    restored = select(func.coalesce(func.max(entries.c.sequence), 0)).where(entries.c.kind == "restore")
    still = ~watches.c.changed & (watches.c.sequence > restored.scalar_subquery())
    return _watches(connection.execute(select(watches).where(which, still).order_by("sequence")))


def pending(connection: Connection, *, rehearsed: bool) -> list[StoredWatch]:
    """All about rehearsals, or about real people, that have a version to answer; the first that is due first."""
    invented = exists().where(datasets.c.name == watches.c.dataset, datasets.c.rehearsal.is_not(None))
    waiting = select(watches).where(watches.c.version.is_not(None), invented if rehearsed else ~invented)
    return sorted(_watches(connection.execute(waiting)), key=lambda one: (str(one.due), one.sequence))


def answers(connection: Connection, watch: StoredWatch) -> list[tuple[int, bytes]]:
    """The entries and bytes of its answers, in order."""
    query = select(releases.c.sequence, releases.c.id, releases.c.body).where(
        releases.c.auditor == watch.auditor, releases.c.dataset == watch.dataset, releases.c.kind == ANSWER_KIND
    )
    named = f'"watch":"{watch.id}"'.encode()
    return [
        (row.sequence, bytes(row.body))
        for row in connection.execute(query.order_by(releases.c.sequence))
        if named in bytes(row.body)
    ]


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
    return StoredWatch(**found)
