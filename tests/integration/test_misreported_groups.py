"""Audits of groups that are recorded wrongly, on a running holder: what is said, kept, passed on and refused."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from auditor_client import Auditor
from auditor_client.audits.bundle import check_bundle, write_bundle
from auditor_client.audits.comparing import compare_results
from auditor_client.audits.history import stored_history
from auditor_client.cli import app
from auditor_client.errors import QuestionRefused
from auditor_client.estimation.estimates import Verdict
from testing.holders import TestedHolder, running_holder
from tests.contract.__main__ import required

pytestmark = pytest.mark.usefixtures("coarse_chances")

COLUMNS: Final = [
    {"name": "region", "type": "category", "categories": ["north", "south"]},
    {"name": "chosen", "type": "boolean"},
    {"name": "checked", "type": "boolean"},
    {"name": "sex", "type": "category", "categories": ["Female", "Male"], "sensitive": True},
    {"name": "born", "type": "category", "categories": ["here", "there"], "sensitive": True},
    {"name": "faith", "type": "boolean", "sensitive": True, "nullable": True},
    {"name": "qualified", "type": "boolean", "label": True},
]
EPSILON: Final = "1"
STUDY: Final = {"Female": {"Female": 3000, "Male": 1000}, "Male": {"Female": 600, "Male": 3400}}
"""A quarter of the women are recorded as men, and 15 % of the men as women."""


def register() -> pd.DataFrame:
    """20 000 people with their true sex, which the holder does not have, and their recorded one."""
    rng = np.random.default_rng(37)
    number = 20_000
    true = rng.choice(["Female", "Male"], number)
    wrong = rng.random(number) < np.where(true == "Female", 0.25, 0.15)
    chosen = rng.random(number) < np.where(true == "Female", 0.47, 0.65)
    checked = rng.random(number) < np.where(true == "Female", 0.10, 0.20)
    return pd.DataFrame(
        {
            "id": [f"p{index}" for index in range(number)],
            "region": rng.choice(["north", "south"], number),
            "chosen": np.where(chosen, "true", "false"),
            "checked": np.where(checked, "true", "false"),
            "sex": np.where(wrong == (true == "Female"), "Male", "Female"),
            "born": rng.choice(["here", "there"], number),
            "faith": rng.choice(["true", "false", ""], number),
            "qualified": rng.choice(["true", "false"], number),
            "true": true,
        }
    )


def rates(people: pd.DataFrame, decision: str, column: str) -> dict[str, float]:
    """The share with a decision, by the true or the recorded sex."""
    decided = people[decision] == "true"
    return {value: float(decided[people[column] == value].mean()) for value in ("Female", "Male")}


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    return register()


@pytest.fixture(scope="module")
def holder(tmp_path_factory: pytest.TempPathFactory, people: pd.DataFrame) -> Iterator[TestedHolder]:
    with running_holder(tmp_path_factory.mktemp("holder"), epsilon="50") as tested:
        required(tested.declare("people", columns=COLUMNS, records_max=30_000, cap={"epsilon": "60"}))
        required(tested.load(people.drop(columns="true").to_csv(index=False).encode(), "people"))
        required(tested.admin("PUT", "/datasets/people/budgets/ADR", json={"epsilon": "50"}))
        yield tested


@pytest.fixture(scope="module")
def auditor(holder: TestedHolder, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Auditor]:
    receipts = tmp_path_factory.mktemp("auditor") / "receipts"
    with Auditor(str(holder.client.base_url), holder.auditor_key, receipts=receipts) as auditor:
        yield auditor


def audit(auditor: Auditor, decision: str = "chosen", sensitive: Any = "sex", **asked: Any) -> Any:
    favourable = decision == "chosen"
    given = {"decision": decision, "favourable": favourable, "intervention": "assistive", "misreported": STUDY, **asked}
    return auditor.audit(None, "people", sensitive, EPSILON, **given)


def test_a_verdict_is_about_true_groups(auditor: Auditor, people: pd.DataFrame) -> None:
    result = audit(auditor, misreported_source="Reinterview survey, table 3")
    plain = audit(auditor, misreported=None)

    true, recorded = rates(people, "chosen", "true"), rates(people, "chosen", "sex")
    # How often intervals hold is measured by `checks.misreported_groups`; these ends are wide enough for this register.
    assert result.parity.ratio.low < true["Female"] / true["Male"] < result.parity.ratio.high
    assert result.parity.ratio.value == pytest.approx(true["Female"] / true["Male"], abs=0.05)
    assert plain.parity.ratio.value == pytest.approx(recorded["Female"] / recorded["Male"], abs=0.02)
    assert plain.parity == result.parity.as_recorded
    assert plain.verdict is Verdict.MEETS
    assert result.verdict is Verdict.FAILS
    assert plain.receipt == result.receipt  # one answer, at one charge
    data = result.report.data
    assert "with a study of 8 000 people. With the groups as recorded, the" in data.headline.replace("\u202f", " ")
    assert (
        "With the groups as recorded, the decision practice in the column “chosen” would meet the four-fifths rule"
        in data.headline
    )
    assert "Source of the study: Reinterview survey, table 3." in data.sections[0].misreported.sentences
    assert [row.verdict for row in data.sections[0].misreported.rows] == ["meets", "fails"]
    assert "It covers that noise and nothing else" not in result.to_html()


def test_a_burden_is_corrected_in_its_own_direction(auditor: Auditor, people: pd.DataFrame) -> None:
    result = audit(auditor, "checked", intervention="punitive", metrics="adverse-ratio")

    (estimate,) = result.estimates.values()
    true = rates(people, "checked", "true")
    assert estimate.ratio.low < true["Male"] / true["Female"] < estimate.ratio.high
    assert 1 < estimate.as_recorded.ratio.value < estimate.ratio.low
    assert "times the lowest" in result.report.data.headline


def test_both_figures_of_equalized_odds_are_corrected(auditor: Auditor) -> None:
    result = audit(auditor, metrics="equalized-odds", threshold=0.8)

    (estimate,) = result.estimates.values()
    assert estimate.true_positive.ratio.value < estimate.as_recorded.true_positive.ratio.value
    assert estimate.false_positive.ratio.value < estimate.as_recorded.false_positive.ratio.value
    assert estimate.ratio.value < estimate.as_recorded.ratio.value


@pytest.mark.parametrize("known", ["join", "supports_from"])
def test_further_answers_and_own_data_are_corrected_too(auditor: Auditor, people: pd.DataFrame, known: str) -> None:
    own = people[["region", "chosen", "checked", "qualified"]].replace({"true": True, "false": False})
    asked: dict[str, dict[str, Any]] = {"join": {"join": True, "draw": 5}, "supports_from": {"supports_from": own}}

    result = audit(auditor, **asked[known])

    true = rates(people, "chosen", "true")
    assert result.parity.ratio.low < true["Female"] / true["Male"] < result.parity.ratio.high
    assert result.parity.ratio.high < result.parity.as_recorded.ratio.low
    if known == "supports_from":  # the draws of true groups add up to the people who are known to be accepted
        accepted = sum(group.accepted.value for group in result.parity.groups)
        assert accepted == pytest.approx((people["chosen"] == "true").sum(), abs=2)


def test_a_study_without_information_leaves_the_verdict_open(auditor: Auditor) -> None:
    alike = {"Female": {"Female": 500, "Male": 500}, "Male": {"Female": 500, "Male": 500}}

    result = audit(auditor, misreported=alike)

    assert result.verdict is Verdict.UNDECIDED
    assert 0 <= result.parity.ratio.low < 0.1
    assert 0.9 < result.parity.ratio.high <= 1
    assert "A larger ε narrows the noise alone." in result.report.data.explanation


@pytest.mark.parametrize(
    ("sensitive", "asked", "reason"),
    [
        ("sex", {"by": "region"}, "does not combine with `by`"),
        (
            "sex",
            {"chain": ["chosen", "checked"], "decision": None, "favourable": None},
            "does not combine with `chain`",
        ),
        ("sex", {"joint": True}, "does not combine with `joint`"),
        ("sex", {"judged": "2%"}, "does not combine with `judged`"),
        ("sex", {"until_decided": True}, "does not combine with `until_decided`"),
        ("sex", {"unknown": "bounds"}, "does not combine with `unknown`"),
        ("sex", {"group_totals": {"Female": 10000}}, "does not combine with `group_totals`"),
        ("sex", {"estimator": "plug-in"}, "plug-in"),
        (["sex", "born"], {}, "one sensitive column"),
        ("faith", {"misreported": {True: {True: 5, False: 1}, False: {True: 1, False: 5}}}, "missing values"),
        ("sex", {"misreported": {"Female": {"Female": 5}}}, "somebody of each true group"),
        ("sex", {"misreported": {"Women": {"Female": 5}}}, "no group"),
        ("sex", {"misreported": {"Female": {"Female": 0.9, "Male": 0.1}}}, "counts, not shares"),
        ("sex", {"misreported": None, "misreported_source": "A survey"}, "give the study"),
    ],
)
def test_what_does_not_combine_is_refused_before_anything_is_spent(
    auditor: Auditor, sensitive: Any, asked: dict[str, Any], reason: str
) -> None:
    spent = auditor.budget("people").spent

    with pytest.raises(QuestionRefused, match=reason):
        audit(auditor, sensitive=sensitive, **asked)

    assert auditor.budget("people").spent == spent


def test_what_reads_recorded_groups_refuses_a_corrected_audit(auditor: Auditor) -> None:
    corrected, plain = audit(auditor), audit(auditor, misreported=None)

    with pytest.raises(QuestionRefused, match="one model"):
        compare_results(plain, corrected)
    with pytest.raises(QuestionRefused, match="misreported"):
        auditor.watch(corrected, "0.1")
    with pytest.raises(QuestionRefused, match="misreported"):
        auditor.plan(None, "people", "sex", decision="chosen", favourable=True, misreported=STUDY, target_width=0.1)


@pytest.mark.parametrize("language", ["en", "de", "fr", "nl"])
def test_the_page_has_the_section_in_every_language(auditor: Auditor, language: str) -> None:
    page = audit(auditor).to_html(language=language)

    heading = {
        "en": "Wrongly recorded groups",
        "de": "Falsch erfasste Gruppen",
        "fr": "Groupes mal enregistrés",
        "nl": "Verkeerd geregistreerde groepen",
    }
    assert heading[language] in page


def test_the_document_history_and_bundle_have_it(auditor: Auditor, tmp_path: Path) -> None:
    result = audit(auditor, draw=2)

    document = json.loads(result.to_json())
    again = next(one for one in stored_history(auditor.receipts).audits if one.release.id == result.release.id)
    checked = check_bundle(write_bundle(tmp_path / "bundle.zip", [result], auditor.receipts))

    assert document["misreported"]["groups"][1] == {"true": ["Female"], "recorded": ["Male"], "people": 1000}
    assert document["metrics"]["statistical-parity"]["as_recorded"]["verdict"] == "meets"
    assert again.parity == result.parity
    assert "corrected for wrongly recorded groups" in stored_history(auditor.receipts).to_html()
    assert checked.ok, [(one.fault, one.remark) for one in checked.checks]


@pytest.mark.parametrize("form", ["json", "csv"])
def test_the_command_line_takes_a_file(holder: TestedHolder, auditor: Auditor, tmp_path: Path, form: str) -> None:
    path = tmp_path / f"study.{form}"
    rows = [(true, recorded, number) for true, row in STUDY.items() for recorded, number in row.items()]
    table = pd.DataFrame(rows, columns=["true", "recorded", "people"])
    path.write_text(json.dumps(STUDY) if form == "json" else table.to_csv(index=False))

    run = CliRunner().invoke(
        app,
        ["audit", "--dataset", "people", "--decision", "chosen", "--favourable", "true", "--sensitive", "sex",
         "--epsilon", EPSILON, "--intervention", "assistive", "--misreported", str(path)],
        env={
            "AUDITOR_HOLDER_URL": str(holder.client.base_url),
            "AUDITOR_API_KEY": holder.auditor_key,
            "AUDITOR_RECEIPTS": str(auditor.receipts.directory),
        },
    )  # fmt: skip

    assert run.exit_code == 0, run.output
    assert "With the groups as recorded" in " ".join(run.output.split())


def test_a_plan_forecasts_the_corrected_width(auditor: Auditor) -> None:
    planned = auditor.plan(
        None, "people", "sex", "0.5", decision="chosen", favourable=True, intervention="assistive", people=20_000,
        misreported=STUDY,
    )  # fmt: skip

    rows = planned.forecast.misreported
    assert [row.loss.epsilon_nano for row in rows] == [500_000_000, 2_000_000_000, 8_000_000_000]
    assert all(row.width > 2 * row.recorded_width for row in rows)
    assert rows[-1].width > rows[0].width / 4  # the study and the records leave a width that no budget narrows
    result = audit(auditor, draw=3).parity
    assert rows[0].width == pytest.approx(result.ratio.width, rel=0.5)
    assert "Corrected for wrongly recorded groups" in planned.summary()
    assert "narrows the noise alone: the study" in planned.to_html()
    without = auditor.plan(None, "people", "sex", "0.5", decision="chosen", favourable=True, people=20_000)
    assert without.forecast.misreported == ()
