"""The counts of single rules, given the totals of two groups: the noise of a total split into those of its rules.

Independent noises are drawn for all rules. Sets of them are matched to the drawn totals by the rank of their
sum, and the difference between a total and its set's sum is spread over the rules in proportion to their variance.
With normal noise that is exactly the distribution of the noises given their sum; with any noise it is so
wherever the prior does not move the totals. A rule's count may come out negative, so that the counts stay unbiased
and add up.

Several draws of the rules are joined: a rule's count is then drawn from the product of what each says of it.

The exponential mechanism's answers are not counts plus noise, and are refused (docs/adr/0018-no-exponential-shares.md).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from auditor_client.errors import EstimationRefused
from auditor_client.estimation import caveats
from auditor_client.estimation.joined_answers import JoinedAnswers
from auditor_client.estimation.likelihoods import AdditiveAnswers
from auditor_client.estimation.local_model import UnmixedCounts
from auditor_client.estimation.measurements import Measurement, NoisyCounts
from auditor_client.estimation.noise_sums import FloatArray, laplace_draws, noise_sum
from shared.privacy.noise import AdditiveNoise, DiscreteGaussianNoise, ExponentialNoise, RandomisedResponseNoise


@dataclass(frozen=True, slots=True, eq=False)
class RuleCounts:
    """Two groups' counts of every favourable rule, drawn without regard to the totals (R rules, G groups, M draws).

    Attributes:
        counts: Shape (R, 2, M), in people, of two groups; or (R, 1, M), of the first of two whose people are known.
        spread: How a difference to the groups' totals is spread over the rules, shape (R, G, G). Over the rules it
            adds up to the identity; to a projection where the groups' sum cannot differ.
        people: Both groups' people of each rule, shape (R,), if the second group's count follows from the first's.
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
        """Counts of every rule, shape (R, 2, M), in people, that add up to the groups' drawn totals, shape (2, M).

        They may be negative.
        """
        if self.people is None:
            return self._matched(totals)
        counted, other = (1, 0) if self.reversed else (0, 1)
        people = self.people[:, None]
        of_counted = self._matched(totals[[counted]])[:, 0]
        # A total for an end of an interval need not be what the other group's total leaves, so each is matched apart.
        of_rest = people - self._matched(people.sum() - totals[[other]])[:, 0]
        return np.stack([of_counted, of_rest], axis=1)[:, [counted, other]]

    def _matched(self, totals: FloatArray) -> FloatArray:
        """Counts of the groups of `counts`, shape (R, G, M), that add up to totals of shape (G, M)."""
        counts = self.counts
        if self._independent:
            draws = counts.sum(axis=0)
            order = np.empty(totals.shape, dtype=np.intp)
            np.put_along_axis(order, totals.argsort(axis=1, kind="stable"), draws.argsort(axis=1), axis=1)
            counts = np.take_along_axis(counts, order[None], axis=2)
        difference = totals - counts.sum(axis=0)
        matched: FloatArray = counts + np.einsum("rij,jm->rim", self.spread, difference)
        return matched

    @property
    def _independent(self) -> bool:
        """Whether the groups' noises are, so that each may be matched by itself."""
        return bool((self.spread * (1 - np.eye(self.spread.shape[1])) == 0).all())


def rule_counts(measurement: Measurement, pair: tuple[int, int], *, draws: int, seed: int) -> RuleCounts:
    """Draw two groups' counts of every favourable rule; the same seed gives the same draws.

    The measurement has a favourable cell for each rule, with additive noise or of reported groups; `pair` holds the
    indices of the two groups.

    Raises:
        EstimationRefused: The exponential mechanism answered.
    """
    noise = rule_noise(measurement)
    rng = np.random.default_rng((seed, 2))  # another stream than the totals come from
    if isinstance(noise, RandomisedResponseNoise):
        return RuleCounts.of_local(measurement, pair, draws, rng)
    rules = measurement.favourable.cells
    supports = measurement.supports if len(measurement.groups) == 2 else None
    first_alone, share = measurement.counted == 1, 1 / rules
    columns = [0] if first_alone else list(pair)
    counts = _drawn([answer.favourable for answer in (measurement, *measurement.draws)], columns, draws, rng)
    if supports is None:
        return RuleCounts(counts, np.tile(share * np.eye(2), (rules, 1, 1)))
    # Of two groups with known people each count is measured twice, or the second not at all.
    people = np.array(supports.favourable, dtype=np.float64)
    first = counts if first_alone else (counts[:, :1] + people[:, None, None] - counts[:, 1:]) / 2
    spread = np.full((rules, 1, 1), share)
    return RuleCounts(first, spread, people, reversed=first_alone and pair == (1, 0))


def rule_noise(measurement: Measurement) -> AdditiveNoise | RandomisedResponseNoise:
    """The noise on each favourable rule's count.

    Raises:
        EstimationRefused: The exponential mechanism answered: no count of a single rule is estimated from it.
    """
    noise = measurement.favourable.noise
    if isinstance(noise, ExponentialNoise):
        raise EstimationRefused(caveats.NO_SHARES)
    return noise


def _drawn(answers: Sequence[NoisyCounts], columns: list[int], draws: int, rng: np.random.Generator) -> FloatArray:
    """Counts of every rule, shape (R, G, M), as likely as independent answers about the same rules have them."""
    if len(answers) == 1:
        noise = _noise(answers[0].added_noise, (answers[0].cells, len(columns), draws), rng)
        of_one: FloatArray = answers[0].counts[:, columns, None] - noise
        return of_one
    parts = tuple(AdditiveAnswers(answer.counts[:, columns], noise_sum(answer.added_noise, 1)) for answer in answers)
    return JoinedAnswers(parts).drawn(rng.random((*parts[0].answers.shape, draws)))


def _noise(noise: AdditiveNoise, shape: tuple[int, ...], rng: np.random.Generator) -> FloatArray:
    """Independent noises of this shape, in people."""
    if isinstance(noise, DiscreteGaussianNoise):
        return noise_sum(noise, 1).quantile(rng.random(shape)).astype(np.float64)
    return laplace_draws(noise, shape, rng).astype(np.float64)
