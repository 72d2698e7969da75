"""Derived columns: made, given linked values, listed and deleted by their auditors (5-decisions §1).

A column's value for a record is a function of that record alone, so making one releases nothing and costs nothing. What
this shows of a column follows from what its auditor sent and from the declaration: never from the records.
"""

import hashlib
import hmac
import math
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from holder_service.domain.column_times import ColumnSize, require_bounded
from holder_service.domain.errors import (
    Conflict,
    InvalidRecords,
    InvalidRequest,
    NotFound,
    RateLimited,
    Unavailable,
    VersionGone,
)
from holder_service.domain.ledger import Event
from holder_service.records.files import RecordFiles
from holder_service.records.linked import read_linked
from holder_service.records.person_keys import PersonSecret
from holder_service.services.columns.asked_columns import AskedColumn, keyed_digest
from holder_service.services.datasets.column_jobs import (
    Pace,
    delete,
    readiness,
    remove_files,
    require_ready,
    to_be_made,
)
from holder_service.services.datasets.datasets import read_dataset, require_dataset
from holder_service.services.ledger.store import LedgerStore, Transaction
from holder_service.services.work.apart import ApartFor
from holder_service.storage import columns, datasets, ledger
from holder_service.storage.columns import StoredColumn
from holder_service.storage.database import Connection
from holder_service.storage.datasets import Dataset
from shared.scores.columns import ColumnDescription, DerivedColumn
from shared.wire import limits
from shared.wire.canonical import sha256_name
from shared.wire.problems import UnknownDerivedColumn


@dataclass(frozen=True, slots=True)
class MadeColumn:
    """A derived column that was asked for, and whether it is new; else it was asked for before."""

    description: ColumnDescription
    new: bool


def make(
    store: LedgerStore, files: RecordFiles, pace: Pace, *, auditor: str, dataset: str, asked: AskedColumn
) -> MadeColumn:
    """Make a derived column; the same again is the same column. Its values follow when they are due.

    Raises:
        NotFound: The dataset does not exist.
        TooLarge: Its values would take too long to be made.
        Conflict: The auditor has as many as anybody gets, or made as many in a day; or the declaration changed
            meanwhile.
        RateLimited: As much is to be made already as is admitted.
    """

    def work(transaction: Transaction) -> tuple[StoredColumn, Dataset, bool]:
        declared = require_dataset(transaction.connection, dataset)
        found = columns.find(transaction.connection, asked.id, dataset=dataset, auditor=auditor)
        if found is not None:
            return found, declared, False
        if declared.schema != asked.schema:
            raise Conflict("The dataset was declared again while the column was checked. Send the request again.")
        transaction.require_few(
            "column",
            population=declared.population,
            actor=auditor,
            whose="derived columns",
        )
        _require_share(transaction.connection, dataset=dataset, auditor=auditor, more=1, more_bytes=asked.size.bytes)
        column = StoredColumn(
            id=asked.id, auditor=auditor, dataset=dataset, definition=asked.definition, created=transaction.now,
            size=asked.size,
        )  # fmt: skip
        if asked.definition.origin == "score":
            _require_bounded(transaction, column, declared, pace)
            column = to_be_made(transaction, column, declared, pace)
        columns.add(transaction.connection, column, asked.document)
        transaction.append(
            Event(
                "column", auditor, population=declared.population, dataset=dataset, subject=column.id,
                cap=ledger.population_balance(transaction.connection, declared.population),
                detail={
                    "name": asked.definition.column.name,
                    "origin": asked.definition.origin,
                    "definition": sha256_name(columns.definition_text(asked.definition).encode()),
                    "document": sha256_name(asked.document.encode()),
                },
            )
        )  # fmt: skip
        return column, declared, True

    column, declared, new = store.commit(work)
    return MadeColumn(_description(column, declared, files, now=store.clock()), new)


def link(
    store: LedgerStore,
    files: RecordFiles,
    pace: Pace,
    *,
    column: StoredColumn,
    source: Path,
    media_type: str,
    apart: ApartFor,
) -> ColumnDescription:
    """Take the linked values of a column: all of a file, or none. Sent again they are the same.

    Args:
        column: The auditor's own, as `require_own` gives it.
        source: The uploaded file; the caller holds `files.in_use()`.
        media_type: "text/csv" or "application/vnd.apache.parquet".

    Raises:
        InvalidRecords: It is not the file that the column names, or does not fit.
        NotFound: The column or the dataset was taken away meanwhile.
        Conflict: They take more bytes than anybody gets.
        TooLarge, RateLimited: As for `make`.
    """
    declared = read_dataset(store, column.dataset)
    asked, digest = _linked_column(store, files.secret, column, source)
    if column.linked_file is not None:
        return _description(column, declared, files, now=store.clock())
    files.linked.mkdir(exist_ok=True)
    name = secrets.token_hex(16)
    try:
        apart.run(
            read_linked, source, media_type, asked.model_copy(update={"values": digest}),
            person_key=declared.schema.row_column, secret=files.secret, destination=files.linked / name,
        )  # fmt: skip
        linked, declared = store.commit(
            lambda transaction: _record_values(transaction, column, name, source.stat().st_size, pace)
        )
    finally:
        if not _is_named(store, column, name):
            files.remove(linked=name)
    return _description(linked, declared, files, now=store.clock())


