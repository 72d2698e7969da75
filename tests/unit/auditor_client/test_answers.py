"""How a release is read: each figure from the cells that count it, whoever asked for them."""

from typing import Final

import pytest

from auditor_client.asking.question import Question
from auditor_client.asking.request import STRATEGIES
from auditor_client.errors import EstimationRefused, HolderLied, QuestionRefused
from auditor_client.findings.answers import RATES, Rate, read
from auditor_client.models.tree import Tree
from shared.contract.rules import Cell
from shared.kinds.releases import Release
from testing.invented.people import PEOPLE, true_counts
from testing.invented.questions import FLIPPED, OF_REFUSED, exact_release, leaf, measured_by, question, split
from testing.registers import LOANS


def counts_of(asked: Question, release: Release) -> dict[Rate, tuple[list[int], list[int]]]:
    """Accepted and refused people of each rate, as a release counts them."""
    answered = {}
    for rate, counts in read(release, asked).items():
        measured = counts.measurement
        complement = measured.complement.totals
        if measured.complement_is == "everybody":
            complement = complement - measured.favourable.totals
        answered[rate] = (measured.favourable.totals.tolist(), complement.tolist())
    return answered


ASKED: Final = [
    (strategy, metrics)
    for strategy in STRATEGIES
    for one in [measured_by(strategy)]
    for metrics in (*((metric,) for metric in one), one, one[1:], one[::3])
]


@pytest.mark.parametrize(("strategy", "metrics"), ASKED)
def test_every_strategy_measures_every_rate(strategy: str, metrics: tuple[str, ...]) -> None:
    asked = question(strategy=strategy, metrics=metrics, sensitive=["sex", "origin"])

    answered = counts_of(asked, exact_release(asked.plan, PEOPLE))

    assert answered == {
        rate: true_counts(rate, ["sex", "origin"], PEOPLE) for metric in metrics for rate in RATES[metric]
    }


@pytest.mark.parametrize("metric", OF_REFUSED)
def test_the_papers_strategy_refuses_rates_among_the_refused(metric: str) -> None:
    with pytest.raises(QuestionRefused, match="does not count refused people"):
        question(strategy="pafer", metrics=[metric])


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_scope_is_the_people_within_it(strategy: str) -> None:
    asked = question(
        strategy=strategy, metrics=measured_by(strategy), where=["region in (North, South)", "hours >= 20"]
    )
    within = [p for p in PEOPLE if p["region"] != "East" and isinstance(p["hours"], float) and p["hours"] >= 20]

    answered = counts_of(asked, exact_release(asked.plan, PEOPLE))

    assert answered[Rate.TRUE_POSITIVE] == true_counts(Rate.TRUE_POSITIVE, ["sex"], within)
    assert answered[Rate.ACCEPTANCE] == true_counts(Rate.ACCEPTANCE, ["sex"], within)
    if strategy != "pafer":
        assert answered[Rate.FALSE_DISCOVERY] == true_counts(Rate.FALSE_DISCOVERY, ["sex"], within)


def test_every_leaf_is_a_row_that_knows_its_name() -> None:
    asked = question(strategy="rules")
    counts = read(exact_release(asked.plan, PEOPLE), asked)[Rate.ACCEPTANCE]

    assert (counts.favourable, counts.complement) == (("a", "d"), ("b", "c"))


def test_supports_are_those_of_the_rows() -> None:
    asked = question(strategy="rules")

    def count(cell: Cell) -> int:
        return sum(cell.matches(person) for person in PEOPLE)

    release = exact_release(asked.plan, PEOPLE)
    counts = read(release, asked, supports=count)[Rate.ACCEPTANCE]

    measured = counts.measurement
    assert measured.supports is not None
    assert list(measured.supports.favourable) == measured.favourable.counts.sum(axis=1).tolist()
    assert list(measured.supports.complement) == measured.complement.counts.sum(axis=1).tolist()


