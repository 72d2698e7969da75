"""Rules in words: short, and still exact about which values pass."""

import re
from collections.abc import Callable
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from auditor_client.models.tree import DecisionRule, Leaf
from auditor_client.rule_words import rule_text, rule_words, value_words
from shared.contract.rules import Predicate, Rule
from shared.contract.schema import Column, Value

AGE: Final = Column(name="x", type="integer", minimum=18, maximum=30, nullable=True)
WORK: Final = Column(name="x", type="category", categories=("employed", "self-employed", "unemployed", "student"))
INCOME: Final = Column(name="x", type="number", minimum=0, maximum=1_000_000, nullable=True)
CITIZEN: Final = Column(name="x", type="boolean")


def rule(*tests: tuple[str, Any], or_missing: bool = False) -> Rule:
    """A rule about the column x."""
    made = []
    for op, value in tests:
        name = "values" if isinstance(value, list) else "value"
        known = {} if value is None else {name: value, "or_missing": or_missing}
        made.append(Predicate.model_validate({"column": "x", "op": op, **known}))
    return Rule(all_of=tuple(made))


@pytest.mark.parametrize(
    ("tests", "column", "words"),
    [
        ([("le", 50), ("gt", 20), ("le", 37.5)], None, "is above 20 and at most 37.5"),
        ([("lt", 50), ("le", 50), ("ge", 0), ("gt", 0)], None, "is above 0 and below 50"),
        ([("ne", "a"), ("not_in", ["b", "a", "c"])], None, "is not a, b or c"),
        ([("in", ["a", "b"])], None, "is a or b"),
        ([("eq", "self-employed"), ("ne", "unemployed")], None, "is self-employed"),
        ([("in", ["a", "b", "c"]), ("ne", "b"), ("in", ["b", "c"])], None, "is c"),
        ([("not_in", ["unemployed", "student"])], WORK, "is employed or self-employed"),
        ([("ne", "student")], WORK, "is not student"),
        ([("is_missing", None)], None, "is missing"),
        ([("not_missing", None)], None, "is not missing"),
        ([("not_missing", None), ("ge", 2013)], None, "is at least 2013"),
        ([("eq", True)], None, "is yes"),
        ([("ne", True)], CITIZEN, "is no"),
        ([("ge", -1.5)], None, "is at least −1.5"),
        ([("gt", 20.5), ("le", 25.5)], AGE, "is 21 to 25"),
        ([("gt", 20.5)], AGE, "is at least 21"),
        ([("lt", 21)], AGE, "is at most 20"),
        ([("le", 18.5)], AGE, "is 18"),
        ([("ge", 24.2), ("lt", 25.9)], AGE, "is 25"),
        ([("ge", 2), ("le", 25)], AGE, "is at most 25"),
        ([("gt", 24904.25098), ("le", 38736.79102)], INCOME, "is above 24904.3 and at most 38736.8"),
        ([("gt", 0.123456789), ("le", 0.123456791)], INCOME, "is above 0.123456789 and at most 0.123456791"),
        ([("gt", 999_999.99)], INCOME, "is above 999999.99"),
        ([("le", 0)], INCOME, "is 0"),
        ([("gt", 0.49999999999999994), ("lt", 0.7000000000000001)], INCOME, "is at least 0.5 and at most 0.7"),
        ([("gt", -5e-324)], None, "is at least 0"),
        ([("le", 0.29999999999999993)], None, "is below 0.3"),
        ([("gt", 20), ("lt", 21)], AGE, "is none of its possible values"),
        ([("gt", 30.5)], AGE, "is none of its possible values"),
        ([("gt", 2), ("lt", 2)], None, "is none of its possible values"),
        ([("ge", 2), ("lt", 2), ("ne", 5)], None, "is none of its possible values"),
        ([("gt", 3), ("le", 1)], INCOME, "is none of its possible values"),
        ([("lt", 0)], INCOME, "is none of its possible values"),
    ],
)
def test_rules_are_said_in_few_words(tests: list[tuple[str, Any]], column: Column | None, words: str) -> None:
    [said] = rule_words(rule(*tests), {} if column is None else {"x": column})

    assert (said.column, said.words) == ("x", words)


@pytest.mark.parametrize(
    ("passes", "tests", "words"),
    [
        ((True, True), [], "is at most 5 (or missing)"),
        ((True, False), [], "is at most 5"),
        ((True, True), ["is_missing"], "is missing"),
        ((True, True), ["not_missing"], "is at most 5"),
        ((False, True), ["is_missing"], "is none of its possible values"),
    ],
)
def test_missing_is_said_where_the_whole_rule_lets_it_pass(
    passes: tuple[bool, bool], tests: list[str], words: str
) -> None:
    made = Rule(
        all_of=(
            *(Predicate(column="x", op="le", value=9 - 4 * k, or_missing=passing) for k, passing in enumerate(passes)),
            *(Predicate.model_validate({"column": "x", "op": op}) for op in tests),
        )
    )

    assert [said.words for said in rule_words(made)] == [words]


