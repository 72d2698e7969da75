"""Aggregate tables: what is refused of them, how they are encoded, and what one of a row's people moves."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from pydantic import ValidationError

from holder_service.domain.disjointness import disjoint_classes
from holder_service.domain.errors import InvalidRecords
from holder_service.records.counting import count_cells
from holder_service.records.encoded import CHUNK_RECORDS_MAX, Records, load_records
from shared.contract.datasets import DatasetDeclaration
from shared.contract.rules import Cell, Predicate, Rule
from shared.contract.schema import Column, Schema
from shared.scores.columns import DerivedColumn
from shared.wire.problems import InvalidPlan
from testing.encoded_records import PARQUET, encoded_columns

COLUMNS = (
    Column(name="age", type="integer", minimum=0, maximum=120),
    Column(name="sex", type="category", categories=("F", "M"), sensitive=True),
)
SCHEMA = Schema(people="people", columns=COLUMNS)
CSV = "text/csv"
YOUNG, OLD, ALL = (
    Cell(id=name, any_of=(Rule(all_of=tests),))
    for name, tests in (
        ("young", (Predicate(column="age", op="lt", value=40),)),
        ("old", (Predicate(column="age", op="ge", value=40),)),
        ("all", ()),
    )
)
CELLS = (YOUNG, OLD, ALL)


def loaded(content: str, folder: Path, *, records_max: int = 10**9) -> Records:
    (folder / "upload").write_text(content)
    load_records(folder / "upload", CSV, SCHEMA, records_max, folder / "encoded")
    return Records.open(folder / "encoded", SCHEMA)


def refusal(source: Path, media_type: str, *, records_max: int = 10**9) -> list[dict[str, str]]:
    with pytest.raises(InvalidRecords) as refused:
        load_records(source, media_type, SCHEMA, records_max, source.with_name("encoded"))
    assert not source.with_name("encoded").exists()
    found: list[dict[str, str]] = refused.value.fields["errors"]
    return found


def counted(records: Records) -> list[list[int]]:
    counts = count_cells(records, CELLS, disjoint_classes(CELLS, SCHEMA), ["sex"]).reveal_to_mechanism()
    return [list(map(int, row)) for row in counts]


@pytest.mark.parametrize("named", [{}, {"person_key": "id", "people": "people"}, {"people": "age"}, {"people": ""}])
def test_a_declaration_names_either_a_person_key_or_a_column_of_people(named: dict[str, Any]) -> None:
    with pytest.raises(ValidationError) as refused:
        DatasetDeclaration.model_validate({**named, "columns": [column.model_dump() for column in COLUMNS]})

    assert ("(person_key)" in str(refused.value)) == (named.keys() != {"people"})


@pytest.mark.parametrize("bad", ["0", "-3", "2.5", "", "many", "1000000001", "1e30", "NaN"])
def test_a_number_of_people_that_is_none_is_named_by_line_and_column_and_never_shown(bad: str, tmp_path: Path) -> None:
    (tmp_path / "upload").write_text(f"sex,people,age\nF,7,20\nM,{bad},77\nF,1,300\n")

    first, second = refusal(tmp_path / "upload", CSV)

    assert first["field"] == "line 3, column 'people'"
    assert first["detail"] == (
        "expected how many people the row stands for: a whole number from 1 to 1000000000; the column is not nullable."
    )
    assert second["field"] == "line 4, column 'age'"


@pytest.mark.parametrize("bad", [0, -1, None, 10**9 + 1, 2**62])
def test_a_parquet_file_is_refused_in_the_same_words(bad: int | None, tmp_path: Path) -> None:
    table = pa.table({"people": pa.array([3, bad], pa.int64()), "age": [20, 30], "sex": ["F", "M"]})
    pa.parquet.write_table(table, tmp_path / "upload")

    (found,) = refusal(tmp_path / "upload", PARQUET)

    assert found["field"] == "record 2, column 'people'"


def test_a_column_of_texts_is_no_column_of_people(tmp_path: Path) -> None:
    pa.parquet.write_table(pa.table({"people": ["3"], "age": [20], "sex": ["F"]}), tmp_path / "upload")

    assert [one["field"] for one in refusal(tmp_path / "upload", PARQUET)] == ["column 'people'"]


def test_a_file_without_the_column_is_refused_and_a_person_key_is_no_declared_column(tmp_path: Path) -> None:
    (tmp_path / "upload").write_text("id,age,sex\np1,20,F\n")

    other, missing = refusal(tmp_path / "upload", CSV)

    assert "the column of people 'people' and every declared column" in other["detail"]
    assert missing["detail"] == "column 'people' is missing."


def test_records_max_bounds_people_and_not_rows(tmp_path: Path) -> None:
    content = "age,sex,people\n20,F,60\n50,M,40\n"

    assert counted(loaded(content, tmp_path, records_max=100)) == [[60, 0], [0, 40], [60, 40]]

    (folder := tmp_path / "more").mkdir()
    (folder / "upload").write_text(content)
    (found,) = refusal(folder / "upload", CSV, records_max=99)
    assert found["detail"].startswith("The dataset declares at most 99 people, and the file has more")


def test_sums_are_exact_up_to_the_largest_dataset(tmp_path: Path) -> None:
    """Beyond what 32 bits, or a float32, can hold of them."""
    rows = ["age,sex,people", "20,F,999999998", "30,F,1", "50,F,1"]

    assert counted(loaded("\n".join(rows), tmp_path)) == [[999_999_999, 0], [1, 0], [10**9, 0]]


def test_no_chunk_is_forgotten(tmp_path: Path) -> None:
    rows = CHUNK_RECORDS_MAX + 5
    people = np.arange(rows) % 9 + 1
    columns = {"age": np.full(rows, 20), "sex": ["F"] * rows}

    records = encoded_columns(tmp_path, SCHEMA, columns, people=people[: (10**6)].tolist())

    assert counted(records)[0] == [int(people.sum()), 0]


def test_an_encoded_table_holds_numbers_of_people_and_no_hash(tmp_path: Path) -> None:
    records = loaded("age,sex,people\n20,F,60\n50,M,40\n", tmp_path)

    (chunk,) = records.chunks
    assert chunk.weights is not None
    assert chunk.weights.tolist() == [60, 40]
    assert not len(chunk.people)


@pytest.mark.parametrize("more", [[21, 3, 4], [20, 4, 4], [20, 3, 3], [20, 3, 4, 1]])
def test_one_person_more_or_less_moves_one_count_of_each_class_by_one(more: list[int], tmp_path: Path) -> None:
    """In a row that there is, or as a row of its own: `add_remove`."""
    ages, sexes = (20, 50, 50, 70), "FFMM"
    tables = []
    for number, people in enumerate(([20, 3, 4], more)):
        (folder := tmp_path / str(number)).mkdir()
        rows = [f"{ages[row]},{sexes[row]},{often}" for row, often in enumerate(people)]
        tables.append(np.array(counted(loaded("\n".join(["age,sex,people", *rows]), folder))))

    moved = np.abs(tables[0] - tables[1])
    for indices in disjoint_classes(CELLS, SCHEMA):
        assert moved[list(indices)].sum() == 1


@pytest.mark.parametrize(("changed", "moves"), [((19, 4, 4), 2), ((20, 2, 5), 2), ((19, 3, 5), 2)])
def test_one_person_who_is_another_moves_two_counts_of_each_class_at_most(
    changed: tuple[int, ...], moves: int, tmp_path: Path
) -> None:
    """From one row to another: `replace`, and `sensitive_attribute` where the rows differ in the group alone."""
    tables = []
    for number, people in enumerate(((20, 3, 4), changed)):
        (folder := tmp_path / str(number)).mkdir()
        rows = [f"{age},{sex},{often}" for age, sex, often in zip((20, 50, 50), "FFM", people, strict=True)]
        tables.append(np.array(counted(loaded("\n".join(["age,sex,people", *rows]), folder))))

    moved = np.abs(tables[0] - tables[1])
    assert max(moved[list(indices)].sum() for indices in disjoint_classes(CELLS, SCHEMA)) == moves


def test_a_linked_column_is_refused_and_a_score_is_not() -> None:
    linked = {"name": "decided", "type": "boolean", "nullable": True, "from": "linked", "values": "sha256:" + "0" * 64}
    score = {
        "name": "score", "type": "number",
        "from": {"score": {"kind": "terms", "precision": "float64", "base": 0.0, "terms": [
            {"columns": ["age"], "slope": 1.0, "missing": 0.0},
        ]}},
    }  # fmt: skip

    DerivedColumn.model_validate(score).check(SCHEMA)
    with pytest.raises(InvalidPlan, match=r"nobody has a key .* Ask for a score"):
        DerivedColumn.model_validate(linked).check(SCHEMA)
    for one in (linked, score):
        with pytest.raises(InvalidPlan, match="another name"):
            DerivedColumn.model_validate({**one, "name": "people"}).check(SCHEMA)
