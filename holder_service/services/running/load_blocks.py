"""The check that nobody is in more blocks than one person may be, at each load (spec 10 §4).

It compares the new records with everybody who was ever loaded into any dataset of the population, so whether a load is
refused says something about earlier records. The caller learns that alone. Which records it was is written to a file on
the holder's own machine. A file of one record asks about one person, so few loads about a population are refused within
a day; then no file is compared. What a successful load says costs an entry.
"""

import os
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

from holder_service.domain.errors import Conflict, InvalidRecords
from holder_service.files.durable import durable_file
from holder_service.records.engines import Engine
from holder_service.records.files import RecordFiles
from holder_service.records.person_blocks import TooManyBlocks
from holder_service.services.ledger.store import LedgerStore
from holder_service.storage import datasets
from holder_service.storage.datasets import Dataset

REFUSED_PER_DAY: Final = 5
"""As many loads about one population are refused within a day for the blocks that people were in."""
SAVED_MAX: Final = 20
"""Files of refused loads about one population; the oldest are removed, and no other population's."""
_LISTED_MAX: Final = 100_000
_TIME: Final = "%Y%m%dT%H%M%S"


def join(
    store: LedgerStore, engine: Engine, files: RecordFiles, dataset: Dataset, *, encoded: str, people: str
) -> None:
    """Put the blocks of new records together with the dataset's earlier ones, if nobody is in too many.

    Nobody in an aggregate table has a key, so its people are compared with nobody.

    Args:
        encoded: The name of the new records; the caller holds `files.joining()`.
        people: The name of all hashes of the dataset with the new ones, which `Engine.join` gave.

    Raises:
        InvalidRecords: Somebody would be in too many blocks.
        Conflict: The blocks of earlier records are not here, so nobody can tell; or too many loads were refused.
    """
    domain = dataset.blocks
    if domain is None or dataset.schema.is_aggregate:
        return
    with store.database.read() as connection:
        loaded = [one for one in datasets.every(connection, population=dataset.population) if one.version_last > 0]
    _require_few_refusals(files, dataset.population, store.clock())
    paths: dict[str, Path] = {}
    for one in loaded:
        if one.people_file is None:
            continue  # only aggregate tables: that their people are in no other block is the administrator's word
        path = files.blocks_of(one.people_file)
        if path is None:
            raise Conflict(
                f"The holder's file that says in which blocks the people of dataset {one.name!r} were is missing or "
                "cut, so the new records cannot be compared with it. Restore it from a back-up (the folder `people` of "
                "the home). Nothing was loaded."
            )
        paths[one.name] = path
    own = paths.pop(dataset.name, None)
    try:
        engine.join_blocks(encoded, people, own, list(paths.values()), per_person_max=domain.per_person_max)
    except TooManyBlocks as refused:
        _list_records(files, dataset, refused, store.clock())
        raise InvalidRecords(
            f"Nothing was loaded: somebody would be in more blocks than the {domain.per_person_max} of column "
            f"{domain.column!r} that a person may ever be in, over all records that were ever loaded about the "
            "population. Which records it is can be read on the holder's machine: the newest file in the folder "
            "`refused-loads` of its home."
        ) from None


def _require_few_refusals(files: RecordFiles, population: str, now: datetime) -> None:
    """Refuse to compare records with earlier ones where that was refused too often within a day.

    Raises:
        Conflict: It was.
    """
    since = f"{now - timedelta(days=1):{_TIME}}"
    recent = [path for path in _refused(files, population) if path.name >= since]
    if len(recent) >= REFUSED_PER_DAY:
        raise Conflict(
            f"{REFUSED_PER_DAY} loads into population {population!r} were refused within a day because of the blocks "
            "that people were in before, the maximum. Each refusal says something about earlier records. Correct the "
            "file: its records are listed in the folder `refused-loads` of the holder's home. Load it tomorrow, or "
            "remove that folder's files. Nothing was loaded."
        )


def _refused(files: RecordFiles, population: str) -> list[Path]:
    """Return the files of refused loads into a population, oldest first."""
    paths = files.refused.glob("*-*-*.txt")
    return sorted(path for path in paths if path.name.removesuffix(".txt").split("-", 2)[2] == population)


def _list_records(files: RecordFiles, dataset: Dataset, refused: TooManyBlocks, now: datetime) -> None:
    """Write which records of a file were refused, for the holder's own machine; no key and no value is in it."""
    files.refused.mkdir(mode=0o700, exist_ok=True)
    records = refused.records
    heading = (
        f"Load into {dataset.name}, refused at {now.isoformat(timespec='seconds')}: the people of these records would "
        "be in more blocks than one person may be. Records are counted from 1, without the header.\n"
    )
    text = [
        heading,
        *(f"{int(record) + 1}\n" for record in records[:_LISTED_MAX]),
        *([f"and {len(records) - _LISTED_MAX} more\n"] if len(records) > _LISTED_MAX else []),
    ]
    name = f"{now:{_TIME}}-{os.urandom(4).hex()}-{dataset.population}.txt"
    with durable_file(files.refused / name) as file:
        file.write("".join(text).encode())
    for path in _refused(files, dataset.population)[:-SAVED_MAX]:
        path.unlink(missing_ok=True)
