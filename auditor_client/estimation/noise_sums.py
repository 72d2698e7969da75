"""The exact mass of a sum of independent noises, and the inverse of its cumulated mass.

Summing the counts of R cells sums R noises, so an honest posterior needs the mass of that sum. A sum
of discrete Laplace noises has no simple closed form; convolving with one of them is two first-order
recursions over positive numbers, so the table is exact to rounding far into the tails, in time linear
in its length.
"""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.signal import lfilter

from auditor_client.errors import EstimationRefused
from shared.noise import DiscreteLaplaceNoise

FloatArray = NDArray[np.float64]

SCALE_MIN: Final = 0.01
SCALE_MAX: Final = 10_000.0
"""Wider than what any ε from 0.001 to 10 gives: beyond it an answer is a mistake, or meant to fill the memory."""

_SINGLE_REACH_SCALES: Final = 60.0
"""The mass of one noise beyond so many scales is 10⁻²⁶: nothing that is observed lies there."""
_SUM_REACH_DEVIATIONS: Final = 9.0


@dataclass(frozen=True, slots=True, eq=False)
class NoiseSum:
    """The sum of some independent, symmetric integer noises, as a table over −reach..reach.

    Attributes:
        reach: The largest noise in the table, in people.
        log_mass: Natural logarithm of the probability of each noise, shape (2·reach + 1,).
        cumulated: P(noise ≤ k), the same shape.
        tempered: The cumulated, unnormalised square root of the mass, the same shape: a distribution with
            twice as heavy tails, to draw proposals from.
        deviation: The standard deviation, in people.
    """

    reach: int
    log_mass: FloatArray
    cumulated: FloatArray
    tempered: FloatArray
    deviation: float

    def index(self, noise: NDArray[np.int64]) -> NDArray[np.int64]:
        """The table's place of each noise; what lies beyond the table is taken to its end."""
        places: NDArray[np.int64] = np.clip(noise, -self.reach, self.reach) + self.reach
        return places

    def quantile(self, points: FloatArray) -> NDArray[np.int64]:
        """The noise at cumulated probabilities within [0, 1): with random ones, a simulation of it."""
        places: NDArray[np.int64] = np.searchsorted(self.cumulated, points * self.cumulated[-1], side="right")
        return places - self.reach

    def at_least(self, noise: NDArray[np.int64]) -> FloatArray:
        """P(noise ≥ k) for each k; by symmetry P(noise ≤ −k)."""
        tail: FloatArray = self.cumulated[self.index(-noise)]
        return tail


@lru_cache(maxsize=8)
def noise_sum(noise: DiscreteLaplaceNoise, terms: int) -> NoiseSum:
    """The sum of `terms` independent noises of one kind.

    Args:
        noise: Of each term.
        terms: How many, at least 1.

    Raises:
        EstimationRefused: No ε in the public range gives noise of such a scale.
    """
    if not SCALE_MIN <= noise.scale <= SCALE_MAX:
        raise EstimationRefused(f"No epsilon gives noise of scale {noise.scale}: do not use the answer.")
    reach = math.ceil(noise.scale * (_SINGLE_REACH_SCALES + _SUM_REACH_DEVIATIONS * math.sqrt(2 * (terms - 1)))) + 1
    mass: FloatArray = np.exp(noise.log_mass(np.arange(-reach, reach + 1)))
    decay, peak = math.exp(-1 / noise.scale), math.tanh(0.5 / noise.scale)
    for _ in range(terms - 1):
        below = lfilter([1.0], [1.0, -decay], mass)
        above = lfilter([0.0, decay], [1.0, -decay], mass[::-1])[::-1]
        mass = peak * (below + above)
    log_mass: FloatArray = np.log(np.maximum(mass, np.finfo(np.float64).tiny))
    return NoiseSum(
        reach=reach,
        log_mass=log_mass,
        cumulated=np.cumsum(mass),
        tempered=np.cumsum(np.exp(0.5 * log_mass)),
        deviation=math.sqrt(terms * noise.variance),
    )
