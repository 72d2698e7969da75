"""An audit on real parts: a scikit-learn pipeline, the client, a real holder on loopback, a real ledger."""

import io
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import skops.io
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

from auditor_client import Auditor
from auditor_client.audits.result import AuditResult
from auditor_client.errors import (
    BudgetExhausted,
    InvalidPlanRefused,
    NotFound,
    QuestionRefused,
    Unauthenticated,
    VersionGone,
)
from auditor_client.planning.capacity import Capacity
from shared.privacy.amounts import format_nano
from testing.holders import TestedHolder, running_holder
from testing.registers import register_csv

pytestmark = pytest.mark.usefixtures("coarse_chances")

PEOPLE = 4000
FEATURES = ["age", "hours", "education", "citizen"]


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    """The records that the holder has; a test may look at them, the auditor may not."""
    return pd.read_csv(io.BytesIO(register_csv(people=PEOPLE)))


@pytest.fixture(scope="module")
def model() -> Pipeline:
    """A tree behind an encoder, trained on other people, without the sensitive columns."""
    others = pd.read_csv(io.BytesIO(register_csv(people=800, seed=7)))
    wanted = (others["age"] > 45) & ((others["hours"] > 20) | (others["education"] == "high"))
    encoder = ColumnTransformer([("education", OneHotEncoder(), ["education"])], remainder="passthrough")
    pipeline = Pipeline([("encode", encoder), ("tree", DecisionTreeClassifier(max_depth=5, random_state=0))])
    return pipeline.fit(others[FEATURES], wanted)


@pytest.fixture(scope="module")
def holder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestedHolder]:
    with running_holder(tmp_path_factory.mktemp("holder"), people=PEOPLE, epsilon="100") as tested:
        yield tested


def within_the_noise(result: AuditResult, model: Pipeline, people: pd.DataFrame) -> bool:
    """Whether every group's figures are as close to the model's own decisions as the noise at ε = 5 allows.

    Each count is off by more than 4 people with a chance of 2·e^(−25)/(1 + e^(−5)) < 3·10⁻¹¹ (`shared.privacy.noise`);
    a median of the posterior lies within one person of the count that was answered.
    """
    truth = people.assign(accepted=model.predict(people[FEATURES])).fillna({"origin": "missing"})
    within = []
    for group in result.parity.groups:
        values = ["missing" if value is None else value for value in group.group]
        columns = zip(result.plan.sensitive, values, strict=True)
        members = truth[np.logical_and.reduce([truth[column] == value for column, value in columns])]
        within.append(abs(group.accepted.value - members["accepted"].sum()) <= 5)
        within.append(abs(group.size.value - len(members)) <= 9)
    return all(within)


@pytest.mark.statistical
@pytest.mark.parametrize("sensitive", [["sex"], ["origin"], ["sex", "origin"]])
def test_the_figures_are_the_models_own_up_to_the_noise(
    auditor: Auditor, model: Pipeline, people: pd.DataFrame, sensitive: list[str]
) -> None:
    """Sample: one release of at most 12 counts; threshold 4 people a count; a false alarm once in 10⁹ runs."""
    result = auditor.audit(model, "register", sensitive, "5", favourable=[1])

    assert within_the_noise(result, model, people)


@pytest.mark.statistical
def test_a_tree_that_differs_in_one_threshold_would_be_noticed(
    auditor: Auditor, model: Pipeline, people: pd.DataFrame
) -> None:
    """The negative control: of 4000 people some 30 have the one age that is moved over."""
    result = auditor.audit(model, "register", ["sex"], "5", favourable=[1])
    moved = people.assign(age=people["age"] - 1)

    assert not within_the_noise(result, model, moved)


@pytest.mark.slow
def test_every_strategy_and_estimator_gives_a_finding(auditor: Auditor, model: Pipeline) -> None:
    for strategy in ("verdict", "rules", "pafer"):
        for estimator in ("posterior", "plug-in"):
            result = auditor.audit(
                model, "register", ["sex"], "1", strategy=strategy, estimator=estimator, favourable=[1]
            )

            assert result.parity.ratio.defined
            assert "</html>" in result.to_html()
            assert json.loads(result.to_json())["strategy"] == strategy


@pytest.mark.slow
def test_a_plan_spends_nothing_and_an_audit_what_was_quoted_once(
    auditor: Auditor, model: Pipeline, holder: TestedHolder
) -> None:
    before = auditor.budget("register").spent.epsilon_nano

    planned = auditor.plan(model, "register", ["sex"], "0.3", favourable=[1])
    after_plan = auditor.budget("register").spent.epsilon_nano
    first = auditor.audit(model, "register", ["sex"], "0.3", favourable=[1])
    second = auditor.audit(model, "register", ["sex"], "0.3", favourable=[1])

    assert after_plan == before
    assert format_nano(planned.quote.charge.epsilon_nano) == "0.3"
    fitting = planned.budget.left.epsilon_nano // 300_000_000
    assert planned.capacity == Capacity(fitting)  # no δ is left for Gaussian noise
    assert f"{fitting} fit into the remaining budget" in planned.summary()
    assert auditor.budget("register").spent.epsilon_nano == before + 300_000_000
    assert first.answer == second.answer
    assert first.parity == second.parity


