"""Records: loaded all or nothing, encoded once, and from then on an immutable file (2-privacy §§2, 8).

The encoded file is Arrow IPC, memory-mapped by every process that counts. Of each column it holds a
code for each record, a small unsigned integer. Which one is decided by the column's declaration alone,
so that the work of a count is the same whatever the records are (ADR 0015):

- *complete*: the index of a category or boolean in declared order, or how far an integer lies above the
  declared minimum where the declared range is small; missing is behind the last;
- *ranked*: any other number's rank among those of its chunk, ties in any order. The chunk's numbers are
  in the file as well, sorted; missing counts as +infinity.

It holds no person key and no text, but 64 bits of each key's keyed hash in record order: they lead linked
values to their records, and no rule can name them. Of an aggregate table it holds how many people each record
stands for instead, as the integers that a count adds up. A derived column of the same records is one more file,
with that one column and the same chunks (5-decisions §1). Of a dataset that is shared by two holders it holds no
sensitive column, but the words of this holder's half, or the seed that they follow from (`records.shares`). Nothing in
this module shows a value, or how many records there are.
"""

import shutil
import tempfile
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from holder_service.domain.errors import InvalidRecords, Unavailable
from holder_service.files.durable import immutable_file
from holder_service.records import person_blocks
from holder_service.records.column_codes import CODE, SORTED, code_count, encoded_values, fields_of, fitting
from holder_service.records.formats import STRICT, RecordFormat, Upload
from holder_service.records.person_keys import PersonSecret
from holder_service.records.pipeline import in_order
from holder_service.records.progress import Report, unseen
from holder_service.records.shares import SeededWords, ShareFile, Words, words_array, words_of, words_per_person
from holder_service.records.staging import StagedFile
from shared.contract.schema import Column, Schema
from shared.scores.columns import extended
from shared.wire import canonical

CHUNK_RECORDS_MAX: Final = 2**15 - 1
"""One step of a count: so many records' codes and intermediate results stay in a core's own cache.

There are 8⁵ ranks to cut a chunk at, its beginning and end included (`records.atoms`).
"""
ENCODING: Final = 3
"""Raised when an encoded file begins to mean something else: older ones are refused."""

PERSON: Final = "person"
"""What the field of people's hashed keys is called."""
WEIGHT: Final = "weight"
"""What the field is called that stands there instead in an aggregate table: how many people a record stands for."""
WORDS: Final = "words"
"""What the field of the words of party 2 is called; those of party 1 follow from the seed in the file's metadata."""

_DOUBLE_BYTES: Final = 8

_Values = npt.NDArray[Any]
_Numbers = npt.NDArray[np.float64]


