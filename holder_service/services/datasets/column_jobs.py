"""What happens to a dataset's derived columns with its records: values to be made, and columns that go with them.

Nothing here reads a record. Whether values are made is seen by their file; when they are public follows from facts
that were fixed when the work on them began (`domain.column_times`).
"""

import math
import secrets
from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import datetime

from holder_service.domain.column_times import due_after, public_end
from holder_service.domain.deadlines import Work
from holder_service.domain.errors import ColumnNotReady
from holder_service.domain.ledger import Event
from holder_service.records.files import RecordFiles
from holder_service.services.ledger.store import Transaction
from holder_service.storage import columns, ledger
from holder_service.storage.columns import StoredColumn
from holder_service.storage.datasets import Dataset
from shared.scores.columns import State


@dataclass(frozen=True, slots=True)
class Pace:
    """How fast this machine works, and the quantum of its public times."""

    factors: Work
    quantum_ms: int


@dataclass(frozen=True, slots=True)
class Readiness:
    """Whether a column's values may be used, as everybody may see it."""

    state: State
    ready_at: datetime | None


def readiness(column: StoredColumn, dataset: Dataset, files: RecordFiles, *, now: datetime) -> Readiness:
    """The public state of a column: before its time, and after it, whether its values are there already is not seen."""
    if column.definition.origin == "linked" and column.linked_file is None:
        return Readiness("awaiting-values", None)
    if dataset.version is None or column.begun is None or column.due is None or column.values_file is None:
        return Readiness("ready", column.created)  # nothing can be asked before there are records
    if now < column.due:
        return Readiness("preparing", column.due)
    made = files.derived_at(column.values_file)
    if column.begun == column.due:  # no quantum: for tests and simulations, who see when it is done
        return Readiness("preparing" if made is None else "ready", now if made is None else column.due)
    ready_at = public_end(begun=column.begun, due=column.due, ended=now if made is None else made)
    return Readiness("ready" if made is not None and ready_at <= now else "preparing", ready_at)


def require_ready(column: StoredColumn, dataset: Dataset, files: RecordFiles, *, now: datetime) -> None:
    """Refuse a plan that names a column before its values are there.

    Raises:
        ColumnNotReady: With the time when they are.
    """
    found = readiness(column, dataset, files, now=now)
    if found.state == "ready":
        return
    name = column.definition.column.name
    if found.ready_at is None:
        raise ColumnNotReady(
            f"The values of column {name!r} were not sent yet. Send the values, then send the request again."
        )
    wait_s = max(math.ceil((found.ready_at - now).total_seconds()), 1)
    raise ColumnNotReady(
        f"Column {name!r} will be ready at {found.ready_at.isoformat()}. Send the request again "
        "then. Nothing was charged.",
        ready_at=found.ready_at.isoformat(), retry_after_s=wait_s,
    )  # fmt: skip


def to_be_made(
    transaction: Transaction, column: StoredColumn, dataset: Dataset, pace: Pace, *, after: datetime | None = None
) -> StoredColumn:
    """A column whose values are to be made for the current records, after all that are to be made before them.

    Args:
        transaction: Its time is the beginning.
        column: As it is stored.
        dataset: What it is about, with its current version.
        pace: Of this machine.
        after: When what comes before it is due; if None, all that is waited for now.
    """
    if dataset.version is None or (column.definition.origin == "linked" and column.linked_file is None):
        return column
    if after is None:
        waited = columns.waited_for(transaction.connection, now=transaction.now)
        after = max((one.due for one in waited if one.due is not None), default=transaction.now)
    work_s = column.size.work_s(records_max=dataset.records_max, factors=pace.factors)
    starts = max(after, transaction.now)
    due = due_after(transaction.now, (starts - transaction.now).total_seconds() + work_s, quantum_ms=pace.quantum_ms)
    return replace(
        column, version=dataset.version, begun=transaction.now, due=due, values_file=secrets.token_hex(16)
    )  # fmt: skip


def begin_again(transaction: Transaction, dataset: Dataset, pace: Pace) -> tuple[StoredColumn, ...]:
    """Have all columns about a dataset made for its new records; gives them as they were."""
    before = columns.of_dataset(transaction.connection, dataset.name)
    after = None
    for column in before:
        renewed = to_be_made(transaction, column, dataset, pace, after=after)
        columns.change(transaction.connection, renewed)
        after = renewed.due
    return tuple(before)


def delete(transaction: Transaction, column: StoredColumn, *, actor: str, population: str, **why: str) -> None:
    """Take a column away, as an entry of the ledger."""
    columns.remove(transaction.connection, column.id)
    transaction.append(
        Event(
            "column-deletion", actor, population=population, dataset=column.dataset, subject=column.id,
            cap=ledger.population_balance(transaction.connection, population),
            detail={"name": column.definition.column.name, "account": column.auditor, **why},
        )
    )  # fmt: skip


def delete_unfit(transaction: Transaction, before: Dataset, after: Dataset, *, actor: str) -> tuple[StoredColumn, ...]:
    """Take away what a new declaration leaves no meaning: columns that read what changed, or whose name is taken.

    Returns:
        Those that are gone.
    """
    unfit = [
        column for column in columns.of_dataset(transaction.connection, before.name) if not _fits(column, before, after)
    ]
    for column in unfit:
        delete(transaction, column, actor=actor, population=after.population, reason="the dataset was declared again")
    return tuple(unfit)


def remove_files(files: RecordFiles, gone: Collection[StoredColumn], *, kept: Collection[str] = ()) -> None:
    """Take away the files of columns that are gone, or were made again, once nothing names them."""
    for column in gone:
        linked = None if column.linked_file in kept else column.linked_file
        files.remove(derived=column.values_file, linked=linked)


def _fits(column: StoredColumn, before: Dataset, after: Dataset) -> bool:
    name = column.definition.column.name
    if name in after.schema.by_name or name == after.schema.row_column:
        return False
    if column.definition.origin == "linked":
        return before.schema.person_key == after.schema.person_key
    reads = column.definition.reads
    if not after.schema.sensitive_in_rules and any(after.schema.follows_sensitive(one) for one in reads):
        return False
    return all(before.schema.by_name.get(one) == after.schema.by_name.get(one) for one in reads)