def test_another_draw_is_charged_and_independent(auditor: Auditor, model: Pipeline) -> None:
    first = auditor.audit(model, "register", ["sex"], "0.01", draw=1, favourable=[1])
    second = auditor.audit(model, "register", ["sex"], "0.01", draw=2, favourable=[1])

    assert first.release.id != second.release.id
    assert first.release.ledger.sequence < second.release.ledger.sequence


def test_receipts_agree_with_the_real_ledger(auditor: Auditor, model: Pipeline) -> None:
    auditor.audit(model, "register", ["sex"], "0.02", favourable=[1])
    auditor.audit(model, "register", ["origin"], "0.02", favourable=[1])

    findings = auditor.verify()

    assert findings.ok
    assert len(findings.checks) == 2
    assert findings.head is not None


@pytest.mark.slow
def test_a_neutral_tree_gives_the_same_plan_as_its_model(auditor: Auditor, model: Pipeline) -> None:
    from auditor_client.models.sklearn_tree import read_tree

    tree = read_tree(model, auditor.datasets()[0].table, favourable=[1])

    assert (
        auditor.plan(tree, "register", ["sex"], "0.5").plan.document()
        == auditor.plan(model, "register", ["sex"], "0.5", favourable=[1]).plan.document()
    )


def test_an_empty_budget_is_reported_with_its_amounts(auditor: Auditor, model: Pipeline, holder: TestedHolder) -> None:
    key = holder.open_auditor("POOR", epsilon="0.1")
    with Auditor(holder.url, key, receipts=auditor._receipts.directory) as poor:
        with pytest.raises(BudgetExhausted) as refused:
            poor.audit(model, "register", ["sex"], "0.2", favourable=[1])

        assert str(refused.value.loss("requested")) == "epsilon 0.2"
        assert str(refused.value.loss("remaining")) == "epsilon 0.1"
        assert poor.budget("register").spent.epsilon_nano == 0


def test_errors_of_the_holder_arrive_as_classes(auditor: Auditor, model: Pipeline, holder: TestedHolder) -> None:
    with pytest.raises(NotFound):
        auditor.audit(model, "nowhere", ["sex"], "0.2", favourable=[1])
    with pytest.raises(InvalidPlanRefused, match="never had a version"):
        auditor.audit(model, "register", ["sex"], "0.2", version=10**9, favourable=[1])
    with pytest.raises(QuestionRefused):
        auditor.audit(model, "register", ["age"], "0.2", favourable=[1])
    with (
        Auditor(holder.url, "no-such-key", receipts="unused") as stranger,
        pytest.raises(Unauthenticated),
    ):
        stranger.datasets()


def test_an_earlier_version_is_answered_again_after_a_reload(
    auditor: Auditor, model: Pipeline, holder: TestedHolder
) -> None:
    earlier = auditor.audit(model, "register", ["sex"], "0.04", favourable=[1])
    assert holder.load(register_csv(people=PEOPLE)).status_code == 200

    again = auditor.audit(model, "register", ["sex"], "0.04", version=earlier.release.version, favourable=[1])
    newer = auditor.audit(model, "register", ["sex"], "0.04", favourable=[1])

    with pytest.raises(VersionGone):
        auditor.audit(model, "register", ["sex"], "0.05", version=earlier.release.version, favourable=[1])
    assert again.answer == earlier.answer
    assert newer.release.version == earlier.release.version + 1


@pytest.mark.slow
def test_the_command_line_audits_a_file_and_verifies_its_receipts(
    holder: TestedHolder, model: Pipeline, tmp_path: Path
) -> None:
    skops.io.dump(model, tmp_path / "model.skops")
    environment = {
        **os.environ,
        "AUDITOR_HOLDER_URL": holder.url,
        "AUDITOR_API_KEY": holder.auditor_key,
        "AUDITOR_RECEIPTS": str(tmp_path / "receipts"),
    }
    command = [sys.executable, "-c", "from auditor_client.cli import app; app()"]

    def run(*arguments: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [*command, *arguments],
            env=environment,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    audited = run(
        "audit", "model.skops", "--dataset", "register", "--sensitive", "sex,origin", "--epsilon", "0.5",
        "--report", "report.html", "--json", "--favourable", "true",
    )  # fmt: skip
    verified = run("verify", "receipts")

    assert audited.returncode == 0, audited.stderr
    assert len(json.loads(audited.stdout)["metrics"]["statistical-parity"]["groups"]) == 6
    assert json.loads(audited.stdout)["model"]["file_digest"].startswith("sha256:")
    assert "ε = 0.5" in (tmp_path / "report.html").read_text(encoding="utf-8")
    assert verified.returncode == 0, verified.stderr
    assert holder.auditor_key not in audited.stdout + audited.stderr + verified.stdout + verified.stderr
