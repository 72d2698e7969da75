"""Conditional parity: what is asked by strata, at what price, and how the answer is read."""

from typing import Any

import pytest

from auditor_client.asking.assumption import Assumption
from auditor_client.asking.choice import choose_strategy
from auditor_client.asking.question import Question
from auditor_client.asking.request import ODDS, STRATEGIES, AuditRequest
from auditor_client.asking.strata import STRATA_MAX, Stratum
from auditor_client.audits.asking import Asking
from auditor_client.audits.comparing import require_comparable
from auditor_client.errors import EstimationRefused, QuestionRefused
from auditor_client.estimation.estimates import Verdict
from auditor_client.estimation.measurements import Measurement
from auditor_client.estimation.results import OddsEstimate, ParityEstimate
from auditor_client.estimation.simultaneous import level_of_independent
from auditor_client.estimation.strata import estimate_strata
from auditor_client.findings.answers import Rate, read
from auditor_client.findings.conditional import ConditionalParity
from auditor_client.findings.reading import Reading
from auditor_client.models.tree import Branch, Split, Tree
from holder_service.domain.pricing import price
from shared.contract.datasets import DatasetDescription
from shared.contract.rules import Cell, Predicate
from shared.kinds.plans import Batch
from shared.privacy.amounts import parse_nano
from shared.privacy.noise import DiscreteLaplaceNoise
from testing.invented.measurements import measured
from testing.invented.people import PEOPLE, true_counts
from testing.invented.questions import exact_release, leaf, measured_by, question, release_of, split
from testing.registers import LOANS

REGIONS = ("North", "South", "East")


def stratified(*strata: tuple[list[int], list[int]], scale: float = 1.0) -> list[list[Measurement]]:
    """Of each stratum the accepted and the refused people of every group, hardly noisy."""
    noise = DiscreteLaplaceNoise(scale=scale)
    return [[measured([accepted], [refused], noise)] for accepted, refused in strata]


def conditional(asked: Question, reading: Reading | None = None) -> dict[str, ConditionalParity]:
    """What an exact answer gives."""
    release = exact_release(asked.plan, PEOPLE)
    parts = [read(release, part) for part in asked.parts]
    return {
        metric: (reading or Reading()).conditional(metric, asked.strata, parts, asked.reference)
        for metric in asked.metrics
    }


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("every", [False, True])
def test_all_strata_cost_what_the_question_without_them_costs(strategy: str, *, every: bool) -> None:
    metrics = measured_by(strategy) if every else ("statistical-parity",)
    asked = question(strategy=strategy, metrics=metrics, by="region", epsilon="0.5")

    priced = price(asked.plan, LOANS.table)

    assert priced.charge.epsilon_nano == parse_nano("0.5")
    assert [len(batch.cells) for batch in asked.plan.batches] == [
        3 * len(batch.cells) for batch in question(strategy=strategy, metrics=metrics).plan.batches
    ]


def test_strata_that_overlap_would_cost_more() -> None:
    """Negative control: with a third stratum that holds a second's people, the same price would be a wrong one."""
    asked = question(by="region")
    plan = asked.plan.model_dump(mode="json")
    cells = plan["batches"][0]["cells"]
    for rule in (rule for cell in cells[:2] for rule in cell["any_of"]):
        rule["all_of"][-1] = {"column": "region", "op": "in", "values": ["North", "South"]}

    priced = price(type(asked.plan).model_validate(plan), LOANS.table)

    assert priced.charge.epsilon_nano == 2 * parse_nano("0.5")


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_one_answer_measures_every_stratum_and_everybody(strategy: str) -> None:
    asked = question(strategy=strategy, metrics=measured_by(strategy), by="region")
    release = exact_release(asked.plan, PEOPLE)

    def counted(counts: Any) -> tuple[list[int], list[int]]:
        refused = counts.measurement.complement.totals
        if counts.measurement.complement_is == "everybody":
            refused = refused - counts.measurement.favourable.totals
        return counts.measurement.favourable.totals.tolist(), refused.tolist()

    for region, part in zip(REGIONS, asked.parts, strict=True):
        within = [person for person in PEOPLE if person["region"] == region]
        for rate, counts in read(release, part).items():
            assert counted(counts) == true_counts(rate, ["sex"], within)
    for rate, counts in read(release, asked).items():
        assert counted(counts) == true_counts(rate, ["sex"], PEOPLE)
        assert counts.measurement.favourable.cells % 3 == 0  # so its noise is that of three sums


