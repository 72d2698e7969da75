"""Afterwards: who asked what, what for and at what loss, for everybody who reads the ledger."""

import csv
import io
import json
from typing import Any

import httpx
import pytest
from typer.testing import CliRunner

from holder_service.cli import app
from shared.kinds.plans import Plan
from testing.console_visitors import visitor
from testing.holders import TestedHolder
from testing.refusals import refused
from testing.registers import plan, watch

PURPOSE = "Yearly audit"


def command(holder: TestedHolder, *arguments: str) -> str:
    """What a command prints, called at this holder."""
    environment = {
        "HOLDER_HOME": str(holder.settings.home), "HOLDER_DATABASE_URL": holder.settings.database_url,
        "HOLDER_ANCHOR": str(holder.settings.anchor), "HOLDER_ADMIN_KEY": holder.admin_key, "COLUMNS": "250",
    }  # fmt: skip
    result = CliRunner().invoke(app, ["admin", *arguments], env=environment)
    assert result.exit_code == 0, result.stderr
    return result.stdout


@pytest.fixture
def asked(sqlite_holder: TestedHolder) -> TestedHolder:
    """A holder that answered two plans, a training and a watch."""
    sqlite_holder.grant("50")
    for path, body, purpose in (
        ("releases", plan(epsilon="0.1"), PURPOSE),
        ("releases", plan(epsilon="0.2", draw=2), PURPOSE),
        ("releases", plan(epsilon="0.3", draw=3), None),
        ("watches", watch(), "Watching"),
    ):
        said = {} if purpose is None else {"purpose": purpose}
        answer: httpx.Response = sqlite_holder.auditor("POST", f"/datasets/register/{path}", json=body, params=said)
        assert answer.is_success, answer.text
    return sqlite_holder


def charges(holder: TestedHolder) -> list[dict[str, Any]]:
    return [entry for entry in holder.entries() if entry["kind"] == "charge"]


def test_the_question_of_every_charge_is_shown(asked: TestedHolder) -> None:
    first, *_, last = [entry["sequence"] for entry in charges(asked) if entry["detail"].get("asked") != "watch_answer"]

    question = asked.admin("GET", f"/ledger/{first}/question").json()
    watched = asked.admin("GET", f"/ledger/{last}/question").json()
    shown = command(asked, "question", str(first))
    shown_watch = command(asked, "question", str(last))
    with visitor(asked) as officer:
        page = officer.get(f"/console/ledger/{first}")

    released = json.loads(asked.release(plan(epsilon="0.1")).text)["plan"]
    assert Plan.model_validate(question["plan"]) == Plan.model_validate(released)
    assert (question["auditor"], question["purpose"], question["kind"]) == ("ADR", PURPOSE, "plan")
    assert watched["kind"] == "watch"
    rule = str(question["plan"]["batches"][0]["cells"][0]["id"])
    assert rule in shown
    assert "Privacy loss: ε 0.1 for each class of disjoint cells" in shown
    for fact in ("Threshold: 0.", "Verdict that is watched: ", "Margin: ", "accepted: "):
        assert fact in shown_watch
    assert PURPOSE in shown
    assert "What was asked" in page.text
    assert PURPOSE in page.text
    refused(asked.admin("GET", "/ledger/1/question"), "not-found", holder=asked)
    refused(asked.auditor("GET", f"/admin/ledger/{first}/question"), "forbidden", holder=asked)


def test_the_ledger_command_says_loss_purpose_and_what_is_left(asked: TestedHolder) -> None:
    shown = command(asked, "ledger", "--kind", "charge")

    assert f"was charged ε 0.1 about register, for “{PURPOSE}”" in shown
    assert "ε 49.9" in shown


def test_sums_by_auditor_and_purpose(asked: TestedHolder) -> None:
    found = json.loads(command(asked, "spent", "--json"))["spent"]

    by_purpose = {one["purpose"]: (one["auditor"], one["charges"], one.get("epsilon")) for one in found}
    assert by_purpose[PURPOSE] == ("ADR", 2, "0.3")
    assert by_purpose[None][1] >= 1
    with visitor(asked) as officer:
        page = officer.get("/console/budgets")
    assert "Spent, by auditor and purpose" in page.text
    assert "ε 0.3" in page.text


def test_the_export_has_plain_columns_for_a_spreadsheet(asked: TestedHolder) -> None:
    text = asked.admin("GET", "/ledger", params={"format": "csv", "kind": "charge"}).text

    first = next(csv.DictReader(io.StringIO(text)))
    assert (first["purpose"], first["epsilon"]) == (PURPOSE, "0.1")
    assert (first["limit"], first["spent"], first["left"]) == ("50", "0.1", "49.9")
    assert (first["cap_limit"], first["cap_spent"]) == ("100", "0.1")
