"""Derived columns as auditors made them, and the files of their values for the current records."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any

from sqlalchemy import Connection, Row, bindparam, delete, func, insert, select, update

from holder_service.domain.column_definitions import Definition
from holder_service.domain.column_times import ColumnSize
from holder_service.storage.tables import derived_columns
from shared.wire import canonical

_SHOWN = [column for column in derived_columns.c if column.name != "document"]  # it may have many megabytes
_OF_DATASET = select(*_SHOWN).where(derived_columns.c.dataset == bindparam("of"))
_FIND = _OF_DATASET.where(derived_columns.c.id == bindparam("identity"))
_NEXT = select(*_SHOWN).where(derived_columns.c.values_file.is_not(None))


@dataclass(frozen=True, slots=True)
class StoredColumn:
    """An auditor's derived column, without its document.

    Attributes:
        size: Of its document or its file of linked values.
        linked_file: The name of the file with its linked values under hashed person keys; None before they were sent.
        version: Of the records that its values are made for, or are to be.
        begun: From when that takes; None if there are no records, or no values yet.
        due: When the values are there, unless that is overrun.
        values_file: The name of the file of its values for those records, which is there once they are made.
    """

    id: str
    auditor: str
    dataset: str
    definition: Definition
    created: datetime
    size: ColumnSize
    linked_file: str | None = None
    version: int | None = None
    begun: datetime | None = None
    due: datetime | None = None
    values_file: str | None = None

    @property
    def files(self) -> tuple[str, ...]:
        """The names of the files that it has."""
        return tuple(name for name in (self.linked_file, self.values_file) if name is not None)


def find(connection: Connection, identity: str, *, dataset: str, auditor: str | None = None) -> StoredColumn | None:
    """A derived column about a dataset, of one auditor if it is named."""
    row = connection.execute(_FIND, {"of": dataset, "identity": identity}).one_or_none()
    return None if row is None or auditor not in (None, row.auditor) else _column(row)


def of_dataset(connection: Connection, dataset: str, *, auditor: str | None = None) -> list[StoredColumn]:
    """All derived columns about a dataset, oldest first, of one auditor if it is named."""
    query = _OF_DATASET if auditor is None else _OF_DATASET.where(derived_columns.c.auditor == auditor)
    ordered = query.order_by(derived_columns.c.created, derived_columns.c.id)
    return [_column(row) for row in connection.execute(ordered, {"of": dataset})]


def prepared(connection: Connection) -> list[StoredColumn]:
    """All whose values are made or are to be, in the order in which they are."""
    return [_column(row) for row in connection.execute(_NEXT.order_by(derived_columns.c.begun, derived_columns.c.id))]


def waited_for(connection: Connection, *, now: datetime) -> list[StoredColumn]:
    """All that are not due yet."""
    return [_column(row) for row in connection.execute(_NEXT.where(derived_columns.c.due > now.isoformat()))]


def usage(connection: Connection, *, dataset: str, auditor: str) -> tuple[int, int]:
    """Return how many an auditor has about a dataset, and how many bytes their documents and files have."""
    query = select(func.count(), func.coalesce(func.sum(derived_columns.c.bytes), 0)).where(
        derived_columns.c.dataset == dataset, derived_columns.c.auditor == auditor
    )
    number, size = connection.execute(query).one()
    return int(number), int(size)


def document(connection: Connection, identity: str) -> str | None:
    """Return what a derived column was asked for as, as canonical JSON."""
    found: str | None = connection.execute(
        select(derived_columns.c.document).where(derived_columns.c.id == identity)
    ).scalar()
    return found


def add(connection: Connection, column: StoredColumn, document: str) -> None:
    """Keep a new one."""
    connection.execute(insert(derived_columns), {**_values(column), "document": document})


def change(connection: Connection, column: StoredColumn) -> None:
    """Record what of one changes: its size and its files."""
    values = {name: value for name, value in _values(column).items() if name != "definition"}
    connection.execute(update(derived_columns).where(derived_columns.c.id == column.id), values)


def remove(connection: Connection, identity: str) -> None:
    """Take one away."""
    connection.execute(delete(derived_columns).where(derived_columns.c.id == identity))


def files(connection: Connection) -> frozenset[str]:
    """The names of all files that derived columns name."""
    query = select(derived_columns.c.linked_file, derived_columns.c.values_file)
    return frozenset(name for row in connection.execute(query) for name in row if name is not None)


def linked_files(connection: Connection) -> frozenset[str]:
    """The names of the files of linked values, which nothing but the auditor could send again."""
    query = select(derived_columns.c.linked_file).where(derived_columns.c.linked_file.is_not(None))
    return frozenset(connection.execute(query).scalars())


def rows(connection: Connection) -> Iterator[tuple[str, dict[str, Any]]]:
    """What each is, by its id, with digests of what it was asked for as; one after the other, for they may be large."""
    for identity in connection.execute(select(derived_columns.c.id)).scalars().all():
        row = connection.execute(select(derived_columns).where(derived_columns.c.id == identity)).one_or_none()
        if row is not None:
            definition = _definition(row.definition)
            yield identity, {
                "name": definition.column.name, "origin": definition.origin,
                "auditor": row.auditor, "dataset": row.dataset, "created": row.created,
                "definition": canonical.sha256_name(row.definition.encode()),
                "document": canonical.sha256_name(row.document.encode()),
            }  # fmt: skip


def definition_text(definition: Definition) -> str:
    """A definition as it is kept."""
    return definition.model_dump_json()


def _values(column: StoredColumn) -> dict[str, Any]:
    return {
        "id": column.id, "auditor": column.auditor, "dataset": column.dataset,
        "definition": definition_text(column.definition), "created": column.created.isoformat(),
        "bytes": column.size.bytes, "steps": column.size.steps, "linked_file": column.linked_file,
        "version": column.version, "begun": _text(column.begun), "due": _text(column.due),
        "values_file": column.values_file,
    }  # fmt: skip


def _text(time: datetime | None) -> str | None:
    return None if time is None else time.isoformat()


def _time(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)


def _column(row: Row[Any]) -> StoredColumn:
    return StoredColumn(
        id=row.id, auditor=row.auditor, dataset=row.dataset, definition=_definition(row.definition),
        created=datetime.fromisoformat(row.created), size=ColumnSize(row.bytes, row.steps),
        linked_file=row.linked_file, version=row.version, begun=_time(row.begun), due=_time(row.due),
        values_file=row.values_file,
    )  # fmt: skip


@lru_cache(maxsize=1024)
def _definition(text: str) -> Definition:
    return Definition.model_validate_json(text)
