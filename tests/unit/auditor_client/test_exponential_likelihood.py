"""The likelihood of totals that the exponential mechanism answered, against enumeration."""

import itertools
import math

import numpy as np
import pytest

from auditor_client.estimation.exponential_likelihood import (
    CONCENTRATIONS,
    ExponentialAnswers,
    ExponentialDifference,
    concentration_weights,
)
from auditor_client.estimation.noise_sums import FloatArray
from auditor_client.estimation.posterior import estimate_parity
from shared.privacy.noise import ExponentialNoise
from testing.invented.measurements import measured

NOISE = ExponentialNoise(scale=2.0, upper=30)


def spread(way: tuple[int, ...], concentration: float) -> float:
    """The Dirichlet-multinomial probability that people spread so over cells, given how many they are."""
    cells = math.prod(
        math.gamma(count + concentration) / math.factorial(count) / math.gamma(concentration) for count in way
    )
    total, people = sum(way), concentration * len(way)
    return cells * math.gamma(people) * math.factorial(total) / math.gamma(total + people)


def log_likelihoods(answers: list[int], totals: range) -> FloatArray:
    """The mean likelihood over all ways to spread each total over the cells, by enumeration."""
    found = []
    for total in totals:
        others = [way for way in itertools.product(range(total + 1), repeat=len(answers) - 1) if sum(way) <= total]
        ways = [(*way, total - sum(way)) for way in others]
        found.append(
            sum(
                weight * spread(way, concentration) * math.exp(sum(map(NOISE.log_likelihood, answers, way)))
                for concentration, weight in zip(CONCENTRATIONS, concentration_weights(len(answers)), strict=True)
                for way in ways
            )
        )
    return np.log(found)


@pytest.mark.parametrize("answers", [[0], [7], [29], [0, 0, 0], [3, 0, 9], [12, 1]])
def test_a_totals_likelihood_is_the_mean_over_all_ways_to_spread_it_evenly_or_not(answers: list[int]) -> None:
    totals = range(30)
    table = ExponentialAnswers.of(np.array(answers)[None, :, None], NOISE)

    found = table.log_likelihood(np.array(totals)[None, None, :], np.array([0]))[0, 0]
    expected = log_likelihoods(answers, totals)

    likely = expected > expected.max() - 12
    assert (found - found.max())[likely] == pytest.approx((expected - expected.max())[likely], abs=1e-6)


def test_an_answer_for_nobody_is_as_large_as_the_mechanism_makes_it() -> None:
    table = ExponentialAnswers.of(np.array([4])[None, :, None], NOISE)

    expected = sum(math.exp(NOISE.log_likelihood(answer, 0)) for answer in range(4, 31))

    assert table.tail_probability()[0, 0] == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("accepted", [(0, 0), (1, 0), (5, 2), (11, 12)])
def test_that_nobody_is_refused_is_never_rejected_more_often_than_it_may(accepted: tuple[int, int]) -> None:
    """Everybody less the accepted, all combinations of answers: the bound on their tail is above it."""
    of_count = {
        count: np.exp([NOISE.log_likelihood(answer, count) for answer in range(31)])
        for count in {*accepted, sum(accepted)}
    }
    answers = np.array(list(itertools.product(range(31), repeat=2)))
    both = of_count[accepted[0]][answers[:, 0]] * of_count[accepted[1]][answers[:, 1]]
    sums = np.bincount(answers.sum(axis=1), both)
    less = np.convolve(of_count[sum(accepted)], sums[::-1])  # P(everybody − accepted = index − 60)
    tails = less[::-1].cumsum()[::-1]

    for refused in (1, 4, 9, 15, 22):
        difference = ExponentialDifference(
            everybody=ExponentialAnswers.of(np.array([refused])[None, :, None], NOISE),
            accepted=ExponentialAnswers.of(np.array([0, 0])[None, :, None], NOISE),
        )

        found = difference.tail_probability()[0, 0]

        assert tails[refused + 60] <= found


def test_proposals_reach_the_least_possible_count_and_no_less() -> None:
    table = ExponentialAnswers.of(np.array([4])[None, :, None], NOISE)
    points = (np.arange(1_000) + 0.5) / 1_000

    counts, log_weight = table.propose(np.full((1, 1, 1), 6), np.full((1, 1, 1), 10**6), points)

    assert counts.min() == 6
    assert counts.max() <= 30
    assert np.isfinite(log_weight).all()


def test_many_cells_of_the_exponential_mechanism_give_possible_figures() -> None:
    noise = ExponentialNoise(scale=8.0, upper=20_000)
    cells = [[20 + cell % 7, 50 + cell % 11] for cell in range(100)]

    parity = estimate_parity(measured(cells, [[2_000, 9_000]], noise))

    assert 0 <= parity.ratio.low <= parity.ratio.value <= parity.ratio.high <= 1
    assert parity.groups[1].accepted.value == pytest.approx(5_500, rel=0.05)


def test_sums_of_more_than_fifty_answers_warn() -> None:
    noise = ExponentialNoise(scale=8.0, upper=20_000)
    for cells, warned in ((25, False), (51, True)):
        parity = estimate_parity(measured([[20, 50]] * cells, [[2_000, 9_000]], noise))

        assert any("Ask with the mechanism laplace" in warning for warning in parity.warnings) == warned
