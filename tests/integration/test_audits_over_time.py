"""Several audits on real parts: figures, mechanisms, relations; answers used again; comparison, history, bundle."""

import io
import json
import random
import shutil
import zipfile
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from auditor_client import Auditor, AuditResult, Tree
from auditor_client.asking.request import FALSE_DISCOVERY_RATE, FALSE_OMISSION_RATE, OF_DECISIONS
from auditor_client.audits.bundle import check_bundle, write_bundle
from auditor_client.audits.history import stored_history
from auditor_client.cli import app
from auditor_client.errors import QuestionRefused, ReceiptsDamaged
from auditor_client.estimation.results import Change
from auditor_client.exchange.receipts import Receipts
from shared.contract.schema import Column
from shared.wire.canonical import sha256_name
from testing.holders import TestedHolder, running_holder
from testing.invented.questions import FLIPPED, FOUR_LEAVES

pytestmark = pytest.mark.usefixtures("coarse_chances")

PEOPLE = 6000
SEX = {"name": "sex", "type": "category", "categories": ["Female", "Male"], "sensitive": True}
COLUMNS: list[dict[str, Any]] = [
    {"name": "age", "type": "integer", "minimum": 0, "maximum": 120},
    {"name": "region", "type": "category", "categories": ["North", "South"]},
    {"name": "repaid", "type": "boolean", "label": True},
    SEX,
    {"name": "origin", "type": "category", "categories": ["here", "there"], "sensitive": True},
]


def invented_people() -> pd.DataFrame:
    source = random.Random(3)
    rows = []
    for person in range(PEOPLE):
        sex = source.choice(["Female", "Male"])
        age = min(int(source.gammavariate(4, 11 if sex == "Female" else 8)), 120)
        rows.append(
            {
                "id": f"p{person}",
                "age": age,
                "region": source.choice(["North", "South"]),
                "repaid": source.random() < (0.7 if age > 30 else 0.5),
                "sex": sex,
                "origin": source.choice(["here", "there", "there"]),
            }
        )
    return pd.DataFrame(rows)


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    """The records that the holder has; a test may look at them, the auditor may not."""
    return invented_people()


@pytest.fixture(scope="module")
def holder(tmp_path_factory: pytest.TempPathFactory, people: pd.DataFrame) -> Iterator[TestedHolder]:
    home = tmp_path_factory.mktemp("holder")
    records = people.assign(repaid=people["repaid"].map({True: "true", False: "false"})).to_csv(index=False).encode()
    with running_holder(home, epsilon="100") as tested:
        limit = {"epsilon": "900", "delta": "0.01"}
        for name, relation in (("loans", "add_remove"), ("shared", "sensitive_attribute")):
            tested.offer(name, records, cap=limit, columns=COLUMNS, relation=relation)
            assert tested.grant(**limit, dataset=name).status_code == 200
        yield tested


def true_rates(people: pd.DataFrame, model: Tree = FOUR_LEAVES) -> dict[str, dict[str, float]]:
    """Each figure's rate by sex, from the records themselves."""
    accepted = people.apply(lambda person: model.decide(person.to_dict()).favourable, axis=1)
    repaid = people["repaid"].astype(float)
    table = people.assign(accepted=accepted.astype(float), refused=1.0 - accepted, repaid=repaid, failed=1 - repaid)
    true, false = table[table["repaid"] == 1], table[table["repaid"] == 0]
    refused = table[table["accepted"] == 0]

    def by_sex(part: pd.DataFrame, column: str) -> dict[str, float]:
        return {str(sex): float(rate) for sex, rate in part.groupby("sex")[column].mean().items()}

    return {
        "acceptance": by_sex(table, "accepted"),
        "positive": by_sex(true, "accepted"),
        "negative": by_sex(false, "accepted"),
        "precision": by_sex(table[table["accepted"] == 1], "repaid"),
        "adverse": by_sex(table, "refused"),
        "adverse-odds": by_sex(table, "refused"),
        "adverse-positive": by_sex(true, "refused"),
        "adverse-negative": by_sex(false, "refused"),
        "false-discovery": by_sex(refused, "failed"),
        "false-omission": by_sex(refused, "repaid"),
    }


def off_by(result: AuditResult, truth: dict[str, dict[str, float]]) -> float:
    """The largest distance of an estimated rate from the true one."""
    rates = result.to_frame().reset_index()
    return max(
        abs(float(row["rate"]) - truth[row["figure"]][row["sex"]])
        for row in rates[["figure", "sex", "rate"]].to_dict("records")
    )


