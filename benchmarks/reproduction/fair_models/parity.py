"""Two ways to bring a rival's scores to a parity ratio, both by exact counts that nobody pays for.

They are what whoever has a private score could do at best, and more than they may: the counts are of the very people
whom ε is to protect, without noise. So a rival that is mended like this is flattered, and one of ours that is better
is better for certain.

*Parity step*: the scores are cut into bands, and the bands decide as ours do (`decide_leaves`). It reads no group.
*By group*: each group has a threshold of its own, and lots are drawn among equal scores. It reads the sensitive columns
of everybody who is decided on, which no model of ours does, and which may be forbidden.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np

from auditor_client.estimation.leaf_choices import LeafCounts
from auditor_client.estimation.measurements import NoisyCounts
from benchmarks.trained_models import BoolArray, FloatArray, IntArray, fairly
from shared.privacy.noise import DiscreteLaplaceNoise

BANDS_MAX: Final = 35
"""As many as `fair_linear` has by default."""
NO_NOISE: Final = DiscreteLaplaceNoise(scale=0.01)
"""Its noise is 0 but for a chance of e⁻¹⁰⁰."""
_ROUNDING: Final = 1e-12
_RATES: Final = np.linspace(0, 1, 401)[1:]
"""The highest rates of a group that are tried."""


def bands(train: FloatArray, test: FloatArray) -> tuple[IntArray, IntArray]:
    """Both parts' scores as the numbers of bands: one for each value, or even shares where there are more values."""
    values = np.unique(train)
    if len(values) > BANDS_MAX:
        values = np.unique(np.quantile(train, np.arange(BANDS_MAX) / BANDS_MAX, method="lower"))
    begins = values[1:]
    return np.searchsorted(begins, train, side="right"), np.searchsorted(begins, test, side="right")


def parity_step(of_band: IntArray, labels: BoolArray, groups: IntArray, ratio: float) -> BoolArray:
    """What each band decides, shape (bands,), for a ratio; all as most people are where no better decisions are found.

    Args:
        of_band: The band of everybody to learn from, shape (n,).
        labels, groups: Their label and the number of their group, shape (n,).
        ratio: The wanted one.
    """
    number, parties = int(of_band.max()) + 1, int(groups.max()) + 1
    cells = (np.where(labels, 0, 1) * number + of_band) * parties + groups
    counts = np.bincount(cells, minlength=2 * number * parties).reshape(2, number, parties)
    alike = np.full(number, bool(labels.mean() > 0.5))
    if number < 2:
        return alike
    exact = LeafCounts.of([[NoisyCounts.of([of_leaf], NO_NOISE) for of_leaf in rows] for rows in counts.tolist()])
    found = fairly(exact, ratio)
    return alike if found is None else np.array(found, np.bool_)


def by_lot(train: FloatArray, test: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Both parts' scores so that people of equal scores are parted by lot, the same order otherwise; seeded.

    So every rate of a group can be had, whatever the number of values: decisions are drawn where they have to be.
    """
    values, generator = np.unique(np.concatenate([train, test])), np.random.default_rng(0)
    of_train, of_test = (np.searchsorted(values, part) + generator.random(len(part)) for part in (train, test))
    return of_train, of_test


def group_thresholds(scores: FloatArray, labels: BoolArray, groups: IntArray, ratio: float) -> FloatArray:
    """From which score on each group is accepted, shape (groups,), so that most decisions are right at a ratio.

    For each highest rate each group takes the threshold that is right about the most of it, among those whose rate is
    at least the ratio times that rate and at most that rate; the best highest rate wins, or nobody is accepted. A rate
    that no threshold of a group gives is left out.
    """
    parties = range(int(groups.max()) + 1)
    best, best_gain = np.full(len(parties), np.inf), 0.0
    curves = [_thresholds(scores[groups == one], labels[groups == one]) for one in parties if (groups == one).any()]
    named = [one for one in parties if (groups == one).any()]
    for highest in _RATES:
        chosen = [_within(curve, ratio * highest, highest) for curve in curves]
        gain = sum(one[0] for one in chosen)
        if gain > best_gain:
            best[named], best_gain = [one[1] for one in chosen], gain
    return best


def _thresholds(scores: FloatArray, labels: BoolArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Of one group's every threshold: the rate, how many more are right than if nobody was accepted, the threshold."""
    values, index = np.unique(-scores, return_inverse=True)
    gains = np.cumsum(np.bincount(index, weights=np.where(labels, 1, -1)))
    rates = np.cumsum(np.bincount(index)) / len(scores)
    return rates, gains.astype(np.float64), -values


def _within(curve: Sequence[FloatArray], lowest: float, highest: float) -> tuple[float, float]:
    """The largest gain at rates within a range, and its threshold; minus infinity where no rate is."""
    rates, gains, thresholds = curve
    first, last = np.searchsorted(rates, (lowest - _ROUNDING, highest + _ROUNDING), side="left")
    if first == last:
        return -np.inf, np.inf
    at = first + int(gains[first:last].argmax())
    return float(gains[at]), float(thresholds[at])
