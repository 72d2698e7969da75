"""What score documents are worth: examples by hand, and the arrays against the reference, bit for bit."""

import math
import random
import struct
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter

from shared.scores import arrays as score_arrays
from shared.scores.arrays import TableColumns, score_array, score_column
from shared.scores.documents import Document, Trees, check_document, may_be_missing
from shared.scores.values import score_value
from testing.invented.documents import SCHEMA, Person, invented_document, invented_people

BASE: Person = {
    "age": 3, "children": 2, "income": 40000, "share": 0.5, "amount": 1.5, "colour": "red", "city": "Aa",
    "member": True, "insured": False, "sex": "female",
}  # fmt: skip


def document(**fields: Any) -> Document:
    read: Document = TypeAdapter(Document).validate_python(fields)
    check_document(read, SCHEMA)
    return read


def bits(value: float | str | bool | None) -> object:
    """A value such that 0.0 and −0.0 differ."""
    return struct.pack("<d", value) if isinstance(value, float) else value


def test_trees_are_added_in_the_documents_order_and_precision() -> None:
    tests = [{"column": "age", "op": "le", "value": 3}]
    leaves = [{"tests": [0], "yes": [-1], "no": [-2], "values": [value, 9.0]} for value in (1e8, 1.0, -1e8)]
    narrow = document(kind="trees", precision="float32", tests=tests, trees=leaves)
    wide = document(kind="trees", precision="float64", base=0.5, tests=tests, trees=leaves, mean=True)

    assert score_value(narrow, BASE) == 0.0
    assert score_value(wide, BASE) == 0.5
    assert score_value(narrow, {**BASE, "age": 4}) == 27.0


def test_terms_are_worth_their_numbers_and_what_is_said_of_missing_ones() -> None:
    terms = document(
        kind="terms", precision="float64", base=10.0,
        terms=[
            {"columns": ["amount", "member"], "slope": 2.0, "missing": 100.0},
            {"axes": [{"column": "children", "cuts": [0.0, 2.0], "missing": True}], "table": [1.0, 2.0, 3.0, 4.0]},
            {"rule": {"all_of": [{"column": "colour", "op": "eq", "value": "red"}]}, "value": 1000.0},
        ],
    )  # fmt: skip

    assert score_value(terms, BASE) == 10.0 + 3.0 + 2.0 + 1000.0
    assert score_value(terms, {**BASE, "amount": None, "children": math.nan, "colour": None}) == 10.0 + 100.0 + 4.0
    assert not may_be_missing(terms, SCHEMA)


def test_a_term_without_a_word_on_missing_makes_the_score_missing() -> None:
    terms = document(kind="terms", precision="float64", terms=[{"columns": ["amount"], "slope": 1.0}])

    assert may_be_missing(terms, SCHEMA)
    assert score_value(terms, {**BASE, "amount": None}) is None
    assert score_value(terms, BASE) == 1.5


def test_a_network_adds_input_by_input() -> None:
    layers = document(
        kind="layers", precision="float64",
        inputs=[{"columns": ["amount"], "slope": 1.0, "missing": 0.0}, {"columns": ["share"], "slope": 1.0}],
        layers=[
            {"weights": [[2.0, 0.0], [-1.0, 1.0]], "bias": [0.0, 0.0], "activation": "relu"},
            {"weights": [[1.0, 5.0]], "bias": [-3.0], "activation": "logistic"},
        ],
    )  # fmt: skip

    assert score_value(layers, BASE) == 0.5


@pytest.mark.parametrize(
    ("slope", "value", "expected"), [(1e30, 1e300, 1.7976931348623157e308), (-1e30, 1e300, -1.7976931348623157e308)]
)
def test_what_overflows_is_the_largest_number_of_its_sign(slope: float, value: float, expected: float) -> None:
    terms = document(kind="terms", precision="float64", terms=[{"columns": ["share"], "slope": slope}])

    assert score_value(terms, {**BASE, "share": value}) == expected


def test_what_is_no_number_is_zero() -> None:
    product = {"columns": ["share"], "slope": 1e30}
    opposite = {"columns": ["share"], "slope": -1e30}
    terms = document(kind="terms", precision="float32", base=1.0, terms=[product, opposite])

    assert score_value(terms, {**BASE, "share": 1e300}) == 0.0


def test_a_list_says_what_its_first_matching_rule_does_and_a_choice_the_first_of_the_largest() -> None:
    red = {"all_of": [{"column": "colour", "op": "eq", "value": "red"}]}
    listed = document(
        kind="list", cases=[{"rule": red, "value": "a"}, {"rule": {"all_of": []}, "value": "b"}], otherwise="c"
    )
    ones: list[Any] = [
        {"kind": "terms", "precision": kind, "base": 1.0, "terms": []} for kind in ("float32", "float64")
    ]
    choice = document(kind="choice", categories=["first", "second"], of=ones)

    assert score_value(listed, BASE) == "a"
    assert score_value(listed, {**BASE, "colour": None}) == "b"
    assert score_value(choice, BASE) == "first"


@pytest.mark.slow
@given(st.integers(0, 2**32))
@settings(max_examples=300)
def test_arrays_and_reference_agree_on_every_bit(seed: int) -> None:
    rng = random.Random(seed)
    invented, people = invented_document(rng), invented_people(40, rng)
    check_document(invented, SCHEMA)

    found = score_column(invented, {name: [person[name] for person in people] for name in BASE}, SCHEMA)

    expected = [score_value(invented, person) for person in people]
    assert list(map(bits, found)) == list(map(bits, expected))
    assert may_be_missing(invented, SCHEMA) or None not in found


@given(st.integers(0, 2**32), st.integers(1, 7))
@settings(max_examples=50)
def test_a_value_does_not_depend_on_who_stands_beside_it(seed: int, size: int) -> None:
    rng = random.Random(seed)
    invented, people = invented_document(rng), invented_people(40, rng)
    columns = TableColumns.of({name: [person[name] for person in people] for name in BASE}, SCHEMA)

    whole = score_array(invented, columns)
    parts = [score_array(invented, columns.part(start, start + size)) for start in range(0, 40, size)]

    assert np.concatenate([part.values for part in parts]).tobytes() == whole.values.tobytes()
    assert np.concatenate([part.missing for part in parts]).tobytes() == whole.missing.tobytes()


def test_another_order_of_additions_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The negative control of the comparisons above: trees added from the last to the first."""
    rng = random.Random(1)
    numbers = score_array

    def backwards(read: Document, columns: score_arrays.Columns) -> score_arrays.ScoreArray:
        return numbers(
            read.model_copy(update={"trees": read.trees[::-1]}) if isinstance(read, Trees) else read, columns
        )

    monkeypatch.setattr(score_arrays, "score_array", backwards)
    differences = 0
    for _ in range(100):
        invented, people = invented_document(rng), invented_people(40, rng)
        found = score_column(invented, {name: [person[name] for person in people] for name in BASE}, SCHEMA)
        differences += list(map(bits, found)) != [bits(score_value(invented, person)) for person in people]
    assert differences
