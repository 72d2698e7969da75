"""The posterior estimator: against brute force, at its boundaries, and on answers that say little."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from auditor_client.errors import EstimationRefused
from auditor_client.estimation.drawing import EDITIONS, Drawing
from auditor_client.estimation.draws import pooled_rates, posterior_draws
from auditor_client.estimation.estimates import Verdict
from auditor_client.estimation.intervals import RateDraws, worst_parity
from auditor_client.estimation.likelihoods import AdditiveAnswers
from auditor_client.estimation.measurements import ComplementKind, Measurement
from auditor_client.estimation.noise_sums import FloatArray
from auditor_client.estimation.posterior import estimate_parity, totals_of
from auditor_client.estimation.priors import FlatPrior, PooledPrior
from auditor_client.estimation.results import ParityEstimate
from auditor_client.estimation.totals import CountedTotals
from shared.privacy.noise import DiscreteLaplaceNoise
from testing.invented import measurements as invented_measurements


def measured(
    favourable: list[list[int]], complement: list[list[int]], scale: float, kind: ComplementKind = "unfavourable"
) -> Measurement:
    return invented_measurements.measured(favourable, complement, DiscreteLaplaceNoise(scale=scale), kind)


def counted_totals(measurement: Measurement) -> CountedTotals:
    """The totals of a measurement with additive noise."""
    totals = totals_of(measurement)
    assert isinstance(totals, CountedTotals)
    return totals


def spread(total: list[int], cells: int) -> list[list[int]]:
    """A histogram in several cells."""
    return [total, *([[0] * len(total)] * (cells - 1))]


def brute_force_rates(
    totals: CountedTotals, k: int, people_max: int
) -> tuple[tuple[FloatArray, FloatArray], tuple[FloatArray, FloatArray]]:
    """One group's possible rates in order and their posterior mass, by enumeration; flat prior, pooled prior."""
    people = np.arange(people_max)
    accepted, refused = (counts.ravel() for counts in np.meshgrid(people, people, indexing="ij"))
    shown = accepted + refused if totals.complement_is == "everybody" else refused
    likelihood: FloatArray = np.zeros(len(accepted))
    for part, counts in ((totals.accepted, accepted), (totals.complement, shown)):
        assert isinstance(part, AdditiveAnswers)
        likelihood = likelihood + part.noise.log_mass[part.noise.index(part.answers[0, k] - counts)]
    found = []
    for prior in (FlatPrior(), PooledPrior(pooled_rates(totals))):
        mass = np.exp(likelihood + prior(accepted[None, None], refused[None, None])[0, 0])
        some = accepted + refused > 0
        rates = accepted[some] / (accepted + refused)[some]
        order = np.argsort(rates)
        found.append((rates[order], mass[some][order] / mass[some].sum()))
    return found[0], found[1]


def test_the_refused_carry_the_noise_of_all_that_they_are_computed_from() -> None:
    from_everybody = counted_totals(measured(spread([40, 10], 3), [[60, 100]], 5.0, "everybody"))
    counted = counted_totals(measured(spread([40, 10], 3), [[20, 90]], 5.0))

    assert from_everybody.refused.estimate.tolist() == counted.refused.estimate.tolist() == [[20, 90]]
    assert from_everybody.refused.deviation == pytest.approx(2 * counted.refused.deviation)


@pytest.mark.parametrize(
    ("accepted", "complement", "scale", "cells", "people_max"),
    [
        ([12, 60], [5, 40], 5.0, 1, 130),
        ([-9, 30], [14, -6], 5.0, 1, 130),
        ([22, 3], [-14, 40], 5.0, 1, 130),
        ([1, 2], [0, 3], 0.3, 1, 20),
        ([40, 10], [20, 90], 5.0, 3, 180),
        ([12, 60], [5, 110], 5.0, 3, 180),
    ],
)
def test_draws_agree_with_enumerating_all_true_counts(
    accepted: list[int], complement: list[int], scale: float, cells: int, people_max: int
) -> None:
    """Under either prior quantiles of each group's rate are within 0.015 of their level, also if answers conflict."""
    kind: ComplementKind = "unfavourable" if cells == 1 else "everybody"
    totals = counted_totals(measured(spread(accepted, cells), [complement], scale, kind))

    of_priors = posterior_draws(totals, Drawing(seed=1))

    for k in range(2):
        for draws, (rates, mass) in zip(of_priors, brute_force_rates(totals, k, people_max), strict=True):
            cumulated = np.append(0.0, np.cumsum(mass))
            for level in (0.025, 0.25, 0.5, 0.75, 0.975):
                quantile = np.nanquantile(draws.rates()[0, k], level, method="inverted_cdf")
                below, above = (cumulated[np.searchsorted(rates, quantile, side)] for side in ("left", "right"))
                assert below - 0.015 <= level <= above + 0.015


