"""What Spark's workers do, without Spark: any division of any files is counted as the local engine counts them."""

import hashlib
import random
import tempfile
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checks.spark.examples import CSV, Counts, Example, counted_by, examples, write_csv
from holder_service.domain.errors import InvalidRecords
from holder_service.records.formats import STRICT, Upload
from holder_service.records.linked import read_linked
from holder_service.records.local_engine import LocalEngine
from holder_service.records.person_keys import PersonSecret
from holder_service.records.sources import admitted, splits_of
from holder_service.records.spark import tasks
from holder_service.records.spark.chunk_rows import CHUNK, ChunkCells
from holder_service.records.spark.findings import Findings
from holder_service.settings.holder import RecordsRoot
from shared.contract.schema import Column, Schema
from shared.scores.columns import extended
from testing.encoded_records import record_files

SECRET = PersonSecret.forgotten()


def dealt(rows: Sequence[dict[str, Any]], schema: pa.Schema, rng: random.Random) -> list[list[pa.RecordBatch]]:
    """Rows in any order, in partitions of batches, some of which may be empty."""
    shuffled = rng.sample(rows, len(rows))
    partitions: list[list[pa.RecordBatch]] = [[] for _ in range(rng.randint(1, 4))]
    while shuffled:
        some, shuffled = shuffled[: (size := rng.randint(1, 3))], shuffled[size:]
        rng.choice(partitions).append(pa.RecordBatch.from_pylist(some, schema=schema))
    return partitions


def done(task: Any, partitions: Iterable[list[pa.RecordBatch]]) -> list[dict[str, Any]]:
    """All rows that a task answers, partition by partition."""
    return [row for partition in partitions for batch in tasks.Discreet(task)(partition) for row in batch.to_pylist()]


def encoded(folder: Path, schema: Schema, split_bytes: int, rng: random.Random) -> tuple[list[dict[str, Any]], Any]:
    """The rows of all files of a folder, and their splits."""
    splits = splits_of(folder.as_uri(), split_bytes=split_bytes)
    asked = [{"number": number, "split": split.text} for number, split in enumerate(splits)]
    encoding = tasks.Encoding(schema, SECRET, STRICT)
    fields = pa.schema({"number": pa.int32(), "split": pa.string()})
    return done(partial(tasks.encode_splits, encoding=encoding), dealt(asked, fields, rng)), splits


def counted_in_parts(example: Example, folder: Path, rng: random.Random) -> Counts:
    """Everything that the Spark engine has workers do, in partitions of one's own."""
    (files := folder / "files").mkdir()
    schema = example.schema
    rows, splits = encoded(files, schema, example.write(files), rng)
    stored = tasks.Encoding(schema, SECRET, STRICT).fields
    Findings(pa.Table.from_pylist(rows, schema=stored), splits).require_sound(schema, records_max=10**6)
    assert sum(row["records"] for row in rows) == example.number
    assert sum(row["people"] for row in rows) == sum(example.stands_for or [1] * example.number)
    asked_columns, linked, url = example.scores, None, None
    if not schema.is_aggregate:
        linked, content = example.linked_column()
        (folder / "sent").write_bytes(content)
        read_linked(folder / "sent", CSV, linked, person_key="person", secret=SECRET, destination=folder / "linked")
        url = (folder / "linked").as_uri(), hashlib.sha256((folder / "linked").read_bytes()).hexdigest()
        asked_columns = (*asked_columns, linked)
    cells = [*ChunkCells.of_records(schema).cells]
    by_chunk = {(row["split"], row["chunk"]): dict(row) for row in rows}
    for number, asked in enumerate(asked_columns):
        own = ChunkCells.of_records(schema, asked.reads, own=asked is linked)
        document = asked.model_dump_json(by_alias=True)
        derivation = tasks.Derivation(document, schema, own, url if asked is linked else None)
        fields = pa.schema([*CHUNK, *own.fields])
        chosen = [{field.name: row[field.name] for field in fields} for row in rows]
        names = ChunkCells.of_derived(asked.column).names
        more = ChunkCells.of_derived(asked.column, number)
        for row in done(partial(tasks.derive, derivation=derivation), dealt(chosen, fields, rng)):
            values = {new: row[old] for new, old in zip(more.names, names, strict=True)}
            by_chunk[row["split"], row["chunk"]].update(values)
        cells += more.cells
    whole = extended(schema, {one.name: one.column for one in asked_columns}, reads={})
    question = tasks.ChunkCount(whole, ChunkCells(tuple(cells)), example.cells, example.classes, schema.sensitive)
    fields = pa.schema([*CHUNK, *(pa.field(cell.name, pa.binary()) for cell in cells)])
    asked_rows = [{field.name: row.get(field.name) for field in fields} for row in by_chunk.values()]
    answers = done(partial(tasks.count_chunks, question=question), dealt(asked_rows, fields, rng))
    assert sum(answer["chunks"] for answer in answers) == sum(row["records"] > 0 for row in rows)
    groups = len(schema.groups(schema.sensitive))
    nobody = np.zeros(len(example.cells) * groups, dtype=np.int64)
    parts = [np.frombuffer(answer["counts"], dtype=np.int64)[: len(nobody)] for answer in answers if answer["counts"]]
    return sum(parts, nobody).reshape(len(example.cells), groups)


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(example=examples(), seed=st.integers(0, 2**32))
def test_any_division_is_counted_as_the_local_engine_counts(example: Example, seed: int) -> None:
    require_counted_alike(example, seed)


