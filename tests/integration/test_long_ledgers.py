"""A long ledger is verified by several processes, and they find what one finds, first things first."""

from collections.abc import Callable

import pytest
from sqlalchemy import update

from holder_service.services.ledger import release_checks
from holder_service.storage.database import Connection, Database
from holder_service.storage.tables import entries, releases
from testing.holders import TestedHolder
from testing.long_ledgers import lengthen
from testing.registers import plan

LENGTH = 60
Fault = Callable[[Connection], object]


@pytest.fixture
def long_ledger(holder: TestedHolder, monkeypatch: pytest.MonkeyPatch) -> TestedHolder:
    """A holder with a ledger of several batches."""
    monkeypatch.setattr(release_checks, "BATCH", 8)
    assert holder.release(plan(epsilon="0.001")).status_code == 201
    lengthen(holder, LENGTH)
    return holder


def bodies_swapped(sequence: int) -> Fault:
    """The release of an entry has the bytes of the next entry's."""
    other = releases.alias()
    body = other.select().with_only_columns(other.c.body).where(other.c.sequence == sequence + 1).scalar_subquery()
    return lambda connection: connection.execute(
        update(releases).where(releases.c.sequence == sequence).values(body=body)
    )


def signature_changed(sequence: int) -> Fault:
    """One digit of what was signed is another."""

    def change(connection: Connection) -> None:
        of = releases.c.sequence == sequence
        body = connection.execute(releases.select().with_only_columns(releases.c.body).where(of)).scalar_one()
        changed = bytes(body).replace(b'"version":1}', b'"version":2}')
        assert changed != bytes(body)
        connection.execute(update(releases).where(of).values(body=changed))

    return change


def filed_elsewhere(sequence: int) -> Fault:
    """The release is filed as another's; its bytes are as they were."""
    return lambda connection: connection.execute(
        update(releases).where(releases.c.sequence == sequence).values(created="x", version=7, auditor="administrator")
    )


def entry_changed(sequence: int) -> Fault:
    """An entry says that it cost something else."""
    return lambda connection: connection.execute(
        update(entries).where(entries.c.sequence == sequence).values(epsilon_nano=2)
    )


@pytest.mark.parametrize("children_from", [10**9, LENGTH // 2], ids=["alone", "with-children"])
def test_an_intact_long_ledger_is_intact(
    long_ledger: TestedHolder, monkeypatch: pytest.MonkeyPatch, children_from: int
) -> None:
    monkeypatch.setattr(release_checks, "CHILDREN_FROM", children_from)

    found = long_ledger.admin("POST", "/ledger/verify").json()

    assert (found["intact"], found["entries"]) == (True, LENGTH)


FAULTS = {
    "body": ([bodies_swapped(30)], 30, "not the one that was charged"),
    "signature": ([signature_changed(41)], 41, "not the one that was signed"),
    "row": ([filed_elsewhere(LENGTH)], LENGTH, "not the one that was charged"),
    "entry": ([entry_changed(33)], 33, "does not have the hash"),
    "release-before-entry": ([bodies_swapped(31), entry_changed(33)], 31, "not the one that was charged"),
    "entry-before-release": ([bodies_swapped(34), entry_changed(33)], 33, "does not have the hash"),
    "two-releases": ([signature_changed(50), bodies_swapped(20)], 20, "not the one that was charged"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_the_first_fault_is_found_by_one_process_and_by_several(
    long_ledger: TestedHolder, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    faults, sequence, reason = FAULTS[name]
    database = Database(long_ledger.settings.database_url)
    try:
        for fault in faults:
            database.transaction(fault)
    finally:
        database.close()
    answers = []

    for children_from in (10**9, LENGTH // 2):
        monkeypatch.setattr(release_checks, "CHILDREN_FROM", children_from)
        answers.append(long_ledger.admin("POST", "/ledger/verify").json())

    assert answers[0] == answers[1]
    assert answers[0]["broken_at"] == sequence
    assert reason in answers[0]["reason"]
    assert answers[0]["entries"] in (sequence - 1, sequence)
