"""Records: loaded all or nothing, encoded once, and from then on an immutable file (2-privacy §§2, 8).

The encoded file is Arrow IPC, memory-mapped by every process that counts. Of each column it holds a
code for each record, a small unsigned integer. Which one is decided by the column's declaration alone,
so that the work of a count is the same whatever the records are (ADR 0015):

- *complete*: the index of a category or boolean in declared order, or how far an integer lies above the
  declared minimum where the declared range is small; missing is behind the last;
- *ranked*: any other number's rank among those of its chunk, ties in any order. The chunk's numbers are
  in the file as well, sorted; missing counts as +infinity.

It holds no person key and no text. Nothing in this module shows a value, or how many records there are.
"""

import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from typing import Any, BinaryIO, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from holder_service.domain.errors import InvalidRecords, Unavailable
from holder_service.durable_files import durable_file
from holder_service.records.csv_records import csv_pieces
from holder_service.records.parquet_records import parquet_pieces
from holder_service.records.person_keys import PersonKeys, PersonSecret
from holder_service.records.pieces import Piece
from holder_service.records.values import checked_values, expectation, index_type
from shared import canonical
from shared.schema import Column, Schema

CODES_MAX: Final = 2**16
CHUNK_RECORDS_MAX: Final = 2**15 - 1
"""One step of a count: so many records' codes and intermediate results stay in a core's own cache.

There are 8⁵ ranks to cut a chunk at, its beginning and end included (`records.atoms`).
"""
ENCODING: Final = 2
"""Raised when an encoded file begins to mean something else: older ones are refused."""

_READERS: Final[Mapping[str, Callable[[Path, Schema], Iterator[Piece]]]] = {
    "text/csv": csv_pieces,
    "application/vnd.apache.parquet": parquet_pieces,
}
_CODE: Final = "code:"
_SORTED: Final = "sorted:"

_DOUBLE_BYTES: Final = 8

