"""Answers that a holder might give about people whose counts are supposed: for forecasts, never for estimates.

The sampler is an ordinary one of floating-point and pseudo-random numbers, which protects nobody: it is for
invented people.
"""

import math

import numpy as np

from auditor_client.estimation.measurements import IntArray, response_matrix
from auditor_client.estimation.noise_sums import discrete_laplace, laplace_draws
from shared.contract.schema import Schema
from shared.privacy.noise import (
    DiscreteGaussianNoise,
    DiscreteLaplaceNoise,
    ExponentialNoise,
    Noise,
    RandomisedResponseNoise,
)


def simulated_answers(
    counts: IntArray, noise: Noise, schema: Schema, sensitive: tuple[str, ...], rng: np.random.Generator
) -> IntArray:
    """One draw of the answer to some histograms, of supposed true counts, shape (R, K), in people; the same shape.

    The schema and the sensitive columns say which groups there are.
    """
    if isinstance(noise, DiscreteLaplaceNoise):
        return counts + laplace_draws(noise, counts.shape, rng)
    if isinstance(noise, DiscreteGaussianNoise):
        deviation = noise.scale * math.sqrt(noise.terms)
        rounded: IntArray = np.round(rng.normal(0.0, deviation, counts.shape)).astype(np.int64)
        return counts + rounded
    if isinstance(noise, ExponentialNoise):
        return _exponential(np.minimum(counts, noise.upper), noise, rng)
    return _reported(counts, noise, schema, sensitive, rng)


def _exponential(counts: IntArray, noise: ExponentialNoise, rng: np.random.Generator) -> IntArray:
    answers = counts + discrete_laplace(noise.scale, counts.shape, rng)
    while (outside := (answers < 0) | (answers > noise.upper)).any():
        answers = np.where(outside, counts + discrete_laplace(noise.scale, counts.shape, rng), answers)
    return answers


def _reported(
    counts: IntArray,
    noise: RandomisedResponseNoise,
    schema: Schema,
    sensitive: tuple[str, ...],
    rng: np.random.Generator,
) -> IntArray:
    """Each person's group as it would have been reported."""
    matrix = response_matrix(schema.groups(sensitive), sensitive, noise)
    reported = [[rng.multinomial(count, matrix[group]) for group, count in enumerate(row)] for row in counts]
    totals: IntArray = np.array(reported, dtype=np.int64).sum(axis=1)
    return totals
