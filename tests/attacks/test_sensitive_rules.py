"""Differencing by rules that name sensitive columns: no plan tells two neighbouring registers apart beyond its charge.

An attacker who knows everybody else's record asks cells that differ by one person, or by one person's sensitive value,
and subtracts. What that can show is bounded by how far the counts of a plan lie apart on the two registers, each in
units of its noise. The counts are taken here by the reference evaluator, person by person; proof, price, noise and
counted groups are the holder's own. Laplace noise, whose loss is that distance exactly.
"""

import random
from collections.abc import Sequence
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from holder_service.domain.pricing import price
from holder_service.mechanisms.calibration import mechanism_of
from shared.contract.relations import NeighbouringRelation, Relation
from shared.contract.rules import Cell, Record
from shared.contract.schema import Schema
from shared.kinds.plans import Plan
from shared.privacy.amounts import NANO_PER_UNIT
from shared.privacy.noise import DiscreteLaplaceNoise
from testing.invented import plans as invented_plans

RELATIONS: Final[tuple[Relation, ...]] = ("add_remove", "replace", "sensitive_attribute")


def distance(plan: Plan, schema: Schema, relation: Relation, registers: Sequence[Sequence[Record]]) -> float:
    """How far a plan's answers on two registers can be told apart: the sum over its counts, in units of their noise."""
    neighbouring, groups = NeighbouringRelation(relation), schema.groups(plan.sensitive)
    apart = 0.0
    for batch in plan.batches:
        noise = mechanism_of(batch, relation=neighbouring, schema=schema, sensitive=plan.sensitive).noise
        assert isinstance(noise, DiscreteLaplaceNoise)
        counted = neighbouring.counted_groups(groups, moved=batch.names_sensitive(schema)) or groups
        for cell in batch.cells:
            of_people = [
                [schema.group_of(person, plan.sensitive) for person in people if cell.matches(person)]
                for people in registers
            ]
            apart += sum(abs(of_people[0].count(group) - of_people[1].count(group)) for group in counted) / noise.scale
    return apart


def neighbours(draw: Any, schema: Schema, relation: Relation) -> tuple[list[Record], list[Record]]:
    """Two registers that differ by one person, as far as the relation lets them."""
    one, other = draw(invented_plans.records(schema)), draw(invented_plans.records(schema))
    if relation == "add_remove":
        return [one], []
    if relation == "sensitive_attribute":
        other = {name: other[name] if schema.by_name[name].sensitive else value for name, value in one.items()}
    return [one], [other]


def cells(schema: Schema) -> st.SearchStrategy[list[Cell]]:
    """Any cells, or the leaves of a tree, which are disjoint."""
    leaves = invented_plans.trees(schema, splits_max=3)
    return st.one_of(
        invented_plans.cells(schema),
        leaves.map(lambda rules: [Cell(id=str(number), any_of=(rule,)) for number, rule in enumerate(rules)]),
    )


@pytest.mark.slow
@pytest.mark.parametrize("relation", RELATIONS)
@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_no_plan_loses_more_than_its_charge(relation: Relation, data: st.DataObject) -> None:
    """Any columns, bands and rules; cells that overlap, repeat and contradict themselves; batch upon batch."""
    schema = data.draw(invented_plans.schemas()).model_copy(update={"sensitive_in_rules": True})
    batches = [
        {"name": str(number), "mechanism": {"name": "laplace"}, "epsilon": epsilon, "cells": data.draw(cells(schema))}
        for number, epsilon in enumerate(data.draw(st.lists(st.sampled_from(["0.5", "1"]), min_size=1, max_size=2)))
    ]
    sensitive = data.draw(st.permutations(schema.sensitive))[: data.draw(st.integers(1, len(schema.sensitive)))]
    plan = Plan.model_validate({"sensitive": tuple(sensitive), "batches": batches}, strict=False)
    plan.check(schema)
    charged = price(plan, schema).charge.epsilon_nano / NANO_PER_UNIT

    assert distance(plan, schema, relation, neighbours(data.draw, schema, relation)) <= charged * (1 + 1e-9)


SCHEMA = Schema.model_validate(
    {
        "person_key": "id",
        "sensitive_in_rules": True,
        "columns": [
            {"name": "hours", "type": "integer", "minimum": 0, "maximum": 99},
            {"name": "age", "type": "integer", "minimum": 0, "maximum": 99, "sensitive": True, "bands_from": [25, 45]},
            {"name": "sex", "type": "category", "categories": ["Female", "Male"], "sensitive": True},
            {"name": "origin", "type": "boolean", "sensitive": True},
        ],
    }
)


def asked(*cells: list[dict[str, Any]]) -> Plan:
    """Some conjunctions, by sex, at an ε of 1."""
    named = [{"id": str(number), "all_of": all_of} for number, all_of in enumerate(cells)]
    batch = {"name": "difference", "mechanism": {"name": "laplace"}, "epsilon": "1", "cells": named}
    return Plan.model_validate({"sensitive": ["sex"], "batches": [batch]})


KNOWN: Final = {"column": "hours", "op": "eq", "value": 37}
"""What the attacker knows of the person."""
SECRETS: Final[dict[str, tuple[dict[str, Any], dict[str, Any]]]] = {
    "age": ({"column": "age", "op": "lt", "value": 31}, {"column": "age", "op": "ge", "value": 31}),
    "sex": ({"column": "sex", "op": "eq", "value": "Female"}, {"column": "sex", "op": "eq", "value": "Male"}),
    "origin": ({"column": "origin", "op": "eq", "value": True}, {"column": "origin", "op": "eq", "value": False}),
}


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("column", SECRETS)
def test_singling_somebody_out_by_a_sensitive_value_costs_what_it_shows(relation: Relation, column: str) -> None:
    """Everybody less those who have the value: two classes. Those who have it and those who have not: one."""
    having, others = ([KNOWN, secret] for secret in SECRETS[column])
    person: Record = {"hours": 37, "age": 30, "sex": "Female", "origin": True}
    source = random.Random(3)
    for plan, classes in ((asked([KNOWN], having), 2), (asked(having, others), 1)):
        apart = [0.0]
        for _ in range(200):
            changed: Record = {
                "hours": 37, "age": source.randrange(99), "sex": source.choice(["Female", "Male"]),
                "origin": source.random() < 0.5,
            }  # fmt: skip
            registers = ([person], [] if relation == "add_remove" else [changed])
            apart.append(distance(plan, SCHEMA, relation, registers))

        assert price(plan, SCHEMA).charge.epsilon_nano == classes * NANO_PER_UNIT
        assert 0 < max(apart) <= classes
