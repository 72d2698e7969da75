"""Joint readings: every interval of a report at one level, and what is not among them; at ε = 1 there is some noise."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from auditor_client.asking.assumption import Assumption
from auditor_client.asking.request import ODDS, OF_DECISIONS, OPPORTUNITY, PARITY
from auditor_client.audits.comparing import compare_results
from auditor_client.audits.result import AuditResult
from auditor_client.errors import EstimationRefused, QuestionRefused
from auditor_client.estimation.attribution import require_joint
from auditor_client.estimation.band_counts import BandCounts
from auditor_client.estimation.drawing import Drawing
from auditor_client.estimation.estimates import Estimate
from auditor_client.estimation.measurements import NoisyCounts
from auditor_client.estimation.posterior import Posterior
from auditor_client.estimation.results import OddsEstimate
from auditor_client.estimation.score_bands import ScoreEstimator
from auditor_client.estimation.simultaneous import DRAWS_MAX
from auditor_client.estimation.together import draws_at, level_of_report, level_together, needed_by
from auditor_client.findings.reading import Reading
from auditor_client.planning.forecasting import _of_each, expectation, forecast, outlook, smallest_epsilon
from auditor_client.report.prose import level_words
from shared.privacy.noise import DiscreteLaplaceNoise
from shared.wire.wording import NARROW_SPACE
from testing.exact_audits import audited
from testing.invented.measurements import measured
from testing.invented.questions import FLIPPED, FOUR_LEAVES, question
from testing.invented.scores import ScoredRegister

pytestmark = pytest.mark.usefixtures("coarse_chances")

JOINT = Reading(joint=True)


@pytest.fixture(scope="module")
def joint() -> AuditResult:
    return audited(epsilon="1", metrics=OF_DECISIONS, reference="Male", reading=JOINT)


@pytest.fixture(scope="module")
def single() -> AuditResult:
    return audited(epsilon="1", metrics=OF_DECISIONS, reference="Male")


def intervals(result: AuditResult) -> list[Estimate]:
    """Those that are to hold together, in one order."""
    found = [share.share for share in result.attribution().shares]
    for estimate in result.estimates.values():
        found += [estimate.ratio, estimate.difference]
        parts = (estimate.true_positive, estimate.false_positive) if isinstance(estimate, OddsEstimate) else (estimate,)
        for part in parts:
            found += [part.ratio, *(group.rate for group in part.groups)]
            found += [group.population_rate for group in part.groups if group.population_rate is not None]
            found += [figure for one in part.comparisons for figure in (one.ratio, one.difference)]
    return found


@pytest.mark.slow
def test_every_interval_of_a_joint_reading_has_one_level_above_the_one_that_was_asked(joint: AuditResult) -> None:
    (level,) = {estimate.level for estimate in intervals(joint)}

    assert 0.99 < level < 1
    assert joint.reading.level == 0.95


@pytest.mark.slow
def test_it_holds_the_interval_by_itself(joint: AuditResult, single: AuditResult) -> None:
    for wide, narrow in zip(intervals(joint), intervals(single), strict=True):
        assert wide.value == pytest.approx(narrow.value, abs=0.1 * narrow.width + 1e-9)
        assert wide.width >= narrow.width * 0.98
    assert joint.ratio.width > 1.1 * single.ratio.width


def test_more_figures_need_a_higher_level() -> None:
    levels = [
        audited(epsilon="1", metrics=metrics, strategy="verdict", reading=JOINT).ratio.level
        for metrics in ((PARITY,), (PARITY, OPPORTUNITY), (PARITY, ODDS))
    ]

    assert levels == sorted(levels)
    assert len(set(levels)) == len(levels)


def test_what_is_not_joint_keeps_the_level_of_one_figure(joint: AuditResult) -> None:
    assert {one.ratio.level for ratios in joint.impact_ratios().values() for one in ratios} == {0.95}
    assert joint.flip(joint.rule_ids[0]).ratio.level == 0.95
    assert joint.attribution(rate="positive").difference.level == 0.95
    assert joint.attribution(("Male", "Female")).difference.level == 0.95


def test_the_report_says_what_holds_together_and_what_does_not(joint: AuditResult, single: AuditResult) -> None:
    page, other = joint.to_html(), single.to_html()

    assert f"joint 95{NARROW_SPACE}% interval" in page
    assert "all joint intervals contain the true figures at once" in page
    assert "Each interval is for one figure" not in page
    assert "Each interval is for one figure" in other
    assert "joint" not in other
    assert f"joint 95{NARROW_SPACE}%" in str(joint.view)


def test_a_joint_reading_is_kept_in_the_note_and_another_is_as_before(joint: AuditResult, single: AuditResult) -> None:
    assert joint.note.model_dump(mode="json")["reading"]["joint"] is True
    assert "joint" not in single.note.model_dump(mode="json")["reading"]
    assert Reading.model_validate(joint.note.reading.model_dump(mode="json")) == JOINT


def test_changes_between_joint_audits_are_said_to_hold_each_by_itself(joint: AuditResult, single: AuditResult) -> None:
    by_themselves = "The intervals of these changes are separate"

    assert by_themselves in compare_results(joint, joint).to_html()
    assert by_themselves not in compare_results(single, single).to_html()


@pytest.mark.slow
def test_changes_between_joint_audits_have_the_level_of_one_figure(joint: AuditResult, single: AuditResult) -> None:
    """They are what they are between audits each of whose intervals holds by itself."""
    asked: dict[str, Any] = {"model": FLIPPED, "epsilon": "1", "metrics": OF_DECISIONS, "reference": "Male"}

    together = compare_results(joint, audited(reading=JOINT, **asked))
    alone = compare_results(single, audited(**asked))

    assert together.change == alone.change
    assert together.change.ratio.level == 0.95


@pytest.mark.slow
def test_changes_have_one_level_also_where_one_joint_audit_leaves_out_more_groups() -> None:
    asked: dict[str, Any] = {"sensitive": ("sex", "origin"), "epsilon": "10", "strategy": "verdict"}
    first, second = (
        audited(model, reading=Reading(joint=True, judged=judged), **asked)
        for model, judged in ((FOUR_LEAVES, "30"), (FLIPPED, "30"))
    )
    of_one = replace(second.first, left_out=(second.question.groups[0],))

    change = compare_results(first, replace(second, estimates={PARITY: of_one})).change

    assert {change.first.ratio.level, change.second.ratio.level, change.ratio.level} == {0.95}
    assert change.first.left_out == change.second.left_out == (second.question.groups[0],)


def test_the_level_of_an_interval_is_never_said_to_be_100_percent(joint: AuditResult) -> None:
    assert level_words(replace(joint.ratio, level=0.9996)) == f"99.96{NARROW_SPACE}%"
    assert level_words(replace(joint.ratio, level=1 - 4 / DRAWS_MAX)) == f"99.99{NARROW_SPACE}%"
    assert level_words(replace(joint.ratio, level=0.95)) == f"95{NARROW_SPACE}%"


def test_only_intervals_hold_together() -> None:
    with pytest.raises(QuestionRefused, match="none hold together"):
        Reading(estimator="plug-in", joint=True)


def test_shares_of_very_many_rules_are_refused_and_the_rest_holds_together() -> None:
    rows = [[40 + rule % 3, 50] for rule in range(150)]
    measurement = measured(rows, [[900, 800]])

    with pytest.raises(EstimationRefused, match="more than 102 rules"):
        require_joint(measurement, 0.95)
    asked: dict[str, Any] = {"reference": None, "bands": None, "edge": None, "level": 0.95}
    with_shares = level_of_report([measurement], shares=measurement, **asked)
    assert with_shares == level_of_report([measurement], shares=None, **asked)


@pytest.mark.slow
@pytest.mark.parametrize(("draws", "shown"), [(256, False), (16384, True)])
def test_more_figures_than_draws_show_to_hold_together_have_no_level(draws: int, shown: bool) -> None:
    posterior = Posterior.of(measured([[20] * 40], [[30] * 40]), level=0.95, drawing=Drawing(draws))

    assert (level_together([needed_by(posterior, None)], 0.95) is not None) == shown


@pytest.mark.parametrize("level", [0.5, 0.95, 0.998, 0.99999])
def test_draws_are_a_power_of_two_that_a_level_needs(level: float) -> None:
    draws = draws_at(level)

    assert math.log2(draws).is_integer()
    assert 4096 <= draws <= 65536
    assert draws == 65536 or draws * (1 - level) >= 4


@pytest.mark.slow
def test_what_a_score_says_is_part_of_what_holds_together() -> None:
    register = ScoredRegister.invented(5)
    noise = DiscreteLaplaceNoise(scale=10.0)
    rng = np.random.default_rng(0)
    noisy = register.everybody + np.round(rng.laplace(0, 10, register.everybody.shape)).astype(np.int64)
    bands = BandCounts(register.groups, register.edges, unlabelled=(NoisyCounts(noisy, noise),))
    at_edge = bands.split("everybody", bands.accepted(2))
    asked: dict[str, Any] = {"reference": None, "shares": None, "level": 0.95}

    alone = level_of_report([at_edge], bands=None, edge=None, **asked)
    with_bands = level_of_report([at_edge], bands=bands, edge=2, **asked)
    figures = ScoreEstimator(bands, level=with_bands, joint=True, drawing=Drawing(1024)).figures()

    assert alone < with_bands
    assert {parity.ratio.level for parity in figures.acceptance.parities} == {with_bands}
    assert {share.level for group in figures.distribution for share in group} == {with_bands}


@pytest.mark.slow
def test_a_plan_expects_wider_intervals_of_a_joint_reading() -> None:
    asked = question(epsilon="0.1", metrics=(PARITY, ODDS))

    joint, single = (forecast(asked, reading=reading).chosen.width for reading in (JOINT, Reading()))

    assert 1.1 * single < joint < 2.5 * single


@pytest.mark.slow
@pytest.mark.parametrize("strategy", ["verdict", "rules"])
def test_a_plan_expects_of_every_strategy_the_level_that_its_audits_have(strategy: str) -> None:
    """Rules have shares, which hold together with the rest: their intervals have a higher level than a verdict's."""
    asked: dict[str, Any] = {"epsilon": "1", "assumption": Assumption(people=400), "intervention": "assistive"}
    level = audited(epsilon="1", strategy="rules", intervention="assistive", reading=JOINT).ratio.level
    widths = {
        name: expectation(question(strategy=name, **asked), reading=Reading(level=level)).width
        for name in ("verdict", "rules")
    }

    planned = forecast(question(strategy=strategy, **asked), reading=JOINT)

    found = {one.strategy: one.width for one in planned.strategies}

    assert found["rules"] == pytest.approx(widths["rules"], rel=0.01)
    assert found["verdict"] < 0.97 * widths["verdict"]


def test_a_plan_expects_a_higher_level_where_both_outcomes_are_to_hold_together() -> None:
    asked: dict[str, Any] = {"epsilon": "1", "assumption": Assumption(people=400), "strategy": "rules"}

    said, unsaid = (_of_each(question(**asked, intervention=kind), None, JOINT) for kind in ("assistive", None))

    assert said.level < unsaid.level


@pytest.mark.slow
def test_the_smallest_epsilon_of_a_joint_reading_is_that_of_its_own_level() -> None:
    asked = question(strategy="rules", epsilon="1", assumption=Assumption(people=2_000))

    found = smallest_epsilon(asked, 0.1, reading=JOINT)

    assert forecast(found, reading=JOINT).chosen.width <= 0.1
    assert found.request.epsilon_nano > smallest_epsilon(asked, 0.1).request.epsilon_nano


@pytest.mark.slow
def test_an_outlook_has_the_level_that_each_interval_had(joint: AuditResult, single: AuditResult) -> None:
    wide, narrow = outlook(joint), outlook(single)

    assert wide is not None
    assert narrow is not None
    assert wide.curve[0].width > narrow.curve[0].width
