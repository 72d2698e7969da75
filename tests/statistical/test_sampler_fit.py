"""Every sampler draws the mass that `shared.noise` states, and a scale that is off is caught.

χ² over 400 000 draws against the exact mass in some 24 bins of nearly equal mass, rejected below p = 10⁻⁶: that is
the false-alarm rate. The twin compares twice the draws with a scale 2 % off and must be rejected; by the non-central χ²
it is missed less than once in 10¹² (with 400 000 draws, once in 1 900 where both ends of the range cut the mass off).
"""

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from holder_service.mechanisms.base import Mechanism
from holder_service.mechanisms.exponential import ExponentialMechanism
from holder_service.mechanisms.gaussian import GaussianMechanism
from holder_service.mechanisms.laplace import LaplaceMechanism
from shared.noise import ExponentialNoise, Noise, RandomisedResponseNoise

DRAWS = 400_000
BINS = 24
P_MIN = 1e-6
COUNT = 7

EPSILONS_NANO = [10**9, 10**8, 2 * 10**7]
MECHANISMS: dict[str, Callable[[int], Mechanism]] = {
    "laplace": lambda epsilon_nano: LaplaceMechanism.calibrated(epsilon_nano=epsilon_nano, sensitivity=1),
    "gaussian": lambda epsilon_nano: GaussianMechanism.calibrated(
        epsilon_nano=epsilon_nano, delta_nano=1000, squared_sensitivity=2
    ),
    "exponential": lambda epsilon_nano: ExponentialMechanism.calibrated(
        epsilon_nano=epsilon_nano, upper=12 * 10**9 // epsilon_nano, counts_that_change=1
    ),
}

pytestmark = [
    pytest.mark.statistical,
    pytest.mark.parametrize("epsilon_nano", EPSILONS_NANO),
    pytest.mark.parametrize("name", MECHANISMS),
]


def test_the_draws_fit_the_stated_mass(name: str, epsilon_nano: int) -> None:
    mechanism = MECHANISMS[name](epsilon_nano)

    assert p_value(mechanism.release([COUNT] * DRAWS), mechanism.noise) >= P_MIN


def test_a_scale_that_is_off_is_rejected(name: str, epsilon_nano: int) -> None:
    mechanism = MECHANISMS[name](epsilon_nano)
    claimed = mechanism.noise.model_copy(update={"scale": mechanism.noise.scale * 1.02})  # type: ignore[union-attr]  # all three have one

    assert p_value(mechanism.release([COUNT] * 2 * DRAWS), claimed) < P_MIN


def p_value(answers: list[int], noise: Noise) -> float:
    """How well answers about `COUNT` people fit a mass function."""
    support, mass = answer_mass(noise)
    last = np.unique(np.searchsorted(np.cumsum(mass[:-1]), np.arange(1, BINS) / BINS).clip(max=len(mass) - 2))
    expected = np.add.reduceat(mass, [0, *(last + 1)])
    observed = np.bincount(np.searchsorted(support[last], np.asarray(answers)), minlength=len(expected))
    return float(stats.chisquare(observed, len(answers) * expected / expected.sum()).pvalue)


def answer_mass(noise: Noise) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """All answers about `COUNT` people that matter, and their probabilities."""
    assert not isinstance(noise, RandomisedResponseNoise)
    if isinstance(noise, ExponentialNoise):
        support = np.arange(noise.upper + 1)
        return support, np.exp([noise.log_likelihood(int(answer), COUNT) for answer in support])
    reach = round(60 * noise.scale) + 60
    support = np.arange(COUNT - reach, COUNT + reach + 1)
    return support, np.exp(noise.log_mass(support - COUNT))
