"""The count compared with a hand-written nested CASE in DuckDB, on the same records, in the same run.

`python -m benchmarks.counting --records 1000000,10000000 --leaves 16,256,1024`

Records are invented: categories, integers and doubles, some missing, eight groups. A random tree is
grown to each number of leaves; each leaf is a cell. Each side holds the records as suits it best:
ours in its encoded file, DuckDB in a table in memory, with categories as small integers and two
threads. Both answer all leaves by all groups, the answers have to be equal, and the medians are of
runs that alternate. Aims: no longer than DuckDB at 16 leaves; at 1 024 a fifth of it for 10⁶ records and a tenth for
10⁷. What was found: `docs/operations.md`.
"""

import argparse
import itertools
import math
import random
import statistics
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet
from rich.console import Console
from rich.table import Table

from holder_service.domain.disjointness import disjoint_classes
from holder_service.records.counting import count_cells
from holder_service.records.encoded import Records, load_records
from shared.contract.rules import Cell, Predicate, Rule
from shared.contract.schema import Column, Schema

GROUPS = tuple("ABCDEFGH")
SCHEMA = Schema(
    person_key="person",
    columns=(
        *(
            Column(name=f"category_{size}", type="category", categories=tuple(f"c{n}" for n in range(size)))
            for size in (2, 5, 16, 60)
        ),
        Column(name="age", type="integer", minimum=0, maximum=110),
        Column(name="hours", type="integer", minimum=0, maximum=99, nullable=True),
        Column(name="income", type="integer", minimum=0, maximum=500_000),
        Column(name="score", type="number", minimum=0, maximum=1),
        Column(name="gain", type="number", minimum=-10, maximum=10),
        Column(name="loss", type="number", minimum=-10, maximum=10, nullable=True),
        Column(name="group", type="category", categories=GROUPS, sensitive=True),
    ),
)
RECORDS_PER_FILE_PART = 1_000_000

Box = Mapping[str, tuple[Any, ...]]
"""The part of a column's domain that reaches a node: its categories, or the lowest and highest number."""


@dataclass(slots=True)
class Node:
    """A node of a binary tree; a leaf until it is split."""

    box: Box
    tests: tuple[Predicate, Predicate] | None = None
    children: "tuple[Node, Node] | None" = None

    def split(self, rng: random.Random) -> None:
        """Split a random column at random; nothing happens where the box is too narrow for that."""
        column = rng.choice([column for column in SCHEMA.columns if not column.sensitive])
        if column.type == "category":
            values = self.box[column.name]
            if len(values) < 2:
                return
            chosen = set(rng.sample(values, rng.randint(1, len(values) - 1)))
            left, right = (tuple(v for v in values if (v in chosen) == side) for side in (True, False))
            self.tests = (
                Predicate(column=column.name, op="in", values=left),
                Predicate(column=column.name, op="not_in", values=left),
            )
        else:
            low, high = self.box[column.name]
            threshold = rng.uniform(low, high)
            left, right = (low, threshold), (threshold, high)
            if column.type == "integer":
                threshold = math.floor(threshold) + 0.5
                left, right = (low, math.floor(threshold)), (math.ceil(threshold), high)
                if not low < threshold < high:
                    return
            self.tests = (
                Predicate(column=column.name, op="le", value=threshold, or_missing=column.nullable),
                Predicate(column=column.name, op="gt", value=threshold),
            )
        self.children = Node({**self.box, column.name: left}), Node({**self.box, column.name: right})


def grown(leaves: int, seed: int) -> Node:
    """A random tree with a given number of leaves: random leaves are split, one after the other."""
    rng = random.Random(seed)
    box: dict[str, tuple[Any, ...]] = {
        column.name: (0, 1)
        if column.name == "score"
        else (-2, 2)
        if column.type == "number"
        else (0, column.maximum)
        if column.type == "integer"
        else column.values
        for column in SCHEMA.columns
    }
    root = Node(box)
    ends = [root]
    while len(ends) < leaves:
        index = rng.randrange(len(ends))
        ends[index].split(rng)
        ends[index : index + 1] = ends[index].children or (ends[index],)
    return root


def cells(root: Node) -> list[Cell]:
    """The leaves, left to right, each a rule in path order."""

    def rules(node: Node, path: tuple[Predicate, ...]) -> Iterator[Rule]:
        if node.tests is None or node.children is None:
            yield Rule(all_of=path)
        else:
            for test, child in zip(node.tests, node.children, strict=True):
                yield from rules(child, (*path, test))

    return [Cell(id=f"leaf-{number}", any_of=(rule,)) for number, rule in enumerate(rules(root, ()))]


def nested_case(root: Node) -> str:
    """The tree as SQL that gives the number of the leaf, from left to right."""
    numbers = itertools.count()

    def expression(node: Node) -> str:
        if node.tests is None or node.children is None:
            return str(next(numbers))
        left, right = node.children
        return f"CASE WHEN {condition(node.tests[0])} THEN {expression(left)} ELSE {expression(right)} END"

    return expression(root)


