"""Every sampler draws the mass that `shared.privacy.noise` states, and a scale that is off is caught.

χ² over 800 000 draws, of the Gaussian half as many, against the exact mass in 6 to 24 bins of nearly equal mass,
rejected below p = 10⁻⁶ for all samplers together: that is the false-alarm rate. In the negative control the scale is
2 % off and must be rejected; by the non-central χ² the exponential mechanism at scale 2, whose range cuts the mass
off at both ends, is missed once in 10¹¹ times, and every other one less often. (With half the draws it is once in
500.)
"""

import itertools
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from holder_service.mechanisms.base import Mechanism
from holder_service.mechanisms.exponential import ExponentialMechanism
from holder_service.mechanisms.gaussian import GaussianMechanism
from holder_service.mechanisms.laplace import LaplaceMechanism
from holder_service.mechanisms.one_sided import OneSidedGeometricMechanism
from shared.privacy.amounts import NANO_PER_UNIT, Loss
from shared.privacy.noise import ExponentialNoise, Noise, OneSidedGeometricNoise, RandomisedResponseNoise

DRAWS = {"laplace": 800_000, "gaussian": 400_000, "exponential": 800_000}
BINS = 24
COUNT = 7

EPSILONS_NANO = [10**9, 10**8, 2 * 10**7]
MECHANISMS: dict[str, Callable[[int], Mechanism]] = {
    "laplace": lambda epsilon_nano: LaplaceMechanism.calibrated(epsilon_nano=epsilon_nano, sensitivity=1),
    "gaussian": lambda epsilon_nano: GaussianMechanism.calibrated(loss=Loss(epsilon_nano, 1000), squared_sensitivity=2),
    "exponential": lambda epsilon_nano: ExponentialMechanism.calibrated(
        epsilon_nano=epsilon_nano, upper=12 * 10**9 // epsilon_nano, counts_that_change=1
    ),
}
P_MIN = 1e-6 / ((len(MECHANISMS) + 1) * len(EPSILONS_NANO))

pytestmark = pytest.mark.statistical


@pytest.fixture(
    scope="module",
    params=itertools.product(MECHANISMS, EPSILONS_NANO),
    ids=lambda param: f"{param[0]}-{param[1] / NANO_PER_UNIT:g}",
)
def drawn(request: pytest.FixtureRequest) -> tuple[Mechanism, list[int]]:
    """A mechanism, and its answers about `COUNT` people."""
    name, epsilon_nano = request.param
    mechanism = MECHANISMS[name](epsilon_nano)
    return mechanism, mechanism.release([COUNT] * DRAWS[name])


def test_the_draws_fit_the_stated_mass(drawn: tuple[Mechanism, list[int]]) -> None:
    mechanism, answers = drawn

    assert p_value(answers, mechanism.noise) >= P_MIN


def test_a_scale_that_is_off_is_rejected(drawn: tuple[Mechanism, list[int]]) -> None:
    mechanism, answers = drawn
    claimed = mechanism.noise.model_copy(update={"scale": mechanism.noise.scale * 1.02})  # type: ignore[union-attr]  # all three have one

    assert p_value(answers, claimed) < P_MIN


@pytest.mark.parametrize("epsilon_nano", EPSILONS_NANO)
def test_one_sided_draws_fit_the_stated_mass(epsilon_nano: int) -> None:
    """A watch's noise, which no count gets; the scale that is 2 % off is rejected here too."""
    mechanism = OneSidedGeometricMechanism.calibrated(epsilon_nano=epsilon_nano, sensitivity=1)
    answers = mechanism.release([COUNT] * DRAWS["laplace"])

    assert p_value(answers, mechanism.noise) >= P_MIN
    assert p_value(answers, OneSidedGeometricNoise(scale=1.02 * mechanism.noise.scale)) < P_MIN


def p_value(answers: list[int], noise: Noise | OneSidedGeometricNoise) -> float:
    """How well answers about `COUNT` people fit a mass function."""
    support, mass = answer_mass(noise)
    last = np.unique(np.searchsorted(np.cumsum(mass[:-1]), np.arange(1, BINS) / BINS).clip(max=len(mass) - 2))
    expected = np.add.reduceat(mass, [0, *(last + 1)])
    observed = np.bincount(np.searchsorted(support[last], np.asarray(answers)), minlength=len(expected))
    return float(stats.chisquare(observed, len(answers) * expected / expected.sum()).pvalue)


def answer_mass(noise: Noise | OneSidedGeometricNoise) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """All answers about `COUNT` people that matter, and their probabilities."""
    assert not isinstance(noise, RandomisedResponseNoise)
    if isinstance(noise, ExponentialNoise):
        support = np.arange(noise.upper + 1)
        return support, np.exp([noise.log_likelihood(int(answer), COUNT) for answer in support])
    reach = round(60 * noise.scale) + 60
    if isinstance(noise, OneSidedGeometricNoise):
        support = np.arange(COUNT - reach, COUNT + 1)
        return support, np.exp([noise.log_mass(int(answer) - COUNT) for answer in support])
    support = np.arange(COUNT - reach, COUNT + reach + 1)
    return support, np.exp(noise.log_mass(support - COUNT))
