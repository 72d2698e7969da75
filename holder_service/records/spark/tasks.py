"""What Spark's Python workers do: encode, divide keys, count, score, on Arrow batches of chunk rows.

Every function here is a plain generator over batches, runs wherever a worker is, and does with each row what the local
engine does with a file. A worker that fails names the kind of error alone: Spark keeps and passes on what a worker
says, and a text could quote a record. Each partition answers with rows of its own, so whatever is run twice is in the
answer once, because Spark takes one result of each partition; nothing is added up on the side.
"""

import hashlib
import json
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from holder_service.domain.errors import InvalidRecords
from holder_service.records.counting import added_counts
from holder_service.records.encoded import Records, column_arrays, record_arrays
from holder_service.records.faults import FAULTS_MAX
from holder_service.records.file_urls import fetched
from holder_service.records.formats import RecordFormat, Upload
from holder_service.records.linked import LinkedValues
from holder_service.records.person_keys import DIGEST, PersonKeys, PersonSecret, join_hashes, shared_hashes
from holder_service.records.progress import Report, unseen
from holder_service.records.scored_chunks import ScoredColumn
from holder_service.records.scoring import score_values
from holder_service.records.sources import FetchedPart, FilePart, fetched_split
from holder_service.records.spark.chunk_rows import CHUNK, ChunkCells, batch_of, rows_of
from holder_service.records.staging import StagedFile
from shared.contract.rules import Cell as RuleCell
from shared.contract.schema import Schema
from shared.scores.columns import DerivedColumn, ScoreOrigin

CHUNKS_AT_ONCE: Final = 64
"""So many chunks are counted with one set of tables."""
BYTES_AT_ONCE: Final = 2**28
BUCKETS: Final = 256
"""Hashes of person keys are divided by their first eight bits: of 10⁹ people 64 megabytes each."""
SPLIT_RECORDS_MAX: Final = 2**40

ENCODED: Final = (
    *CHUNK,
    pa.field("lines", pa.int64()),
    pa.field("faults", pa.binary()),
    pa.field("people", pa.int64()),
    pa.field("keys", pa.binary()),
)
"""The columns of encoded records in front of their cells: lines or records of a split stand in its first row, what is
wrong with it too, and of each chunk how many people it is about, and all bits of the hashes of their keys if they have
any."""
HASHED: Final = pa.schema(
    {"bucket": pa.int32(), "side": pa.int32(), "hashes": pa.binary(), "origins": pa.binary(), "repeated": pa.binary()}
)
"""Hashes of one bucket. `side` says whose; `origins` where each was found, and `repeated` where again."""
COUNTED: Final = pa.schema({"chunks": pa.int64(), "counts": pa.binary()})
"""What a partition answers: how many chunks it counted, and its counts."""
SHARED: Final = pa.schema({"shared": pa.int64()})
ORIGIN: Final = np.dtype([("split", np.int32), ("chunk", np.int32), ("index", np.int32)])

Batches = Iterator[pa.RecordBatch]
_Array = npt.NDArray[Any]


class TaskFailed(RuntimeError):
    """A task failed; names the kind of error alone."""


@dataclass(frozen=True, slots=True)
class Discreet:
    """A task whose errors say nothing of what it works on."""

    task: Callable[[Iterable[pa.RecordBatch]], Batches]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Batches:
        """Do the task."""
        try:
            yield from self.task(batches)
        except Exception as error:  # noqa: BLE001 - whatever it is, its text stays here
            kind = type(error).__name__
        else:
            return
        raise TaskFailed(kind)


@dataclass(frozen=True, slots=True)
class Encoding:
    """How a source is encoded.

    Attributes:
        schema: The dataset's declared columns.
        secret: What person keys are hashed under.
        form: How the files are written.
    """

    schema: Schema
    secret: PersonSecret
    form: RecordFormat

    @property
    def fields(self) -> pa.Schema:
        """The columns of the rows that `rows` gives."""
        return pa.schema([*ENCODED, *ChunkCells.of_records(self.schema).fields])

    def rows(self, number: int, part: FetchedPart, report: Report = unseen) -> Batches:
        """Check and encode one part of a source: a row for each chunk, and at least one; how far it is is reported."""
        fields, cells = self.fields, ChunkCells.of_records(self.schema)
        nobody = {"split": number, "chunk": 0, "records": 0, "lines": part.lines, "people": 0}
        with tempfile.TemporaryDirectory(prefix="pafer-") as name:
            try:
                staged = StagedFile.read(
                    Upload(part.path, part.media_type, self.form), self.schema, secret=self.secret, folder=Path(name),
                    records_max=SPLIT_RECORDS_MAX, too_many="The file has more records than any.", report=report,
                )  # fmt: skip
            except InvalidRecords as refusal:
                faults = refusal.fields.get("errors") or [{"field": "file", "detail": refusal.detail}]
                said = json.dumps(faults).encode()
                yield batch_of(fields, **nobody, faults=said)
                return
            digests, begin = staged.keys.digests, 0
            for index, arrays in enumerate(record_arrays(self.schema, staged, report)):
                records = len(arrays[0])
                if staged.people is None:
                    keys = np.ascontiguousarray(digests[begin : begin + records]).tobytes()
                    own = {"people": records, "keys": keys}
                else:
                    own = {"people": int(arrays[0].sum())}
                row = {"split": number, "chunk": index, "records": records, "lines": part.lines if not index else 0}
                yield batch_of(fields, **row, **own, **cells.bytes_of(arrays))
                begin += records
            if not begin:
                yield batch_of(fields, **nobody)


