"""Notices through the real service: what begins and ends them, who sees them, and that a line is logged once."""

import asyncio
import html
import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from pydantic import SecretStr
from typer.testing import CliRunner

from auditor_client import Auditor
from auditor_client.cli import app as auditor_app
from auditor_client.desk.app import create_desk
from auditor_client.desk.desk import Desk
from auditor_client.settings import AuditorSettings
from auditor_client.tables import budget_table
from holder_service.cli import app
from holder_service.services.ledger.store import LedgerStore
from holder_service.services.running.holder import Holder
from holder_service.services.running.notices import FILE, NoticeLog
from shared.contract.notices import Thresholds
from testing.console_visitors import visitor
from testing.holders import TestedHolder, running_holder
from testing.kept_logs import logged
from testing.registers import DECLARATION, plan, register_csv
from testing.tampering import lose_the_anchored_entry
from testing.waits import wait_until


def listed(holder: TestedHolder) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = holder.admin("GET", "/notices").json()["notices"]
    return found


def kinds(holder: TestedHolder) -> list[tuple[str, str | None, str | None]]:
    return [(one["kind"], one.get("population"), one.get("account")) for one in listed(holder)]


def in_days(days: float) -> str:
    return (datetime.now(UTC) + timedelta(days=days)).isoformat()


def set_cap(holder: TestedHolder, population: str, **cap: str) -> None:
    assert holder.admin("PUT", f"/populations/{population}/cap", json={"cap": cap}).status_code == 200


CAP = ("cap-spent", "register", None)
BUDGET = ("budget-spent", "register", "ADR")


def test_a_charge_a_lower_cap_and_a_merge_begin_notices_and_a_higher_cap_ends_them(holder: TestedHolder) -> None:
    set_cap(holder, "register", epsilon="1", delta="0")
    holder.release(plan(epsilon="0.7", draw=1))
    before = listed(holder)
    holder.release(plan(epsilon="0.1", draw=2))
    charged = listed(holder)
    set_cap(holder, "register", epsilon="2", delta="0")
    raised = listed(holder)
    set_cap(holder, "register", epsilon="0.5", delta="0")
    [lowered] = listed(holder)
    set_cap(holder, "register", epsilon="2", delta="0")
    raised_again = listed(holder)
    holder.offer("census", register_csv(people=60), epsilon="2")
    holder.release(plan(epsilon="0.9"), dataset="census")
    apart = listed(holder)
    holder.admin("POST", "/populations/register/merge", json={"population": "census"}).raise_for_status()
    [merged] = [one for one in listed(holder) if one["kind"] != "cap-raised"]

    assert before == []
    assert [one["kind"] for one in raised] == ["cap-raised"]
    assert [one["kind"] for one in apart] == [one["kind"] for one in raised_again] == ["cap-raised"] * 2
    entries = {entry["sequence"]: entry for entry in holder.entries()}
    [crossing] = [one for one in entries.values() if one["kind"] == "charge" and one["epsilon_nano"] == 100_000_000]
    assert [(one["kind"], one["spent_percent"], one["left"]["epsilon"]) for one in charged] == [
        ("cap-spent", 80, "0.2")
    ]
    assert datetime.fromisoformat(charged[0]["since"]) == datetime.fromisoformat(crossing["at"])
    assert (lowered["spent_percent"], lowered["left"]["epsilon"]) == (160, "0")
    assert (merged["kind"], merged["population"], merged["spent_percent"]) == ("cap-spent", "register", 85)


def test_a_revoked_budget_has_no_notice_and_one_that_is_granted_anew_may(sqlite_holder: TestedHolder) -> None:
    holder = sqlite_holder
    holder.grant("1")
    holder.release(plan(epsilon="0.9"))
    spent = kinds(holder)
    holder.grant("0")
    revoked = kinds(holder)
    holder.grant("1")
    again = kinds(holder)
    holder.grant("5")
    raised = kinds(holder)
    holder.grant("1")
    holder.admin("PATCH", "/auditors/ADR", json={"disabled": True}).raise_for_status()

    assert spent == again == [BUDGET]
    assert revoked == raised == kinds(holder) == []


