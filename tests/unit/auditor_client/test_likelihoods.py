"""The likelihood of totals that the exponential mechanism answered, and the tables of noise sums, by brute force."""

import itertools
import math

import numpy as np
import pytest

from auditor_client.errors import EstimationRefused
from auditor_client.estimation import noise_sums
from auditor_client.estimation.likelihoods import ExponentialAnswers
from auditor_client.estimation.noise_sums import FloatArray, noise_sum
from auditor_client.estimation.posterior import estimate_parity
from shared.noise import DiscreteGaussianNoise, DiscreteLaplaceNoise, ExponentialNoise
from tests.invented_measurements import measured

NOISE = ExponentialNoise(scale=2.0, upper=30)


def log_likelihoods(answers: list[int], totals: range) -> FloatArray:
    """The mean likelihood over all ways to spread each total over the cells, by enumeration."""
    found = []
    for total in totals:
        ways = [way for way in itertools.product(range(total + 1), repeat=len(answers) - 1) if sum(way) <= total]
        likelihoods = [
            math.exp(
                sum(
                    NOISE.log_likelihood(answer, count)
                    for answer, count in zip(answers, (*way, total - sum(way)), strict=True)
                )
            )
            for way in ways
        ]
        found.append(math.log(sum(likelihoods) / len(ways)))
    return np.array(found)


@pytest.mark.parametrize("answers", [[0], [7], [29], [0, 0, 0], [3, 0, 9], [12, 1]])
def test_a_totals_likelihood_is_the_mean_over_all_ways_to_spread_it(answers: list[int]) -> None:
    totals = range(30)
    table = ExponentialAnswers.of(np.array(answers)[None, :, None], NOISE)

    found = table.log_likelihood(np.array(totals)[None, None, :], np.array([0]))[0, 0]
    expected = log_likelihoods(answers, totals)

    likely = expected > expected.max() - 12
    assert (found - found.max())[likely] == pytest.approx((expected - expected.max())[likely], abs=1e-6)


def test_an_answer_for_nobody_is_as_large_as_the_mechanism_makes_it() -> None:
    table = ExponentialAnswers.of(np.array([4])[None, :, None], NOISE)

    expected = sum(math.exp(NOISE.log_likelihood(answer, 0)) for answer in range(4, 31))

    assert table.as_large()[0, 0] == pytest.approx(expected, abs=1e-6)


def test_proposals_reach_the_least_possible_count_and_no_less() -> None:
    table = ExponentialAnswers.of(np.array([4])[None, :, None], NOISE)
    points = (np.arange(1_000) + 0.5) / 1_000

    counts, log_weight = table.propose(np.full((1, 1, 1), 6), points)

    assert counts.min() == 6
    assert counts.max() <= 30
    assert np.isfinite(log_weight).all()


def test_many_cells_of_the_exponential_mechanism_give_possible_figures() -> None:
    noise = ExponentialNoise(scale=8.0, upper=20_000)
    cells = [[20 + cell % 7, 50 + cell % 11] for cell in range(100)]

    parity = estimate_parity(measured(cells, [[2_000, 9_000]], noise))

    assert 0 <= parity.ratio.low <= parity.ratio.value <= parity.ratio.high <= 1
    assert parity.groups[1].accepted.value == pytest.approx(5_500, rel=0.05)


@pytest.mark.parametrize(("scale", "terms"), [(0.3, 1), (0.7, 9), (1.9, 4), (2.5, 6)])
def test_the_mass_of_a_sum_of_gaussian_noises_is_their_convolution(scale: float, terms: int) -> None:
    noise = DiscreteGaussianNoise(scale=scale)
    single = np.exp(noise.log_mass(np.arange(-60, 61)))
    expected = single
    for _ in range(terms - 1):
        expected = np.convolve(expected, single)
    middle = len(expected) // 2

    total = noise_sum(noise, terms)

    near = np.arange(-min(total.reach, 30), min(total.reach, 30) + 1)
    np.testing.assert_allclose(
        np.exp(total.log_mass[total.index(near)]), expected[middle + near], rtol=1e-9, atol=1e-30
    )
    assert total.deviation == pytest.approx(math.sqrt(terms * noise.variance))


def test_the_saddlepoint_misplaces_less_than_a_thousandth_of_the_mass() -> None:
    """A thousand terms, once by recursion (a short table) and once by the saddlepoint (the same, forced)."""
    noise = DiscreteLaplaceNoise(scale=2)
    exact = noise_sum(noise, 500).log_mass
    reach = len(exact) // 2

    approximate = noise_sums._laplace_saddlepoint(2.0, 500, np.arange(-reach, reach + 1))

    assert np.abs(np.exp(exact) - np.exp(approximate)).sum() < 1e-3


def test_a_sum_too_wide_to_tabulate_is_refused() -> None:
    with pytest.raises(EstimationRefused, match="adds up to more"):
        noise_sum(DiscreteLaplaceNoise(scale=9_000), 512)
