"""The counts of single rules, given the totals of two groups: the noise of a total split into those of its rules.

Independent noises are drawn for all rules. Sets of them are matched to the drawn totals by the rank of their
sum, and what is left between a total and its set's sum is spread over the rules in proportion to their variance.
With normal noise that is exactly the distribution of the noises given their sum; with any noise it is so
wherever the prior does not move the totals. A rule's count may come out negative, so that the counts stay unbiased
and add up.

The exponential mechanism's answers are no counts plus noise. There each count is drawn by itself, from the confidence
distribution of its answer, and only matched to the totals: the draws of all rules do not add up to them, because a
sum of counts that are never negative is too large. An answer of zero stands for many noises at once, so the ends of an
interval come from two distributions, as those of Clopper and Pearson do: `counts` for the lower, `more` for the upper.
"""

import math
from dataclasses import dataclass
from typing import Final, Self

import numpy as np

from auditor_client.estimation.likelihoods import answered_at_least
from auditor_client.estimation.local_model import UnmixedCounts
from auditor_client.estimation.measurements import IntArray, Measurement
from auditor_client.estimation.noise_sums import FloatArray, noise_sum
from shared.noise import AdditiveNoise, DiscreteGaussianNoise, ExponentialNoise, RandomisedResponseNoise

_REACH_SCALES: Final = 12.0
"""An answer is farther off than so many scales less often than any quantile of the draws can show."""


@dataclass(frozen=True, slots=True, eq=False)
class RuleCounts:
    """Two groups' counts of every favourable rule, as drawn without regard to the totals.

    Attributes:
        counts: Shape (R, 2, M), in people, of two groups; or (R, 1, M), of the first of two whose people are known.
        spread: How a difference to the groups' totals is spread over the rules, shape (R, G, G): adds up to the
            identity (or a projection, where the groups' sum cannot differ); zero where it is left.
        more: How many more people there may be, the same shape; None where noise was added.
        people: What a rule's two groups have together, shape (R,), if the second group is what the first leaves.
        reversed: Whether the first group of the counts is the second of the pair.
    """

    counts: FloatArray
    spread: FloatArray
    more: FloatArray | None = None
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

    def split(self, totals: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The least and the largest counts of every rule that go with the totals.

        They add up to the totals unless the difference is left.

        Args:
            totals: Drawn accepted people of groups i and j, shape (2, M).

        Returns:
            Shape (R, 2, M) each; the same array where noise was added.
        """
        if self.people is None:
            return self._matched(totals)
        counted, rest = (1, 0) if self.reversed else (0, 1)
        people = self.people[:, None]
        least, most = (part[:, 0] for part in self._matched(totals[[counted]]))
        # A total for an end of an interval need not be what the other group's leaves.
        least_left, most_left = (part[:, 0] for part in self._matched(people.sum() - totals[[rest]]))
        order = [counted, rest]
        both = np.stack([least, people - most_left], axis=1), np.stack([most, people - least_left], axis=1)
        return both[0][:, order], both[1][:, order]

    def _matched(self, totals: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Counts of the groups of `counts`, shape (R, G, M) each, to totals of shape (G, M)."""
        counts, more = self.counts, self.more
        if self._independent:
            drawn = counts.sum(axis=0)
            places = np.empty(totals.shape, dtype=np.intp)
            np.put_along_axis(places, totals.argsort(axis=1, kind="stable"), drawn.argsort(axis=1), axis=1)
            counts = np.take_along_axis(counts, places[None], axis=2)
            more = None if more is None else np.take_along_axis(more, places[None], axis=2)
        left = totals - counts.sum(axis=0)
        spread: FloatArray = counts + np.einsum("rij,jm->rim", self.spread, left)
        return spread, spread if more is None else spread + more

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
    """
    rng = np.random.default_rng((seed, 2))  # another stream than the totals come from
    favourable, noise = measurement.favourable, measurement.favourable.noise
    if isinstance(noise, RandomisedResponseNoise):
        return RuleCounts.of_local(measurement, pair, draws, rng)
    supports = measurement.supports if len(measurement.groups) == 2 else None
    if isinstance(noise, ExponentialNoise):
        # Confidence distributions of two answers to one count cannot be averaged as noises can: one answer is used.
        first_alone, share = supports is not None, 0.0
        answers = favourable.counts[:, [0] if first_alone else list(pair)]
        drawn, more = _confident_counts(answers, noise, draws, rng)
    else:
        first_alone, share = measurement.counted == 1, 1 / favourable.cells
        answers = favourable.counts[:, [0] if first_alone else list(pair), None]
        drawn, more = answers - _noise(noise, (*answers.shape[:2], draws), rng), None
    if supports is None:
        return RuleCounts(drawn, np.tile(share * np.eye(2), (favourable.cells, 1, 1)), more)
    # Of two groups with known people each count is measured twice, or the second not at all.
    people = np.array(supports.favourable, dtype=np.float64)
    first = drawn if first_alone else (drawn[:, :1] + people[:, None, None] - drawn[:, 1:]) / 2
    spread = np.full((favourable.cells, 1, 1), share)
    return RuleCounts(first, spread, more, people, reversed=first_alone and pair == (1, 0))


def _noise(noise: AdditiveNoise, shape: tuple[int, ...], rng: np.random.Generator) -> FloatArray:
    """Independent noises, in people."""
    if isinstance(noise, DiscreteGaussianNoise):
        return noise_sum(noise, 1).quantile(rng.random(shape)).astype(np.float64)
    stop = -np.expm1(-1 / noise.scale)
    return (rng.geometric(stop, shape) - rng.geometric(stop, shape)).astype(np.float64)


def _confident_counts(
    answers: IntArray, noise: ExponentialNoise, draws: int, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Counts from the confidence distributions of the exponential mechanism's answers.

    Args:
        answers: Shape (R, G), in people.
        noise: Of each.
        draws: M.
        rng: Pairs the draws of different answers.

    Returns:
        Counts, shape (R, G, M): at most c with the probability that c is answered with the answer or more; and how many
        more there are where that is the probability of more than the answer.
    """
    reach = math.ceil(_REACH_SCALES * noise.scale) + 1
    points = (np.arange(draws) + 0.5) / draws
    drawn = np.empty((2, answers.size, draws))
    for row, answer in enumerate(answers.ravel().tolist()):
        first = max(answer - reach, 0)
        counts = np.arange(first, min(answer + reach, noise.upper))
        for end in range(2):
            drawn[end, row] = first + np.searchsorted(answered_at_least(answer + end, counts, noise), points)
    drawn = np.take_along_axis(drawn, rng.permuted(np.tile(np.arange(draws), (answers.size, 1)), axis=1)[None], axis=2)
    least, most = drawn.reshape(2, *answers.shape, draws)
    return least, most - least