def condition(test: Predicate) -> str:
    """A predicate in SQL; DuckDB tests categories quickest by the bits of a mask, twice as quick as by `IN`."""
    column = SCHEMA.by_name[test.column]
    if column.type != "category":
        missing = f" OR {test.column} IS NULL" if test.or_missing else ""
        return f"{test.column} <= {test.value!r}{missing}"
    values = test.values if test.values is not None else (test.value,)
    bits = sum(1 << column.values.index(str(value)) for value in values)
    return f"({bits}::UBIGINT >> {test.column}) & 1 = 1"


def write_records(path: Path, records: int, schema: Schema = SCHEMA) -> None:
    """Invent records and write them as Parquet, part by part."""
    rng = np.random.default_rng(records)
    writer = None
    for first in range(0, records, RECORDS_PER_FILE_PART):
        size = min(RECORDS_PER_FILE_PART, records - first)
        part = pa.table(
            {"person": np.arange(first, first + size), **{c.name: invented(c, size, rng) for c in schema.columns}}
        )
        writer = writer or pa.parquet.ParquetWriter(path, part.schema)
        writer.write_table(part)
    if writer is not None:
        writer.close()


def invented(column: Column, size: int, rng: np.random.Generator) -> pa.Array:
    """Values of one column, a twentieth of them missing where the column is nullable."""
    missing = rng.random(size) < 0.05 if column.nullable else None
    if column.type == "category":
        indices = np.minimum(rng.geometric(1.5 / len(column.values), size) - 1, len(column.values) - 1)
        return pa.DictionaryArray.from_arrays(indices, list(column.values)).cast(pa.string())
    if column.name == "income":
        return pa.array(np.minimum(rng.lognormal(10, 0.8, size), 500_000).astype(np.int64))
    if column.type == "integer":
        return pa.array(rng.integers(0, int(column.high), size, endpoint=True), mask=missing)
    numbers = rng.random(size) if column.name == "score" else np.clip(rng.normal(size=size), -10, 10)
    return pa.array(numbers, mask=missing)


def into_duckdb(path: Path) -> duckdb.DuckDBPyConnection:
    """A table in memory, categories as small integers, two threads."""
    connection = duckdb.connect(config={"threads": 2})
    columns = [
        f"(list_position({list(column.values)}, {quoted}) - 1)::UTINYINT AS {quoted}"
        if column.type == "category"
        else f"{quoted}::INTEGER AS {quoted}"
        if column.type == "integer"
        else quoted
        for column in SCHEMA.columns
        for quoted in (f'"{column.name}"',)
    ]
    connection.execute(f"CREATE TABLE records AS SELECT {', '.join(columns)} FROM read_parquet('{path}')")
    return connection


def compare(
    records: Records, connection: duckdb.DuckDBPyConnection, leaves: int, repetitions: int
) -> tuple[float, float]:
    """Median seconds of our count and of DuckDB's, taken in turn; refuses to go on if they differ."""
    tree = grown(leaves, seed=leaves)
    asked = cells(tree)
    classes = disjoint_classes(asked, SCHEMA)
    query = (
        f'SELECT leaf, "group", count(*) FROM (SELECT "group", {nested_case(tree)} AS leaf FROM records) GROUP BY ALL'
    )

    def ours() -> npt.NDArray[np.int64]:
        return count_cells(records, asked, classes, ["group"]).reveal_to_mechanism()

    def theirs() -> npt.NDArray[np.int64]:
        counts = np.zeros((leaves, len(GROUPS)), dtype=np.int64)
        rows = connection.execute(query).fetchnumpy()
        counts[rows["leaf"], rows["group"]] = rows["count_star()"]
        return counts

    if not (ours() == theirs()).all():
        raise RuntimeError(f"The two counts differ at {leaves} leaves.")
    seconds: tuple[list[float], list[float]] = ([], [])
    for _ in range(repetitions):
        for taken, work in zip(seconds, (ours, theirs), strict=True):
            start = time.perf_counter()
            work()
            taken.append(time.perf_counter() - start)
    return statistics.median(seconds[0]), statistics.median(seconds[1])


def main() -> None:
    """Print a line for each number of records and leaves."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--records", default="1000000,10000000", help="numbers of records")
    options.add_argument("--leaves", default="16,256,1024", help="numbers of leaves")
    options.add_argument("--repetitions", type=int, default=9, help="each figure is the median of so many")
    given = options.parse_args()
    table = Table("records", "leaves", "ours ms", "DuckDB ms", "ratio", title="Counting, 8 groups, 2 threads")
    for number in map(int, given.records.split(",")):
        with tempfile.TemporaryDirectory() as folder:
            source, encoded = Path(folder) / "records.parquet", Path(folder) / "encoded"
            write_records(source, number)
            load_records(source, "application/vnd.apache.parquet", SCHEMA, number, encoded)
            records, connection = Records.open(encoded, SCHEMA), into_duckdb(source)
            for leaves in map(int, given.leaves.split(",")):
                ours, theirs = compare(records, connection, leaves, given.repetitions)
                table.add_row(
                    f"{number:,}", str(leaves), f"{ours * 1e3:.1f}", f"{theirs * 1e3:.1f}", f"{ours / theirs:.2f}"
                )
            connection.close()
    Console().print(table)


if __name__ == "__main__":
    main()
