"""Adverse outcomes: relative risk and odds from the draws of the favourable rates, and the verdict on both."""

import math
from dataclasses import replace

import numpy as np
import pytest

from auditor_client.asking.interventions import of_intervention
from auditor_client.asking.request import ADVERSE, PARITY, AuditRequest
from auditor_client.errors import QuestionRefused
from auditor_client.estimation.estimates import Estimate, Verdict
from auditor_client.estimation.measurements import Measurement, NoisyCounts
from auditor_client.estimation.posterior import estimate_parity
from auditor_client.estimation.results import ParityEstimate, RatioKind
from auditor_client.findings.verdicts import combined_verdict
from shared.contract.metadata import ColumnWords, DatasetMetadata
from shared.privacy.noise import DiscreteLaplaceNoise
from testing.registers import LOANS

GROUPS = (("dutch",), ("european",), ("other",))
SELECTED = np.array([1050, 120, 2010])
STUDENTS = np.array([178200, 15630, 54820])
"""Students selected for control, as Statistics Netherlands published them, rounded to ten."""


def counted(scale: float, kind: RatioKind, seed: int = 1) -> Measurement:
    """The published counts with noise of a scale."""
    rng = np.random.default_rng(seed)
    noise = DiscreteLaplaceNoise(scale=scale)
    parts = ((part + np.rint(rng.laplace(0, scale, 3)).astype(int))[None] for part in (STUDENTS - SELECTED, SELECTED))
    favourable, adverse = (NoisyCounts(part, noise) for part in parts)
    return Measurement(GROUPS, favourable, adverse, "unfavourable", ratio_kind=kind)


def estimated(kind: RatioKind, scale: float = 1.0) -> ParityEstimate:
    """What the published counts say with little noise, against students of Dutch origin."""
    return estimate_parity(counted(scale, kind), reference=GROUPS[0])


def test_the_adverse_ratio_is_how_many_times_as_often() -> None:
    adverse = estimated(RatioKind.HIGHEST)
    truth = (SELECTED / STUDENTS).max() / (SELECTED / STUDENTS).min()
    assert adverse.ratio.low <= truth <= adverse.ratio.high
    assert adverse.ratio.value == pytest.approx(6.22, abs=0.1)
    assert adverse.extremes is not None
    assert [end.group for end in adverse.extremes] == [("dutch",), ("other",)], "the highest rate bears the burden"
    of_others = {one.group: one.ratio.value for one in adverse.comparisons}
    assert of_others[("other",)] == pytest.approx(6.22, abs=0.1)
    assert of_others[("european",)] == pytest.approx(1.30, abs=0.1)


def test_both_outcomes_come_from_the_same_draws() -> None:
    favourable, adverse = estimated(RatioKind.LOWEST), estimated(RatioKind.HIGHEST)
    assert favourable.difference.value == pytest.approx(adverse.difference.value, abs=1e-9)
    for one, other in zip(favourable.groups, adverse.groups, strict=True):
        assert one.rate.low == pytest.approx(1 - other.rate.high, abs=2e-6)
        assert one.accepted.value + other.accepted.value == pytest.approx(other.size.value, abs=3)
        assert one.population_rate is not None
        assert other.population_rate is not None
        assert one.population_rate.high == pytest.approx(1 - other.population_rate.low, abs=1e-5)


def test_the_favourable_ratio_meets_what_the_adverse_one_fails() -> None:
    assert estimated(RatioKind.LOWEST).verdict is Verdict.MEETS
    assert estimated(RatioKind.HIGHEST).verdict is Verdict.FAILS
    assert estimated(RatioKind.HIGHEST).population_verdict is Verdict.FAILS


def test_an_odds_ratio_is_a_cross_product() -> None:
    odds = SELECTED / (STUDENTS - SELECTED)
    ratio = estimated(RatioKind.ODDS).ratio
    assert ratio.low <= odds.max() / odds.min() <= ratio.high
    assert ratio.value > estimated(RatioKind.HIGHEST).ratio.value


def test_where_perhaps_nobody_has_it_there_is_no_upper_end_and_no_number() -> None:
    ratio = estimate_parity(counted(200.0, RatioKind.HIGHEST)).ratio
    assert math.isinf(ratio.high)
    assert not ratio.known
    assert "∞" in str(ratio)
    assert "unknown" in str(ratio)


