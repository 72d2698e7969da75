"""The measurement of a chain of decisions by a release: noisy counts of how far people came, by group.

Axes: S stages, K groups.
"""

from dataclasses import dataclass

import numpy as np

from auditor_client.errors import EstimationRefused
from auditor_client.estimation.measurements import IntArray, NoisyCounts
from shared.contract.schema import Group
from shared.privacy.noise import AdditiveNoise, DiscreteGaussianNoise, DiscreteLaplaceNoise


@dataclass(frozen=True, slots=True, eq=False)
class ChainCounts:
    """Noisy counts of the people who reached so many stages of a chain and not the next one.

    Attributes:
        groups: The K groups.
        stages: The names of the S stages, in their order.
        parts: Histograms that add up, of shape (S + 1, K): row j is of those who reached j stages, and no more.
        contradicting: People who reached a stage without an earlier one, of shape (R, K), with a noise of their own;
            None where that was not asked for.

    Raises:
        EstimationRefused: The parts differ in shape or noise, or did not get noise by adding it.
    """

    groups: tuple[Group, ...]
    stages: tuple[str, ...]
    parts: tuple[NoisyCounts, ...]
    contradicting: NoisyCounts | None = None

    def __post_init__(self) -> None:
        if not self.parts or any(part.counts.shape != (len(self.stages) + 1, len(self.groups)) for part in self.parts):
            raise EstimationRefused("The answer's counts do not fit the chain's stages and groups: do not use it.")
        if len({part.noise for part in self.parts}) != 1:
            raise EstimationRefused("The stages of a chain are counted with one noise: do not use the answer.")
        _ = self.noise

    @property
    def noise(self) -> AdditiveNoise:
        """On every count.

        Raises:
            EstimationRefused: The mechanism does not add noise.
        """
        return additive(self.parts[0])

    @property
    def counts(self) -> IntArray:
        """The sum of the parts, shape (S + 1, K)."""
        total: IntArray = np.sum([part.counts for part in self.parts], axis=0)
        return total


def additive(counts: NoisyCounts) -> AdditiveNoise:
    """The noise on some counts.

    Raises:
        EstimationRefused: The mechanism does not add noise.
    """
    noise = counts.noise
    if isinstance(noise, DiscreteLaplaceNoise | DiscreteGaussianNoise):
        return noise
    raise EstimationRefused("A chain needs a mechanism that adds noise: laplace or gaussian.")
