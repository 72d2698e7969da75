"""Several independent answers about the same counts, as one likelihood (ADR 0038).

Each answer is the true count plus a noise of its own, so the likelihood of a count is the product of theirs: exact
for every noise that is added, whatever its kind and scale. Post-processing: spends no budget. Whether answers that high
(or low) are likely is tested by their sum, weighted by the inverse of the variances, whose noise has its exact
distribution where the weights are whole numbers: so they are rounded to at most `WEIGHT_MAX` times the smallest.

Axes: T releases, K groups, G some of them, M draws, W columns of a table, J answers.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import gcd
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray
from scipy.signal import fftconvolve

from auditor_client.estimation.likelihoods import AdditiveAnswers, proposed_from_table
from auditor_client.estimation.measurements import IntArray
from auditor_client.estimation.noise_sums import FloatArray, NoiseSum

WEIGHT_MAX: Final = 8
_TAIL: Final = 1e-15
"""Probability beyond which noise is left out of weighted sums: no level is tested that is nearly as close to one."""


@dataclass(frozen=True, slots=True, eq=False)
class WeightedNoise:
    """The sum of some independent noises times whole numbers, and how likely it is at least so much.

    Attributes:
        weights: Of each noise; zero where one is too wide to add anything.
        cumulated: P(sum ≤ k) for k in −reach..reach, shape (2·reach + 1,).
    """

    weights: tuple[int, ...]
    cumulated: FloatArray

    @classmethod
    def of(cls, noises: Sequence[NoiseSum], weights: Sequence[int]) -> Self:
        """The sum of weighted noises."""
        mass = np.ones(1)
        for noise, weight in zip(noises, weights, strict=True):
            if weight:
                mass = np.maximum(fftconvolve(mass, _spread_mass(noise, weight)), 0.0)
        return cls(tuple(weights), np.cumsum(mass))

    def at_least(self, noise: IntArray) -> FloatArray:
        """P(sum ≥ k) for each k, of the same shape; by symmetry P(sum ≤ −k)."""
        reach = len(self.cumulated) // 2
        tail: FloatArray = np.where(noise > reach, 0.0, self.cumulated[np.clip(-noise, -reach, reach) + reach])
        return tail


@lru_cache(maxsize=32)
def precision_weighted(noises: tuple[NoiseSum, ...]) -> WeightedNoise:
    """The sum of noises weighted by the inverse of their variances, as nearly as small whole numbers can."""
    precisions = np.array([1 / noise.deviation**2 for noise in noises])
    weights = np.round(WEIGHT_MAX * precisions / precisions.max()).astype(int).tolist()
    common = gcd(*weights)
    return WeightedNoise.of(noises, [weight // common for weight in weights])


@lru_cache(maxsize=32)
def difference_of(first: NoiseSum, second: NoiseSum) -> WeightedNoise:
    """The difference of two independent noises, which are symmetric: as likely as their sum."""
    return WeightedNoise.of((first, second), (1, 1))


@dataclass(frozen=True, slots=True, eq=False)
class JoinedAnswers:
    """Independent answers about the same counts, to each of which noise was added; two at least."""

    parts: tuple[AdditiveAnswers, ...]

    @property
    def estimate(self) -> FloatArray:
        """The mean of the answers, weighted by the inverse of their variances, shape (T, K), in people."""
        weights = self._precisions / self._precisions.sum()
        mean: FloatArray = np.einsum("j,jtk->tk", weights, np.stack([part.estimate for part in self.parts]))
        return mean

    @property
    def deviation(self) -> float:
        """The standard deviation of that mean, in people."""
        return float(self._precisions.sum() ** -0.5)

    @property
    def _precisions(self) -> FloatArray:
        return np.array([1 / part.deviation**2 for part in self.parts])

    def propose(self, minimum: IntArray, maximum: IntArray, points: FloatArray) -> tuple[IntArray, FloatArray]:
        """Propose counts from the likelihood with tails twice as heavy; as `AdditiveAnswers` does."""
        start, table = self.table()
        return proposed_from_table(start, table, (minimum, maximum), points)

    def drawn(self, points: FloatArray) -> FloatArray:
        """Counts, shape (T, K, M), at cumulated shares of their likelihood within [0, 1) of the same shape.

        They may be negative: as counts minus drawn noise are of one answer.
        """
        start, table = self.table()
        cumulated = np.cumsum(np.exp(table), axis=-1)
        rows = np.arange(start.size).reshape(*start.shape, 1)
        shares = (cumulated / cumulated[..., -1:] + rows).ravel()
        columns = np.searchsorted(shares, points + rows, side="right") - rows * table.shape[-1]
        counts: FloatArray = (start[..., None] + np.minimum(columns, table.shape[-1] - 1)).astype(np.float64)
        return counts

    def table(self) -> tuple[IntArray, FloatArray]:
        """The first of all counts that are likely, shape (T, K), and the log-likelihood from there on.

        The table has shape (T, K, W), and zero at the likeliest count. Beyond the outermost answers the likelihood
        falls faster than any answer's own, so the table ends where all of them together are as unlikely as the end of
        one answer's table.
        """
        answers = np.stack([part.answers for part in self.parts])
        reach = int(np.ceil(np.sum([1 / part.noise.reach**2 for part in self.parts]) ** -0.5))
        start: IntArray = answers.min(axis=0) - reach
        width = int((answers.max(axis=0) - start).max()) + reach + 1
        counts = start[..., None] + np.arange(width)
        table = self.log_likelihood(counts, np.arange(answers.shape[-1]))
        return start, table - table.max(axis=-1, keepdims=True)

    def log_likelihood(self, counts: IntArray, groups: NDArray[np.intp]) -> FloatArray:
        """The log mass of the noises between answers and counts of some groups, shape (T, G, M)."""
        likelihood: FloatArray = np.sum([part.log_likelihood(counts, groups) for part in self.parts], axis=0)
        return likelihood

    def tail_probability(self, count: IntArray | int = 0) -> FloatArray:
        """How likely a count, of shape (T, 1) in people, is answered so high, shape (T, K); by default nobody."""
        weighted = precision_weighted(tuple(part.noise for part in self.parts))
        return weighted.at_least(self._weighted(weighted.weights) - sum(weighted.weights) * count)

    def lower_tail_probability(self, count: IntArray) -> FloatArray:
        """Return how likely a count, of shape (K,) in people, is answered so low, shape (T, K)."""
        weighted = precision_weighted(tuple(part.noise for part in self.parts))
        return weighted.at_least(sum(weighted.weights) * count - self._weighted(weighted.weights))

    def _weighted(self, weights: Sequence[int]) -> IntArray:
        total: IntArray = np.sum(
            [weight * part.answers for weight, part in zip(weights, self.parts, strict=True)], axis=0
        )
        return total


def joined(parts: Sequence[AdditiveAnswers]) -> AdditiveAnswers | JoinedAnswers:
    """Independent answers about the same counts; one by itself as it is."""
    return parts[0] if len(parts) == 1 else JoinedAnswers(tuple(parts))


def _spread_mass(noise: NoiseSum, weight: int) -> FloatArray:
    """The mass of a noise times a whole number, but for the farthest tails; its middle is at zero."""
    beyond = int(np.searchsorted(noise.cumulated, _TAIL))
    mass = np.exp(noise.log_mass[beyond : len(noise.log_mass) - beyond])
    spread = np.zeros(weight * (len(mass) - 1) + 1)
    spread[::weight] = mass
    return spread