def test_an_account_in_rho_has_notices_too(sqlite_holder: TestedHolder) -> None:
    holder = sqlite_holder
    holder.declare("monthly", cap={"rho": "0.00625", "delta": "0.000001"})
    holder.load(register_csv(people=60), "monthly")
    holder.admin("PUT", "/datasets/monthly/budgets/ADR", json={"rho": "0.1"}).raise_for_status()

    assert holder.release(plan(epsilon="0.1"), dataset="monthly").status_code == 201

    [notice] = listed(holder)
    assert (notice["kind"], notice["spent_percent"]) == ("cap-spent", 80)
    assert (notice["limit"]["rho"], notice["left"]["rho"]) == ("0.00625", "0.00125")
    assert "ρ" in notice["what"]


def test_a_restore_leaves_caps_to_be_set_again(sqlite_holder: TestedHolder) -> None:
    holder = sqlite_holder
    set_cap(holder, "register", epsilon="1", delta="0")
    holder.release(plan(epsilon="0.9"))
    lose_the_anchored_entry(holder.settings)
    holder.admin("POST", "/ledger/restore", json={"reason": "the disk failed"}).raise_for_status()
    holder.open_auditor("late", epsilon="0.1")

    [notice] = listed(holder)
    set_cap(holder, "register", epsilon="1", delta="0")

    [restore] = [entry for entry in holder.entries() if entry["kind"] == "restore"]
    assert notice["kind"] == "cap-missing"
    assert notice["what"].startswith("A restore closed the cap of population register")
    assert datetime.fromisoformat(notice["since"]) == datetime.fromisoformat(restore["at"])
    assert kinds(holder) == [CAP]


def test_no_notices_of_rehearsals_and_of_people_whose_datasets_are_retired(sqlite_holder: TestedHolder) -> None:
    """A data steward's new population waits for a cap: that is a notice of its own."""
    holder = sqlite_holder
    holder.grant("1")
    holder.release(plan(epsilon="0.9"))
    holder.admin("POST", "/datasets/register/rehearsal", json={"people": 50}).raise_for_status()
    holder.release(plan(epsilon="10"), dataset="register-rehearsal").raise_for_status()
    made = holder.admin("POST", "/auditors", json={"name": "steward", "role": "data-steward"}).json()
    headers = {"Authorization": f"Bearer {made['key']}"}
    without_cap = {name: value for name, value in DECLARATION.items() if name != "cap"}
    for name in ("planned", "waiting"):
        holder.client.put(f"/v1/admin/datasets/{name}", json=without_cap, headers=headers).raise_for_status()

    found = kinds(holder)
    for name in ("waiting", "planned", "register"):
        holder.admin("DELETE", f"/datasets/{name}").raise_for_status()

    assert found == [("cap-missing", "planned", None), BUDGET, ("cap-missing", "waiting", None)]
    assert kinds(holder) == []


def test_ends_of_budgets_and_keys_are_noticed_while_they_matter(sqlite_holder: TestedHolder) -> None:
    holder = sqlite_holder
    budget = {"epsilon": "5", "delta": "0", "expires": in_days(10)}
    holder.admin("PUT", "/datasets/register/budgets/ADR", json=budget).raise_for_status()
    keys = [
        holder.admin("POST", "/auditors/ADR/keys", json={"expires": in_days(days)}).json()["key_id"]
        for days in (3, 5, 60)
    ]

    found = listed(holder)
    holder.admin("DELETE", f"/auditors/ADR/keys/{keys[0]}").raise_for_status()
    withdrawn = [one.get("key_id") for one in listed(holder)]
    holder.admin("PATCH", "/auditors/ADR", json={"disabled": True}).raise_for_status()

    assert [(one["kind"], one.get("key_id")) for one in found] == [
        ("budget-expires", None), ("key-expires", keys[0]), ("key-expires", keys[1])
    ]  # fmt: skip
    assert datetime.fromisoformat(found[0]["until"]) == datetime.fromisoformat(budget["expires"])
    assert withdrawn == [None, keys[1]]
    assert listed(holder) == []


