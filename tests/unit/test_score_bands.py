"""Figures of bands: what they are without noise, what they refuse, and that what holds together is wider."""

from dataclasses import replace

import numpy as np
import pytest

from auditor_client.errors import EstimationRefused
from auditor_client.estimation.band_counts import BandCounts
from auditor_client.estimation.drawing import Drawing
from auditor_client.estimation.estimates import Verdict
from auditor_client.estimation.impact import ImpactRatio, impact_ratios
from auditor_client.estimation.measurements import IntArray, Measurement, NoisyCounts
from auditor_client.estimation.score_bands import ScoreEstimator
from auditor_client.estimation.score_levels import level_of_sums
from shared.privacy.noise import DiscreteGaussianNoise, DiscreteLaplaceNoise, ExponentialNoise, Noise
from testing.invented.scores import ScoredRegister

SLIGHT = DiscreteLaplaceNoise(scale=0.02)
"""Its chance of being anything but 0 is e⁻⁵⁰: answers are the true counts."""


def bands_of(register: ScoredRegister, noise: Noise = SLIGHT, *, labelled: bool = True) -> BandCounts:
    if not labelled:
        return BandCounts(register.groups, register.edges, unlabelled=(NoisyCounts(register.everybody, noise),))
    return BandCounts(
        register.groups,
        register.edges,
        positive=(NoisyCounts(register.positive, noise),),
        negative=(NoisyCounts(register.negative, noise),),
    )


@pytest.mark.parametrize("seed", range(3))
def test_without_noise_every_figure_is_that_of_the_people(seed: int) -> None:
    register = ScoredRegister.invented(seed)
    figures = ScoreEstimator(bands_of(register), drawing=Drawing(256)).figures(register.edges[0])

    above = register.shares(register.everybody)
    for edge, parity in enumerate(figures.acceptance.parities):
        assert [group.rate.value for group in parity.groups] == pytest.approx(above[edge], abs=1e-9)
        assert parity.ratio.value == pytest.approx(above[edge].min() / above[edge].max(), abs=1e-9)
    assert figures.true_positive is not None
    assert figures.auc is not None
    of_positive = [[group.rate.value for group in parity.groups] for parity in figures.true_positive.parities]
    assert np.array(of_positive) == pytest.approx(register.shares(register.positive), abs=1e-9)
    assert [auc.value for auc in figures.auc] == pytest.approx(register.auc(), abs=1e-9)
    assert [impact.ratio.value for impact in figures.impact] == pytest.approx(above[0] / above[0].max(), abs=1e-9)
    shares = register.everybody / register.everybody.sum(axis=0)
    distribution = np.array([[share.value for share in group] for group in figures.distribution])
    assert np.abs(distribution.T - shares).max() < 1e-9


def test_thresholds_that_meet_the_rule_are_those_whose_whole_interval_does() -> None:
    register = ScoredRegister.invented(1)
    curve = ScoreEstimator(bands_of(register, labelled=False)).figures().acceptance

    expected = [edge for edge, parity in zip(register.edges, curve.parities, strict=True) if parity.ratio.low >= 0.8]
    assert curve.meeting() == tuple(expected)
    assert all(parity.verdict is not Verdict.UNDECIDED for parity in curve.parities)


def test_the_median_edge_halves_the_people() -> None:
    counts = np.array([[10, 10], [20, 20], [40, 40], [5, 5]])
    bands = BandCounts((("a",), ("b",)), (0.1, 0.2, 0.3), unlabelled=(NoisyCounts(counts, SLIGHT),))

    assert ScoreEstimator(bands).figures().median == 1


@pytest.mark.parametrize("noise", [DiscreteLaplaceNoise(scale=10.0), DiscreteGaussianNoise(scale=10.0)])
def test_figures_that_hold_together_hold_at_a_higher_level_each(noise: Noise) -> None:
    register = ScoredRegister.invented(5)
    bands = bands_of(register, noise, labelled=False)
    bands_count = len(register.edges) + 1
    curve = np.triu(np.ones((bands_count - 1, bands_count), dtype=bool), k=1)

    one = level_of_sums(bands, "everybody", curve[:1], level=0.95)
    same = level_of_sums(bands, "everybody", np.repeat(curve[:1], 5, axis=0), level=0.95)
    all_of_them = level_of_sums(bands, "everybody", curve, level=0.95)
    bonferroni = 1 - 0.05 / len(curve)

    assert one == same
    assert 0.95 <= one < 0.96
    assert one < all_of_them < bonferroni


def test_what_cannot_be_read_is_refused() -> None:
    register = ScoredRegister.invented(2)
    bands = bands_of(register)

    with pytest.raises(EstimationRefused, match="is no edge"):
        ScoreEstimator(bands).figures(123.0)
    with pytest.raises(EstimationRefused, match="Edges ascend"):
        BandCounts(register.groups, register.edges[::-1], unlabelled=(NoisyCounts(register.everybody, SLIGHT),))
    with pytest.raises(EstimationRefused, match="adds noise"):
        bands_of(register, ExponentialNoise(scale=10.0, upper=100_000))
    with pytest.raises(EstimationRefused, match="do not fit"):
        BandCounts(register.groups, register.edges, unlabelled=(NoisyCounts(register.everybody[1:], SLIGHT),))
    with pytest.raises(EstimationRefused, match="both values"):
        BandCounts(register.groups, register.edges, positive=(NoisyCounts(register.positive, SLIGHT),))


def test_auc_of_a_group_that_noise_swallows_is_not_given() -> None:
    counts: IntArray = np.array([[3, 400], [2, 500]])
    noise = DiscreteLaplaceNoise(scale=20.0)
    bands = BandCounts(
        (("few",), ("many",)),
        (0.0,),
        positive=(NoisyCounts(counts, noise),),
        negative=(NoisyCounts(counts[::-1], noise),),
    )

    few, many = ScoreEstimator(bands, drawing=Drawing(512)).figures().auc or ()

    assert not few.defined
    assert (few.low, few.high) == (0.0, 1.0)
    assert many.width < 0.5


def test_where_low_scores_are_favourable_the_rates_are_those_below() -> None:
    register = ScoredRegister.invented(1)
    above, below = (
        ScoreEstimator(replace(bands_of(register, labelled=False), upward=upward), drawing=Drawing(256))
        .figures()
        .acceptance.parities
        for upward in (True, False)
    )

    for one, other in zip(above, below, strict=True):
        rates = [group.rate.value for group in one.groups]
        assert [group.rate.value for group in other.groups] == pytest.approx([1 - rate for rate in rates], abs=1e-9)


def test_impact_ratios_are_rates_over_the_highest_whoever_has_it() -> None:
    groups = (("a",), ("b",), ("c",))

    def ratios(noise: Noise) -> tuple[ImpactRatio, ...]:
        accepted, refused = (NoisyCounts(np.array([part]), noise) for part in ([60, 30, 45], [40, 70, 55]))
        return impact_ratios(Measurement(groups, accepted, refused, "unfavourable"))

    exact, noisy = ratios(SLIGHT), ratios(DiscreteLaplaceNoise(scale=2.0))

    assert [one.ratio.value for one in exact] == pytest.approx([1, 0.5, 0.75], abs=1e-9)
    assert [one.size.value for one in exact] == [100, 100, 100]
    assert noisy[0].ratio.high == 1
    assert noisy[1].ratio.low < 0.5 < noisy[1].ratio.high < 1