def every(store: LedgerStore, files: RecordFiles, *, dataset: str, auditor: str) -> list[ColumnDescription]:
    """An auditor's derived columns about a dataset, oldest first.

    Raises:
        NotFound: The dataset does not exist.
    """
    with store.database.read() as connection:
        declared = require_dataset(connection, dataset)
        found = columns.of_dataset(connection, dataset, auditor=auditor)
    return [_description(column, declared, files, now=store.clock()) for column in found]


def every_auditors(store: LedgerStore, files: RecordFiles, *, dataset: str) -> list[tuple[str, ColumnDescription]]:
    """All derived columns about a dataset with their auditors' names, for administrators.

    Raises:
        NotFound: The dataset does not exist.
    """
    with store.database.read() as connection:
        declared = require_dataset(connection, dataset)
        found = columns.of_dataset(connection, dataset)
    return [(column.auditor, _description(column, declared, files, now=store.clock())) for column in found]


def describe(store: LedgerStore, files: RecordFiles, column: StoredColumn) -> ColumnDescription:
    """A derived column as its auditor sees it."""
    return _description(column, read_dataset(store, column.dataset), files, now=store.clock())


def require_own(store: LedgerStore, *, auditor: str, dataset: str, identity: str) -> StoredColumn:
    """An auditor's own derived column.

    Raises:
        NotFound: It has none of that id about that dataset: there is none, or it is another's.
    """
    with store.database.read() as connection:
        require_dataset(connection, dataset)
        return _required(connection, identity, dataset=dataset, auditor=auditor)


def take_away(
    store: LedgerStore, files: RecordFiles, *, actor: str, dataset: str, identity: str, auditor: str | None
) -> None:
    """Delete a derived column with its values; stored releases about it stay.

    Args:
        actor: Who deletes it.
        auditor: Whose it has to be; None for an administrator, who deletes anybody's.

    Raises:
        NotFound: As for `require_own`.
    """

    def work(transaction: Transaction) -> StoredColumn:
        declared = require_dataset(transaction.connection, dataset)
        column = _required(transaction.connection, identity, dataset=dataset, auditor=auditor)
        delete(transaction, column, actor=actor, population=declared.population)
        return column

    with files.in_use():
        remove_files(files, [store.commit(work)])


def resolved(
    connection: Connection, named: Mapping[str, str], dataset: Dataset, *, auditor: str
) -> tuple[StoredColumn, ...]:
    """The derived columns of some names and ids, in their order.

    Raises:
        UnknownDerivedColumn: One of them is not there, or another auditor's.
    """
    found = []
    for name, identity in named.items():
        column = columns.find(connection, identity, dataset=dataset.name, auditor=auditor)
        if column is None or column.definition.column.name != name:
            raise UnknownDerivedColumn(name=name)
        found.append(column)
    return tuple(found)


def require_usable(found: Iterable[StoredColumn], dataset: Dataset, files: RecordFiles, *, now: datetime) -> None:
    """Refuse derived columns whose values are not there yet for the current records.

    Raises:
        ColumnNotReady: One of them is prepared, or waits for its values.
        VersionGone: The records are replaced right now.
    """
    for column in found:
        require_ready(column, dataset, files, now=now)
        if column.version != dataset.version:
            raise VersionGone("The records were replaced by a new version. Send the request for that version.")


def _description(column: StoredColumn, dataset: Dataset, files: RecordFiles, *, now: datetime) -> ColumnDescription:
    seen = readiness(column, dataset, files, now=now)
    return ColumnDescription(
        id=column.id, column=column.definition.column, origin=column.definition.origin, bytes=column.size.bytes,
        state=seen.state, ready_at=seen.ready_at, rehearsal_of=dataset.rehearsal_of,
    )  # fmt: skip


def _required(connection: Connection, identity: str, *, dataset: str, auditor: str | None) -> StoredColumn:
    column = columns.find(connection, identity, dataset=dataset, auditor=auditor)
    if column is None:
        whose = "There is no" if auditor is None else "You have no"
        raise NotFound(f"{whose} derived column of that id about that dataset.")
    return column


