"""What an answer rule by rule says beyond the verdict, in figures and in the report; at ε = 10 hardly any noise."""

import math
import re
from dataclasses import replace
from typing import Any

import pytest
from markupsafe import escape
from matplotlib.figure import Figure

from auditor_client.asking.request import ODDS, OF_DECISIONS, OPPORTUNITY, PARITY, PREDICTIVE
from auditor_client.audits.comparing import compare_results
from auditor_client.audits.history import History
from auditor_client.errors import EstimationRefused, QuestionRefused
from auditor_client.estimation.estimates import Estimate, Verdict
from auditor_client.estimation.measurements import Measurement, NoisyCounts
from auditor_client.estimation.posterior import estimate_parity
from auditor_client.estimation.size_rule import SizeRule
from auditor_client.findings.answers import RATES, Rate
from auditor_client.findings.reading import Reading
from auditor_client.models.tree import Tree
from auditor_client.report.audit_data import audit_data
from auditor_client.report.languages import Language
from auditor_client.report.widths import remaining_curve
from shared.contract.datasets import Budget
from shared.privacy.amounts import Loss
from shared.privacy.charges import AccountTerms
from shared.privacy.noise import DiscreteLaplaceNoise
from shared.wire.wording import NARROW_SPACE
from testing.exact_audits import audited
from testing.invented.audits import invented_audit
from testing.invented.people import PEOPLE, true_counts
from testing.invented.questions import FOUR_LEAVES, four_leaves
from testing.registers import LOANS


def true_ratio(model: Tree) -> float:
    accepted, refused = true_counts(Rate.ACCEPTANCE, ["sex"], PEOPLE, model)
    rates = [one / (one + other) for one, other in zip(accepted, refused, strict=True)]
    return min(rates) / max(rates)


FLIPS = {
    "a": four_leaves(False, False, False, True),
    "b": four_leaves(True, True, False, True),
    "c": four_leaves(True, False, True, True),
    "d": four_leaves(True, False, False, False),
}


@pytest.mark.parametrize("rule", sorted(FLIPS))
@pytest.mark.parametrize("metrics", [(PARITY,), OF_DECISIONS])
def test_a_flip_is_the_ratio_of_the_tree_with_that_leaf_reversed(rule: str, metrics: tuple[str, ...]) -> None:
    """Also where the leaf's people were counted label by label: all of them change sides."""
    result = audited(metrics=metrics)

    assert result.flip(rule).ratio.value == pytest.approx(true_ratio(FLIPS[rule]), abs=0.01)


def test_the_shares_are_the_rules_own_and_add_up() -> None:
    result = audited(reference="Male")

    shares = result.attribution()

    accepted, refused = true_counts(Rate.ACCEPTANCE, ["sex"], PEOPLE)
    sizes = [one + other for one, other in zip(accepted, refused, strict=True)]
    assert (shares.first, shares.second) == (("Female",), ("Male",))
    for share, tree in zip(shares.shares, (FLIPS["d"], FLIPS["a"]), strict=True):
        alone, _ = true_counts(Rate.ACCEPTANCE, ["sex"], PEOPLE, tree)
        assert share.share.value == pytest.approx(100 * (alone[0] / sizes[0] - alone[1] / sizes[1]), abs=0.5)
    assert sum(share.share.value for share in shares.shares) == pytest.approx(shares.difference.value)


def test_a_pair_of_groups_is_named_as_a_reference_is() -> None:
    result = audited()

    assert result.attribution(("Male", "Female")) == result.attribution((("Male",), ("Female",)))
    with pytest.raises(QuestionRefused, match="'female' is no group: did you mean 'Female'"):
        result.attribution(("Male", "female"))


@pytest.mark.parametrize(
    ("asked", "estimator"),
    [({"strategy": "pafer"}, "plug-in"), ({"metrics": [ODDS], "epsilon": "0.001"}, "posterior")],
)
def test_warnings_are_said_in_the_language_of_the_page(asked: dict[str, Any], estimator: str) -> None:
    result = audited(**asked, reading=Reading(estimator=estimator))
    page, warnings = result.to_html(language="nl"), audit_data(result).warnings

    assert warnings
    for warning in warnings:
        dutch = Language.of("nl").say(warning)
        assert "the" not in dutch.split()
        assert f"<li>{escape(dutch)}</li>" in page


