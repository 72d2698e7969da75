"""Each catalogue says every template, with the same names filled in, and nothing besides."""

import re
from pathlib import Path

import pytest

from auditor_client.report.languages import LANGUAGES
from checks import languages as check

TRANSLATED = LANGUAGES[1:]


@pytest.mark.parametrize("code", TRANSLATED)
def test_a_catalogue_is_complete(code: str) -> None:
    assert list(check.faults(code)) == []


@pytest.mark.slow
def test_an_update_keeps_what_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = TRANSLATED[0]
    before = (check.CATALOGUES / f"{code}.po").read_text(encoding="utf-8")
    (tmp_path / f"{code}.po").write_text(before.replace('msgid "meets"', 'msgid "not said"'), encoding="utf-8")
    monkeypatch.setattr(check, "CATALOGUES", tmp_path)

    check.update(code)

    assert list(check.faults(code)) == [f"{code}: nothing is said for 'meets'"]


@pytest.mark.slow
def test_templates_are_found_in_programs_and_pages() -> None:
    found = dict(check.templates())

    assert "the four-fifths rule for favourable rates" in {message for _, message in check.templates()}
    assert {path.rpartition(".")[2] for path in found} == {"py", "j2"}
    assert len(found) > 20


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (lambda text: text.replace('msgid "meets"', 'msgid "meets it"'), "nothing is said for 'meets'"),
        (lambda text: re.sub(r'(msgstr "[^"]*){value}', r"\1{another}", text, count=1), "other names"),
        (lambda text: re.sub(r'(msgstr\[1\] "[^"]*){number}', r"\1viele", text, count=1), "other names"),
        (lambda text: re.sub(r'(msgstr\[0\] "[^"]*){(?!number)\w+}', r"\1{another}", text, count=1), "other names"),
    ],
)
def test_a_fault_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: object, fault: str) -> None:
    """The negative control."""
    code = TRANSLATED[0]
    text = (check.CATALOGUES / f"{code}.po").read_text(encoding="utf-8")
    (tmp_path / f"{code}.po").write_text(change(text), encoding="utf-8")  # type: ignore[operator]
    monkeypatch.setattr(check, "CATALOGUES", tmp_path)

    assert any(fault in one for one in check.faults(code))
