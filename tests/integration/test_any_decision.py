"""Audits at a real holder of what is no tree: linked decisions, declared columns, linked labels, boosted models."""

import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import lightgbm
import numpy as np
import pandas as pd
import pytest
from lightgbm import LGBMClassifier
from typer.testing import CliRunner
from xgboost import XGBClassifier

from auditor_client import Auditor
from auditor_client.audits.bundle import check_bundle, write_bundle
from auditor_client.audits.result import AuditResult
from auditor_client.cli import app
from auditor_client.errors import ColumnRefused, QuestionRefused
from testing.holders import TestedHolder, running_holder
from testing.registers import register_csv

pytestmark = pytest.mark.usefixtures("coarse_chances")

PEOPLE = 4000


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    """The records that the holder has."""
    return pd.read_csv(io.BytesIO(register_csv(people=PEOPLE)))


@pytest.fixture(scope="module")
def decisions(people: pd.DataFrame) -> pd.DataFrame:
    """What the auditor has: decisions about three quarters of the people, and about many whom the holder lacks."""
    draw = np.random.default_rng(3)
    known = people[people.index % 4 > 0]
    wanted = np.where(known["sex"] == "Male", 0.7, 0.4)
    return pd.DataFrame(
        {
            "id": [*known["id"], *(f"stranger-{number}" for number in range(1000))],
            "decision": [
                *np.where(draw.random(len(known)) < wanted, "granted", "refused"),
                *["granted"] * 500,
                *["refused"] * 500,
            ],
            "paid": draw.random(len(known) + 1000) < 0.6,
        }
    )


@pytest.fixture(scope="module")
def holder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestedHolder]:
    with running_holder(tmp_path_factory.mktemp("holder"), people=PEOPLE, epsilon="100") as tested:
        yield tested


def within_the_noise(result: AuditResult, decided: pd.DataFrame) -> bool:
    """Whether every group's figures are as close to the decisions as the noise at ε = 5 allows.

    Args:
        result: Of statistical parity by sex.
        decided: One row for each person who was decided about: sex, and whether the decision is favourable.

    Each count is off by more than 4 people with a chance of 2·e^(−25)/(1 + e^(−5)) < 3·10⁻¹¹ (`shared.privacy.noise`);
    a median of the posterior lies within one person of the count that was answered.
    """
    return all(
        abs(group.accepted.value - members["favourable"].sum()) <= 5 and abs(group.size.value - len(members)) <= 9
        for group in result.parity.groups
        for members in [decided[decided["sex"] == group.group[0]]]
    )


def met(people: pd.DataFrame, decisions: pd.DataFrame) -> pd.DataFrame:
    joined = people.merge(decisions, on="id")
    return joined.assign(favourable=joined["decision"] == "granted")


@pytest.mark.statistical
def test_linked_decisions_are_audited_for_those_who_have_one(
    auditor: Auditor, people: pd.DataFrame, decisions: pd.DataFrame
) -> None:
    """Sample: one release of 4 counts; threshold 4 people a count; a false alarm once in 10⁹ runs."""
    before = auditor.budget("register").spent
    linked = auditor.link(decisions[["id", "decision"]], "register", name="decision")
    assert auditor.budget("register").spent == before

    result = auditor.audit(
        dataset="register", sensitive=["sex"], epsilon="5", decision="decision", favourable=["granted"]
    )

    assert result.plan.columns == {"decision": linked.id}
    assert within_the_noise(result, met(people, decisions))
    assert result.verdict.value == "fails"


@pytest.mark.statistical
def test_decisions_that_were_swapped_would_be_noticed(
    auditor: Auditor, people: pd.DataFrame, decisions: pd.DataFrame
) -> None:
    """The negative control: 40 people more are granted."""
    auditor.link(decisions[["id", "decision"]], "register", name="decision")
    result = auditor.audit(
        dataset="register", sensitive=["sex"], epsilon="5", decision="decision", favourable=["granted"]
    )

    refused = decisions.index[decisions["decision"] == "refused"][:40]
    others = decisions.assign(decision=decisions["decision"].mask(decisions.index.isin(refused), "granted"))
    assert not within_the_noise(result, met(people, others))


@pytest.mark.statistical
def test_a_declared_column_is_audited_without_linking(auditor: Auditor, people: pd.DataFrame) -> None:
    """Sample, threshold and false alarms as above."""
    citizens = auditor.audit(dataset="register", sensitive=["sex"], epsilon="5", decision="citizen", favourable="true")
    hours = auditor.audit(dataset="register", sensitive=["sex"], epsilon="5", decision="hours", above=20.5)

    assert within_the_noise(citizens, people.assign(favourable=people["citizen"]))
    assert within_the_noise(hours, people.dropna(subset="hours").assign(favourable=people["hours"] > 20.5))
    assert citizens.plan.columns is hours.plan.columns is None


