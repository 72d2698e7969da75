"""What a mechanism costs, it says of itself; and nothing is answered with one that costs something else."""

import random
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from opendp.measurements import make_gaussian, make_laplace

from holder_service.domain.pricing import price
from holder_service.mechanisms.base import Mechanism, nano_at_least
from holder_service.mechanisms.calibration import mechanism_of
from holder_service.mechanisms.gaussian import GaussianMechanism
from holder_service.mechanisms.laplace import SPACE, LaplaceMechanism
from holder_service.services.releases.priced import Miscalibrated, PricedBatch
from shared.contract.datasets import DatasetDeclaration
from shared.contract.relations import NeighbouringRelation, Relation
from shared.kinds.plans import Batch, Plan
from shared.privacy.amounts import (
    DELTA_NANO_MAX,
    DELTA_NANO_MIN,
    EPSILON_NANO_MAX,
    EPSILON_NANO_MIN,
    NANO_PER_UNIT,
    Loss,
    format_nano,
)
from testing.registers import DECLARATION, plan

SCHEMA = DatasetDeclaration.model_validate(DECLARATION).table
RELATIONS: tuple[Relation, ...] = ("add_remove", "replace", "sensitive_attribute")


def batch_of(name: str, loss: Loss) -> Batch:
    """A batch of one mechanism at a loss, of the register's plan."""
    fields: dict[str, dict[str, Any]] = {
        "gaussian": {"delta": format_nano(loss.delta_nano)},
        "exponential": {"upper": NANO_PER_UNIT},
    }
    mechanism = {"name": name, **fields.get(name, {})}
    return Plan.model_validate(plan(mechanism=mechanism, epsilon=format_nano(loss.epsilon_nano))).batches[0]


def calibrated(batch: Batch, relation: Relation = "add_remove") -> Mechanism:
    return mechanism_of(batch, relation=NeighbouringRelation(relation), schema=SCHEMA, sensitive=["sex"])


def priced(batch: Batch, mechanism: Mechanism) -> PricedBatch:
    cost = price(Plan(sensitive=("sex",), batches=(batch,)), SCHEMA).batches[0]
    return PricedBatch(cost.batch, cost.classes, cost.loss, cost.loss_of_class, mechanism, None)


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize(("name", "samples"), [("laplace", 1000), ("exponential", 1000), ("gaussian", 60)])
def test_a_mechanism_states_the_loss_that_was_asked_for(name: str, samples: int, relation: Relation) -> None:
    source = random.Random(f"{name} {relation}")
    epsilons = [EPSILON_NANO_MIN, EPSILON_NANO_MAX, 333_333_333]
    epsilons += [round(10 ** source.uniform(6, 10)) for _ in range(samples)]
    for epsilon_nano in epsilons:
        delta_nano = source.choice((DELTA_NANO_MIN, DELTA_NANO_MAX, round(10 ** source.uniform(0, 6))))
        batch = batch_of(name, Loss(epsilon_nano, delta_nano if name == "gaussian" else 0))

        assert priced(batch, calibrated(batch, relation)).mechanism.loss == batch.loss


def laplace_of_half_the_scale() -> Mechanism:
    mechanism = LaplaceMechanism.calibrated(epsilon_nano=10**8, sensitivity=1)
    return replace(mechanism, _measurement=make_laplace(*SPACE, scale=mechanism.scale / 2))


def gaussian_of_half_the_scale() -> Mechanism:
    mechanism = GaussianMechanism.calibrated(loss=Loss(10**8, 1000), squared_sensitivity=1)
    domain, metric = mechanism._measurement.input_space
    return replace(mechanism, _measurement=make_gaussian(domain, metric, scale=mechanism.scale / 2))


@pytest.mark.parametrize(
    ("name", "mechanism"),
    [
        ("laplace", laplace_of_half_the_scale),
        ("gaussian", gaussian_of_half_the_scale),
        ("laplace", lambda: calibrated(batch_of("laplace", Loss(10**8 + 1)))),
        ("laplace", lambda: calibrated(batch_of("laplace", Loss(10**8 - 1)))),
        ("exponential", lambda: calibrated(batch_of("exponential", Loss(2 * 10**8)))),
        ("gaussian", lambda: calibrated(batch_of("gaussian", Loss(10**8, 1001)))),
        ("gaussian", lambda: calibrated(batch_of("laplace", Loss(10**8)))),
    ],
)
def test_no_batch_is_answered_at_another_loss(name: str, mechanism: Callable[[], Mechanism]) -> None:
    batch = batch_of(name, Loss(10**8, 1000 if name == "gaussian" else 0))

    priced(batch, calibrated(batch))
    with pytest.raises(Miscalibrated):
        priced(batch, mechanism())


@pytest.mark.parametrize(
    ("amount", "nano"), [(0.1, 10**8 + 1), (Fraction(1, 10), 10**8), (0, 0), (Fraction(1, 3 * 10**9), 1)]
)
def test_a_loss_is_rounded_up(amount: Fraction | float, nano: int) -> None:
    """The double 0.1 is more than a tenth."""
    assert nano_at_least(amount) == nano
