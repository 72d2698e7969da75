"""What a watch keeps is sealed, and `ledger verify` covers it: a changed row reopens no watch."""

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, select, text, update

from holder_service.keys.watch_seals import BrokenSeal, OtherSecret, SealedState, WatchSeals
from holder_service.services.ledger import reading as ledger_reading
from holder_service.services.running.backup import back_up, restore
from holder_service.services.running.holder import initialise
from holder_service.storage.tables import watches
from testing.holders import TestedHolder, opened
from testing.registers import register_csv, watch
from testing.tampering import unsealed
from testing.waits import wait_until

PATH = "/datasets/register/watches"


def set_watch(holder: TestedHolder, **changes: Any) -> str:
    """Set a watch and wait for its first answer; gives its id."""
    made = holder.auditor("POST", PATH, json=watch(**{"epsilon": "1", **changes}))
    assert made.status_code == 201, made.text
    identity: str = made.json()["id"]
    wait_until(lambda: report(holder, identity)["pending"] is None)
    return identity


def report(holder: TestedHolder, identity: str) -> dict[str, Any]:
    found: dict[str, Any] = holder.auditor("GET", f"{PATH}/{identity}").json()
    return found


def load_and_wait(holder: TestedHolder, identity: str) -> None:
    """Load a further version and wait until the watch has spoken of it, or has nothing to say."""
    holder.load(register_csv()).raise_for_status()
    wait_until(lambda: report(holder, identity)["pending"] is None)


def said(holder: TestedHolder, identity: str) -> list[tuple[int, bool]]:
    return [(one["version"], one["watch_answer"]["changed"]) for one in report(holder, identity)["answers"]]


def skipped(holder: TestedHolder, identity: str) -> list[tuple[int, int, str]]:
    found = [one["watch_skip"] for one in report(holder, identity)["skipped"]]
    return [(one["first"], one["last"], one["reason"]) for one in found]


def rewrite(holder: TestedHolder, **values: Any) -> None:
    """Change the rows of watches behind the ledger's back."""
    holder.holder.store.database.write(lambda connection: connection.execute(update(watches).values(**values)))


def row(holder: TestedHolder) -> dict[str, Any]:
    with holder.holder.store.database.read() as connection:
        return dict(connection.execute(select(watches)).one()._mapping)


def test_the_database_does_not_say_the_threshold(holder: TestedHolder) -> None:
    """Two watches of the same margin have seals of one length, which only the home's secret opens."""
    set_watch(holder, margin=-5000)
    set_watch(holder, margin=-5000, draw=2)
    with holder.holder.store.database.read() as connection:
        kept = connection.execute(select(watches)).all()

    assert len({len(one.sealed) for one in kept}) == 1
    assert len({bytes(one.sealed) for one in kept}) == 2
    numbers = {value for one in kept for value in one._mapping.values() if isinstance(value, int)}
    thresholds = {holder.holder.seals.opened(one.id, one.sealed).noisy_threshold for one in kept}
    assert not numbers & thresholds
    other = WatchSeals(bytes(32))
    for one in kept:
        with pytest.raises(OtherSecret):
            other.opened(one.id, one.sealed)
    assert (holder.settings.watch_secret.stat().st_mode & 0o777) == 0o600


def test_a_used_up_watch_is_not_reopened_by_its_row(holder: TestedHolder) -> None:
    identity = set_watch(holder, margin=5000)
    assert said(holder, identity) == [(1, True)]

    for _ in range(2):
        rewrite(holder, changed=False)
        load_and_wait(holder, identity)

    assert said(holder, identity) == [(1, True)]
    assert "sets a watch whose row" in found_by_verify(holder)


def test_a_whole_row_of_before_the_change_reopens_nothing(holder: TestedHolder) -> None:
    """The seal of before opens still, so the signed answers decide."""
    identity = set_watch(holder, margin=-5000)
    before = row(holder)
    state = holder.holder.seals.opened(identity, before["sealed"])
    rewrite(holder, sealed=holder.holder.seals.seal(identity, SealedState(10**9, changed=False)))
    load_and_wait(holder, identity)
    assert said(holder, identity) == [(1, False), (2, True)]

    rewrite(holder, **{name: before[name] for name in ("sealed", "changed")})
    load_and_wait(holder, identity)

    assert state == SealedState(state.noisy_threshold, changed=False)
    assert said(holder, identity) == [(1, False), (2, True)]
    assert found_by_verify(holder)