def test_a_stratum_is_the_question_that_a_scope_asks() -> None:
    asked = question(by="region", strategy="rules", metrics=ODDS)
    alone = question(where="region = South", strategy="rules", metrics=ODDS)

    south = asked.parts[1]

    assert south.scope == alone.scope
    assert {
        frozenset(map(str, rule.all_of)) for batch in alone.plan.batches for cell in batch.cells for rule in cell.any_of
    } <= {
        frozenset(map(str, rule.all_of)) for batch in asked.plan.batches for cell in batch.cells for rule in cell.any_of
    }


def test_an_answer_by_strata_answers_about_one_of_them_too() -> None:
    alone, asked = question(where="region = South"), question(by="region")

    own, kept = (read(exact_release(one.plan, PEOPLE), alone)[Rate.ACCEPTANCE].measurement for one in (alone, asked))

    assert own.favourable.counts.tolist() == kept.favourable.counts.tolist()
    assert own.complement.counts.tolist() == kept.complement.counts.tolist()


@pytest.mark.parametrize(
    ("by", "values"),
    [
        ("region", REGIONS),
        ("citizen", (False, True)),
        ("age=25,45", ("under 25", "25 to 44", "45 and above")),
        ("hours=20.5", ("under 20.5", "20.5 and above", None)),
    ],
)
def test_strata_are_a_columns_values_or_bands_and_the_missing(by: str, values: tuple[object, ...]) -> None:
    found = question(by=by).strata

    assert tuple(stratum.value for stratum in found) == values
    for person in PEOPLE:
        assert sum(all(one.matches(person.get(one.column)) for one in stratum.all_of) for stratum in found) == 1


@pytest.mark.parametrize(
    ("by", "where", "left"),
    [
        ("region", "region in (North, East)", ["North", "East"]),
        ("age=25,45", "age >= 30", ["25 to 44", "45 and above"]),
        ("age=25,45", "age < 45", ["under 25", "25 to 44"]),
        ("age=25,45", "age in (20, 50)", ["under 25", "45 and above"]),
        ("hours=10,20.5", "hours <= 20.5 or missing", ["under 10", "10 to under 20.5", "20.5 and above", None]),
        ("hours=10,20.5", "hours < 20.5 or missing", ["under 10", "10 to under 20.5", None]),
        ("hours=10,20.5", "hours < 20.5", ["under 10", "10 to under 20.5"]),
    ],
)
def test_a_value_or_a_band_outside_the_scope_is_no_stratum(by: str, where: str, left: list[object]) -> None:
    found = question(by=by, where=where).strata

    assert [stratum.value for stratum in found] == left


def test_a_band_outside_the_scope_is_not_asked_and_does_not_decide() -> None:
    """An empty band has no rates, so with it nothing would be known of the smallest ratio over all bands."""
    by_region = Tree(
        Split(
            "region",
            (
                Branch((Predicate(column="region", op="eq", value="North"),), leaf("north", True)),
                Branch((Predicate(column="region", op="ne", value="North"),), leaf("elsewhere", False)),
            ),
        )
    )

    asked = question(by_region, by="age=25,45", where="age < 45", strategy="verdict")

    def counts(_: Batch, cell: Cell) -> list[int]:
        ages = [age for age in range(121) if any(cell.matches({"age": age, "region": region}) for region in REGIONS)]
        return [50 * len(ages), 49 * len(ages)]

    release = release_of(asked.plan, LOANS, counts)
    of_parts = [read(release, part) for part in asked.parts]
    every = Reading().conditional(asked.metrics[0], asked.strata, of_parts, asked.reference).every
    assert sum(len(batch.cells) for batch in asked.plan.batches) == 4
    assert every is not None
    assert every.verdict is Verdict.MEETS


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"by": "sex"}, "sensitive"),
        ({"by": "origin"}, "sensitive"),
        ({"by": "nothing"}, "is no column"),
        ({"by": "age"}, "where its bands begin"),
        ({"by": "age=45,25"}, "ascending"),
        ({"by": "age=x"}, "age=x"),
        ({"by": "region=1"}, "bands do not apply"),
        ({"by": "region", "where": "region = North"}, "makes 1 strata"),
        ({"by": "age=25,45", "where": "age >= 50"}, "makes 1 strata"),
        ({"by": "age=" + ",".join(map(str, range(1, STRATA_MAX + 1)))}, "makes 65 strata"),
        ({"by": "repaid", "metrics": ODDS}, "compared already"),
    ],
)
def test_what_makes_no_strata_is_refused(asked: dict[str, Any], said: str) -> None:
    with pytest.raises(QuestionRefused, match=said):
        question(**asked)


