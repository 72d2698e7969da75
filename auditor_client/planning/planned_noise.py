"""The noise that an honest holder's answer has, from the plan alone: what a forecast simulates (2-privacy §4)."""

import math

from auditor_client.exchange.expected_noise import approximate_delta
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


def planned_noise(batch: Batch, *, counts_that_change: int, schema: Schema, sensitive: tuple[str, ...]) -> Noise:
    """The noise on each count of a batch of disjoint cells.

    Args:
        batch: What is asked.
        counts_that_change: Between neighbours, each by one person.
        schema: The dataset's declaration.
        sensitive: The plan's sensitive columns.
    """
    epsilon_nano, delta_nano = batch.loss_nano
    epsilon = epsilon_nano / NANO_PER_UNIT
    if isinstance(batch.mechanism, Laplace):
        return DiscreteLaplaceNoise(scale=counts_that_change / epsilon)
    if isinstance(batch.mechanism, Exponential):
        return ExponentialNoise(scale=2 * counts_that_change / epsilon, upper=batch.mechanism.upper)
    if isinstance(batch.mechanism, Gaussian):
        return DiscreteGaussianNoise(scale=_sigma(epsilon, delta_nano / NANO_PER_UNIT, counts_that_change))
    kept = [(name, schema.by_name[name].randomised_response) for name in sensitive]
    return RandomisedResponseNoise(
        kept=tuple(
            KeptValue(column=name, probability=format_nano(response.kept)) for name, response in kept if response
        )
    )


def _sigma(epsilon: float, delta: float, counts_that_change: int) -> float:
    """The smallest σ that gives (ε, δ) by zero-concentrated differential privacy."""
    low, high = 1e-3, 1e6
    while high > low * (1 + 1e-9):
        middle = math.sqrt(low * high)
        enough = approximate_delta(counts_that_change / (2 * middle**2), epsilon) <= delta
        low, high = (low, middle) if enough else (middle, high)
    return high
