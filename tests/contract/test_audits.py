"""Notes, receipts and bundles that an auditor kept read, hash and compute the same for ever."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest
from pydantic import BaseModel
from pydantic_core import PydanticUndefined

from auditor_client.asking.question import rules_digest
from auditor_client.asking.request import MECHANISMS, METRICS, STRATEGIES, AuditRequest
from auditor_client.audits.bundle import BundleReport, check_bundle
from auditor_client.audits.history import stored_history
from auditor_client.exchange.receipts import Receipts, check_receipts
from auditor_client.findings.notes import Note, Notes
from auditor_client.findings.reading import ESTIMATORS, Reading
from shared.wire.canonical import digest, sha256_name
from tests.contract.audits import SETS, main, pack, unpacked

LONG: Final = {"v1-auditor-second-edition", "v1-auditor-joint", "v1-auditor-tables"}
"""Sets whose figures take seconds to compute."""


@pytest.fixture(
    params=[
        pytest.param(folder, id=folder.name, marks=[pytest.mark.slow] if folder.name in LONG else []) for folder in SETS
    ]
)
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A set's directories, which a test may change."""
    return unpacked(request.param, tmp_path)


def checked(folder: Path) -> BundleReport:
    """Pack a set's bundle and check it."""
    pack(folder / "bundle", folder / "out.zip")
    return check_bundle(folder / "out.zip")


def test_a_note_reads_as_it_was_kept_under_the_name_that_it_had(folder: Path) -> None:
    files = sorted((folder / "receipts" / "questions").iterdir())

    for note, file in zip(Notes(folder / "receipts", Note).read(), files, strict=True):
        document = json.loads(file.read_bytes())
        assert note.model_dump(mode="json") == document
        assert note.name == digest(document) == f"sha256:{file.stem}"


def test_the_rules_of_a_note_make_the_plan_that_was_asked(folder: Path) -> None:
    for note in Notes(folder / "receipts", Note).read():
        question = note.question()

        assert question.plan == note.plan
        assert rules_digest(question.rules, question.source.columns) == note.model.rules


def test_every_receipt_is_believed_and_every_audit_is_computed_again(folder: Path) -> None:
    receipts = Receipts(folder / "receipts")

    history = stored_history(receipts)

    assert check_receipts(receipts, None).ok
    assert (history.unreadable, len(history)) == (0, len(Notes(receipts.directory, Note).read()))


def test_a_bundle_holds_and_its_figures_are_what_they_were(folder: Path) -> None:
    found = checked(folder)

    assert found.ok, found.to_document()
    assert len(found.checks) == len(list((folder / "bundle" / "reports").iterdir()))
    assert all(check.remark for check in found.checks), (
        "recorded as by other versions, whose sentences are not compared"
    )


def test_every_field_of_request_and_reading_was_recorded_with_another_value_than_its_default(tmp_path: Path) -> None:
    """Record a set with each field that is added."""
    folders = [unpacked(one, tmp_path / one.name) for one in SETS]
    notes = [note for folder in folders for note in Notes(folder / "receipts", Note).read()]

    def never_changed(kind: type[BaseModel], values: list[Any]) -> list[str]:
        def default(name: str) -> Any:
            field = kind.model_fields[name]
            return PydanticUndefined if field.is_required() else field.default

        return [name for name in kind.model_fields if all(getattr(one, name) == default(name) for one in values)]

    assert not never_changed(AuditRequest, [note.request for note in notes])
    assert not never_changed(Reading, [note.reading for note in notes])
    assert {note.request.mechanism for note in notes} == set(MECHANISMS)
    assert {note.request.strategy for note in notes} == set(STRATEGIES)
    assert {metric for note in notes for metric in note.request.metrics} == set(METRICS)
    assert {note.reading.estimator for note in notes} == set(ESTIMATORS)
    assert {note.reused for note in notes} == {note.supports is None for note in notes} == {True, False}
    assert {note.model.file is None for note in notes} == {True, False}


CHANGES: dict[str, tuple[str, Callable[[str], str]]] = {
    "a count": ("receipts", lambda text: text.replace('"counts":[', '"counts":[1')),
    "a level": ("questions", lambda text: text.replace('"level": 0.9', '"level": 0.8')),
    "a decision": ("questions", lambda text: text.replace('"favourable": true', '"favourable": false', 1)),
    "a figure": ("figures", lambda text: text.replace('"high": 0.', '"high": 0.1')),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_changed_bundle_would_be_noticed(folder: Path, change: str) -> None:
    """The negative control, with a manifest that lists the changed files."""
    part, changed = CHANGES[change]
    manifest = json.loads((folder / "bundle" / "manifest.json").read_bytes())
    for path in (folder / "bundle" / part).iterdir():
        path.write_text(changed(path.read_text(encoding="utf-8")), encoding="utf-8")
        manifest["files"][f"{part}/{path.name}"] = sha256_name(path.read_bytes())
    (folder / "bundle" / "manifest.json").write_text(json.dumps(manifest))

    found = checked(folder)

    assert not found.faults
    assert [check for check in found.checks if check.fault]


def test_what_was_recorded_is_not_recorded_again(monkeypatch: pytest.MonkeyPatch) -> None:
    before = {path: path.read_bytes() for path in SETS[0].rglob("*.*")}
    monkeypatch.setattr("sys.argv", ["contract", SETS[0].name])

    with pytest.raises(FileExistsError):
        main()

    assert {path: path.read_bytes() for path in SETS[0].rglob("*.*")} == before