def test_the_ratios_interval_agrees_with_enumeration_where_one_pair_is_extreme() -> None:
    """Two groups far apart: the interval's ends are the quantiles of p_1 / p_2, in the hull of both priors."""
    measurement = measured([[40, 300]], [[160, 120]], 6.0)
    rng = np.random.default_rng(3)
    totals = counted_totals(measurement)
    low, high = [], []
    for first, second in zip(brute_force_rates(totals, 0, 260), brute_force_rates(totals, 1, 420), strict=True):
        ratios = rng.choice(first[0], 200_000, p=first[1]) / rng.choice(second[0], 200_000, p=second[1])
        low.append(np.quantile(ratios, 0.025))
        high.append(np.quantile(ratios, 0.975))

    ratio = estimate_parity(measurement, drawing=Drawing(edition=EDITIONS[1])).ratio

    assert ratio.low == pytest.approx(min(low), abs=0.004)
    assert ratio.high == pytest.approx(max(high), abs=0.004)
    assert ratio.against(0.8) is Verdict.FAILS


def test_the_same_seed_gives_the_same_figures_and_another_seed_nearly() -> None:
    measurement = measured([[40, 300]], [[160, 120]], 6.0)

    first, again, other = (estimate_parity(measurement, drawing=Drawing(seed=seed)) for seed in (4, 4, 5))

    assert first == again
    assert other.ratio.value == pytest.approx(first.ratio.value, abs=0.005)
    assert other.ratio.value != first.ratio.value


def test_large_groups_are_estimated_as_the_answers_have_them() -> None:
    parity = estimate_parity(measured([[4_000, 9_000]], [[6_000, 1_000]], 2.0))

    assert parity.ratio.value == pytest.approx(4 / 9, abs=0.001)
    assert parity.difference.value == pytest.approx(0.5, abs=0.001)
    assert parity.groups[1].size.value == pytest.approx(10_000, abs=3)
    assert parity.ratio.width < 0.003
    assert parity.warnings == ()


def test_more_noise_makes_wider_intervals() -> None:
    """`replace` doubles the noise scale and changes nothing else."""
    widths = [estimate_parity(measured([[400, 900]], [[600, 100]], scale)).ratio.width for scale in (5.0, 10.0, 20.0)]

    assert widths == sorted(widths)
    assert widths[1] == pytest.approx(2 * widths[0], rel=0.2)


def test_groups_that_tie_leave_parity_itself_possible() -> None:
    parity = estimate_parity(measured([[500, 503, 498, 501]], [[500, 498, 501, 499]], 5.0))

    assert parity.ratio.high == 1
    assert parity.difference.low == 0
    assert parity.verdict is Verdict.MEETS


def test_a_group_of_whom_nobody_may_be_accepted_reaches_zero() -> None:
    """Noise of scale 10 reaches 25 in 4 % of answers, so nobody accepted is not rejected, though few draws have it."""
    parity = estimate_parity(measured([[25, 900]], [[300, 100]], 10.0))

    assert parity.groups[0].rate.low == 0
    assert parity.groups[0].accepted.low == 0
    assert parity.ratio.low == 0
    assert parity.ratio.high < 0.3


def test_a_group_of_whom_nobody_may_be_refused_reaches_one() -> None:
    parity = estimate_parity(measured([[300, 100]], [[25, 900]], 10.0))

    assert parity.groups[0].rate.high == 1
    assert parity.groups[0].rate.low > 0.5


def test_a_boundary_that_the_answers_reject_is_not_reached() -> None:
    parity = estimate_parity(measured([[60, 900]], [[300, 100]], 10.0))

    assert parity.groups[0].rate.low > 0
    assert parity.ratio.low > 0


def test_an_empty_group_has_no_rate_and_no_part_in_the_ratio() -> None:
    parity = estimate_parity(measured([[0, 400, 900]], [[0, 600, 100]], 0.1))

    assert not parity.groups[0].rate.defined
    assert math.isnan(parity.groups[0].rate.low)
    assert parity.groups[0].size.value == 0
    assert parity.ratio.value == pytest.approx(4 / 9, abs=0.01)
    assert any("group 0" in warning and "does not have a rate" in warning for warning in parity.warnings)


def test_groups_that_are_empty_in_most_draws_leave_figures_possible() -> None:
    """Each of many groups is probably empty, and yet most draws have somebody to compare."""
    check(estimate_parity(measured([[-2] * 12], [[-2] * 12], 0.6)))


def test_one_group_with_people_is_nothing_to_compare() -> None:
    parity = estimate_parity(measured([[0, 400]], [[0, 600]], 0.1))

    assert parity.ratio.value == 1
    assert any("nothing to compare" in warning for warning in parity.warnings)