class OtherEncoding(Unavailable):
    """Encoded records that this version cannot read, though they are whole."""


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Chunk:
    """Consecutive encoded records, column by column.

    Attributes:
        index: How many chunks are before it.
        records: How many records it has.
        codes: By column name, unsigned integers, shape (records,); read-only views of a file.
        sorted_at: By name of a ranked column, the index of the chunk's smallest number in `Records.doubles`; the
            others follow, ascending.
        people: 64 bits of the keyed hash of each record's person key, shape (records,); none in an aggregate table.
        weights: How many people each record stands for, shape (records,); `None` where each is one person.
        words: Gives this holder's half of each record's groups, shape (records, words); `None` where the records have
            the sensitive values.
    """

    index: int
    records: int
    codes: Mapping[str, npt.NDArray[np.unsignedinteger[Any]]]
    sorted_at: Mapping[str, int]
    people: npt.NDArray[np.uint64]
    weights: npt.NDArray[np.int64] | None
    words: Callable[[], Words] | None = None


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Records:
    """One version of a dataset's records, memory-mapped, with the derived columns that were put beside them.

    Attributes:
        schema: The declared columns, and behind them the derived ones.
        doubles: By name of a ranked column, the whole file that it is in, read as numbers; read-only.
        chunks: All records.
        secret: The id of the secret that `Chunk.people` was made with.
    """

    schema: Schema
    doubles: Mapping[str, _Numbers]
    chunks: tuple[Chunk, ...]
    secret: str

    @classmethod
    def open(cls, path: Path, schema: Schema) -> "Records":
        """Map an encoded file.

        Raises:
            FileNotFoundError: It does not exist.
            Unavailable: It is damaged, or was encoded for another declaration or by another version.
        """
        try:
            file = _MappedFile.open(path, schema)
        except pa.ArrowInvalid:
            raise Unavailable("The encoded records are damaged; they have to be loaded again.") from None
        if file is None:
            raise OtherEncoding(
                "The records were encoded for another declaration or by another version of the holder; they have to be "
                "loaded again."
            )
        chunks = file.chunks() if schema.shares is None else file.shared_chunks(schema)
        return cls(schema, file.doubles_by_column(), tuple(chunks), file.metadata[b"secret"].decode())

    @classmethod
    def of_arrays(cls, schema: Schema, chunks: Sequence[tuple[int, Mapping[str, _Values]]]) -> "Records":
        """Some chunks in memory.

        Args:
            schema: The columns that the arrays are of, derived ones behind the declared.
            chunks: Of each how many records it has, and its arrays under the names of their fields; those of columns
                that nobody asks for may be left out.
        """
        names = [name for name in (chunks[0][1] if chunks else ()) if name.startswith(SORTED)]
        doubles = {name.removeprefix(SORTED): np.concatenate([arrays[name] for _, arrays in chunks]) for name in names}
        assembled, begin = [], 0
        for index, (records, arrays) in enumerate(chunks):
            assembled.append(_chunk(index, records, arrays, dict.fromkeys(doubles, begin)))
            begin += records
        return cls(schema, doubles, tuple(assembled), secret="")

    def with_column(self, column: Column, path: Path) -> "Records":
        """The same records with one more column, from the file that `encode_column` made for them.

        Raises:
            FileNotFoundError: It does not exist.
            Unavailable: It is damaged, or was made for another column, for other records or by another version.
            ValueError: The records have a column of that name.
        """
        unfit = Unavailable(f"The values of column {column.name!r} are not those of these records: make it again.")
        try:
            file = _MappedFile.open(path, column)
        except pa.ArrowInvalid:
            raise unfit from None
        added = tuple(file.chunks()) if file is not None else ()
        if file is None or [chunk.records for chunk in added] != [chunk.records for chunk in self.chunks]:
            raise unfit
        return replace(
            self,
            schema=extended(self.schema, {column.name: column}, reads={}),  # what counts does not ask what follows
            doubles={**self.doubles, **file.doubles_by_column()},
            chunks=tuple(
                replace(chunk, codes={**chunk.codes, **more.codes}, sorted_at={**chunk.sorted_at, **more.sorted_at})
                for chunk, more in zip(self.chunks, added, strict=True)
            ),
        )

    def values(self, chunk: Chunk, name: str) -> _Values:
        """Return what one column holds for a chunk's records, as `encode_column` takes it, shape (records,).

        Of a column of numbers doubles, with +infinity for missing; of a category or boolean column the values' indices
        in declared order, and for missing the number of declared values.
        """
        column, codes = self.schema.by_name[name], chunk.codes[name]
        count = code_count(column)
        if not column.ordered:
            return codes
        if count is None:
            return self.doubles[name].take(chunk.sorted_at[name] + codes.astype(np.intp), mode="clip")
        values = np.arange(count, dtype=np.float64) + int(column.low)
        if column.nullable:
            values[-1] = np.inf
        return values.take(codes, mode="clip")


def load_records(
    source: Path,
    media_type: str,
    schema: Schema,
    records_max: int,
    destination: Path,
    *,
    secret: PersonSecret | None = None,
    form: RecordFormat = STRICT,
) -> None:
    """Encode a file of records as `encode_records` does, where nobody follows it and its hashes are not kept."""
    encode_records(Upload(source, media_type, form), schema, records_max, destination, secret=secret)


