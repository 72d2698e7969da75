"""The effect of every choice of leaves' decisions, by bounds that hold for all choices at once.

Whoever picks one of many sets of leaves by noisy counts picks what the noise favours, so an interval for one figure is
too good for it. The bounds here hold for every set of leaves together, and so for the one that is picked, however it
is picked (Scheffé 1953, *Biometrika* 40). Nothing of the true counts is needed for that: what a set's sums are off by
is a sum of noises whose distribution is public. Of the noises of each draw the worst set of m leaves has the m largest,
so sorting them goes through all 2^L sets.

Group i has at least τ times the rate of group j where Σ_r (d_r − c)h_{r,i}/n_i + Σ_r (c − τd_r)h_{r,j}/n_j ≥ 0, with
d_r = 1 for a favourable leaf and c any rate between p_i and τp_j: there it is p_i − τp_j, and its noise is a weighted
sum of the noises of single counts.

Axes: V values of the label, R answered counts that add up, L leaves, K groups, G of them, D sets of decisions, M draws.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from auditor_client.errors import EstimationRefused
from auditor_client.estimation.estimates import Estimate, Unit
from auditor_client.estimation.measurements import IntArray, Measurement, NoisyCounts, SizeBounds
from auditor_client.estimation.noise_sums import FloatArray, noise_sum
from shared.contract.schema import Group
from shared.privacy.noise import AdditiveNoise

DRAWS: Final = 2048
_BETWEEN: Final = np.linspace(0, 1, 11)
"""The rates c between those of two groups."""
_RATIOS: Final = (0.25, 0.5, 0.75, 1.0)
"""The ratios that ends of intervals lie between; the wanted one is taken in beside them."""
_STEPS: Final = 30
"""Bisections of [0, 1] for an end of an interval."""
METHOD: Final = "every choice"

BoolArray = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class LeafCounts:
    """Noisy numbers of the people of every leaf, by label and group.

    Attributes:
        counts: As answered, in people, shape (V, R, L, K): of those with y = 1, with y = 0, and where that may be,
            without a label. R is 1 unless by strata or by more sensitive columns was counted.
        noise: What was added to each.
    """

    counts: IntArray
    noise: AdditiveNoise

    @classmethod
    def of(cls, table: Sequence[Sequence[NoisyCounts]]) -> Self:
        """Build from what was answered of every value of the label, and of that for every leaf, shape (R, K) each.

        Raises:
            EstimationRefused: The leaves were counted with noise of several kinds, or noise was not added.
        """
        parts = [part for of_value in table for part in of_value]
        noises = {part.noise for part in parts}
        if len(noises) != 1 or len({part.counts.shape for part in parts}) != 1:
            raise EstimationRefused("The leaves were counted with noise of several kinds: ask with strategy rules.")
        counts = np.array([[part.counts for part in of_value] for of_value in table], dtype=np.int64)
        return cls(counts.transpose(0, 2, 1, 3), parts[0].added_noise)

    def decided(
        self, groups: tuple[Group, ...], decisions: Sequence[bool], bounds: SizeBounds | None = None
    ) -> Measurement:
        """The measurement of the tree whose leaves decide so."""
        accepts = np.array(decisions, np.bool_)
        favourable, unfavourable = (
            NoisyCounts(self.counts[:, :, chosen].reshape(-1, len(groups)), self.noise)
            for chosen in (accepts, ~accepts)
        )
        return Measurement(groups, favourable, unfavourable, "unfavourable", bounds=bounds)

    @property
    def leaves(self) -> int:
        """L."""
        return int(self.counts.shape[2])

    @property
    def people_terms(self) -> int:
        """The number of noises in the count of a leaf's people of one group."""
        return int(self.counts.shape[0] * self.counts.shape[1])

    @property
    def label_terms(self) -> int:
        """The number of noises in the count of a leaf's people with one label."""
        return int(self.counts.shape[1] * self.counts.shape[3])

    @property
    def people(self) -> FloatArray:
        """Whatever their label, shape (L, K)."""
        people: FloatArray = self.counts.sum(axis=(0, 1)).astype(np.float64)
        return people

    @property
    def people_variance(self) -> float:
        """The variance of the noise of each of these, in people squared."""
        return float(self.people_terms * self.noise.variance)

    @property
    def labels(self) -> FloatArray:
        """People with y = 1 and with y = 0, in all groups, shape (2, L)."""
        labels: FloatArray = self.counts[:2].sum(axis=(1, 3)).astype(np.float64)
        return labels

    @property
    def label_variance(self) -> float:
        """The variance of the noise of each of these, in people squared."""
        return float(self.label_terms * self.noise.variance)

    def people_of(self, leaf: int, level: float) -> tuple[Estimate, ...]:
        """Return how many people each group has in a leaf, each within an interval by itself."""
        return tuple(self._number(count, self.people_terms, level) for count in self.people[leaf].tolist())

    def everybody_in(self, leaf: int, level: float) -> Estimate:
        """Return how many people of all groups are in a leaf, within an interval by itself."""
        return self._number(float(self.people[leaf].sum()), self.people_terms * self.people.shape[1], level)

    def _number(self, count: float, terms: int, level: float) -> Estimate:
        """A number of people that so many noises are in."""
        reach = float(noise_sum(self.noise, terms).quantile(np.array([(1 + level) / 2]))[0])
        return Estimate(max(count, 0.0), max(count - reach, 0.0), max(count + reach, 0.0), level, METHOD, Unit.PEOPLE)


