"""One answer, every table, end to end: the figures by each column, by each pair and by all, for one charge."""

import random
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from auditor_client import Auditor, AuditResult
from auditor_client.audits.bundle import check_bundle, write_bundle
from auditor_client.errors import QuestionRefused
from auditor_client.estimation.estimates import Verdict
from auditor_client.estimation.results import GroupEstimate
from auditor_client.findings.answers import RATES
from auditor_client.findings.insight import parity_of
from testing.holders import TestedHolder, running_holder
from testing.invented.questions import four_leaves

pytestmark = pytest.mark.usefixtures("coarse_chances")

PEOPLE = 9000
VALUES = {"sex": ["Female", "Male"], "origin": ["here", "there", "elsewhere"], "disabled": ["yes", "no"]}
COLUMNS: list[dict[str, Any]] = [
    {"name": "age", "type": "integer", "minimum": 0, "maximum": 120},
    {"name": "region", "type": "category", "categories": ["North", "South"]},
    {"name": "repaid", "type": "boolean", "label": True},
    *({"name": name, "type": "category", "categories": of, "sensitive": True} for name, of in VALUES.items()),
]
OVER_40 = four_leaves(False, False, True, True)
OVER_20 = four_leaves(False, True, True, True)
TABLES = [columns for number in (1, 2) for columns in combinations(VALUES, number)]
EPSILON = 5


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    """Sex makes no difference to who is over 40, origin does: by sex all is well, by origin it is not."""
    source = random.Random(23)
    rows = []
    for person in range(PEOPLE):
        drawn = {name: source.choice(values) for name, values in VALUES.items()}
        old = source.random() < {"here": 0.7, "there": 0.65, "elsewhere": 0.3}[drawn["origin"]]
        age = source.randint(41, 90) if old else source.randint(10, 40)
        repaid = "true" if source.random() < 0.6 else "false"
        rows.append(
            {"id": f"p{person}", "age": age, "region": source.choice(["North", "South"]), "repaid": repaid, **drawn}
        )
    return pd.DataFrame(rows)


@pytest.fixture(scope="module")
def holder(tmp_path_factory: pytest.TempPathFactory, people: pd.DataFrame) -> Iterator[TestedHolder]:
    with running_holder(tmp_path_factory.mktemp("holder"), epsilon="900") as tested:
        limit = {"epsilon": "900", "delta": "0"}
        records = people.to_csv(index=False).encode()
        tested.offer("loans", records, cap=limit, columns=COLUMNS, relation="add_remove")
        assert tested.grant(**limit, dataset="loans").status_code == 200
        yield tested


def true_rate(people: pd.DataFrame, columns: tuple[str, ...], group: tuple[Any, ...]) -> float:
    part = people
    for column, value in zip(columns, group, strict=True):
        part = part[part[column] == value]
    return float((part["age"] > 40).mean())


def rates(result: AuditResult) -> list[GroupEstimate]:
    return list(result.parity.groups)


@pytest.mark.statistical
def test_one_charge_answers_every_table(auditor: Auditor, people: pd.DataFrame) -> None:
    """Of 12 groups of some 750 people each count is off by more than 7 with a chance below 10⁻¹⁴ at ε = 5; a coarser
    group adds up at most six of each kind, so no rate is off by .03.
    """
    before = auditor.budget("loans").spent.epsilon_nano

    result = auditor.audit(OVER_40, "loans", [*VALUES], str(EPSILON), intervention="assistive")

    assert auditor.budget("loans").spent.epsilon_nano - before == EPSILON * 10**9
    assert list(result.tables) == TABLES
    for columns in TABLES:
        table = result.by(*columns)
        assert table.release is result.release
        for group in rates(table):
            assert group.rate.value == pytest.approx(true_rate(people, columns, group.group), abs=0.03)
    assert result.by("sex").verdict is Verdict.MEETS
    assert result.by("disabled", "sex").verdict is Verdict.MEETS
    assert result.by("origin").verdict is Verdict.FAILS
    assert result.by("disabled", "origin", "sex") is result


