"""The ratio and the difference of the two groups that a sentence names: those of the lowest and the highest estimate.

The pair is chosen after the answers were seen, so an interval as for a pair that was named beforehand holds it less
often than it says. This one holds for every pair that might have been chosen, all together, and so for the one that is.
Where the answers leave one candidate, it is the plain interval of that pair.

Axes: K groups, P pairs of groups, M draws.
"""

from collections.abc import Sequence

import numpy as np

from auditor_client.estimation.estimates import Estimate
from auditor_client.estimation.intervals import METHOD, Ends, Indices, RateDraws, undefined
from auditor_client.estimation.joint_ends import upper_ends
from auditor_client.estimation.noise_sums import FloatArray


def pair_figures(
    by_prior: Sequence[RateDraws], without: RateDraws | None, pair: tuple[int, int], level: float
) -> tuple[Estimate, Estimate]:
    """The first group's rate divided by the second's, and the second's minus the first's, with their intervals.

    Args:
        by_prior: Draws of the groups that are judged, under the flat and under the pooled prior.
        without: The same without a prior (`inversion`), or None: intervals are then the hull of both priors'.
        pair: The indices of the groups of the lowest and of the highest estimated rate.
        level: Of each interval.

    Returns:
        The medians under the pooled prior, moved into their intervals. The ratio may be above 1, the difference below
        0: the second group need not have the higher rate.
    """
    pooled = by_prior[-1]
    first, second = pooled.rates[list(pair)]
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        ratio, difference = _median(first / second), _median(second - first)
    if not (np.isfinite(ratio) and np.isfinite(difference)):
        return undefined(level), undefined(level)
    each = [_ends(draws, pair, level) for draws in ((without,) if without is not None else by_prior)]
    of_ratio, of_difference = (_hull(ends) for ends in zip(*each, strict=True))
    return Estimate.between(ratio, *of_ratio, level, METHOD), Estimate.between(
        difference, *of_difference, level, METHOD
    )


def _ends(draws: RateDraws, pair: tuple[int, int], level: float) -> tuple[Ends, Ends]:
    """The ends of the pair's ratio and difference that hold for all candidates together."""
    low, high = (np.union1d(contenders, [chosen]) for contenders, chosen in zip(draws.contenders(), pair, strict=True))
    pairs = [(i, j) for i in low for j in high if i != j]
    if len(pairs) > draws.edition.pairs_max:
        return _ends_by_groups(draws, np.union1d(low, high), pair, level)
    if len(pairs) == 1:
        return draws.pairs(low, high).ends((1 - level) / 2)
    both_ways = list(dict.fromkeys([*pairs, *((j, i) for i, j in pairs)]))
    first, second = np.array(both_ways).T
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        ratios = draws.upper[first] / draws.lower[second]
    highs = dict(zip(both_ways, upper_ends(ratios, 1 - level).tolist(), strict=True))
    above = upper_ends(draws.upper[first] - draws.lower[second], 1 - level).tolist()
    differences = dict(zip(both_ways, above, strict=True))
    turned = (pair[1], pair[0])
    return (
        (1 / highs[turned] if highs[turned] > 0 else np.inf, highs[pair]),
        (max(-differences[pair], -1.0), min(differences[turned], 1.0)),
    )


def _ends_by_groups(draws: RateDraws, groups: Indices, pair: tuple[int, int], level: float) -> tuple[Ends, Ends]:
    """Return the ends, as `_ends`, from ends of the candidates' rates that hold together: wider, and much cheaper."""
    rows = np.concatenate([draws.upper[groups], -draws.lower[groups]])
    ends = np.clip(np.abs(upper_ends(rows, 1 - level)), 0.0, 1.0).tolist()
    highs, lows = (dict(zip(groups.tolist(), part, strict=True)) for part in (ends[: len(groups)], ends[len(groups) :]))
    first, second = pair
    ratio_low = lows[first] / highs[second] if highs[second] > 0 else 0.0
    ratio_high = highs[first] / lows[second] if lows[second] > 0 else np.inf
    return (ratio_low, ratio_high), (lows[second] - highs[first], highs[second] - lows[first])


def _hull(ends: Sequence[Ends]) -> Ends:
    return min(low for low, _ in ends), max(high for _, high in ends)


def _median(draws: FloatArray) -> float:
    """The median of draws of shape (M,), NaN left out; NaN if most are."""
    ordered = np.sort(draws)
    number = len(ordered) - int(np.isnan(draws).sum())
    return float(ordered[number // 2]) if 2 * number >= len(ordered) else np.nan
