"""Whoever edits the database of a holder that is serving is found out (2-privacy §6)."""
# ruff: noqa: S608 - the statements are put together from constants of this file

import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace

import pytest

from holder_service.domain.ledger import GENESIS, Event
from holder_service.storage.anchor import Anchor
from testing.holders import TestedHolder, running_holder
from testing.refusals import refused
from testing.registers import plan
from testing.tampering import CHARGE, COLUMNS, HEAD_TO_LAST, LAST, database, edit, put_back, rechained


@pytest.fixture(scope="module")
def charged_holder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestedHolder]:
    """A holder whose ledger ends with three charges."""
    with running_holder(tmp_path_factory.mktemp("charged")) as holder:
        for draw in (1, 2, 3):
            assert holder.release(plan(draw=draw)).status_code == 201
        yield holder


@pytest.fixture
def victim(charged_holder: TestedHolder) -> Iterator[TestedHolder]:
    """That holder, whose database and anchor are put back when a test has tampered with them."""
    with put_back(charged_holder) as holder:
        yield holder


@pytest.mark.parametrize(
    "statement",
    [
        f"UPDATE entries SET epsilon_nano = epsilon_nano - 1 WHERE {CHARGE}",
        f"UPDATE entries SET account = replace(account, ': 1', ': 9') WHERE {CHARGE}",
        f"UPDATE entries SET cap = replace(cap, ': 1', ': 9') WHERE {CHARGE}",
        f"UPDATE entries SET actor = 'other' WHERE {CHARGE}",
        f"UPDATE entries SET at = '2020-01-01T00:00:00+00:00' WHERE {CHARGE}",
        f"UPDATE entries SET subject = 'sha256:0' WHERE {CHARGE}",
        f"UPDATE entries SET answer = 'sha256:0' WHERE {CHARGE}",
        f"UPDATE entries SET kind = 'records' WHERE {CHARGE}",
        f"UPDATE entries SET detail = '{{\"a\": 1}}' WHERE {CHARGE}",
        f"UPDATE entries SET hash = previous WHERE {CHARGE}",
        f"UPDATE entries SET previous = hash WHERE {CHARGE}",
        "UPDATE entries SET detail = '{' WHERE sequence = 2",
        "UPDATE entries SET cap = 'null' WHERE sequence = 5",
        "UPDATE entries SET cap = '{\"x\": 1}' WHERE sequence = 5",
        "UPDATE entries SET epsilon_nano = 'much' WHERE sequence = 5",
        "DELETE FROM entries WHERE sequence = 1",
        "DELETE FROM entries WHERE sequence = 4",
        f"DELETE FROM entries WHERE sequence = {LAST}",
        "DELETE FROM entries",
        f"INSERT INTO entries (sequence, {COLUMNS}) SELECT {LAST} + 1, {COLUMNS} FROM entries WHERE {CHARGE}",
        f"INSERT INTO entries (sequence, {COLUMNS}) SELECT 0, {COLUMNS} FROM entries WHERE sequence = 1",
        "UPDATE ledger_head SET sequence = 0, hash = '" + GENESIS + "'",
        "UPDATE ledger_head SET (sequence, hash) = (SELECT sequence, hash FROM entries WHERE sequence = 5)",
        "UPDATE ledger_head SET sequence = sequence + 1",
        "UPDATE ledger_head SET hash = '" + GENESIS + "'",
        "DELETE FROM ledger_head",
        "UPDATE releases SET body = replace(CAST(body AS TEXT), '\"counts\":[', '\"counts\":[1')",
        "UPDATE releases SET body = replace(CAST(body AS TEXT), '\"epsilon\":\"9.', '\"epsilon\":\"8.')",
        "UPDATE releases SET body = replace(CAST(body AS TEXT), 'ed25519:', 'ed25519:A')",
        "UPDATE releases SET body = 'x'",
        "UPDATE releases SET body = '[]'",
        "UPDATE releases SET body = (SELECT max(body) FROM releases)",
        "UPDATE releases SET auditor = 'administrator'",
        "UPDATE releases SET sequence = sequence - 1",
        "DELETE FROM releases",
        ("INSERT INTO releases SELECT 'x' || id, auditor, dataset, version, sequence, created, body, kind, refines, "
        "watch FROM releases"),
        "UPDATE releases SET kind = 'training'",
        "UPDATE releases SET refines = id",
        "UPDATE signing_keys SET public_key = randomblob(32)",
        "DELETE FROM signing_keys",
    ],
    ids=lambda statement: statement[:60],
)  # fmt: skip
def test_an_edit_is_found(victim: TestedHolder, statement: str) -> None:
    edit(victim.settings, statement)

    found = victim.admin("POST", "/ledger/verify")

    assert found.status_code == 200
    assert not found.json()["intact"]
    assert found.json()["reason"]