def test_the_sentences_of_each_table_are_true_of_its_figures(auditor: Auditor) -> None:
    result = auditor.audit(OVER_40, "loans", ["sex", "origin"], "5", intervention="assistive")

    data = result.view.data.tables
    page, text = result.to_html(), result.summary()

    assert data is not None
    assert [table.title for table in data.tables] == ["By sex", "By origin"]
    by_sex, by_origin = data.tables
    assert "meets the four-fifths rule for favourable rates for sex" in by_sex.heading
    assert "fails the four-fifths rule for favourable rates for origin" in by_origin.heading
    worst = result.by("origin").parity.extremes
    assert worst is not None
    assert worst[0].group == ("elsewhere",)
    assert "in the group “elsewhere”" in by_origin.heading
    assert "All figures of this report together cost ε = 5." in data.words[0]
    for sentence in (*data.words, by_sex.heading, by_origin.heading):
        assert sentence in text
    assert page.count("By fewer attributes, from the same answer") == 1
    for language, title in (("de", "Nach weniger Merkmalen"), ("fr", "Par moins de"), ("nl", "Naar minder kenmerken")):
        assert title in result.to_html(language=language)


def test_the_tables_are_in_document_history_frame_and_bundle(auditor: Auditor, tmp_path: Path) -> None:
    result = auditor.audit(OVER_40, "loans", ["sex", "origin"], "5", metrics=["statistical-parity", "equalized-odds"])
    document = result.to_document()
    history = auditor.history("loans")
    write_bundle(tmp_path / "out.zip", [result.by("sex")], auditor.receipts)

    assert [table["sensitive"] for table in document["tables"]] == [["sex"], ["origin"]]
    for table in document["tables"]:
        found = result.by(*table["sensitive"])
        assert table["verdict"] == found.verdict.value
        assert table["metrics"]["equalized-odds"]["ratio"]["low"] == found.odds.ratio.low
    (kept,) = history
    assert [kept.by("sex").estimates, kept.by("origin").estimates] == [
        result.by("sex").estimates, result.by("origin").estimates,
    ]  # fmt: skip
    frame = history.to_frame()
    assert list(dict.fromkeys(frame["sensitive"])) == ["sex, origin", "sex", "origin"]
    assert [row.by for row in history.view.data.rows if row.by == "origin"]
    assert [one["sensitive"] for one in history.to_document()["audits"][0]["tables"]] == [["sex"], ["origin"]]
    report = check_bundle(tmp_path / "out.zip")
    assert report.ok, report.to_document()
    assert len(report.checks) == 1


def test_strata_two_models_sizes_and_joint_readings_have_tables_too(auditor: Auditor) -> None:
    within = auditor.audit(OVER_40, "loans", ["sex", "origin"], "5", by="region", intervention="assistive")
    judged = auditor.audit(OVER_40, "loans", ["sex", "origin"], "5", judged="2%", joint=True, intervention="assistive")
    compared = auditor.compare(OVER_40, OVER_20, "loans", ["sex", "origin"], "5", intervention="assistive")

    of_parity = within.by("origin").by_stratum["statistical-parity"]
    assert [one.verdict for one in of_parity.strata] == [Verdict.FAILS, Verdict.FAILS]
    assert "Within at least one value of “region”" in within.summary().partition("By origin:")[2]
    assert judged.by("origin").ratio.width > within.by("origin").ratio.width
    assert "not over all tables" in judged.summary()
    assert [table.first.plan.sensitive for table in compared.tables] == [("sex",), ("origin",)]
    by_origin = compared.by("origin")
    assert by_origin.change.change.value == "closer to parity"
    assert "closer to statistical parity for origin" in compared.summary()
    assert [table["change"] for table in compared.to_document()["tables"]] == [
        table.change.change.value for table in compared.tables
    ]


def test_a_table_that_an_audit_does_not_have_is_refused_by_its_name(auditor: Auditor) -> None:
    result = auditor.audit(OVER_40, "loans", ["sex", "origin"], "5")

    with pytest.raises(QuestionRefused, match=r"It has them by: sex; origin; sex, origin. Name one"):
        result.by("disabled")
    assert auditor.audit(OVER_40, "loans", ["sex"], "0.1", estimator="plug-in", reuse=False).tables == {}


@pytest.mark.statistical
def test_every_table_is_a_sum_of_the_same_people(auditor: Auditor) -> None:
    """All tables have as many people altogether, but for what medians of sums differ from sums of medians."""
    result = auditor.audit(OVER_40, "loans", [*VALUES], "5", metrics=["equal-opportunity"])
    (metric,), (rate,) = result.metrics, RATES["equal-opportunity"]

    sizes = {
        columns: sum(group.size.value for group in parity_of(result.by(*columns).estimates[metric], rate).groups)
        for columns in (*TABLES, tuple(VALUES))
    }

    assert max(sizes.values()) - min(sizes.values()) < 10
