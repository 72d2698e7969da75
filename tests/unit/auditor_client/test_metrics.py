"""Figures beyond one parity: equalized odds, the reference group, the population, and the names."""

import itertools
import math

import numpy as np
import pytest

from auditor_client.errors import EstimationRefused
from auditor_client.estimation.drawing import EDITIONS, LATEST, Drawing, Edition
from auditor_client.estimation.estimates import Verdict
from auditor_client.estimation.odds import estimate_equalized_odds
from auditor_client.estimation.posterior import Posterior, estimate_parity
from shared.privacy.noise import Noise
from testing.invented.measurements import EXPONENTIAL, GAUSSIAN, LAPLACE, REPORTS, measured

FAIR = measured([[500, 700]], [[500, 700]])
UNFAIR = measured([[200, 900]], [[800, 300]])


def test_equalized_odds_take_the_worse_of_both_comparisons() -> None:
    odds = estimate_equalized_odds(FAIR, UNFAIR)

    assert odds.ratio.value == pytest.approx(odds.false_positive.ratio.value, abs=0.003)
    assert odds.ratio.low == pytest.approx(odds.false_positive.ratio.low, abs=0.01)
    assert odds.difference.value == pytest.approx(odds.false_positive.difference.value, abs=0.003)
    assert odds.verdict is Verdict.FAILS
    assert odds.true_positive.verdict is Verdict.MEETS


def test_without_a_threshold_there_is_no_verdict() -> None:
    alone, odds = estimate_parity(UNFAIR, threshold=None), estimate_equalized_odds(FAIR, UNFAIR, threshold=None)

    assert (alone.verdict, alone.population_verdict, odds.verdict) == (Verdict.NONE,) * 3
    assert alone.ratio == estimate_parity(UNFAIR).ratio
    assert estimate_parity(UNFAIR).population_verdict is Verdict.FAILS


def test_equalized_odds_do_not_depend_on_which_label_comes_first() -> None:
    one, other = estimate_equalized_odds(FAIR, UNFAIR), estimate_equalized_odds(UNFAIR, FAIR)

    assert one.ratio.value == pytest.approx(other.ratio.value, abs=0.005)
    assert one.difference.high == pytest.approx(other.difference.high, abs=0.01)


def test_two_comparisons_as_unfair_are_worse_than_either() -> None:
    """The smaller of two noisy ratios: its interval is no wider than one alone reaches down, nor as high."""
    alone = estimate_parity(UNFAIR)
    odds = estimate_equalized_odds(UNFAIR, UNFAIR)

    assert odds.ratio.value < alone.ratio.value
    assert odds.ratio.low == pytest.approx(alone.ratio.low, abs=0.01)
    assert odds.ratio.high <= alone.ratio.high + 0.01


@pytest.mark.parametrize(("edition", "apart"), [(EDITIONS[LATEST], False), (EDITIONS[1], True)])
def test_the_two_labels_are_drawn_independently(edition: Edition, apart: bool) -> None:
    """Of 4 096 independent draws a correlation of .1 is beyond six deviations. The first edition is the control."""
    draws = [Posterior.of(FAIR, 0.95, Drawing(seed=seed, edition=edition)).rates[0].rates for seed in range(8)]
    correlations = [
        abs(np.corrcoef(one[k], other[k])[0, 1])
        for one, other in itertools.combinations(draws, 2)
        for k in range(len(FAIR.groups))
    ]

    assert bool(max(correlations) > 0.1) == apart


def test_equalized_odds_of_different_groups_are_refused() -> None:
    with pytest.raises(EstimationRefused, match="different groups"):
        estimate_equalized_odds(FAIR, measured([[1, 2, 3]], [[1, 2, 3]]))


def test_a_label_that_nobody_is_accepted_with_leaves_the_other_to_decide_and_says_so() -> None:
    nobody = measured([[0, 0]], [[500, 600]], LAPLACE.model_copy(update={"scale": 0.1}))

    odds = estimate_equalized_odds(UNFAIR, nobody)

    assert not odds.false_positive.ratio.defined
    assert odds.ratio.value == pytest.approx(odds.true_positive.ratio.value, abs=0.005)
    assert any("without the label" in warning and "undefined" in warning for warning in odds.warnings)


def test_results_offer_what_fairlearn_calls_by_group_and_overall() -> None:
    parity = estimate_parity(UNFAIR)

    assert parity.by_group[("group 1",)].value == pytest.approx(0.75, abs=0.02)
    assert parity.overall is not None
    assert parity.overall.value == pytest.approx(0.5, abs=0.02)
    odds = estimate_equalized_odds(FAIR, UNFAIR)
    assert odds.by_group[("group 0",)][1] == odds.false_positive.groups[0].rate
    assert odds.overall == (odds.true_positive.overall, odds.false_positive.overall)


def test_the_population_is_less_certain_than_the_people_in_the_data() -> None:
    """Hundreds of people at a rate of a half: their own deviation of 1.6 points outweighs the noise's."""
    parity = estimate_parity(measured([[500, 700]], [[500, 700]], LAPLACE.model_copy(update={"scale": 1})))

    assert parity.population_ratio is not None
    assert parity.population_difference is not None
    population_rate = parity.groups[0].population_rate
    assert population_rate is not None
    assert population_rate.width == pytest.approx(4 * math.sqrt(0.25 / 1000), rel=0.1)
    assert parity.groups[0].rate.width < 0.2 * population_rate.width
    assert parity.population_ratio.low < parity.ratio.low
    assert parity.population_difference.high > parity.difference.high


def test_every_group_is_compared_with_the_reference() -> None:
    measurement = measured([[200, 900, 500]], [[800, 300, 500]])

    parity = estimate_parity(measurement, reference=("group 2",))

    lower, higher = parity.comparisons
    assert parity.reference == ("group 2",)
    assert (lower.group, higher.group) == (("group 0",), ("group 1",))
    assert (lower.ratio.value, higher.ratio.value) == pytest.approx((0.4, 1.5), abs=0.03)
    assert (lower.difference.value, higher.difference.value) == pytest.approx((-0.3, 0.25), abs=0.02)
    assert lower.ratio.low < 0.4 < lower.ratio.high


def test_a_reference_of_whom_perhaps_nobody_is_accepted_bounds_no_ratio_above() -> None:
    parity = estimate_parity(measured([[4, 900]], [[300, 300]]), reference=("group 0",))

    assert parity.comparisons[0].ratio.high == math.inf
    assert parity.comparisons[0].difference.high < 0.8


def test_a_ratio_of_two_rates_near_zero_is_said_to_be_left_open() -> None:
    parity = estimate_parity(measured([[12, 8]], [[1_000, 1_000]]))

    assert parity.ratio.width > 0.5
    assert parity.groups[0].rate.width < 0.05
    assert any("do not show the ratio" in warning for warning in parity.warnings)


def test_an_unknown_reference_is_refused() -> None:
    with pytest.raises(EstimationRefused, match="does not have the group 'group 7'"):
        estimate_parity(FAIR, reference=("group 7",))


@pytest.mark.parametrize("noise", [LAPLACE, GAUSSIAN, EXPONENTIAL, REPORTS])
def test_both_kinds_of_figure_are_estimated_with_every_mechanism(noise: Noise) -> None:
    measurement = measured([[300, 900]], [[700, 300]], noise)

    for found in (estimate_parity(measurement), estimate_equalized_odds(measurement, measurement)):
        assert 0 <= found.ratio.low <= found.ratio.value <= found.ratio.high <= 1
        assert found.verdict is Verdict.FAILS
