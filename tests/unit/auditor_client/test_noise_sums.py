"""Sums of noises: their mass against plain convolution, and against each other where there are two ways to it."""

import math

import numpy as np
import pytest

from auditor_client.errors import EstimationRefused
from auditor_client.estimation import noise_sums
from auditor_client.estimation.noise_sums import noise_sum
from shared.privacy.noise import DiscreteGaussianNoise, DiscreteLaplaceNoise

LAPLACE = [(DiscreteLaplaceNoise(scale=scale), terms) for scale in (0.1, 2.0, 7.5) for terms in (1, 2, 5)]
GAUSSIAN = [(DiscreteGaussianNoise(scale=scale), terms) for scale, terms in ((0.3, 1), (0.7, 9), (1.9, 4), (2.5, 6))]


@pytest.mark.parametrize(("noise", "terms"), [*LAPLACE, *GAUSSIAN], ids=str)
def test_the_mass_of_a_sum_of_noises_is_their_convolution(
    noise: DiscreteLaplaceNoise | DiscreteGaussianNoise, terms: int
) -> None:
    single = np.exp(noise.log_mass(np.arange(-400, 401)))
    expected = single
    for _ in range(terms - 1):
        expected = np.convolve(expected, single)
    middle = len(expected) // 2

    total = noise_sum(noise, terms)

    near = np.arange(-min(total.reach, 300), min(total.reach, 300) + 1)
    np.testing.assert_allclose(
        np.exp(total.log_mass[total.index(near)]), expected[middle + near], rtol=1e-9, atol=1e-25
    )
    assert total.cumulated[-1] == pytest.approx(1, abs=1e-12)
    assert total.at_least(np.array([3])) == pytest.approx(expected[middle + 3 :].sum())
    assert total.deviation == pytest.approx(math.sqrt(terms * noise.variance))


def test_the_saddlepoint_misplaces_less_than_a_thousandth_of_the_mass() -> None:
    """Five hundred terms, once by recursion (a short table) and once by the saddlepoint (the same, forced)."""
    noise = DiscreteLaplaceNoise(scale=2)
    exact = noise_sum(noise, 500).log_mass
    reach = len(exact) // 2

    approximate = noise_sums._laplace_saddlepoint(2.0, 500, np.arange(-reach, reach + 1))

    assert np.abs(np.exp(exact) - np.exp(approximate)).sum() < 1e-3


def test_a_sum_too_wide_to_tabulate_is_refused() -> None:
    with pytest.raises(EstimationRefused, match="adds up to more"):
        noise_sum(DiscreteLaplaceNoise(scale=9_000), 512)