def test_every_number_has_the_decimal_comma_of_the_page() -> None:
    """But for versions of libraries and the number of a regulation, which are names."""
    one, other = audited(epsilon="0.5"), audited(FLIPS["d"], epsilon="0.5")

    for shown in (one, compare_results(one, other), History((one, other))):
        page = re.sub(r"<style>.*</style>|<[a-z]+ [^>]*style=[^>]*>", "", shown.to_html(language="de"), flags=re.DOTALL)
        page = re.sub(r"Berechnet mit.*?</p>|29 CFR 1607\.4", "", page, flags=re.DOTALL)
        assert re.findall(r".*\d\.\d.*", page) == []
        assert re.search(r"\d,\d", page)


def test_what_a_reversed_rule_does_is_said_in_the_language_of_the_page() -> None:
    page = audited().to_html(language="nl")

    assert "<small>dan met de beslissing “yes”</small>" in page
    assert "<small>then" not in page


def test_a_result_says_in_one_line_what_it_is() -> None:
    result = audited()

    assert repr(result) == f"<AuditResult: {audit_data(result).headline}>"
    assert repr(History((result,))) == "<History: 1 audit>"
    assert repr(compare_results(result, result)).startswith(
        "<ModelComparison: Among the people in the register, both models are equally close to "
    )


def test_a_picture_of_what_was_not_asked_is_refused() -> None:
    with pytest.raises(QuestionRefused, match="There are statistical-parity"):
        audited().plot(ODDS)


@pytest.mark.parametrize("reference", [None, "Female", "Male"])
def test_a_picture_says_what_its_marks_are_and_where_the_threshold_lies(reference: str | None) -> None:
    """A verdict is about the lowest rate over the highest, whichever group others are compared with."""
    result = audited(reference=reference)
    highest = max(group.rate.value for group in result.parity.groups)

    (axis,) = result.plot().axes

    legend = axis.get_legend()
    assert legend is not None
    words = [text.get_text() for text in legend.get_texts()]
    assert words == [
        f"95{NARROW_SPACE}% interval, the population", f"95{NARROW_SPACE}% interval, the people in the data",
        "0.8 of the highest rate", "estimate",
    ]  # fmt: skip
    threshold = next(line for line in axis.get_lines() if line.get_label() == words[2])
    assert threshold.get_xdata()[0] == pytest.approx(0.8 * highest)  # type: ignore[index]  # a list of two
    assert axis.get_xlabel() == "share with the decision “yes”"


@pytest.mark.slow
def test_a_picture_says_the_level_that_was_asked() -> None:
    (axis,) = audited(reading=Reading(level=0.999, joint=True)).plot().axes

    legend = axis.get_legend()
    assert legend is not None
    assert legend.get_texts()[0].get_text() == f"joint 99.9{NARROW_SPACE}% interval, the population"


def test_the_threshold_in_a_picture_is_of_the_groups_that_are_judged() -> None:
    """Group "b" has the highest rate, and two people."""
    groups = (("a",), ("b",), ("c",))
    noise = DiscreteLaplaceNoise(scale=1.0)
    measured = Measurement(
        groups, NoisyCounts.of([[500, 3, 480]], noise), NoisyCounts.of([[500, 0, 520]], noise), "unfavourable"
    )
    parity = estimate_parity(measured, rule=SizeRule.of("30"))
    (axis,) = replace(invented_audit(), estimates={PARITY: parity}).plot().axes

    assert parity.left_out == (("b",),)
    assert parity.by_group[("b",)].value > 0.6
    line = next(line for line in axis.get_lines() if "of the highest rate" in str(line.get_label()))
    assert line.get_xdata()[0] == pytest.approx(0.8 * 0.5, abs=0.01)  # type: ignore[index]  # a list of two


