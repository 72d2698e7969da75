"""Sums over the ledger are those of all entries at every look, and a look reads only the new ones."""

import pytest
from sqlalchemy import delete, update

from holder_service.services.ledger.store import LedgerStore
from holder_service.services.ledger.sums import LedgerSums
from holder_service.storage.database import Connection, Database
from holder_service.storage.tables import entries, ledger_head, releases
from testing.holders import TestedHolder
from testing.long_ledgers import lengthen
from testing.registers import plan


@pytest.fixture
def asked(holder: TestedHolder) -> TestedHolder:
    """A holder with charges for two purposes."""
    for draw, purpose in ((1, None), (2, "A review"), (3, "A review")):
        body = plan(epsilon="0.001", draw=draw)
        assert holder.auditor("POST", "/datasets/register/releases", json=body, params=_for(purpose)).status_code == 201
    return holder


def _for(purpose: str | None) -> dict[str, str]:
    return {} if purpose is None else {"purpose": purpose}


def looked_at(store: LedgerStore, sums: LedgerSums) -> tuple[object, object]:
    return store.look_up(sums.spent_by_purpose), store.look_up(sums.balances_over_time, "register")


def spread_out(holder: TestedHolder, days: int) -> None:
    """Let the entries be some days apart; what hashes say does not matter here."""
    database = Database(holder.settings.database_url)

    def change(connection: Connection) -> None:
        for sequence in connection.execute(entries.select().with_only_columns(entries.c.sequence)).scalars().all():
            day = sequence * days
            at = f"20{26 + day // 336:02}-{day // 28 % 12 + 1:02}-{day % 28 + 1:02}T12:00:00+00:00"
            connection.execute(update(entries).where(entries.c.sequence == sequence).values(at=at))

    try:
        database.transaction(change)
    finally:
        database.close()


def roll_back(connection: Connection, last: int) -> None:
    """Take the ledger's newest entries away."""
    connection.execute(delete(releases).where(releases.c.sequence > last))
    connection.execute(delete(entries).where(entries.c.sequence > last))
    [head] = connection.execute(entries.select().where(entries.c.sequence == last))
    connection.execute(update(ledger_head).values(sequence=last, hash=head.hash))


def test_every_look_has_what_all_entries_add_up_to(asked: TestedHolder) -> None:
    store, sums = asked.holder.store, LedgerSums()

    for length in (20, 21, 60):
        lengthen(asked, length)

        assert looked_at(store, sums) == looked_at(store, LedgerSums())
        assert looked_at(store, sums) == looked_at(store, LedgerSums())
    spent = store.look_up(sums.spent_by_purpose)
    assert sum(spending.charges for spending in spent.values()) == sum(
        entry["kind"] == "charge" for entry in asked.entries()
    )


@pytest.mark.parametrize("days", [1, 3, 40])
def test_steps_grow_with_the_span_of_time(asked: TestedHolder, days: int) -> None:
    store, sums = asked.holder.store, LedgerSums()
    looked_at(store, sums)
    lengthen(asked, 30)
    spread_out(asked, days)

    assert looked_at(store, sums)[1] == looked_at(store, LedgerSums())[1]
    lengthen(asked, 33)
    assert looked_at(store, sums)[1] == looked_at(store, LedgerSums())[1]


@pytest.mark.parametrize("again", [False, True])
def test_a_rollback_makes_all_be_added_up_again(asked: TestedHolder, again: bool) -> None:
    """Also where as many other entries have followed since."""
    store, sums = asked.holder.store, LedgerSums()
    length = len(asked.entries())
    looked_at(store, sums)
    database = Database(asked.settings.database_url)
    try:
        database.transaction(lambda connection: roll_back(connection, length - 1))
    finally:
        database.close()
    if again:
        lengthen(asked, length)

    after = looked_at(store, sums)

    assert after == looked_at(store, LedgerSums())
    assert sum(spending.charges for spending in store.look_up(sums.spent_by_purpose).values()) == (3 if again else 2)


def test_what_is_shown_cannot_change_what_is_known(asked: TestedHolder) -> None:
    sums = LedgerSums()
    for spending in asked.holder.store.look_up(sums.spent_by_purpose).values():
        spending.charges += 100

    assert asked.holder.store.look_up(sums.spent_by_purpose) == asked.holder.store.look_up(
        LedgerSums().spent_by_purpose
    )
