"""Two models asked about in one question, on real parts: price, figures, reuse, what is kept, and when it cannot be."""

import html
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from auditor_client import Auditor, Tree
from auditor_client.audits.bundle import check_bundle, write_bundle
from auditor_client.audits.comparing import ModelComparison, compare_results
from auditor_client.audits.result import AuditResult
from auditor_client.errors import ModelRefused, QuestionRefused
from auditor_client.estimation.results import Change
from auditor_client.findings.answers import Rate
from auditor_client.models.tree import Branch, Split
from shared.contract.rules import Predicate
from testing.holders import TestedHolder, running_holder
from testing.invented.questions import FOUR_LEAVES, four_leaves, leaf, split

PEOPLE = 4000
COLUMNS: list[dict[str, Any]] = [
    {"name": "age", "type": "integer", "minimum": 0, "maximum": 120},
    {"name": "hours", "type": "number", "minimum": 0, "maximum": 80},
    {"name": "repaid", "type": "boolean", "label": True},
    {"name": "sex", "type": "category", "categories": ["Female", "Male"], "sensitive": True},
]
BY_HOURS = Tree(split("hours", 30, leaf("few", favourable=False), leaf("many", favourable=True)))
METRICS = ("statistical-parity", "equal-opportunity", "predictive-parity")
CHANGED = four_leaves(True, False, True, True)
"""FOUR_LEAVES, but people of 41 to 60 are accepted too."""
OLD = leaf("old", favourable=True)
FULL = Tree(split("age", 30, split("hours", 30, leaf("few", favourable=False), leaf("many", favourable=True)), OLD))
PRUNED = Tree(split("age", 30, leaf("young", favourable=False), OLD))


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    """The records that the holder has; a test may look at them, the auditor may not."""
    source = random.Random(4)
    rows = []
    for person in range(PEOPLE):
        sex = source.choice(["Female", "Male"])
        age = min(int(source.gammavariate(4, 11 if sex == "Female" else 8)), 120)
        repaid = source.random() < (0.7 if age > 30 else 0.5)
        rows.append(
            {
                "id": f"p{person}",
                "age": age,
                "hours": source.uniform(0, 60 if sex == "Female" else 80),
                "repaid": repaid,
                "sex": sex,
            }
        )
    return pd.DataFrame(rows)


@pytest.fixture(scope="module")
def features(people: pd.DataFrame) -> pd.DataFrame:
    """What the auditor has of the same people."""
    return people[["age", "hours"]]


@pytest.fixture(scope="module")
def logistic(people: pd.DataFrame) -> LogisticRegression:
    return LogisticRegression(max_iter=1000).fit(people[["age", "hours"]], people["age"] + people["hours"] > 60)


@pytest.fixture(scope="module")
def holder(tmp_path_factory: pytest.TempPathFactory, people: pd.DataFrame) -> Iterator[TestedHolder]:
    records = people.assign(repaid=people["repaid"].map({True: "true", False: "false"})).to_csv(index=False).encode()
    with running_holder(tmp_path_factory.mktemp("holder"), epsilon="100") as tested:
        limit = {"epsilon": "900", "delta": "0.01"}
        tested.offer("loans", records, cap=limit, columns=COLUMNS, relation="add_remove")
        assert tested.grant(**limit, dataset="loans").status_code == 200
        yield tested


def spent(auditor: Auditor) -> int:
    return auditor.budget("loans").spent.epsilon_nano


def true_ratio(people: pd.DataFrame, model: Tree, metric: str = "statistical-parity") -> float:
    accepted = people.apply(lambda person: model.decide(person.to_dict()).favourable, axis=1)
    figures = {
        "statistical-parity": (people, accepted),
        "equal-opportunity": (people[people["repaid"]], accepted),
        "predictive-parity": (people[accepted], people["repaid"]),
    }
    among, share = figures[metric]
    rates = share[among.index].groupby(among["sex"]).mean()
    return float(rates.min() / rates.max())


def exact(comparison: ModelComparison) -> tuple[float, ...]:
    return comparison.change.ratio.value, comparison.change.ratio.low, comparison.change.ratio.high


