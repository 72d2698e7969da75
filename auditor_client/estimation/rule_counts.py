"""The counts of single rules, given the totals of two groups: the noise of a total split into those of its rules.

Independent noises are drawn for all rules. Sets of them are matched to the drawn totals by the rank of their
sum, and what is left between a total and its set's sum is spread over the rules in proportion to their variance.
With normal noise that is exactly the distribution of the noises given their sum; with any noise it is so
wherever the prior does not move the totals. A rule's count may come out negative, so that the counts stay unbiased
and add up.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np

from auditor_client.errors import EstimationRefused
from auditor_client.estimation.local_model import UnmixedCounts
from auditor_client.estimation.measurements import Measurement
from auditor_client.estimation.noise_sums import FloatArray, noise_sum
from shared.noise import DiscreteGaussianNoise, DiscreteLaplaceNoise


@dataclass(frozen=True, slots=True, eq=False)
class RuleCounts:
    """Two groups' counts of every favourable rule, as drawn without regard to the totals.

    Attributes:
        counts: Shape (R, 2, M), in people, of two groups; or (R, 1, M), of the first of two whose people are known.
        spread: How a difference to the groups' totals is spread over the rules, shape (R, G, G): adds up to the
            identity (or a projection, where the groups' sum cannot differ).
        people: What a rule's two groups have together, shape (R,), if the second group is what the first leaves.
        reversed: Whether the first group of the counts is the second of the pair.
    """

    counts: FloatArray
    spread: FloatArray
    people: FloatArray | None = None
    reversed: bool = False

    @classmethod
    def of_local(cls, measurement: Measurement, pair: tuple[int, int], draws: int, rng: np.random.Generator) -> Self:
        """Of the local model: normal errors, independent between rules and correlated between the groups."""
        response = measurement.response_probabilities()
        rules = [UnmixedCounts.of(reported, response) for reported in measurement.completed()[0].counts]
        chosen = np.ix_(pair, pair)
        covariance = np.stack([rule.covariance[chosen] for rule in rules])
        estimates = np.stack([rule.estimate[list(pair)] for rule in rules])
        values, vectors = np.linalg.eigh(covariance)
        roots = vectors * np.sqrt(np.maximum(values, 0))[:, None, :]
        noise = np.einsum("rij,rjm->rim", roots, rng.standard_normal((len(rules), 2, draws)))
        spread = covariance @ np.linalg.pinv(covariance.sum(axis=0), hermitian=True)
        return cls(estimates[..., None] - noise, spread)

    def split(self, totals: FloatArray) -> FloatArray:
        """Counts of every rule that add up to the totals.

        Args:
            totals: Drawn accepted people of groups i and j, shape (2, M).

        Returns:
            Shape (R, 2, M).
        """
        if self.people is not None:
            first = self._matched(totals[[int(self.reversed)]])[:, 0]
            both = np.stack([first, self.people[:, None] - first], axis=1)
            return both[:, ::-1] if self.reversed else both
        return self._matched(totals)

    def _matched(self, totals: FloatArray) -> FloatArray:
        """Counts of the groups of `counts`, shape (R, G, M), to totals of shape (G, M)."""
        counts = self.counts
        if self._independent:
            drawn = counts.sum(axis=0)
            places = np.empty(totals.shape, dtype=np.intp)
            np.put_along_axis(places, totals.argsort(axis=1, kind="stable"), drawn.argsort(axis=1), axis=1)
            counts = np.take_along_axis(counts, places[None], axis=2)
        left = totals - counts.sum(axis=0)
        spread: FloatArray = counts + np.einsum("rij,jm->rim", self.spread, left)
        return spread

    @property
    def _independent(self) -> bool:
        """Whether the groups' noises are, so that each may be matched by itself."""
        return bool((self.spread * (1 - np.eye(self.spread.shape[1])) == 0).all())


def rule_counts(measurement: Measurement, pair: tuple[int, int], *, draws: int, seed: int) -> RuleCounts:
    """Draw two groups' counts of every favourable rule.

    Args:
        measurement: Noisy counts with a favourable cell for each rule.
        pair: The places of the two groups.
        draws: M, how many draws.
        seed: The same seed gives the same draws.

    Raises:
        EstimationRefused: The noise was not added to each rule's counts (exponential mechanism).
    """
    rng = np.random.default_rng((seed, 2))  # another stream than the totals come from
    favourable = measurement.favourable
    if measurement.is_local:
        return RuleCounts.of_local(measurement, pair, draws, rng)
    if not isinstance(favourable.noise, DiscreteLaplaceNoise | DiscreteGaussianNoise):
        raise EstimationRefused(
            "Single rules cannot be told from answers of the exponential mechanism: ask with laplace or gaussian."
        )
    places = list(pair) if measurement.counted > 1 else [0]
    drawn = favourable.counts[:, places, None] - _noise(favourable.noise, (favourable.cells, len(places), draws), rng)
    if len(measurement.groups) > 2 or measurement.supports is None:
        return RuleCounts(drawn, np.tile(np.eye(2) / favourable.cells, (favourable.cells, 1, 1)))
    # Of two groups with known people each count is measured twice, or the second not at all.
    people = np.array(measurement.supports.favourable, dtype=np.float64)
    first = drawn[:, :1] if len(places) == 1 else (drawn[:, :1] + people[:, None, None] - drawn[:, 1:]) / 2
    spread = np.full((favourable.cells, 1, 1), 1 / favourable.cells)
    return RuleCounts(first, spread, people, reversed=len(places) == 1 and pair == (1, 0))


def _noise(
    noise: DiscreteLaplaceNoise | DiscreteGaussianNoise, shape: tuple[int, ...], rng: np.random.Generator
) -> FloatArray:
    """Independent noises, in people."""
    if isinstance(noise, DiscreteGaussianNoise):
        return noise_sum(noise, 1).quantile(rng.random(shape)).astype(np.float64)
    stop = -np.expm1(-1 / noise.scale)
    return (rng.geometric(stop, shape) - rng.geometric(stop, shape)).astype(np.float64)
