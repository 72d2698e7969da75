"""Four eyes from the auditor's side: a command that waits for a budget officer, repeated until it has its answer."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from auditor_client import Auditor
from auditor_client.cli import app
from auditor_client.errors import ApprovalAwaited
from shared.contract.approvals import Approval
from testing.holders import TestedHolder
from testing.invented.questions import FOUR_LEAVES
from tests.contract.audits import declare, invented_people

pytestmark = pytest.mark.usefixtures("coarse_chances")

AUDIT = ["audit", "--decision", "hours", "--above", "20.5", "--dataset", "register", "--sensitive", "sex"]
ASKED: dict[str, Any] = {"model": FOUR_LEAVES, "dataset": "loans", "sensitive": "sex", "threshold": 0.5}


@dataclass(frozen=True)
class Officers:
    """A holder that requires approval, an officer of it, and an auditor at a command line."""

    holder: TestedHolder
    officer_key: str
    receipts: Path

    def run(self, *arguments: str) -> Any:
        """A command's result."""
        env = {
            "AUDITOR_HOLDER_URL": self.holder.url, "AUDITOR_API_KEY": self.holder.auditor_key,
            "AUDITOR_RECEIPTS": str(self.receipts),
        }  # fmt: skip
        return CliRunner().invoke(app, list(arguments), env=env)

    def auditor(self, **more: Any) -> Auditor:
        """The same auditor from Python."""
        return Auditor(self.holder.url, self.holder.auditor_key, receipts=self.receipts, **more)

    def waiting(self) -> list[dict[str, Any]]:
        """What waits, as the officer sees it."""
        path = "/v1/admin/approvals?state=waiting"
        found: list[dict[str, Any]] = self.holder._call(self.officer_key, "GET", path, {}).json()["approvals"]
        return found

    def decide(self, *, approved: bool = True, reason: str | None = None) -> None:
        """Decide about the one request that waits."""
        [one] = self.waiting()
        self.decide_about(one["id"], approved=approved, reason=reason)

    def decide_about(self, approval: str, *, approved: bool = True, reason: str | None = None) -> None:
        """Decide about a request as it is now."""
        path = f"/v1/admin/approvals/{approval}"
        entry = self.holder._call(self.officer_key, "GET", path, {}).json()["entry"]
        decision = {"approved": approved, "entry": entry, **({} if reason is None else {"reason": reason})}
        answer = self.holder._call(self.officer_key, "PUT", f"{path}/decision", {"json": decision})
        assert answer.status_code == 200, answer.text

    @property
    def kept(self) -> list[str]:
        """What the receipts directory has but the pinned keys."""
        return sorted(path.name for path in self.receipts.rglob("*.json") if path.name != "keys.json")


@pytest.fixture
def officers(sqlite_holder: TestedHolder, tmp_path: Path) -> Officers:
    holder = sqlite_holder
    declare(holder, invented_people())
    for dataset in ("register", "loans"):
        holder.grant("50", dataset=dataset)
        required = {"required": True, "days": 3}
        assert holder.admin("PUT", f"/populations/{dataset}/approval", json=required).status_code == 200
    officer = holder.admin("POST", "/auditors", json={"name": "officer", "role": "budget-officer"}).json()["key"]
    return Officers(holder, officer, tmp_path / "receipts")


@pytest.mark.slow
def test_a_command_waits_and_repeated_gets_its_answer(officers: Officers) -> None:
    command = [*AUDIT, "--epsilon", "1"]
    planned = officers.run("plan", *command[1:], "--people", "300")
    described = officers.run("dataset", "register")
    waits = officers.run(*command)
    unspent, kept = officers.holder.spent(), officers.kept
    [listed] = json.loads(officers.run("approvals", "register", "--json").stdout)["approvals"]
    still = officers.run(*command)
    officers.holder.grant("30")
    officers.decide()
    answered = officers.run(*command)
    again = officers.run(*command)

    assert "budget officer of the holder must approve it" in planned.stdout
    assert "a request stands 3 days" in " ".join(described.stdout.split())
    assert (waits.exit_code, still.exit_code, waits.stdout) == (3, 3, "")
    for words in ("ε = 1,", "good until", "Nothing was charged", "`auditor approvals`", listed["id"]):
        assert words in waits.stderr
    assert (unspent, kept) == ("0", []), "nothing is kept before it was answered"
    assert (answered.exit_code, again.exit_code) == (0, 0), answered.output
    assert f"{listed['id'].removeprefix('sha256:')}.json" in officers.kept, "what was approved is what is answered"
    assert officers.holder.spent() == "1"
    assert "answered" in officers.run("approvals", "register").stdout
    assert officers.holder.is_intact()