@pytest.mark.statistical
def test_a_linked_label_says_what_people_turned_out_to_be(
    auditor: Auditor, people: pd.DataFrame, decisions: pd.DataFrame
) -> None:
    """Sample: one release of 8 counts, each off by at most 4 people as above; a rate of some 800 people by 0.02."""
    auditor.link(decisions, "register", name="decision")
    auditor.link(decisions, "register", name="paid", label=True)

    result = auditor.audit(
        dataset="register", sensitive=["sex"], epsilon="5", decision="decision", favourable=["granted"], label="paid",
        metrics=["equalized-odds"],
    )  # fmt: skip

    joined = met(people, decisions)
    for of_label, estimate in ((True, result.odds.true_positive), (False, result.odds.false_positive)):
        for group in estimate.groups:
            members = joined[(joined["sex"] == group.group[0]) & (joined["paid"] == of_label)]
            assert abs(group.rate.value - members["favourable"].mean()) < 0.02


@pytest.mark.slow
def test_everything_outlives_a_restart_of_both(tmp_path: Path, people: pd.DataFrame, decisions: pd.DataFrame) -> None:
    asked: dict[str, Any] = {"dataset": "register", "sensitive": ["sex"], "decision": "decision"}
    receipts = tmp_path / "receipts"
    with running_holder(tmp_path, people=300) as tested:
        with Auditor(tested.url, tested.auditor_key, receipts=receipts) as auditor:
            linked = auditor.link(decisions, "register", name="decision")
            first = auditor.audit(favourable=["granted"], epsilon="1", **asked)
        settings = tested
    with settings.reopened() as again, Auditor(again.url, again.auditor_key, receipts=receipts) as auditor:
        assert [column.id for column in auditor.columns("register")] == [linked.id]
        assert auditor.audit(favourable=["granted"], epsilon="1", **asked).answer == first.answer
        assert auditor.audit(favourable=["granted"], epsilon="2", **asked).release.id != first.release.id
        assert again.load(register_csv(people=299)).status_code == 200  # a new version: the values are joined again
        renewed = auditor.audit(favourable=["granted"], epsilon="2", **asked)
        assert (renewed.release.version, renewed.plan.columns) == (2, first.plan.columns)
        bundle = write_bundle(tmp_path / "audits.zip", auditor.history().audits, auditor.receipts)
        assert auditor.verify().ok
    assert [check.fault for check in check_bundle(bundle).checks] == [None] * 3


@pytest.mark.slow
def test_a_deleted_column_is_gone_and_its_releases_stay(
    auditor: Auditor, holder: TestedHolder, decisions: pd.DataFrame
) -> None:
    asked: dict[str, Any] = {"dataset": "register", "sensitive": ["sex"], "decision": "gone", "favourable": ["granted"]}
    linked = auditor.link(decisions, "register", name="gone", value="decision")
    first = auditor.audit(epsilon="1", **asked)

    auditor.delete_column("register", linked.id)

    assert linked.id not in {column.id for column in auditor.columns("register")}
    with pytest.raises(QuestionRefused, match="link them first"):
        auditor.audit(epsilon="2", **asked)
    assert auditor.verify().ok
    assert first.release.id in {audit.release.id for audit in auditor.history()}


@pytest.mark.slow
def test_what_the_holder_refuses_is_said_in_plain_words(auditor: Auditor, decisions: pd.DataFrame) -> None:
    with pytest.raises(QuestionRefused, match="declares a column 'age'"):
        auditor.link(decisions, "register", name="age", value="decision")
    for number in range(32 - len(auditor.columns("register"))):
        auditor.link(decisions.head(3), "register", name=f"many-{number}", value="decision")
    with pytest.raises(ColumnRefused, match="32"):
        auditor.link(decisions.head(3), "register", name="too-many", value="decision")
    for column in auditor.columns("register"):
        auditor.delete_column("register", column.id)


@pytest.fixture
def run(holder: TestedHolder, tmp_path: Path) -> Callable[..., str]:
    """A command of the auditor's, and what it prints."""
    environment = {
        "AUDITOR_HOLDER_URL": holder.url,
        "AUDITOR_API_KEY": holder.auditor_key,
        "AUDITOR_RECEIPTS": str(tmp_path / "receipts"),
        "AUDITOR_CONFIG": "",
    }

    def invoked(*arguments: str) -> str:
        result = CliRunner().invoke(app, list(arguments), env=environment)
        assert result.exit_code == 0, result.stderr
        return result.stdout

    return invoked


@pytest.mark.slow
def test_commands_cut_a_score_into_bands_by_own_data(
    run: Callable[..., str], people: pd.DataFrame, tmp_path: Path
) -> None:
    people[["age", "hours"]].to_csv(tmp_path / "own.csv", index=False)
    decided = ["--decision", "hours", "--above", "20", "--bands", "4", "--supports-from", str(tmp_path / "own.csv")]
    question = [*decided, "--dataset", "register", "--sensitive", "sex", "--epsilon", "1", "--json"]

    planned = json.loads(run("plan", *question))
    audited = json.loads(run("audit", *question))

    edges = sorted({20.0, *people["hours"].dropna().quantile([0.25, 0.5, 0.75], interpolation="lower")})
    assert [len(batch["cells"]) for batch in planned["plan"]["batches"]] == [len(edges) + 1]
    assert len(audited["rules"]) == len(edges) + 1


