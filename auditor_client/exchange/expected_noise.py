"""Is the noise that a holder describes the noise of the loss that it charges? Computed again from public facts.

Noise that is too small would cost the people in the data more than the ledger says; noise that is too large, or
described as smaller than it is, would cost the auditor its budget or its interval.
"""

import math
from fractions import Fraction
from typing import Final

from shared.amounts import NANO_PER_UNIT, format_nano
from shared.noise import (
    DiscreteGaussianNoise,
    DiscreteLaplaceNoise,
    ExponentialNoise,
    KeptValue,
    Noise,
    RandomisedResponseNoise,
)
from shared.plans import Batch, Exponential, Gaussian, Laplace
from shared.schema import Schema

_ULPS_TOLERANCE: Final = Fraction(1, 10**12)
"""The holder raises a scale by a few ulps (2-privacy §3), each some 2·10⁻¹⁶ of it."""
_GAUSSIAN_TOLERANCE: Final = 1e-9
"""The holder finds σ by OpenDP's arithmetic, which rounds otherwise than the one here."""


def is_expected(
    noise: Noise, batch: Batch, *, counts_that_change: int, schema: Schema, sensitive: tuple[str, ...]
) -> bool:
    """Whether a batch's noise is as large as its ε and δ say, and no larger.

    Args:
        noise: What the holder describes.
        batch: What was asked.
        counts_that_change: Of one class of disjoint cells, between neighbours; each by one person.
        schema: The dataset's declaration.
        sensitive: The plan's sensitive columns.

    Source: 2-privacy §4.
    """
    asked = batch.mechanism
    epsilon_nano, _ = batch.loss_nano
    if isinstance(asked, Laplace):
        needed = Fraction(counts_that_change * NANO_PER_UNIT, epsilon_nano)
        return isinstance(noise, DiscreteLaplaceNoise) and _is_raised(noise.scale, needed)
    if isinstance(asked, Exponential):
        needed = Fraction(2 * counts_that_change * NANO_PER_UNIT, epsilon_nano)
        return isinstance(noise, ExponentialNoise) and noise.upper == asked.upper and _is_raised(noise.scale, needed)
    if isinstance(asked, Gaussian):
        return isinstance(noise, DiscreteGaussianNoise) and _is_gaussian(noise.scale, batch, counts_that_change)
    return isinstance(noise, RandomisedResponseNoise) and noise.kept == _declared(schema, sensitive)


def approximate_delta(rho: float, epsilon: float) -> float:
    """The smallest δ that ρ-zero-concentrated differential privacy is known to give at ε.

    Source: Canonne, Kamath, Steinke (2020), proposition 12: the infimum over the order α > 1 of
    exp((α − 1)(αρ − ε))·(1 − 1/α)^α/(α − 1), whose logarithm is convex in α.
    """
    low, high = 1.0, (epsilon + 1) / (2 * rho) + 2
    while low < (alpha := (low + high) / 2) < high:
        slope = (2 * alpha - 1) * rho - epsilon + math.log1p(-1 / alpha)
        low, high = (alpha, high) if slope < 0 else (low, alpha)
    return math.exp((high - 1) * (high * rho - epsilon) + high * math.log1p(-1 / high)) / (high - 1)


def _is_raised(scale: float, needed: Fraction) -> bool:
    return needed <= Fraction(scale) <= needed * (1 + _ULPS_TOLERANCE)


def _is_gaussian(sigma: float, batch: Batch, counts_that_change: int) -> bool:
    epsilon_nano, delta_nano = batch.loss_nano

    def delta(scale: float) -> float:
        return approximate_delta(counts_that_change / (2 * scale**2), epsilon_nano / NANO_PER_UNIT)

    wanted = delta_nano / NANO_PER_UNIT
    # Within bounds that no ε and δ of the public range leave, so that nothing here overflows.
    return 1e-3 <= sigma <= 1e6 and (
        delta(sigma * (1 + _GAUSSIAN_TOLERANCE)) <= wanted <= delta(sigma * (1 - _GAUSSIAN_TOLERANCE))
    )


def _declared(schema: Schema, sensitive: tuple[str, ...]) -> tuple[KeptValue, ...]:
    perturbed = ((name, schema.by_name[name].randomised_response) for name in sensitive)
    return tuple(
        KeptValue(column=name, probability=format_nano(response.kept)) for name, response in perturbed if response
    )