def test_a_picture_is_drawn_on_axes_that_are_there() -> None:
    result = audited(metrics=OF_DECISIONS)
    figure = Figure()
    left, right = figure.subplots(1, 2)

    assert result.plot(ax=left) is figure
    assert result.plot(ODDS, ax=[left, right]) is figure
    assert right.get_lines()
    with pytest.raises(QuestionRefused, match="2 rates: give `ax` as many"):
        result.plot(ODDS, ax=left)


def test_the_rates_by_group_are_a_frame_with_a_row_for_each_group() -> None:
    result = audited(metrics=OF_DECISIONS)

    table = result.by_group

    assert table.index.names == ["sex"]
    assert table.loc["Male", "rate"] == float(result.parity.by_group[("Male",)])
    assert list(audited(metrics=ODDS).by_group.index.names) == ["figure", "sex"]


def test_an_estimate_is_a_number_where_one_is_wanted() -> None:
    result = audited()

    assert float(result.ratio) == result.ratio.value
    assert math.isnan(float(Estimate(math.nan, math.nan, math.nan, 0.95, "posterior")))


def test_pafer_distinguishes_favourable_rules_alone() -> None:
    assert audited(strategy="pafer").rule_ids == ("a", "d")
    assert audited(strategy="rules").rule_ids == ("a", "d", "b", "c")


@pytest.mark.parametrize("asked", [{"strategy": "verdict"}, {"metrics": "predictive-parity"}])
def test_an_answer_that_does_not_distinguish_the_rules_says_so(asked: dict[str, Any]) -> None:
    result = audited(**asked)

    assert result.rule_ids == ()
    assert audit_data(result).bars is None
    with pytest.raises(QuestionRefused, match="distinguish rules"):
        result.attribution()


@pytest.mark.parametrize("strategy", ["rules", "pafer"])
def test_an_exponential_answer_shows_the_rates_and_says_why_no_shares(strategy: str) -> None:
    result = audited(strategy=strategy, mechanism="exponential", upper=10_000)
    data, document = audit_data(result), result.to_document()

    assert result.ratio.value == pytest.approx(true_ratio(FOUR_LEAVES), abs=0.05)
    assert (data.bars, document["attribution"]) == (None, None)
    for shown in (data.no_bars, document["attribution_refused"], result.summary()):
        assert "Ask for each rule with the mechanism laplace or gaussian" in shown
    assert f"<p>{escape(data.no_bars)}</p>" in result.to_html()
    assert data.no_bars not in (german := result.to_html(language="de"))
    assert "Regel für Regel mit dem Mechanismus laplace oder gaussian" in german
    with pytest.raises(EstimationRefused, match="laplace or gaussian"):
        result.attribution()
    with pytest.raises(EstimationRefused, match="laplace or gaussian"):
        result.flip("a")


def test_an_answer_that_was_not_asked_rule_by_rule_needs_no_reason() -> None:
    result = audited(strategy="verdict", mechanism="exponential", upper=10_000)

    assert (audit_data(result).no_bars, result.to_document()["attribution_refused"]) == ("", None)


def test_a_rule_that_was_not_asked_is_refused() -> None:
    with pytest.raises(QuestionRefused, match="a, d, b, c"):
        audited().flip("e")


def test_the_report_ranks_the_rules_and_says_what_a_flip_would_do() -> None:
    result = audited()

    bars = audit_data(result).bars

    assert bars is not None
    assert {bar.name for bar in bars.bars} == {"a", "d"}
    assert {(flip.name, flip.change) for flip in bars.flips} == {
        ("a", "with the decision “no”"), ("d", "with the decision “no”"),
        ("b", "with the decision “yes”"), ("c", "with the decision “yes”"),
    }  # fmt: skip
    assert bars.conclusion.startswith("Rule 1 contributes most: it ")
    assert bars.conclusion.endswith(" One more of the rules shown differs clearly from zero.")
    assert "If one rule decided the other way" in result.to_html()
    assert bars.conclusion in result.summary()


