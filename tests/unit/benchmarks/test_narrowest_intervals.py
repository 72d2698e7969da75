"""How narrow an interval can be: the power of the tests, and that no interval that holds its level is narrower."""

import math

import numpy as np
import pytest

from auditor_client.estimation.drawing import LATEST
from auditor_client.estimation.measurements import IntArray
from auditor_client.estimation.noise_sums import FloatArray, discrete_laplace
from benchmarks.accuracy import LEVEL, grid_cases
from benchmarks.narrowest_intervals import SIZE, expected_width, measured, narrowest_width, power
from shared.privacy.noise import DiscreteLaplaceNoise

NOISE = DiscreteLaplaceNoise(scale=4)
DRAWS = 400_000


@pytest.mark.parametrize("shifts", [(3, -4), (0, 9), (-5, -5), (12, 7)], ids=str)
def test_the_power_is_that_of_a_simulated_likelihood_ratio_test(shifts: tuple[int, int]) -> None:
    """Seeded, so it cannot fail by chance; it may be five standard errors off, a false alarm of 6·10⁻⁷ by itself.

    The simulated test's critical value is a quantile of what the hypothesis gives; its error moves the power by the
    likelihood ratio there.
    """
    rng = np.random.default_rng(8)
    noise = discrete_laplace(NOISE.scale, (2, DRAWS, 2), rng)
    hypothesis = np.array(shifts)

    def log_ratio(answers: IntArray) -> FloatArray:
        exact = (NOISE.log_mass(answers) - NOISE.log_mass(answers - hypothesis)).sum(axis=1)
        return np.asarray(exact + 1e-6 * rng.random(DRAWS))  # ties are broken at random

    critical = np.quantile(log_ratio(noise[0] + hypothesis), 1 - SIZE)
    simulated = float((log_ratio(noise[1]) > critical).mean())

    variance = simulated * (1 - simulated) + math.exp(2 * critical) * SIZE * (1 - SIZE)
    assert power(shifts, NOISE) == pytest.approx(simulated, abs=5 * math.sqrt(variance / DRAWS))


def test_the_power_for_one_count_is_that_of_its_tail() -> None:
    """Discrete Laplace noise is −m or less with probability qᵐ/(1 + q), where q = exp(−1/scale)."""
    q, shift, tail = math.exp(-1 / NOISE.scale), 14, 10
    size = q**tail / (1 + q)

    assert power([shift], NOISE, size) == pytest.approx(1 - q ** (shift - tail + 1) / (1 + q), abs=1e-12)
    assert power([-shift], NOISE, size) == power([shift], NOISE, size)


def test_a_hypothesis_that_is_true_is_rejected_as_often_as_allowed() -> None:
    assert power([0, 0], NOISE) == pytest.approx(SIZE)


def test_stretches_count_with_the_end_farther_from_the_truth() -> None:
    ratios, held = np.array([0.9, 0.2, 0.4, 0.5, 0.0]), np.array([0.3, 0.6, 0.55, 0.95, 0.1])

    found = expected_width(ratios, held, 0.5)

    # .4 is held less often than .2, so the stretch is from .2 to .5; the widest is from .5 to .9.
    assert found == pytest.approx(0.1 * 0.2 + 0.6 * 0.3 + 0.3 * 0.4 - SIZE * 0.4)


@pytest.mark.parametrize("seed", range(200))
def test_intervals_that_miss_the_truth_once_in_twenty_are_no_narrower_than_their_bound(seed: int) -> None:
    """Of any twenty intervals one of which misses, ending anywhere and just before a ratio, as is worst."""
    rng = np.random.default_rng(seed)
    ratios = np.sort(rng.random(rng.integers(3, 12)))
    truth = float(rng.choice(ratios))
    ends = np.concatenate([ratios, ratios - 1e-9, ratios + 1e-9, rng.random(5), [truth] * rng.choice([0, 200])])
    drawn = rng.choice(ends, (4000, 2))
    low, high = np.sort(drawn, axis=1).T
    holds = (low <= truth) & (truth <= high)
    chosen = np.concatenate([np.flatnonzero(holds)[:19], np.flatnonzero(~holds)[:1]])
    low, high = low[chosen], high[chosen]
    held = ((low[:, None] <= ratios) & (ratios <= high[:, None])).mean(axis=0)

    assert len(chosen) == 20
    assert (high - low).mean() >= expected_width(ratios, held, truth) - 1e-12


def test_wide_noise_leaves_nearly_all_ratios_that_the_other_groups_allow() -> None:
    """Of three other groups the rates are .46 to .5, so no ratio is above .92 whatever the small group's rate is."""
    two, four = (next(case for case in grid_cases() if case.name == f"grid K={groups} n=12 0.7") for groups in (2, 4))
    noise = DiscreteLaplaceNoise(scale=8)

    assert 0.9 * LEVEL < narrowest_width(two, noise) < LEVEL
    assert 0.9 * 0.92 * LEVEL < narrowest_width(four, noise) < 0.92 * LEVEL


def test_our_intervals_are_no_narrower_than_any_can_be() -> None:
    """Of 1 500 releases the means were 1.40 and 1.68 times the bound, 14 standard errors of 20 and more above it."""
    case = next(case for case in grid_cases() if case.name == "grid K=2 n=60 0.5")

    ours = measured(case, "0.5", 20, (1, LATEST))

    assert min(ours.excesses) > 1


def test_intervals_that_suppose_half_of_the_noise_are_narrower_than_any_may_be() -> None:
    """The negative control: of 1 500 releases 0.68 and 0.76 times the bound, 12 standard errors of 20 below it."""
    case = next(case for case in grid_cases() if case.name == "grid K=2 n=60 0.5")

    too_narrow = measured(case, "0.5", 20, (1, LATEST), DiscreteLaplaceNoise(scale=1))

    assert max(too_narrow.excesses) < 1
