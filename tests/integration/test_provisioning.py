"""`holder admin apply` brings a holder to what a file states; a second run changes nothing."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from holder_service.cli import app
from testing.holders import TestedHolder
from testing.registers import plan

COLUMNS = """
columns:
  - {name: age, type: integer, minimum: 0, maximum: 120}
  - {name: sex, type: category, categories: [Female, Male], sensitive: true}
"""
FILE = """
accounts:
  uni: {display_name: University}
  boss: {role: budget-officer}
datasets:
  loans: loans.yaml
caps:
  loans: {epsilon: 4}
approvals:
  loans: {days: 7, in_full: true}
budgets:
  - {dataset: loans, auditor: uni, epsilon: 0.5, expires: 2099-01-31}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a file of provisioning and a declaration."""
    (tmp_path / "holder.yaml").write_text(FILE)
    (tmp_path / "loans.yaml").write_text("person_key: id\n" + COLUMNS)
    return tmp_path


def apply(holder: TestedHolder, file: Path, *options: str) -> Result:
    """What the command does."""
    environment = {
        "HOLDER_HOME": str(holder.settings.home), "HOLDER_DATABASE_URL": holder.settings.database_url,
        "HOLDER_ANCHOR": str(holder.settings.anchor), "HOLDER_ADMIN_KEY": holder.admin_key,
    }  # fmt: skip
    return CliRunner().invoke(app, ["admin", "apply", str(file), "--json", *options], env=environment)


def test_a_file_is_applied_once(sqlite_holder: TestedHolder, folder: Path) -> None:
    before = len(sqlite_holder.entries())

    dry = apply(sqlite_holder, folder / "holder.yaml", "--dry-run")
    untouched = len(sqlite_holder.entries())
    done = apply(sqlite_holder, folder / "holder.yaml")
    after = len(sqlite_holder.entries())
    again = apply(sqlite_holder, folder / "holder.yaml")

    assert untouched == before
    assert (
        json.loads(dry.stdout)["changes"]
        == json.loads(done.stdout)["changes"]
        == [
            "open account uni (auditor)",
            "open account boss (budget-officer)",
            "declare dataset loans",
            "require approvals for loans",
            "grant uni on loans: epsilon 0.5, until 2099-01-31T23:59:59Z",
        ]
    )
    assert json.loads(dry.stdout)["keys"] == []
    assert [one["account"] for one in json.loads(done.stdout)["keys"]] == ["uni", "boss"]
    assert json.loads(again.stdout) == {"changes": [], "keys": []}
    assert len(sqlite_holder.entries()) == after
    [budget] = [one for one in sqlite_holder.admin("GET", "/budgets").json()["budgets"] if one["auditor"] == "uni"]
    assert (budget["limit"]["epsilon"], budget["population"]) == ("0.5", "loans")


def test_what_differs_is_changed_and_nothing_else(sqlite_holder: TestedHolder, folder: Path) -> None:
    assert apply(sqlite_holder, folder / "holder.yaml").exit_code == 0
    text = FILE.replace("epsilon: 4", "epsilon: 3").replace("epsilon: 0.5", "epsilon: 0.25")
    (folder / "holder.yaml").write_text(text.replace("University", "The university").replace("days: 7", "days: 8"))

    found = json.loads(apply(sqlite_holder, folder / "holder.yaml").stdout)

    assert found["changes"] == [
        "change account uni: display_name The university",
        "set the cap of loans: epsilon 3",
        "require approvals for loans",
        "grant uni on loans: epsilon 0.25, until 2099-01-31T23:59:59Z",
    ]
    assert json.loads(apply(sqlite_holder, folder / "holder.yaml").stdout)["changes"] == []


def test_a_cap_that_a_restore_closed_stays_closed(sqlite_holder: TestedHolder, tmp_path: Path) -> None:
    """A restore loses charges: only somebody who knows them may open the cap."""
    (tmp_path / "holder.yaml").write_text("caps: {register: {epsilon: 100}}")
    assert json.loads(apply(sqlite_holder, tmp_path / "holder.yaml").stdout)["changes"] == []
    sqlite_holder.settings.anchor.unlink()
    assert sqlite_holder.admin("POST", "/ledger/restore", json={"reason": "a drill"}).status_code == 201

    refused = apply(sqlite_holder, tmp_path / "holder.yaml")

    assert refused.exit_code == 2
    assert "closed by a restore" in refused.stderr
    assert sqlite_holder.release(plan(draw=9)).status_code == 403


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("acounts: {}", "acounts: Extra inputs are not permitted"),
        ("accounts: {uni: {rolle: auditor}}", "accounts.uni.rolle"),
        ("accounts: [", "is not valid YAML, line 1"),
        ("budgets: [{dataset: nosuch, auditor: ADR, epsilon: 1}]", "this dataset does not exist"),
        ("accounts: {ADR: {role: viewer}}", "Roles cannot change"),
        ("datasets: {new: nosuch.yaml}", "nosuch.yaml"),
        ("caps: {register: {epsilon: many}}", "The cap of register does not fit"),
    ],
)
def test_a_file_that_does_not_fit_changes_nothing(
    lasting_holder: TestedHolder, tmp_path: Path, text: str, said: str
) -> None:
    before = len(lasting_holder.entries())
    (tmp_path / "holder.yaml").write_text(text)

    refused = apply(lasting_holder, tmp_path / "holder.yaml")

    assert refused.exit_code == 2, refused.output
    assert said in refused.stderr
    assert len(lasting_holder.entries()) == before
