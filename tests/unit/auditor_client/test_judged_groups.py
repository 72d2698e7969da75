"""Groups that are large enough: the rule, the choice from noisy counts, and what the figures are then about."""

import math

import numpy as np
import pytest

from auditor_client.errors import EstimationRefused, QuestionRefused
from auditor_client.estimation.drawing import EDITIONS, LATEST, Drawing
from auditor_client.estimation.estimates import Verdict
from auditor_client.estimation.impact import impact_ratios
from auditor_client.estimation.judged_groups import judged_groups
from auditor_client.estimation.measurements import Measurement
from auditor_client.estimation.odds import estimate_equalized_odds
from auditor_client.estimation.posterior import estimate_parity, totals_of
from auditor_client.estimation.size_rule import TWO_PERCENT, SizeRule
from auditor_client.findings.reading import Reading
from shared.privacy.noise import Noise
from testing.invented.measurements import EXPONENTIAL, GAUSSIAN, LAPLACE, REPORTS, measured

THIRTY = SizeRule.of("30")
WITH_A_TINY_GROUP = measured([[500, 1, 480]], [[500, 1, 520]])


def judged(measurement: Measurement, rule: SizeRule | None, level: float = 0.95) -> tuple[int, ...]:
    """The groups of one measurement that are judged."""
    (groups,) = judged_groups([totals_of(measurement)], rule, level)
    return groups


@pytest.mark.parametrize("text", ["0", "-3", "30.5", "0%", "100%", "2 per cent", "", "1e3", "%"])
def test_what_is_no_least_size_is_refused(text: str) -> None:
    with pytest.raises(EstimationRefused, match="least size"):
        SizeRule.of(text)


@pytest.mark.parametrize(("given", "kept"), [(30, "30"), ("030", "30"), ("2 %", "2%"), ("2.50%", "2.5%"), (None, None)])
def test_a_reading_keeps_one_spelling_of_a_rule(given: object, kept: str | None) -> None:
    assert Reading.model_validate({"judged": given}).judged == kept


def test_a_reading_without_a_rule_is_written_as_ever() -> None:
    assert "judged" not in Reading().model_dump()


def test_the_published_procedure_judges_all_groups() -> None:
    with pytest.raises(QuestionRefused, match="posterior"):
        Reading(estimator="plug-in", judged="30")


def test_true_sizes_meet_a_rule_exactly() -> None:
    assert THIRTY.met([30, 29, 31]) == (0, 2)
    assert TWO_PERCENT.met([20, 980, 19]) == (1,)  # 2 % of 1 019 people are 20.38
    assert TWO_PERCENT.met([20, 980]) == (0, 1)


@pytest.mark.parametrize("noise", [LAPLACE, GAUSSIAN, EXPONENTIAL, REPORTS], ids=lambda noise: type(noise).__name__)
def test_a_group_is_judged_if_it_is_shown_to_be_large_enough(noise: Noise) -> None:
    measurement = measured([[2_000, 3, 1_900]], [[2_000, 3, 2_100]], noise)

    assert judged(measurement, SizeRule.of("700")) == (0, 2)


def test_a_group_that_noise_may_have_made_as_large_is_not_judged() -> None:
    """Its answer is above the cut, but by less than noise reaches."""
    noise = LAPLACE.model_copy(update={"scale": 10.0})

    assert judged(measured([[500, 20, 500]], [[500, 20, 500]], noise), THIRTY) == (0, 2)
    assert judged(measured([[500, 80, 500]], [[500, 80, 500]], noise), THIRTY) == (0, 1, 2)


def test_intervals_that_hold_together_are_about_the_groups_of_a_single_one() -> None:
    """Their level is found for those groups; in the first edition a higher level left out more."""
    noise = LAPLACE.model_copy(update={"scale": 10.0})
    measurement = measured([[500, 60, 500]], [[500, 60, 500]], noise)

    left_out = {
        edition: estimate_parity(measurement, level=0.9999, rule=THIRTY, drawing=Drawing(edition=of_this)).left_out
        for edition, of_this in EDITIONS.items()
    }

    assert judged(measurement, THIRTY) == (0, 1, 2)
    assert (len(left_out[1]), left_out[LATEST]) == (1, ())


