"""A scope is read in exactly one way, or refused."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from auditor_client.asking.scope import scope_predicates
from auditor_client.errors import QuestionRefused
from shared.contract.rules import Predicate
from testing.registers import LOANS

SCHEMA = LOANS.table


@pytest.mark.parametrize(
    ("text", "predicates"),
    [
        ("age >= 18", [("age", "ge", 18)]),
        ("age>=18 and age<65", [("age", "ge", 18), ("age", "lt", 65)]),
        ("hours ≤ 37.5 or missing", [("hours", "le", 37.5, True)]),
        ("hours is missing", [("hours", "is_missing")]),
        ("hours is not missing", [("hours", "not_missing")]),
        ("region in (North, South)", [("region", "in", ["North", "South"])]),
        ("age in (40, 18, 18.0)", [("age", "in", [18, 40])]),
        ("age not in (40)", [("age", "ne", 40)]),
        ("region not in (North, South)", [("region", "not_in", ["North", "South"])]),
        ("region != East", [("region", "ne", "East")]),
        ("region in (North)", [("region", "eq", "North")]),
        ('marital status = "married and well"', [("marital status", "eq", "married and well")]),
        ('"marital status" = "in a home" and age > 60', [("marital status", "eq", "in a home"), ("age", "gt", 60)]),
        ("region = North or region = South", [("region", "in", ["North", "South"])]),
        ("region in (North, East) or region = South", [("region", "in", ["North", "East", "South"])]),
        ("age = 18 or age = 18", [("age", "eq", 18)]),
        ("citizen = yes", [("citizen", "eq", True)]),
        ("citizen == false", [("citizen", "eq", False)]),
        ("age > -1", [("age", "gt", -1)]),
        ('{"all_of": [{"column": "age", "op": "ge", "value": 18}]}', [("age", "ge", 18)]),
    ],
)
def test_conditions_are_read_as_people_write_them(text: str, predicates: list[tuple[object, ...]]) -> None:
    expected = []
    for column, op, *rest in predicates:
        document: dict[str, object] = {"column": column, "op": op}
        if rest:
            document["values" if isinstance(rest[0], list) else "value"] = rest[0]
        if len(rest) > 1:
            document["or_missing"] = rest[1]
        expected.append(Predicate.model_validate(document))

    assert scope_predicates([text], SCHEMA) == tuple(expected)


def test_several_scopes_all_hold_and_repeats_are_one() -> None:
    assert scope_predicates(["age >= 18", "age >= 18 and region = East"], SCHEMA) == (
        Predicate(column="age", op="ge", value=18),
        Predicate(column="region", op="eq", value="East"),
    )


@pytest.mark.parametrize(
    ("text", "refusal"),
    [
        ("", "lacks a comparison"),
        ("age", "lacks a comparison"),
        ("age >=", "missing"),
        (">= 18", "lacks a comparison"),
        ("age >= 18 and", "lacks a comparison"),
        ("age >= eighteen", "number"),
        ("age >= 18 years", "number"),
        ("age in 18", "brackets"),
        ("region in (North, )", "cannot be read"),
        ("region in North, South", "brackets"),
        ("region = Mars", "'Mars' is no value of column 'region'"),
        ("region = Nort", "did you mean 'North'"),
        ("region in (South, north)", "did you mean 'North'"),
        ("region = North or South", "behind in"),
        ("hour > 3", "did you mean 'hours'"),
        ("shoe size > 40", "does not declare"),
        ("sex = Female", "sensitive"),
        ("citizen = maybe", "true or false"),
        ("marital status = married and well", "did you mean 'married and well'"),
        ("age is missing", "never missing"),
        ("hours is missing or missing", "neither"),
        ('region = "North', "cannot be read"),
        ("age >= nan", "finite"),
        ('{"all_of": 3}', "JSON"),
        ("age >= 18 or age < 5", "values of one column"),
        ("region = North or age = 5", "values of one column"),
        ("hours = 5 or missing or hours = 7", "cannot be read|number"),
        ("region = North or region = South and age > 3", "ambiguous"),
    ],
)
def test_what_cannot_be_read_in_one_way_is_refused(text: str, refusal: str) -> None:
    with pytest.raises(QuestionRefused, match=refusal):
        scope_predicates([text], SCHEMA)


@pytest.mark.slow
@given(st.text(max_size=60))
def test_any_text_is_read_or_refused(text: str) -> None:
    with contextlib.suppress(QuestionRefused):
        scope_predicates([text], SCHEMA)