def encode_splits(batches: Iterable[pa.RecordBatch], *, encoding: Encoding) -> Batches:
    """Check and encode the parts of a source that rows name by number."""
    for row in rows_of(batches):
        with tempfile.TemporaryDirectory(prefix="pafer-") as name:
            part = fetched_split(FilePart.of(row["split"].as_py()), Path(name))
            yield from encoding.rows(row["number"].as_py(), part)


def divide_keys(batches: Iterable[pa.RecordBatch]) -> Batches:
    """Divide the hashes of some chunks' person keys into buckets, with where each was found."""
    for rows in _some(rows_of(batches), ChunkCells(())):
        digests = np.concatenate([np.frombuffer(row["keys"].as_buffer(), dtype=DIGEST) for row in rows])
        origins = np.concatenate([_origins(row) for row in rows])
        buckets = (digests["sorted"] >> np.uint64(56)).astype(np.intp)
        order = np.argsort(buckets, kind="stable")
        ends = np.searchsorted(buckets[order], np.arange(BUCKETS + 1))
        for bucket in range(BUCKETS):
            some = order[ends[bucket] : ends[bucket + 1]]
            if len(some):
                hashes, found = digests[some].tobytes(), origins[some].tobytes()
                yield batch_of(HASHED, bucket=bucket, side=1, hashes=hashes, origins=found)


def _origins(row: Mapping[str, Any]) -> _Array:
    origins = np.empty(row["records"].as_py(), dtype=ORIGIN)
    origins["split"], origins["chunk"] = row["split"].as_py(), row["chunk"].as_py()
    origins["index"] = np.arange(len(origins))
    return origins


def join_keys(batches: Iterable[pa.RecordBatch], *, secret: PersonSecret) -> Batches:
    """Of each bucket all hashes once and sorted, new ones (side 1) with earlier ones (side 0), and which came again.

    All rows of a bucket are in one partition, one after the other.
    """
    for bucket, rows in groupby(rows_of(batches), key=lambda row: row["bucket"].as_py()):
        digests, origins, earlier = [np.empty(0, dtype=DIGEST)], [np.empty(0, dtype=ORIGIN)], []
        for row in rows:
            if row["side"].as_py():
                digests.append(np.frombuffer(row["hashes"].as_buffer(), dtype=DIGEST))
                origins.append(np.frombuffer(row["origins"].as_buffer(), dtype=ORIGIN))
            else:
                earlier.append(row["hashes"].as_py())
        found = np.concatenate(origins)
        order = np.lexsort((found["index"], found["chunk"], found["split"]))
        with tempfile.TemporaryDirectory(prefix="pafer-") as name:
            keys, sources = PersonKeys(Path(name), secret), []
            keys.add_digests(np.concatenate(digests)[order].tobytes())
            again = found[order][keys.repeated(FAULTS_MAX)]
            for number, hashes in enumerate(earlier):
                sources.append(Path(name) / f"earlier-{number}")
                sources[-1].write_bytes(hashes)
            join_hashes([keys.sorted_hashes, *sources], Path(name) / "joined")
            joined = (Path(name) / "joined").read_bytes()
        yield batch_of(HASHED, bucket=bucket, side=0, hashes=joined, repeated=again.tobytes() if len(again) else None)


