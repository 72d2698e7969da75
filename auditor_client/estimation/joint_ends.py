"""Upper ends that hold for many rows of draws together, such as for all pairs of groups that may be the extreme one.

Every row's end is its draw at one rank, the same for all, so that all rows miss alike often. A draw that takes part in
making an end cannot miss it, so counting the draws beyond the ends says too little: with 240 pairs and 4 096 draws the
ends are the second or third largest draws, and one and a half times as many new draws lie beyond. So each draw is
judged by the ends that the others make (leave-one-out): it misses the k-th largest if it is among the k largest itself.
Between two ranks the ends are interpolated. Where no rank is rare enough they lie beyond the largest draw by as much as
the rows' mean excess says.

Axes: P rows, M draws.
"""

import math
from typing import Final

import numpy as np
from numpy.typing import NDArray

from auditor_client.estimation.noise_sums import FloatArray

EXCEEDING: Final = 16
"""So many of the largest draws say how fast a row's tail falls."""


def upper_ends(draws: FloatArray, miss: float) -> FloatArray:
    """Upper ends, shape (P,), of which a new draw misses some with probability `miss`; from draws of shape (P, M).

    A NaN bounds nothing: it counts as above every other draw, so that a row's end may be infinite.
    """
    number = draws.shape[1]
    order = np.argsort(draws, axis=1)  # NaN last
    ranks = np.empty_like(order)
    np.put_along_axis(ranks, order, np.arange(number)[None, :], axis=1)
    highest = np.sort(ranks.max(axis=0))
    allowed = min(max(miss, 0.0), 1.0) * number
    rank = int(highest[max(number - math.floor(allowed) - 1, 0)])
    beyond, beyond_next = (number - int(np.searchsorted(highest, at)) for at in (rank, rank + 1))
    ends = _at(draws, order, rank)
    if rank + 1 < number:
        part = min(max((beyond - allowed) / (beyond - beyond_next), 0.0), 1.0)
        following = _at(draws, order, rank + 1)
        with np.errstate(invalid="ignore"):
            return np.where(ends == following, ends, ends + part * (following - ends)) if part else ends
    lowest = _at(draws, order, max(number - 1 - EXCEEDING, 0))
    tail = np.take_along_axis(draws, order[:, -EXCEEDING:], axis=1)
    with np.errstate(invalid="ignore"):
        excess = np.where(np.isinf(ends), np.inf, tail.mean(axis=1) - lowest)
        extended: FloatArray = ends + math.log(beyond / max(allowed, 0.5)) * excess
    return extended


def joint_end(draws: FloatArray, miss: float) -> float:
    """The smallest of upper ends that hold for all rows together but for `miss`; draws of shape (P, M)."""
    return float(upper_ends(draws, miss).min())


def _at(draws: FloatArray, order: NDArray[np.intp], rank: int) -> FloatArray:
    """Each row's draw at a rank, shape (P,); infinite where that is NaN."""
    ends = np.take_along_axis(draws, order[:, [rank]], axis=1)[:, 0]
    return np.where(np.isnan(ends), np.inf, ends)
