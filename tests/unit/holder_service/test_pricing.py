"""A plan costs ε once for each class of disjoint cells, summed over its batches, in exact integers."""

from typing import Any

import pytest

from holder_service.domain.pricing import price
from shared.contract.schema import Column, Schema
from shared.kinds.plans import Plan
from shared.privacy.amounts import Loss
from shared.wire.problems import InvalidPlan

SCHEMA = Schema(
    person_key="person",
    columns=(Column(name="age", type="integer"), Column(name="sex", type="boolean", sensitive=True)),
)
YOUNG: dict[str, Any] = {"id": "young", "all_of": [{"column": "age", "op": "le", "value": 30}]}
OLD: dict[str, Any] = {"id": "old", "all_of": [{"column": "age", "op": "gt", "value": 30}]}
ALL: dict[str, Any] = {"id": "all", "all_of": []}


def plan(*batches: tuple[str, list[dict[str, Any]]]) -> Plan:
    return Plan.model_validate(
        {
            "sensitive": ["sex"],
            "batches": [
                {"name": f"batch-{index}", "mechanism": {"name": "laplace"}, "epsilon": epsilon, "cells": cells}
                for index, (epsilon, cells) in enumerate(batches)
            ],
        }
    )


def copies(number: int) -> list[dict[str, Any]]:
    return [{**ALL, "id": f"all-{index}"} for index in range(number)]


def test_disjoint_cells_cost_epsilon_once() -> None:
    priced = price(plan(("0.1", [YOUNG, OLD])), SCHEMA)

    assert priced.charge == Loss(100_000_000)
    assert priced.batches[0].classes == ((0, 1),)


def test_overlapping_cells_cost_epsilon_once_for_each_class() -> None:
    priced = price(plan(("0.1", [YOUNG, ALL, OLD])), SCHEMA)

    assert priced.batches[0].classes == ((0, 2), (1,))
    assert priced.charge == priced.batches[0].loss == Loss(200_000_000)


def test_batches_add_up_although_they_ask_of_different_people() -> None:
    priced = price(plan(("0.1", [YOUNG]), ("0.2", [OLD]), ("0.001000001", [ALL])), SCHEMA)

    assert [batch.loss for batch in priced.batches] == [Loss(100_000_000), Loss(200_000_000), Loss(1_000_001)]
    assert priced.charge.epsilon_nano == 301_000_001


def test_the_paper_s_plan_costs_what_it_says() -> None:
    """Ten plans of 0.1 fit into a budget of 1 exactly: no float stands in between."""
    priced = price(plan(("0.05", [ALL]), ("0.05", [YOUNG, OLD])), SCHEMA)

    assert 10 * priced.charge.epsilon_nano == 1_000_000_000


def test_the_largest_price_that_can_be_written_is_charged() -> None:
    priced = price(plan(("10", copies(99)), ("9.999999999", [ALL])), SCHEMA)

    assert priced.charge.epsilon_nano == 999_999_999_999


def test_a_price_beyond_is_refused() -> None:
    for beyond in (plan(("10", copies(100))), plan(("10", copies(99)), ("9.999999999", [ALL]), ("0.001", [ALL]))):
        with pytest.raises(InvalidPlan, match="1000"):
            price(beyond, SCHEMA)