def count_shared_keys(batches: Iterable[pa.RecordBatch]) -> Batches:
    """Return how many hashes sides 0 and 1 have in common, in all buckets of a partition together."""
    shared = 0
    for _, rows in groupby(rows_of(batches), key=lambda row: row["bucket"].as_py()):
        sides: tuple[list[npt.NDArray[np.uint64]], ...] = ([], [])
        for row in rows:
            sides[row["side"].as_py()].append(np.frombuffer(row["hashes"].as_buffer(), dtype=np.uint64))
        shared += shared_hashes(*sides)
    yield batch_of(SHARED, shared=shared)


@dataclass(frozen=True, slots=True)
class ChunkCount:
    """What is counted, and in which cells of the rows it is.

    Attributes:
        schema: The declared columns, and behind them the derived ones.
        chunk_cells: Of the columns that are looked at.
        cells: Unions of rules.
        classes: Of disjoint cells, as indices.
        sensitive: The columns that the groups are made of.
        scored: Scores that are worked out while counting.
    """

    schema: Schema
    chunk_cells: ChunkCells
    cells: Sequence[RuleCell]
    classes: Sequence[Sequence[int]]
    sensitive: Sequence[str]
    scored: Sequence[ScoredColumn] = ()


def count_chunks(batches: Iterable[pa.RecordBatch], *, question: ChunkCount) -> Batches:
    """Count the chunks of a partition; one row, whatever they are."""
    chunks, counts = 0, None
    for records in _records(batches, question.schema, question.chunk_cells):
        some = added_counts(records, question.cells, question.classes, question.sensitive, question.scored, each=map)
        counts = some if counts is None else counts + some
        chunks += len(records.chunks)
    yield batch_of(COUNTED, chunks=chunks, counts=None if counts is None else counts.tobytes())


@dataclass(frozen=True, slots=True)
class Derivation:
    """How the values of a derived column are made.

    Attributes:
        document: The column as its auditor asked for it.
        schema: The dataset's declared columns.
        chunk_cells: Of the columns that it reads.
        linked: Where its linked values are, and their SHA-256; `None` for a score.
    """

    document: str
    schema: Schema
    chunk_cells: ChunkCells
    linked: tuple[str, str] | None

    @property
    def column(self) -> DerivedColumn:
        """The column."""
        return DerivedColumn.model_validate_json(self.document)

    @property
    def fields(self) -> pa.Schema:
        """The columns of the rows that `derive` gives."""
        return pa.schema([*CHUNK, *ChunkCells.of_derived(self.column.column).fields])


def derive(batches: Iterable[pa.RecordBatch], *, derivation: Derivation) -> Batches:
    """Make the values of a derived column for the chunks of a partition."""
    asked, fields = derivation.column, derivation.fields
    cells = ChunkCells.of_derived(asked.column)
    with tempfile.TemporaryDirectory(prefix="pafer-") as name:
        values_of = _values_of(asked, derivation, Path(name))
        for rows in _some(rows_of(batches), derivation.chunk_cells):
            records = Records.of_arrays(derivation.schema, [derivation.chunk_cells.chunk(row) for row in rows])
            for row, values in zip(rows, values_of(records), strict=True):
                encoded = cells.bytes_of(column_arrays(asked.column, values))
                yield batch_of(fields, **{field.name: row[field.name].as_py() for field in CHUNK}, **encoded)


def _values_of(asked: DerivedColumn, derivation: Derivation, folder: Path) -> Callable[[Records], Iterable[_Array]]:
    if isinstance(asked.origin, ScoreOrigin):
        return partial(score_values, asked.origin.score, asked.column)
    url, digest = derivation.linked or ("", "")
    path = fetched(url, folder / "linked")
    with path.open("rb") as file:
        if hashlib.file_digest(file, "sha256").hexdigest() != digest:
            raise TaskFailed("linked values")
    linked = LinkedValues.open(path, asked.column)
    return lambda records: (linked.of(chunk.people) for chunk in records.chunks)


def _records(batches: Iterable[pa.RecordBatch], schema: Schema, cells: ChunkCells) -> Iterator[Records]:
    """The chunks of some rows, many at once: tables are made anew for each."""
    for rows in _some(rows_of(batches), cells):
        yield Records.of_arrays(schema, [cells.chunk(row) for row in rows])


def _some(rows: Iterable[Mapping[str, Any]], cells: ChunkCells) -> Iterator[list[Mapping[str, Any]]]:
    """Rows that have records, so many together as there is room for."""
    held: list[Mapping[str, Any]] = []
    size = 0
    for row in rows:
        if not row["records"].as_py():
            continue
        held.append(row)
        size += sum(len(row[name].as_buffer()) for name in cells.names)
        if len(held) >= CHUNKS_AT_ONCE or size >= BYTES_AT_ONCE:
            yield held
            held, size = [], 0
    if held:
        yield held