def test_everything_shows_the_one_list_to_whom_the_ledger_is_shown(sqlite_holder: TestedHolder) -> None:
    holder = sqlite_holder
    set_cap(holder, "register", epsilon="1", delta="0")
    holder.grant("1")
    holder.release(plan(epsilon="0.85"))

    shown = CliRunner().invoke(app, ["admin", "notices", "--json", "--url", holder.url, "--key", holder.admin_key])
    table = CliRunner().invoke(app, ["admin", "notices", "--url", holder.url, "--key", holder.admin_key])
    metrics = holder.metrics().text
    refused = holder.auditor("GET", "/admin/notices")

    with visitor(holder) as somebody:
        pages = {path: somebody.get(f"/console{path}").text for path in ("", "/budgets", "/auditors/ADR")}

    assert json.loads(shown.stdout)["notices"] == listed(holder)
    assert all(one["what"] in pages[""] and one["advice"] in pages[""] for one in listed(holder))
    assert [pages[path].count("85 % spent") for path in ("", "/budgets", "/auditors/ADR")] == [1, 2, 1]
    assert [one["kind"] for one in listed(holder)] == ["cap-spent", "budget-spent"]
    assert "85 % of the ε that the cap of population register admits is spent." in " ".join(table.stdout.split())
    assert 'holder_notices{kind="cap-spent",population="register"} 1.0' in metrics
    assert 'holder_notices{kind="budget-spent",population=""} 1.0' in metrics
    assert 'holder_notices{kind="key-expires",population=""} 0.0' in metrics
    assert refused.status_code == 403


def test_an_auditor_reads_of_its_own_budget_alone(sqlite_holder: TestedHolder, tmp_path: Path) -> None:
    """The cap is spent by others, which is nothing of its own; the planted fault says so to it."""
    holder = sqlite_holder
    set_cap(holder, "register", epsilon="1", delta="0")
    holder.grant("2")
    other = holder.open_auditor("other", epsilon="1")
    holder.release(plan(epsilon="0.9"), key=other).raise_for_status()
    said = []

    for epsilon in ("2", "0.1"):
        holder.grant(epsilon)
        holder.release(plan(epsilon="0.08")).raise_for_status()
        with Auditor(holder.url, holder.auditor_key, receipts=tmp_path / "receipts") as auditor:
            sentences = " ".join(budget_table(auditor.budgets()).sentences)
        environment = {"AUDITOR_HOLDER_URL": holder.url, "AUDITOR_API_KEY": holder.auditor_key}
        shown = CliRunner().invoke(auditor_app, ["budget"], env=environment).stdout
        said.append((sentences, sentences in " ".join(shown.split()), desk_page(holder, "/budgets", tmp_path)))

    assert kinds(holder) == [CAP, BUDGET, ("budget-spent", "register", "other")]
    [(nothing, _, quiet), (much, on_terminal, loud)] = said
    assert nothing == ""
    assert 'class="due"' not in quiet
    assert much.startswith("80 % of the ε granted to you about the people of register is spent; ε = 0.02 can be spent.")
    assert on_terminal
    assert much in html.unescape(loud)


def test_the_desk_draws_no_budget_that_has_ended(sqlite_holder: TestedHolder, tmp_path: Path) -> None:
    pages, ends = [], [in_days(30), in_days(-30)]
    for end in ends:
        clock_at = datetime.fromisoformat(end) - timedelta(days=1)  # nobody grants what has ended
        sqlite_holder.holder.store.clock = lambda at=clock_at: at  # type: ignore[misc]
        grant = {"epsilon": "5", "expires": end}
        sqlite_holder.admin("PUT", "/datasets/register/budgets/ADR", json=grant).raise_for_status()
        pages.append(desk_page(sqlite_holder, "/budgets", tmp_path))
    going_on, ended = pages
    until, ended_on = (f"{end[:10]} {end[11:16]}" for end in ends)

    assert f"until {until}" in going_on
    assert "ended on" not in going_on
    assert f"ended on {ended_on}; ask the holder for more" in ended
    assert f"until {ended_on}" not in ended
    for words in ("can be spent", 'class="bar"'):
        assert (words in going_on, words in ended) == (True, False)
    assert "ε = 5 granted" in ended