@pytest.mark.statistical
@pytest.mark.parametrize("other", [CHANGED, BY_HOURS], ids=["one leaf changed", "another model"])
@pytest.mark.parametrize("metric", METRICS)
def test_one_question_at_one_price_has_both_models_and_what_changed(
    auditor: Auditor, people: pd.DataFrame, metric: str, other: Tree
) -> None:
    """Sample: one release; at ε = 8 a noise of 4 people has a chance of 10⁻¹³, which moves no ratio by 0.02."""
    before = spent(auditor)

    found = auditor.compare(FOUR_LEAVES, other, "loans", ["sex"], "8", metrics=[metric])

    first, second = true_ratio(people, FOUR_LEAVES, metric), true_ratio(people, other, metric)
    assert spent(auditor) == before + 8 * 10**9
    assert found.first.ratio.value == pytest.approx(first, abs=0.03)
    assert found.second.ratio.value == pytest.approx(second, abs=0.03)
    assert found.change.ratio.value == pytest.approx(second - first, abs=0.02)
    assert found.change.ratio.low - 0.02 < second - first < found.change.ratio.high + 0.02
    assert "One request counted the decisions of both models" in found.to_html()


@pytest.mark.parametrize("metric", METRICS)
def test_another_models_change_would_be_noticed(people: pd.DataFrame, metric: str) -> None:
    """The negative control: the models' true ratios are further apart than the 0.02 by which a change may be off."""
    ratios = [true_ratio(people, model, metric) for model in (FOUR_LEAVES, CHANGED, BY_HOURS)]

    assert min(abs(ratios[0] - ratios[1]), abs(ratios[0] - ratios[2])) > 0.03, ratios


def test_it_is_narrower_than_two_audits_at_half_of_epsilon(auditor: Auditor) -> None:
    """Both by the same mechanism. In 300 simulated releases the one interval is 43 to 46 % as wide as the other.

    One of the fourteen counts is off by more than 60 people, of 390 or more, with a chance of 4·10⁻¹⁰. With every count
    off by 60, up or down at random, it is 77 % at most in 25 trials.
    """
    together = auditor.compare(FOUR_LEAVES, CHANGED, "loans", ["sex"], "0.8")
    halves = [auditor.audit(model, "loans", ["sex"], "0.4", strategy="verdict") for model in (FOUR_LEAVES, CHANGED)]

    assert together.change.ratio.width < compare_results(*halves).change.ratio.width


def test_asking_again_costs_nothing_and_gives_the_same(auditor: Auditor) -> None:
    first = auditor.compare(FOUR_LEAVES, BY_HOURS, "loans", ["sex"], "0.5")
    before = spent(auditor)

    again = auditor.compare(FOUR_LEAVES, BY_HOURS, "loans", ["sex"], "0.5")
    reversed_models = auditor.compare(BY_HOURS, FOUR_LEAVES, "loans", ["sex"], "0.4")

    assert spent(auditor) == before
    assert exact(again) == exact(first)
    assert reversed_models.first.release == first.first.release
    assert reversed_models.change.ratio.value == pytest.approx(-first.change.ratio.value, abs=0.01)


def test_kept_answers_of_both_models_are_enough(auditor: Auditor) -> None:
    for model in (FOUR_LEAVES, BY_HOURS):
        auditor.audit(model, "loans", ["sex"], "0.6", strategy="verdict")
    before = spent(auditor)

    found = auditor.compare(FOUR_LEAVES, BY_HOURS, "loans", ["sex"], "0.6")

    assert spent(auditor) == before
    assert found.first.release != found.second.release


@pytest.mark.slow
def test_kept_answers_of_a_tree_and_of_a_score_are_enough(
    auditor: Auditor, features: pd.DataFrame, logistic: LogisticRegression
) -> None:
    """Also with own data, in which each model's cells are counted by its own columns."""
    for model, favourable in ((FOUR_LEAVES, None), (logistic, [True])):
        auditor.audit(
            model, "loans", ["sex"], "0.61", strategy="verdict", supports_from=features, favourable=favourable
        )
    before = spent(auditor)

    found = auditor.compare(FOUR_LEAVES, logistic, "loans", ["sex"], "0.61", supports_from=features, favourable=[True])

    assert spent(auditor) == before
    require_own_supports(found.first, features, lambda person: FOUR_LEAVES.decide(person).favourable)
    require_own_supports(found.second, features, lambda person: decided_by(logistic, person))


