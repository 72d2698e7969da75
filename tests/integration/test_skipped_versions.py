"""Versions that a watch does not answer: signed, with the reason, and named by the client."""

from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from auditor_client import Auditor
from auditor_client.errors import HolderLied
from auditor_client.exchange.watch_verification import require_own_skips
from auditor_client.report.watch_data import watch_data
from auditor_client.report.watch_gaps import KeptWatch
from shared.kinds.releases import SigningKeys, verify_signature
from shared.wire import limits
from testing.holders import TestedHolder
from testing.registers import register_csv, watch
from testing.tampering import lose_the_anchored_entry
from testing.waits import wait_until
from tests.integration.test_sealed_watches import PATH, load_and_wait, report, said, set_watch, skipped


def test_versions_that_are_replaced_before_they_are_due_are_said_to_be(holder: TestedHolder) -> None:
    """Nobody answers watches while the versions come: another process would have the lock."""
    identity = set_watch(holder, margin=-9999)
    with ExitStack() as stack:
        wait_until(lambda: stack.enter_context(holder.holder.files.watching(rehearsed=False)))
        for number in range(3):
            holder.load(register_csv(people=300 + number)).raise_for_status()
    wait_until(lambda: report(holder, identity)["pending"] is None)

    assert said(holder, identity) == [(1, False), (4, False)]
    assert skipped(holder, identity) == [(2, 3, "replaced")]
    assert holder.is_intact()


def test_without_a_budget_versions_are_skipped_and_that_is_signed(holder: TestedHolder) -> None:
    identity = set_watch(holder, margin=-9999)
    holder.grant("0")
    load_and_wait(holder, identity)
    holder.grant("5")
    load_and_wait(holder, identity)

    assert said(holder, identity) == [(1, False), (3, False)]
    [skip] = report(holder, identity)["skipped"]
    assert skip["watch_skip"] == {"watch": identity, "first": 2, "last": 2, "reason": "no-budget"}
    assert set(skip) == {
        "id", "dataset", "version", "auditor", "relation", "nonce", "charge", "watch_skip", "created", "remaining",
        "ledger", "key", "signature",
    }  # fmt: skip
    verify_signature(skip, SigningKeys.model_validate(holder.client.get("/v1/keys").json()))
    entry = next(one for one in holder.entries() if one["sequence"] == skip["ledger"]["sequence"])
    assert entry["kind"] == "watch-skipped"
    assert entry["detail"] == {"asked": "watch_skip", "watch": identity}
    assert holder.spent() == "1"
    assert holder.is_intact()


def test_a_disabled_accounts_watch_pauses(sqlite_holder: TestedHolder) -> None:
    identity = set_watch(sqlite_holder, margin=-9999)
    sqlite_holder.admin("PATCH", "/auditors/ADR", json={"disabled": True}).raise_for_status()
    sqlite_holder.load(register_csv()).raise_for_status()
    wait_until(lambda: any(one["kind"] == "watch-skipped" for one in sqlite_holder.entries()))
    sqlite_holder.admin("PATCH", "/auditors/ADR", json={"disabled": False}).raise_for_status()
    load_and_wait(sqlite_holder, identity)

    assert said(sqlite_holder, identity) == [(1, False), (3, False)]
    assert skipped(sqlite_holder, identity) == [(2, 2, "account-disabled")]


def test_a_restore_is_said_once(sqlite_holder: TestedHolder) -> None:
    identity = set_watch(sqlite_holder, margin=-9999)
    lose_the_anchored_entry(sqlite_holder.settings)
    sqlite_holder.admin("POST", "/ledger/restore", json={"reason": "a disk"}).raise_for_status()
    sqlite_holder.declare().raise_for_status()
    for _ in range(2):
        load_and_wait(sqlite_holder, identity)

    assert [reason for *_, reason in skipped(sqlite_holder, identity)] == ["restored"]
    assert sqlite_holder.is_intact()


