"""A second officer confirms whatever allows more about a population that requires it (docs/approvals.md)."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest
from typer.testing import CliRunner

from holder_service.cli import app
from holder_service.domain.ledger import BrokenLedger, Entry
from holder_service.domain.second_officers import SecondOfficerReplay
from holder_service.storage import ledger_views
from holder_service.storage.ledger_views import EntryFilter
from testing.console_visitors import visitor
from testing.holders import TestedHolder
from testing.refusals import refused
from testing.registers import DECLARATION

APPROVAL = "/populations/register/approval"
STRICT = {"required": True, "days": 14, "second_officer": True}
CAP = {"cap": {"epsilon": "900"}}


class Officers:
    """A holder whose register requires a second officer, and the keys of two officers beside the administrator's."""

    def __init__(self, holder: TestedHolder) -> None:
        self.holder = holder
        self.keys = {name: self._opened(name) for name in ("anna", "bert")}

    def _opened(self, name: str) -> str:
        opened = self.holder.admin("POST", "/auditors", json={"name": name, "role": "budget-officer"})
        assert opened.status_code == 201, opened.text
        return str(opened.json()["key"])

    def put(self, officer: str, path: str, body: Mapping[str, Any]) -> httpx.Response:
        headers = {"Authorization": f"Bearer {self.keys[officer]}"}
        return self.holder.client.put(f"/v1/admin{path}", json=body, headers=headers)

    def cap(self, officer: str, body: Mapping[str, Any] = CAP) -> httpx.Response:
        return self.put(officer, "/populations/register/cap", body)

    def newest_cap(self) -> int:
        entries = [one for one in self.holder.entries() if one.get("cap") and one["population"] == "register"]
        return int(entries[-1]["cap"]["limit_epsilon_nano"])

    def verify(self) -> None:
        found = self.holder.admin("POST", "/ledger/verify").json()
        assert found["intact"], found

    def proposed(self) -> list[str]:
        notices = self.holder.admin("GET", "/notices").json()["notices"]
        return [one["what"] for one in notices if one["kind"] == "change-proposed"]


@pytest.fixture
def officers(sqlite_holder: TestedHolder) -> Officers:
    found = Officers(sqlite_holder)
    assert found.put("anna", APPROVAL, STRICT).json()["second_officer"] is True
    return found


def waits(answer: httpx.Response) -> int:
    """The ledger entry of the proposal that a refusal names."""
    assert answer.status_code == 409, answer.text
    assert "Nothing was changed yet" in answer.json()["detail"]
    return int(answer.json()["proposed"])


def test_a_raised_cap_takes_two_officers(officers: Officers) -> None:
    before = officers.newest_cap()

    proposal = waits(officers.cap("anna"))
    again = waits(officers.cap("anna"))
    unchanged, proposed = officers.newest_cap(), officers.proposed()
    confirmed = officers.cap("bert")

    assert again == proposal
    assert unchanged == before
    change = f"set the cap to epsilon 900 (ledger entry {proposal})"
    assert proposed == [f"anna proposed for population register: {change}. A second officer has to confirm it."]
    assert confirmed.status_code == 200, confirmed.text
    assert officers.newest_cap() == 900 * 10**9
    assert officers.holder.entries()[-1]["detail"]["proposed"] == proposal
    assert officers.proposed() == []
    officers.verify()
    waits(officers.cap("bert", {"cap": {"epsilon": "950"}}))
    assert officers.cap("anna", {"cap": {"epsilon": "1"}}).status_code == 200, "to lower a cap takes one"


def test_an_administrator_needs_a_second_officer_too(officers: Officers) -> None:
    waits(officers.holder.admin("PUT", "/populations/register/cap", json=CAP))
    waits(officers.holder.admin("PUT", "/populations/register/cap", json=CAP))
    waits(officers.holder.admin("PUT", APPROVAL, json={"required": False, "days": 14}))
    raised = {**DECLARATION, "cap": {"epsilon": "900", "delta": "0"}}
    refused(officers.holder.admin("PUT", "/datasets/register", json=raised), "conflict", holder=officers.holder)
    assert officers.cap("anna").status_code == 200


@pytest.mark.parametrize(
    "looser",
    [
        {"required": False, "days": 14},
        {"required": True, "days": 14, "second_officer": False},
        {"required": True, "days": 14, "in_full": False},
        {"required": False, "days": 14, "second_officer": False},
    ],
)
def test_one_officer_cannot_loosen_the_setting(officers: Officers, looser: dict[str, Any]) -> None:
    officers.put("anna", APPROVAL, {**STRICT, "in_full": True}).raise_for_status()
    before = officers.holder.entries()[-1]["detail"]

    proposal = waits(officers.put("anna", APPROVAL, looser))
    waits(officers.put("anna", APPROVAL, looser))
    settings = [one["detail"] for one in officers.holder.entries() if one["kind"] == "approval-required"]
    confirmed = officers.put("bert", APPROVAL, looser)

    assert settings[-1] == before
    assert confirmed.status_code == 200, confirmed.text
    assert officers.holder.entries()[-1]["detail"]["proposed"] == proposal
    officers.verify()


