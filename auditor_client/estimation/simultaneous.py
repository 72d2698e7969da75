"""At which level each of several intervals has to be made for all of them to hold together (5-decisions §4).

Every interval is made as for one figure, at a level above the one that is wanted of all. How far above, draws of the
figures say: each draw has a rank among its figure's, the figure whose draw is farthest out has the rarest rank, and
the level is the quantile of the rarest ranks. What figures share makes that level lower, so it is never above
Bonferroni's but for the draws' own error. This is the single-step maxT adjustment (Westfall and Young 1993,
*Resampling-Based Multiple Testing*), by ranks because the figures' scales differ.

Measurements whose noise is independent hold together with the product of their probabilities. Where the noise depends,
the product is too small rather than too large: convex sets that are symmetric about the mean of a normal distribution
have at least the product of their probabilities together (Royen 2014, *Far East Journal of Theoretical Statistics* 48).

Axes: F figures, M draws.
"""

import math
from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from auditor_client.estimation.noise_sums import FloatArray

DRAWS_MAX: Final = 2**16
"""Of one posterior."""


def simultaneous_level(measurements: Sequence[FloatArray], level: float) -> float:
    """The level of each interval at which all intervals hold together.

    Args:
        measurements: Of each, the level that every draw needs, as `levels_needed` and `levels_of_errors` give it,
            shape (M,); the number of draws may differ.
        level: Of all together, within (0, 1).

    Returns:
        At least `level`, and below 1: draws cannot show a level nearer to 1 than one of them, and that is the most.
    """
    number = max(len(needed) for needed in measurements)
    candidates = np.unique(np.concatenate(measurements))
    candidates = np.concatenate([[level], candidates[candidates > level], [1.0]])
    coverage = np.ones(len(candidates))
    for needed in measurements:
        # The truth is one more draw: of M draws and it, so many need no more than that.
        coverage *= np.searchsorted(np.sort(needed), candidates, side="right") / (len(needed) + 1)
    enough = np.flatnonzero(coverage >= level - 1e-12)
    smallest = candidates[enough[0]] if enough.size else 1.0
    return float(max(level, min(smallest, (number - 1) / number)))


def level_of_independent(level: float, number: int) -> float:
    """The level of each of some intervals that depend on nothing in common, at which all hold together at `level`."""
    return float(level ** (1 / number))


def draws_for(level: float, *, beyond: int, least: int) -> int:
    """How many draws, a power of two, leave some beyond either end of an interval of a level; up to `DRAWS_MAX`."""
    number = 2 ** math.ceil(math.log2(2 * beyond / (1 - level)))
    return int(min(max(number, least), DRAWS_MAX))


def levels_needed(draws: FloatArray) -> FloatArray:
    """In each draw, the least level at which the equal-tailed intervals of all figures hold it, shape (M,).

    An interval's ends belong to it, so of equal draws all are held. A NaN claims nothing, and a figure that is NaN in
    most draws has no interval that could fail.

    Args:
        draws: Of the figures, shape (F, M), drawn together: a column is one draw of all of them.
    """
    needed = np.zeros(draws.shape[1])
    for of_figure in draws:
        order = np.argsort(of_figure)
        defined = order[: len(order) - int(np.isnan(of_figure).sum())]
        if 2 * len(defined) < len(order):
            continue
        at_most, at_least = _at_most(of_figure[defined]), _at_most(-of_figure[defined[::-1]])[::-1]
        outside = np.minimum(at_most, at_least) - 1
        needed[defined] = np.maximum(needed[defined], 1 - 2 * outside / len(defined))
    return needed


def levels_of_errors(errors: FloatArray) -> FloatArray:
    """The same from draws of the figures' errors, shape (F, M), if those are as likely above zero as below."""
    needed = np.zeros(errors.shape[1])
    for of_figure in np.abs(errors):
        ranks = np.searchsorted(np.sort(of_figure), of_figure, side="right")
        needed = np.maximum(needed, ranks / errors.shape[1])
    return needed


def _at_most(ascending: FloatArray) -> NDArray[np.intp]:
    """Return how many of some ascending numbers are at most as large as each, shape (M,)."""
    last = np.append(ascending[1:] != ascending[:-1], True)
    ends = np.flatnonzero(last) + 1
    at_most: NDArray[np.intp] = np.repeat(ends, np.diff(ends, prepend=0))
    return at_most
