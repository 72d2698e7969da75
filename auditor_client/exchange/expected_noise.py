"""The noise of an honest holder's answer, from the plan and public facts alone (2-privacy §4).

A forecast simulates it, and the noise that a holder describes is compared with it. Noise that is too small would cost
the people in the data more than the ledger says. Noise that is too large would cost the auditor its budget; noise that
is larger than described would make its intervals wrong.
"""

import math
from fractions import Fraction
from typing import Final

from shared.contract.datasets import DatasetDescription
from shared.contract.relations import NeighbouringRelation
from shared.contract.schema import Schema
from shared.kinds.plans import Batch, Exponential, Gaussian, Laplace
from shared.privacy.amounts import NANO_PER_UNIT, format_nano
from shared.privacy.noise import (
    AdditiveNoise,
    DiscreteGaussianNoise,
    DiscreteLaplaceNoise,
    ExponentialNoise,
    KeptValue,
    Noise,
    OneSidedGeometricNoise,
    RandomisedResponseNoise,
    of_two_holders,
)
from shared.privacy.zero_concentrated import bounded_range_rho_nano, pure_rho_nano

_RAISED_TOLERANCE: Final = 1e-12
"""The holder raises a scale by a few ulps (2-privacy §3), each some 2·10⁻¹⁶ of it."""
_GAUSSIAN_TOLERANCE: Final = 1e-9
"""The holder finds σ by OpenDP's arithmetic, which rounds in another way than the arithmetic here."""


def expected_noise(batch: Batch, relation: NeighbouringRelation, schema: Schema, sensitive: tuple[str, ...]) -> Noise:
    """The noise on each count of a batch.

    Args:
        batch: Of a plan.
        relation: Of the people that it is about.
        schema: The dataset's columns, and the derived ones that the plan names.
        sensitive: The plan's columns.
    """
    asked, loss = batch.mechanism, batch.loss
    counts_that_change = relation.counts_that_change(schema.group_count(sensitive), moved=batch.names_sensitive(schema))
    if isinstance(asked, Laplace):
        return DiscreteLaplaceNoise(scale=not_below(Fraction(counts_that_change * NANO_PER_UNIT, loss.epsilon_nano)))
    if isinstance(asked, Exponential):
        scale = not_below(Fraction(2 * counts_that_change * NANO_PER_UNIT, loss.epsilon_nano))
        return ExponentialNoise(scale=scale, upper=asked.upper)
    if isinstance(asked, Gaussian) and loss.rho_nano is not None:
        return DiscreteGaussianNoise(scale=math.sqrt(counts_that_change * NANO_PER_UNIT / (2 * loss.rho_nano)))
    if isinstance(asked, Gaussian):
        epsilon, delta = loss.epsilon_nano / NANO_PER_UNIT, loss.delta_nano / NANO_PER_UNIT
        return DiscreteGaussianNoise(scale=_sigma(epsilon, delta, counts_that_change))
    perturbed = ((name, schema.by_name[name].randomised_response) for name in sensitive)
    return RandomisedResponseNoise(
        kept=tuple(
            KeptValue(column=name, probability=format_nano(response.kept)) for name, response in perturbed if response
        )
    )


def counted_noise(batch: Batch, dataset: DatasetDescription, schema: Schema, sensitive: tuple[str, ...]) -> Noise:
    """The noise on each count that figures rest on: that of an answer, or of two holders' answers together."""
    noise = expected_noise(batch, dataset.neighbouring, schema, sensitive)
    return of_two_holders(noise) if dataset.shares is not None and isinstance(noise, AdditiveNoise) else noise


def is_expected(noise: Noise | OneSidedGeometricNoise, expected: Noise | OneSidedGeometricNoise) -> bool:
    """Whether the noise that a holder describes is the expected one, up to the rounding of scales."""
    if isinstance(noise, RandomisedResponseNoise) or isinstance(expected, RandomisedResponseNoise):
        return noise == expected
    alike = noise.model_copy(update={"scale": expected.scale}) == expected
    if isinstance(expected, DiscreteGaussianNoise):
        return alike and abs(noise.scale / expected.scale - 1) <= _GAUSSIAN_TOLERANCE
    return alike and is_expected_scale(noise.scale, expected.scale)


def is_expected_scale(scale: float, expected: float) -> bool:
    """Whether the scale of a geometric noise is the expected one, or raised by a few ulps."""
    return 1 <= scale / expected <= 1 + _RAISED_TOLERANCE


def expected_rho_nano(batch: Batch, noise: Noise, counts_that_change: int) -> range:
    """What a class of a batch may be charged in ρ, in units of 10⁻⁹, given noise that is the expected one.

    Of Gaussian noise it is rounded up by another arithmetic than here, so that it may be one unit more.
    """
    if isinstance(noise, DiscreteGaussianNoise):
        if batch.rho is not None:
            return range(batch.rho, batch.rho + 1)
        rho = Fraction(counts_that_change * NANO_PER_UNIT, 2) / Fraction(noise.scale) ** 2
        return range(math.ceil(rho), math.ceil(rho) + 2)
    rho_of = bounded_range_rho_nano if isinstance(noise, ExponentialNoise) else pure_rho_nano
    rho_nano = rho_of(batch.loss.epsilon_nano)
    return range(rho_nano, rho_nano + 1)


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


def not_below(needed: Fraction) -> float:
    """The smallest double that is at least a fraction."""
    scale = float(needed)
    return scale if Fraction(scale) >= needed else math.nextafter(scale, math.inf)


def _sigma(epsilon: float, delta: float, counts_that_change: int) -> float:
    """The smallest σ that gives (ε, δ) by zero-concentrated differential privacy."""
    low, high = 1e-3, 1e6
    while high > low * (1 + _RAISED_TOLERANCE):
        middle = math.sqrt(low * high)
        enough = approximate_delta(counts_that_change / (2 * middle**2), epsilon) <= delta
        low, high = (low, middle) if enough else (middle, high)
    return high
