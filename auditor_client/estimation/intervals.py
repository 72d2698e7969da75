"""Intervals for the statistical parity ratio and difference from draws of the groups' rates.

Two traps make plain quantiles of the drawn ratio fail. First, the smallest of several noisy rates is
too small and the largest too large, so the drawn ratio is biased away from parity: where groups tie,
its upper quantile lies below the truth. SP is a minimum over pairs, SP = min p_i / p_j, so it is at
most any pair's ratio; the upper end used here is the smallest of the upper ends of all pairs that may be
the extreme one, taken jointly, and the lower end the smallest of their lower ends (intersection bounds:
Chernozhukov, Lee, Rosen 2013, *Econometrica* 81). With one pair both are plain quantiles. Second, a
truth on the boundary, such as nobody accepted, is below every draw: where the answers do not speak
against it, the interval reaches it, and so do those of groups that share a known number of people with it.

Axes: K groups, P pairs of groups, M draws.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from auditor_client.estimation.drawing import EDITIONS, LATEST, Edition
from auditor_client.estimation.estimates import Estimate
from auditor_client.estimation.joint_ends import joint_end
from auditor_client.estimation.noise_sums import FloatArray

Indices = NDArray[np.intp]
Ends = tuple[float, float]

METHOD: Final = "posterior"


@dataclass(frozen=True, slots=True, eq=False)
class RateDraws:
    """Draws of K groups' acceptance rates, shape (K, M) each; NaN where the drawn group is empty.

    Attributes:
        rates: As drawn; a row is a group, a column a draw of all of them.
        lower: For lower ends, row by row: with truths on the boundary where the answers do not speak against them.
        upper: For upper ends, likewise.
        edition: Of the estimator: which groups contend for the extremes.
    """

    rates: FloatArray
    lower: FloatArray
    upper: FloatArray
    edition: Edition = EDITIONS[LATEST]

    def against(self, reference: int, level: float) -> tuple[list[Estimate], list[Estimate]]:
        """Every group's rate divided by one group's, and minus it: medians and intervals, K of each."""
        rates, lower, upper = (draws[reference] for draws in (self.rates, self.lower, self.upper))
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            ratios = self.rates / rates, self.lower / upper, self.upper / lower
        differences = self.rates - rates, self.lower - upper, self.upper - lower
        of_ratios, of_differences = (
            [_between(*rows, level) for rows in zip(*figure, strict=True)] for figure in (ratios, differences)
        )
        return of_ratios, of_differences

    def over_highest(self, level: float) -> list[Estimate]:
        """Every group's rate divided by the highest, within [0, 1]: medians and intervals, K of them."""
        tail = (1 - level) / 2
        _, high = self.contenders()
        estimates = []
        for k in range(len(self.rates)):
            pairs = self.pairs(np.array([k]), high)
            with np.errstate(divide="ignore", invalid="ignore"):
                of_highest = np.minimum(self.rates[k] / -_smallest(-self.rates), 1.0)
            ends = pairs.ends(tail)[0]
            low = min(ends[0], 1.0) if self.edition.in_range else ends[0]
            estimates.append(_median_within(of_highest, (low, 1.0 if k in high else ends[1]), level))
        return estimates

    def turned_round(self) -> "RateDraws":
        """Rates of the other outcome: 1 less these."""
        return RateDraws(1 - self.rates, 1 - self.upper, 1 - self.lower, self.edition)

    def odds(self) -> "RateDraws":
        """The odds p/(1 − p) of these rates p, infinite where everybody has the outcome."""
        with np.errstate(divide="ignore"):
            rates, lower, upper = (draws / (1 - draws) for draws in (self.rates, self.lower, self.upper))
        return RateDraws(rates, lower, upper, self.edition)

    def among(self, groups: Sequence[int]) -> "RateDraws":
        """Return the figures of some groups alone, by their indices."""
        index = np.array(groups, dtype=np.intp)
        return RateDraws(self.rates[index], self.lower[index], self.upper[index], self.edition)

    def extremes(self) -> tuple[FloatArray, FloatArray]:
        """The ratio and the difference in each draw, shape (M,); NaN where undefined."""
        smallest, largest = _smallest(self.rates), -_smallest(-self.rates)
        with np.errstate(invalid="ignore"):
            return smallest / largest, largest - smallest

    def contenders(self) -> tuple[Indices, Indices]:
        """The indices of the groups that may have the smallest rate, and of those that may have the largest."""
        at_least = self.edition.contender_probability / len(self.rates)
        return _contenders(self.rates, at_least), _contenders(-self.rates, at_least)

    def pairs(self, low: Indices, high: Indices) -> "Pairs":
        """All pairs of a group of `low` and another of `high`, both indices."""
        pairs = np.array([(i, j) for i in low for j in high if i != j], dtype=np.intp).reshape(-1, 2)
        first, second = pairs.T
        # A population's rate may be drawn so near zero that a ratio to it is infinite.
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            return Pairs(
                self.rates[first] / self.rates[second],
                self.lower[first] / self.upper[second],
                self.rates[first] - self.rates[second],
                self.lower[first] - self.upper[second],
                self.edition.leave_one_out,
            )

    def ends_by_groups(self, tail: float) -> tuple[Ends, Ends]:
        """Ends of ratio and difference from ends for single groups' rates: two for each, with half the tail each."""
        low, high = self.contenders()
        smallest, largest = _lower_end(self.lower[low], tail / 2), -_lower_end(-self.upper[high], tail / 2)
        joint = joint_end if self.edition.leave_one_out else _joint_upper_end
        smaller, larger = joint(self.rates[low], tail / 2), -joint(-self.rates[high], tail / 2)
        ratio_low = smallest / largest if largest > 0 else 0.0
        ratio_high = smaller / larger if larger > 0 else np.inf
        return (ratio_low, ratio_high), (larger - smaller, largest - smallest)


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """Draws for pairs of groups, the first of each perhaps the worst treated, shape (P, M) each.

    A ratio is the first's rate divided by the second's, a difference minus it. The `lower_…` are for lower ends: with
    truths on the boundary where they are possible. `leave_one_out` is as an `Edition` has it.
    """

    ratios: FloatArray
    lower_ratios: FloatArray
    differences: FloatArray
    lower_differences: FloatArray
    leave_one_out: bool = False

    @classmethod
    def stacked(cls, parts: "Sequence[Pairs]") -> "Pairs":
        """The pairs of several comparisons together."""
        ratios, lower_ratios, differences, lower_differences = (
            np.concatenate([getattr(part, rows) for part in parts])
            for rows in ("ratios", "lower_ratios", "differences", "lower_differences")
        )
        return cls(ratios, lower_ratios, differences, lower_differences, parts[0].leave_one_out)

    def ends(self, tail: float) -> tuple[Ends, Ends]:
        """Ends of the smallest ratio and of the largest difference over the pairs."""
        if not len(self.ratios):
            return (1.0, 1.0), (0.0, 0.0)
        upper_end = _upper_end_of_others if self.leave_one_out else _upper_end
        return (
            (_lower_end(self.lower_ratios, tail), upper_end(self.ratios, tail)),
            (-upper_end(self.differences, tail), -_lower_end(self.lower_differences, tail)),
        )


