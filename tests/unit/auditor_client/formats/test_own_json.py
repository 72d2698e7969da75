"""Our own JSON: rules, trees and scores that are written by hand."""

import json
import random
from typing import Any

import pytest

from auditor_client.errors import ModelRefused
from auditor_client.models.read_model import ModelRequest, ReadModel
from auditor_client.models.readers import load_object, read_object
from shared.contract.schema import Schema
from shared.scores.documents import RuleList, Trees

SCHEMA = Schema.model_validate(
    {
        "person_key": "id",
        "columns": [
            {"name": "income", "type": "number", "nullable": True},
            {"name": "age", "type": "integer", "minimum": 0, "maximum": 120},
            {"name": "work", "type": "category", "categories": ["clerk", "farmer", "none"], "nullable": True},
            {"name": "owner", "type": "boolean"},
            {"name": "sex", "type": "category", "categories": ["f", "m"], "sensitive": True},
        ],
    }
)
RICH = {"column": "income", "op": "ge", "value": 40000}
YOUNG = {"column": "age", "op": "lt", "value": 25}
RULES = {
    "format": "pafer-model/1",
    "description": "the bank's rules",
    "rules": [
        {"all_of": [YOUNG, {"column": "owner", "op": "eq", "value": False}], "decision": "refused"},
        {"all_of": [RICH], "decision": "granted"},
    ],
    "otherwise": "refused",
    "favourable": ["granted"],
}
SCORE = {
    "format": "pafer-model/1",
    "score": {
        "kind": "terms",
        "precision": "float64",
        "base": 100,
        "terms": [
            {"columns": ["age"], "slope": 2},
            {"axes": [{"column": "income", "cuts": [20000, 40000], "missing": True}], "table": [0, 10, 30, -5]},
        ],
    },
    "at_least": 160,
}


def read(document: dict[str, Any], **request: Any) -> ReadModel:
    content = json.dumps(document).encode()
    return read_object(load_object(content, "model.json"), ModelRequest(SCHEMA, **request))


@pytest.mark.parametrize(
    ("record", "granted"),
    [
        ({"age": 24, "income": 50000, "owner": False}, False),
        ({"age": 24, "income": 50000, "owner": True}, True),
        ({"age": 25, "income": 50000, "owner": False}, True),
        ({"age": 25, "income": 39999.9, "owner": False}, False),
        ({"age": 25, "income": None, "owner": False}, False),
    ],
)
def test_a_list_of_rules_becomes_the_tree_that_decides_alike(record: dict[str, Any], granted: bool) -> None:
    model = read(RULES)

    assert model.columns == ()
    assert model.tree.decide(record).favourable is granted
    assert model.provenance is not None
    assert model.provenance.description == "the bank's rules"


def test_a_list_whose_tree_is_large_becomes_a_column() -> None:
    draw = random.Random(1)
    parts = [
        {
            "all_of": [
                {"column": "age", "op": "ge", "value": draw.randrange(100)},
                {"column": "income", "op": "lt", "value": draw.randrange(100_000)},
                {"column": "age", "op": "le", "value": draw.randrange(100)},
            ],
            "decision": draw.choice(["granted", "refused"]),
        }
        for _ in range(300)
    ]
    model = read({**RULES, "rules": parts})

    assert len(model.columns) == 1
    assert isinstance(model.columns[0].origin.score, RuleList)  # type: ignore[union-attr]


def test_a_tree() -> None:
    leaves: Any = {"if": RICH, "then": {"decision": "yes"}, "else": {"decision": "no"}}
    document = {"format": "pafer-model/1", "tree": {"if": YOUNG, "then": {"decision": "no"}, "else": leaves}}

    model = read(document, favourable=["yes"])

    assert model.tree.decide({"age": 30, "income": 40000}).favourable
    assert not model.tree.decide({"age": 24, "income": 40000}).favourable