def _linked_column(
    store: LedgerStore, secret: PersonSecret, column: StoredColumn, source: Path
) -> tuple[DerivedColumn, str]:
    """A linked column as it was asked for, and the digest of the file that its values came in, if it is the one."""
    if column.definition.origin != "linked":
        raise InvalidRequest(
            "The holder computes the values of a score, so values cannot be sent. Send the request without values."
        )
    with store.database.read() as connection:
        document = columns.document(connection, column.id)
    if document is None:
        raise NotFound(
            "This dataset does not have a derived column of yours with that id. List your columns to find the id."
        )
    asked = DerivedColumn.model_validate_json(document)
    with source.open("rb") as file:
        digest = f"sha256:{hashlib.file_digest(file, 'sha256').hexdigest()}"
    if not hmac.compare_digest(keyed_digest(digest, secret), str(asked.values)):
        raise InvalidRecords(
            "The file's SHA-256 differs from the one that the column names. Send the file with that SHA-256."
        )
    return asked, digest


def _record_values(
    transaction: Transaction, column: StoredColumn, name: str, size: int, pace: Pace
) -> tuple[StoredColumn, Dataset]:
    """Give a column the file of its linked values, unless another call gave it the same values meanwhile."""
    declared = require_dataset(transaction.connection, column.dataset)
    now = _required(transaction.connection, column.id, dataset=column.dataset, auditor=column.auditor)
    if now.linked_file is not None:
        return now, declared
    _require_share(
        transaction.connection, dataset=column.dataset, auditor=column.auditor, more=0,
        more_bytes=size - now.size.bytes,
    )  # fmt: skip
    linked = replace(now, linked_file=name, size=ColumnSize(bytes=size, steps=0))
    _require_bounded(transaction, linked, declared, pace)
    linked = to_be_made(transaction, linked, declared, pace)
    columns.change(transaction.connection, linked)
    return linked, declared


def _require_share(connection: Connection, *, dataset: str, auditor: str, more: int, more_bytes: int) -> None:
    number, size = columns.usage(connection, dataset=dataset, auditor=auditor)
    if number + more > limits.DERIVED_COLUMNS_PER_AUDITOR_MAX:
        raise Conflict(
            f"You have {limits.DERIVED_COLUMNS_PER_AUDITOR_MAX} derived columns about dataset "
            f"{dataset!r}, the maximum. Delete one first."
        )
    if size + more_bytes > limits.DERIVED_BYTES_PER_AUDITOR_MAX:
        raise Conflict(
            f"Your derived columns about dataset {dataset!r} would have more than "
            f"{limits.DERIVED_BYTES_PER_AUDITOR_MAX} bytes, the maximum. Delete some first."
        )


def _require_bounded(transaction: Transaction, column: StoredColumn, dataset: Dataset, pace: Pace) -> None:
    """Refuse work that is too much by itself, or together with all that is waited for; nothing of it is measured.

    Raises:
        TooLarge: It is too much by itself.
        RateLimited: All that is waited for would take too long, or the auditor's own would take more than half of that.
    """
    require_bounded(column.size, records_max=dataset.records_max)
    waited = columns.waited_for(transaction.connection, now=transaction.now)
    known = {one.name: one.records_max for one in datasets.every(transaction.connection)}

    def work_s(of: Iterable[StoredColumn]) -> float:
        return sum(one.size.work_s(records_max=known[one.dataset], factors=pace.factors) for one in of)

    more_s = work_s([column])
    own = [one for one in waited if one.auditor == column.auditor]
    for ahead, admitted_s, whose in (
        (waited, limits.COLUMN_QUEUE_S_MAX, "The holder makes"),
        (own, limits.COLUMN_QUEUE_S_MAX / 2, "You have the holder make"),
    ):
        # Where nothing is waited for, there is nothing to wait for: a slow machine makes one column after the other.
        if ahead and work_s(ahead) + more_s > admitted_s:
            first = min(one.due for one in ahead if one.due is not None)
            raise RateLimited(
                f"{whose} as many derived columns as it can at once: ask again when one of them is ready.",
                retry_after_s=max(math.ceil((first - transaction.now).total_seconds()), 1),
            )


def _is_named(store: LedgerStore, column: StoredColumn, name: str) -> bool:
    """Whether a file of linked values is a column's, also if the commit that made it so was not acknowledged."""
    try:
        with store.database.read() as connection:
            now = columns.find(connection, column.id, dataset=column.dataset)
    except Unavailable:
        return True
    return now is not None and now.linked_file == name