def test_the_client_names_gaps_in_headline_rows_and_json(sqlite_holder: TestedHolder, tmp_path: Path) -> None:
    """Versions 2 and 3 have no budget; the history says so, and so does that of the receipts that were kept."""
    identity = set_watch(sqlite_holder, margin=-9999)
    sqlite_holder.grant("0")
    load_and_wait(sqlite_holder, identity)
    load_and_wait(sqlite_holder, identity)
    sqlite_holder.grant("5")
    load_and_wait(sqlite_holder, identity)

    with Auditor(sqlite_holder.url, api_key=sqlite_holder.auditor_key, receipts=tmp_path / "receipts") as auditor:
        [watched] = auditor.watches("register")
        history = auditor.history("register")
        checked = auditor.verify()

    assert "not answered: 2, 3" in watched.view.data.headline
    assert [(row.version, row.answer) for row in watched.view.data.rows] == [
        ("1", "unchanged"),
        ("2", "not answered: no budget was valid"),
        ("3", "not answered: no budget was valid"),
        ("4", "unchanged"),
    ]
    assert [one["reason"] for one in watched.to_document()["not_answered"]] == ["no-budget"] * 2
    assert any("not answered: 2, 3" in fact.text for fact in history.view.data.facts)
    assert [check.fault for check in checked.checks] == [None] * len(checked.checks)


def test_a_version_without_a_word_is_named_too(sqlite_holder: TestedHolder, tmp_path: Path) -> None:
    """A holder that says nothing of versions 2 and 3, behind the last answer too, is not believed by silence."""
    identity = set_watch(sqlite_holder, margin=-9999)
    load_and_wait(sqlite_holder, identity)
    with Auditor(sqlite_holder.url, api_key=sqlite_holder.auditor_key, receipts=tmp_path / "receipts") as auditor:
        [watched] = auditor.watches("register")
    assert "not answered" not in watched.view.data.headline

    current = watched.dataset.model_copy(update={"version": 4})
    shown = watch_data(current, KeptWatch(watched.release, watched.answers), pending=4, due="2026-01-01T00:00:00")
    behind = watch_data(current, KeptWatch(watched.release, watched.answers[1:]), pending=None, due=None)

    assert "not answered: 3" in shown.headline
    assert "not answered: 1, 3, 4" in behind.headline
    assert [row.answer for row in behind.rows if row.version != "2"] == ["not answered: the holder gives no reason"] * 2


def test_a_holder_that_speaks_of_a_version_twice_is_refused(sqlite_holder: TestedHolder, tmp_path: Path) -> None:
    set_watch(sqlite_holder, margin=-9999)
    sqlite_holder.grant("0")
    sqlite_holder.load(register_csv()).raise_for_status()
    with Auditor(sqlite_holder.url, api_key=sqlite_holder.auditor_key, receipts=tmp_path / "receipts") as auditor:
        wait_until(lambda: bool(auditor.watches("register")[0].skips))
        [watched] = auditor.watches("register")
    [skip] = watched.skips
    wide = skip.model_copy(update={"watch_skip": skip.watch_skip.model_copy(update={"first": 1})})

    require_own_skips([skip], watched.release, watched.answers)
    for skips in ([skip, skip], [wide]):
        with pytest.raises(HolderLied):
            require_own_skips(skips, watched.release, watched.answers)


@pytest.mark.slow
def test_an_auditor_has_so_many_open_watches_and_they_are_listed_in_pages(sqlite_holder: TestedHolder) -> None:
    def ask(number: int) -> Any:
        return sqlite_holder.auditor("POST", PATH, json=watch(epsilon="0.001", margin=-1_000_000, draw=number))

    made = [ask(number) for number in range(1, limits.WATCHES_OPEN_MAX + 2)]

    assert [one.status_code for one in made] == [201] * limits.WATCHES_OPEN_MAX + [409]
    assert "open watches" in made[-1].json()["detail"]
    assert ask(1).status_code == 200
    names = list[str]()
    after: int | None = 0
    while after is not None:
        page = sqlite_holder.auditor("GET", PATH, params={"after": after, "limit": 40}).json()
        names += [one["id"] for one in page["watches"]]
        after = page["next"]
    assert names == [one.json()["id"] for one in made[:-1]]
