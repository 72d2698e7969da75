"""Trainings over time: listed from their receipts, bundled with their models and audits, checked by a stranger."""

import json
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from typer.testing import CliRunner

from auditor_client import Auditor
from auditor_client.audits.bundle import check_bundle, write_bundle
from auditor_client.audits.history import stored_history
from auditor_client.cli import app
from auditor_client.findings.notes import Notes
from auditor_client.findings.training_notes import TrainingNote
from auditor_client.report.languages import LANGUAGES
from shared.wire.canonical import sha256_name
from testing.registers import LOANS
from testing.simulated_holder import KEY, SimulatedHolder

ASKED: dict[str, Any] = {"sensitive": "sex", "features": {"age": [25, 35, 60], "education": None}}


@pytest.fixture
def auditor(simulated: SimulatedHolder, http: httpx.Client, tmp_path: Path) -> Iterator[Auditor]:
    simulated.dataset = LOANS
    with Auditor(simulated.url, KEY, receipts=tmp_path / "receipts", http=http) as made:
        yield made


@pytest.fixture
def kept(auditor: Auditor) -> Auditor:
    """A tree decided for two ratios and audited for one, a tree that is not shown, two scores, a published score."""
    auditor.train("register", epsilon=10, ratio=0.7, audit_on="register", audit_epsilon=1, depth=2, **ASKED)
    auditor.train("register", epsilon=10, ratio=0.97, depth=2, **ASKED)
    auditor.train("register", epsilon="0.02", ratio=0.9, depth=2, **ASKED)
    auditor.train("register", epsilon=8, ratio=0.6, algorithm="fair_linear", **ASKED)
    auditor.train("register", epsilon=3, algorithm="pflr", **ASKED)
    auditor.train("register", epsilon=2, algorithm="private_fair_tree", depth=2, **ASKED)
    return auditor


@pytest.mark.slow
def test_trainings_are_listed_with_what_they_cost_and_which_version_they_are_of(kept: Auditor) -> None:
    history = kept.history()
    text, page, document = history.summary(), history.to_html(), history.to_document()

    assert len(history.trainings) == 6
    assert len(history) == 1
    first = document["trainings"][0]
    assert (first["algorithm"], first["dataset"], first["version"], first["label"], first["ratio"]) == (
        "fair_tree", "register", 3, "repaid", 0.7,
    )  # fmt: skip
    assert [one["charge"]["epsilon"] for one in document["trainings"]] == ["10", "10", "0.02", "8", "3", "2"]
    assert document["audits"][0]["model_file"] == first["model_file"]
    assert "trained by fair_tree for repaid, fair by sex  wanted ratio: 0.7" in text
    # Of the audit's second figure, of its adverse outcome, and of the tree's second ratio.
    assert text.count("the same answer") == 3
    assert "none promised" in text
    assert text.count("audited: receipt ") == 1
    assert f"audited: receipt {history.audits[0].receipt.stem[:12]}" in text
    assert "ε = 24.02" in text
    assert "What was trained" in page
    for language in LANGUAGES[1:]:
        assert "What was trained" not in history.to_html(language=language)
    assert len(kept.history(model=first["model_file"]).trainings) == 1
    assert kept.history("another").trainings == ()
    assert "6 trainings" in repr(history)


@pytest.mark.slow
def test_a_kept_training_is_computed_again_as_it_was(kept: Auditor) -> None:
    """From its note: with the decisions that were taken then, and no search."""
    for one in kept.history().trainings:
        again = one.result

        assert sha256_name(again.model_text.encode()) == one.note.model
        assert again.note == one.note


@pytest.mark.slow
def test_a_training_without_its_receipt_is_counted_as_unreadable(kept: Auditor) -> None:
    kept.history().trainings[-1].kept.receipt.unlink()

    history = kept.history()

    assert len(history.trainings) == 5
    assert history.unreadable == 1


def bundle_of(kept: Auditor, path: Path) -> Path:
    history = kept.history()
    return write_bundle(path, history.audits, kept.receipts, history.trainings)


