"""Records: loaded all or nothing, encoded once, and from then on an immutable file (2-privacy §§2, 8).

The encoded file is Arrow IPC, memory-mapped by every process that counts. Of each column it holds a
code for each record, a small unsigned integer:

- a category's or boolean's place in declared order, and missing behind the last;
- the bucket of a number. A bucket's *edge* is the largest number in it; missing counts as +infinity.
  A column with few enough different numbers has a bucket for each, and the code says all; otherwise
  the edges are a sample, and the numbers themselves stand beside the codes.

It holds no person key and no text. Nothing in this module shows a value, or how many records there are.
"""

import math
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from holder_service.domain.errors import InvalidRecords, Unavailable
from holder_service.records.csv_records import csv_pieces
from holder_service.records.parquet_records import parquet_pieces
from holder_service.records.person_keys import PersonKeys, PersonSecret
from holder_service.records.pieces import Piece
from holder_service.records.values import checked_values, expectation, place_type
from shared import canonical
from shared.schema import Column, Schema

EDGES_MAX: Final = 2**16
CHUNK_RECORDS_MAX: Final = 2**15
"""One step of a count: so many records' codes and intermediate results stay in a core's own cache."""
CHUNK_VALUES_MAX: Final = 2**22

_READERS: Final[Mapping[str, Callable[[Path, Schema], Iterator[Piece]]]] = {
    "text/csv": csv_pieces,
    "application/vnd.apache.parquet": parquet_pieces,
}
_CODE: Final = "code:"
_NUMBER: Final = "number:"
_STEP: Final = 2**18

_Values = npt.NDArray[Any]
_Numbers = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Chunk:
    """Consecutive encoded records, column by column; the arrays are read-only views of the file.

    Attributes:
        records: How many there are.
        codes: By column name, unsigned integers, shape (records,).
        numbers: By name of a column whose codes do not say all, the numbers, shape (records,).
    """

    records: int
    codes: Mapping[str, npt.NDArray[np.unsignedinteger[Any]]]
    numbers: Mapping[str, _Numbers]


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Records:
    """One version of a dataset's records, memory-mapped.

    Attributes:
        schema: The declared columns.
        edges: By name of a column of numbers, the edges of its buckets, ascending, shape (buckets,).
        sampled: The names of those whose codes do not say all.
        chunks: All records.
    """

    schema: Schema
    edges: Mapping[str, _Numbers]
    sampled: frozenset[str]
    chunks: tuple[Chunk, ...]

    @classmethod
    def open(cls, path: Path, schema: Schema) -> "Records":
        """Map an encoded file.

        Raises:
            FileNotFoundError: There is none.
            Unavailable: It is damaged, or was encoded for another declaration.
        """
        try:
            file = pa.ipc.open_file(pa.memory_map(str(path)))
            if (file.schema.metadata or {}).get(b"declaration") != _declaration(schema):
                raise Unavailable("The records were encoded for another declaration; they have to be loaded again.")
            chunks = tuple(_chunk(file.get_batch(place)) for place in range(file.num_record_batches))
        except pa.ArrowInvalid:
            raise Unavailable("The encoded records are damaged; they have to be loaded again.") from None
        edges = {
            field.name.removeprefix(_CODE): np.frombuffer(field.metadata[b"edges"], dtype=np.float64)
            for field in file.schema
            if field.metadata
        }
        sampled = frozenset(name.removeprefix(_NUMBER) for name in file.schema.names if name.startswith(_NUMBER))
        return cls(schema, edges, sampled, chunks)


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
    beside `destination` meanwhile.

    Args:
        source: A CSV or Parquet file with the person key and every declared column, in any order.
        media_type: "text/csv" or "application/vnd.apache.parquet".
        schema: The dataset's declared columns.
        records_max: How many records the dataset admits.
        destination: Where the encoded file appears, complete and durable.
        secret: What person keys are hashed under; one that nobody keeps if it is not given.
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
        encoded = folder / "encoded"
        _encode(schema, folder, encoded)
        if hashes is not None:
            shutil.move(keys.sorted_hashes, hashes)
        encoded.chmod(0o444)
        _make_durable(encoded)
        encoded.replace(destination)
        _make_durable(destination.parent)


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
        for place, column in enumerate(schema.columns):
            with _staged(folder, place).open("ab") as file:
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
        place, text = min(faults, key=itemgetter(0))
        raise InvalidRecords(f"{piece.unit} {piece.first + place}, {text}")
    return values