def desk_page(holder: TestedHolder, path: str, folder: Path) -> str:
    """A page of the desk, to the browser that it let in."""
    key, receipts = SecretStr(holder.auditor_key), folder / "receipts"
    desk = Desk(AuditorSettings(holder_url=holder.url, api_key=key, receipts=receipts), 8811)

    async def asked() -> str:
        transport = httpx.ASGITransport(create_desk(desk))
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8811") as client:
            await client.get(desk.door.address)
            return (await client.get(f"{desk.door.root}{path}")).text

    try:
        return asyncio.run(asked())
    finally:
        desk.close()


# The log


def lines(records: list[logging.LogRecord]) -> list[tuple[str, str | None]]:
    """The kind of each notice that was logged, and what it is about."""
    return [
        (str(vars(one)["notice"]), vars(one)["account"] or vars(one)["population"])
        for one in records
        if one.msg == "notice"
    ]


@contextmanager
def stopped(tested: TestedHolder) -> Iterator[Holder]:
    """The holder of a stopped process, opened and not serving."""
    holder = Holder.open(tested.settings)
    try:
        yield holder
    finally:
        holder.close()


def log_of(holder: Holder, at: datetime) -> NoticeLog:
    """What logs the holder's notices at a time."""
    store = LedgerStore(holder.store.database, holder.store.anchor, lambda: at)
    return NoticeLog(store, holder.files, Thresholds(), holder.settings.home)


def test_a_line_is_logged_at_the_charge_and_by_no_start_again(tmp_path: Path) -> None:
    """The planted faults are a log that forgets with its process, and one that looks at a start alone."""
    with logged() as records:
        with running_holder(tmp_path, epsilon="1") as tested:
            tested.release(plan(epsilon="0.7", draw=1)).raise_for_status()
            tested.holder.notices.look()
            before = lines(records)
            tested.release(plan(epsilon="0.1", draw=2)).raise_for_status()
            wait_until(lambda: bool(lines(records)))
        with stopped(tested) as holder:
            for _ in range(3):
                log_of(holder, datetime.now(UTC)).look()
        again = lines(records)
        (tested.settings.home / FILE).unlink()
        with tested.reopened():
            wait_until(lambda: len(lines(records)) > len(again))

    assert before == []
    assert again == [("budget-spent", "ADR")]
    assert lines(records) == again * 2, "whoever dies before it kept what it wrote, writes it once more"
    assert vars(next(one for one in records if one.msg == "notice"))["spent_percent"] == 80


@pytest.mark.parametrize("kept", ["[]", "{"])
def test_what_ends_is_logged_once_a_day_until_it_ends(tmp_path: Path, kept: str) -> None:
    """Whatever the file had in it, and whenever there was a process."""
    with logged() as records:
        with running_holder(tmp_path) as tested:
            end = datetime.now(UTC).replace(hour=12) + timedelta(days=100)
            grant = {"epsilon": "5", "expires": end.isoformat()}
            tested.admin("PUT", "/datasets/register/budgets/ADR", json=grant).raise_for_status()
        file = tested.settings.home / FILE
        assert not file.exists(), "nothing is kept where there is nothing to say"
        file.write_text(kept)
        found = []
        with stopped(tested) as holder:
            for days in (-20, -10, -9.9, -7, -6.8, -0.1, 0.1):
                log_of(holder, end + timedelta(days=days)).look()
                found.append(len(lines(records)))

    assert found == [0, 1, 1, 2, 2, 3, 3]
    assert json.loads(file.read_text()) == {}
    assert set(lines(records)) == {("budget-expires", "ADR")}


def test_what_another_process_logs_is_left_to_it(tmp_path: Path) -> None:
    with logged() as records:
        with running_holder(tmp_path, epsilon="1") as tested:
            tested.release(plan(epsilon="0.9")).raise_for_status()
        (tested.settings.home / FILE).unlink(missing_ok=True)
        records.clear()
        with stopped(tested) as holder:
            with holder.files.noticing() as alone:
                log_of(holder, datetime.now(UTC)).look()
                while_taken = lines(records)
            log_of(holder, datetime.now(UTC)).look()

    assert alone
    assert while_taken == []
    assert lines(records) == [("budget-spent", "ADR")]
