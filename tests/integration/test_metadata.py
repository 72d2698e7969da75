"""Metadata and display names at a running holder: shown to all, entered in the ledger, and in no identity."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import pytest
from typer.testing import CliRunner, Result

from holder_service.cli import app
from testing.holders import TestedHolder
from testing.refusals import refused
from testing.registers import DECLARATION, plan, register_csv

WORDS: Final[dict[str, Any]] = {
    "title": "Kreditanträge – طلبات القرض",
    "source": "Register of loans",
    "reference_date": "2025-12-31",
    "columns": {
        "age": {"title": "Age", "unit": "years"},
        "sex": {"title": "Geschlecht", "values": {"Female": "women", "Male": "men"}},
        "education": {"values": {"high": "university"}},
    },
}


def described(holder: TestedHolder) -> dict[str, Any]:
    answer: dict[str, Any] = holder.auditor("GET", "/datasets/register").json()
    return answer


def kinds(holder: TestedHolder) -> list[str]:
    return [entry["kind"] for entry in holder.entries()]


def run(holder: TestedHolder, *arguments: str) -> Result:
    """A command of the administrator's."""
    environment = {"HOLDER_URL": holder.url, "HOLDER_ADMIN_KEY": holder.admin_key}
    return CliRunner().invoke(app, ["admin", *arguments], env=environment)


def test_words_are_shown_and_change_nothing_that_is_asked(holder: TestedHolder) -> None:
    before = described(holder)
    release = holder.release(plan())

    assert holder.admin("PUT", "/datasets/register/metadata", json=WORDS).status_code == 204

    assert described(holder) == {**before, "metadata": WORDS}
    assert holder.auditor("GET", "/datasets").json()["datasets"] == [described(holder)]
    again = holder.release(plan())
    assert (again.status_code, again.content) == (200, release.content)
    assert kinds(holder)[-1] == "metadata"
    assert holder.is_intact()


def test_words_come_with_a_declaration_and_stay_without(holder: TestedHolder) -> None:
    worded = holder.declare(metadata=WORDS)
    entries = len(holder.entries())

    assert worded.json()["version"] == 1, "the records are still the same"
    assert described(holder)["metadata"] == WORDS
    holder.declare()
    holder.declare(metadata=WORDS)
    assert len(holder.entries()) == entries
    columns = [column for column in DECLARATION["columns"] if column["name"] != "education"]
    holder.declare(columns=columns)
    kept = {name: words for name, words in WORDS["columns"].items() if name != "education"}
    assert described(holder)["metadata"] == {**WORDS, "columns": kept}
    assert kinds(holder)[entries:] == ["dataset", "metadata"]
    holder.declare(columns=columns, metadata={})
    assert "metadata" not in described(holder)
    assert holder.is_intact()


def test_the_entry_of_a_declaration_is_the_same_with_words_and_without(sqlite_holder: TestedHolder) -> None:
    sqlite_holder.declare("plain")
    sqlite_holder.declare("worded", metadata=WORDS)

    plain, worded = (
        next(one for one in sqlite_holder.entries() if one["kind"] == "dataset" and one["dataset"] == name)
        for name in ("plain", "worded")
    )
    assert plain["detail"] == worded["detail"]


def test_a_retired_dataset_keeps_its_words_for_the_report(sqlite_holder: TestedHolder) -> None:
    sqlite_holder.admin("PUT", "/datasets/register/metadata", json=WORDS)
    sqlite_holder.admin("DELETE", "/datasets/register")

    refused(
        sqlite_holder.admin("PUT", "/datasets/register/metadata", json={}), "not-found", holder=sqlite_holder
    )  # fmt: skip
    sqlite_holder.declare()
    assert described(sqlite_holder)["metadata"] == WORDS
    assert sqlite_holder.is_intact()


@pytest.mark.parametrize(
    "document",
    [
        {"columns": {"height": {"title": "Height"}}},
        {"title": "a\u202eb"},
        {"title": "x" * 1_000_000},
        {"description": "x\ny"},
        {"reference_date": "yesterday"},
        {"colour": "red"},
        {"columns": {"e" + "\u0301" * 1_000_000: {}}},
    ],
    ids=lambda document: json.dumps(document)[:20],
)
def test_what_is_not_admitted_is_refused_and_nothing_is_written(
    unmoved_holder: TestedHolder, document: dict[str, Any]
) -> None:
    answer = unmoved_holder.admin("PUT", "/datasets/register/metadata", json=document)

    refused(answer, "invalid-request", holder=unmoved_holder)


def test_an_auditor_writes_none(unmoved_holder: TestedHolder) -> None:
    answer = unmoved_holder.auditor("PUT", "/admin/datasets/register/metadata", json=WORDS)

    refused(answer, "forbidden", holder=unmoved_holder)


def test_an_account_has_a_name_in_any_script(holder: TestedHolder) -> None:
    opened = holder.admin("POST", "/auditors", json={"name": "mueller", "display_name": "Frau Müller"})
    holder.admin("PATCH", "/auditors/ADR", json={"display_name": "监管机构 edöb"})

    def shown() -> dict[str, Any]:
        found = holder.admin("GET", "/auditors").json()["auditors"]
        return {one["auditor"]: (one["display_name"], one["disabled"]) for one in found}

    assert opened.status_code == 201
    assert shown()["mueller"] == ("Frau Müller", False)
    assert shown()["ADR"] == ("监管机构 edöb", False)
    holder.admin("PATCH", "/auditors/ADR", json={"disabled": True})
    assert shown()["ADR"] == ("监管机构 edöb", True)
    holder.admin("PATCH", "/auditors/ADR", json={"display_name": None})
    assert shown()["ADR"] == (None, True)
    assert holder.is_intact()
    unclear = holder.admin("PATCH", "/auditors/ADR", json={"display_name": "a\u202eb"})
    refused(unclear, "invalid-request", holder=holder)


def test_commands_write_them(sqlite_holder: TestedHolder, tmp_path: Path) -> None:
    file = tmp_path / "words.json"
    file.write_text(json.dumps(WORDS), encoding="utf-8")

    done(sqlite_holder, ["metadata", "register", str(file)], "The metadata of register are saved.")
    done(sqlite_holder, ["show-as", "ADR", "Frau Müller"], "ADR is shown as Frau Müller.")
    done(sqlite_holder, ["add-auditor", "edoeb", "--display-name", "edöb"], "")

    assert described(sqlite_holder)["metadata"] == WORDS
    listed = run(sqlite_holder, "auditors").stdout
    assert "Frau Müller" in listed
    assert "edöb" in listed


def done(holder: TestedHolder, arguments: Sequence[str], said: str) -> None:
    result = run(holder, *arguments)
    assert result.exit_code == 0, result.output
    assert said in result.stderr


def test_new_records_keep_the_words(sqlite_holder: TestedHolder) -> None:
    sqlite_holder.admin("PUT", "/datasets/register/metadata", json=WORDS)
    sqlite_holder.load(register_csv(people=20))

    assert (described(sqlite_holder)["version"], described(sqlite_holder)["metadata"]) == (2, WORDS)