def encode_records(
    upload: Upload,
    schema: Schema,
    records_max: int,
    destination: Path,
    *,
    secret: PersonSecret | None = None,
    hashes: Path | None = None,
    report: Report = unseen,
) -> str | None:
    """Check a file of records against the declaration and encode it: all of it, or nothing is left.

    Memory is bounded whatever the file's size. Some three times its numbers are needed as disk space
    next to `destination` while it runs.

    Args:
        upload: A CSV or Parquet file with the row column and every declared column, in any order.
        schema: The dataset's declared columns.
        records_max: How many people the dataset admits.
        destination: Where the encoded file appears, complete and durable.
        secret: What person keys are hashed under; if `None`, under one that is thrown away.
        hashes: Where 64 bits of each hash go, sorted; beside it, in file order and with the block of each, where the
            dataset has blocks.
        report: Is called with how far it is.

    Returns:
        The id of the split that a file of shares comes from; `None` of any other.

    Raises:
        InvalidRecords: Naming the line (CSV; the header is line 1) or the record (Parquet), the column
            and what is expected there; never a value, nor how many records there are.
    """
    secret = secret or PersonSecret.forgotten()
    too_many = said_too_many(schema, records_max)
    shares = None if schema.shares is None else ShareFile.open(upload, schema)
    if shares is not None:  # the words are no declared column
        upload = upload._replace(form=RecordFormat(only_declared=True))
    with tempfile.TemporaryDirectory(dir=destination.parent, prefix=".loading-") as name:
        staged = StagedFile.read(
            upload, _stored(schema), secret=secret, folder=Path(name), records_max=records_max, too_many=too_many,
            report=report,
        )  # fmt: skip
        fields, arrays = record_fields(schema, secret.id), record_arrays(schema, staged, report)
        if shares is not None:
            fields, arrays = _with_shares(fields, arrays, shares, Path(name) / "words", len(staged))
        with immutable_file(destination) as file:
            _write(file, fields, arrays)
            if hashes is not None and not schema.is_aggregate:
                shutil.move(staged.keys.sorted_hashes, hashes)
                if (domain := schema.block_domain) is not None:
                    person_blocks.write_new(
                        schema, domain, staged, hashes.with_name(hashes.name + person_blocks.ENDING)
                    )
    return None if shares is None else shares.header.split_id


def _stored(schema: Schema) -> Schema:
    """The columns whose values are in the file; for what reads it, there are no others."""
    return schema if schema.shares is None else schema.model_copy(update={"columns": schema.public_columns})


def _with_shares(
    fields: pa.Schema, arrays: Generator[list[_Values]], shares: ShareFile, room: Path, people: int
) -> tuple[pa.Schema, Generator[list[_Values]]]:
    """The same with this holder's half of the sensitive columns: the seed, or the words of each chunk.

    Raises:
        InvalidRecords: There are no words, or not those of so many people.
    """
    if shares.header.seed is not None:
        return fields.with_metadata({**fields.metadata, b"seed": shares.header.seed.encode()}), arrays
    words, per_person = shares.write_words(room), shares.per_person
    if len(words) != people:
        raise InvalidRecords("The file has words of other people than its records: split the register again.")

    def chunks() -> Generator[list[_Values]]:
        begin = 0
        with closing(arrays):
            for chunk in arrays:
                end = begin + len(chunk[0])
                yield [*chunk, words_array(words[begin:end], per_person)]
                begin = end

    return fields.append(pa.field(WORDS, words_array(words[:0], per_person).type)), chunks()


def said_too_many(schema: Schema, records_max: int) -> str:
    """Return what is said of a file that is about more people than were declared."""
    counted = "people" if schema.is_aggregate else "records"
    return (
        f"The dataset declares at most {records_max} {counted}, and the file has more: declare a larger `records_max` "
        "first."
    )


def encode_column(column: Column, values: Iterable[_Values], destination: Path) -> None:
    """Encode one derived column of records: all of it, or nothing is left.

    Args:
        column: What its values are.
        values: As `Records.values` gives them, an array for each of the records' chunks, in their order.
        destination: Where the encoded file appears, complete and durable; for `Records.with_column`.

    Raises:
        ValueError: A value is none of the column's, or an array is longer than a chunk. No value is in the text.
    """
    with immutable_file(destination) as file:
        _write(file, column_fields(column), (column_arrays(column, chunk) for chunk in values))


def column_fields(column: Column) -> pa.Schema:
    """Return what a derived column becomes, encoded."""
    return pa.schema(list(fields_of(column)), metadata={"declaration": declaration_digest(column)})


def column_arrays(column: Column, values: _Values) -> list[_Values]:
    """One chunk of a derived column, encoded, in the order of `column_fields`; `encode_column` says what is refused."""
    return list(encoded_values(column, fitting(column, values, CHUNK_RECORDS_MAX)))


def record_fields(schema: Schema, secret: str) -> pa.Schema:
    """Return what records become, encoded; the id of the secret that their people are hashed under goes with them."""
    fields = [field for column in schema.public_columns for field in fields_of(column)]
    own = pa.field(WEIGHT, pa.int64()) if schema.is_aggregate else pa.field(PERSON, pa.uint64())
    return pa.schema(
        [own, *fields],
        metadata={"declaration": declaration_digest(schema), "secret": secret},
    )


