"""Audits whose figures rest on several kept answers, on a running holder: what is joined, shown, kept, and refused."""

import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from typer.testing import CliRunner

from auditor_client import Auditor, AuditResult
from auditor_client.audits.bundle import check_bundle, write_bundle
from auditor_client.audits.history import stored_history
from auditor_client.cli import app
from auditor_client.errors import QuestionRefused
from auditor_client.findings.answers import Rate
from auditor_client.findings.insight import parity_of
from auditor_client.findings.notes import Note
from shared.wire.canonical import sha256_name
from testing.holders import TestedHolder, running_holder
from testing.invented.questions import FOUR_LEAVES, four_leaves
from tests.contract.audits import declare, invented_people

pytestmark = pytest.mark.usefixtures("coarse_chances")


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
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


ASKED: dict[str, Any] = {"model": FOUR_LEAVES, "dataset": "loans", "sensitive": ["sex"]}
GAUSSIAN: dict[str, Any] = {**ASKED, "mechanism": "gaussian", "delta": "0.00001"}
"""Intervals of Gaussian noise are as wide whatever was drawn, those of several Laplace answers are not."""


def _width(result: AuditResult) -> float:
    """How wide the interval of the first group's rate is."""
    return result.parity.groups[0].rate.width


def releases(result: AuditResult) -> list[str]:
    """All releases that a result rests on."""
    return [answer.release.id for answer in result.stored.answers]


@pytest.mark.slow
def test_figures_rest_on_every_draw_and_on_other_plans_about_the_same_people(auditor: Auditor) -> None:
    first = auditor.audit(**ASKED, epsilon="0.1")
    second = auditor.audit(**ASKED, epsilon="0.1", draw=2)
    gaussian = auditor.audit(**GAUSSIAN, epsilon="0.1", reuse=False)
    by_rule = auditor.audit(**ASKED, epsilon="0.05", strategy="rules", reuse=False)
    by_more = auditor.audit(**{**ASKED, "sensitive": ["origin", "sex"]}, epsilon="0.05")
    of_scope = auditor.audit(**ASKED, epsilon="0.1", where="age >= 30")
    of_other = auditor.audit(**{**ASKED, "model": four_leaves(True, False, True, True)}, epsilon="0.1", reuse=False)
    spent = auditor.budget("loans").spent

    joined = auditor.audit(**ASKED, epsilon="0.1", join=True)

    assert auditor.budget("loans").spent == spent
    assert releases(joined)[0] == first.release.id
    assert set(releases(joined)) == {one.release.id for one in (first, second, gaussian, by_rule, by_more)}
    assert not {of_scope.release.id, of_other.release.id} & set(releases(joined))
    assert _width(joined) < 0.9 * _width(gaussian)  # of its noise alone it would be as wide, whatever was drawn
    text = joined.to_html()
    assert "Estimated from 5 answers together" in text
    assert all(name in text for name in releases(joined))
    assert [one["id"] for one in json.loads(joined.to_json())["joined"]] == releases(joined)[1:]


def test_rule_by_rule_draws_make_shares_narrower(auditor: Auditor) -> None:
    asked = {**GAUSSIAN, "strategy": "rules", "epsilon": "0.3"}
    first = auditor.audit(**asked)

    joined = auditor.audit(**asked, draw=2, join=True)

    assert len(releases(joined)) == 2
    before, after = first.attribution(("Female", "Male")), joined.attribution(("Female", "Male"))
    for share, narrower in zip(before.shares, after.shares, strict=True):
        assert narrower.share.width < 0.9 * share.share.width
    rule = joined.rule_ids[0]
    flipped = [one.flip(rule).groups[0].rate.width for one in (first, joined)]
    assert flipped[1] < 0.9 * flipped[0]


@pytest.mark.slow
def test_answers_that_are_as_exact_together_cost_nothing(auditor: Auditor) -> None:
    """Four answers at 0.1 are as exact as one at 0.2; alone none of them is."""
    for draw in (1, 2, 3, 4):
        auditor.audit(**ASKED, epsilon="0.1", draw=draw, strategy="verdict")
    spent = auditor.budget("loans").spent

    joined = auditor.audit(**ASKED, epsilon="0.2", strategy="verdict", join=True)

    assert joined.reused
    assert len(releases(joined)) == 4
    assert auditor.budget("loans").spent == spent
    assert not auditor.audit(**ASKED, epsilon="0.2", strategy="verdict").reused


@pytest.mark.slow
def test_own_data_and_one_counted_group(auditor: Auditor, people: pd.DataFrame) -> None:
    """Where the holder counts one of two groups, every answer has supports of its own."""
    own = people.drop(columns=["sex", "origin"])
    asked = {**ASKED, "dataset": "halves", "epsilon": "0.1", "supports_from": own}
    auditor.audit(**asked)
    auditor.audit(**asked, strategy="rules", reuse=False)

    joined = auditor.audit(**asked, draw=2, join=True)

    assert len(releases(joined)) == 3
    assert all(answer.supports for answer in joined.stored.answers)


@pytest.mark.slow
def test_figures_within_strata_are_joined_too(auditor: Auditor) -> None:
    """The largest of the three quotients is 0.73 on average in 280 simulated pairs of answers, its standard deviation
    0.016: above 0.9 with a chance below 10⁻⁹. At ε = 0.2 it would be about 10⁻⁶.
    """
    asked = {**GAUSSIAN, "by": "région", "epsilon": "0.4"}
    first = auditor.audit(**asked)

    joined = auditor.audit(**asked, draw=2, join=True)

    before, after = (
        [
            parity_of(of_stratum.estimate, Rate.ACCEPTANCE).groups[0].rate.width
            for of_stratum in one.by_stratum["statistical-parity"].strata
        ]
        for one in (first, joined)
    )
    assert all(narrower < 0.9 * width for width, narrower in zip(before, after, strict=True))


