"""The exact mass of a sum of independent noises, and the inverse of its cumulated mass.

Summing the counts of R cells sums R noises, so an honest posterior needs the mass of that sum. A sum
of discrete Laplace noises has no simple closed form; convolving with one of them is two first-order
recursions over positive numbers, so the table is exact to rounding far into the tails, in time linear
in its length. Where that would take seconds (hundreds of cells at a small ε) the saddlepoint
approximation is used, which misplaces less than a thousandth of the mass. A sum of discrete Gaussian noises is one
itself, to rounding, unless they are narrower than two people; then the table is short and convolved directly.
"""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.signal import lfilter

from auditor_client.errors import EstimationRefused
from shared.privacy.noise import AdditiveNoise, DiscreteGaussianNoise, DiscreteLaplaceNoise

FloatArray = NDArray[np.float64]

SCALE_MIN: Final = 0.01
SCALE_MAX: Final = 10_000.0
"""Wider than what any ε from 0.001 to 10 gives: beyond it an answer is a mistake, or meant to fill the memory."""
REACH_MAX: Final = 1_000_000
"""In people; a table of twice as many numbers."""

_SINGLE_REACH_SCALES: Final = 60.0
"""The mass of one noise beyond so many scales is 10⁻²⁶: nothing that is observed lies there."""
_SUM_REACH_DEVIATIONS: Final = 9.0
_GAUSSIAN_REACH_DEVIATIONS: Final = 30.0
_CLOSED_DEVIATION_MIN: Final = 2.0
"""From here on the sum of two discrete Gaussians differs from one by less than 10⁻¹⁶ of its mass."""
_STEPS_MAX: Final = 10_000_000
"""Table length times terms: about a tenth of a second of recursions."""


@dataclass(frozen=True, slots=True, eq=False)
class NoiseSum:
    """The sum of some independent, symmetric integer noises, as tables over −reach..reach, shape (2·reach + 1,) each.

    Attributes:
        reach: The largest noise in the tables, in people.
        log_mass: Natural logarithm of the probability of each noise.
        cumulated: P(noise ≤ k).
        tempered: The cumulated, unnormalised square root of the mass: twice as heavy tails, for proposals.
        deviation: The standard deviation, in people.
    """

    reach: int
    log_mass: FloatArray
    cumulated: FloatArray
    tempered: FloatArray
    deviation: float

    def index(self, noise: NDArray[np.int64]) -> NDArray[np.int64]:
        """The table's index of each noise, of the same shape; noise beyond the table is taken to its end."""
        index: NDArray[np.int64] = np.clip(noise, -self.reach, self.reach) + self.reach
        return index

    def quantile(self, points: FloatArray) -> NDArray[np.int64]:
        """The noise at cumulated probabilities within [0, 1), of the same shape; random ones simulate it."""
        index: NDArray[np.int64] = np.searchsorted(self.cumulated, points * self.cumulated[-1], side="right")
        return index - self.reach

    def at_least(self, noise: NDArray[np.int64]) -> FloatArray:
        """P(noise ≥ k) for each k, of the same shape; by symmetry P(noise ≤ −k)."""
        tail: FloatArray = self.cumulated[self.index(-noise)]
        return tail


@lru_cache(maxsize=32)
def noise_sum(noise: AdditiveNoise, terms: int) -> NoiseSum:
    """The sum of `terms` independent noises of one kind, at least 1; where two holders answered, of twice as many.

    Raises:
        EstimationRefused: No ε in the public range gives noise of this scale, or the sum is too wide to tabulate.
    """
    if not SCALE_MIN <= noise.scale <= SCALE_MAX:
        raise EstimationRefused(f"No epsilon gives noise of scale {noise.scale}: do not use the answer.")
    single, every = noise.model_copy(update={"terms": 1}), terms * noise.terms
    log_mass = _gaussian(single, every) if isinstance(single, DiscreteGaussianNoise) else _laplace(single, every)
    mass = np.exp(log_mass)
    return NoiseSum(
        reach=len(log_mass) // 2,
        log_mass=log_mass,
        cumulated=np.cumsum(mass),
        tempered=np.cumsum(np.sqrt(mass)),
        deviation=math.sqrt(terms * noise.variance),
    )


