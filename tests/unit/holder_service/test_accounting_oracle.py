"""What is charged is never below what Google's dp-accounting finds for the same events, composed tightly.

The oracle bounds the loss from below (optimistic discretisation), event by event: every count that changes between
neighbours is one event of sensitivity 1, and every class of a batch repeats them. Its composition is numerical and
cuts tails of some 10⁻¹⁵, so it is asked at a δ that much larger than the one charged.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import pytest
from dp_accounting.pld import privacy_loss_distribution as pld

from holder_service.domain.pricing import price
from holder_service.mechanisms.calibration import mechanism_of
from shared.contract.datasets import DatasetDeclaration
from shared.contract.relations import NeighbouringRelation, Relation
from shared.kinds.plans import Plan
from shared.privacy.noise import DiscreteGaussianNoise, DiscreteLaplaceNoise, ExponentialNoise, Noise
from testing.registers import plan

INTERVAL = 1e-3
CUT_TAILS = 1e-9
UPPER = 60
DECLARED = DatasetDeclaration.model_validate(
    {
        "person_key": "id",
        "columns": [
            {"name": "age", "type": "integer", "minimum": 0, "maximum": 100},
            {"name": "sex", "type": "category", "categories": ["a", "b", "c"], "sensitive": True},
        ],
    }
)


@dataclass(frozen=True)
class Asked:
    """A plan with its price and the noise of its batches."""

    charge: tuple[float, float]
    events: tuple[tuple[Noise, int], ...]


@pytest.mark.parametrize("name", ["add_remove", "replace", "sensitive_attribute"])
@pytest.mark.parametrize("seed", range(8))
def test_the_charge_is_never_below_the_tight_loss(name: Relation, seed: int) -> None:
    asked = random_plan(random.Random(f"{name}-{seed}"), NeighbouringRelation(name))

    epsilon, delta = asked.charge
    assert tight_epsilon(asked.events, delta) <= epsilon * (1 + 1e-6)


@pytest.mark.parametrize("mechanism", ["laplace", "gaussian", "exponential"])
def test_noise_of_half_the_scale_is_found_too_cheap(mechanism: str) -> None:
    document = plan(epsilon="0.5", mechanism=mechanism_document(mechanism), cells=cells(1))
    asked = priced(Plan.model_validate(document), NeighbouringRelation("add_remove"))

    halved = [(noise.model_copy(update={"scale": noise.scale / 2}), times) for noise, times in asked.events]  # type: ignore[union-attr]  # all three have a scale

    epsilon, delta = asked.charge
    assert tight_epsilon(halved, delta) > epsilon


def random_plan(source: random.Random, neighbouring: NeighbouringRelation) -> Asked:
    """One to four batches of any mechanism, each of one to three classes."""
    batches = [
        {
            "name": f"batch-{index}",
            "mechanism": mechanism_document(source.choice(["laplace", "gaussian", "exponential"])),
            "epsilon": f"{source.uniform(0.05, 1.5):.3f}",
            "cells": cells(source.randint(1, 3)),
        }
        for index in range(source.randint(1, 4))
    ]
    return priced(Plan.model_validate({"sensitive": ["sex"], "batches": batches}), neighbouring)


def mechanism_document(name: str) -> dict[str, Any]:
    """A mechanism as a plan names it."""
    parameters: dict[str, dict[str, Any]] = {"gaussian": {"delta": "0.00001"}, "exponential": {"upper": UPPER}}
    return {"name": name, **parameters.get(name, {})}


def cells(classes: int) -> list[dict[str, Any]]:
    """Overlapping cells that need so many classes."""
    return [{"id": f"c{index}", "all_of": [{"column": "age", "op": "ge", "value": index}]} for index in range(classes)]


def priced(plan: Plan, neighbouring: NeighbouringRelation) -> Asked:
    """A plan's charge, and the events that neighbours can differ in."""
    priced_plan = price(plan, DECLARED.table)
    events = tuple(
        (
            mechanism_of(cost.batch, relation=neighbouring, schema=DECLARED.table, sensitive=plan.sensitive).noise,
            neighbouring.counts_that_change(groups=3, moved=False) * len(cost.classes),
        )
        for cost in priced_plan.batches
    )
    return Asked((priced_plan.charge.epsilon_nano / 1e9, priced_plan.charge.delta_nano / 1e9), events)


def tight_epsilon(events: Sequence[tuple[Noise, int]], delta: float) -> float:
    """The oracle's lower bound of ε at a δ, for events that happen so many times each."""
    composed = reduce(lambda one, other: one.compose(other), (event(*pair) for pair in events))
    return float(composed.get_epsilon_for_delta(delta + CUT_TAILS))


def event(noise: Noise, times: int) -> Any:
    """The privacy loss distribution of one noisy count that changes by one person, composed with itself."""
    settings: dict[str, Any] = {"pessimistic_estimate": False, "value_discretization_interval": INTERVAL}
    if isinstance(noise, DiscreteLaplaceNoise):
        single = pld.from_discrete_laplace_mechanism(1 / noise.scale, sensitivity=1, **settings)
    elif isinstance(noise, DiscreteGaussianNoise):
        single = pld.from_discrete_gaussian_mechanism(noise.scale, sensitivity=1, **settings)
    else:
        assert isinstance(noise, ExponentialNoise)
        first, second = (
            {answer: noise.log_likelihood(answer, count) for answer in range(noise.upper + 1)} for count in (1, 0)
        )  # at the edge of the candidates, and in this order, the loss is largest
        single = pld.from_two_probability_mass_functions(first, second, **settings)
    return single.self_compose(times)