def test_bands_of_a_score_are_not_asked_by_strata() -> None:
    with pytest.raises(QuestionRefused, match="`edges` cannot be combined with `by`"):
        AuditRequest(sensitive=("sex",), epsilon="1", decision="hours", above=20, edges=(10.0, 20.0), by="region")


def test_a_joint_reading_of_strata_is_refused_before_anything_is_asked() -> None:
    with pytest.raises(QuestionRefused, match="leave one of them out"):
        Asking.of("sex", "1", None, {"by": "region", "joint": True})


def test_two_models_are_not_compared_within_strata() -> None:
    """Refused before anything is asked: one plan for both models has no strata, and two plans cost half of ε each."""
    asked = AuditRequest(sensitive=("sex",), epsilon="1", by="region")

    require_comparable(asked.changed(by=None), Reading())
    with pytest.raises(QuestionRefused, match="one model"):
        require_comparable(asked, Reading())


def test_acceptance_within_values_of_the_label_is_what_equalized_odds_compare() -> None:
    by_label = conditional(question(by="repaid"))["statistical-parity"]
    odds = Reading().estimate(
        ODDS, read(exact_release(question(metrics=ODDS).plan, PEOPLE), question(metrics=ODDS)), None
    )

    negative, positive = (of_stratum.estimate for of_stratum in by_label.strata)

    assert isinstance(odds, OddsEstimate)
    assert isinstance(positive, ParityEstimate)
    assert isinstance(negative, ParityEstimate)
    assert positive.ratio.value == pytest.approx(odds.true_positive.ratio.value, abs=0.02)
    assert negative.ratio.value == pytest.approx(odds.false_positive.ratio.value, abs=0.02)


def test_the_noise_of_a_stratum_does_not_grow_with_their_number_and_that_of_everybody_does() -> None:
    asked = question(by="region")
    release = exact_release(asked.plan, PEOPLE)

    rows = [read(release, one)[Rate.ACCEPTANCE].measurement.favourable.cells for one in (asked, *asked.parts)]

    assert rows == [3, 1, 1, 1]


def test_strategy_auto_thinks_of_the_people_of_one_stratum() -> None:
    people = Assumption(people=2_000)
    many = "age=" + ",".join(map(str, range(2, 60)))

    assert choose_strategy(question(epsilon="1", assumption=people)) == "rules"
    assert choose_strategy(question(epsilon="1", assumption=people, by=many)) == "verdict"


def test_simpsons_paradox_is_seen() -> None:
    """Over all the first group is accepted less; within either stratum it is accepted as often."""
    strata = stratified(([80, 720], [20, 180]), ([180, 20], [720, 80]))

    figures = estimate_strata(strata)
    (standardised,) = figures.standardised

    assert figures.every.verdict is Verdict.MEETS
    assert standardised.verdict is Verdict.MEETS
    assert [round(one.rate.value, 2) for one in standardised.groups] == [0.5, 0.5]
    assert [round(one.value, 2) for one in standardised.weights] == [0.5, 0.5]
    assert (80 + 180) / 1000 / ((720 + 20) / 1000) < 0.8  # what is compared without strata


def test_one_stratum_that_fails_is_enough_to_fail() -> None:
    figures = estimate_strata(stratified(([800, 800], [200, 200]), ([300, 800], [700, 200])))

    assert figures.every.verdict is Verdict.FAILS
    assert figures.every.ratio.value == pytest.approx(0.375, abs=0.01)