def test_two_entries_that_are_swapped_are_found(victim: TestedHolder) -> None:
    edit(
        victim.settings,
        "UPDATE entries SET sequence = -1 WHERE sequence = 3",
        "UPDATE entries SET sequence = 3 WHERE sequence = 4",
        "UPDATE entries SET sequence = 4 WHERE sequence = -1",
    )

    assert victim.admin("POST", "/ledger/verify").json()["broken_at"] == 3


@pytest.mark.parametrize("cut", [1, 2, 3])
def test_the_last_entries_cut_off_are_found_and_the_holder_stops(victim: TestedHolder, cut: int) -> None:
    """The chain that is left is whole, and its head is its newest entry: only the anchor knows better."""
    edit(
        victim.settings,
        f"DELETE FROM entries WHERE sequence > {LAST} - {cut}",
        f"DELETE FROM releases WHERE sequence > {LAST}",
        HEAD_TO_LAST,
    )

    found = victim.admin("POST", "/ledger/verify").json()

    assert "anchored" in found["reason"]
    refused(victim.release(plan(draw=4)), "restore-unrecorded", holder=victim)
    refused(victim.admin("POST", "/auditors", json={"name": "new"}), "restore-unrecorded", holder=victim)
    refused(victim.client.get("/readyz"), "restore-unrecorded", holder=victim)


def noted(event: Event) -> Event:
    """The event with something more in its detail."""
    return replace(event, detail={**event.detail, "x": 1})


@pytest.mark.parametrize("with_anchor", [False, True])
def test_a_ledger_rewritten_with_fitting_hashes_is_found(victim: TestedHolder, *, with_anchor: bool) -> None:
    """By the anchor; and if that was rewritten too, by the receipts, which nobody can sign again."""
    head = rechained(victim.settings, noted)
    if with_anchor:
        Anchor(victim.settings.anchor).create(head)

    found = victim.admin("POST", "/ledger/verify").json()

    assert not found["intact"]
    assert "rewritten" in found["reason"]


def test_entries_of_any_content_are_reported_and_not_stumbled_over(victim: TestedHolder) -> None:
    """Even with fitting hashes."""
    rechained(victim.settings, lambda event: replace(event, detail={}))
    with database(victim.settings) as connection:
        connection.execute("UPDATE entries SET kind = 'merge'")

    assert not victim.admin("POST", "/ledger/verify").json()["intact"]


def test_a_ledger_is_intact_while_it_grows(holder: TestedHolder) -> None:
    with ThreadPoolExecutor(4) as pool:
        growing = pool.map(lambda draw: holder.release(plan(epsilon="0.001", draw=draw)).status_code, range(1, 41))
        found = [holder.admin("POST", "/ledger/verify").json() for _ in range(8)]

        assert set(growing) == {201}
    assert [one["reason"] for one in found] == [None] * 8


def test_an_old_copy_put_back_releases_nothing_until_the_restore_is_recorded(sqlite_holder: TestedHolder) -> None:
    with closing(sqlite3.connect(":memory:")) as copy:
        with database(sqlite_holder.settings) as live:
            live.backup(copy)
        *_, lost = [sqlite_holder.release(plan(draw=draw)).json() for draw in (11, 12, 13)]
        with database(sqlite_holder.settings) as live:
            copy.backup(live)

    refused(sqlite_holder.release(plan(draw=13)), "restore-unrecorded", holder=sqlite_holder)
    assert sqlite_holder.auditor("GET", "/ledger/entries/" + str(lost["ledger"]["sequence"])).status_code == 404
    assert sqlite_holder.auditor("POST", "/datasets/register/quotes", json=plan()).status_code == 200

    recorded = sqlite_holder.admin("POST", "/ledger/restore", json={"reason": "the disk failed"})

    assert recorded.status_code == 201
    entry, closed = sqlite_holder.entries()[-2:]
    assert (entry["sequence"], entry["hash"]) == (recorded.json()["sequence"], recorded.json()["hash"])
    assert (closed["kind"], closed["population"], closed["detail"]["closed_by"]) == ("cap", "register", "restore")
    assert (entry["kind"], entry["actor"], entry["detail"]["reason"]) == ("restore", "administrator", "the disk failed")
    assert entry["detail"]["anchored_sequence"] == lost["ledger"]["sequence"]
    assert entry["detail"]["anchored_hash"] == lost["ledger"]["hash"]
    assert recorded.json()["closed"] == ["register"]
    refused(sqlite_holder.release(plan(draw=1)), "cap-exhausted", holder=sqlite_holder)
    assert sqlite_holder.declare().status_code == 200, "an administrator opens the cap knowingly"
    for draw in (1, 2, 3):
        assert sqlite_holder.release(plan(draw=draw)).status_code == 201, "it goes on, in the same process"
    assert sqlite_holder.client.get("/readyz").status_code == 200
    assert sqlite_holder.admin("POST", "/ledger/verify").json()["intact"]
    same = sqlite_holder.auditor("GET", "/ledger/entries/" + str(lost["ledger"]["sequence"])).json()
    assert same["hash"] != lost["ledger"]["hash"], "the lost receipt proves the loss"