def test_declined_is_a_sentence_and_withdrawn_can_be_asked_anew(officers: Officers) -> None:
    declined = [*AUDIT, "--epsilon", "1"]
    withdrawn = [*AUDIT, "--epsilon", "2"]

    assert officers.run(*declined).exit_code == 3
    officers.decide(approved=False, reason="Ask for less.")
    refused = officers.run(*declined)
    listed = officers.run("approvals", "register", "--json")
    assert officers.run(*withdrawn).exit_code == 3
    [waiting] = officers.waiting()
    taken = officers.run("approvals", "register", "--withdraw", waiting["id"].removeprefix("sha256:")[:8])
    gone = officers.waiting()
    anew = officers.run(*withdrawn)

    assert refused.exit_code == 2
    assert "Ask for less." in refused.stderr
    assert "Traceback" not in refused.output
    assert json.loads(listed.stdout)["approvals"][0]["reason"] == "Ask for less."
    assert (taken.exit_code, gone) == (0, [])
    assert "withdrawn" in taken.stdout
    assert (anew.exit_code, len(officers.waiting())) == (3, 1)
    assert officers.run("approvals", "register", "--withdraw", "zz").exit_code == 2
    assert officers.holder.spent() == "0"


QUESTIONS: dict[str, dict[str, Any]] = {
    "auto": {"epsilon": "0.5"},
    "auto, with people": {"epsilon": "0.5", "people": 1200, "metrics": ("statistical-parity", "equal-opportunity")},
    "exponential": {"epsilon": "0.5", "mechanism": "exponential", "upper": 5000},
    "of parts": {"epsilon": "0.5", "strategy": "rules", "where": ["age >= 30"]},
    "a second draw": {"epsilon": "0.5", "draw": 2},
    "until decided": {"epsilon": "0.5", "until_decided": True},
}


def test_a_repeated_question_is_the_same_whatever_changed_meanwhile(officers: Officers) -> None:
    with officers.auditor() as auditor:
        first = {name: awaited(auditor, **asked) for name, asked in QUESTIONS.items()}
        officers.holder.grant("7", dataset="loans")
        cap = {"cap": {"epsilon": "60", "delta": "0"}}
        assert officers.holder.admin("PUT", "/populations/loans/cap", json=cap).is_success
    with officers.auditor() as auditor:
        again = {name: awaited(auditor, **asked) for name, asked in QUESTIONS.items()}

    assert again == first
    assert len({one.id for one in first.values()}) == len(QUESTIONS)


def awaited(auditor: Auditor, **asked: Any) -> Approval:
    with pytest.raises(ApprovalAwaited) as waited:
        auditor.audit(**{**ASKED, **asked})
    return waited.value.approval


def test_each_look_waits_and_goes_on_when_it_is_repeated(officers: Officers) -> None:
    command = [*AUDIT, "--epsilon", "4", "--until-decided", "--first-look", "1", "--ratio", "0.8"]
    codes, prices = [], []
    for _ in range(4):
        result = officers.run(*command)
        codes.append(result.exit_code)
        if result.exit_code != 3:
            break
        prices.append(officers.waiting()[0]["charge"]["epsilon"])
        officers.decide()

    assert codes[-1] == 0, result.output
    assert codes[:-1] == [3] * len(prices)
    assert prices == ["1", "1", "2"][: len(prices)]
    assert officers.holder.spent() == str(sum(map(int, prices)))


def test_looks_that_were_never_answered_can_be_settled_otherwise(officers: Officers) -> None:
    with officers.auditor() as auditor:
        one = awaited(auditor, epsilon="0.5", until_decided=True, first_look="0.1")
        auditor.withdraw("loans", one.id)
        other = awaited(auditor, epsilon="0.3", until_decided=True, first_look="0.1")

    assert (other.id, other.state) == (one.id, "waiting")


@pytest.mark.slow
def test_every_call_that_spends_waits(officers: Officers, tmp_path: Path) -> None:
    with officers.auditor() as auditor:
        assert "has to approve it" in repr(auditor.plan_training("loans", epsilon="1", features=["age=30,50"]))
        with pytest.raises(ApprovalAwaited) as trained:
            auditor.train("loans", epsilon="1", features=["age=30,50"])
        with pytest.raises(ApprovalAwaited) as compared:
            auditor.compare(FOUR_LEAVES, FOUR_LEAVES, "loans", "sex", "0.5")
        approve_all(officers)
        both = auditor.compare(FOUR_LEAVES, FOUR_LEAVES, "loans", "sex", "0.5")
        awaited(auditor, epsilon="3")
        approve_all(officers)
        found = auditor.audit(**ASKED, epsilon="3")
        with pytest.raises(ApprovalAwaited) as watched:
            auditor.watch(found, "1")
        approve_all(officers)
        model = auditor.train("loans", epsilon="1", features=["age=30,50"])
        watch = auditor.watch(found, "1")
        assert "has to approve it" not in repr(auditor.plan_training("loans", epsilon="1", features=["age=30,50"]))
        states = [(one.kind, one.state) for one in auditor.approvals("loans")]

    kinds = [one.value.approval.kind for one in (trained, compared, watched)]
    assert kinds == ["training", "plan", "watch"]
    assert [one.value.approval.id for one in (trained, compared, watched)] == [
        model.release.id, both.first.release.id, watch.release.id,
    ]  # fmt: skip
    assert states == [("training", "answered"), ("plan", "answered"), ("plan", "answered"), ("watch", "answered")]


def approve_all(officers: Officers) -> None:
    for one in officers.waiting():
        officers.decide_about(one["id"])