@pytest.mark.slow
def test_a_stranger_checks_a_bundle_of_trainings_offline(kept: Auditor, tmp_path: Path) -> None:
    report = check_bundle(bundle_of(kept, tmp_path / "bundle.zip"))

    assert report.ok
    assert [one.fault for one in report.by_member["trainings"]] == [None] * 6
    assert len(report.by_member["audits"]) == 1
    with zipfile.ZipFile(tmp_path / "bundle.zip") as bundle:
        name = report.by_member["trainings"][0].name
        assert {f"models/{name}.json", f"reports/{name}.html", f"trainings/{name}.json"} <= set(bundle.namelist())
        text = bundle.read("READ-ME.txt").decode()
        assert f"reports/{name}.html    a training" in text
        assert "auditor bundle check" in text


def rewritten(bundle: Path, change: Callable[[dict[str, bytes], str], None]) -> Path:
    """The bundle with its first training changed, and a manifest that lists what was changed."""
    with zipfile.ZipFile(bundle) as read:
        files = {name: read.read(name) for name in read.namelist()}
    manifest = json.loads(files.pop("manifest.json"))
    change(files, manifest["trainings"][0])
    manifest["files"] = {name: sha256_name(content) for name, content in files.items()}
    with zipfile.ZipFile(bundle, "w") as written:
        for name, content in {**files, "manifest.json": json.dumps(manifest).encode()}.items():
            written.writestr(name, content)
    return bundle


def _replace(folder: str, before: bytes, after: bytes) -> Callable[[dict[str, bytes], str], None]:
    def change(files: dict[str, bytes], name: str) -> None:
        path = folder.format(name)
        assert before in files[path]
        files[path] = files[path].replace(before, after, 1)

    return change


def _receipt(files: dict[str, bytes], name: str) -> None:
    release = json.loads(files[f"trainings/{name}.json"])["release"].removeprefix("sha256:")
    path = f"receipts/{release}.json"
    files[path] = files[path].replace(b'"positive": [200', b'"positive": [201', 1)


def _no_note(files: dict[str, bytes], name: str) -> None:
    del files[f"trainings/{name}.json"]


CHANGES: dict[str, tuple[Callable[[dict[str, bytes], str], None], str]] = {
    "the model": (_replace("models/{}.json", b"on register", b"on registry"), "model's file"),
    "the ratio of the note": (_replace("trainings/{}.json", b'"ratio": 0.7', b'"ratio": 0.6'), "another name"),
    "a figure": (_replace("figures/{}.json", b'"wanted": 0.7', b'"wanted": 0.8'), "wanted"),
    "the page": (_replace("reports/{}.html", b"</h1>", b"!</h1>"), "report"),
    "the receipt": (_receipt, "signature"),
    "no note": (_no_note, "missing"),
}  # fmt: skip


@pytest.mark.parametrize("changed", CHANGES)
def test_a_bundle_whose_training_was_changed_does_not_hold(auditor: Auditor, tmp_path: Path, changed: str) -> None:
    auditor.train("register", epsilon=10, ratio=0.7, depth=2, **ASKED)
    change, words = CHANGES[changed]

    report = check_bundle(rewritten(bundle_of(auditor, tmp_path / "bundle.zip"), change))

    assert not report.ok
    assert report.by_member["trainings"][0].fault is not None
    assert words in report.by_member["trainings"][0].fault


@pytest.mark.slow
def test_the_commands_list_write_and_check_trainings(kept: Auditor, tmp_path: Path) -> None:
    receipts, file = str(kept.receipts.directory), tmp_path / "bundle.zip"
    environment = {"AUDITOR_RECEIPTS": receipts, "AUDITOR_CONFIG": ""}
    chosen = str(kept.history().trainings[0].kept.receipt)

    listed = CliRunner().invoke(app, ["history", receipts, "--json"], env=environment)
    written = CliRunner().invoke(app, ["bundle", "write", str(file), chosen], env=environment)
    checked = CliRunner().invoke(app, ["bundle", "check", str(file)], env=environment)

    assert len(json.loads(listed.stdout)["trainings"]) == 6
    assert "0 audits, 2 trainings." in written.stdout
    assert checked.exit_code == 0, checked.output
    assert "Training" in checked.stdout
    assert stored_history(kept.receipts).trainings
    assert len(Notes(kept.receipts.directory, TrainingNote).read()) == 6