@pytest.mark.slow
@pytest.mark.parametrize("strategy", ["rules", "verdict"])
def test_own_data_count_either_models_cells(
    auditor: Auditor, features: pd.DataFrame, logistic: LogisticRegression, strategy: str, tmp_path: Path
) -> None:
    """Asked one by one or together; the second of two scores has another name. The file is read once for both."""
    features.to_csv(tmp_path / "own.csv", index=False)
    other = LogisticRegression(max_iter=1000).fit(features, features["hours"] > 20)
    before = spent(auditor)

    found = auditor.compare(
        logistic, other, "loans", ["sex"], "0.71", strategy=strategy, supports_from=tmp_path / "own.csv", favourable=[1]
    )

    assert spent(auditor) == before + 71 * 10**7
    require_own_supports(found.first, features, lambda person: decided_by(logistic, person))
    require_own_supports(found.second, features, lambda person: decided_by(other, person))


def decided_by(model: LogisticRegression, person: dict[Any, Any]) -> bool:
    return bool(model.predict(pd.DataFrame([person]))[0])


def require_own_supports(audit: AuditResult, features: pd.DataFrame, accepts: Any) -> None:
    """That the cells of an audit's favourable rules have as many people as are accepted."""
    counts = audit.counts[Rate.ACCEPTANCE]
    supports = audit.stored.supports or {}

    assert sum(supports[cell] for cell in counts.favourable) == sum(map(accepts, features.to_dict("records")))
    assert sum(supports[cell] for cell in (*counts.favourable, *counts.complement)) == len(features)


def test_nothing_is_spent_where_the_second_model_cannot_be_asked(
    auditor: Auditor, holder: TestedHolder, people: pd.DataFrame, tmp_path: Path
) -> None:
    """The records of the receipts directory still have a linked column that was deleted from another one."""
    linked = auditor.link(people[["id", "hours"]].rename(columns={"hours": "worked"}), "loans", name="worked")
    with Auditor(holder.url, holder.auditor_key, receipts=tmp_path / "other") as elsewhere:
        elsewhere.delete_column("loans", linked.id)
    by_worked = Tree(
        Split(
            "worked",
            (
                Branch((Predicate(column="worked", op="gt", value=30),), leaf("many", favourable=True)),
                Branch(
                    (Predicate(column="worked", op="le", value=30, or_missing=True),), leaf("few", favourable=False)
                ),
            ),
        )
    )
    before = spent(auditor)

    with pytest.raises(QuestionRefused, match="no longer has the linked column 'worked'"):
        auditor.compare(FOUR_LEAVES, by_worked, "loans", ["sex"], "0.72", strategy="rules")

    assert spent(auditor) == before


def test_an_answer_about_one_model_alone_is_not_read_for_both(auditor: Auditor) -> None:
    """All pairs whom the unpruned tree accepts are its own favourable rules; whom both accept was not asked."""
    alone = auditor.audit(FULL, "loans", ["sex"], "0.62", strategy="verdict")
    before = spent(auditor)

    found = auditor.compare(FULL, PRUNED, "loans", ["sex"], "0.62")

    assert spent(auditor) == before + 62 * 10**7
    assert found.first.release == found.second.release != alone.release


def test_an_answer_rule_by_rule_has_what_both_models_decide(auditor: Auditor) -> None:
    alone = auditor.audit(FULL, "loans", ["sex"], "0.63", strategy="rules")
    before = spent(auditor)

    found = auditor.compare(FULL, PRUNED, "loans", ["sex"], "0.63")

    assert spent(auditor) == before
    assert found.first.release == found.second.release == alone.release
    assert "One request counted the decisions of both models" in found.to_html()


