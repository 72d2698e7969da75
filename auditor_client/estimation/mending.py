"""The leaves to relabel for a wanted parity ratio, at least cost (7-training §2, `relabel`).

Leaf relabelling: every leaf may change its decision, which moves the groups' rates and costs the people whom it then
decides wrongly; leaves are taken by what they move for what they cost (Kamiran, Calders and Pechenizkiy 2010,
*Discrimination Aware Decision Tree Learning*, ICDM). The source knows its counts. Here they are noisy, so a set is
only taken for enough if the bound that holds for all sets at once says so (`leaf_choices`). Of few leaves all sets are
looked at, so what is found is the cheapest; of more, leaves are taken one by one as in the source, and afterwards those
that are not needed are put back.

Post-processing: spends no budget.
"""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from auditor_client.estimation.estimates import Estimate
from auditor_client.estimation.leaf_choices import BoolArray, ChoiceBounds, LeafCounts
from auditor_client.estimation.noise_sums import FloatArray

EXACT_MAX: Final = 12
"""Up to so many leaves all sets are looked at."""
_PAIRED_MAX: Final = 64
"""Where no single change helps, of so many leaves two are changed at once."""
_WEIGHTS: Final = (1.0, 0.5, 0.0)
_PARTS: Final = 20
"""Bisections for the part of the noise that a set would bear; a part is at least 1/1000."""
_LEAST_PART: Final = 0.001


@dataclass(frozen=True, slots=True)
class MendedLeaves:
    """Decisions for all leaves, and what is known of them.

    Attributes:
        decisions: Whether each leaf is favourable.
        sure: Whether the wanted ratio is shown to be met; if not, these are the decisions that come nearest to it.
        bearable: If not, at which part of the noise, with the same counts, some decisions would be; 1 if sure, 0 if
            with none.
        ratio_ends: Of the interval of the ratio.
        accuracy_before, accuracy: Shares of the people with a label.
        accuracy_of_none: The larger share if all leaves decided alike.
        costs: Of a change of each leaf, in people (`change_costs`).
    """

    decisions: tuple[bool, ...]
    sure: bool
    bearable: float
    ratio_ends: tuple[float, float]
    accuracy_before: Estimate
    accuracy: Estimate
    accuracy_of_none: Estimate
    costs: tuple[float, ...]


def mend_leaves(
    counts: LeafCounts, before: Sequence[bool], *, groups: Sequence[int], ratio: float, level: float
) -> MendedLeaves:
    """The cheapest decisions of the leaves that are shown to meet a ratio; else those that come nearest to it.

    A change costs at least as many people as noise hides, so none is made because the noise flatters it.

    Args:
        counts: What was answered.
        before: Whether each leaf is favourable now.
        groups: The indices of the groups that are compared.
        ratio: The wanted one, within (0, 1].
        level: Of the bounds.
    """
    bounds, now = ChoiceBounds(counts, list(groups), ratio, level), np.array(before, np.bool_)
    decisions, bearable = cheapest(bounds, now), 1.0
    sure = decisions is not None
    if decisions is None:
        decisions, bearable = (
            nearest(bounds, now),
            bearable_noise(lambda noise: cheapest(bounds, now, noise=noise) is not None),
        )
    return MendedLeaves(
        decisions=tuple(decisions.tolist()),
        sure=sure,
        bearable=bearable,
        ratio_ends=bounds.ratio_ends(decisions),
        accuracy_before=bounds.accuracy(now),
        accuracy=bounds.accuracy(decisions),
        accuracy_of_none=bounds.accuracy_of_none,
        costs=tuple(change_costs(counts, now).tolist()),
    )


def bearable_noise(found_at: Callable[[float], bool]) -> float:
    """At which part of the noise decisions are still found, as `found_at` says of a part; 0 if at none."""
    if not found_at(_LEAST_PART):
        return 0.0
    low, high = _LEAST_PART, 1.0
    for _ in range(_PARTS):
        middle = (low + high) / 2
        low, high = (middle, high) if found_at(middle) else (low, middle)
    return low


