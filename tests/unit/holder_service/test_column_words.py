"""What officers read of a derived column: what it computes, of every kind of document, and never too much of it."""

import json
from typing import Any

import pytest

from holder_service.domain.column_words import CHARACTERS_PER_LINE_MAX, LINES_MAX, ColumnSummary, column_words
from shared.scores.columns import DerivedColumn

OLD: dict[str, Any] = {"column": "age", "op": "ge", "value": 65}
TREES = {
    "kind": "trees", "precision": "float64", "base": 0.1, "tests": [OLD], "mean": True,
    "trees": [
        {"tests": [0], "yes": [-1], "no": [-2], "values": [0.5, -2]},
        {"tests": [], "yes": [], "no": [], "values": [3]},
    ],
}  # fmt: skip
TERMS = {
    "kind": "terms", "precision": "float64", "base": -0.5,
    "terms": [
        {"columns": ["age", "hours"], "slope": 0.01, "missing": 2},
        {"axes": [{"column": "hours", "cuts": [20], "missing": True}], "table": [1, -3, 0]},
        {"rule": {"all_of": [OLD]}, "value": 7},
    ],
}  # fmt: skip
LAYERS = {
    "kind": "layers", "precision": "float32", "inputs": [{"columns": ["age"], "slope": 1}],
    "layers": [
        {"weights": [[2], [3]], "bias": [0, 0], "activation": "relu"},
        {"weights": [[1, 1]], "bias": [0], "activation": "identity"},
    ],
}  # fmt: skip
LIST = {"kind": "list", "cases": [{"rule": {"all_of": [OLD]}, "value": "granted"}], "otherwise": "refused"}


TRUE = {"kind": "list", "cases": [], "otherwise": True}


def words(of: dict[str, Any]) -> tuple[str, ...]:
    """What is said of a request for a column."""
    return summary(of).says


def summary(of: dict[str, Any]) -> ColumnSummary:
    return column_words(json.dumps(DerivedColumn.model_validate({"name": "it", **of}).document()))


@pytest.mark.parametrize(
    ("document", "said"),
    [
        (
            TREES,
            (
                "A score, which the holder computes from each record's age",
                "0.1 and a leaf of each tree, added, divided by 2",
                "Trees: 2, with 3 leaves and at most 1 tests in a row",
                "Their tests: 1",
                "age ≥ 65",
            ),
        ),
        (
            TERMS,
            (
                "A score, which the holder computes from each record's age, hours",
                "-0.5, and added to it:",
                "7 where age ≥ 65",
                "by hours (cut at 20, missing): 1, -3, 0",
                "0.01 × age × hours; 2 where one is missing",
            ),
        ),
        (
            LAYERS,
            (
                "A score, which the holder computes from each record's age",
                "A network with layers of 2 (relu), 1 (identity) units, over 1 inputs:",
                "1 × age",
            ),
        ),
    ],
    ids=lambda value: value["kind"] if isinstance(value, dict) else "",
)
def test_a_score_is_said_as_it_is_computed(document: dict[str, Any], said: tuple[str, ...]) -> None:
    assert words({"type": "number", "nullable": True, "from": {"score": document}}) == said


def test_a_list_and_a_choice_are_said_with_their_categories() -> None:
    listed = words({"type": "category", "categories": ["granted", "refused"], "from": {"score": LIST}})
    choice = {"kind": "choice", "categories": ["a", "b"], "of": [TREES, TREES]}
    chosen = words({"type": "category", "categories": ["a", "b"], "from": {"score": choice}})
    label = words({"type": "boolean", "label": True, "from": {"score": TRUE}})

    assert listed[1:] == ("The value of the first rule that matches:", "granted: age ≥ 65", "refused: everybody else")
    assert chosen[1:3] == ("The category whose number is largest, of 2:", "The number of a:")
    assert label[-1] == "It says what people turned out to be, in place of the dataset's label"


def test_of_linked_values_their_type_is_said_and_no_digest() -> None:
    values = "sha256:" + "5" * 64
    linked = {"nullable": True, "from": "linked", "values": values}

    numbers = words({**linked, "type": "integer", "minimum": 0, "maximum": 10})
    categories = words({**linked, "type": "category", "categories": ["granted", "refused"]})

    assert numbers[1:] == ("Each is of type integer from 0 up to 10",)
    assert categories[1:] == ("Each is one of: granted, refused",)
    assert not any("555" in line for line in (*numbers, *categories))


@pytest.mark.slow
def test_of_a_large_document_as_much_is_said_as_anybody_reads() -> None:
    cases = [{"rule": {"all_of": [{**OLD, "value": value}] * 100}, "value": 1} for value in range(1000)]
    cases[3]["rule"] = {"all_of": [OLD] * 256}
    found = summary({"type": "number", "from": {"score": {"kind": "list", "cases": cases, "otherwise": 0}}})

    assert len(found.says) == LINES_MAX
    assert found.not_shown == ("1 of 3 lines", f"{1000 - (LINES_MAX - 2) + 1} of 1000 rules")
    assert max(map(len, found.says)) == CHARACTERS_PER_LINE_MAX + len(" …")


@pytest.mark.parametrize(
    ("document", "missing"),
    [(TREES, ("2 of 2 trees",)), (TERMS, ()), (LAYERS, ("2 of 2 layers",))],
    ids=["trees", "terms", "layers"],
)
def test_what_cannot_be_said_in_words_is_counted_and_named(document: dict[str, Any], missing: tuple[str, ...]) -> None:
    assert summary({"type": "number", "nullable": True, "from": {"score": document}}).not_shown == missing


def test_a_table_is_said_whole_up_to_a_bound() -> None:
    def table(size: int) -> ColumnSummary:
        term = {"axes": [{"column": "age", "cuts": list(range(size - 1))}], "table": [0.25] * size}
        return summary({"type": "number", "from": {"score": {**TERMS, "terms": [term]}}})

    assert table(100).not_shown == ()
    assert table(1000).not_shown == ("1 of 1 terms",)
