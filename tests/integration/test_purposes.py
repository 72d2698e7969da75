"""What questions are for: said with a charge, kept in the ledger, published, and part of no identity."""

from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from auditor_client.cli import app
from shared.wire import canonical
from testing.holders import TestedHolder
from testing.refusals import refused
from testing.registers import plan, watch

PURPOSE = "Yearly audit, § 12 – Prüfung"


def asked(holder: TestedHolder, path: str, body: dict[str, Any], **params: str) -> Any:
    return holder.auditor("POST", f"/datasets/register/{path}", json=body, params=params)


def test_a_purpose_is_entered_published_and_part_of_no_identity(sqlite_holder: TestedHolder) -> None:
    sqlite_holder.grant("50")
    first = asked(sqlite_holder, "releases", plan(), purpose=PURPOSE)
    again = asked(sqlite_holder, "releases", plan(), purpose="something else")
    without = asked(sqlite_holder, "releases", plan())
    asked(sqlite_holder, "releases", plan(draw=2))
    asked(sqlite_holder, "watches", watch(), purpose=PURPOSE)

    charges = [entry["detail"] for entry in sqlite_holder.entries() if entry["kind"] == "charge"][:3]
    report = sqlite_holder.admin("GET", "/datasets/register/report").json()["releases"]
    page = sqlite_holder.admin("GET", "/datasets/register/report?format=html").text

    assert (first.status_code, again.status_code, without.status_code) == (201, 200, 200)
    assert first.content == again.content == without.content
    assert charges == [{"purpose": PURPOSE}, {}, {"asked": "watch", "purpose": PURPOSE}]
    assert [one.get("purpose") for one in report] == [PURPOSE, None, PURPOSE]
    assert f"“<bdi>{PURPOSE}</bdi>”" in page
    for text in ("", " ", "two\nlines", "x" * 201):
        refused(asked(sqlite_holder, "releases", plan(draw=3), purpose=text), "invalid-request", holder=sqlite_holder)
    assert sqlite_holder.is_intact()


def test_the_signed_release_binds_it_by_its_entry(sqlite_holder: TestedHolder) -> None:
    """The planted fault is a purpose that is kept outside the entry, and could be another one later."""
    release = asked(sqlite_holder, "releases", plan(), purpose=PURPOSE).json()

    [kept] = [entry for entry in sqlite_holder.entries() if entry["sequence"] == release["ledger"]["sequence"]]
    said = {name: value for name, value in kept.items() if name != "hash"}

    assert kept["detail"] == {"purpose": PURPOSE}
    assert canonical.digest(said) == release["ledger"]["hash"]
    assert canonical.digest({**said, "detail": {}}) != release["ledger"]["hash"]


def test_a_dataset_may_require_one(sqlite_holder: TestedHolder, tmp_path: Path) -> None:
    assert sqlite_holder.release(plan()).status_code == 201
    version = sqlite_holder.auditor("GET", "/datasets/register").json()["version"]
    assert sqlite_holder.declare(purpose_required=True).status_code == 200
    described = sqlite_holder.auditor("GET", "/datasets/register").json()
    spent = sqlite_holder.spent()

    bare = asked(sqlite_holder, "releases", plan(draw=2))
    stored = asked(sqlite_holder, "releases", plan())
    env = {"AUDITOR_HOLDER_URL": sqlite_holder.url, "AUDITOR_API_KEY": sqlite_holder.auditor_key}
    audit = ["audit", "--dataset", "register", "--sensitive", "sex", "--epsilon", "1", "--decision", "hours"]
    audit += ["--above", "20.5", "--receipts", str(tmp_path)]
    silent = CliRunner().invoke(app, audit, env=env)
    unspent = sqlite_holder.spent()
    said = CliRunner().invoke(app, [*audit, "--asked-for", PURPOSE], env=env)

    refused(bare, "invalid-request", holder=sqlite_holder)
    assert "requires a purpose" in bare.json()["detail"]
    assert (described["purpose_required"], described["version"]) == (True, version), "nothing is loaded again"
    assert (stored.status_code, unspent) == (200, spent), "what was answered is answered again"
    assert silent.exit_code == 2
    assert "--asked-for" in silent.stderr
    assert said.exit_code == 0, said.output
    assert sqlite_holder.entries()[-1]["detail"] == {"purpose": PURPOSE}