def _encode(schema: Schema, folder: Path, encoded: Path) -> None:
    """Write the staged columns as one Arrow file."""
    columns = [
        encoding
        for place, column in enumerate(schema.columns)
        for encoding in _encodings(column, _read_staged(_staged(folder, place), column))
    ]
    fields = [field for field, _, _ in columns]
    records = len(columns[0][1])
    size = max(min(CHUNK_RECORDS_MAX, CHUNK_VALUES_MAX // len(columns)), 1)
    arrow_schema = pa.schema(fields, metadata={"declaration": _declaration(schema)})
    with pa.OSFile(str(encoded), "wb") as file, pa.ipc.new_file(file, arrow_schema) as writer:
        for start in range(0, records, size):
            arrays = [pa.array(encode(values[start : start + size])) for _, values, encode in columns]
            writer.write_batch(pa.record_batch(arrays, schema=arrow_schema))


def _encodings(column: Column, values: _Values) -> Iterator[tuple[pa.Field, _Values, Callable[[_Values], _Values]]]:
    """The fields that a column becomes: name and type, all staged values, and how some of them are encoded."""
    if not column.ordered:
        yield pa.field(_CODE + column.name, pa.from_numpy_dtype(values.dtype)), values, np.asarray
        return
    edges, complete = _edges(values)
    kind = np.min_scalar_type(max(len(edges) - 1, 0))
    field = pa.field(_CODE + column.name, pa.from_numpy_dtype(kind), metadata={"edges": edges.tobytes()})
    yield field, values, lambda numbers: np.searchsorted(edges, numbers).astype(kind)
    if not complete:
        yield pa.field(_NUMBER + column.name, pa.float64()), values, np.asarray


def _edges(numbers: _Numbers) -> tuple[_Numbers, bool]:
    """Edges of a column's buckets, and whether every number is one; missing never shares a bucket."""
    distinct = np.empty(0)
    for start in range(0, len(numbers), _STEP):
        distinct = np.union1d(distinct, numbers[start : start + _STEP])
        if len(distinct) > EDGES_MAX:
            sample = numbers[:: math.ceil(len(numbers) / (EDGES_MAX - 2))]
            return np.union1d(sample, [sys.float_info.max, math.inf]), False
    return distinct, True


def _staged(folder: Path, place: int) -> Path:
    return folder / f"column-{place}"


def _read_staged(path: Path, column: Column) -> _Values:
    kind = np.dtype(np.float64) if column.ordered else place_type(column)
    if path.exists() and path.stat().st_size:
        return np.memmap(path, dtype=kind, mode="r")
    return np.empty(0, dtype=kind)


def _chunk(batch: pa.RecordBatch) -> Chunk:
    # Not to_numpy: it imports pandas where that is installed, and the first release would wait seconds for it.
    views: dict[str, Any] = {name: np.from_dlpack(batch.column(name)) for name in batch.schema.names}
    return Chunk(
        records=len(batch),
        codes={name.removeprefix(_CODE): view for name, view in views.items() if name.startswith(_CODE)},
        numbers={name.removeprefix(_NUMBER): view for name, view in views.items() if name.startswith(_NUMBER)},
    )


def _declaration(schema: Schema) -> bytes:
    return canonical.digest(schema.model_dump(mode="json")).encode()


def _make_durable(path: Path) -> None:
    """Have a file's content, or a folder's entries, survive a loss of power."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