def test_what_the_rules_do_to_equalized_odds_is_said_of_one_rate_by_name() -> None:
    result = audited(metrics=ODDS)
    now = f"{result.odds.true_positive.ratio.value:.3f}"

    assert now != f"{result.ratio.value:.3f}"
    assert "Statistical parity does not ask" not in result.to_html()
    assert f"The lowest true-positive rate divided by the highest, now {now}, if one rule" in result.summary()
    assert f"The lowest true-positive rate divided by the highest, now {now}," in result.to_html()


def test_a_report_shows_every_figure_with_both_kinds_of_interval() -> None:
    result = audited(metrics=OF_DECISIONS, where="age > 18", reference="Male")
    page = result.to_html()

    for title in ("Statistical parity", "Equal opportunity", "Equalized odds", "Predictive parity"):
        assert f"<b>{title}</b>" in page
    assert "age is at least 19" in page
    assert "people in the data" in page
    assert "population" in page
    shown = [len(section.rates) for section in audit_data(result).sections]
    assert shown == [len(RATES[metric]) for metric in OF_DECISIONS]


@pytest.mark.parametrize("metric", OF_DECISIONS)
def test_the_headline_is_about_the_first_figure(metric: str) -> None:
    result = audited(metrics=(metric, *(other for other in OF_DECISIONS if other != metric)))

    assert result.verdict == result.estimates[metric].verdict
    assert result.ratio == result.estimates[metric].ratio
    assert audit_data(result).headline.startswith("Among the people in the register")
    assert "ε" not in audit_data(result).headline


@pytest.mark.parametrize("metric", [OPPORTUNITY, ODDS, PREDICTIVE])
def test_a_figure_of_no_selection_rates_has_no_verdict_and_its_difference_first(metric: str) -> None:
    """The four-fifths rule is about selection rates: a ratio of true-positive rates passes it at a gap of 16 points."""
    result = audited(metrics=(metric, "statistical-parity"))
    headline, document = audit_data(result).headline, result.to_document()

    assert (result.verdict, result.threshold, document["verdict"], document["threshold"]) == (
        Verdict.NONE, None, "none", None,
    )  # fmt: skip
    assert [document["metrics"][name]["verdict"] for name in result.metrics] == ["none", "meets"]
    assert [document["metrics"][name]["threshold"] for name in result.metrics] == [None, 0.8]
    assert 0 < headline.index("percentage points (95") < headline.index("a ratio of")
    assert not any(word in headline for word in ("meets", "fails", "four-fifths"))
    assert f"label “{result.question.label.name}”" in headline if result.question.label else False
    assert "The audit does not give a verdict: the four-fifths rule is about selection rates" in result.summary()
    assert [figure.name.split()[-1] for figure in audit_data(result).sections[0].figures[:2]] == ["difference", "ratio"]
    assert [figure.name.split()[-1] for figure in audit_data(result).sections[1].figures] == ["ratio", "difference"]
    page = result.to_html()
    assert ">none<" not in page
    assert page.count("fails below") == 1, "at the section of statistical parity alone"


def test_a_threshold_that_was_asked_for_gives_a_verdict_on_any_figure() -> None:
    result = audited(metrics=OPPORTUNITY, reading=Reading(threshold=0.99))
    headline = audit_data(result).headline.replace("\N{NARROW NO-BREAK SPACE}", " ")

    assert result.verdict is Verdict.FAILS
    assert "the tree fails the equal opportunity threshold of 99 % for sex." in headline
    assert result.to_document()["reading"]["threshold"] == 0.99


def test_what_holds_in_the_population_is_said_apart_from_the_register() -> None:
    result = audited(intervention="assistive")

    said = audit_data(result).explanation
    document = result.to_document()["metrics"]["statistical-parity"]

    assert "In the population that the register is a sample of, the ratio lies between" in said
    assert (document["verdict"], document["population_verdict"]) == ("meets", result.parity.population_verdict.value)
    assert result.parity.population_ratio is not None
    assert result.parity.population_verdict is result.parity.population_ratio.against(0.8)


