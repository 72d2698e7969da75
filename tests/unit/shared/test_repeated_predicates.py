"""A plan whose repeated predicates are read once is the plan whose predicates are read one by one."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from shared.contract.rules import Cell, Predicate, Rule
from shared.kinds.plans import Plan
from shared.wire.limits import PREDICATES_PER_RULE_MAX
from testing.registers import plan

LE: dict[str, Any] = {"column": "age", "op": "le", "value": 37}
FITTING: list[dict[str, Any]] = [
    LE,
    {**LE, "value": 37.0},
    {**LE, "value": 1},
    {"column": "member", "op": "eq", "value": True},
    {"column": "age", "op": "eq", "value": 1},
    {"column": "age", "op": "in", "values": [1, 2]},
    {"column": "age", "op": "in", "values": [1.0, 2]},
    {"op": "le", "column": "age", "value": 37, "or_missing": True},
    {"column": "age", "op": "is_missing"},
]
UNFIT: list[Any] = [
    {**LE, "or_missing": 1},
    {"column": "age", "op": "in", "values": [True, 2]},
    {**LE, "value": None},
    {**LE, "more": 1},
    {},
    None,
    [],
    7,
]


def document(rules: list[list[Any]], *, unions: bool) -> dict[str, Any]:
    """A plan with some rules, as cells of their own or as one union."""
    if unions:
        return plan(cells=[{"id": "all", "any_of": [{"all_of": rule} for rule in rules]}])
    return plan(cells=[{"id": str(index), "all_of": rule} for index, rule in enumerate(rules)])


@given(st.lists(st.lists(st.sampled_from(FITTING), max_size=4), min_size=1, max_size=6), st.booleans())
def test_every_predicate_is_what_it_is_alone(rules: list[list[Any]], unions: bool) -> None:
    sent = document(rules, unions=unions)
    before = json.dumps(sent)

    read = Plan.model_validate(sent)

    found = [rule.all_of for cell in read.batches[0].cells for rule in cell.any_of]
    alone = [tuple(map(Predicate.model_validate, rule)) for rule in rules]
    assert [[one.model_dump_json() for one in rule] for rule in found] == [
        [one.model_dump_json() for one in rule] for rule in alone
    ]
    assert json.dumps(sent) == before


@pytest.mark.parametrize("unions", [False, True])
@pytest.mark.parametrize("unfit", UNFIT)
def test_a_predicate_that_does_not_fit_is_refused_where_it_stands(unfit: Any, unions: bool) -> None:
    """Also one that equals a predicate before it as far as Python's values go."""
    alike = [{**LE, "or_missing": True}, {"column": "age", "op": "in", "values": [1, 2]}]

    with pytest.raises(ValidationError) as refusal:
        Plan.model_validate(document([alike, [LE], [LE, unfit], alike], unions=unions))

    where = refusal.value.errors()[0]["loc"]
    cell, rule = (0, 2) if unions else (2, 0)
    assert where[:8] == ("batches", 0, "cells", cell, "any_of", rule, "all_of", 1)


def test_alike_predicates_are_one_object_and_are_counted() -> None:
    read = Plan.model_validate(document([[LE, FITTING[3]], [LE], [LE, LE]], unions=False))

    assert len({id(one) for cell in read.batches[0].cells for one in cell.any_of[0].all_of}) == 2
    assert [(one.column, times) for one, times in read.batches[0].predicates] == [("age", 4), ("member", 1)]


def test_a_copy_with_other_cells_has_their_predicates() -> None:
    [batch] = Plan.model_validate(document([[LE]], unions=False)).batches
    other = Predicate(column="hours", op="gt", value=3)
    assert [one.column for one, _ in batch.predicates] == ["age"]

    copied = batch.model_copy(update={"cells": (Cell(id="other", any_of=(Rule(all_of=(other,)),)),)})

    assert [one.column for one, _ in copied.predicates] == ["hours"]


def test_more_predicates_than_a_rule_may_have_are_refused_however_they_come() -> None:
    for many in ([LE] * (PREDICATES_PER_RULE_MAX + 1), (Predicate(**LE),) * (PREDICATES_PER_RULE_MAX + 1)):
        with pytest.raises(ValidationError, match="too_long"):
            Rule.model_validate({"all_of": many})
    with pytest.raises(ValidationError, match="too_long"):
        Plan.model_validate(document([[LE] * (PREDICATES_PER_RULE_MAX + 1)], unions=True))