def worst_parity(parts: Sequence[RateDraws], level: float) -> tuple[Estimate, Estimate]:
    """The smallest ratio and the largest difference over several comparisons of the same groups.

    Args:
        parts: Independent draws: of one comparison, or of one for either label (equalized odds).
        level: Of each interval.

    Returns:
        Medians and intervals of min p / max p and of max p − min p. A draw in which no group has people has neither,
        one in which nobody is accepted has no ratio; a figure that most draws do not have is undefined.
    """
    tail = (1 - level) / 2
    extremes = [part.extremes() for part in parts]
    ratio = np.fmin.reduce([of_part for of_part, _ in extremes])
    difference = np.fmax.reduce([of_part for _, of_part in extremes])
    if _mostly_undefined(difference):
        return undefined(level), undefined(level)
    contenders = [part.contenders() for part in parts]
    if sum(len(low) * len(high) for low, high in contenders) <= parts[0].edition.pairs_max:
        pairs = [part.pairs(*of_part) for part, of_part in zip(parts, contenders, strict=True)]
        ratio_ends, difference_ends = Pairs.stacked(pairs).ends(tail)
    else:
        ends = [part.ends_by_groups(tail / len(parts)) for part in parts]
        ratio_ends = min(of[0][0] for of in ends), min(of[0][1] for of in ends)
        difference_ends = max(of[1][0] for of in ends), max(of[1][1] for of in ends)
    return _median_within(ratio, ratio_ends, level), _median_within(difference, difference_ends, level)


def quantile_estimate(draws: FloatArray, level: float) -> Estimate:
    """Median and equal-tailed interval of draws of shape (M,), NaN left out; undefined if most are NaN."""
    return _between(draws, draws, draws, level)


def undefined(level: float) -> Estimate:
    """An estimate without a value."""
    return Estimate(np.nan, np.nan, np.nan, level, METHOD)