def test_with_more_groups_or_at_a_higher_level_more_has_to_be_shown() -> None:
    noise = LAPLACE.model_copy(update={"scale": 10.0})
    few, many = (measured([[500, 44] + [500] * more], [[500, 44] + [500] * more], noise) for more in (0, 14))

    assert judged(few, THIRTY) == (0, 1)
    assert 1 not in judged(many, THIRTY)
    assert judged(few, THIRTY, level=0.999) == (0,)


def test_no_smaller_group_is_let_in_more_often_than_stated() -> None:
    """Sixteen groups right below the cut, 2 000 releases: 2.5 % at most have one, which 87 exceed once in a million."""
    rng = np.random.default_rng(2)
    noise = LAPLACE.model_copy(update={"scale": 10.0})
    counts = 15 + np.round(rng.laplace(0, 10, (2, 2_000, 16))).astype(np.int64)
    accepted, refused = counts[0], counts[1] - 1
    totals = [totals_of(measured([one], [other], noise)) for one, other in zip(accepted, refused, strict=True)]

    let_in = sum(bool(judged_groups([of_release], THIRTY, 0.95)[0]) for of_release in totals)
    by_estimate = int(((accepted + refused) >= 30).any(axis=1).sum())

    assert let_in <= 87
    assert by_estimate > 1_900  # the negative control: a choice by the noisy count alone


def test_by_default_figures_are_about_all_groups_and_the_others_stand_beside_them() -> None:
    parity = estimate_parity(WITH_A_TINY_GROUP)

    assert (parity.rule, parity.left_out) == (None, ())
    assert parity.other is not None
    assert (parity.other.rule, parity.other.left_out) == (TWO_PERCENT, (("group 1",),))
    assert (parity.verdict, parity.other.verdict) == (Verdict.UNDECIDED, Verdict.MEETS)


def test_with_a_rule_it_is_the_other_way_round() -> None:
    plain, ruled = estimate_parity(WITH_A_TINY_GROUP), estimate_parity(WITH_A_TINY_GROUP, rule=TWO_PERCENT)

    assert plain.other is not None
    assert ruled.other is not None
    assert (ruled.ratio, ruled.population_ratio) == (plain.other.ratio, plain.other.population_ratio)
    assert (ruled.other.ratio, ruled.other.rule) == (plain.ratio, None)
    assert [group.group for group in ruled.judged] == [("group 0",), ("group 2",)]
    assert [one.group for one in ruled.extremes or ()] == [("group 2",), ("group 0",)]
    assert ruled.groups == plain.groups
    assert not ruled.warnings
    assert plain.warnings


def test_where_all_groups_are_large_enough_there_is_no_other_figure() -> None:
    parity = estimate_parity(measured([[500, 480]], [[500, 520]]), rule=THIRTY)

    assert (parity.other, parity.left_out, parity.rule) == (None, (), THIRTY)


def test_fewer_than_two_groups_have_no_ratio_and_a_sentence() -> None:
    parity = estimate_parity(WITH_A_TINY_GROUP, rule=SizeRule.of("990"))

    assert len(parity.judged) < 2
    assert math.isnan(parity.ratio.value)
    assert parity.verdict is Verdict.UNDECIDED
    assert "Fewer than two groups are shown to have at least 990 people" in parity.warnings[0]


def test_equalized_odds_judge_groups_that_are_large_enough_with_and_without_the_label() -> None:
    positive, negative = measured([[500, 100, 480]], [[500, 100, 520]]), measured([[100, 500, 90]], [[100, 500, 110]])
    few_positive = measured([[500, 5, 480]], [[500, 5, 520]])

    odds = estimate_equalized_odds(few_positive, negative, rule=THIRTY)

    assert odds.left_out == (("group 1",),)
    assert odds.false_positive.left_out == odds.true_positive.left_out == odds.left_out
    assert not estimate_equalized_odds(positive, negative, rule=THIRTY).left_out


def test_impact_ratios_compare_the_groups_that_are_judged() -> None:
    few_and_all_accepted = measured([[500, 6, 480]], [[500, 0, 520]])

    ratios = impact_ratios(few_and_all_accepted, rule=THIRTY)

    assert [one.ratio.defined for one in ratios] == [True, False, True]
    assert ratios[0].ratio.high == 1.0
    assert ratios[1].rate.defined
    assert not any(one.ratio.defined for one in impact_ratios(few_and_all_accepted, rule=SizeRule.of("5000")))