@pytest.mark.parametrize("how", ["another watch's", "a bit changed", "another secret's"])
def test_a_seal_that_does_not_open_is_answered_by_nothing(sqlite_holder: TestedHolder, how: str) -> None:
    identity = set_watch(sqlite_holder, margin=-5000)
    seals, kept = sqlite_holder.holder.seals, row(sqlite_holder)
    sealed = {
        "another watch's": seals.seal("sha256:" + "0" * 64, seals.opened(identity, kept["sealed"])),
        "a bit changed": kept["sealed"][:-1] + bytes([kept["sealed"][-1] ^ 1]),
        "another secret's": WatchSeals(bytes(32)).seal(identity, SealedState(-5000, changed=False)),
    }[how]
    with pytest.raises(BrokenSeal):
        seals.opened(identity, sealed)
    rewrite(sqlite_holder, sealed=sealed)
    load_and_wait(sqlite_holder, identity)

    assert said(sqlite_holder, identity) == [(1, False)]
    assert skipped(sqlite_holder, identity) == [(2, 2, "state")]
    assert sqlite_holder.is_intact() == (how == "another secret's")


def found_by_verify(holder: TestedHolder) -> str:
    """What `ledger verify` names; empty if all is intact."""
    found = ledger_reading.verify(holder.holder.store, seals=holder.holder.seals)
    return found.reason or ""


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"changed": True}, "row says otherwise"),
        ({"dataset": "other"}, "row says otherwise"),
        ({"sequence": 1}, "row says otherwise"),
        ({"version": 1}, "answer again"),
    ],
)
def test_verify_compares_rows_with_signed_answers(
    sqlite_holder: TestedHolder, values: dict[str, Any], reason: str
) -> None:
    sqlite_holder.declare("other").raise_for_status()
    set_watch(sqlite_holder, margin=-5000)
    assert found_by_verify(sqlite_holder) == ""
    rewrite(sqlite_holder, **values)

    assert reason in found_by_verify(sqlite_holder)


def test_verify_finds_a_watch_that_is_missing(sqlite_holder: TestedHolder) -> None:
    set_watch(sqlite_holder, margin=-5000)
    sqlite_holder.holder.store.database.write(lambda connection: connection.execute(watches.delete()))

    assert "the table lacks" in found_by_verify(sqlite_holder)


def executed(statement: str, connection: Connection) -> None:
    connection.execute(text(statement))


def test_watches_of_before_are_sealed_when_the_tables_are_brought_up_to_date(sqlite_holder: TestedHolder) -> None:
    """A watch that an earlier version kept in clear goes on with its threshold, and nothing in clear is left."""
    identity = set_watch(sqlite_holder, margin=-5000)
    kept = row(sqlite_holder)
    threshold = sqlite_holder.holder.seals.opened(identity, kept["sealed"]).noisy_threshold
    settings = sqlite_holder.settings
    for statement in (*unsealed(threshold), "UPDATE alembic_version SET version_num = '0010'"):
        sqlite_holder.holder.store.database.write(partial(executed, statement))
    settings.watch_secret.unlink()

    initialise(settings)

    with opened(settings, sqlite_holder.admin_key, sqlite_holder.auditor_key) as after:
        assert "noisy_threshold" not in row(after)
        assert after.holder.seals.opened(identity, row(after)["sealed"]) == SealedState(threshold, changed=False)
        load_and_wait(after, identity)
        assert said(after, identity) == [(1, False), (2, False)]
        assert after.is_intact()


def test_a_back_up_has_the_secret_and_a_restored_watch_opens(sqlite_holder: TestedHolder, tmp_path: Path) -> None:
    identity = set_watch(sqlite_holder, margin=-5000)
    back_up(sqlite_holder.holder, tmp_path / "copy")
    database, secret = tmp_path / "copy" / "holder.sqlite", tmp_path / "copy" / "watch-secret"

    assert ledger_reading.verify_copy(database, secret).intact
    home = tmp_path / "restored"
    settings = replace(
        sqlite_holder.settings, home=home, anchor=home / "anchor", database_url=f"sqlite:///{home / 'holder.sqlite'}"
    )
    restore(tmp_path / "copy", settings)
    kept = row(sqlite_holder)
    assert WatchSeals.load(settings.watch_secret).opened(identity, kept["sealed"]).changed is False


def test_a_rotated_signing_key_changes_no_seal(sqlite_holder: TestedHolder) -> None:
    identity = set_watch(sqlite_holder, margin=-5000)
    sqlite_holder.admin("POST", "/signing-keys", json={"reason": "yearly"}).raise_for_status()
    load_and_wait(sqlite_holder, identity)

    assert said(sqlite_holder, identity) == [(1, False), (2, False)]
    assert sqlite_holder.is_intact()