@pytest.mark.statistical
@settings(max_examples=200, deadline=None)
@given(example=examples(), seed=st.integers(0, 2**32))
def test_any_of_many_divisions_is_counted_as_the_local_engine_counts(example: Example, seed: int) -> None:
    require_counted_alike(example, seed)


def require_counted_alike(example: Example, seed: int) -> None:
    """The local engine and any division of the files count the same."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        files = record_files(folder / "home", SECRET)
        write_csv(pa.concat_tables(example.tables()), folder / "whole.csv")
        source = Upload(folder / "whole.csv", CSV)

        locally = counted_by(LocalEngine(files), files, example, source, "example")

        assert np.array_equal(counted_in_parts(example, folder, random.Random(seed)), locally)


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(example=examples(people_max=60, aggregate=st.just(True)))
def test_an_aggregate_table_is_counted_as_a_row_for_each_of_its_people(example: Example) -> None:
    """Whatever columns, missing values, scores and overlapping cells there are."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        files = record_files(folder / "home", SECRET)
        counts = []
        for kind, table in (("rows", example), ("people", example.with_a_row_each())):
            write_csv(pa.concat_tables(table.tables()), folder / f"{kind}.csv")
            counts.append(counted_by(LocalEngine(files), files, table, Upload(folder / f"{kind}.csv", CSV), kind))

        assert np.array_equal(counts[0], counts[1])


def keys_again(rows: Sequence[dict[str, Any]], rng: random.Random) -> list[tuple[int, int, int]]:
    """Which records have the key of an earlier one, as workers find them."""
    fields = pa.schema([*CHUNK, pa.field("keys", pa.binary())])
    chosen = [{field.name: row[field.name] for field in fields} for row in rows]
    divided = done(tasks.divide_keys, dealt(chosen, fields, rng))
    divided.sort(key=lambda row: row["bucket"])
    batch = pa.RecordBatch.from_pylist(divided, schema=tasks.HASHED)
    joined = done(partial(tasks.join_keys, secret=SECRET), [[batch]])
    origins = [np.frombuffer(row["repeated"] or b"", dtype=tasks.ORIGIN) for row in joined]
    return [(int(one["split"]), int(one["chunk"]), int(one["index"])) for some in origins for one in some]


SMALL = Schema(person_key="id", columns=(Column(name="age", type="integer", minimum=0, maximum=120),))


def refusal(folder: Path, *, split_bytes: int, records_max: int = 100, schema: Schema = SMALL) -> list[tuple[str, str]]:
    """What a load of a folder of files is refused for."""
    rows, splits = encoded(folder, schema, split_bytes, random.Random(0))
    found = Findings(pa.Table.from_pylist(rows, schema=tasks.Encoding(schema, SECRET, STRICT).fields), splits)

    def require() -> None:
        found.require_sound(schema, records_max=records_max)
        found.require_each_key_once(keys_again(rows, random.Random(0)), "id")

    with pytest.raises(InvalidRecords) as refused:
        require()
    return [(one["field"], one["detail"]) for one in refused.value.fields["errors"]]


