"""The best case over allocations of whole people, exactly: for registers of few people.

`unknown_bounds` treats people as divisible, which changes the best case by about one person a group at most. Where a
register is so small that this matters, each rate that some group can have is tried as the lowest one. For it the lowest
possible highest rate is found group by group, over how many unknown people of either outcome the groups so far have
taken. This looks at every allocation; none is drawn. Worst cases are those of whole people already.

Axes: C candidates for the lowest rate; of a block X accepted and Y refused people taken, from 0 on.
"""

import itertools
from dataclasses import replace
from typing import Final

import numpy as np

from auditor_client.estimation.noise_sums import FloatArray
from auditor_client.estimation.unknown_bounds import Bounds, Register, bounds

WHOLE_MAX: Final = 24
"""So many people at most are allocated as whole people."""
DISTINCT_MAX: Final = 256
"""Of so many different registers at most: the draws of counts whose noise is small."""


def sharp_bounds(register: Register) -> Bounds:
    """The ends over all allocations, of whole people where a register has few, in all draws.

    Args:
        register: In whole numbers of people.
    """
    limits = bounds(register)
    if not register.people.max(initial=0) <= WHOLE_MAX:
        return limits
    counts = (register.accepted, register.refused, register.unknown_accepted, register.unknown_refused)
    _, first, which = np.unique(np.concatenate(counts), axis=1, return_index=True, return_inverse=True)
    if len(first) > DISTINCT_MAX:
        return limits
    best = np.array([_best(register.draws(np.array([index]))) for index in first]).T[:, which.ravel()]
    return replace(limits, ratio_best=best[0], odds_best=best[1], difference_best=best[2])


def _best(register: Register) -> tuple[float, float, float]:
    """Return the best ratio, odds ratio and difference of a register of one draw; NaN where one is undefined."""
    if not register.people[0]:
        return np.nan, np.nan, np.nan
    low, high = _extremes(register)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = low / high
        odds = np.where(low == high, 1.0, low / (1 - low) * (1 - high) / high)
    is_defined = high > 0
    return (
        float(ratios[is_defined].max()) if is_defined.any() else np.nan,
        float(odds[is_defined].max()) if is_defined.any() else np.nan,
        float((high - low).min()) if len(low) else np.nan,
    )


def _extremes(register: Register) -> tuple[FloatArray, FloatArray]:
    """Lowest rates that judged groups can have at least, and for each the lowest possible highest rate."""
    rates = {group: _rates(register, group) for group in register.judged}
    candidates = np.unique(np.concatenate([of_group[~np.isnan(of_group)] for of_group in rates.values()]))
    highest = np.full(len(candidates), -1.0)
    for block in range(len(register.unknown_accepted)):
        highest = np.maximum(highest, _lowest_highest(register, block, rates, candidates))
    allowed = np.isfinite(highest) & (highest >= 0)  # else some group has a lower rate, or no judged group has people
    return candidates[allowed], highest[allowed]


def _lowest_highest(register: Register, block: int, rates: dict[int, FloatArray], candidates: FloatArray) -> FloatArray:
    """For each candidate the lowest possible highest rate in a block, shape (C,).

    Infinite where some group has a lower rate in every allocation, −1 where no judged group has people.
    """
    accepted, refused = (int(of_all[block, 0]) for of_all in (register.unknown_accepted, register.unknown_refused))
    reached = np.full((len(candidates), accepted + 1, refused + 1), np.inf)
    reached[:, 0, 0] = -1.0
    for group in register.members(block):
        further = np.full_like(reached, np.inf)
        for x, y in itertools.product(range(accepted + 1), range(refused + 1)):
            rate = rates[group][x, y] if group in rates else np.nan
            before = reached[:, : accepted + 1 - x, : refused + 1 - y]
            if not np.isnan(rate):
                before = np.where((rate >= candidates)[:, None, None], np.maximum(before, rate), np.inf)
            further[:, x:, y:] = np.minimum(further[:, x:, y:], before)
        reached = further
    highest: FloatArray = reached[:, accepted, refused]
    return highest


def _rates(register: Register, group: int) -> FloatArray:
    """A group's rate with so many further people, shape (X, Y); NaN where it is empty."""
    block = register.block[group]
    more_accepted = np.arange(int(register.unknown_accepted[block, 0]) + 1)[:, None]
    more_refused = np.arange(int(register.unknown_refused[block, 0]) + 1)[None, :]
    accepted = register.accepted[group, 0] + more_accepted
    with np.errstate(invalid="ignore"):
        rates: FloatArray = accepted / (accepted + register.refused[group, 0] + more_refused)
    return rates
