"""What is charged in ρ is never below the Rényi loss that dp-accounting finds for the same events (8-time §1)."""

import math
import random
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache
from itertools import pairwise
from typing import Any, Final

import numpy as np
import pytest
from dp_accounting.dp_event import GaussianDpEvent, LaplaceDpEvent
from dp_accounting.rdp import RdpAccountant
from numpy.typing import NDArray

from holder_service.mechanisms.base import Mechanism
from holder_service.mechanisms.calibration import mechanism_of
from holder_service.mechanisms.choice import ChoiceMechanism
from shared.contract.relations import NeighbouringRelation, Relation
from shared.kinds.plans import Batch
from shared.privacy.amounts import NANO_PER_UNIT
from shared.privacy.noise import DiscreteGaussianNoise, DiscreteLaplaceNoise, ExponentialNoise
from shared.privacy.zero_concentrated import epsilon_nano_at
from tests.unit.holder_service.test_accounting_oracle import DECLARED, cells, tight_epsilon

ORDERS: Final = (1.05, 1.25, 1.5, 2.0, 3.0, 4.0, 8.0, 16.0, 32.0, 64.0, 256.0)
SEQUENCES: Final = 10_000
Losses = NDArray[np.float64]


def mechanism(document: dict[str, Any], relation: Relation = "add_remove") -> tuple[Mechanism, int]:
    """A calibrated mechanism, and how many counts change between neighbours."""
    batch = Batch.model_validate({"name": "b", "cells": cells(1), **document})
    neighbouring = NeighbouringRelation(relation)
    changed = neighbouring.counts_that_change(3, moved=False)
    return mechanism_of(batch, relation=neighbouring, schema=DECLARED.table, sensitive=("sex",)), changed


def documents(source: random.Random) -> list[dict[str, Any]]:
    """Each mechanism at a few parameters."""
    found: list[dict[str, Any]] = []
    for _ in range(8):
        epsilon, upper = f"{math.exp(source.uniform(math.log(0.02), math.log(4))):.6f}", source.randint(60, 90)
        rho = f"{math.exp(source.uniform(math.log(0.00001), math.log(4))):.9f}"
        found += [
            {"mechanism": {"name": "laplace"}, "epsilon": epsilon},
            {"mechanism": {"name": "exponential", "upper": upper}, "epsilon": epsilon},
            {"mechanism": {"name": "gaussian", "delta": "0.00001"}, "epsilon": epsilon},
            {"mechanism": {"name": "gaussian"}, "rho": rho},
        ]
    return found


def renyi(found: Mechanism, changed: int) -> Losses:
    """The Rényi loss of one class at each order: by dp-accounting, and of the exponential mechanism by its masses."""
    noise = found.noise
    if isinstance(noise, ExponentialNoise):
        return changed * exponential_renyi(noise)
    accountant: Any = RdpAccountant(orders=ORDERS)
    if isinstance(noise, DiscreteGaussianNoise):
        accountant.compose(GaussianDpEvent(noise.scale), changed)
    else:
        assert isinstance(noise, DiscreteLaplaceNoise)
        accountant.compose(LaplaceDpEvent(noise.scale), changed)
    return np.array(accountant._rdp)


@cache
def exponential_renyi(noise: ExponentialNoise) -> Losses:
    """Of one count, at the worst pair of counts."""
    masses = exponential_masses(noise)
    worst = np.zeros(len(ORDERS))
    for one, other in pairwise(masses):
        for first, second in ((one, other), (other, one)):
            divergences = [
                math.log(np.sum(np.exp(order * first + (1 - order) * second))) / (order - 1) for order in ORDERS
            ]
            worst = np.maximum(worst, divergences)
    return worst


def exponential_masses(noise: ExponentialNoise) -> list[Losses]:
    """For each count the logarithms of the chances of all answers."""
    answers = range(noise.upper + 1)
    return [np.array([noise.log_likelihood(answer, count) for answer in answers]) for count in range(noise.upper + 2)]


@pytest.fixture(scope="module")
def pool() -> list[tuple[int, Losses]]:
    """Mechanisms under two relations: what each is charged in ρ, and its Rényi losses."""
    source, found = random.Random(7), []
    for relation in ("add_remove", "replace"):
        for document in documents(source):
            calibrated, changed = mechanism(document, relation)
            found.append((calibrated.rho_nano, renyi(calibrated, changed)))
    return found