def test_a_stratum_without_people_of_a_group_is_left_out_of_standardised_rates_and_named() -> None:
    (standardised,) = estimate_strata(
        stratified(([800, 400], [200, 600]), ([500, 0], [500, 0]), ([100, 200], [900, 800]))
    ).standardised

    assert standardised.strata_left_out == (1,)
    assert [round(one.rate.value, 2) for one in standardised.groups] == [0.45, 0.3]
    assert sum(one.value for one in standardised.weights) == pytest.approx(1)


def test_without_common_people_there_are_no_standardised_rates() -> None:
    (standardised,) = estimate_strata(stratified(([800, 0], [200, 0]), ([0, 400], [0, 600]))).standardised

    assert not standardised.ratio.defined
    assert standardised.strata_left_out == (0, 1)
    assert standardised.verdict is Verdict.UNDECIDED


def test_standardised_rates_are_compared_with_a_reference_group() -> None:
    (standardised,) = estimate_strata(
        stratified(([800, 400], [200, 600]), ([100, 200], [900, 800])), reference=("group 0",)
    ).standardised

    (against,) = standardised.comparisons
    assert against.group == ("group 1",)
    assert against.difference.value == pytest.approx(0.3 - 0.45, abs=0.01)


@pytest.mark.slow
def test_draws_of_strata_do_not_depend_on_each_other() -> None:
    """Of S strata that are alike the mean's interval is narrower by √S; quasi-random draws of two seeds are alike."""
    one = ([300, 400], [700, 600])
    widths = {
        number: estimate_strata(stratified(*[one] * number, scale=5)).standardised[0].groups[0].rate.width
        for number in (1, 16)
    }

    assert widths[16] == pytest.approx(widths[1] / 4, rel=0.15)


def test_intervals_together_are_wider_than_alone_and_the_verdicts_are_theirs() -> None:
    found = conditional(question(by="region"))["statistical-parity"]

    for of_stratum in found.strata:
        assert of_stratum.together is not None
        assert of_stratum.together.ratio.width >= of_stratum.estimate.ratio.width
        assert of_stratum.together.ratio.level == pytest.approx(0.95 ** (1 / 3))
        assert of_stratum.verdict is of_stratum.together.verdict
    assert level_of_independent(0.95, 3) ** 3 == pytest.approx(0.95)


def test_the_published_estimator_gives_rates_by_stratum_and_nothing_over_them() -> None:
    found = conditional(question(by="region"), Reading(estimator="plug-in"))["statistical-parity"]

    assert [of_stratum.together for of_stratum in found.strata] == [None] * 3
    assert (found.every, found.standardised) == (None, ())
    assert {of_stratum.verdict for of_stratum in found.strata} == {Verdict.NONE}


def test_strata_of_other_groups_are_refused() -> None:
    with pytest.raises(EstimationRefused, match="different groups"):
        estimate_strata([*stratified(([1, 2], [3, 4])), *stratified(([1, 2, 3], [4, 5, 6]))])


def test_a_rule_that_looks_at_the_column_is_asked_in_every_stratum() -> None:
    """What a rule contradicts has nobody, and costs nothing."""
    north = Predicate(column="region", op="eq", value="North")
    model = split("age", 40, leaf("a", favourable=True), leaf("b", favourable=False))
    asked = question(Tree(model), by="region", where="region in (North, South)")

    assert asked.strata[0] == Stratum("region", "North", (north,))
    assert price(asked.plan, LOANS.table).charge.epsilon_nano == parse_nano("0.5")


def test_a_request_without_strata_is_written_as_before() -> None:
    assert "by" not in AuditRequest(sensitive=("sex",)).model_dump(mode="json")
    assert AuditRequest(sensitive=("sex",), by="region").model_dump(mode="json")["by"] == "region"


def test_a_dataset_that_lets_rules_name_sensitive_columns_has_strata_of_them() -> None:
    open_dataset: DatasetDescription = LOANS.model_copy(update={"sensitive_in_rules": True})

    found = question(by="origin", dataset=open_dataset).strata

    assert [stratum.value for stratum in found] == ["here", "there", None]