def laplace_draws(noise: DiscreteLaplaceNoise, shape: tuple[int, ...], rng: np.random.Generator) -> NDArray[np.int64]:
    """Draws of a described noise, in people: of two holders, of both together."""
    draws = discrete_laplace(noise.scale, shape, rng)
    return draws if noise.terms == 1 else draws + discrete_laplace(noise.scale, shape, rng)


def discrete_laplace(scale: float, shape: tuple[int, ...], rng: np.random.Generator) -> NDArray[np.int64]:
    """Draws of discrete Laplace noise, in people; of invented people, since pseudo-random numbers protect nobody."""
    stop = -np.expm1(-1 / scale)
    draws: NDArray[np.int64] = rng.geometric(stop, shape) - rng.geometric(stop, shape)
    return draws


def _laplace(noise: DiscreteLaplaceNoise, terms: int) -> FloatArray:
    """The log mass of a sum of discrete Laplace noises over −reach..reach, shape (2·reach + 1,)."""
    reach = _checked(noise.scale * (_SINGLE_REACH_SCALES + _SUM_REACH_DEVIATIONS * math.sqrt(2 * (terms - 1))))
    noises = np.arange(-reach, reach + 1)
    if (terms - 1) * len(noises) > _STEPS_MAX:
        return _laplace_saddlepoint(noise.scale, terms, noises)
    mass: FloatArray = np.exp(noise.log_mass(noises))
    decay, peak = math.exp(-1 / noise.scale), math.tanh(0.5 / noise.scale)
    for _ in range(terms - 1):
        below = lfilter([1.0], [1.0, -decay], mass)
        above = lfilter([0.0, decay], [1.0, -decay], mass[::-1])[::-1]
        mass = peak * (below + above)
    return _log(mass)


def _laplace_saddlepoint(scale: float, terms: int, noises: NDArray[np.int64]) -> FloatArray:
    """The same, of the shape of the noises, by the saddlepoint approximation, normalised (Daniels 1954).

    The cumulant function is κ(t) = R·log((1 − q)²/(1 + q² − 2q·cosh t)), and κ'(t) = k is a quadratic equation in
    u = cosh t.
    """
    q = math.exp(-1 / scale)
    k, middle = np.abs(noises).astype(np.float64), 1 + q * q
    # (R·2q)²·(u² − 1) = k²·(1 + q² − 2qu)²; of its two solutions the one with a positive right side.
    square, linear, constant = (
        4 * q * q * (terms**2 - k * k),
        4 * q * middle * k * k,
        -(4 * (q * terms) ** 2 + (k * middle) ** 2),
    )
    u = -2 * constant / (linear + np.sqrt(linear**2 - 4 * square * constant))
    denominator = middle - 2 * q * u
    tilt = np.arccosh(np.maximum(u, 1.0))
    curvature = terms * (2 * q * u / denominator + (2 * q * np.sinh(tilt) / denominator) ** 2)
    log_mass = terms * (2 * math.log1p(-q) - np.log(denominator)) - tilt * k - 0.5 * np.log(curvature)
    normalised: FloatArray = np.maximum(log_mass - np.log(np.exp(log_mass).sum()), math.log(np.finfo(np.float64).tiny))
    return normalised


def _gaussian(noise: DiscreteGaussianNoise, terms: int) -> FloatArray:
    """The log mass of a sum of discrete Gaussian noises over −reach..reach, shape (2·reach + 1,)."""
    deviation = noise.scale * math.sqrt(terms)
    reach = _checked(_GAUSSIAN_REACH_DEVIATIONS * deviation)
    noises = np.arange(-reach, reach + 1)
    if terms == 1 or noise.scale >= _CLOSED_DEVIATION_MIN:
        log_mass: FloatArray = DiscreteGaussianNoise(scale=deviation).log_mass(noises)
        return log_mass
    single = np.exp(noise.log_mass(noises))
    mass = single
    for _ in range(terms - 1):
        mass = np.convolve(mass, single, "same")
    return _log(mass)


def _checked(reach: float) -> int:
    """A whole reach that fits into memory."""
    if reach <= REACH_MAX:
        return math.ceil(reach) + 1
    raise EstimationRefused(
        "The noise of so many cells adds up to more than can be estimated from: ask with a larger epsilon, or with "
        "strategy verdict, which adds up none."
    )


def _log(mass: FloatArray) -> FloatArray:
    log_mass: FloatArray = np.log(np.maximum(mass, np.finfo(np.float64).tiny))
    return log_mass
