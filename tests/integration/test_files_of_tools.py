"""CSV files that other programs themselves write load with the options of docs/records.md, and hold the same values.

What programs write that are not at hand here (R, SAS, SPSS, Excel, MySQL) is in
`unit/holder_service/test_record_formats`, by their rules.
"""

import csv
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import duckdb
import pandas as pd
import psycopg
import pyarrow as pa
import pyarrow.csv
import pytest

from holder_service.domain.errors import InvalidRecords
from holder_service.records.drafts import draft
from holder_service.records.encoded import Records, load_records
from holder_service.records.formats import STRICT, RecordFormat
from holder_service.records.options import DraftOptions
from shared.contract.schema import Column, Schema
from testing.postgres import PostgresServer

SCHEMA: Final = Schema(
    person_key="id",
    columns=(
        Column(name="age", type="integer", minimum=0, maximum=120),
        Column(name="income", type="number", nullable=True),
        Column(name="town", type="category", categories=("Zürich", 'Genève; "GE", CH'), nullable=True),
        Column(name="granted", type="boolean", nullable=True),
        Column(name="born", type="integer", nullable=True),
        Column(name="sex", type="category", categories=("f", "m"), sensitive=True),
    ),
)
TOWN: Final = 'Genève; "GE", CH'
ROWS: Final = [
    ("p1", 37, 1234.5, "Zürich", True, "1987-03-01", "f"),
    ("p2", 41, None, TOWN, False, "1983-12-31", "m"),
    ("p3", 29, 0.25, None, None, None, "f"),
]
NAMES: Final = ["id", "age", "income", "town", "granted", "born", "sex"]
PEOPLE: Final = pd.DataFrame(ROWS, columns=NAMES)
TYPES: Final = "id text, age integer, income double precision, town text, granted boolean, born date, sex text"
EXPECTED: Final[dict[str, list[float]]] = {
    "age": [37, 41, 29], "income": [1234.5, math.inf, 0.25], "town": [0, 1, 2], "granted": [1, 0, 2],
    "born": [6268, 5112, math.inf], "sex": [0, 1, 0],
}  # fmt: skip


def by_pandas(path: Path, _: PostgresServer, **options: Any) -> None:
    PEOPLE.to_csv(path, **options)


def by_pyarrow(path: Path, _: PostgresServer) -> None:
    """It quotes texts, and leaves missing values without quotes."""
    table = pa.table({name: [row[index] for row in ROWS] for index, name in enumerate(NAMES)})
    pa.csv.write_csv(table, path)


def by_python(path: Path, _: PostgresServer, **options: Any) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, **options).writerows([NAMES, *ROWS])


def by_duckdb(path: Path, _: PostgresServer, options: str = "HEADER") -> None:
    with duckdb.connect() as database:
        database.execute(f"CREATE TABLE people ({TYPES})")
        database.executemany("INSERT INTO people VALUES (?, ?, ?, ?, ?, ?, ?)", ROWS)
        database.execute(f"COPY people TO '{path}' ({options})")


def by_postgres(path: Path, server: PostgresServer, options: str = "FORMAT csv, HEADER") -> None:
    with server.database() as url, psycopg.connect(url) as database:
        database.execute(f"CREATE TABLE people ({TYPES})")
        database.cursor().executemany("INSERT INTO people VALUES (%s, %s, %s, %s, %s, %s, %s)", ROWS)
        with database.cursor().copy(f"COPY people TO STDOUT WITH ({options})") as copied, path.open("wb") as file:
            file.writelines(copied)


WRITTEN: Final[dict[str, tuple[Callable[[Path, PostgresServer], None], dict[str, Any]]]] = {
    "pandas": (by_pandas, {"only_declared": True}),
    "pandas, German": (
        lambda path, _: by_pandas(path, _, sep=";", decimal=",", na_rep="NA", index=False, encoding="cp1252"),
        {"delimiter": ";", "decimal": ",", "missing": ["NA"], "encoding": "cp1252"},
    ),
    "pandas, everything quoted": (
        lambda path, _: by_pandas(path, _, quoting=csv.QUOTE_ALL, index=False, encoding="utf-8-sig"),
        {"encoding": "utf-8-sig"},
    ),
    "pyarrow": (by_pyarrow, {}),
    "Python's csv, as Excel": (by_python, {}),
    "Python's csv, as UNIX, by bars": (
        lambda path, _: by_python(path, _, dialect="unix", delimiter="|"),
        {"delimiter": "|"},
    ),
    "DuckDB": (by_duckdb, {}),
    "DuckDB, by tabs": (
        lambda path, _: by_duckdb(path, _, "HEADER, DELIMITER '\t', NULL 'NULL'"),
        {"delimiter": "tab", "missing": ["NULL"]},
    ),
    "PostgreSQL COPY": (by_postgres, {"true": ["t"], "false": ["f"]}),
    "PostgreSQL COPY in Latin-1": (
        lambda path, server: by_postgres(
            path, server, "FORMAT csv, HEADER, DELIMITER ';', NULL '-', FORCE_QUOTE *, ENCODING 'LATIN1'"
        ),
        {"delimiter": ";", "true": ["t"], "false": ["f"], "missing": ["-"], "encoding": "latin-1"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("tool", WRITTEN)
def test_what_a_tool_writes_is_read_as_declared(tmp_path: Path, postgres_server: PostgresServer, tool: str) -> None:
    write, options = WRITTEN[tool]
    write(tmp_path / "register.csv", postgres_server)
    how = RecordFormat.model_validate({**options, "dates": ["born"]})

    load_records(tmp_path / "register.csv", "text/csv", SCHEMA, 1000, tmp_path / "encoded", form=how)
    records = Records.open(tmp_path / "encoded", SCHEMA)

    assert {
        name: [value for chunk in records.chunks for value in records.values(chunk, name).tolist()] for name in EXPECTED
    } == EXPECTED
    with pytest.raises(InvalidRecords):
        load_records(tmp_path / "register.csv", "text/csv", SCHEMA, 1000, tmp_path / "again", form=STRICT)


@pytest.mark.parametrize("tool", WRITTEN)
def test_what_a_tool_writes_is_drafted_as_declared(tmp_path: Path, postgres_server: PostgresServer, tool: str) -> None:
    write, options = WRITTEN[tool]
    write(tmp_path / "register.csv", postgres_server)
    how = RecordFormat.model_validate({**options, "dates": ["born"]})

    found = draft(tmp_path / "register.csv", "text/csv", how, DraftOptions(people_min=1))

    assert found.person_key == "id"
    drafted = {column.name: (column.type, column.nullable) for column in found.columns}
    assert {name: drafted[name] for name in SCHEMA.by_name} == {
        column.name: (column.type, column.nullable) for column in SCHEMA.columns
    }
