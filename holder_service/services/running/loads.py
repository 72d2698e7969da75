"""Loads of records: all of a file as a new version, or nothing and the version before stays (2-privacy §2)."""

import secrets
from dataclasses import replace
from typing import Final

from holder_service.domain.errors import Conflict, Unavailable
from holder_service.domain.ledger import Event
from holder_service.records import progress
from holder_service.records.engines import Engine
from holder_service.records.files import RecordFiles
from holder_service.records.formats import RecordsUrl, Upload
from holder_service.records.progress import LoadState, Report, unseen
from holder_service.services.datasets.column_jobs import Pace, begin_again
from holder_service.services.datasets.datasets import read_dataset, require_dataset, require_real
from holder_service.services.ledger.store import LedgerStore, Transaction
from holder_service.services.releases.holder_kinds import HOLDER_KINDS
from holder_service.services.running import load_blocks
from holder_service.storage import datasets, ledger
from holder_service.storage.columns import StoredColumn
from holder_service.storage.datasets import Dataset

_NO_RECORDS: Final = "Answers about it are free, so no records can be loaded into it: its people are invented."


def check(
    store: LedgerStore, *, name: str, upload: Upload | RecordsUrl, engine: Engine, report: Report = unseen
) -> None:
    """Compare a file with the declaration as `load` does, and keep nothing.

    Earlier loads are not compared: neither the blocks that people were in, nor the other half of a split. A check is
    not entered into the ledger, so its result must not depend on earlier records.

    Raises:
        NotFound: The dataset does not exist.
        InvalidRecords: The file does not fit the declaration.
    """
    dataset = read_dataset(store, name)
    require_real(dataset, _NO_RECORDS)
    engine.check(upload, dataset.schema, records_max=dataset.records_max, report=report)


def load(
    store: LedgerStore,
    *,
    actor: str,
    name: str,
    upload: Upload | RecordsUrl,
    engine: Engine,
    files: RecordFiles,
    pace: Pace,
    report: Report = unseen,
) -> int:
    """Load records as a new version: all of them, or none and the version before stays.

    The caller has the values of derived columns made for them (`services.preparation`).

    Args:
        upload: The uploaded file, or where the holder reads files.
        engine: Encodes them.
        files: What leads to them; the caller holds `files.in_use()`.
        pace: Of this machine.
        report: Is called with how far the load is.

    Returns:
        The number of the new version.

    Raises:
        NotFound: The dataset is unknown.
        InvalidRecords: The file does not fit the declaration.
        Conflict: The declaration changed while the file was read; the dataset is a rehearsal, and gets no records; or
            another dataset here has the other half of the same split.
    """
    dataset = read_dataset(store, name)
    require_real(dataset, _NO_RECORDS)
    return load_into(
        dataset, store, actor=actor, upload=upload, engine=engine, files=files, pace=pace, report=report
    )  # fmt: skip


def load_into(
    dataset: Dataset,
    store: LedgerStore,
    *,
    actor: str,
    upload: Upload | RecordsUrl,
    engine: Engine,
    files: RecordFiles,
    pace: Pace,
    report: Report = unseen,
) -> int:
    """The same for a dataset as it was found, real or invented."""
    name = dataset.name
    encoded = secrets.token_hex(16)
    people: str | None = None
    try:
        split_id = engine.load(upload, dataset.schema, records_max=dataset.records_max, name=encoded, report=report)
        report("joining-keys")
        with files.joining():
            earlier = read_dataset(store, name).people_file
            # Nobody in an aggregate table has a key: who was loaded before it stays all that is known.
            people = earlier if dataset.schema.is_aggregate else engine.join(encoded, earlier)
            if people is not None:
                load_blocks.join(store, engine, files, dataset, encoded=encoded, people=people)
            version, replaced, derived = store.commit(
                lambda transaction: _record_version(
                    transaction, actor, dataset, encoded=encoded, people=people, split_id=split_id, pace=pace
                )
            )
            files.remove(records=replaced.records_file, people=None if people == earlier else earlier)
            for column in derived:
                files.remove(derived=column.values_file)
    except BaseException:
        if not _is_current(store, name, encoded):
            files.remove(records=encoded, people=None if dataset.schema.is_aggregate else people)
        raise
    finally:
        engine.forget(encoded)
    return version


def under_way(store: LedgerStore, files: RecordFiles, name: str) -> tuple[LoadState, ...]:
    """The loads of a dataset that are under way, in any process of this holder; for administrators alone.

    Raises:
        NotFound: The dataset does not exist.
    """
    read_dataset(store, name)
    return progress.under_way(files.incoming, name)


def _record_version(
    transaction: Transaction,
    actor: str,
    dataset: Dataset,
    *,
    encoded: str,
    people: str | None,
    split_id: str | None,
    pace: Pace,
) -> tuple[int, Dataset, tuple[StoredColumn, ...]]:
    """Make encoded records the current version; gives its number, and dataset and derived columns as they were."""
    now = require_dataset(transaction.connection, dataset.name)
    if (now.schema, now.records_max) != (dataset.schema, dataset.records_max):
        raise Conflict("The dataset's declaration changed while its records were read. Load them again.")
    if split_id is not None:
        _require_other_half_elsewhere(transaction, now, split_id)
    version = now.version_last + 1
    after = replace(
        now, version=version, version_last=version, records_file=encoded, people_file=people, split_id=split_id
    )
    named = {"records_file": encoded, "people_file": people}
    datasets.put(transaction.connection, after)
    transaction.append(
        Event(
            "records", actor, population=now.population, dataset=now.name, subject=str(version),
            cap=ledger.population_balance(transaction.connection, now.population),
            detail=named if split_id is None else {**named, "split_id": split_id},
        )
    )  # fmt: skip
    for kind in HOLDER_KINDS.values():
        kind.after_load(transaction, after, pace)
    return version, now, begin_again(transaction, after, pace)


def _require_other_half_elsewhere(transaction: Transaction, dataset: Dataset, split_id: str) -> None:
    """Refuse the second half of a split, also where the first was replaced: it is in back-ups of this holder.

    Anybody with both halves has everybody's values.

    Raises:
        Conflict: The ledger says that the other half was loaded.
    """
    for name in ledger.datasets_of_split(transaction.connection, split_id):
        other = datasets.find_dataset(transaction.connection, name)
        if other is not None and other.schema.shares != dataset.schema.shares:
            raise Conflict(
                f"Dataset {name!r} of this holder has or had the other half of this split. Anybody who can read both "
                "has everybody's sensitive values. Nothing was loaded. Delete the file here, and split the register "
                "again: both halves were in one place."
            )


def _is_current(store: LedgerStore, name: str, records_file: str) -> bool:
    """Whether a file became the current version after all, although its commit was not acknowledged."""
    try:
        with store.database.read() as connection:
            dataset = datasets.find_dataset(connection, name)
    except Unavailable:
        return True
    return dataset is not None and dataset.records_file == records_file