def _between(draws: FloatArray, lower: FloatArray, upper: FloatArray, level: float) -> Estimate:
    """The median of some draws, within ends of draws that reach the boundaries; undefined without a finite median.

    All draws have shape (M,).
    """
    tail = (1 - level) / 2
    value = _quantile(draws, 0.5)
    if _mostly_undefined(draws) or not np.isfinite(value):
        return undefined(level)
    low, high = min(_quantile(lower, tail), value), max(_quantile(upper, 1 - tail), value)
    return Estimate(value, low, high, level, METHOD)


def _contenders(rates: FloatArray, at_least: float) -> Indices:
    """The groups that have the smallest rate with some probability at least; rates of shape (K, M)."""
    or_infinite = np.where(np.isnan(rates), np.inf, rates)
    apparent = or_infinite[np.sort(or_infinite, axis=1)[:, rates.shape[1] // 2].argmin()]
    # An empty group is below none; where the apparent one is empty, every group with people is below it.
    beyond = ~np.isnan(rates) & (or_infinite <= apparent)
    return np.flatnonzero(beyond.mean(axis=1) >= at_least)


def _median_within(draws: FloatArray, ends: Ends, level: float) -> Estimate:
    """The median of draws of shape (M,), moved to the nearest of the ends if bias takes it beyond, as many ties do.

    The ends are taken into [0, 1] first.
    """
    if _mostly_undefined(draws):
        return undefined(level)
    return Estimate.between(_quantile(draws, 0.5), max(ends[0], 0.0), min(ends[1], 1.0), level, METHOD)


def _mostly_undefined(draws: FloatArray) -> bool:
    return bool(np.isnan(draws).mean() > 0.5)


def _quantile(draws: FloatArray, level: float) -> float:
    """The draw at a level, of draws of shape (M,), NaN left out."""
    ordered = np.sort(draws)
    number = len(ordered) - int(np.isnan(draws).sum())
    return float(ordered[min(int(level * number), number - 1)]) if number else np.nan


def _lower_end(draws: FloatArray, tail: float) -> float:
    """A lower end of a minimum over rows, from draws of shape (P, M): the smallest of the rows' lower ends.

    No correction for the number of rows: it is enough that the end of the true smallest row holds.
    """
    return float(np.fmin.reduce([_quantile(row, tail) for row in draws]))


def _upper_end(draws: FloatArray, tail: float) -> float:
    """An upper end of a minimum over rows, from draws of shape (P, M), for an interval of level 1 − 2·tail.

    The lower end fails only where the ends of all rows fail together. The joint upper end may fail with
    the rest of both tails: with a single row that is its own tail.
    """
    order, highest = _highest_ranks(draws)
    lower_fails = float((highest < tail * draws.shape[1]).mean())
    return _at_rank(draws, order, _quantile(highest, 1 - 2 * tail + lower_fails))


def _upper_end_of_others(draws: FloatArray, tail: float) -> float:
    """Return the end as `_upper_end` does, of draws that are judged by the ends that the others make."""
    _, highest = _highest_ranks(draws)
    return joint_end(draws, 2 * tail - float((highest < tail * draws.shape[1]).mean()))


def _joint_upper_end(draws: FloatArray, tail: float) -> float:
    """The smallest of upper ends that hold for all rows together but for a tail; draws of shape (P, M)."""
    order, highest = _highest_ranks(draws)
    return _at_rank(draws, order, _quantile(highest, 1 - tail))


def _highest_ranks(draws: FloatArray) -> tuple[Indices, FloatArray]:
    """Each row's order (NaN last: it bounds nothing), shape (P, M), and each column's highest rank, shape (M,)."""
    order = np.argsort(draws, axis=1)
    ranks = np.empty_like(order)
    np.put_along_axis(ranks, order, np.arange(draws.shape[1])[None, :], axis=1)
    return order, ranks.max(axis=0).astype(np.float64)


def _at_rank(draws: FloatArray, order: Indices, rank: float) -> float:
    """The smallest of the rows' draws at a rank, draws of shape (P, M); infinite if that is NaN in all of them."""
    ends = np.take_along_axis(draws, order[:, [int(rank)]], axis=1)
    return float(np.where(np.isnan(ends), np.inf, ends).min())


def _smallest(rates: FloatArray) -> FloatArray:
    """The smallest rate of the non-empty groups in each draw, shape (M,), from rates of shape (K, M)."""
    smallest = np.where(np.isnan(rates), np.inf, rates).min(axis=0)
    return np.where(np.isinf(smallest), np.nan, smallest)