@pytest.mark.parametrize("split_bytes", [1, 7, 8, 9, 1000])
def test_faults_name_file_line_and_column_however_the_file_is_cut(split_bytes: int, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id,age\nx,1\ny,200\nz,3\nw,\n")
    (tmp_path / "b.csv").write_text("age,id\n5,q\nZebedee,r")

    found = refusal(tmp_path, split_bytes=split_bytes)

    assert [where for where, _ in found] == [
        "a.csv, line 3, column 'age'", "a.csv, line 5, column 'age'", "b.csv, line 3, column 'age'",
    ]  # fmt: skip
    assert "Zebedee" not in repr(found)


AGGREGATE = Schema(people="people", columns=SMALL.columns)


@pytest.mark.parametrize("split_bytes", [1, 8, 1000])
def test_a_row_that_says_no_number_of_people_is_named_however_the_file_is_cut(split_bytes: int, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("people,age\n3,1\n0,7\n4,3\n")
    (tmp_path / "b.csv").write_text("age,people\n5,6\n7,Zebedee")

    found = refusal(tmp_path, split_bytes=split_bytes, schema=AGGREGATE)

    assert [where for where, _ in found] == ["a.csv, line 3, column 'people'", "b.csv, line 3, column 'people'"]
    assert "Zebedee" not in repr(found)


@pytest.mark.parametrize("split_bytes", [1, 8, 1000])
def test_people_of_all_parts_are_bounded(split_bytes: int, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("people,age\n60,1\n20,7\n")
    (tmp_path / "b.csv").write_text("people,age\n21,1\n")

    ((_, what),) = refusal(tmp_path, split_bytes=split_bytes, schema=AGGREGATE)

    assert "at most 100 people" in what


@pytest.mark.parametrize("name", ["person", "weight", "a:b", "b"])
def test_the_cells_of_a_column_are_found_whatever_it_is_called(name: str) -> None:
    columns = (Column(name=name, type="number"), Column(name="other:b", type="boolean"))
    schema = Schema(person_key="id", columns=columns)

    fields = [cell.field for cell in ChunkCells.of_records(schema, [name]).cells]

    assert fields == [f"code:{name}", f"sorted:{name}"]
    assert [cell.field for cell in ChunkCells.of_records(schema, [], own=True).cells] == ["person"]


@pytest.mark.parametrize("split_bytes", [1, 8, 1000])
def test_a_header_that_does_not_fit_is_said_once(split_bytes: int, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id,height\nx,1\ny,2\n")

    found = refusal(tmp_path, split_bytes=split_bytes)

    assert [where for where, _ in found] == ["a.csv, line 1", "a.csv, line 1"]


@pytest.mark.parametrize("split_bytes", [1, 8, 1000])
def test_a_key_that_comes_again_is_found_over_all_files(split_bytes: int, tmp_path: Path) -> None:
    """Those within one part first: the parts are compared with each other once each is sound."""
    (tmp_path / "a.csv").write_text("id,age\nx,1\ny,2\nx,3\n")
    (tmp_path / "b.csv").write_text("id,age\nu,1\ny,2\n")

    found = refusal(tmp_path, split_bytes=split_bytes)

    expected = ["a.csv, line 4, column 'id'", "b.csv, line 3, column 'id'"]
    assert [where for where, _ in found] == (expected if split_bytes < 1000 else expected[:1])
    if split_bytes == 1000:
        (tmp_path / "a.csv").write_text("id,age\nx,1\ny,2\n")
        assert [where for where, _ in refusal(tmp_path, split_bytes=1000)] == expected[1:]


def test_row_groups_are_named_and_records_bounded(tmp_path: Path) -> None:
    table = pa.table({"id": [f"p{number}" for number in range(6)], "age": [1, 2, 3, 4, 5, 500]})
    pa.parquet.write_table(table, tmp_path / "a.parquet", row_group_size=2)

    assert refusal(tmp_path, split_bytes=1)[0][0] == "a.parquet, row group 3, record 2, column 'age'"

    pa.parquet.write_table(table.slice(0, 5), tmp_path / "a.parquet", row_group_size=2)
    found = refusal(tmp_path, split_bytes=1, records_max=4)
    assert "at most 4 records" in found[0][1]
    assert "5" not in found[0][1]


def test_what_is_no_file_of_records_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("id,age\n")
    for url in (tmp_path.as_uri(), (tmp_path / "nothing").as_uri(), "nosuch://x/y"):
        with pytest.raises(InvalidRecords):
            splits_of(url)


def test_a_url_is_admitted_under_a_root_alone(tmp_path: Path) -> None:
    (root := tmp_path / "lake").mkdir()
    (tmp_path / "lake-of-others").mkdir()
    (root / "away").symlink_to(tmp_path / "lake-of-others")
    roots = here, there = RecordsRoot(root.as_uri()), RecordsRoot("s3a://bucket/in", "register")

    assert admitted((root / "people.csv").as_uri(), roots) == ((root / "people.csv").as_uri(), here)
    assert admitted(f"{root.as_uri()}/", roots) == (root.as_uri(), here)
    assert admitted("s3a://bucket/in/x.parquet", roots) == ("s3a://bucket/in/x.parquet", there)
    for url in (
        f"{root.as_uri()}/../lake-of-others", (tmp_path / "lake-of-others").as_uri(),
        (root / "away" / "x.csv").as_uri(), f"{root.as_uri()}/%2e%2e/secret", "/etc/passwd",
        f"{root.as_uri()}/x%00", f"{root.as_uri()}/\ud800", "file://[x/y", "s3a://bucket/in/\0",
        "s3a://bucket/inside", "s3a://other/in", "s3a://bucket/in/../x", "s3a://bucket/in/%2e%2e/x",
    ):  # fmt: skip
        assert admitted(url, roots) is None, url


def test_a_worker_that_fails_says_the_kind_of_error_alone() -> None:
    def task(_: Any) -> Any:
        yield 1
        raise ValueError("Zebedee")

    with pytest.raises(tasks.TaskFailed) as failed:
        list(tasks.Discreet(task)([]))

    assert str(failed.value) == "ValueError"
    assert failed.value.__cause__ is None
    assert failed.value.__context__ is None