def beyond(pool: Sequence[tuple[int, Losses]], charged: Callable[[int], int] = int) -> int:
    """In how many random sequences of events the sum in ρ is below the Rényi loss at some order."""
    source, found = random.Random(11), 0
    for _ in range(SEQUENCES):
        rho_nano, losses = 0, np.zeros(len(ORDERS))
        for _ in range(source.randint(1, 12)):
            (of_class, of_event), classes = source.choice(pool), source.randint(1, 4)
            rho_nano += charged(of_class) * classes
            losses = losses + of_event * classes
        found += bool(np.any(losses > np.array(ORDERS) * rho_nano / NANO_PER_UNIT * (1 + 1e-9)))
    return found


def test_no_sum_in_rho_is_below_the_renyi_loss(pool: list[tuple[int, Losses]]) -> None:
    assert beyond(pool) == 0


def test_a_tenth_less_would_be_below(pool: list[tuple[int, Losses]]) -> None:
    assert beyond(pool, lambda rho_nano: rho_nano * 9 // 10) > SEQUENCES // 10


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
@pytest.mark.parametrize("seed", range(4))
def test_a_reading_is_never_below_the_tight_loss(relation: Relation, seed: int) -> None:
    source = random.Random(f"{relation}-{seed}")
    rho_nano, events = 0, []
    for document in source.sample(documents(source), 5):
        calibrated, changed = mechanism(document, relation)
        classes = source.randint(1, 3)
        rho_nano += calibrated.rho_nano * classes
        events.append((calibrated.noise, changed * classes))

    assert tight_epsilon(events, 1e-6) <= epsilon_nano_at(rho_nano, 1000) / NANO_PER_UNIT


@pytest.mark.parametrize("squared", ["add_remove", "replace"])
@pytest.mark.parametrize("rho", ["0.000001", "0.005", "0.123456789", "10"])
def test_noise_asked_in_rho_costs_exactly_that(rho: str, squared: Relation) -> None:
    document = {"mechanism": {"name": "gaussian"}, "rho": rho}

    calibrated, changed = mechanism(document, squared)

    batch = Batch.model_validate({"name": "b", "cells": cells(1), **document})
    assert calibrated.loss == batch.loss
    assert calibrated.rho_nano == batch.rho
    assert isinstance(calibrated.noise, DiscreteGaussianNoise)
    exact = Fraction(changed, 2) / Fraction(calibrated.noise.scale) ** 2 * NANO_PER_UNIT
    assert 0 <= (batch.rho or 0) - exact < Fraction(batch.rho or 0, 10**12) + Fraction(1, 10**3)


@pytest.mark.parametrize("epsilon", ["0.05", "0.4", "1.7"])
@pytest.mark.parametrize("relation", ["add_remove", "replace"])
def test_the_exponential_mechanism_has_a_bounded_range(epsilon: str, relation: Relation) -> None:
    """Over all answers, log P/P′ varies by ε at most: by brute force over all neighbouring counts (Cesar, Rogers)."""
    document = {"mechanism": {"name": "exponential", "upper": 40}, "epsilon": epsilon}
    calibrated, changed = mechanism(document, relation)
    assert isinstance(calibrated.noise, ExponentialNoise)

    ranges = [np.ptp(other - one) for one, other in pairwise(exponential_masses(calibrated.noise))]

    assert changed * max(ranges) <= float(epsilon) * (1 + 1e-9)
    assert changed * max(ranges) >= float(epsilon) * (1 - 1e-9), "the bound is reached"


@pytest.mark.parametrize("epsilon_nano", [10**7, 3 * 10**8])
def test_permute_and_flip_has_none_and_is_charged_as_pure(epsilon_nano: int) -> None:
    """Two candidates of equal score, and the same once one has gained a person."""
    epsilon = epsilon_nano / NANO_PER_UNIT
    equal, apart = np.log([0.5, 0.5]), np.log([1 - math.exp(-epsilon) / 2, math.exp(-epsilon) / 2])
    choice = ChoiceMechanism.calibrated(epsilon_nano=epsilon_nano, people_that_change=1)

    assert np.ptp(equal - apart) == pytest.approx(epsilon + math.log(2 - math.exp(-epsilon)))
    second = math.log(np.sum(np.exp(2 * apart - equal)))
    assert second > 2 * 2 * epsilon**2 / 8, "a Rényi loss of order 2 that ε²/8, and twice that, does not cover"
    assert second <= 2 * choice.rho_nano / NANO_PER_UNIT
