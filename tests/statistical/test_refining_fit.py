"""The joint law of a chain of answers, each finer than the one before, against exact tables (8-time §2).

The last noise, and the differences of each noise and the next, are independent of each other: so a table of their
classes has the products of their masses. χ² over 400 000 chains of three answers, and by itself the share of
chains in which a noise is the same as the one before, since that share is the weight w nearly. Rejected below p = 10⁻⁶
for all chains and tests together: that is the false-alarm rate. In the negative controls w is 2 % off, which moves its
share by 14 standard deviations or more, and the finer noise is independent of the first.

Source: Koufogiannis, Han, Pappas (2015), *Gradual release of sensitive data under differential privacy*.
"""

import itertools
from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from holder_service.mechanisms.laplace import LaplaceMechanism
from holder_service.mechanisms.refining import RefinedLaplaceMechanism

CHAINS = 400_000
COUNT = 7
EPSILONS_NANO = [(2 * 10**8, 25 * 10**7, 28 * 10**7), (10**6, 1_100_000, 10**9)]
P_MIN = 1e-6 / (2 * len(EPSILONS_NANO) * 2)

pytestmark = pytest.mark.statistical


@dataclass(frozen=True)
class Chain:
    """Mechanisms, coarsest first, and the noise of each in every chain, shape (3, `CHAINS`)."""

    mechanisms: tuple[LaplaceMechanism, ...]
    noise: NDArray[np.int64]

    @property
    def steps(self) -> list[tuple[LaplaceMechanism, LaplaceMechanism]]:
        return list(itertools.pairwise(self.mechanisms))

    def table_p(self, factor: float = 1) -> float:
        """How well the chains fit the exact table, with weights that are a factor off."""
        parts = [classes(self.noise[-1], *law(self.mechanisms[-1]))]
        for number, step in enumerate(self.steps):
            parts.append(classes(self.noise[number] - self.noise[number + 1], *difference(*step, factor)))
        seen = np.zeros([len(mass) for _, mass in parts])
        np.add.at(seen, tuple(index for index, _ in parts), 1)
        expected = CHAINS * np.einsum("i,j,k->ijk", *(mass for _, mass in parts))
        many = expected >= 25
        rest = [] if many.all() else [(seen[~many].sum(), expected[~many].sum())]
        observed, masses = zip(*zip(seen[many], expected[many], strict=True), *rest, strict=True)
        return float(stats.chisquare(observed, masses).pvalue)

    def weight_p(self, step: int, factor: float = 1) -> float:
        """How well the share of unchanged noise fits."""
        support, mass = difference(*self.steps[step], factor)
        unchanged = int((self.noise[step] == self.noise[step + 1]).sum())
        return float(stats.binomtest(unchanged, CHAINS, float(mass[support == 0][0])).pvalue)


def law(mechanism: LaplaceMechanism) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """All noise that matters, and its probabilities."""
    reach = round(60 * mechanism.scale) + 60
    support = np.arange(-reach, reach + 1)
    return support, np.exp(mechanism.noise.log_mass(support))


def difference(
    coarse: LaplaceMechanism, fine: LaplaceMechanism, factor: float
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The law of a noise less the next, with a weight that is a factor off."""
    first, second = (np.exp(-1 / mechanism.scale) for mechanism in (coarse, fine))
    weight = factor * ((1 - first) / (1 - second)) ** 2 * second / first
    support, mass = law(coarse)
    return support, weight * (support == 0) + (1 - weight) * mass


def classes(
    values: NDArray[np.int64], support: NDArray[np.int64], mass: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The class of each value, some six of nearly equal mass, and each class's probability; zero is one by itself."""
    cuts = np.unique(np.searchsorted(np.cumsum(mass), np.arange(1, 6) / 6))
    edges = np.unique([*support[cuts], -1, 0])
    of_support = np.searchsorted(edges, support)
    masses = np.bincount(of_support, mass).astype(np.float64)
    return np.searchsorted(edges, values).astype(np.int64), masses


@pytest.fixture(scope="module", params=EPSILONS_NANO, ids=str)
def mechanisms(request: pytest.FixtureRequest) -> tuple[LaplaceMechanism, ...]:
    return tuple(LaplaceMechanism.calibrated(epsilon_nano=nano, sensitivity=1) for nano in request.param)


@pytest.fixture(scope="module")
def drawn(mechanisms: tuple[LaplaceMechanism, ...]) -> Chain:
    answers = [mechanisms[0].release([COUNT] * CHAINS)]
    for coarse, fine in itertools.pairwise(mechanisms):
        answers.append(RefinedLaplaceMechanism(coarse, fine, tuple(answers[-1])).release([COUNT] * CHAINS))
    return Chain(mechanisms, np.array(answers) - COUNT)


def test_a_chain_has_its_joint_law(drawn: Chain) -> None:
    assert drawn.table_p() >= P_MIN
    assert min(drawn.weight_p(step) for step in (0, 1)) >= P_MIN


def test_a_weight_that_is_off_is_rejected(drawn: Chain) -> None:
    for factor in (0.98, 1.02):
        assert drawn.weight_p(0, factor) < P_MIN


def test_independent_noise_is_rejected(mechanisms: tuple[LaplaceMechanism, ...]) -> None:
    apart = Chain(mechanisms, np.array([mechanism.release([0] * CHAINS) for mechanism in mechanisms]))

    assert apart.table_p() < P_MIN
    assert apart.weight_p(0) < P_MIN
