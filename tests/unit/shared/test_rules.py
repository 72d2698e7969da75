"""Predicates and rules: one form for equal meaning, the reference semantics, and what a schema refuses."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from shared.contract.rules import Cell, Predicate, Rule
from shared.contract.schema import Schema, Value
from shared.wire.problems import InvalidPlan, PlanRefused, SensitiveColumn, UnknownColumn

SCHEMA = Schema.model_validate(
    {
        "person_key": "id",
        "columns": [
            {"name": "age", "type": "integer", "minimum": 0, "maximum": 120},
            {"name": "hours", "type": "number", "nullable": True},
            {"name": "education", "type": "category", "categories": ["HS-grad", "11th", "Caf\u00e9"]},
            {"name": "citizen", "type": "boolean", "nullable": True},
            {"name": "sex", "type": "category", "categories": ["Female", "Male"], "sensitive": True},
        ],
    }
)


def predicate(**fields: Any) -> Predicate:
    return Predicate.model_validate(fields)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"op": "le", "value": 37.0}, {"op": "le", "value": 37}),
        ({"op": "le", "value": -0.0}, {"op": "le", "value": 0}),
        ({"op": "in", "values": ["b", "a", "b"]}, {"op": "in", "values": ["a", "b"]}),
        ({"op": "in", "values": ["a", "a"]}, {"op": "eq", "value": "a"}),
        ({"op": "not_in", "values": ["a"]}, {"op": "ne", "value": "a"}),
        ({"op": "in", "values": [10, 9, 9.0, -0.0]}, {"op": "in", "values": [0, 9, 10]}),
        ({"op": "in", "values": [37.0, 37]}, {"op": "eq", "value": 37}),
        ({"op": "not_in", "values": [-0.0]}, {"op": "ne", "value": 0}),
        ({"op": "eq", "value": "Cafe\u0301"}, {"op": "eq", "value": "Caf\u00e9"}),
        ({"op": "in", "values": ["Cafe\u0301", "Caf\u00e9"]}, {"op": "eq", "value": "Caf\u00e9"}),
        ({"op": "eq", "value": True}, {"op": "eq", "value": True, "or_missing": False}),
    ],
)
def test_equal_meaning_has_one_form(one: dict[str, Any], other: dict[str, Any]) -> None:
    assert predicate(column="c", **one) == predicate(column="c", **other)


@pytest.mark.parametrize(
    "fields",
    [
        {"op": "le"},
        *({"op": "le", "value": value} for value in (None, math.nan, math.inf, 2**53 + 1, 10**400)),
        {"op": "le", "values": ["a"]},
        {"op": "in", "value": "a"},
        *({"op": "in", "values": values} for values in ([], [True], [True, 1], [1, "1"], [1, None], [1, [2]])),
        *({"op": "in", "values": values} for values in ([1, 2**53 + 1], [1, math.nan], [math.inf])),
        {"op": "is_missing", "value": 1},
        {"op": "not_missing", "or_missing": True},
        {"op": "like", "value": "a"},
        *({"op": "eq", "value": value} for value in ("a\x00", "", [1])),
        *({"op": "eq", "value": 1, name: 1} for name in ("or_missing", "unknown")),
    ],
)
def test_a_malformed_predicate_does_not_exist(fields: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        predicate(column="c", **fields)


def test_a_threshold_beyond_the_integers_is_a_double() -> None:
    assert predicate(column="c", op="le", value=1e300).value == 1e300


@pytest.mark.parametrize("op", ["lt", "le", "gt", "ge", "eq", "ne"])
@given(value=st.one_of(st.none(), st.integers(-5, 5), st.floats(allow_infinity=False)), threshold=st.floats(-5, 5))
def test_a_comparison_is_what_python_says_and_never_matches_a_missing_value(
    op: str, value: Value | None, threshold: float
) -> None:
    compare = {"lt": "__lt__", "le": "__le__", "gt": "__gt__", "ge": "__ge__", "eq": "__eq__", "ne": "__ne__"}[op]
    missing = value is None or math.isnan(value)  # type: ignore[arg-type]  # numbers alone
    expected = False if missing else getattr(float(value), compare)(threshold)  # type: ignore[arg-type]

    assert predicate(column="c", op=op, value=threshold).matches(value) is expected
    assert predicate(column="c", op=op, value=threshold, or_missing=True).matches(value) is (expected or missing)


@pytest.mark.parametrize("value", [None, float("nan")])
@pytest.mark.parametrize("op", ["eq", "ne", "in", "not_in"])
def test_negations_do_not_match_missing_values_either(op: str, value: Value | None) -> None:
    fields: dict[str, Any] = {"values": ["a", "b"]} if "in" in op else {"value": "a"}

    assert not predicate(column="c", op=op, **fields).matches(value)
    assert predicate(column="c", op=op, or_missing=True, **fields).matches(value)


@given(value=st.one_of(st.none(), st.integers(-9, 9)), numbers=st.lists(st.integers(-9, 9), min_size=1))
def test_a_list_of_whole_numbers_is_the_union_of_its_numbers(value: int | None, numbers: list[int]) -> None:
    inside = predicate(column="age", op="in", values=numbers)
    outside = predicate(column="age", op="not_in", values=[float(number) for number in numbers])

    assert inside.matches(value) is (value in numbers)
    assert outside.matches(value) is (value is not None and value not in numbers)


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"column": "agee", "op": "le", "value": 3}, UnknownColumn),
        ({"column": "id", "op": "eq", "value": "x"}, UnknownColumn),
        ({"column": "sex", "op": "eq", "value": "Male"}, SensitiveColumn),
        ({"column": "age", "op": "is_missing"}, InvalidPlan),
        ({"column": "age", "op": "le", "value": 3, "or_missing": True}, InvalidPlan),
        ({"column": "age", "op": "eq", "value": 3.5}, InvalidPlan),
        *(({"column": "age", "op": "le", "value": value}, InvalidPlan) for value in (True, "3")),
        ({"column": "age", "op": "in", "values": ["3", "4"]}, InvalidPlan),
        ({"column": "age", "op": "not_in", "values": [3, 4.5]}, InvalidPlan),
        ({"column": "hours", "op": "in", "values": [3, 4]}, InvalidPlan),
        ({"column": "education", "op": "in", "values": [11, 12]}, InvalidPlan),
        ({"column": "citizen", "op": "in", "values": [0, 1]}, InvalidPlan),
        ({"column": "education", "op": "le", "value": "11th"}, InvalidPlan),
        *(({"column": "education", "op": "eq", "value": value}, InvalidPlan) for value in ("12th", 11)),
        ({"column": "education", "op": "in", "values": ["11th", "12th"]}, InvalidPlan),
        ({"column": "citizen", "op": "eq", "value": 1}, InvalidPlan),
        ({"column": "citizen", "op": "ne", "value": True}, InvalidPlan),
    ],
)
def test_a_predicate_that_does_not_fit_the_schema_is_refused_with_its_path(
    fields: dict[str, Any], error: type[PlanRefused]
) -> None:
    with pytest.raises(error) as refusal:
        predicate(**fields).check(SCHEMA, "batches[0].cells[1]")

    assert refusal.value.path == "batches[0].cells[1]"


@pytest.mark.parametrize(
    "fields",
    [
        {"column": "age", "op": "le", "value": 37.5},
        {"column": "age", "op": "gt", "value": 1e300},
        {"column": "hours", "op": "is_missing"},
        {"column": "hours", "op": "ge", "value": -3, "or_missing": True},
        {"column": "education", "op": "eq", "value": "Cafe\u0301"},
        {"column": "citizen", "op": "eq", "value": False},
    ],
)
def test_a_predicate_that_fits_is_admitted(fields: dict[str, Any]) -> None:
    predicate(**fields).check(SCHEMA, "")


def test_a_cell_written_as_a_rule_is_the_union_of_that_rule() -> None:
    everybody = Cell.model_validate({"id": "all", "all_of": []})

    assert everybody == Cell(id="all", any_of=(Rule(id="all", all_of=()),))
    assert everybody.matches({})


def test_a_union_matches_whom_any_of_its_rules_matches() -> None:
    cell = Cell.model_validate(
        {
            "id": "u",
            "any_of": [
                {"all_of": [{"column": "age", "op": "le", "value": 20}]},
                {"all_of": [{"column": "age", "op": "le", "value": 30}, {"column": "hours", "op": "is_missing"}]},
            ],
        }
    )

    assert cell.matches({"age": 20, "hours": 1.0})
    assert cell.matches({"age": 25})
    assert not cell.matches({"age": 25, "hours": 1.0})


def test_groups_are_every_combination_the_last_column_fastest_missing_last() -> None:
    schema = Schema.model_validate(
        {
            "person_key": "id",
            "columns": [
                {"name": "sex", "type": "category", "categories": ["F", "M"], "sensitive": True},
                {"name": "born", "type": "boolean", "nullable": True, "sensitive": True},
            ],
        }
    )

    assert schema.groups(["sex", "born"]) == (
        ("F", False), ("F", True), ("F", None), ("M", False), ("M", True), ("M", None),
    )  # fmt: skip
    assert schema.groups(["born"]) == ((False,), (True,), (None,))