def test_where_no_value_passes_missing_ones_may() -> None:
    [said] = rule_words(rule(("gt", 20), ("lt", 21), or_missing=True), {"x": AGE})

    assert said.words == "is missing"


def test_what_everybody_passes_is_not_said() -> None:
    assert rule_words(rule(("ge", 18), or_missing=True), {"x": AGE}) == ()
    assert rule_words(rule(("le", 30.5), or_missing=True), {"x": AGE}) == ()
    assert [str(one) for one in rule_words(rule(("ge", 18)), {"x": AGE})] == ["x is not missing"]
    assert rule_text(Rule(all_of=())) == "everybody"


def test_what_was_rounded_is_beside_it_in_full() -> None:
    [said] = rule_words(rule(("gt", 24904.25098)), {"x": INCOME})
    [whole] = rule_words(rule(("gt", 20.5)), {"x": AGE})

    assert said.exact == "is above 24904.25098"
    assert whole.exact == ""


def test_python_and_terminal_say_a_rule_alike() -> None:
    made = DecisionRule(rule(("gt", 24904.25098), or_missing=True), Leaf("n", "granted", favourable=True))

    assert str(made) == "x is above 24904.3 (or missing): granted"


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_value_has_its_magnitude_and_no_more_digits_than_it_needs(value: float) -> None:
    shown = value_words(value).replace("−", "-").replace("just above 0", "0").replace("just below 0", "-0")

    assert float(shown) == pytest.approx(value, rel=1e-5, abs=1e-300)
    assert float(value_words(value, 17).replace("−", "-")) == value


OPERANDS: Final[dict[str, st.SearchStrategy[Any]]] = {
    "integer": st.one_of(
        st.tuples(st.sampled_from(["lt", "le", "gt", "ge"]), st.floats(14, 34) | st.integers(14, 34)),
        st.tuples(st.sampled_from(["eq", "ne"]), st.integers(18, 30)),
        st.tuples(st.sampled_from(["in", "not_in"]), st.lists(st.integers(18, 30), min_size=1, max_size=4)),
    ),
    "category": st.one_of(
        st.tuples(st.sampled_from(["eq", "ne"]), st.sampled_from(WORK.categories or ())),
        st.tuples(st.sampled_from(["in", "not_in"]), st.lists(st.sampled_from(WORK.categories or ()), min_size=1)),
    ),
}
"""By type of column, a test and what it compares with."""


@pytest.mark.parametrize("column", [AGE, WORK], ids=["integer", "category"])
@given(data=st.data())
def test_the_words_say_exactly_which_values_pass(column: Column, data: st.DataObject) -> None:
    """A reader who takes the words as they are lets the same values pass as the rule does."""
    tests = data.draw(st.lists(OPERANDS[column.type], min_size=1, max_size=4))
    made = rule(*tests, or_missing=column.nullable and data.draw(st.booleans()))
    values: list[Value | None] = [*(range(18, 31) if column.ordered else column.values)]
    values += [None] if column.nullable else []

    said = [one.words for one in rule_words(made, {"x": column})]

    assert [understood(said)(value) for value in values] == [made.matches({"x": value}) for value in values], said


def understood(said: list[str]) -> Callable[[Value | None], bool]:
    """What a reader takes conditions to mean, read from the words alone."""

    def passes(value: Value | None) -> bool:
        for sentence in said:
            words, or_missing = re.subn(r" \(or missing\)$", "", sentence.removeprefix("is "))
            if value is None:
                if not or_missing and words != "missing":
                    return False
            elif not all(holds(part, value) for part in words.split(" and ")):
                return False
        return True

    return passes


def holds(part: str, value: Value) -> bool:
    """Whether a value passes one part of a condition."""
    if part in ("missing", "not missing", "none of its possible values"):
        return part == "not missing"
    if part.startswith("not "):
        return not holds(part.removeprefix("not "), value)
    for sign, bound in re.findall(r"^(at least|at most) (\S+)$", part):
        return int(value) >= int(bound) if sign == "at least" else int(value) <= int(bound)
    for low, high in re.findall(r"^(\d+) to (\d+)$", part):
        return int(low) <= int(value) <= int(high)
    return str(value) in re.split(", | or ", part)