@pytest.mark.slow
def test_a_reader_computes_joined_figures_again(auditor: Auditor, tmp_path: Path) -> None:
    auditor.audit(**ASKED, epsilon="0.1")
    joined = auditor.audit(**ASKED, epsilon="0.1", draw=2, join=True)
    bundle = write_bundle(tmp_path / "bundle.zip", [joined], auditor.receipts)

    again = [audit for audit in stored_history(auditor.receipts) if audit.stored.others]
    checked = check_bundle(bundle)

    assert [audit.parity for audit in again] == [joined.parity]
    assert releases(again[0]) == releases(joined)
    assert checked.ok, checked
    assert "from 2 answers" in stored_history(auditor.receipts).to_html()


@pytest.mark.parametrize("change", ["a receipt is missing", "a receipt twice", "another answer"])
def test_a_bundle_whose_joined_answers_were_changed_is_refused(auditor: Auditor, tmp_path: Path, change: str) -> None:
    """Figures from fewer answers, from one twice, or from answers about others are not those of the note."""
    first = auditor.audit(**ASKED, epsilon="0.1")
    of_scope = auditor.audit(**ASKED, epsilon="0.1", where="age >= 30")
    joined = auditor.audit(**ASKED, epsilon="0.1", draw=2, join=True)
    files = _unpacked(write_bundle(tmp_path / "bundle.zip", [joined, of_scope], auditor.receipts))
    name = next(name for name in files if name.startswith("questions/") and '"joined"' in files[name].decode())
    if change == "a receipt is missing":
        del files[f"receipts/{first.receipt.name}"]
    else:
        note = json.loads(files.pop(name))
        note["joined"] = [{"release": joined.release.id if "twice" in change else of_scope.release.id}]
        renamed = Note.model_validate(note).name.removeprefix("sha256:")
        old = Path(name).stem
        for path in [path for path in files if old in path]:
            files[path.replace(old, renamed)] = files.pop(path)
        files[f"questions/{renamed}.json"] = json.dumps(note).encode()
        manifest = json.loads(files["manifest.json"])
        manifest["audits"] = [renamed if audit == old else audit for audit in manifest["audits"]]
        files["manifest.json"] = json.dumps(manifest).encode()

    found = check_bundle(_packed(files, tmp_path / "changed.zip"))

    assert len(found.checks) == 2
    assert sum(check.fault is not None for check in found.checks) == 1


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"mechanism": "exponential", "upper": 2500}, "laplace and gaussian"),
        ({"estimator": "plug-in"}, "plug-in"),
        ({"model": None, "decision": "hours", "above": 30, "edges": [10, 20]}, "bands"),
    ],
)
def test_what_cannot_be_joined_is_refused_before_anything_is_spent(
    auditor: Auditor, asked: dict[str, Any], words: str
) -> None:
    spent = auditor.budget("loans").spent

    with pytest.raises(QuestionRefused, match=words):
        auditor.audit(**{**ASKED, "epsilon": "0.1", **asked}, join=True)
    with pytest.raises(QuestionRefused, match="one answer each"):
        auditor.compare(FOUR_LEAVES, FOUR_LEAVES, "loans", ["sex"], "0.1", join=True)

    assert auditor.budget("loans").spent == spent


@pytest.mark.slow
def test_a_plan_says_what_a_further_draw_would_bring(auditor: Auditor) -> None:
    asked = {**GAUSSIAN, "epsilon": "0.1", "people": 2000}
    auditor.audit(**asked)
    spent = auditor.budget("loans").spent

    planned = auditor.plan(**asked, draw=2, join=True)

    joined = planned.forecast.joined
    assert joined is not None
    assert joined.now is not None
    assert joined.kept == 1
    assert joined.then.width < 0.85 * joined.now.width
    assert "Combined with the saved answers" in planned.to_html()
    assert json.loads(planned.to_json())["joined"]["kept"] == 1
    assert auditor.budget("loans").spent == spent


def test_the_command_joins(holder: TestedHolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AUDITOR_HOLDER_URL", str(holder.client.base_url))
    monkeypatch.setenv("AUDITOR_API_KEY", holder.auditor_key)
    monkeypatch.chdir(tmp_path)
    asked = ["audit", "--dataset", "loans", "--sensitive", "sex", "--decision", "hours", "--above", "20.5"]

    for draw in ("1", "2"):
        found = CliRunner().invoke(app, [*asked, "--epsilon", "0.1", "--draw", draw, "--join"])
        assert found.exit_code == 0, found.output

    assert "Estimated from 2 answers together (ε = 0.1; ε = 0.1)" in found.output


def _unpacked(bundle: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(bundle) as packed:
        return {name: packed.read(name) for name in packed.namelist()}


def _packed(files: dict[str, bytes], path: Path) -> Path:
    """A bundle of these files, with a manifest that lists them."""
    manifest = json.loads(files.pop("manifest.json"))
    manifest["files"] = {name: sha256_name(content) for name, content in files.items()}
    with zipfile.ZipFile(path, "w") as packed:
        for name, content in {**files, "manifest.json": json.dumps(manifest).encode()}.items():
            packed.writestr(name, content)
    return path