def test_with_supports_the_count_of_one_of_two_groups_is_enough() -> None:
    dataset = LOANS.model_copy(update={"relation": "sensitive_attribute"})
    asked = question(dataset=dataset)
    release = exact_release(asked.plan, PEOPLE, dataset)

    def count(cell: Cell) -> int:
        return sum(cell.matches(person) for person in PEOPLE)

    counts = read(release, asked, supports=count)[Rate.ACCEPTANCE]

    assert counts.measurement.favourable.counts.shape == (1, 1)
    with pytest.raises(EstimationRefused, match="supports"):
        read(release, asked)


def test_an_answer_rule_by_rule_also_answers_the_unions() -> None:
    """Kept counts of leaves: the new question's two unions are sums of them."""
    release = exact_release(question(strategy="rules").plan, PEOPLE)

    assert counts_of(question(), release)[Rate.ACCEPTANCE] == true_counts(Rate.ACCEPTANCE, ["sex"], PEOPLE)


def test_an_answer_split_by_label_also_answers_without() -> None:
    release = exact_release(question(strategy="rules", metrics=["equalized-odds"]).plan, PEOPLE)

    assert counts_of(question(), release)[Rate.ACCEPTANCE] == true_counts(Rate.ACCEPTANCE, ["sex"], PEOPLE)


@pytest.mark.parametrize("sensitive", [["sex"], ["origin"], ["origin", "sex"]])
def test_an_answer_by_more_columns_also_answers_by_fewer(sensitive: list[str]) -> None:
    release = exact_release(question(sensitive=["sex", "origin"]).plan, PEOPLE)
    asked = question(sensitive=sensitive)

    assert counts_of(asked, release)[Rate.ACCEPTANCE] == true_counts(Rate.ACCEPTANCE, sensitive, PEOPLE)


def test_an_answer_about_another_model_is_read_if_the_leaves_are_the_same() -> None:
    """Two leaves decide otherwise after a mitigation: nothing new has to be asked."""
    release = exact_release(question(strategy="rules").plan, PEOPLE)

    answered = counts_of(question(FLIPPED, strategy="rules"), release)

    assert answered[Rate.ACCEPTANCE] == true_counts(Rate.ACCEPTANCE, ["sex"], PEOPLE)[::-1]


@pytest.mark.parametrize(
    "other",
    [
        {"where": ["age >= 18"]},
        {"metrics": ["equal-opportunity"]},
        {"model": Tree(split("age", 41, leaf("a", True), leaf("b", False)))},
        {"sensitive": ["sex", "origin"]},
    ],
)
def test_a_release_that_does_not_count_what_is_needed_is_refused(other: dict[str, object]) -> None:
    release = exact_release(question().plan, PEOPLE)

    with pytest.raises(EstimationRefused):
        counts_of(question(**other), release)  # type: ignore[arg-type]  # keywords of one function


@pytest.mark.parametrize("change", ["cells", "missing", "name", "groups"])
def test_an_answer_that_does_not_fit_its_plan_is_not_used(change: str) -> None:
    asked = question(strategy="pafer")
    release = exact_release(asked.plan, PEOPLE)
    first, second = release.batches
    wrong = {
        "cells": second.model_copy(update={"cells": second.cells[::-1]}),
        "missing": second.model_copy(update={"cells": second.cells[:1]}),
        "name": second.model_copy(update={"name": "other"}),
        "groups": second.model_copy(update={"groups": second.groups[::-1]}),
    }[change]

    with pytest.raises(HolderLied):
        counts_of(asked, release.model_copy(update={"batches": (first, wrong)}))


@pytest.mark.parametrize("counts", [(1,), (1, 2, 3), (10**15, 2)])
def test_counts_that_cannot_be_are_refused(counts: tuple[int, ...]) -> None:
    asked = question()
    release = exact_release(asked.plan, PEOPLE)
    cells = tuple(cell.model_copy(update={"counts": counts}) for cell in release.batches[0].cells)
    batch = release.batches[0].model_copy(update={"cells": cells})

    with pytest.raises(EstimationRefused):
        counts_of(asked, release.model_copy(update={"batches": (batch,)}))
