"""The decisions of a trained tree's leaves for a wanted parity ratio, and their accuracy (7-training §2).

Decisions that are shown to meet the ratio are taken first, else those that are estimated to (`fair_choice`). Both
decide better than if everybody were decided alike: that is fair, and nobody needs a model for it. If there are none,
those are given that come nearest to the ratio (`mending`), and are not called enough. Intervals hold
for every choice of decisions together, and so for those that are taken, however they are found (`leaf_choices`).

Post-processing: spends no budget.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from auditor_client.estimation.estimates import Estimate
from auditor_client.estimation.fair_choice import is_shown, most_accurate
from auditor_client.estimation.leaf_choices import BoolArray, ChoiceBounds, LeafCounts
from auditor_client.estimation.mending import bearable_noise, change_costs, nearest

Search = Callable[[ChoiceBounds], tuple[BoolArray, bool] | None]
"""Finds decisions, shape (L,), and whether they are shown to meet the ratio or estimated to; None if it finds none."""


@dataclass(frozen=True, slots=True)
class DecidedLeaves:
    """Decisions for all leaves, and what is known of them.

    Attributes:
        decisions: Whether each leaf is favourable.
        shown: Whether the wanted ratio is shown to be met.
        estimated: If not, whether it is estimated to be; if neither, these are the decisions that come nearest to it.
        bearable: At which part of the noise, with the same counts, some decisions would be shown to meet it; 1 if some
            are, 0 if with none.
        ratio_ends_learned, ratio_ends: Of the interval of the ratio, by what the leaves learned and by the decisions.
        accuracy_learned, accuracy: Shares of the people with a label.
        accuracy_of_none: The larger share if all leaves decided alike.
        costs: How many more people each leaf decides wrongly if it does not decide as it learned.
    """

    decisions: tuple[bool, ...]
    shown: bool
    estimated: bool
    bearable: float
    ratio_ends_learned: tuple[float, float]
    ratio_ends: tuple[float, float]
    accuracy_learned: Estimate
    accuracy: Estimate
    accuracy_of_none: Estimate
    costs: tuple[float, ...]


def decide_leaves(
    counts: LeafCounts,
    learned: Sequence[bool],
    *,
    groups: Sequence[int],
    ratio: float,
    level: float,
    search: Search = most_accurate,
) -> DecidedLeaves:
    """The most accurate decisions that are shown to meet a ratio, or are estimated to; else the nearest.

    Args:
        counts: What was answered of at least two leaves.
        learned: Whether each leaf is favourable by itself.
        groups: The indices of the groups that are compared.
        ratio: The wanted one, within (0, 1].
        level: Of the bounds.
        search: What finds the decisions.
    """
    bounds, before = ChoiceBounds(counts, list(groups), ratio, level), np.array(learned, np.bool_)
    found = search(bounds)
    decisions, shown = (nearest(bounds, before), False) if found is None else found
    return DecidedLeaves(
        decisions=tuple(decisions.tolist()),
        shown=shown,
        estimated=found is not None and not shown,
        bearable=1.0 if shown else bearable_noise(partial(is_shown, bounds)),
        ratio_ends_learned=bounds.ratio_ends(before),
        ratio_ends=bounds.ratio_ends(decisions),
        accuracy_learned=bounds.accuracy(before),
        accuracy=bounds.accuracy(decisions),
        accuracy_of_none=bounds.accuracy_of_none,
        costs=tuple(change_costs(counts, before).tolist()),
    )
