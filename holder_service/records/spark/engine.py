"""The Spark engine: encoded records in Parquet where a cluster reads them, counted by its workers (6-engines).

In the holder's home each name has a small file that says what the cluster has under it (`Kept`), so services, ledger
and back-ups know no difference between engines. The file is first there under a hidden name, then the cluster writes,
then it gets its name. So what the cluster has, and no file of the home names, is of no use to anybody, and `sweep`
takes it away: after a load that broke off, a retirement, a column that was deleted.
"""

import hashlib
import json
import logging
import os
import secrets
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from holder_service.domain.errors import Conflict, InvalidRecords, Unavailable, VersionGone
from holder_service.files.durable import durable_file
from holder_service.records import file_urls
from holder_service.records.counting import TrueCounts
from holder_service.records.encoded import declaration_digest
from holder_service.records.engines import DerivedValues, EncodedVersion
from holder_service.records.files import RecordFiles
from holder_service.records.formats import RecordsUrl, Upload
from holder_service.records.linked import LinkedValues
from holder_service.records.local_engine import ENDED_AFTER_S
from holder_service.records.progress import Report, unseen
from holder_service.records.sources import SPLIT_BYTES, FetchedPart, FilePart, splits_of
from holder_service.records.spark import tasks
from holder_service.records.spark.chunk_rows import CHUNK, ChunkCells
from holder_service.records.spark.findings import Findings
from holder_service.records.spark.session import SparkConnection
from holder_service.settings.holder import SparkSettings
from shared.contract.rules import Cell
from shared.contract.schema import Schema
from shared.scores.columns import DerivedColumn, ScoreOrigin, extended
from shared.scores.documents import columns_of
from shared.wire import limits

SWEPT_EVERY_S: Final = 10.0
COUNTED_WITHIN_S: Final = 2.0 * limits.RELEASE_S_MAX
WRITTEN_AT_ONCE_BYTES: Final = 32 * 1024 * 1024
"""What each task that writes holds in Java's memory before it goes into the file, and once more compressed."""
UPLOADED_AT_ONCE: Final = 64
"""So many chunks of an upload go to the cluster together."""
CHUNKS_PER_TASK: Final = 64
_HIDDEN: Final = ".unnamed"
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Kept:
    """What a file in the holder's home says of what the cluster has under its name.

    Attributes:
        declaration: What it was encoded for.
        secret: The id of the secret that person keys are hashed under.
        chunks: How many chunks there are: a count that reads another number counted something else.
    """

    declaration: str
    secret: str
    chunks: int