@pytest.mark.parametrize(
    ("way", "strict", "turned"),
    [("above", "gt", False), ("at_least", "ge", False), ("below", "gt", True), ("at_most", "ge", True)],
)
def test_a_score_and_each_kind_of_threshold(way: str, strict: str, turned: bool) -> None:
    document = {name: member for name, member in SCORE.items() if name != "at_least"} | {way: 160}
    model = read(document)

    assert model.thresholds == (-160 if turned else 160,)
    branch = model.tree.root.branches[0]  # type: ignore[union-attr]
    assert branch.predicates[0].op == strict
    assert model.columns[0].origin.score.base == (-100 if turned else 100)  # type: ignore[union-attr]


def test_a_score_of_one_tree_becomes_rules() -> None:
    tree = {"tests": [0], "yes": [-1], "no": [-2], "values": [1, 2]}
    score = {"kind": "trees", "precision": "float64", "base": 1, "tests": [YOUNG], "trees": [tree]}

    one = read({"format": "pafer-model/1", "score": score, "above": 2})
    two = read({"format": "pafer-model/1", "score": score | {"trees": [tree, tree]}, "above": 4})

    assert one.columns == ()
    assert one.tree.decide({"age": 30}).favourable
    assert not one.tree.decide({"age": 24}).favourable
    assert isinstance(two.columns[0].origin.score, Trees)  # type: ignore[union-attr]


POINTS = {
    "kind": "terms",
    "precision": "float64",
    "terms": [
        {"axes": [{"column": "income", "cuts": [20000, 40000], "missing": True}], "table": [0, 10, 30, -5]},
        {"axes": [{"column": "owner", "values": [False, True]}], "table": [0, 7]},
    ],
}
SCORED = {
    "format": "pafer-model/1",
    "scores": {"points": POINTS, "years": {"kind": "terms", "precision": "float64", "terms": []}},
    "rules": [
        {
            "all_of": [{"column": "points", "op": "ge", "value": 17}, {"column": "years", "op": "lt", "value": 1}],
            "decision": "granted",
        },
        {"all_of": [YOUNG, {"column": "points", "op": "ge", "value": 10}], "decision": "granted"},
    ],
    "otherwise": "refused",
    "favourable": ["granted"],
}


def test_rules_may_name_scores_of_their_own() -> None:
    """Beside columns, and compared with the examples by what the records are worth."""
    examples = [
        {"record": {"income": 40000, "owner": True, "age": 40}, "decision": "granted"},
        {"record": {"income": 40000, "owner": False, "age": 40}, "decision": "refused"},
        {"record": {"income": 40000, "owner": False, "age": 20}, "decision": "granted"},
        {"record": {"income": None, "owner": True, "age": 20}, "decision": "refused"},
    ]

    found = read({**SCORED, "examples": examples})

    found.check(SCHEMA)
    assert [column.name for column in found.columns] == ["points", "years"]
    assert found.score is None
    assert found.provenance is not None
    assert found.provenance.compared_with == "the examples in its file"
    assert found.tree.decide({"points": 17, "years": 0, "age": 50}).favourable
    assert not found.tree.decide({"points": 16, "years": 0, "age": 50}).favourable
    with pytest.raises(ModelRefused):
        read({**SCORED, "examples": [{**examples[0], "decision": "refused"}]})


def test_a_name_in_scores_is_the_score_where_a_column_has_it_too() -> None:
    """The dataset's own `age` is then not what the rule compares; here the score is called otherwise."""
    rule = {"all_of": [{"column": "age", "op": "ge", "value": 17}], "decision": "granted"}
    scores = {"age": POINTS, "age_2": POINTS}

    found = read({**SCORED, "scores": scores, "rules": [rule]})
    tree = {"if": rule["all_of"][0], "then": {"decision": "granted"}, "else": {"decision": "refused"}}
    grown = read({**{name: SCORED[name] for name in ("format", "favourable")}, "scores": scores, "tree": tree})

    for one in (found, grown):
        one.check(SCHEMA)
        assert [column.name for column in one.columns] == ["age_3", "age_2"]
        assert one.tree.decide({"age_3": 17, "age": 0}).favourable
        assert not one.tree.decide({"age_3": 16, "age": 90}).favourable