def test_nobody_accepted_leaves_the_ratio_undefined_and_says_so() -> None:
    parity = estimate_parity(measured([[0, 0]], [[400, 600]], 0.1))

    assert not parity.ratio.defined
    assert math.isnan(parity.ratio.high)
    assert parity.verdict is Verdict.UNDECIDED
    assert parity.difference.value == 0
    assert any("undefined" in warning for warning in parity.warnings)


def test_a_group_lost_in_the_noise_is_undecided_and_says_that_the_data_do_not_decide() -> None:
    parity = estimate_parity(measured([[3, 3_000]], [[9, 2_000]], 20.0))

    assert parity.verdict is Verdict.UNDECIDED
    assert parity.ratio.width > 0.9
    assert any("group 0" in warning and "do not show" in warning for warning in parity.warnings)
    assert not any("group 1" in warning for warning in parity.warnings)


@pytest.mark.parametrize(
    ("kind", "cells", "scale"), [("unfavourable", 1, 2000.0), ("everybody", 64, 2000.0), ("everybody", 3, 0.1)]
)
def test_any_scale_and_number_of_cells_gives_finite_figures(kind: ComplementKind, cells: int, scale: float) -> None:
    parity = estimate_parity(measured(spread([-3_000, 9_000], cells), [[100, 40_000]], scale, kind))

    assert 0 <= parity.ratio.low <= parity.ratio.value <= parity.ratio.high <= 1


@pytest.mark.slow
def test_two_hundred_groups_are_estimated_together() -> None:
    accepted = [5 * k for k in range(200)]

    parity = estimate_parity(measured([accepted], [[10 * k - a for k, a in enumerate(accepted)]], 1.0))

    assert len(parity.groups) == 200
    assert 0 <= parity.ratio.low <= parity.ratio.high <= 1


def test_many_groups_that_tie_keep_the_value_inside_the_interval() -> None:
    parity = estimate_parity(measured([[500] * 40], [[500] * 40], 5.0))

    assert parity.ratio.low <= parity.ratio.value < parity.ratio.high == 1
    assert parity.difference.low == 0


@pytest.mark.parametrize("scale", [0.001, 1e300])
def test_noise_that_no_epsilon_gives_is_refused(scale: float) -> None:
    with pytest.raises(EstimationRefused, match="No epsilon"):
        estimate_parity(measured([[1, 2]], [[3, 4]], scale))


COUNTS = st.lists(st.integers(-300, 2_000), min_size=2, max_size=5)


def check(parity: ParityEstimate) -> None:
    """What holds of all figures, whatever was answered."""
    for figure in (parity.ratio, parity.difference, *(group.rate for group in parity.groups)):
        if figure.defined:
            assert 0 <= figure.low <= figure.value <= figure.high <= 1
        else:
            assert math.isnan(figure.low)
            assert math.isnan(figure.high)
    for group in parity.groups:
        assert 0 <= group.accepted.low <= group.accepted.value <= group.accepted.high
        assert 0 <= group.size.low <= group.size.value <= group.size.high


@pytest.mark.slow
@settings(max_examples=30, deadline=None)
@given(accepted=COUNTS, refused=COUNTS, scale=st.sampled_from([0.1, 1.0, 10.0, 50.0]), everybody=st.booleans())
def test_figures_are_possible_and_inside_their_intervals(
    accepted: list[int], refused: list[int], scale: float, everybody: bool
) -> None:
    groups = min(len(accepted), len(refused))
    kind: ComplementKind = "everybody" if everybody else "unfavourable"

    check(estimate_parity(measured([accepted[:groups]], [refused[:groups]], scale, kind)))


def test_a_rate_next_to_zero_makes_no_ratio_overflow() -> None:
    """As a population's rate is drawn where hardly anybody was seen; a warning fails the test."""
    rates = np.array([[0.5, 0.5, 0.5, 1e-310], [0.5, 0.5, 0.5, 0.5]])
    draws = RateDraws(rates, rates, rates)

    ratio, difference = worst_parity([draws], 0.95)
    (_, of_first), _ = draws.against(0, 0.95)

    assert 0 <= ratio.low <= ratio.value <= ratio.high <= 1
    assert difference.high == 0.5
    assert of_first.high == math.inf


@pytest.mark.parametrize(
    ("threshold", "level"), [(0.0, 0.95), (1.1, 0.95), (math.nan, 0.95), (0.8, 1.0), (0.8, math.nan)]
)
def test_impossible_thresholds_and_levels_are_refused(threshold: float, level: float) -> None:
    with pytest.raises(ValueError, match="threshold"):
        estimate_parity(measured([[1, 2]], [[3, 4]], 1.0), threshold=threshold, level=level)


def test_a_single_group_is_nothing_to_estimate() -> None:
    with pytest.raises(EstimationRefused, match="at least two"):
        replace(measured([[1, 2]], [[3, 4]], 1.0), groups=(("group 0",),))
