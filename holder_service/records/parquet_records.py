"""Parquet files of records, in pieces of bounded size (4-interface)."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet

from holder_service.domain.errors import InvalidRecords
from holder_service.records.pieces import Piece, declared_names
from holder_service.records.values import is_text, type_fits
from shared.schema import Schema

CELLS_PER_PIECE: Final = 2**20
RECORDS_PER_PIECE_MAX: Final = 2**16


def parquet_pieces(source: Path, schema: Schema) -> Iterator[Piece]:
    """Read a Parquet file that has the person key and every declared column, in any order.

    Yields:
        Its records in file order, in the file's types; the person key as text.

    Raises:
        InvalidRecords: It is no Parquet file, is damaged, or a column's type cannot hold the declared values.
    """
    first = 1
    try:
        with pa.parquet.ParquetFile(source, memory_map=True) as file:
            names = declared_names("the file's schema", file.schema_arrow.names, schema)
            for name, kind in zip(names, file.schema_arrow.types, strict=True):
                _check_type(name, kind, schema)
            size = max(min(CELLS_PER_PIECE // len(names), RECORDS_PER_PIECE_MAX), 1)
            for batch in file.iter_batches(batch_size=size):
                columns = {name: _plain(array) for name, array in zip(names, batch.columns, strict=True)}
                columns[schema.person_key] = columns[schema.person_key].cast(pa.string())
                yield Piece("record", first, columns)
                first += len(batch)
    except (pa.ArrowException, OSError, UnicodeDecodeError):
        # The message of pyarrow may quote the file, so it is dropped.
        raise InvalidRecords(f"record {first}: from here on the file is not readable as Parquet.") from None


def _check_type(name: str, kind: pa.DataType, schema: Schema) -> None:
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    column = schema.by_name.get(name)
    if column is None:
        if not (is_text(kind) or pa.types.is_integer(kind)):
            raise InvalidRecords(
                f"column {name!r}: expected texts or integers, as person keys are; the file has {_shown(kind)}."
            )
    elif not type_fits(kind, column):
        raise InvalidRecords(
            f"column {name!r}: its type {_shown(kind)} cannot hold values of the declared type {column.type}."
        )


def _shown(kind: pa.DataType) -> str:
    """The type in words; of a nested type the outermost alone, because the names inside may say anything."""
    return str(kind).partition("<")[0]


def _plain(array: pa.Array) -> pa.Array:
    """The array with its values decoded, and texts as UTF-8 that was checked."""
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if is_text(array.type):
        array = array.cast(pa.string())
        array.validate(full=True)
    return array