def record_arrays(schema: Schema, staged: StagedFile, report: Report = unseen) -> Generator[list[_Values]]:
    """Staged records, encoded chunk by chunk in the order of `record_fields`; how many chunks are taken is reported."""
    own = staged.keys.hashes if staged.people is None else staged.people

    def chunk(start: int) -> list[_Values]:
        some = slice(start, start + CHUNK_RECORDS_MAX)
        encoded = [
            array
            for column, values in zip(schema.public_columns, staged.values, strict=True)
            for array in encoded_values(column, values[some])
        ]
        return [np.ascontiguousarray(own[some]), *encoded]

    starts = range(0, len(own), CHUNK_RECORDS_MAX)
    with closing(in_order(chunk, starts)) as chunks:
        for taken, arrays in enumerate(chunks, start=1):
            yield arrays
            report("encoding", taken, len(starts))


def declaration_digest(declared: Schema | Column) -> bytes:
    """Return what encoded records or a derived column are for: their declaration, and how this version encodes it."""
    what = "schema" if isinstance(declared, Schema) else "column"
    # What rules may name is no part of how values are encoded: an administrator changes it and loads nothing again.
    columns = declared.model_dump(mode="json", exclude={"sensitive_in_rules", "purpose_required"})
    return canonical.digest({"encoding": ENCODING, what: columns}).encode()


def _write(file: BinaryIO, schema: pa.Schema, chunks: Generator[Sequence[_Values]]) -> None:
    with closing(chunks), pa.ipc.new_file(file, schema) as writer:
        for arrays in chunks:
            columns = [array if isinstance(array, pa.Array) else pa.array(array) for array in arrays]
            writer.write_batch(pa.record_batch(columns, schema=schema))


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class _MappedFile:
    """An encoded file, memory-mapped."""

    file: pa.ipc.RecordBatchFileReader
    doubles: _Numbers

    @classmethod
    def open(cls, path: Path, declared: Schema | Column) -> "_MappedFile | None":
        """`None` if it is for something else; pyarrow.ArrowInvalid if it is damaged."""
        mapped = pa.memory_map(str(path))
        file = pa.ipc.open_file(mapped)
        if (file.schema.metadata or {}).get(b"declaration") != declaration_digest(declared):
            return None
        mapped.seek(0)
        doubles = np.frombuffer(mapped.read_buffer(), dtype=np.float64, count=mapped.size() // _DOUBLE_BYTES)
        return cls(file, doubles)

    @property
    def metadata(self) -> Mapping[bytes, bytes]:
        metadata: Mapping[bytes, bytes] = self.file.schema.metadata
        return metadata

    def doubles_by_column(self) -> dict[str, _Numbers]:
        """The file as numbers, under the name of each ranked column."""
        names = self.file.schema.names
        return {name.removeprefix(SORTED): self.doubles for name in names if name.startswith(SORTED)}

    def chunks(self) -> Iterator[Chunk]:
        """All chunks; pyarrow.ArrowInvalid if the file is damaged."""
        for index in range(self.file.num_record_batches):
            batch = self.file.get_batch(index)
            # Not to_numpy: it imports pandas where that is installed, and the first release would wait seconds for it.
            names = [name for name in batch.schema.names if name != WORDS]
            views: dict[str, Any] = {name: np.from_dlpack(batch.column(name)) for name in names}
            sorted_at = {
                name.removeprefix(SORTED): (view.ctypes.data - self.doubles.ctypes.data) // _DOUBLE_BYTES
                for name, view in views.items()
                if name.startswith(SORTED)
            }
            yield _chunk(index, len(batch), views, sorted_at)

    def shared_chunks(self, schema: Schema) -> Iterator[Chunk]:
        """All chunks with this holder's half of the sensitive columns; pyarrow.ArrowInvalid if the file is damaged."""
        per_person, seed = words_per_person(schema), self.metadata.get(b"seed")
        seeded = None if seed is None else SeededWords(bytes.fromhex(seed.decode()), per_person)
        begin = 0
        for chunk in self.chunks():
            if seeded is None:
                words = partial(words_of, self.file.get_batch(chunk.index).column(WORDS), per_person)
            else:
                words = partial(seeded.of, begin, chunk.records)
            yield replace(chunk, words=words)
            begin += chunk.records


def _chunk(index: int, records: int, views: Mapping[str, Any], sorted_at: Mapping[str, int]) -> Chunk:
    """A chunk from its arrays under the names of their fields."""
    codes = {name.removeprefix(CODE): view for name, view in views.items() if name.startswith(CODE)}
    people = views.get(PERSON, np.empty(0, dtype=np.uint64))
    return Chunk(index, records, codes, sorted_at, people, weights=views.get(WEIGHT))