def test_half_of_the_smallest_epsilon_is_refused_in_words_of_a_comparison(auditor: Auditor) -> None:
    before = spent(auditor)

    with pytest.raises(QuestionRefused, match=r"strategy pafer, or two models that are asked one by one.* 0\.002 and"):
        auditor.compare(FOUR_LEAVES, BY_HOURS, "loans", ["sex"], "0.001", strategy="rules")

    assert spent(auditor) == before


@pytest.mark.parametrize(
    "other",
    [FOUR_LEAVES, Tree(split("age", 60, FOUR_LEAVES.root, leaf("old", favourable=True), name="outer"))],
    ids=["the same", "the same decisions"],
)
def test_a_model_that_decides_alike_has_changed_by_nothing(auditor: Auditor, other: Tree) -> None:
    found = auditor.compare(FOUR_LEAVES, other, "loans", ["sex"], "0.3")

    assert exact(found) == (0.0, 0.0, 0.0)
    assert found.change.population_ratio.width == 0
    assert found.change.change is Change.NONE
    assert [cell.id for batch in found.first.plan.batches for cell in batch.cells][:1] in (["both"], ["favourable"])
    assert "equally close" in found.to_html()


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        ({"strategy": "rules"}, "the request counts the rules of each model separately"),
        ({"strategy": "pafer"}, "the request counts the rules of each model separately"),
        ({"mechanism": "exponential"}, "the mechanism exponential adds no noise"),
    ],
)
def test_what_is_no_plan_for_both_is_asked_one_by_one_for_the_same_price(
    auditor: Auditor, asked: dict[str, Any], why: str
) -> None:
    before = spent(auditor)

    found = auditor.compare(FOUR_LEAVES, BY_HOURS, "loans", ["sex"], "0.7", **asked)

    assert spent(auditor) == before + 7 * 10**8
    assert f"with half of epsilon, because {why}" in html.unescape(found.to_html())


@pytest.mark.parametrize("known", ["group_totals", "supports_from"])
def test_a_change_says_that_what_is_known_does_not_narrow_it(
    auditor: Auditor, people: pd.DataFrame, features: pd.DataFrame, known: str
) -> None:
    plain = auditor.compare(FOUR_LEAVES, BY_HOURS, "loans", ["sex"], "0.85")
    given: dict[str, Any] = {"group_totals": people["sex"].value_counts().to_dict(), "supports_from": features}

    found = auditor.compare(FOUR_LEAVES, BY_HOURS, "loans", ["sex"], "0.85", **{known: given[known]})

    said = (
        "The interval of the change does not use the known sizes of the groups or the known numbers of people of "
        "the rules."
    )
    assert found.first.release.id == plain.first.release.id
    assert exact(found) == exact(plain)
    assert found.first.ratio != plain.first.ratio
    assert said in found.change.notes
    assert said not in plain.change.notes


def test_history_and_bundle_have_both_models_of_one_answer(auditor: Auditor, tmp_path: Path) -> None:
    found = auditor.compare(FOUR_LEAVES, BY_HOURS, "loans", ["sex"], "0.8")

    kept = list(auditor.history("loans"))
    write_bundle(tmp_path / "both.zip", kept, auditor.receipts)

    assert {audit.model.rules for audit in kept} == {found.first.model.rules, found.second.model.rules}
    first, second = (
        next(one for one in kept if one.model == model) for model in (found.first.model, found.second.model)
    )
    assert exact(compare_results(first, second)) == exact(found)
    report = check_bundle(tmp_path / "both.zip")
    assert report.ok, report.to_document()
    assert len(report.checks) == 2


def test_names_that_neither_of_two_models_needs_are_refused(auditor: Auditor) -> None:
    before = spent(auditor)

    with pytest.raises(ModelRefused, match="names its favourable leaves"):
        auditor.compare(FOUR_LEAVES, BY_HOURS, "loans", ["sex"], "0.73", favourable=[True])

    assert spent(auditor) == before


@pytest.mark.slow
def test_audits_of_one_question_have_no_rules_of_their_own(auditor: Auditor) -> None:
    found = auditor.compare(FOUR_LEAVES, BY_HOURS, "loans", ["sex"], "0.9")

    assert found.first.rule_ids == ()
    assert found.second.impact_ratios()
    assert "</html>" in found.first.to_html(outlook=True)