def test_a_scope_is_part_of_whom_the_finding_is_about() -> None:
    found = audit_data(audited(where="age > 18")).headline

    assert found.startswith("Among the people in the register within the scope, ")


def test_more_budget_is_advised_only_where_something_is_undecided() -> None:
    decided, undecided = audited(), audited(epsilon="0.02")

    assert (decided.verdict, undecided.verdict) == (Verdict.MEETS, Verdict.UNDECIDED)
    assert decided.report.data.more is None
    assert "larger loss" not in decided.report.page
    assert undecided.report.data.more is not None
    assert "of 100 audits would give a verdict" in undecided.report.page


def test_a_rule_widens_the_gap_against_the_group_that_it_disadvantages_or_narrows_it() -> None:
    result = audited()
    shares = result.attribution()
    worse = ", ".join(map(str, shares.first if shares.difference.value < 0 else shares.second))

    bars = audit_data(result).bars

    assert bars is not None
    top = shares.ranking[0].share.value
    widens = top * shares.difference.value > 0
    words = f"against “{worse}”" if widens else f"in favour of “{worse}”"
    assert (
        f"it {'widens' if widens else 'narrows'} the gap by {abs(top):.1f} percentage points, {words}"
        in bars.conclusion
    )
    assert "−" not in bars.conclusion


def test_the_outlook_says_what_more_budget_would_buy() -> None:
    put = replace(audited(epsilon="0.1"), budget=budget(epsilon_left=350_000_000))

    outlook = put.outlook()
    page = put.to_html(outlook=True)

    assert outlook is not None
    widths = [outlook.now, *(one.width for one in outlook.curve)]
    assert widths == sorted(widths, reverse=True)
    assert "would be about" in page
    assert "The remaining budget, ε = 0.35" in page


IN_RHO = LOANS.model_copy(update={"account": AccountTerms("zcdp", 1000), "mechanisms": ("laplace", "gaussian")})


@pytest.mark.parametrize(("left_nano", "affordable"), [(19_999_999, None), (50_000_000, "0.2"), (320_000_000, "0.8")])
def test_what_is_left_in_rho_pays_what_costs_no_more_rho(left_nano: int, affordable: str | None) -> None:
    """ε 0.2, 0.4 and 0.8 cost ρ 0.02, 0.08 and 0.32; ρ 0.05 is read as ε 1.47, and pays for the first alone."""
    left = Loss.of_rho(left_nano, 1000)
    account = budget(epsilon_left=1).model_copy(update={"limit": left, "spent": left * 0, "remaining": left})

    outlook = replace(audited(dataset=IN_RHO, epsilon="0.1"), budget=account).outlook()
    curve = remaining_curve(outlook)

    assert outlook is not None
    assert curve is not None
    assert (outlook.affordable and outlook.affordable.amount) == (affordable and {"epsilon": affordable})
    assert ("is too small" in curve.words) == (affordable is None)
    assert ("The remaining budget, ρ = 0." in curve.words) == (affordable is not None)


def test_what_was_asked_in_rho_is_compared_with_larger_rho() -> None:
    """Twice, four and eight times as exact: ρ grows with the squares, up to its public range."""
    outlook = audited(dataset=IN_RHO, epsilon=None, mechanism="gaussian", rho="0.01").outlook()
    curve = remaining_curve(outlook)

    assert outlook is not None
    assert curve is not None
    assert [one.amount for one in outlook.curve] == [{"rho": "0.04"}, {"rho": "0.16"}, {"rho": "0.64"}]
    assert (curve.symbol, curve.points[1].amount) == ("ρ", "0.04")
    assert "at ρ = 0.01. With ρ = 0.64" in curve.words


def budget(*, epsilon_left: int) -> Budget:
    """An account with so much left, in nano-units."""
    account = invented_audit().budget
    assert account is not None
    return account.model_copy(update={"remaining": Loss(epsilon_left)})


def test_a_question_of_odds_has_no_single_comparison() -> None:
    result = audited(metrics=(ODDS,))

    assert result.odds.ratio == result.ratio
    with pytest.raises(QuestionRefused, match="not asked"):
        _ = result.parity