def test_a_tree_may_name_scores_of_its_own() -> None:
    leaves = {"then": {"decision": "granted"}, "else": {"decision": "refused"}}
    tree = {"if": {"column": "points", "op": "ge", "value": 10}, **leaves}

    found = read({**{name: SCORED[name] for name in ("format", "scores", "favourable")}, "tree": tree})

    assert found.tree.decide({"points": 10}).favourable
    assert not found.tree.decide({"points": 9}).favourable


@pytest.mark.parametrize(
    ("scores", "text"),
    [
        ([POINTS], "scores by name"),
        ({"income": POINTS}, "like the column 'income' that scores read"),
        ({"points": {**POINTS, "terms": [{"columns": ["sex"], "slope": 1}]}}, "sensitive"),
        ({"points": {**POINTS, "terms": [{"columns": ["height"], "slope": 1}]}}, "does not declare"),
        ({"points": {**POINTS, "terms": [{"columns": ["income"], "slope": 1}]}}, "missing"),
        ({"points": {"kind": "list", "cases": [], "otherwise": "a"}}, "does not fit"),
        ({"points": {**POINTS, "terms": [{"columns": ["points"], "slope": 1}]}}, "does not declare"),
    ],
)
def test_scores_that_do_not_fit_are_refused(scores: Any, text: str) -> None:
    with pytest.raises(ModelRefused, match=text):
        read({**SCORED, "scores": scores})


def test_a_score_goes_with_no_other_scores() -> None:
    with pytest.raises(ModelRefused, match="go with a tree"):
        read({**SCORE, "scores": SCORED["scores"]})


def test_the_examples_of_a_document_are_compared() -> None:
    record = {"age": 25, "income": 50000.0, "owner": False}
    good = read({**RULES, "examples": [{"record": record, "decision": "granted"}]})

    assert good.provenance is not None
    assert (good.provenance.probes, good.provenance.differing) == (1, 0)
    with pytest.raises(ModelRefused, match="decides otherwise"):
        read({**RULES, "examples": [{"record": record, "decision": "refused"}]})


def test_nothing_compared_is_said_to_be_so() -> None:
    provenance = read(RULES).provenance

    assert provenance is not None
    assert provenance.compared_with is None


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"format": "pafer-model/2"}, "pafer-model/1"),
        ({"tree": {"decision": "granted"}}, "one of"),
        ({"weights": []}, "'weights'"),
        ({"favourable": ["maybe"]}, "Name some"),
        ({"favourable": None}, "list"),
        ({"rules": [{"all_of": [{"column": "wealth", "op": "ge", "value": 1}], "decision": "granted"}]}, "declare"),
        ({"rules": [{"all_of": [{"column": "sex", "op": "eq", "value": "f"}], "decision": "granted"}]}, "sensitive"),
        ({"rules": [{"all_of": [{"column": "age", "op": "eq", "value": 2.5}], "decision": "granted"}]}, "whole"),
        ({"rules": [{"all_of": [RICH | {"value": float("nan")}], "decision": "granted"}]}, "finite"),
        ({"examples": [{"record": {"age": 5.5, "income": 1, "owner": True}, "decision": "granted"}]}, "decides|value"),
        ({"examples": [{"record": {"age": 500, "income": 1, "owner": True}, "decision": "granted"}]}, "no value"),
    ],
)
def test_what_cannot_be_read_is_refused_by_name(change: dict[str, Any], text: str) -> None:
    with pytest.raises(ModelRefused, match=text):
        read({**RULES, **change})


def test_a_nest_of_trees_without_end_is_refused() -> None:
    content = b'{"format": "pafer-model/1", "tree": ' + b'{"if": ' * 100_000
    with pytest.raises(ModelRefused, match="JSON"):
        load_object(content, "model.json")
