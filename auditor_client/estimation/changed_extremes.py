"""Intervals for what changes in the smallest ratio, or the largest difference, from one model to another.

Draws of both models' rates belong together, so noise that moves a group alike in both cancels in the drawn change. But
either figure is the smallest over pairs of groups, and such figures *lean* away from parity: where several groups are
lost in the noise, one of them looks bad in every draw. By how much, `intervals` says: the upper end that holds for the
smallest of all pairs, less the plain quantile of what is drawn. So the change's upper end goes up by what the second
model leans, and its lower end down by what the first one leans. Where the answers tell both figures, no end is
farther than it would be for independent answers as exact; where one is not known, its draws are the priors' as much as
the answers': no such bound is to be trusted, and the ends reach what the ends of both figures allow.

Axes: K groups, M draws.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np

from auditor_client.estimation.comparison import change_of
from auditor_client.estimation.drawing import EDITIONS
from auditor_client.estimation.estimates import Estimate
from auditor_client.estimation.intervals import RateDraws, quantile_estimate, worst_parity
from auditor_client.estimation.noise_sums import FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class SmallestFigure:
    """A figure that is the smallest over pairs of groups: the ratio, or the difference with its sign changed.

    Attributes:
        draws: Shape (M,); NaN where a draw has none.
        estimate: By `worst_parity`.
    """

    draws: FloatArray
    estimate: Estimate

    @classmethod
    def both(cls, rates: FloatArray, level: float) -> tuple[Self, Self]:
        """Ratio and difference of rates of shape (K, M)."""
        of_groups = RateDraws(rates, rates, rates, EDITIONS[2])  # changes are as in the second edition
        ratios, differences = of_groups.extremes()
        ratio, difference = worst_parity([of_groups], level)
        return cls(ratios, ratio), cls(-differences, negative(difference))

    @property
    def lean(self) -> float:
        """Return by how much the draws' upper end is too low."""
        return max(self.estimate.high - quantile_estimate(self.draws, self.estimate.level).high, 0.0)

    def until(self, later: "SmallestFigure") -> Estimate:
        """Return what changes from this model's figure to that of another; undefined if either is."""
        change = quantile_estimate(later.draws - self.draws, self.estimate.level)
        if not (change.defined and self.estimate.defined and later.estimate.defined):
            return Estimate(np.nan, np.nan, np.nan, change.level, change.method)
        low, high = change.low - self.lean, change.high + later.lean
        if self.estimate.known and later.estimate.known:
            independent = change_of(later.estimate, self.estimate)
            low, high = min(change.low, max(low, independent.low)), max(change.high, min(high, independent.high))
        else:
            low = min(low, later.estimate.low - self.estimate.high)
            high = max(high, later.estimate.high - self.estimate.low)
        return Estimate(change.value, max(low, -1.0), min(high, 1.0), change.level, change.method)


def changes(first: FloatArray, second: FloatArray, level: float) -> tuple[Estimate, Estimate]:
    """The change of ratio and difference; rates of shape (K, M), drawn together."""
    pairs = zip(SmallestFigure.both(first, level), SmallestFigure.both(second, level), strict=True)
    ratio, closeness = (early.until(late) for early, late in pairs)
    return ratio, negative(closeness)


def negative(estimate: Estimate) -> Estimate:
    """An estimate with its sign changed."""
    return Estimate(-estimate.value, -estimate.high, -estimate.low, estimate.level, estimate.method)
