"""Audits with public totals of groups, on a running holder: what they change, what is kept, what is never sent."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from typer.testing import CliRunner

from auditor_client import Auditor
from auditor_client.audits.bundle import check_bundle, write_bundle
from auditor_client.audits.history import stored_history
from auditor_client.cli import app
from auditor_client.errors import EstimationRefused, QuestionRefused
from testing.holders import TestedHolder, running_holder
from testing.invented.questions import FOUR_LEAVES
from tests.contract.audits import declare, invented_people

pytestmark = pytest.mark.usefixtures("coarse_chances")

SOURCE = "Census 2021, table 7"


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    """The records that the holder has; a census has counted them by sex and origin."""
    return invented_people()


@pytest.fixture(scope="module")
def holder(tmp_path_factory: pytest.TempPathFactory, people: pd.DataFrame) -> Iterator[TestedHolder]:
    with running_holder(tmp_path_factory.mktemp("holder"), epsilon="50") as tested:
        declare(tested, people)
        yield tested


@pytest.fixture
def auditor(holder: TestedHolder, tmp_path: Path) -> Iterator[Auditor]:
    with Auditor(str(holder.client.base_url), holder.auditor_key, receipts=tmp_path / "receipts") as auditor:
        yield auditor


@pytest.fixture(scope="module")
def census(people: pd.DataFrame) -> pd.DataFrame:
    return people.groupby(["origin", "sex"]).size().rename("people").reset_index()


@pytest.mark.slow
def test_totals_make_sizes_exact_and_are_not_sent(auditor: Auditor, census: pd.DataFrame) -> None:
    asked: dict[str, Any] = {"model": FOUR_LEAVES, "dataset": "loans", "sensitive": ["origin", "sex"], "epsilon": "0.2"}
    plain = auditor.audit(**asked)
    spent = auditor.budget("loans").spent

    known = auditor.audit(**asked, group_totals=census, totals_source=SOURCE)

    assert known.release.id == plain.release.id
    assert auditor.budget("loans").spent == spent
    assert SOURCE not in json.dumps(dict(known.answer))
    for group, before, count in zip(known.parity.groups, plain.parity.groups, census["people"], strict=True):
        assert (group.size.low, group.size.high) == (count, count)
        assert before.size.low < before.size.high
    assert known.ratio != plain.ratio
    assert SOURCE in known.to_html()
    assert json.loads(known.to_json())["group_totals"]["source"] == SOURCE


@pytest.mark.slow
def test_a_reader_computes_the_figures_again(auditor: Auditor, census: pd.DataFrame, tmp_path: Path) -> None:
    bounds = census.assign(people_min=census["people"] - 20, people_max=census["people"] + 20).drop(columns="people")
    result = auditor.audit(
        FOUR_LEAVES, "loans", ["origin", "sex"], "0.3", group_totals=bounds, strategy="rules", totals_source=SOURCE
    )

    again = stored_history(auditor.receipts).audits[0]
    checked = check_bundle(write_bundle(tmp_path / "bundle.zip", [result], auditor.receipts))

    assert again.parity == result.parity
    assert again.impact_ratios() == result.impact_ratios()
    assert checked.ok, checked
    for group, count in zip(result.parity.groups, census["people"], strict=True):
        assert count - 20 <= group.size.low <= group.size.high <= count + 20


def test_wrong_totals_are_refused_and_the_answer_can_still_be_read(auditor: Auditor, census: pd.DataFrame) -> None:
    wrong = census.assign(people=census["people"] + [200, 0, 0, 0])
    asked: dict[str, Any] = {"model": FOUR_LEAVES, "dataset": "loans", "sensitive": ["origin", "sex"], "epsilon": "0.4"}

    with pytest.raises(EstimationRefused, match="group totals"):
        auditor.audit(**asked, group_totals=wrong)
    spent = auditor.budget("loans").spent

    assert auditor.audit(**asked).ratio.defined
    assert auditor.budget("loans").spent == spent


def test_totals_that_fit_no_question_spend_nothing(auditor: Auditor, census: pd.DataFrame) -> None:
    spent = auditor.budget("loans").spent

    refused: list[dict[str, Any]] = [{"metrics": "equal-opportunity"}, {"estimator": "plug-in"}]
    for more in refused:
        with pytest.raises(QuestionRefused, match="group_totals"):
            auditor.audit(FOUR_LEAVES, "loans", ["origin", "sex"], "0.5", group_totals=census, **more)

    assert auditor.budget("loans").spent == spent


def test_totals_and_own_data_together(auditor: Auditor, people: pd.DataFrame) -> None:
    """Of one of two groups alone, and of groups that were perturbed at their source."""
    own, sizes = people.drop(columns=["sex", "origin"]), people["sex"].value_counts().to_dict()

    halved = auditor.audit(FOUR_LEAVES, "halves", ["sex"], "0.5", supports_from=own, group_totals=sizes)
    reported = auditor.audit(FOUR_LEAVES, "survey", ["sex"], supports_from=own, group_totals=sizes)

    for result in (halved, reported):
        for group in result.parity.groups:
            assert group.size.low == group.size.high == sizes[group.group[0]]


@pytest.mark.slow
def test_the_command_line_takes_a_table(holder: TestedHolder, census: pd.DataFrame, tmp_path: Path) -> None:
    census.to_csv(tmp_path / "census.csv", index=False)
    (tmp_path / "key").write_text(holder.auditor_key)
    asked = [
        "--dataset",
        "loans",
        "--sensitive",
        "origin,sex",
        "--epsilon",
        "0.6",
        "--decision",
        "repaid",
        "--favourable",
        "true",
    ]
    given = ["--group-totals", str(tmp_path / "census.csv"), "--totals-source", SOURCE]
    reached = ["--holder-url", str(holder.client.base_url), "--key-file", str(tmp_path / "key")]

    planned = CliRunner().invoke(app, ["plan", *asked, *given, *reached])
    found = CliRunner().invoke(
        app, ["audit", *asked, *given, *reached, "--receipts", str(tmp_path / "receipts"), "--json"]
    )

    assert planned.exit_code == 0, planned.output
    assert "By what is known beforehand:" in planned.output
    assert SOURCE in planned.output
    assert next(line for line in planned.output.splitlines() if "each group has" in line).endswith("(given)")
    assert found.exit_code == 0, found.output
    groups = json.loads(found.stdout)["group_totals"]["groups"]
    assert [group["most"] for group in groups] == census["people"].tolist()