@pytest.mark.statistical
@pytest.mark.parametrize("mechanism", ["laplace", "gaussian", "exponential"])
@pytest.mark.parametrize("strategy", ["verdict", "rules", "pafer"])
def test_every_strategy_and_mechanism_measures_every_figure(
    auditor: Auditor, people: pd.DataFrame, strategy: str, mechanism: str
) -> None:
    """Sample: one release; every group of every figure has hundreds of people, and at ε = 8 a sum of noises beyond 25
    people has a chance below 10⁻⁹ by each mechanism (the widest, exponential with pafer: scale 0.5, four cells).
    """
    of_refused = {FALSE_DISCOVERY_RATE, FALSE_OMISSION_RATE} if strategy == "pafer" else set()  # it counts no refused
    metrics = [metric for metric in OF_DECISIONS if metric not in of_refused]
    result = auditor.audit(FOUR_LEAVES, "loans", ["sex"], "8", strategy=strategy, mechanism=mechanism, metrics=metrics)

    assert off_by(result, true_rates(people)) < 0.06
    assert result.metrics == tuple(metrics)
    assert "</html>" in result.to_html()


@pytest.mark.statistical
def test_another_models_figures_would_be_noticed(auditor: Auditor, people: pd.DataFrame) -> None:
    """The negative control: the same leaves decide the other way round."""
    result = auditor.audit(FOUR_LEAVES, "loans", ["sex"], "8", metrics=OF_DECISIONS)

    assert off_by(result, true_rates(people, FLIPPED)) > 0.06


def test_a_scope_and_a_reference_reach_the_figures(auditor: Auditor, people: pd.DataFrame) -> None:
    result = auditor.audit(FOUR_LEAVES, "loans", ["sex"], "5", where="region = North", reference="Male")

    sizes = people[people["region"] == "North"]["sex"].value_counts()
    assert result.parity.reference == ("Male",)
    assert [row.group for row in result.parity.comparisons] == [("Female",)]
    assert {group.group[0]: group.size.value for group in result.parity.groups} == pytest.approx(
        sizes.to_dict(), abs=15
    )
    assert "region is North" in result.to_html()


@pytest.mark.parametrize("source", ["table", "file"])
def test_with_own_data_one_counted_group_suffices(
    auditor: Auditor, people: pd.DataFrame, tmp_path: Path, source: str
) -> None:
    features: Any = people.drop(columns=["sex", "origin"])
    if source == "file":
        features.to_csv(tmp_path / "features.csv", index=False)
        features = tmp_path / "features.csv"

    with pytest.raises(QuestionRefused, match="Nothing was spent"):
        auditor.audit(FOUR_LEAVES, "shared", ["sex"], "5")
    result = auditor.audit(FOUR_LEAVES, "shared", ["sex"], "5", supports_from=features, metrics=OF_DECISIONS[:2])

    assert result.release.batches[0].counted_groups == (("Female",),)
    assert off_by(result, true_rates(people)) < 0.06


def test_rules_have_shares_that_add_up_and_can_be_flipped(auditor: Auditor) -> None:
    result = auditor.audit(FOUR_LEAVES, "loans", ["sex"], "5", strategy="rules")

    shares = result.attribution()
    flipped = result.flip("a")
    page = result.to_html()

    assert result.rule_ids == ("a", "d", "b", "c")
    assert sum(share.share.value for share in shares.shares) == pytest.approx(shares.difference.value)
    assert flipped.ratio.value != result.ratio.value
    assert "Which rules make the difference" in page
    assert "If one rule decided the other way" in page


def spent(auditor: Auditor) -> int:
    return auditor.budget("loans").spent.epsilon_nano


FREE: dict[str, dict[str, Any]] = {
    "the unions of the leaves": {"strategy": "verdict", "epsilon": "0.4"},
    "by one of two columns": {"sensitive": ["origin"], "epsilon": "0.1"},
    "another figure of the same cells": {"metrics": ["predictive-parity"], "epsilon": "0.5"},
    "another model of the same leaves": {"model": FLIPPED, "strategy": "rules", "epsilon": "0.5"},
}
CHARGED: dict[str, dict[str, Any]] = {
    "more accuracy": {"epsilon": "9"},
    "another scope": {"where": "age > 18", "epsilon": "0.1"},
    "an independent draw": {"draw": 2, "epsilon": "0.1"},
    "no reuse": {"reuse": False, "epsilon": "0.1"},
}


