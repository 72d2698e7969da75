"""One database's rows in another: a database on a server in a back-up's file, and back."""

from typing import Any, Final

from sqlalchemy import Connection, Table, bindparam, delete, insert, select, update

from holder_service.storage.database import Database
from holder_service.storage.tables import metadata

_AT_ONCE: Final = 500


def copy_rows(source: Database, target: Database) -> None:
    """Put every row of one database into another, whose tables are current and hold nothing that is to be kept.

    What others write meanwhile is not copied: the copy is a state that the source was in.

    Raises:
        Unavailable: One of them does not answer.
    """
    with source.snapshot() as reading:

        def work(writing: Connection) -> None:
            for table in reversed(metadata.sorted_tables):
                writing.execute(delete(table))
            for table in metadata.sorted_tables:
                _copy_table(reading, writing, table)

        target.transaction(work)


def _copy_table(reading: Connection, writing: Connection, table: Table) -> None:
    """A reference to another row of the same table is put in once all rows are there."""
    own = [key.parent.name for key in table.foreign_keys if key.column.table is table]
    later: list[dict[str, Any]] = []
    primary, *_ = table.primary_key.columns  # the only one of a table that refers to itself
    for rows in reading.execute(select(table).execution_options(yield_per=_AT_ONCE)).mappings().partitions():
        writing.execute(insert(table), [{**row, **dict.fromkeys(own)} for row in rows])
        later += [
            {"of": row[primary.name], **{f"to_{name}": row[name] for name in own}}
            for row in rows
            if any(row[name] is not None for name in own)
        ]
    if later:
        changed = update(table).values({name: bindparam(f"to_{name}") for name in own})
        writing.execute(changed.where(primary == bindparam("of")), later)
