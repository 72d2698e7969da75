"""The transparency report: everything that was released about a dataset, and nothing that is derived from records."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from holder_service.cli import app
from testing.console_visitors import Page
from testing.holders import TestedHolder
from testing.refusals import refused
from testing.registers import plan, register_csv
from testing.tampering import lose_the_anchored_entry


@pytest.fixture
def reported(sqlite_holder: TestedHolder) -> TestedHolder:
    """A holder with releases about two datasets of populations that were merged, and a retired dataset."""
    key = sqlite_holder.open_auditor("other", epsilon="1")
    sqlite_holder.offer("second", register_csv(people=5), epsilon="5")
    for draw in (1, 2):
        assert sqlite_holder.release(plan(draw=draw)).status_code == 201
    assert sqlite_holder.release(plan(epsilon="0.25"), key=key).status_code == 201
    assert sqlite_holder.release(plan(epsilon="0.5"), dataset="second").status_code == 201
    sqlite_holder.admin("POST", "/populations/register/merge", json={"population": "second"})
    return sqlite_holder


def report_of(holder: TestedHolder, dataset: str) -> dict[str, Any]:
    answer = holder.admin("GET", f"/datasets/{dataset}/report")
    assert answer.status_code == 200, answer.text
    document: dict[str, Any] = answer.json()
    return document


def test_every_release_about_the_dataset_is_there_with_its_entry(reported: TestedHolder) -> None:
    charges = [entry for entry in reported.entries() if entry["kind"] == "charge" and entry["dataset"] == "register"]

    report = report_of(reported, "register")

    assert [(one["sequence"], one["hash"], one["at"], one["auditor"]) for one in report["releases"]] == [
        (entry["sequence"], entry["hash"], entry["at"], entry["auditor"]) for entry in charges
    ]
    assert report["spent_on_dataset"] == {"epsilon": "0.45", "delta": "0"}
    assert report["spent_on_population"] == {"epsilon": "0.95", "delta": "0"}, "the population's, merged"
    assert report["other_datasets"] == ["second"]
    assert report["ledger"] == reported.auditor("GET", "/ledger/head").json()
    first = report["releases"][0]
    assert (first["sensitive"], first["mechanisms"]) == (["sex"], ["laplace"])
    assert first["charge"] == {"epsilon": "0.1", "delta": "0"}


def test_decisions_are_those_about_these_people(reported: TestedHolder) -> None:
    reported.declare("elsewhere")
    reported.admin("POST", "/signing-keys")

    decisions = report_of(reported, "register")["decisions"]

    kinds = [one["kind"] for one in decisions]
    assert kinds.count("budget") == 3, "two auditors on register, and one of them on second, which joined it"
    assert {"population", "records", "merge", "signing-key", "dataset"} <= set(kinds)
    assert kinds.count("dataset") == 1
    assert not any("elsewhere" in one["what"] for one in decisions)
    assert [one["sequence"] for one in decisions] == sorted(one["sequence"] for one in decisions)


def test_after_a_restore_it_says_that_more_may_have_been_lost(sqlite_holder: TestedHolder) -> None:
    sqlite_holder.release(plan())
    assert report_of(sqlite_holder, "register")["restored"] is None
    lose_the_anchored_entry(sqlite_holder.settings)
    sqlite_holder.admin("POST", "/ledger/restore", json={"reason": "the disk failed"})

    page = sqlite_holder.admin("GET", "/datasets/register/report?format=html").text

    sentence = report_of(sqlite_holder, "register")["restored"]
    assert "more may have been lost" in sentence
    assert sentence in page


def test_nothing_in_it_is_derived_from_records(reported: TestedHolder) -> None:
    """Neither a count nor a rule: the first is the auditor's answer, the second its model."""
    page = reported.admin("GET", "/datasets/register/report?format=html").text
    document = json.dumps(report_of(reported, "register"))

    for text in (page, document):
        assert '"counts"' not in text
        assert "all_of" not in text
        assert "age" not in re.sub(r"<style>.*?</style>", "", text, flags=re.DOTALL).replace("Percentage", "").split()


def test_it_is_the_administrators_to_publish(reported: TestedHolder) -> None:
    refused(reported.auditor("GET", "/admin/datasets/register/report"), "forbidden", holder=reported)
    refused(reported.admin("GET", "/datasets/nothing/report"), "not-found", holder=reported)


