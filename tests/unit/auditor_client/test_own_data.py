"""Cells counted in the auditor's own data: as the reference evaluator counts them, whatever the file."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from auditor_client.asking.own_data import OwnData
from auditor_client.errors import QuestionRefused
from shared.contract.rules import Cell, Predicate, Rule
from shared.contract.schema import Column, Schema
from shared.scores.columns import DerivedColumn, ScoreOrigin, extended
from shared.scores.documents import Terms
from shared.scores.values import score_value
from testing.registers import LOANS

PEOPLE: list[dict[str, Any]] = [
    {"age": 17, "hours": 3.5, "region": "North", "marital status": "single", "citizen": True, "repaid": False},
    {"age": 18, "hours": None, "region": "South", "marital status": "in a home", "citizen": False, "repaid": True},
    {"age": 60, "hours": 40.0, "region": "East", "marital status": "single", "citizen": True, "repaid": True},
    {
        "age": 61,
        "hours": None,
        "region": "East",
        "marital status": "married and well",
        "citizen": True,
        "repaid": False,
    },
    {"age": 99, "hours": 0.0, "region": "North", "marital status": "single", "citizen": False, "repaid": True},
]
TABLE = pd.DataFrame(PEOPLE)

ORDERED = st.builds(
    Predicate,
    column=st.sampled_from(["age", "hours"]),
    op=st.sampled_from(["lt", "le", "gt", "ge", "eq", "ne"]),
    value=st.sampled_from([0, 3.5, 17, 18, 40, 60, 61]),
    or_missing=st.booleans(),
)
CHOSEN = st.builds(
    lambda op, values: Predicate(column="region", op=op, values=tuple(values)),
    st.sampled_from(["in", "not_in"]),
    st.sets(st.sampled_from(["North", "South", "East"]), min_size=1),
)
NUMBERED = st.builds(
    lambda op, values: Predicate(column="age", op=op, values=tuple(values)),
    st.sampled_from(["in", "not_in"]),
    st.sets(st.sampled_from([17, 18, 40, 60, 61, 2**53, 1e300]), min_size=1),
)
OTHER = st.sampled_from(
    [
        Predicate(column="citizen", op="eq", value=True),
        Predicate(column="repaid", op="eq", value=False),
        Predicate(column="hours", op="is_missing"),
        Predicate(column="hours", op="not_missing"),
        Predicate(column="marital status", op="ne", value="single"),
    ]
)
CELLS = st.builds(
    lambda rules: Cell(id="c", any_of=tuple(Rule(all_of=tuple(rule)) for rule in rules)),
    st.lists(st.lists(ORDERED | CHOSEN | NUMBERED | OTHER, max_size=3), min_size=1, max_size=3),
)


@settings(max_examples=200, deadline=None)
@given(CELLS)
def test_a_cell_is_counted_as_the_reference_evaluator_counts_it(cell: Cell) -> None:
    assert OwnData(TABLE, LOANS.table).count(cell) == sum(cell.matches(person) for person in PEOPLE)


SCORES: list[dict[str, Any]] = [
    {"kind": "terms", "precision": "float64", "base": 3.0, "terms": []},
    {"kind": "terms", "precision": "float64", "terms": [{"columns": ["age"], "slope": 0.1}]},
    {"kind": "terms", "precision": "float64", "terms": [{"columns": ["hours", "citizen"], "slope": 0.5}]},
    {
        "kind": "list",
        "cases": [{"rule": {"all_of": [{"column": "region", "op": "eq", "value": "East"}]}, "value": True}],
        "otherwise": False,
    },
]


@pytest.mark.parametrize("document", SCORES, ids=["constant", "age", "product", "list"])
def test_a_score_is_computed_as_the_holder_would(document: dict[str, Any]) -> None:
    kind = "boolean" if document["kind"] == "list" else "number"
    column = DerivedColumn.model_validate(
        {"name": "score", "type": kind, "nullable": True, "from": {"score": document}}
    )
    assert isinstance(column.origin, ScoreOrigin)
    score = column.origin.score
    schema = extended(LOANS.table, {"score": column.column}, reads={})
    tests = [Predicate(column="score", op="is_missing"), Predicate(column="age", op="gt", value=17)]
    if kind == "boolean":
        tests.append(Predicate(column="score", op="eq", value=True))
    else:
        tests += [Predicate(column="score", op=op, value=value) for op in ("gt", "le") for value in (1.7, 3, 5)]
    records = [{**person, "score": score_value(score, person)} for person in PEOPLE]

    for test in tests:
        cell = Cell(id="c", any_of=(Rule(all_of=(test,)),))
        counted = OwnData(TABLE.iloc[::-1], schema, {"score": score}).count(cell)
        assert counted == sum(cell.matches(record) for record in records), test


EAST = Cell(id="east", any_of=(Rule(all_of=(Predicate(column="region", op="eq", value="East"),)),))
CITIZENS = Cell(id="citizens", any_of=(Rule(all_of=(Predicate(column="citizen", op="eq", value=True),)),))
KNOWN = Cell(id="known", any_of=(Rule(all_of=(Predicate(column="hours", op="not_missing"),)),))


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_files_are_read_like_tables(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"people.{ending}"
    if ending == "csv":
        TABLE.to_csv(path, index=False)
    else:
        TABLE.to_parquet(path)

    data = OwnData(path, LOANS.table)

    assert len(data) == 5
    assert [data.count(cell) for cell in (EAST, CITIZENS, KNOWN)] == [2, 3, 3]


def test_data_are_read_once_for_several_questions(tmp_path: Path) -> None:
    """Each question computes its own score, also where two have one name."""
    path = tmp_path / "people.csv"
    TABLE.to_csv(path, index=False)
    data = OwnData(path, LOANS.table)
    assert data.count(CITIZENS) == 3
    path.unlink()
    above = Cell(id="above", any_of=(Rule(all_of=(Predicate(column="score", op="gt", value=100),)),))

    for slope, expected in ((2.0, 3), (1.0, 0)):
        document = Terms.model_validate(
            {"kind": "terms", "precision": "float64", "terms": [{"columns": ["age"], "slope": slope}]}
        )
        column = DerivedColumn.model_validate({"name": "score", "type": "number", "from": {"score": document}})
        schema = extended(LOANS.table, {"score": column.column}, reads={"score": column.reads})
        about = data.about(schema, {"score": document})

        assert [about.count(cell) for cell in (EAST, CITIZENS, above)] == [2, 3, expected]


def test_a_category_that_is_called_none_is_not_missing(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text("age,region,hours\n3,None,\n4,North,2\n")

    with pytest.raises(QuestionRefused, match="'None'"):
        OwnData(path, LOANS.table).count(EAST)


@pytest.mark.parametrize(
    ("table", "refusal"),
    [
        (TABLE.drop(columns="region"), "do not have the column 'region'"),
        (TABLE.assign(region="Mars"), "'Mars'"),
        (TABLE.assign(region=TABLE["region"].str.lower()), "does not declare"),
    ],
)
def test_data_that_do_not_fit_the_dataset_are_refused(table: pd.DataFrame, refusal: str) -> None:
    with pytest.raises(QuestionRefused, match=refusal):
        OwnData(table, LOANS.table).count(EAST)


def test_values_of_the_wrong_kind_are_refused() -> None:
    with pytest.raises(QuestionRefused, match="declare"):
        OwnData(TABLE.assign(citizen="perhaps"), LOANS.table).count(CITIZENS)
    with pytest.raises(QuestionRefused, match="is not a number"):
        OwnData(TABLE.assign(hours="many"), LOANS.table).count(
            Cell(id="c", any_of=(Rule(all_of=(Predicate(column="hours", op="gt", value=1),)),))
        )


def test_a_file_that_is_not_there_is_reported(tmp_path: Path) -> None:
    with pytest.raises(QuestionRefused, match="cannot be read"):
        OwnData(tmp_path / "none.csv", LOANS.table)


def test_edges_put_as_many_people_into_every_band_as_ties_allow() -> None:
    column = Column(name="score", type="number", nullable=True)
    schema = Schema(person_key="id", columns=(column,))
    data = OwnData(pd.DataFrame({"score": [*range(1, 101), None]}), schema)
    tied = OwnData(pd.DataFrame({"score": [1.0] * 60 + [2.0] * 30 + [3.0] * 10}), schema)

    assert data.edges(column, 4) == (25.0, 50.0, 75.0)
    assert tied.edges(column, 4) == (1.0, 2.0)
    with pytest.raises(QuestionRefused, match="too few different values"):
        OwnData(pd.DataFrame({"score": [1.0, 1.0]}), schema).edges(column, 4)


def test_a_score_is_computed_where_the_data_lack_it() -> None:
    age, score = Column(name="age", type="integer"), Column(name="score", type="number")
    schema = Schema(person_key="id", columns=(age, score))
    document = Terms.model_validate(
        {"kind": "terms", "precision": "float64", "base": 1, "terms": [{"columns": ["age"], "slope": 0.5}]}
    )
    data = OwnData(pd.DataFrame({"age": [10, 20, 30]}), schema, {"score": document})

    assert data.edges(score, 3) == (6.0, 11.0)
