"""The groups that a size rule leaves: those that are shown to be large enough (ADR 0032).

A group of few people that noise makes look larger would bring its useless rate into the ratio, and one that was let in
because of its noise is judged by that noise. So a group is judged where noise alone would hardly make a smaller one
look as large, all groups together: that none of those that are let in is too small holds with the probability of an
upper end. What is left then for the intervals to suffer from the choice is measured by `checks.coverage`.

Axes: T releases, K groups.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np

from auditor_client.estimation.estimates import Estimate
from auditor_client.estimation.intervals import RateDraws, undefined, worst_parity
from auditor_client.estimation.local_model import Totals
from auditor_client.estimation.size_rule import SizeRule
from auditor_client.estimation.totals import BoolArray

GROUPS_MIN: Final = 2
"""Fewer have no ratio."""


def judged_groups(comparisons: Sequence[Totals], rule: SizeRule | None, level: float) -> list[tuple[int, ...]]:
    """The indices of the groups that are large enough in each of several comparisons, of every release; all if no rule.

    The level is that of an interval.
    """
    releases, groups = comparisons[0].estimates[0].shape
    if rule is None:
        return [tuple(range(groups))] * releases
    enough = np.logical_and.reduce([_large_enough(totals, rule, level) for totals in comparisons])
    return [tuple(np.flatnonzero(of_release).tolist()) for of_release in enough]


def worst_among(parts: Sequence[RateDraws], groups: Sequence[int], level: float) -> tuple[Estimate, Estimate]:
    """As `intervals.worst_parity` has it, of some groups, by their indices; undefined of fewer than two."""
    if len(groups) < GROUPS_MIN:
        return undefined(level), undefined(level)
    return worst_parity([part.among(groups) for part in parts], level)


def worst_figures(
    by_prior: Sequence[Sequence[RateDraws]], inverted: Sequence[RateDraws | None], groups: Sequence[int], level: float
) -> tuple[Estimate, Estimate]:
    """The worst ratio and difference of some groups: medians under the pooled prior, and intervals.

    Args:
        by_prior: Draws of each comparison under the flat prior, and under the pooled one.
        inverted: Draws of each comparison without a prior (`inversion`), or None: intervals are then the hull of both
            priors'.
        groups: Their indices.
        level: Of each interval.
    """
    flat, pooled = by_prior
    figures = worst_among(pooled, groups, level)
    without = [rates for rates in inverted if rates is not None]
    if len(without) == len(pooled):
        exact = worst_among(without, groups, level)
        if all(figure.defined for figure in exact):
            return figures[0].within(exact[0]), figures[1].within(exact[1])
    other = worst_among(flat, groups, level)
    return figures[0].hull(other[0]), figures[1].hull(other[1])


def _large_enough(totals: Totals, rule: SizeRule, level: float) -> BoolArray:
    """Return which groups are shown to be as large as the rule has it, shape (T, K), at the level of an interval."""
    accepted, refused = totals.estimates
    everybody = np.maximum((accepted + refused).sum(axis=1, keepdims=True), 0.0)
    least = float(rule.least) * (everybody if rule.of_all else np.ones_like(everybody))
    is_surely_large: BoolArray = totals.size_tails(least) <= (1 - level) / 2 / accepted.shape[1]
    if totals.bounds is None:
        return is_surely_large
    known_least, known_most = totals.bounds.arrays()
    is_large: BoolArray = (is_surely_large | (known_least >= least)) & (known_most >= least)
    return is_large