def asked(auditor: Auditor, change: dict[str, Any]) -> AuditResult:
    question: dict[str, Any] = {"model": FOUR_LEAVES, "sensitive": ["sex", "origin"], "metrics": ["equalized-odds"]}
    question = {**question, "strategy": "verdict", **change}
    model, sensitive, epsilon = question.pop("model"), question.pop("sensitive"), question.pop("epsilon")
    return auditor.audit(model, "loans", sensitive, epsilon, **question)


@pytest.mark.parametrize("case", [*FREE, *CHARGED])
def test_kept_counts_answer_a_new_question_if_they_are_as_exact(auditor: Auditor, case: str) -> None:
    first = asked(auditor, {"strategy": "rules", "epsilon": "4"})
    before = spent(auditor)

    again = asked(auditor, {**FREE, **CHARGED}[case])

    assert again.reused == (case in FREE)
    assert (spent(auditor) == before) == (case in FREE)
    if case in FREE:
        assert again.release == first.release
        assert "Nothing was spent" in again.summary()


def test_the_very_same_question_is_asked_again_of_the_holder_for_nothing(auditor: Auditor) -> None:
    first = asked(auditor, {"epsilon": "0.3"})
    before = spent(auditor)

    again = asked(auditor, {"epsilon": "0.3"})

    assert not again.reused
    assert (spent(auditor), again.answer) == (before, first.answer)
    assert "nothing was charged now" not in first.summary()
    assert "Answered before" in again.summary()
    assert "nothing was charged now" in again.summary()


def test_two_models_are_compared_with_an_interval_on_the_change(auditor: Auditor, people: pd.DataFrame) -> None:
    """Sample: one release for both models; at ε = 8 the ratios, 0.014 apart, are off by 0.005, which takes noise of
    five people, with a chance below 10⁻¹⁵.
    """
    before = spent(auditor)

    comparison = auditor.compare(FOUR_LEAVES, FLIPPED, "loans", ["sex"], "8", strategy="rules")

    ratios = [min(rates.values()) / max(rates.values()) for rates in
              (true_rates(people, model)["acceptance"] for model in (FOUR_LEAVES, FLIPPED))]  # fmt: skip
    assert comparison.change.ratio.value == pytest.approx(ratios[1] - ratios[0], abs=0.03)
    assert comparison.change.change == (Change.CLOSER if ratios[1] > ratios[0] else Change.FARTHER)
    assert spent(auditor) == before + 8 * 10**9  # the second model has the same leaves
    assert "answered from the same counts" in comparison.to_html()
    assert set(comparison.to_frame().index.get_level_values("audit")) == {"first", "second"}
    assert json.dumps(comparison.to_document())


@pytest.mark.parametrize("options", [{"estimator": "plug-in"}, {"metrics": "equalized-odds"}])
def test_what_cannot_be_compared_is_refused_before_anything_is_spent(auditor: Auditor, options: dict[str, Any]) -> None:
    before = spent(auditor)

    with pytest.raises(QuestionRefused, match="compare"):
        auditor.compare(FOUR_LEAVES, FLIPPED, "loans", ["sex"], "0.3", **options)

    assert spent(auditor) == before


@pytest.mark.slow
def test_kept_audits_are_a_history_of_their_dataset_and_model(auditor: Auditor) -> None:
    first = asked(auditor, {"epsilon": "0.2"})
    asked(auditor, {"epsilon": "0.2", "model": FLIPPED})
    second = asked(auditor, {"epsilon": "0.25"})

    whole, of_model = auditor.history("loans"), auditor.history("loans", model=first.model.rules[:20])

    assert len(whole) == 3
    assert len(auditor.history("elsewhere")) == 0
    assert [audit.release.id for audit in of_model] == [first.release.id, second.release.id]
    assert [audit.estimates for audit in of_model] == [first.estimates, second.estimates]
    frame = of_model.to_frame()
    by_both = frame[frame["sensitive"] == "sex, origin"]
    assert list(by_both["ratio"]) == [first.ratio.value, second.ratio.value]
    assert "</html>" in whole.to_html()


