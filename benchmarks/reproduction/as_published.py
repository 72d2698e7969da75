"""The two mechanisms as the paper's figures have them: with a slip of scale each. For the comparison alone.

Neither gives the privacy that its ε says it gives, nor the accuracy that this ε allows, so neither is in the
holder. That these two slips are behind the published figures is inferred from the figures (1-method §5):

*exponential*: the utility of an answer is divided by 100, so the answers r = 0..support have mass
proportional to exp(−|c − r|/s) with s = 2·100/ε instead of 2/ε. It adds a hundred times the noise.

*Gaussian*: the variance of the classical bound, 2Δ²·ln(1.25/δ)/ε² with Δ = 2, is used as the standard deviation. In
people the noise is that bound's own deviation squared.
"""

import math
from collections.abc import Callable
from typing import Final

import numpy as np

from auditor_client.estimation.measurements import IntArray

UTILITY_DIVISOR: Final = 100
GAUSSIAN_SENSITIVITY: Final = 2
GAUSSIAN_DELTA: Final = 0.001
"""The paper does not name its δ. Of the powers of ten this one fits its Table 5 best; see docs/reproduction.md."""

SlippedMechanism = Callable[[IntArray, IntArray, float, int, np.random.Generator], IntArray]
"""From true counts, shape (R, K), the supports of the R cells, ε and a number n to n answers, shape (n, R, K)."""


def exponential(
    counts: IntArray,
    supports: IntArray,
    epsilon: float,
    runs: int,
    generator: np.random.Generator,
    *,
    divisor: float = UTILITY_DIVISOR,
) -> IntArray:
    """Candidates from 0 to each rule's exact support; a divisor of 1 would be the mechanism without its slip."""
    scale = 2 * divisor / epsilon
    answers = np.empty((runs, *counts.shape), dtype=np.int64)
    for (rule, group), count in np.ndenumerate(counts):
        weights = np.exp(-np.abs(np.arange(int(supports[rule]) + 1) - count) / scale)
        answers[:, rule, group] = generator.choice(len(weights), size=runs, p=weights / weights.sum())
    return answers


def gaussian(
    counts: IntArray,
    _: IntArray,
    epsilon: float,
    runs: int,
    generator: np.random.Generator,
    *,
    delta: float = GAUSSIAN_DELTA,
) -> IntArray:
    """Normal noise, rounded, whose standard deviation is what should be its variance."""
    deviation = 2 * GAUSSIAN_SENSITIVITY**2 * math.log(1.25 / delta) / epsilon**2
    noisy = counts + generator.normal(0, deviation, (runs, *counts.shape))
    return np.rint(noisy).astype(np.int64)
