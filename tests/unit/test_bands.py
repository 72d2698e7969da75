"""Bands of a score: a model's one split cut finer, with the model's own decision in every band."""

import math
from typing import Any

import pytest

from auditor_client.asking.bands import EDGES_MAX, banded
from auditor_client.asking.question import make_question
from auditor_client.asking.request import AuditRequest
from auditor_client.errors import QuestionRefused
from auditor_client.models.read_model import above, of_values
from auditor_client.models.tree import Branch, Leaf, Split, Tree
from shared.contract.rules import Predicate
from shared.contract.schema import Column, Schema
from testing.registers import LOANS

SCHEMA = Schema(
    person_key="id",
    columns=(
        Column(name="score", type="number"),
        Column(name="points", type="integer", minimum=0, maximum=100),
        Column(name="region", type="category", categories=("n", "s")),
    ),
)
DECISIONS = ("granted", "refused")


def asked(**values: Any) -> AuditRequest:
    return AuditRequest(sensitive=("sex",), epsilon="1", mechanism="laplace", **values)


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize(("column", "value"), [("score", 0.25), ("points", 30)])
def test_every_value_is_in_one_band_that_decides_as_the_model(column: str, value: float, strict: bool) -> None:
    tree = above(column, value, favourable=DECISIONS, strict=strict)
    request, rules = banded(asked(edges=(0.5, -1.0, 20.0, 40.0)), tree, SCHEMA)

    assert request.edges is not None
    assert list(request.edges) == sorted(request.edges)
    assert len(rules) == len(request.edges) + 1 == 6
    for edge in (*request.edges, value):
        for near in (edge, math.nextafter(edge, -math.inf), math.nextafter(edge, math.inf), math.floor(edge)):
            matching = [rule for rule in rules if rule.rule.matches({column: near})]
            assert len(matching) == 1
            if column == "score" or near == int(near):
                assert matching[0].favourable == tree.decide({column: near}).favourable


def test_where_low_scores_are_favourable_the_bands_are_too() -> None:
    low, high = (Predicate.model_validate({"column": "score", "op": op, "value": 5}) for op in ("le", "gt"))
    tree = Tree(Split("root", (Branch((low,), Leaf("a", "low risk", True)), Branch((high,), Leaf("b", "high", False)))))

    _, rules = banded(asked(edges=(2.0, 8.0)), tree, SCHEMA)

    assert [rule.favourable for rule in rules] == [True, True, False, False]


@pytest.mark.parametrize(
    ("tree", "values", "words"),
    [
        (of_values(SCHEMA.by_name["region"], ["n"]), {}, "Bands divide a score"),
        (above("score", 0.5, favourable=DECISIONS), {"strategy": "verdict"}, "Leave out `strategy` 'verdict'"),
        (above("score", 0.5, favourable=DECISIONS), {"edges": tuple(map(float, range(EDGES_MAX)))}, "from 1 to"),
    ],
)
def test_what_has_no_bands_is_refused(tree: Tree, values: dict[str, Any], words: str) -> None:
    with pytest.raises(QuestionRefused, match=words):
        banded(asked(**{"edges": (1.0,), **values}), tree, SCHEMA)


def test_bands_need_noise_that_is_added() -> None:
    request = asked(edges=(1.0,)).changed(mechanism="exponential")

    with pytest.raises(QuestionRefused, match="a mechanism that adds noise"):
        banded(request, above("score", 0.5, favourable=DECISIONS), SCHEMA)


@pytest.mark.parametrize("edges", [(), (math.nan,), (math.inf,)])
def test_edges_are_finite_numbers(edges: tuple[float, ...]) -> None:
    with pytest.raises(QuestionRefused, match="finite numbers"):
        asked(edges=edges)


@pytest.mark.parametrize("metrics", [("equal-opportunity",), ("predictive-parity",), ("equalized-odds",)])
def test_bands_of_some_people_alone_are_refused_before_anything_is_spent(metrics: tuple[str, ...]) -> None:
    with pytest.raises(QuestionRefused, match="Bands count everybody"):
        banded(asked(edges=(1.0,), metrics=metrics), above("score", 0.5, favourable=DECISIONS), SCHEMA)


def test_bands_where_one_of_two_groups_is_counted_are_refused_before_anything_is_spent() -> None:
    halves = LOANS.model_copy(update={"relation": "sensitive_attribute"})
    request = AuditRequest(
        sensitive=("sex",), epsilon="1", mechanism="laplace", decision="hours", above=20, edges=(30.0,)
    )

    assert make_question(None, LOANS, request).request.edges == (20.0, 30.0)
    with pytest.raises(QuestionRefused, match="counts one of two groups"):
        make_question(None, halves, request)