@pytest.fixture(scope="module")
def evidence(holder: TestedHolder, people: pd.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with receipts of three audits, rule by rule, reused and with own data, and their bundle."""
    directory = tmp_path_factory.mktemp("evidence")
    with Auditor(holder.url, holder.auditor_key, receipts=directory / "receipts") as auditor:
        audits = [
            auditor.audit(FOUR_LEAVES, "loans", ["sex"], "2", strategy="rules", metrics=OF_DECISIONS, reference="Male"),
            auditor.audit(FOUR_LEAVES, "loans", ["sex"], "0.5"),
            auditor.audit(FOUR_LEAVES, "shared", ["sex"], "2", supports_from=people.drop(columns=["sex", "origin"])),
        ]
        write_bundle(directory / "out.zip", audits, auditor.receipts)
    assert [audit.reused for audit in audits] == [False, True, False]
    return directory


@pytest.fixture
def bundle(evidence: Path, tmp_path: Path) -> Path:
    """A copy of the bundle, to be changed."""
    return Path(shutil.copy(evidence / "out.zip", tmp_path))


@pytest.mark.slow
def test_a_bundle_is_checked_and_every_figure_computed_again(bundle: Path) -> None:
    found = check_bundle(bundle)

    assert found.ok, found.to_document()
    assert len(found.checks) == 3


def test_a_bundle_of_an_audit_that_was_asked_again_holds(auditor: Auditor, tmp_path: Path) -> None:
    """The page of the second says that nothing was charged now, which no note keeps."""
    auditor.audit(FOUR_LEAVES, "loans", ["sex"], "0.31")
    again = auditor.audit(FOUR_LEAVES, "loans", ["sex"], "0.31")

    write_bundle(tmp_path / "again.zip", [again], auditor.receipts)

    assert again.stored.repeated
    report = check_bundle(tmp_path / "again.zip")
    assert report.ok, report.to_document()


@pytest.mark.slow
@pytest.mark.parametrize(("limit", "value"), [("MEMBERS_MAX", 3), ("BYTES_MAX", 1000)])
def test_no_bundle_is_written_that_would_be_refused(
    evidence: Path, bundle: Path, monkeypatch: pytest.MonkeyPatch, limit: str, value: int
) -> None:
    monkeypatch.setattr(f"auditor_client.audits.bundle.{limit}", value)
    before = bundle.read_bytes()

    with pytest.raises(ReceiptsDamaged, match="write fewer audits"):
        write_bundle(bundle, [*stored_history(Receipts(evidence / "receipts"))], Receipts(evidence / "receipts"))

    assert bundle.read_bytes() == before


@pytest.mark.slow
def test_a_bundle_is_checked_with_the_holders_own_keys(bundle: Path, holder: TestedHolder, tmp_path: Path) -> None:
    (tmp_path / "keys.json").write_bytes(holder.client.get("/v1/keys").content)
    right = check_bundle(bundle, keys=tmp_path / "keys.json")
    document = json.loads((tmp_path / "keys.json").read_bytes())
    document["keys"][0]["public_key"] = "A" * 43 + "="
    (tmp_path / "keys.json").write_text(json.dumps(document))

    assert right.ok
    assert not check_bundle(bundle, keys=tmp_path / "keys.json").ok


Forgery = Callable[[dict[str, bytes]], None]


def forge(part: str, old: bytes, new: bytes) -> Forgery:
    def change(files: dict[str, bytes]) -> None:
        name = next(name for name in sorted(files) if name.startswith(part) and old in files[name])
        files[name] = files[name].replace(old, new, 1)

    return change


def change(bundle: Path, forgery: Forgery, *, relisted: bool = True) -> None:
    """Change the members of a bundle, and by default list them anew."""
    with zipfile.ZipFile(bundle) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    forgery(files)
    if relisted:
        manifest = json.loads(files["manifest.json"])
        manifest["files"] = {name: sha256_name(content) for name, content in files.items() if name != "manifest.json"}
        files["manifest.json"] = json.dumps(manifest).encode()
    with zipfile.ZipFile(bundle, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)


def remove(files: dict[str, bytes], part: str) -> None:
    del files[next(name for name in files if name.startswith(part))]


FORGERIES: dict[str, Forgery] = {
    "a count": forge("receipts/", b'"counts":[', b'"counts":[1'),
    "a figure": forge("figures/", b'"value": 0.', b'"value": 0.9'),
    "a verdict": forge("figures/", b'"verdict": "', b'"verdict": "un'),
    "a decision": forge("questions/", b'"favourable": true', b'"favourable": false'),
    "a sentence": forge("figures/", b'"explanation": "', b'"explanation": "not '),
    "a threshold": forge("questions/", b'"threshold": 0.8', b'"threshold": 0.1'),
    "the report": forge("reports/", b"people", b"persons"),
    "an empty report": lambda files: files.update({next(n for n in files if n.startswith("reports/")): b""}),
    "no receipt": lambda files: remove(files, "receipts/"),
}


@pytest.mark.parametrize("relisted", [False, True])
@pytest.mark.parametrize("case", sorted(FORGERIES))
def test_a_forged_bundle_does_not_hold(bundle: Path, case: str, relisted: bool) -> None:
    """Also where the forger writes the manifest anew."""
    change(bundle, FORGERIES[case], relisted=relisted)

    assert not check_bundle(bundle).ok


@pytest.mark.slow
@pytest.mark.parametrize(("case", "ok"), [("a sentence", True), ("the report", True), ("a figure", False)])
def test_of_a_bundle_by_other_versions_the_figures_are_compared_alone(bundle: Path, case: str, ok: bool) -> None:
    """Later versions use other words; what was not compared is said."""
    for _ in range(3):
        change(bundle, forge("figures/", f'"pafer": "{version("pafer")}"'.encode(), b'"pafer": "0.0.9"'))
    change(bundle, FORGERIES[case])

    found = check_bundle(bundle)

    assert found.ok == ok
    assert {check.remark is None for check in found.checks} == ({False} if ok else {False, True})


@pytest.mark.parametrize("content", [b"", b"no zip", b"PK\x03\x04"])
def test_a_file_that_is_no_bundle_is_reported(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "out.zip").write_bytes(content)

    with pytest.raises(ReceiptsDamaged):
        check_bundle(tmp_path / "out.zip")


def test_an_empty_zip_file_is_no_bundle(tmp_path: Path) -> None:
    with io.BytesIO() as memory:
        zipfile.ZipFile(memory, "w").close()
        (tmp_path / "out.zip").write_bytes(memory.getvalue())

    with pytest.raises(ReceiptsDamaged, match="manifest"):
        check_bundle(tmp_path / "out.zip")


@pytest.mark.slow
def test_the_command_line_writes_and_checks_a_bundle_and_shows_the_history(evidence: Path, tmp_path: Path) -> None:
    directory = evidence / "receipts"

    def run(*arguments: str | Path) -> Any:
        return CliRunner().invoke(app, list(map(str, arguments)))

    written = run("bundle", "write", tmp_path / "again.zip", "--receipts", directory)
    checked = run("bundle", "check", tmp_path / "again.zip", "--json")
    history = run("history", directory, "--dataset", "loans", "--json")
    shown = run("history", directory)

    assert "3 audits" in written.stdout
    assert json.loads(checked.stdout)["ok"], checked.output
    assert len(json.loads(history.stdout)["audits"]) == 2
    assert "Statistical parity" in shown.stdout


@pytest.mark.slow
def test_a_plan_shows_every_strategy_and_finds_the_smallest_epsilon(auditor: Auditor, people: pd.DataFrame) -> None:
    before = spent(auditor)
    features = people.drop(columns=["sex", "origin"])

    planned = auditor.plan(FOUR_LEAVES, "loans", ["sex"], "0.5", supports_from=features)
    targeted = auditor.plan(FOUR_LEAVES, "loans", ["sex"], target_width=0.1, strategy="verdict", people=1000)

    assert [one.strategy for one in planned.forecast.strategies] == ["verdict", "rules", "pafer"]
    assert planned.forecast.from_supports
    assert targeted.expectation.width <= 0.1
    assert targeted.quote.charge.epsilon_nano < 10**9
    assert "</html>" in targeted.to_html()
    assert spent(auditor) == before
    with pytest.raises(QuestionRefused, match="either"):
        auditor.plan(FOUR_LEAVES, "loans", ["sex"])


@pytest.mark.slow
def test_a_result_is_at_home_in_a_notebook(auditor: Auditor) -> None:
    result = auditor.audit(FOUR_LEAVES, "loans", ["sex", "origin"], "1", metrics=OF_DECISIONS)

    frame, figure = result.to_frame(), result.plot("equalized-odds")

    assert len(frame) == 4 * (len(OF_DECISIONS) + 1)  # four groups; equalized odds have two rates
    here = "statistical-parity", "acceptance", "Female", "here"
    assert result.by_group["rate"]["Female", "here"] == frame["rate"][here]
    assert len(figure.axes) == 2
    assert "iframe" in result._repr_html_()
    assert isinstance(np.asarray(frame["size"]).sum(), float)
    assert Column.model_validate(SEX).sensitive
