"""A database is the oracle of the count: the same file, the same cells as SQL, the same histograms."""

import random
from pathlib import Path

import duckdb
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from benchmarks.counting import SCHEMA, compare, into_duckdb, write_records
from holder_service.domain.disjointness import disjoint_classes
from holder_service.records.counting import count_cells
from holder_service.records.encoded import Records, load_records
from shared.contract.rules import Cell, Predicate
from shared.contract.schema import Column, Schema, Value
from testing.encoded_records import PARQUET, encoded_columns
from testing.invented.plans import cells, distinguishing_values, schemas

SIGNS = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "=", "ne": "<>", "in": "IN", "not_in": "NOT IN"}


def as_sql(cell: Cell) -> str:
    """A cell as a condition, which is null or false for whom it does not match."""
    rules = (" AND ".join(map(predicate_as_sql, rule.all_of)) or "true" for rule in cell.any_of)
    return " OR ".join(f"coalesce({rule}, false)" for rule in rules)


def predicate_as_sql(predicate: Predicate) -> str:
    if predicate.op == "is_missing":
        return f"{predicate.column} IS NULL"
    if predicate.op == "not_missing":
        return f"{predicate.column} IS NOT NULL"
    if predicate.values is not None:
        value = f"({', '.join(map(value_as_sql, predicate.values))})"
    else:
        value = value_as_sql(predicate.value)
    missing = f" OR {predicate.column} IS NULL" if predicate.or_missing else ""
    return f"({predicate.column} {SIGNS[predicate.op]} {value}{missing})"


def value_as_sql(value: Value | None) -> str:
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return f"'{value!r}'::{'BOOLEAN' if isinstance(value, bool) else 'DOUBLE'}"


def group_as_sql(column: Column) -> str:
    """A sensitive column as what people are grouped by: the band, from the last down, or the value itself."""
    if column.bands_from is None:
        return column.name
    first, *others = column.group_values
    bands = zip(reversed(column.bands_from), reversed(others), strict=True)
    cases = " ".join(f"WHEN {column.name} >= {value_as_sql(start)} THEN '{name}'" for start, name in bands)
    return f"CASE WHEN {column.name} IS NULL THEN NULL {cases} ELSE '{first}' END"


def histograms_in_sql(source: Path, asked: list[Cell], schema: Schema) -> list[list[int]]:
    filters = ", ".join(f"count(*) FILTER (WHERE {as_sql(cell)})" for cell in asked)
    by = ", ".join(group_as_sql(schema.by_name[name]) for name in schema.sensitive)
    query = f"SELECT {by}, {filters} FROM read_parquet('{source}') GROUP BY ALL"  # noqa: S608  # of our own making
    with duckdb.connect() as connection:
        found = connection.execute(query).fetchall()
    width = len(schema.sensitive)
    by_group = {row[:width]: row[width:] for row in found}
    nobody = (0,) * len(asked)
    return [
        [by_group.get(group, nobody)[index] for group in schema.groups(schema.sensitive)] for index in range(len(asked))
    ]


@pytest.mark.slow
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_any_cells_are_counted_as_a_database_counts_them(data: st.DataObject, tmp_path: Path) -> None:
    """Thousands of people whose values lie on thresholds and next to them, for unions that overlap."""
    schema = data.draw(schemas(features=4))
    asked = data.draw(cells(schema, cells_max=8))
    rng = random.Random(data.draw(st.integers(0, 2**32)))
    columns = {column.name: rng.choices(distinguishing_values(column), k=3000) for column in schema.columns}
    records = encoded_columns(tmp_path, schema, columns)

    counts = count_cells(records, asked, disjoint_classes(asked, schema), schema.sensitive)

    assert counts.reveal_to_mechanism().tolist() == histograms_in_sql(tmp_path / "upload", asked, schema)


def test_large_trees_are_counted_as_nested_cases(tmp_path: Path) -> None:
    """The benchmark's own check, over several chunks of records and ranked columns."""
    write_records(tmp_path / "upload", 100_000)
    load_records(tmp_path / "upload", PARQUET, SCHEMA, 100_000, tmp_path / "encoded")
    records, connection = Records.open(tmp_path / "encoded", SCHEMA), into_duckdb(tmp_path / "upload")

    for leaves in (1, 2, 16, 100, 300):
        compare(records, connection, leaves, repetitions=1)

    assert records.chunks[0].sorted_at.keys() == {"income", "score", "gain", "loss"}
    connection.close()
