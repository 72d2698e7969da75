"""Parquet files of records, in pieces of bounded size (4-interface)."""

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet

from holder_service.records.faults import Faults, Unreadable
from holder_service.records.formats import RecordFormat
from holder_service.records.pieces import Piece, UnsplitPart, declared_names
from holder_service.records.progress import Report, unseen
from holder_service.records.values import is_text, people_column, type_fits
from shared.contract.schema import Schema

CELLS_PER_PIECE: Final = 2**20
RECORDS_PER_PIECE_MAX: Final = 2**16
_ERRORS: Final = (pa.ArrowException, OSError, UnicodeDecodeError)


def parquet_parts(
    source: Path, schema: Schema, form: RecordFormat, faults: Faults, report: Report = unseen
) -> Iterator[UnsplitPart]:
    """Read a Parquet file that has the row column and every declared column, in any order.

    How many of its rows are read is reported.

    Yields:
        Its records in file order, in the file's types; a person key as text.

    Raises:
        InvalidRecords: Options of text files are declared for it, or a column's type cannot hold the declared values.
        Unreadable: It is no Parquet file, or is damaged.
    """
    if form.of_text:
        raise faults.refusal(
            "", "A Parquet file says itself how it is written: of the format's options it takes only_declared alone."
        )
    first = 1
    try:
        with pa.parquet.ParquetFile(source, memory_map=True) as file:
            names = declared_names(
                "the file's schema", file.schema_arrow.names, schema, faults, only_declared=form.only_declared
            )
            own = {name: index for index, name in enumerate(names) if name is not None}
            for name, index in own.items():
                _check_type(name, file.schema_arrow.types[index], schema, faults)
            faults.check()
            size = max(min(CELLS_PER_PIECE // len(names), RECORDS_PER_PIECE_MAX), 1)
            in_file = {name: file.schema_arrow.names[index] for name, index in own.items()}
            read = None if len(own) == len(names) else [*in_file.values()]
            for batch in file.iter_batches(batch_size=size, columns=read):
                arrays = {name: batch.column(sent) for name, sent in in_file.items()}
                yield partial(_piece, first, arrays, schema.person_key)
                first += len(batch)
                report("reading", first - 1, file.metadata.num_rows)
    except _ERRORS:
        raise _unreadable(first) from None


def _piece(first: int, arrays: Mapping[str, pa.Array], person_key: str | None, _: Faults) -> Iterator[Piece]:
    """The records as they are to be checked."""
    try:
        columns = {name: _plain(array) for name, array in arrays.items()}
        if person_key is not None:
            columns[person_key] = columns[person_key].cast(pa.string())
    except _ERRORS:
        raise _unreadable(first) from None
    yield Piece("record", first, columns)


def _unreadable(first: int) -> Unreadable:
    """In place of pyarrow's message, which may quote the file."""
    return Unreadable(f"record {first}", "from here on the file is not readable as Parquet.")


def _check_type(name: str, kind: pa.DataType, schema: Schema, faults: Faults) -> None:
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    column = people_column(name) if name == schema.people else schema.by_name.get(name)
    if column is None:
        if not (is_text(kind) or pa.types.is_integer(kind)):
            faults.add(
                f"column {name!r}", f"expected texts or integers, as person keys are; the file has {shown_type(kind)}."
            )
    elif not type_fits(kind, column):
        faults.add(
            f"column {name!r}", f"its type {shown_type(kind)} cannot hold values of the declared type {column.type}."
        )


def shown_type(kind: pa.DataType) -> str:
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