def test_another_change_than_was_proposed_is_a_proposal_of_its_own(officers: Officers) -> None:
    first = waits(officers.cap("anna"))
    second = waits(officers.cap("bert", {"cap": {"epsilon": "901"}}))
    assert second != first
    assert len(officers.proposed()) == 2


@pytest.mark.parametrize("withdrawn_by", ["anna", "bert"])
def test_a_proposal_is_withdrawn_by_setting_what_holds(officers: Officers, withdrawn_by: str) -> None:
    holds = {"cap": {"epsilon": str(officers.newest_cap() // 10**9)}}
    first = waits(officers.cap("anna"))
    assert officers.cap(withdrawn_by, holds).status_code == 200
    assert officers.proposed() == []
    assert waits(officers.cap("bert")) != first
    waits(officers.put("bert", APPROVAL, {"required": False, "days": 14}))
    assert officers.put(withdrawn_by, APPROVAL, STRICT).status_code == 200
    assert officers.proposed() == []
    officers.verify()


def test_a_proposal_expires_after_a_week(officers: Officers) -> None:
    first = waits(officers.cap("anna"))
    officers.holder.holder.store.clock = lambda: datetime.now(UTC) + timedelta(days=7)
    assert officers.proposed() == []
    assert waits(officers.cap("bert")) != first


def test_a_merge_neither_raises_a_cap_nor_drops_the_requirement(officers: Officers) -> None:
    holder = officers.holder
    for name, epsilon in (("larger", "900"), ("smaller", "1")):
        other = {**DECLARATION, "population": name, "cap": {"epsilon": epsilon, "delta": "0"}}
        assert holder.admin("PUT", f"/datasets/{name}", json=other).status_code == 200

    raised = holder.admin("POST", "/populations/larger/merge", json={"population": "register"})
    kept = holder.admin("POST", "/populations/smaller/merge", json={"population": "register"})

    refused(raised, "conflict", holder=holder)
    assert kept.status_code == 204, kept.text
    waits(officers.put("anna", "/populations/smaller/cap", CAP))
    officers.verify()


def test_the_command_and_the_console_propose_and_confirm(officers: Officers) -> None:
    holder = officers.holder
    form = {"population": "register", "required": "required", "days": "14", "in_full": "yes", "second_officer": "no"}
    with visitor(holder) as visits:
        refusal = visits.send("/console/budgets", form, to="approval")
        page, ledger = visits.get("/console").text, visits.get("/console/ledger").text
    command = ["admin", "require-approval", "register", "--days", "14", "--in-full", "--no-second-officer"]
    env = {"HOLDER_URL": holder.url, "HOLDER_ADMIN_KEY": officers.keys["anna"]}
    proposed = holder.entries()[-1]
    confirmed = CliRunner().invoke(app, command, env=env)

    assert refusal.status == 409
    assert "Nothing was changed yet" in refusal.text
    assert "A second officer has to confirm it." in page
    assert "a second officer has to confirm it" in ledger
    assert proposed["detail"] == {"change": {"approval": {"approval_days": 14, "in_full": True}}}
    assert confirmed.exit_code == 0, confirmed.output
    setting = {"approval_days": 14, "in_full": True, "proposed": proposed["sequence"]}
    assert holder.entries()[-1]["detail"] == setting


def replayed(entries: list[Entry]) -> None:
    replay = SecondOfficerReplay()
    for entry in entries:
        replay.apply(entry)


def test_the_replay_finds_what_no_second_officer_confirmed(officers: Officers) -> None:
    waits(officers.cap("anna"))
    officers.cap("bert").raise_for_status()
    entries = officers.holder.holder.store.look_up(ledger_views.in_order, EntryFilter(), upto=None)
    *earlier, proposal, raised = entries
    detail = {name: value for name, value in raised.event.detail.items() if name != "proposed"}
    cap = raised.event.cap
    assert cap is not None
    late = (datetime.fromisoformat(proposal.at) + timedelta(days=7)).isoformat()
    forged = [
        replace(raised, event=replace(raised.event, detail=detail)),
        replace(raised, event=replace(raised.event, actor="anna")),
        replace(raised, event=replace(raised.event, cap=cap.limited(cap.limit * 2))),
        replace(raised, at=late),
    ]

    replayed(entries)
    for entry in forged:
        with pytest.raises(BrokenLedger, match="no second officer"):
            replayed([*earlier, proposal, entry])