class SparkEngine:
    """Has a cluster encode, count and compare, in one session for each process."""

    def __init__(self, files: RecordFiles, settings: SparkSettings, home: Path) -> None:
        self._files = files
        self._home = home
        self._store = settings.store
        self._session = SparkConnection(settings, scratch=home / "spark-scratch")
        self._closed = threading.Event()
        self.split_bytes = SPLIT_BYTES
        """A part of a text file that a worker reads by itself has about so many bytes."""

    def start(self) -> None:
        """Begin the session, and take away now and then what is of no more use."""
        self._session.start()
        threading.Thread(target=self._sweep_now_and_then, name="spark-sweep", daemon=True).start()

    def close(self) -> None:
        """Break off all work, and end the session."""
        self._closed.set()
        self._session.close()

    def is_ready(self) -> bool:
        """Whether a worker of the cluster answers."""
        return self._session.is_ready()

    def check(self, source: Upload | RecordsUrl, schema: Schema, *, records_max: int, report: Report = unseen) -> None:
        """Load, and take everything away."""
        name = secrets.token_hex(16)
        try:
            self.load(source, schema, records_max=records_max, name=name, report=report)
        finally:
            self._files.remove(records=name)
            self.forget(name)
            self._take_away(name)

    def load(
        self, source: Upload | RecordsUrl, schema: Schema, *, records_max: int, name: str, report: Report = unseen
    ) -> str | None:
        """Have the parts of a source encoded, then all keys compared; shares are not."""
        if schema.shares is not None:
            raise InvalidRecords("A cluster does not count shares: load them where HOLDER_ENGINE is local.")
        encoding = tasks.Encoding(schema, self._files.secret, source.form)
        self._files.records.mkdir(parents=True, exist_ok=True)
        self._hidden(self._files.records, name).touch(mode=0o600)
        try:
            splits = self._encode(source, encoding, name, report)
            found = Findings(self._read(name, tasks.ENCODED, without=("keys",)), splits)
            found.require_sound(schema, records_max=records_max)
            if schema.person_key is not None:
                report("comparing-keys")
                found.require_each_key_once(self._again(name, found.chunks), schema.person_key)
            kept = Kept(declaration_digest(schema).decode(), self._files.secret.id, found.chunks)
            with durable_file(self._files.records / name, mode=0o400) as file:
                file.write(json.dumps(asdict(kept)).encode())
        except BaseException:
            self.forget(name)
            self._take_away(name)
            raise
        return None

    def _encode(
        self, source: Upload | RecordsUrl, encoding: tasks.Encoding, name: str, report: Report
    ) -> Sequence[FilePart]:
        """Write encoded chunks, sound or not; gives the parts that they are from.

        Of files that workers read, how many parts are done is reported; of an upload what is read and encoded here.
        """
        if isinstance(source, RecordsUrl):
            splits = splits_of(source.url, split_bytes=self.split_bytes)
            table = pa.table(
                {"number": pa.array(range(len(splits)), pa.int32()), "split": [one.text for one in splits]}
            )

            def work(spark: SparkSession) -> None:
                rows = spark.createDataFrame(table).repartition(len(splits), "number")
                self._write(_mapped(rows, partial(tasks.encode_splits, encoding=encoding), encoding.fields), name)

            def follow(done: int, of: int) -> None:
                if of == len(splits):  # of the stage that encodes; the one before it hands the parts out
                    report("reading", done, of)

            report("reading")
            self._session.run(work, follow=follow)
            return splits
        media_type = source.media_type.partition(";")[0].strip().lower()
        rows = encoding.rows(0, FetchedPart(source.path, media_type), report)
        while some := list(islice(rows, UPLOADED_AT_ONCE)):
            self._session.run(partial(self._send, rows=pa.Table.from_batches(some), name=name))
        return [FilePart("", "", media_type, 0, 0)]

    def _send(self, spark: SparkSession, *, rows: pa.Table, name: str) -> None:
        self._write(spark.createDataFrame(rows), name, mode="append")

    def _again(self, name: str, chunks: int) -> Iterator[tuple[int, int, int]]:
        """Divide all keys among workers, who find where keys come again; leaves the sorted hashes for `join`."""
        joined = partial(tasks.join_keys, secret=self._files.secret)

        def work(spark: SparkSession) -> None:
            rows = self._table(spark, name, tasks.ENCODED).select("split", "chunk", "records", "keys")
            divided = _mapped(rows, tasks.divide_keys, tasks.HASHED)
            self._write(_mapped(_by_bucket(divided, chunks), joined, tasks.HASHED), f"{name}-people")

        self._session.run(work)
        again = self._read(f"{name}-people", tasks.HASHED, without=("hashes", "origins"))
        for text in again["repeated"].to_pylist():
            for origin in np.frombuffer(text or b"", dtype=tasks.ORIGIN):
                yield int(origin["split"]), int(origin["chunk"]), int(origin["index"])

    def join(self, name: str, earlier: str | None) -> str:
        """Have the hashes of new records and earlier ones joined, bucket by bucket."""
        joined = self._files.secret.file_name()
        self._files.people.mkdir(exist_ok=True)
        hidden = self._hidden(self._files.people, joined)
        hidden.touch(mode=0o600)
        before = self._files.people_of(earlier)
        sides = [f"{name}-people", *([before.name] if before is not None else [])]

        def work(spark: SparkSession) -> None:
            rows = self._hashes(spark, [(0, side) for side in sides])
            task = partial(tasks.join_keys, secret=self._files.secret)
            self._write(_mapped(_by_bucket(rows, tasks.BUCKETS), task, tasks.HASHED), joined)

        try:
            self._session.run(work)
            with durable_file(self._files.people / joined, mode=0o400) as file:
                file.write(b"{}")
        except BaseException:
            self._take_away(joined)
            raise
        finally:
            hidden.unlink(missing_ok=True)
        return joined

    def join_blocks(
        self, name: str, people: str, own: Path | None, others: Sequence[Path], *, per_person_max: int
    ) -> None:
        """Refuse: a cluster does not keep in which blocks people were.

        Raises:
            Conflict: Always.
        """
        raise Conflict(
            "The Spark engine does not keep in which blocks people were, so it cannot load a dataset with blocks. Load "
            "it with the local engine, or declare another dataset without `blocks`. Nothing was loaded."
        )

    def forget(self, name: str) -> None:
        """Take the hashes of new records alone away."""
        self._take_away(f"{name}-people")
        self._hidden(self._files.records, name).unlink(missing_ok=True)

    def count(
        self, version: EncodedVersion, cells: Sequence[Cell], classes: Sequence[Sequence[int]], sensitive: Sequence[str]
    ) -> TrueCounts:
        """Have every partition of the chunks counted, and add the answers up here."""
        kept = self._kept(version)
        looked_at = {
            *sensitive, *(test.column for cell in cells for rule in cell.any_of for test in rule.all_of),
            *(name for one in version.scored for name in columns_of(one.document)),
        }  # fmt: skip
        schema = extended(version.schema, {one.column.name: one.column for one in version.derived}, reads={})
        declared = ChunkCells.of_records(version.schema, looked_at, own=version.schema.is_aggregate)
        derived = [
            (one.name, ChunkCells.of_derived(one.column, number))
            for number, one in enumerate(version.derived)
            if one.column.name in looked_at
        ]
        for name, _ in derived:
            if self._files.derived_at(name) is None:
                raise VersionGone("A derived column was made anew or taken away just now; ask again.")
        every = ChunkCells(tuple(cell for some in (declared, *(more for _, more in derived)) for cell in some.cells))
        question = tasks.ChunkCount(schema, every, cells, classes, sensitive, version.scored)

        def work(spark: SparkSession) -> pa.Table:
            rows = self._table(spark, str(version.name), (*CHUNK, *declared.fields))
            for name, more in derived:
                own = ChunkCells.of_derived(_column(version, name))
                column = self._table(spark, name, (*CHUNK, *own.fields)).drop("records")
                column = column.withColumnsRenamed(dict(zip(own.names, more.names, strict=True)))
                rows = rows.join(column, ["split", "chunk"])
            rows = rows.where("records > 0")
            return _mapped(rows, partial(tasks.count_chunks, question=question), tasks.COUNTED).toArrow()

        counted = self._session.run(work, within_s=COUNTED_WITHIN_S)
        self._kept(version)
        if sum(counted["chunks"].to_pylist()) != kept.chunks:
            raise Unavailable("The cluster lacks some of the records: they have to be loaded again.")
        parts = [np.frombuffer(text, dtype=np.int64) for text in counted["counts"].to_pylist() if text]
        groups = _groups(schema, sensitive)
        return TrueCounts(sum(parts, np.zeros(len(cells) * groups, dtype=np.int64)).reshape(len(cells), groups))

    def make_column(self, version: EncodedVersion, values: DerivedValues, *, apart: Callable[..., None]) -> None:
        """Have the workers make them; `apart` is not needed, for they are."""
        kept = self._kept(version)
        asked = DerivedColumn.model_validate_json(values.document)
        self._files.derived.mkdir(exist_ok=True)
        hidden = self._hidden(self._files.derived, values.name)
        hidden.touch(mode=0o600)
        try:
            linked = self._linked(asked, values, kept)
            reads = asked.reads if isinstance(asked.origin, ScoreOrigin) else ()
            cells = ChunkCells.of_records(version.schema, reads, own=linked is not None)
            derivation = tasks.Derivation(values.document, version.schema, cells, linked)

            def work(spark: SparkSession) -> None:
                rows = self._table(spark, str(version.name), (*CHUNK, *cells.fields)).where("records > 0")
                task = partial(tasks.derive, derivation=derivation)
                self._write(_mapped(rows, task, derivation.fields), values.name, mode="overwrite")

            self._session.run(work)
            ended_s = time.time() + ENDED_AFTER_S
            os.utime(hidden, (ended_s, ended_s))
            hidden.replace(self._files.derived / values.name)
        finally:
            hidden.unlink(missing_ok=True)
            if values.linked is not None:
                self._take_away(f"{values.name}-linked")

    def _linked(self, asked: DerivedColumn, values: DerivedValues, kept: Kept) -> tuple[str, str] | None:
        """Return where workers find the linked values of a column, and their SHA-256."""
        if values.linked is None:
            return None
        path = self._files.linked / values.linked
        LinkedValues.open(path, asked.column).require_secret(kept.secret)
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        url = f"{self._url(values.name)}-linked/values"
        try:
            file_urls.put(path, url)
        except (OSError, pa.ArrowException):
            raise Unavailable("The store of the records cannot be reached now: nothing was changed.") from None
        return url, digest

    def count_shared(self, one: Sequence[str], other: Sequence[str]) -> int:
        """Have the hashes compared, bucket by bucket."""
        sides = [(side, name) for side, names in enumerate((one, other)) for name in names]
        for _, name in sides:
            if not (self._files.people / name).exists():
                raise FileNotFoundError(name)

        def work(spark: SparkSession) -> pa.Table:
            rows = _by_bucket(self._hashes(spark, sides), tasks.BUCKETS)
            return _mapped(rows, tasks.count_shared_keys, tasks.SHARED).toArrow()

        return int(sum(self._session.run(work)["shared"].to_pylist()))

    def sweep(self) -> int:
        """Take away what the cluster has and no file of the home names; how much that was."""
        try:
            left = [name for name in file_urls.names_in(self._root) if not self._is_kept(name)]
        except (OSError, pa.ArrowException):
            return 0
        for name in left:
            self._take_away(name)
        return len(left)

    def _sweep_now_and_then(self) -> None:
        while not self._closed.wait(SWEPT_EVERY_S):
            self.sweep()

    def _is_kept(self, entry: str) -> bool:
        name, _, part = entry.partition("-") if not entry.endswith(self._files.secret.id) else (entry, "", "")
        folders = (self._files.records, self._files.people, self._files.derived)
        if part in ("people", "linked"):
            return any(self._hidden(folder, name).exists() for folder in folders)
        return any((folder / entry).exists() or self._hidden(folder, entry).exists() for folder in folders)

    @property
    def _root(self) -> str:
        """Where this holder's own tables are: others may share the store."""
        path = self._home / "spark-store"
        if not path.exists():
            with suppress(FileExistsError), durable_file(path, replaces=False) as file:  # another process was quicker
                file.write(secrets.token_hex(8).encode())
        store = self._store or (self._home / "spark").as_uri()
        return f"{store.rstrip('/')}/{path.read_text()}"

    def _url(self, name: str) -> str:
        return f"{self._root}/{name}"

    @staticmethod
    def _hidden(folder: Path, name: str) -> Path:
        return folder / f".{name}{_HIDDEN}"

    def _kept(self, version: EncodedVersion) -> Kept:
        if version.name is None:
            raise VersionGone("The dataset's records were taken away.")
        try:
            kept = Kept(**json.loads((self._files.records / version.name).read_bytes()))
        except FileNotFoundError:
            raise VersionGone("The records were replaced by a new version; ask again for that one.") from None
        except (TypeError, ValueError):
            raise Unavailable("The records were loaded by another engine; they have to be loaded again.") from None
        if kept.declaration != declaration_digest(version.schema).decode():
            raise Unavailable(
                "The records were encoded for another declaration or by another version of the holder; they have to be "
                "loaded again."
            )
        return kept

    def _table(self, spark: SparkSession, name: str, fields: Sequence[pa.Field]) -> DataFrame:
        return spark.read.schema(from_arrow_schema(pa.schema(fields))).parquet(self._url(name))

    def _read(self, name: str, fields: Sequence[pa.Field] | pa.Schema, *, without: Sequence[str]) -> pa.Table:
        """Some columns of a table, here."""
        wanted = [one for one in fields if one.name not in without]
        return self._session.run(lambda spark: self._table(spark, name, wanted).toArrow())

    def _hashes(self, spark: SparkSession, sides: Sequence[tuple[int, str]]) -> DataFrame:
        """The rows of some named hashes, under the number of each one's side."""
        fields = [field for field in tasks.HASHED if field.name not in ("origins", "repeated")]
        tables = [
            self._table(spark, name, fields).selectExpr("bucket", f"{int(side)} AS side", "hashes", "NULL AS origins")
            for side, name in sides
        ]
        rows = tables[0]
        for table in tables[1:]:
            rows = rows.unionByName(table)
        return rows

    def _write(self, rows: DataFrame, name: str, *, mode: str = "error") -> None:
        options = {"parquet.enable.dictionary": "false", "parquet.block.size": str(WRITTEN_AT_ONCE_BYTES)}
        rows.write.options(**options).mode(mode).parquet(self._url(name))

    def _take_away(self, name: str) -> None:
        """Take a table away if it is there; what cannot be now is when the store is swept."""
        try:
            file_urls.remove(self._url(name))
        except (OSError, pa.ArrowException) as error:
            _log.warning("a table could not be taken away yet", extra={"error": type(error).__name__})


def _mapped(rows: DataFrame, task: Callable[..., Any], fields: pa.Schema) -> DataFrame:
    return rows.mapInArrow(tasks.Discreet(task), from_arrow_schema(fields))


def _by_bucket(rows: DataFrame, chunks: int) -> DataFrame:
    """All rows of each bucket in one partition, one after the other."""
    partitions = min(1 + chunks // CHUNKS_PER_TASK, tasks.BUCKETS)
    return rows.repartition(partitions, "bucket").sortWithinPartitions("bucket")


def _column(version: EncodedVersion, name: str) -> Any:
    return next(one.column for one in version.derived if one.name == name)


def _groups(schema: Schema, sensitive: Sequence[str]) -> int:
    columns = [schema.by_name[name] for name in sensitive]
    return int(np.prod([len(column.group_values) + column.nullable for column in columns], dtype=np.int64))