@pytest.mark.slow
def test_commands_link_and_audit(run: Callable[..., str], decisions: pd.DataFrame, tmp_path: Path) -> None:
    decisions.to_csv(tmp_path / "decisions.csv", index=False)

    linked = run("link", str(tmp_path / "decisions.csv"), "--dataset", "register", "--name", "decision")
    run("link", str(tmp_path / "decisions.csv"), "--dataset", "register", "--name", "paid", "--label")
    question = ["--dataset", "register", "--sensitive", "sex", "--decision", "decision", "--favourable", "granted"]
    planned = run("plan", *question, "--epsilon", "1")
    audited = run("audit", *question, "--epsilon", "1", "--metric", "equalized-odds", "--label", "paid", "--json")

    assert "Linked: decision (category: granted, refused)" in linked
    assert "Name it with --decision decision." in linked
    assert "The decisions in the column “decision”, linked by the auditor." in planned
    assert json.loads(audited)["columns"].keys() == {"decision", "paid"}
    listed = json.loads(run("columns", "--dataset", "register", "--json"))["columns"]
    assert {column["column"]["name"] for column in listed} == {"decision", "paid"}
    assert "decision" not in run("columns", "--dataset", "register", "--delete", listed[0]["id"])


@pytest.fixture(scope="module")
def boosters(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Boosted models of two makers in their own files, trained on other people without the sensitive columns."""
    others = pd.read_csv(io.BytesIO(register_csv(people=2000, seed=7)))
    features = others[["age", "hours"]]
    wanted = ((others["age"] > 45) & ((others["hours"] > 20) | (others["education"] == "high"))).astype(int)
    folder = tmp_path_factory.mktemp("boosters")
    light = LGBMClassifier(n_estimators=40, verbose=-1).fit(features, wanted)
    light.booster_.save_model(folder / "model.txt")
    extreme = XGBClassifier(n_estimators=40).fit(features, wanted)
    extreme.save_model(folder / "model.json")
    return {"model.txt": folder / "model.txt", "model.json": folder / "model.json"}


def decided_by(file: Path, people: pd.DataFrame) -> pd.DataFrame:
    """What the maker's own library decides."""
    features = people[["age", "hours"]]
    if file.suffix == ".txt":
        scores = np.asarray(lightgbm.Booster(model_file=file).predict(features))
    else:
        extreme = XGBClassifier()
        extreme.load_model(file)
        scores = extreme.predict_proba(features)[:, 1]
    return people.assign(favourable=scores > 0.5)


@pytest.mark.statistical
@pytest.mark.parametrize("name", ["model.txt", "model.json"])
def test_a_boosted_models_figures_are_the_makers_own_up_to_the_noise(
    auditor: Auditor, people: pd.DataFrame, boosters: dict[str, Path], name: str
) -> None:
    """Sample: one release of 4 counts; threshold 4 people a count; a false alarm once in 10⁹ runs."""
    result = auditor.audit(boosters[name], "register", ["sex"], "5", favourable=[1])

    assert within_the_noise(result, decided_by(boosters[name], people))
    assert not within_the_noise(result, people.assign(favourable=people["age"] > 45))
    assert result.plan.columns is not None
    assert "read exactly: 0 of" in result.to_html()


@pytest.mark.slow
def test_two_models_of_different_makers_are_compared(
    auditor: Auditor, boosters: dict[str, Path], tmp_path: Path
) -> None:
    comparison = auditor.compare(
        boosters["model.txt"], boosters["model.json"], "register", ["sex"], "2", favourable=[1]
    )
    page = comparison.to_html()

    assert "LightGBM" in page
    assert "XGBoost" in page
    assert set(comparison.first.plan.columns or ()) == {"score", "score-2"}, "one question names both models' scores"
    assert comparison.first.release == comparison.second.release
    bundle = write_bundle(tmp_path / "both.zip", [comparison.first, comparison.second], auditor.receipts)
    assert [check.fault for check in check_bundle(bundle).checks] == [None, None]


@pytest.mark.slow
def test_a_score_outlives_a_restart_and_is_computed_again_for_new_records(
    tmp_path: Path, boosters: dict[str, Path]
) -> None:
    model, sex = boosters["model.txt"], ["sex"]
    receipts = tmp_path / "receipts"
    with running_holder(tmp_path, people=300) as tested:
        with Auditor(tested.url, tested.auditor_key, receipts=receipts) as auditor:
            first = auditor.audit(model, "register", sex, "1", favourable=[1])
        settings = tested
    with settings.reopened() as again, Auditor(again.url, again.auditor_key, receipts=receipts) as auditor:
        assert auditor.audit(model, "register", sex, "1", favourable=[1]).answer == first.answer
        assert again.load(register_csv(people=299)).status_code == 200
        renewed = auditor.audit(model, "register", sex, "2", favourable=[1])
        assert (renewed.release.version, renewed.plan.columns) == (2, first.plan.columns)
        assert len(auditor.columns("register")) == 1
