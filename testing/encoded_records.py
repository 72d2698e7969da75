"""Registers encoded as the holder keeps them, from people or from columns of values; and a home for them."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet

from holder_service.records.encoded import Records, load_records
from holder_service.records.engines import EncodedVersion
from holder_service.records.files import RecordFiles
from holder_service.records.formats import Upload
from holder_service.records.local_engine import LocalEngine
from holder_service.records.person_keys import PersonSecret
from shared.contract.rules import Record
from shared.contract.schema import Schema

PARQUET: Final = "application/vnd.apache.parquet"
_ARROW_TYPES: Final = {"boolean": pa.bool_(), "category": pa.string(), "integer": pa.int64(), "number": pa.float64()}


def encoded_people(folder: Path, schema: Schema, people: Sequence[Record]) -> Records:
    """The records of some people."""
    return encoded_columns(
        folder, schema, {column.name: [person[column.name] for person in people] for column in schema.columns}
    )


def encoded_columns(
    folder: Path, schema: Schema, columns: Mapping[str, Any], *, people: Sequence[int] | None = None
) -> Records:
    """Records given column by column: lists, or arrays of any type that fits; the file is "upload" in the folder.

    `people` says of an aggregate table how many each row stands for.
    """
    _write(folder / "upload", schema, columns, people)
    load_records(folder / "upload", PARQUET, schema, 10**6, folder / "encoded")
    return Records.open(folder / "encoded", schema)


def loaded_columns(
    folder: Path, schema: Schema, columns: Mapping[str, Any], *, people: Sequence[int] | None = None
) -> tuple[LocalEngine, EncodedVersion]:
    """Such records in the home of a local engine of their own: a new folder."""
    files = record_files(folder, PersonSecret.forgotten())
    _write(folder / "upload", schema, columns, people)
    engine = LocalEngine(files)
    engine.load(Upload(folder / "upload", PARQUET), schema, records_max=10**6, name="0" * 32)
    return engine, EncodedVersion("records", "0" * 32, schema)


def _write(path: Path, schema: Schema, columns: Mapping[str, Any], people: Sequence[int] | None) -> None:
    arrays = {
        name: pa.array(values, _ARROW_TYPES[schema.by_name[name].type]) if isinstance(values, list) else values
        for name, values in columns.items()
    }
    own = pa.array(range(len(next(iter(arrays.values())))) if people is None else people, pa.int64())
    pa.parquet.write_table(pa.table({schema.row_column: own, **arrays}), path)


def record_files(home: Path, secret: PersonSecret) -> RecordFiles:
    """The files of an engine in a new home."""
    home.mkdir(mode=0o700)
    for folder in ("linked", "incoming"):
        (home / folder).mkdir()
    return RecordFiles(
        home / "records", home / "people", home / "derived", home / "linked", home / "incoming", home / "lock", secret
    )
