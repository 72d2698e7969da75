"""Loads of records: all of a file as a new version, or nothing and the version before stays (2-privacy §2)."""

import secrets
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from holder_service.domain.errors import Conflict, Unavailable
from holder_service.domain.ledger import Event
from holder_service.records.encoded import load_records
from holder_service.records.files import RecordFiles
from holder_service.records.formats import STRICT, RecordFormat
from holder_service.services.column_jobs import Pace, begin_again
from holder_service.services.datasets import read_dataset, require_dataset
from holder_service.services.ledger_store import LedgerStore, Transaction
from holder_service.storage import datasets, ledger
from holder_service.storage.columns import StoredColumn
from holder_service.storage.datasets import Dataset


class Upload(NamedTuple):
    """A file of records as it was sent.

    Attributes:
        path: Where it is kept for the time of the load.
        media_type: "text/csv" or "application/vnd.apache.parquet".
        form: How it is written.
    """

    path: Path
    media_type: str
    form: RecordFormat = STRICT


def check(store: LedgerStore, *, name: str, upload: Upload, files: RecordFiles) -> None:
    """Check a file as `load` does, and keep nothing.

    Raises:
        NotFound: There is no such dataset.
        InvalidRecords: The file does not fit the declaration.
    """
    dataset = read_dataset(store, name)
    files.incoming.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=files.incoming, ignore_cleanup_errors=True) as folder:
        load_records(
            upload.path, upload.media_type, dataset.schema, dataset.records_max, Path(folder) / "encoded",
            secret=files.secret, form=upload.form,
        )  # fmt: skip


def load(store: LedgerStore, *, actor: str, name: str, upload: Upload, files: RecordFiles, pace: Pace) -> int:
    """Load records as a new version: all of them, or none and the version before stays.

    The caller has the values of derived columns made for them (`services.preparation`).

    Args:
        upload: The uploaded file.
        files: Where encoded records are kept; the caller holds `files.in_use()`.
        pace: Of this machine.

    Returns:
        The number of the new version.

    Raises:
        NotFound: The dataset is unknown.
        InvalidRecords: The file does not fit the declaration.
        Conflict: The declaration changed while the file was read.
    """
    dataset = read_dataset(store, name)
    for folder in (files.records, files.incoming):
        folder.mkdir(parents=True, exist_ok=True)
    encoded, people = secrets.token_hex(16), ""
    hashes = files.incoming / secrets.token_hex(16)
    try:
        load_records(
            upload.path, upload.media_type, dataset.schema, dataset.records_max, files.records / encoded,
            secret=files.secret, hashes=hashes, form=upload.form,
        )  # fmt: skip
        with files.joining():
            people = files.join(hashes, read_dataset(store, name).people_file)
            version, replaced, derived = store.commit(
                lambda transaction: _record_version(
                    transaction, actor, dataset, encoded=encoded, people=people, pace=pace
                )
            )
            files.remove(records=replaced.records_file, people=replaced.people_file)
            for column in derived:
                files.remove(derived=column.values_file)
    except BaseException:
        if not _is_current(store, name, encoded):
            files.remove(records=encoded, people=people)
        raise
    finally:
        hashes.unlink(missing_ok=True)
    return version


def _record_version(
    transaction: Transaction, actor: str, dataset: Dataset, *, encoded: str, people: str, pace: Pace
) -> tuple[int, Dataset, tuple[StoredColumn, ...]]:
    """Make encoded records the current version; gives its number, and dataset and derived columns as they were."""
    now = require_dataset(transaction.connection, dataset.name)
    if (now.schema, now.records_max) != (dataset.schema, dataset.records_max):
        raise Conflict("The dataset's declaration changed while its records were read: load them again.")
    version = now.version_last + 1
    after = replace(now, version=version, version_last=version, records_file=encoded, people_file=people)
    datasets.put(transaction.connection, after)
    transaction.append(
        Event(
            "records", actor, population=now.population, dataset=now.name, subject=str(version),
            cap=ledger.population_balance(transaction.connection, now.population),
            detail={"records_file": encoded, "people_file": people},
        )
    )  # fmt: skip
    return version, now, begin_again(transaction, after, pace)


def _is_current(store: LedgerStore, name: str, records_file: str) -> bool:
    """Whether a file became the current version after all, although its commit was not acknowledged."""
    try:
        with store.database.read() as connection:
            dataset = datasets.find_dataset(connection, name)
    except Unavailable:
        return True
    return dataset is not None and dataset.records_file == records_file