def test_a_retired_dataset_is_reported_too(reported: TestedHolder) -> None:
    reported.admin("DELETE", "/datasets/second")

    report = report_of(reported, "second")

    assert (report["retired"], len(report["releases"])) == (True, 1)
    assert "retired" in reported.admin("GET", "/datasets/second/report?format=html").text


def test_the_page_needs_nothing_else(reported: TestedHolder) -> None:
    page = reported.admin("GET", "/datasets/register/report?format=html")

    assert page.headers["content-type"].startswith("text/html")
    assert page.text.count("<html") == 1
    assert not re.search(r'(src|href)="(?!#)', page.text)
    assert "<script" not in page.text
    assert "3 releases to 2 auditors, at a privacy loss of ε 0.45 in all" in " ".join(page.text.split())


def test_it_says_what_the_sum_means_for_one_person(reported: TestedHolder) -> None:
    """Both populations' charges, 0.95 together: e^0.95 = 2.586 for presence and e^1.9 = 6.686 for values."""
    page = " ".join(reported.admin("GET", "/datasets/register/report?format=html").text.split())

    assert "Whether somebody’s record is in the data: the odds change by a factor of at most e^ε = 2.59" in page
    assert "such as their group: the odds change by a factor of at most e^(2ε) = 6.69" in page
    assert all(" ".join(statement.split()) in page for statement in report_of(reported, "register")["meaning"])


def test_delta_is_said_for_what_it_is(sqlite_holder: TestedHolder) -> None:
    sqlite_holder.declare(cap={"epsilon": "100", "delta": "0.1"})
    sqlite_holder.grant("5", delta="0.1")
    asked = plan(epsilon="1", mechanism={"name": "gaussian", "delta": "0.001"})
    assert sqlite_holder.release(asked).status_code == 201

    presence, values, delta = report_of(sqlite_holder, "register")["meaning"]

    assert "at most e^ε = 2.72 times what it would be otherwise, plus δ = 0.001" in presence
    assert "at most e^(2ε) = 7.39 times what it would be otherwise, plus (1 + e^ε)·δ = 0.00372" in values
    assert "δ is not the chance" in delta


def test_it_names_the_dataset_in_peoples_words_and_no_number_of_them(reported: TestedHolder) -> None:
    words = {
        "title": "Kredite <b>قروض</b>", "description": "Applications.", "source": "Register", "people": 50_000,
        "reference_date": "2025-12-31", "contact": "data@office.example", "licence": "for audits",
        "columns": {"sex": {"title": "Geschlecht", "values": {"Female": "women"}}},
    }  # fmt: skip
    before = report_of(reported, "register")
    reported.admin("PUT", "/datasets/register/metadata", json=words)

    report = report_of(reported, "register")
    page = Page(reported.admin("GET", "/datasets/register/report?format=html"))

    assert "metadata" not in before
    assert report["metadata"] == {name: said for name, said in words.items() if name != "people"}
    assert "What was released about “\u2068Kredite <b>قروض</b>\u2069 (register)” Applications." in page.text
    assert "Source Register Reference date 2025-12-31 Contact data@office.example Licence for audits" in page.text
    assert "Sensitive attributes Geschlecht (sex), origin" in page.text
    assert "ADR Geschlecht (sex) laplace" in page.text
    # Not within a digest, where five digits may stand by chance.
    assert not re.search(r"(?<![0-9a-f])50.?000(?![0-9a-f])", page.answer.text)
    assert report_of(reported, "second")["dataset"] == "second"
    assert "metadata" not in report_of(reported, "second"), "the words are of one dataset"


def test_the_commands_write_the_same(reported: TestedHolder, tmp_path: Path) -> None:
    own = {
        "HOLDER_HOME": str(reported.settings.home),
        "HOLDER_DATABASE_URL": reported.settings.database_url,
        "HOLDER_ANCHOR": str(reported.settings.anchor),
    }
    admin = {"HOLDER_URL": reported.url, "HOLDER_ADMIN_KEY": reported.admin_key}
    expected = report_of(reported, "register")

    here = CliRunner().invoke(app, ["report", "register", str(tmp_path / "a.html"), "--json"], env=own)
    there = CliRunner().invoke(app, ["admin", "report", "register", str(tmp_path / "b.json")], env=admin)

    assert (here.exit_code, there.exit_code) == (0, 0), here.output + there.output
    assert {**json.loads(here.stdout), "made": ""} == {**expected, "made": ""}
    assert {**json.loads((tmp_path / "b.json").read_text()), "made": ""} == {**expected, "made": ""}
    assert (tmp_path / "a.html").read_text().startswith("<!DOCTYPE html>")