def test_a_reciprocal_turns_its_ends() -> None:
    turned = Estimate(0.5, 0.0, 0.8, 0.95, "posterior").reciprocal()
    assert (turned.value, turned.low, turned.high) == (2.0, 1.25, math.inf)


def parity(kind: RatioKind, low: float, high: float, overall: float, threshold: float = 0.8) -> ParityEstimate:
    """Figures of some interval, with a rate over all groups."""
    figure = Estimate((low + high) / 2, low, high, 0.95, "posterior")
    rate = replace(figure, value=overall, low=overall, high=overall)
    ratio = figure if math.isfinite(high) else replace(figure, value=low * 2)
    return ParityEstimate(groups=(), ratio=ratio, difference=rate, threshold=threshold, overall=rate, ratio_kind=kind)


@pytest.mark.parametrize(
    ("favourable", "adverse", "share", "verdict"),
    [
        ((0.96, 0.97), (5.8, 6.7), 0.98, Verdict.DEPENDS),  # hardly anybody is controlled
        ((0.4, 0.6), (1.01, 1.03), 0.02, Verdict.DEPENDS),  # hardly anybody is hired
        ((0.9, 0.95), (1.05, 1.1), 0.5, Verdict.MEETS),
        ((0.3, 0.6), (1.5, 2.0), 0.5, Verdict.FAILS),
        ((0.3, 0.9), (1.1, 2.0), 0.5, Verdict.UNDECIDED),
        ((0.9, 0.95), (1.1, math.inf), 0.5, Verdict.DEPENDS),
        ((0.3, 0.7), (2.0, 3.0), 0.95, Verdict.FAILS),
    ],
)
def test_without_a_kind_of_decision_both_have_to_agree(
    favourable: tuple[float, float], adverse: tuple[float, float], share: float, verdict: Verdict
) -> None:
    both = [
        (PARITY, parity(RatioKind.LOWEST, *favourable, share)),
        (ADVERSE, parity(RatioKind.HIGHEST, *adverse, 1 - share)),
    ]
    assert combined_verdict(both) is verdict
    assert combined_verdict(both[::-1]) is verdict


def test_a_lenient_threshold_passes_over_no_burden() -> None:
    both = [
        (PARITY, parity(RatioKind.LOWEST, 0.96, 0.97, 0.98, threshold=0.5)),
        (ADVERSE, parity(RatioKind.HIGHEST, 1.6, 1.8, 0.02, threshold=0.5)),
    ]
    assert both[1][1].verdict is Verdict.MEETS
    assert combined_verdict(both) is Verdict.DEPENDS


def test_a_punitive_decision_begins_with_the_adverse_ratio() -> None:
    dataset = LOANS
    asked = AuditRequest(sensitive=("sex",), epsilon="1")
    assert of_intervention(asked, dataset).metrics == (PARITY,)
    assert of_intervention(asked.changed(intervention="assistive"), dataset).metrics == (PARITY,)
    assert of_intervention(asked.changed(intervention="punitive"), dataset).metrics == (ADVERSE,)
    both = asked.changed(intervention="punitive", metrics=("adverse-ratio", PARITY))
    assert of_intervention(both, dataset).metrics == both.metrics, "what was asked for stays"


def test_a_column_of_decisions_declares_its_kind() -> None:
    dataset = LOANS
    column = dataset.columns[0].name
    declared = DatasetMetadata(columns={column: ColumnWords(intervention="punitive")})
    with_kind = dataset.model_copy(update={"metadata": declared})
    asked = AuditRequest(sensitive=("sex",), epsilon="1", decision=column)
    settled = of_intervention(asked, with_kind)
    assert (settled.intervention, settled.metrics) == ("punitive", (ADVERSE,))
    assert of_intervention(asked.changed(intervention="assistive"), with_kind).metrics == (PARITY,)
    assert of_intervention(asked.changed(decision=None), with_kind).intervention is None


@pytest.mark.parametrize(
    ("metric", "intervention"), [("false-positive-rate", "assistive"), ("false-omission-rate", "punitive")]
)
def test_errors_of_the_other_kind_of_decision_are_refused(metric: str, intervention: str) -> None:
    asked = AuditRequest(sensitive=("sex",), epsilon="1", metrics=(metric,)).changed(intervention=intervention)
    with pytest.raises(QuestionRefused, match=f"this decision is {intervention}"):
        of_intervention(asked, LOANS)