_Values = npt.NDArray[Any]
_Numbers = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Chunk:
    """Consecutive encoded records, column by column.

    Attributes:
        index: How many chunks are before it.
        records: How many records it has.
        codes: By column name, unsigned integers, shape (records,); read-only views of the file.
        sorted_at: By name of a ranked column, the index of the chunk's smallest number in `Records.doubles`; the
            others follow, ascending.
    """

    index: int
    records: int
    codes: Mapping[str, npt.NDArray[np.unsignedinteger[Any]]]
    sorted_at: Mapping[str, int]


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Records:
    """One version of a dataset's records, memory-mapped.

    Attributes:
        schema: The declared columns.
        doubles: The whole file, read as numbers; read-only.
        chunks: All records.
    """

    schema: Schema
    doubles: _Numbers
    chunks: tuple[Chunk, ...]

    @classmethod
    def open(cls, path: Path, schema: Schema) -> "Records":
        """Map an encoded file.

        Raises:
            FileNotFoundError: There is none.
            Unavailable: It is damaged, or was encoded for another declaration or by another version.
        """
        try:
            mapped = pa.memory_map(str(path))
            file = pa.ipc.open_file(mapped)
            if (file.schema.metadata or {}).get(b"declaration") != _declaration(schema):
                raise Unavailable(
                    "The records were encoded for another declaration or by another version of the holder; they have "
                    "to be loaded again."
                )
            mapped.seek(0)
            doubles = np.frombuffer(mapped.read_buffer(), dtype=np.float64, count=mapped.size() // _DOUBLE_BYTES)
            chunks = tuple(_chunk(number, file.get_batch(number), doubles) for number in range(file.num_record_batches))
        except pa.ArrowInvalid:
            raise Unavailable("The encoded records are damaged; they have to be loaded again.") from None
        return cls(schema, doubles, chunks)


def code_count(column: Column) -> int | None:
    """How many codes a column has, missing included; `None` if it is ranked. Its declaration alone decides."""
    if not column.ordered:
        return len(column.values) + column.nullable
    if column.type == "number":
        return None
    codes = int(column.high) - int(column.low) + 1 + column.nullable
    return codes if codes <= CODES_MAX else None


def load_records(
    source: Path,
    media_type: str,
    schema: Schema,
    records_max: int,
    destination: Path,
    *,
    secret: PersonSecret | None = None,
    hashes: Path | None = None,
) -> None:
    """Check a file of records against the declaration and encode it: all of it, or nothing is left.

    Memory is bounded whatever the file's size. Some three times its numbers are needed as disk space
    next to `destination` while it runs.

    Args:
        source: A CSV or Parquet file with the person key and every declared column, in any order.
        media_type: "text/csv" or "application/vnd.apache.parquet".
        schema: The dataset's declared columns.
        records_max: How many records the dataset admits.
        destination: Where the encoded file appears, complete and durable.
        secret: What person keys are hashed under; if `None`, under one that is thrown away.
        hashes: Where 64 bits of each hash go, sorted.

    Raises:
        InvalidRecords: Naming the line (CSV; the header is line 1) or the record (Parquet), the column
            and what is expected there; never a value, nor how many records there are.
    """
    reader = _READERS.get(media_type.partition(";")[0].strip().lower())
    if reader is None:
        raise InvalidRecords(f"Send the records as {' or '.join(_READERS)}.")
    with tempfile.TemporaryDirectory(dir=destination.parent, prefix=".loading-") as name:
        folder = Path(name)
        keys = PersonKeys(folder, secret or PersonSecret.forgotten())
        try:
            _stage(reader(source, schema), schema, records_max, folder, keys)
        except pa.ArrowException:  # none is expected; its text might quote a record
            raise InvalidRecords("The file cannot be read as what it says it is.") from None
        with durable_file(destination, mode=0o400) as file:
            _encode(schema, folder, file)
            if hashes is not None:
                shutil.move(keys.sorted_hashes, hashes)


def _stage(pieces: Iterator[Piece], schema: Schema, records_max: int, folder: Path, keys: PersonKeys) -> None:
    """Check all records, and append each column's values to a file of its own."""
    unit, first, records = "", 0, 0
    for piece in pieces:
        if not records:
            unit, first = piece.unit, piece.first
        records += len(piece)
        if records > records_max:
            raise InvalidRecords(
                f"The dataset declares at most {records_max} records, and the file has more: declare a larger "
                "`records_max` first."
            )
        values = _checked(piece, schema)
        keys.add(piece.columns[schema.person_key].to_pylist())
        for index, column in enumerate(schema.columns):
            with _staged(folder, index).open("ab") as file:
                values[column.name].tofile(file)
    repeated = keys.first_repeated()
    if repeated is not None:
        raise InvalidRecords(
            f"{unit} {first + repeated}, column {schema.person_key!r}: the key of a person who has a record already; "
            "everybody has exactly one."
        )


def _checked(piece: Piece, schema: Schema) -> dict[str, _Values]:
    """The values of a piece's columns.

    Raises:
        InvalidRecords: For the first record with a value that does not fit, and the first such column in it.
    """
    values, faults = {}, []
    for name, array in piece.columns.items():
        if name == schema.person_key:
            fit = pc.not_equal(array, "").fill_null(False).to_numpy(zero_copy_only=False)
            expected = "a person key"
        else:
            values[name], fit = checked_values(array, schema.by_name[name])
            expected = expectation(schema.by_name[name])
        if not fit.all():
            faults.append((int(np.argmin(fit)), f"column {name!r}: expected {expected}."))
    if faults:
        index, text = min(faults, key=itemgetter(0))
        raise InvalidRecords(f"{piece.unit} {piece.first + index}, {text}")
    return values


def _encode(schema: Schema, folder: Path, file: BinaryIO) -> None:
    """Write the staged columns as one Arrow file."""
    staged = [_read_staged(_staged(folder, index), column) for index, column in enumerate(schema.columns)]
    fields = [field for column in schema.columns for field in _fields(column)]
    arrow_schema = pa.schema(fields, metadata={"declaration": _declaration(schema)})
    with pa.ipc.new_file(file, arrow_schema) as writer:
        for start in range(0, len(staged[0]), CHUNK_RECORDS_MAX):
            arrays = [
                pa.array(array)
                for column, values in zip(schema.columns, staged, strict=True)
                for array in _encoded(column, values[start : start + CHUNK_RECORDS_MAX])
            ]
            writer.write_batch(pa.record_batch(arrays, schema=arrow_schema))


def _fields(column: Column) -> Iterator[pa.Field]:
    """What a column becomes in the file; the order is that of `_encoded`."""
    yield pa.field(_CODE + column.name, pa.from_numpy_dtype(_code_type(column)))
    if code_count(column) is None:
        yield pa.field(_SORTED + column.name, pa.float64())


def _encoded(column: Column, values: _Values) -> Iterator[_Values]:
    """The codes of a chunk's values, and the values themselves in order if their column is ranked."""
    codes = code_count(column)
    if not column.ordered:
        yield np.asarray(values)
    elif codes is not None:
        yield np.minimum(values - int(column.low), codes - 1).astype(_code_type(column))  # missing, infinity, is last
    else:
        order = np.argsort(values)
        ranks = np.empty(len(values), dtype=_code_type(column))
        ranks[order] = np.arange(len(values), dtype=ranks.dtype)
        yield ranks
        yield values[order]


def _code_type(column: Column) -> np.dtype[Any]:
    if not column.ordered:
        return index_type(column)
    return np.min_scalar_type((code_count(column) or CODES_MAX) - 1)


def _staged(folder: Path, index: int) -> Path:
    return folder / f"column-{index}"


def _read_staged(path: Path, column: Column) -> _Values:
    kind = np.dtype(np.float64) if column.ordered else index_type(column)
    if path.exists() and path.stat().st_size:
        return np.memmap(path, dtype=kind, mode="r")
    return np.empty(0, dtype=kind)


def _chunk(index: int, batch: pa.RecordBatch, doubles: _Numbers) -> Chunk:
    # Not to_numpy: it imports pandas where that is installed, and the first release would wait seconds for it.
    views: dict[str, Any] = {name: np.from_dlpack(batch.column(name)) for name in batch.schema.names}
    return Chunk(
        index=index,
        records=len(batch),
        codes={name.removeprefix(_CODE): view for name, view in views.items() if name.startswith(_CODE)},
        sorted_at={
            name.removeprefix(_SORTED): (view.ctypes.data - doubles.ctypes.data) // _DOUBLE_BYTES
            for name, view in views.items()
            if name.startswith(_SORTED)
        },
    )


def _declaration(schema: Schema) -> bytes:
    return canonical.digest({"encoding": ENCODING, "schema": schema.model_dump(mode="json")}).encode()