def change_costs(counts: LeafCounts, before: BoolArray) -> FloatArray:
    """How many more people each leaf decides wrongly if it changes, shape (L,); below 0 if it then decides better."""
    positive, negative = counts.labels
    costs: FloatArray = np.where(before, positive - negative, negative - positive)
    return costs


def cheapest(bounds: ChoiceBounds, before: BoolArray, *, noise: float = 1.0) -> BoolArray | None:
    """The cheapest sure decisions, shape (L,); None if none are sure. `noise` as `ChoiceBounds.lacking` takes it."""
    sets = _candidates(bounds, before, noise)
    sure = sets[bounds.lacking(sets, noise=noise) <= 0]
    if not len(sure):
        return None
    changed = sure != before
    order = np.lexsort((changed.sum(axis=1), changed @ least_costs(bounds, before)))
    cheapest_one: BoolArray = sure[order[0]]
    return cheapest_one


def _candidates(bounds: ChoiceBounds, before: BoolArray, noise: float) -> BoolArray:
    """Sets that are looked at, shape (D, L): all of few leaves, else those that leaves taken one by one lead to."""
    if len(before) <= EXACT_MAX:
        return _all_sets(len(before))
    return np.array([greedy(bounds, before, noise=noise, weight=weight) for weight in _WEIGHTS])


def greedy(bounds: ChoiceBounds, before: BoolArray, *, noise: float = 1.0, weight: float = 1.0) -> BoolArray:
    """Decisions as the source finds them, shape (L,): sure, or where neither one change nor two help any more.

    Leaves are taken by what they move for each person of their cost; by what they move alone if its `weight` is 0.
    """
    decisions, costs = before.copy(), least_costs(bounds, before)
    lacking = bounds.lacking(decisions[None], noise=noise)[0]
    while lacking > 0:
        left = np.flatnonzero(decisions == before)
        for changes in (left[:, None], np.array(list(itertools.combinations(left[:_PAIRED_MAX], 2)), np.intp)):
            if not changes.size:
                continue
            after = bounds.lacking(changed_sets(decisions, changes), noise=noise)
            # Decisions that are all alike lack infinitely much: any others gain, and those that lack little the most.
            reach = lacking if np.isfinite(lacking) else after[np.isfinite(after)].max(initial=0.0) + 1.0
            gained = np.where(np.isfinite(after), reach - after, -np.inf) / costs[changes].sum(axis=1) ** weight
            best = int(gained.argmax())
            if gained[best] > 0:
                break
        else:
            break  # nothing that was tried helps
        decisions[changes[best]] ^= True
        lacking = after[best]
    while lacking <= 0:
        undone = np.flatnonzero(decisions != before)
        spare = (
            undone[bounds.lacking(changed_sets(decisions, undone[:, None]), noise=noise) <= 0]
            if undone.size
            else undone
        )
        if not spare.size:
            break
        dearest = spare[costs[spare].argmax()]
        decisions[dearest] = before[dearest]
    return decisions


def least_costs(bounds: ChoiceBounds, before: BoolArray) -> FloatArray:
    """Return what a change of each leaf is taken to cost, shape (L,), in people; above 0."""
    hidden = np.sqrt(2 * bounds.counts.label_variance)
    costs: FloatArray = np.maximum(change_costs(bounds.counts, before), hidden)
    return costs


def nearest(bounds: ChoiceBounds, before: BoolArray) -> BoolArray:
    """The decisions that lack least, shape (L,)."""
    sets = _candidates(bounds, before, 1.0)
    nearest: BoolArray = sets[bounds.lacking(sets).argmin()]
    return nearest


def changed_sets(decisions: BoolArray, changes: NDArray[np.intp]) -> BoolArray:
    """The decisions with some leaves changed, shape (D, L); a row of `changes` are the leaves of one set."""
    sets = np.tile(decisions, (len(changes), 1))
    sets[np.arange(len(changes))[:, None], changes] ^= True
    return sets


def _all_sets(leaves: int) -> BoolArray:
    """Every set of leaves, shape (2^L, L)."""
    sets: BoolArray = (np.arange(2**leaves)[:, None] >> np.arange(leaves)) % 2 == 1
    return sets
