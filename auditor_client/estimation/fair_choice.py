"""The most accurate decisions of a trained tree's leaves whose rates are alike enough (7-training §2, `fair_tree`).

Decisions that are most accurate for a price of disparity accept a leaf where its people with the label, less those
without it, outweigh what it adds to the gap of two groups. All prices at which a leaf changes its side are tried, for
every two groups, and then single leaves and pairs of leaves are changed as long as that helps.

First those decisions are looked for that `ChoiceBounds` shows to meet the ratio, whichever of all sets is picked. If
none of them decides better than if everybody were decided alike, others are estimated to meet it: their gap is at
least some standard deviations of noise and of the people's own chance, for one set that was fixed beforehand. Of a
set that was picked among many this is an estimate, and is called one.

Post-processing: spends no budget.

Axes: L leaves, G groups that are compared, D sets of decisions.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

import numpy as np

from auditor_client.estimation.leaf_choices import BoolArray, ChoiceBounds
from auditor_client.estimation.mending import changed_sets
from auditor_client.estimation.noise_sums import FloatArray

DEVIATIONS: Final = 1.5
"""Standard deviations by which the gap of any two groups is estimated to be met: 93 % for one set fixed beforehand."""
_PAIRED_MAX: Final = 64
"""Of so many leaves two are changed at once."""
_STARTS: Final = 3
"""So many sets that come near to the ratio are improved, and the best one."""
_STEPS_MAX: Final = 60

Lack = Callable[[BoolArray], FloatArray]


def most_accurate(bounds: ChoiceBounds) -> tuple[BoolArray, bool] | None:
    """The most accurate decisions found, shape (L,), and whether they are shown to meet the ratio or estimated to.

    None if no decisions are estimated to that decide better than if everybody were decided alike.
    """
    for lack, proven in ((bounds.lacking, True), (lambda sets: estimated_lack(bounds, sets), False)):
        decisions = _best(bounds, lack)
        if decisions is not None:
            return decisions, proven
    return None


def taken_before(bounds: ChoiceBounds, taken: Sequence[bool]) -> tuple[BoolArray, bool] | None:
    """Decisions that were taken before, and whether they are shown to meet the ratio or estimated to; None if neither.

    As `most_accurate` says of those that it finds: they decide better than if everybody were decided alike.
    """
    gains, decisions = gains_of(bounds), np.array(taken, np.bool_)
    if not float(decisions @ gains) > max(0.0, float(gains.sum())):
        return None
    if bounds.lacking(decisions[None])[0] <= 0:
        return decisions, True
    return (decisions, False) if estimated_lack(bounds, decisions[None])[0] <= 0 else None


def is_shown(bounds: ChoiceBounds, noise: float) -> bool:
    """Whether such decisions would be shown to meet the ratio at so large a part of the noise."""
    return _best(bounds, partial(bounds.lacking, noise=noise)) is not None


def estimated_lack(bounds: ChoiceBounds, decisions: BoolArray, *, deviations: float = DEVIATIONS) -> FloatArray:
    """Return by how much the worst pair of groups misses being within the ratio, shape (D,); at most 0 where none does.

    With c = the set's rate over all groups, p_i − τp_j = Σ_r (d_r − c)h_{r,i}/n_i + Σ_r (c − τd_r)h_{r,j}/n_j. To the
    variance of its noise that of a binomial number of accepted people is added: others are to come.
    """
    sizes, ratio, variance = bounds.sizes, bounds.ratio, bounds.counts.people_variance
    rates = np.clip(bounds.rates(decisions), 0, 1)
    accepting = decisions.sum(axis=1)
    refusing = bounds.leaves - accepting
    middle = np.clip(rates @ sizes / sizes.sum(), 0, ratio)
    chance = rates * (1 - rates) / sizes
    lack = np.full(len(decisions), -np.inf)
    for i, j in _pairs(len(sizes)):
        noise = variance * (
            (accepting * (1 - middle) ** 2 + refusing * middle**2) / sizes[i] ** 2
            + (accepting * (ratio - middle) ** 2 + refusing * middle**2) / sizes[j] ** 2
        )
        deviation = np.sqrt(noise + chance[:, i] + ratio**2 * chance[:, j])
        lack = np.maximum(lack, deviations * deviation - (rates[:, i] - ratio * rates[:, j]))
    lack_or_infinity: FloatArray = np.where((accepting == 0) | (refusing == 0), np.inf, lack)
    return lack_or_infinity


def _best(bounds: ChoiceBounds, lack: Lack) -> BoolArray | None:
    """The decisions of the greatest gain that lack nothing; None if they gain at most as much as deciding alike."""
    gains = gains_of(bounds)
    sets = _priced_sets(bounds, gains)
    lacks = lack(sets)
    starts = [*sets[np.argsort(lacks, kind="stable")[:_STARTS]]]
    if (meets := lacks <= 0).any():
        starts.append(sets[np.where(meets, sets @ gains, -np.inf).argmax()])
    improved = [_improved(decisions, gains, lack) for decisions in starts]
    gains_and_sets = [(float(decisions @ gains), decisions) for decisions, left in improved if left <= 0]
    best = max(gains_and_sets, key=lambda item: item[0], default=None)
    return best[1] if best is not None and best[0] > max(0.0, float(gains.sum())) else None


def gains_of(bounds: ChoiceBounds) -> FloatArray:
    """Return how many more people each leaf decides rightly if it is favourable than if it is not, shape (L,)."""
    positive, negative = bounds.counts.labels
    gains: FloatArray = positive - negative
    return gains


def _priced_sets(bounds: ChoiceBounds, gains: FloatArray) -> BoolArray:
    """The decisions of the greatest gain at every price of the gap of two groups, shape (D, L)."""
    shares = np.maximum(bounds.people, 0) / bounds.sizes
    sets = []
    for i, j in _pairs(len(bounds.sizes)):
        closing = shares[:, i] - bounds.ratio * shares[:, j]
        with np.errstate(divide="ignore", invalid="ignore"):
            prices = -gains / closing
        prices = np.sort(np.append(prices[np.isfinite(prices) & (prices > 0)], 0.0))
        between = np.append((prices[1:] + prices[:-1]) / 2, [0.0, prices[-1] * 1.01 + 1])
        sets.append(gains + between[:, None] * closing > 0)
    return np.unique(np.concatenate(sets), axis=0)


def _improved(decisions: BoolArray, gains: FloatArray, lack: Lack) -> tuple[BoolArray, float]:
    """Decisions after the best changes of one leaf or of two, one after the other, and what they lack.

    As long as they lack something what they lack is made smaller, and afterwards the gain larger.
    """
    leaves = np.arange(len(decisions))
    pairs = np.array(np.triu_indices(len(decisions), 1)).T if len(decisions) <= _PAIRED_MAX else np.empty((0, 2), int)
    lacking = float(lack(decisions[None])[0])
    for _ in range(_STEPS_MAX):
        sets = np.concatenate(
            [changed_sets(decisions, changes) for changes in (leaves[:, None], pairs) if len(changes)]
        )
        lacks = lack(sets)
        if (lacks <= 0).any():
            best = int(np.where(lacks <= 0, sets @ gains, -np.inf).argmax())
            better = lacking > 0 or sets[best] @ gains > decisions @ gains
        else:
            best = int(lacks.argmin())
            better = lacks[best] < lacking
        if not better:
            break
        decisions, lacking = sets[best], float(lacks[best])
    return decisions, lacking


def _pairs(groups: int) -> Sequence[tuple[int, int]]:
    """Every ordered pair of groups, by index."""
    return [(i, j) for i in range(groups) for j in range(groups) if i != j]
