"""What does not fit in a model of our own is told in our words: path, value and what was expected."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from auditor_client.errors import ModelRefused
from auditor_client.models.read_model import ModelRequest
from auditor_client.models.readers import load_object, read_object
from testing.registers import LOANS

TERMS: dict[str, Any] = {
    "kind": "terms", "precision": "float64", "base": 1, "terms": [{"columns": ["age"], "slope": 0.5, "missing": 0}]
}  # fmt: skip


def refusal(document: dict[str, Any]) -> str:
    content = json.dumps({"format": "pafer-model/1", **document}).encode()
    with pytest.raises(ModelRefused) as refused:
        read_object(load_object(content, "glm.json"), ModelRequest(LOANS.table))
    return str(refused.value)


def score(**changes: Any) -> dict[str, Any]:
    return {"score": {**TERMS, **changes}, "above": 0}


CASES: dict[str, tuple[dict[str, Any], str]] = {
    "a nested list": (
        score(terms=[{"columns": [["age"]], "slope": 0.5}]),
        "glm.json.score.terms[0].columns[0] is ['age'], and has to be a text.",
    ),
    "a text for a number": (
        score(terms=[{"columns": ["age"], "slope": "much"}]),
        "glm.json.score.terms[0].slope is 'much', and has to be a number.",
    ),
    "an unknown kind": (score(kind="glm"), "glm.json.score is "),
    "a sign that is not an operator": (
        {
            "tree": {
                "if": {"column": "income", "op": "≥", "value": 1},
                "then": {"decision": "a"},
                "else": {"decision": "b"},
            }
        },
        "glm.json.tree.if.op is '≥', and has to be ",
    ),
    "a member too many": (
        score(terms=[{"columns": ["age"], "slope": 1, "weight": 2}]),
        "glm.json.score.terms[0].weight is a member that is not known here",
    ),
    "a member that is missing": (
        score(terms=[{"columns": ["age"]}]),
        "glm.json.score.terms[0].slope has to be there",
    ),
    "one text for two": (
        {**score(), "decisions": ["granted"]},
        "glm.json.decisions is ['granted'], and has to be a list of two texts",
    ),
    "a tree at the top": ({"if": {}, "then": {}, "else": {}}, 'put the tree\'s first node under "tree"'),
}


@pytest.mark.parametrize("case", CASES)
def test_a_fault_is_named_by_path_value_and_expectation(case: str) -> None:
    document, says = CASES[case]

    text = refusal(document)

    assert says in text
    assert "docs/own-json.md" in text or case == "one text for two"
    for theirs in ("validation error", "pydantic", "tagged-union", "function-after", "[type=", "Input should"):
        assert theirs not in text


def test_all_faults_are_reported_at_once() -> None:
    text = refusal(score(base="x", precision="double", terms=[{"columns": ["age"], "slope": "y"}]))

    assert ".score.base is 'x'" in text
    assert ".terms[0].slope is 'y'" in text
    assert ".precision is 'double', and has to be 'float32' or 'float64'" in text


def examples() -> list[str]:
    """The files that the page shows."""
    page = (Path(__file__).parents[4] / "docs" / "own-json.md").read_text()
    return re.findall(r"```json\n(.*?)```", page, re.DOTALL)


@pytest.mark.parametrize("content", examples())
def test_every_file_of_the_page_is_read(content: str) -> None:
    read = read_object(load_object(content.encode(), "model.json"), ModelRequest(LOANS.table))

    assert {rule.favourable for rule in read.tree.rules()} == {True, False}


def test_the_page_has_a_file_of_every_kind() -> None:
    documents = [json.loads(content) for content in examples()]

    assert {"rules", "tree"} <= {name for one in documents for name in one}
    kinds = {one["score"]["kind"] for one in documents if "score" in one}
    assert kinds == {"terms", "trees", "layers", "list", "choice"}
