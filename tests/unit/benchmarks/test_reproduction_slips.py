"""The two slipped mechanisms add the noise that the paper's figures have, and not the noise that their ε asks for.

Every generator is seeded, so these tests cannot fail by chance.
"""

import math

import numpy as np
import pytest
from scipy import stats

from benchmarks.reproduction import as_published

RUNS = 20_000


def exponential_p(divisor: float) -> float:
    """How well the draws fit the exponential mechanism with its utility divided, by a χ² test."""
    epsilon, count, support = 0.5, 120, 400
    counts, supports = np.array([[count]]), np.array([support])
    drawn = as_published.exponential(counts, supports, epsilon, RUNS, np.random.default_rng(1))
    weights = np.exp(-epsilon * np.abs(np.arange(support + 1) - count) / (2 * divisor))
    expected = (weights / weights.sum() * RUNS)[:-1].reshape(20, -1).sum(axis=1)
    observed = np.bincount(drawn.ravel(), minlength=support + 1)[:-1].reshape(20, -1).sum(axis=1)
    return float(stats.chisquare(observed, expected * observed.sum() / expected.sum()).pvalue)


def test_the_exponential_is_the_mechanism_with_its_utility_divided_by_a_hundred() -> None:
    assert exponential_p(100) > 1e-6


@pytest.mark.parametrize("divisor", [1, 50, 200])
def test_another_divisor_is_distinguished(divisor: float) -> None:
    assert exponential_p(divisor) < 1e-6


def test_the_gaussian_has_the_classical_variance_as_its_deviation() -> None:
    epsilon = 0.5
    classical = 2 * math.sqrt(2 * math.log(1.25 / as_published.GAUSSIAN_DELTA)) / epsilon

    drawn = as_published.gaussian(np.array([[10]]), np.array([10]), epsilon, RUNS, np.random.default_rng(1))

    # The deviation of 20 000 normal draws is within 2.5 % of the truth with five standard errors.
    assert np.std(drawn) == pytest.approx(classical**2, rel=0.025)
    assert np.std(drawn) > 10 * classical


def test_each_rule_has_its_own_range_of_answers() -> None:
    counts, supports = np.array([[1, 2], [50, 50]]), np.array([3, 100])

    drawn = as_published.exponential(counts, supports, 0.1, 500, np.random.default_rng(1))

    assert drawn.shape == (500, 2, 2)
    assert (drawn.min(), drawn[:, 0].max(), drawn[:, 1].max()) == (0, 3, 100)