@dataclass(frozen=True, eq=False)
class ChoiceBounds:
    """Bounds on parity and accuracy under any decisions of the leaves, all of which hold together at a level.

    Attributes:
        counts: What was answered.
        groups: The indices of the groups that are compared, at least two.
        ratio: The wanted smallest ratio of two groups' rates, within (0, 1].
        level: Of the bounds on the ratio, of all sets of leaves and both ends together; of those on accuracy likewise.
        seed: The same counts and seed give the same bounds.
    """

    counts: LeafCounts
    groups: list[int]
    ratio: float
    level: float = 0.95
    seed: int = 0

    @property
    def leaves(self) -> int:
        """L."""
        return self.counts.leaves

    @cached_property
    def people(self) -> FloatArray:
        """The people of the compared groups, shape (L, G)."""
        return self.counts.people[:, self.groups]

    @cached_property
    def sizes(self) -> FloatArray:
        """The sizes of the groups, shape (G,), in people; at least what noise alone may make of nobody."""
        least = np.sqrt(self.leaves * self.counts.people_variance)
        sizes: FloatArray = np.maximum(self.people.sum(axis=0), least)
        return sizes

    def rates(self, decisions: BoolArray) -> FloatArray:
        """Return the rates of every group under every set, shape (D, G); noise may take them beyond [0, 1].

        `decisions` say of each leaf whether it is favourable, shape (D, L).
        """
        rates: FloatArray = decisions.astype(np.float64) @ self.people / self.sizes
        return rates

    def lacking(self, decisions: BoolArray, *, noise: float = 1.0) -> FloatArray:
        """Return by how much the rates of all pairs miss being surely within the ratio, shape (D,); 0 where they are.

        Infinite for sets that decide alike about everybody: they are no model to ask about.

        Args:
            decisions: Of every set, shape (D, L).
            noise: What is supposed of the noise, as a part of that of the answer.
        """
        missing = np.maximum(noise * self.margin * self._deviations(decisions, self.ratio) - self._gaps(decisions), 0)
        accepting = decisions.sum(axis=1)
        constant = (accepting == 0) | (accepting == self.leaves)
        lack: FloatArray = np.where(constant, np.inf, np.where(self._pairs, missing, 0).sum(axis=(1, 2)))
        return lack

    def ratio_ends(self, decisions: BoolArray) -> tuple[float, float]:
        """The ends of the ratio's interval under one set of shape (L,), within [0, 1]."""
        as_set = decisions[None]
        low, high = np.zeros(self._pairs.shape), np.ones(self._pairs.shape)
        for sign, ends in ((1, low), (-1, high)):
            inside, outside = (ends, np.ones_like(ends)) if sign > 0 else (np.zeros_like(ends), ends)
            for _ in range(_STEPS):
                middle = (inside + outside) / 2
                off = self.margin * self._deviations(as_set, middle)[0]
                meets = self._gaps(as_set, middle)[0] + (-off if sign > 0 else off) >= 0
                inside, outside = np.where(meets, middle, inside), np.where(meets, outside, middle)
            ends[:] = inside if sign > 0 else outside
        return float(low[self._pairs].min()), float(high[self._pairs].min())

    def accuracy(self, decisions: BoolArray) -> Estimate:
        """The share of the people with a label whose decision is favourable just if y = 1, under one set of shape (L,).

        Of all groups together.
        """
        return self._accuracy(decisions, self._accuracy_margin)

    @property
    def accuracy_of_none(self) -> Estimate:
        """The larger one of both ways of deciding alike about everybody."""
        return max((self.accuracy(np.full(self.leaves, alike)) for alike in (False, True)), key=float)

    def accuracy_of_one(self, decisions: Sequence[bool]) -> Estimate:
        """The same of decisions that were fixed before these counts were made: the interval is for them alone."""
        return self._accuracy(np.array(decisions, np.bool_), self._accuracy_margin_of_one)

    def _accuracy(self, decisions: BoolArray, margin: float) -> Estimate:
        positive, negative = self.counts.labels
        everybody = max(float((positive + negative).sum()), np.sqrt(2 * self.leaves * self.counts.label_variance))
        value = min(max(float(np.where(decisions, positive, negative).sum()) / everybody, 0.0), 1.0)
        reach = margin * float(self._accuracy_deviation(value)) / everybody
        return Estimate(value, max(value - reach, 0.0), min(value + reach, 1.0), self.level, METHOD)

    @cached_property
    def margin(self) -> float:
        """How many standard deviations the gap of no two groups is off by, under any set at any of the ratios."""
        rng = np.random.default_rng((self.seed, 31))
        terms = noise_sum(self.counts.noise, self.counts.people_terms)
        noise = terms.quantile(rng.random((len(self.groups), DRAWS, self.leaves))) / self.sizes[:, None, None]
        chosen = np.arange(1, self.leaves)
        worst = np.zeros(DRAWS)
        for ratio in dict.fromkeys((*_RATIOS, self.ratio)):
            for first, second in zip(*np.nonzero(self._pairs), strict=True):
                weights = noise[first] - ratio * noise[second]
                largest = -np.sort(-weights, axis=1)[:, :-1].cumsum(axis=1)
                both = (noise[first] - noise[second]).sum(axis=1)
                for between in _BETWEEN[ratio >= _BETWEEN]:
                    scale = self._deviation(chosen, between, ratio, self.sizes[first], self.sizes[second])
                    np.maximum(worst, ((largest - between * both[:, None]) / scale).max(axis=1), out=worst)
        return float(np.quantile(worst, (1 + self.level) / 2, method="higher"))

    @cached_property
    def _pairs(self) -> BoolArray:
        return ~np.eye(len(self.groups), dtype=np.bool_)

    def _gaps(self, decisions: BoolArray, ratio: float | FloatArray | None = None) -> FloatArray:
        """p_i − τp_j, shape (D, G, G)."""
        rates = self.rates(decisions)
        gaps: FloatArray = rates[:, :, None] - (self.ratio if ratio is None else ratio) * rates[:, None, :]
        return gaps

    def _deviations(self, decisions: BoolArray, ratio: float | FloatArray) -> FloatArray:
        """The standard deviations of the gaps, shape (D, G, G)."""
        rates, accepting = self.rates(decisions), decisions.sum(axis=1)[:, None, None]
        ends = np.clip(rates[:, :, None] + 0 * ratio, 0, ratio), np.clip(ratio * rates[:, None, :], 0, ratio)
        sizes = self.sizes[:, None], self.sizes[None, :]
        of_ends = [self._deviation(accepting, between, ratio, *sizes) for between in ends]
        return np.maximum(*of_ends)

    def _deviation(
        self,
        accepting: NDArray[np.intp],
        between: float | FloatArray,
        ratio: float | FloatArray,
        first: float | FloatArray,
        second: float | FloatArray,
    ) -> FloatArray:
        """The standard deviation of the gap of two groups of these sizes, where so many leaves are favourable."""
        refusing = (self.leaves - accepting) * between**2
        of_first = (accepting * (1 - between) ** 2 + refusing) / first**2
        of_second = (accepting * (ratio - between) ** 2 + refusing) / second**2
        deviation: FloatArray = np.sqrt(self.counts.people_variance * (of_first + of_second))
        return deviation

    @cached_property
    def _accuracy_margin(self) -> float:
        """The same of accuracy, under any set."""
        noise = self._label_noise
        return self._worst_accuracy(noise.max(axis=0).sum(axis=1), noise)

    @cached_property
    def _accuracy_margin_of_one(self) -> float:
        """The same under one set, whichever it is."""
        noise = self._label_noise
        return self._worst_accuracy(noise[0].sum(axis=1), noise)

    @property
    def _label_noise(self) -> NDArray[np.int64]:
        rng = np.random.default_rng((self.seed, 32))
        return noise_sum(self.counts.noise, self.counts.label_terms).quantile(rng.random((2, DRAWS, self.leaves)))

    def _worst_accuracy(self, rightly: NDArray[np.int64], noise: NDArray[np.int64]) -> float:
        """Of the errors of the number decided rightly, shape (M,): how many standard deviations, whatever it is."""
        off = [(rightly - rate * noise.sum(axis=(0, 2))) / self._accuracy_deviation(rate) for rate in _BETWEEN]
        return float(np.quantile(np.max(off, axis=0), (1 + self.level) / 2, method="higher"))

    def _accuracy_deviation(self, accuracy: float) -> float:
        """Of the number of people who are decided rightly, less a share of everybody; in people."""
        return float(np.sqrt(self.leaves * self.counts.label_variance * ((1 - accuracy) ** 2 + accuracy**2)))
