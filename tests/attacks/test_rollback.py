"""Eight ways to get spent budget back from a holder's database; each is found out (2-privacy §6).

At start, by the chain that `holder serve` recomputes or by the anchor; or by the auditor, whose receipts
`auditor verify` compares with what the holder's ledger has now. One who can also write the anchor, on its
other volume, is left with nothing to show to the receipts.
"""
# ruff: noqa: S608 - the statements are put together from constants

import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit, urlunsplit

import httpx
import psycopg
import pytest
from psycopg import sql
from typer.testing import CliRunner

from auditor_client.auditor import Auditor
from auditor_client.exchange.receipts import Receipts
from holder_service.cli import app as holder_command
from holder_service.domain.ledger import Balance, Event
from holder_service.services.ledger import reading as ledger_reading
from holder_service.settings.holder import Settings
from holder_service.storage.anchor import Anchor
from shared.kinds.releases import LedgerPosition
from shared.privacy.amounts import Loss
from testing.holders import TestedHolder, opened, running_holder, settings_in
from testing.postgres import PostgresServer
from testing.registers import plan
from testing.tampering import CHARGE, COLUMNS, HEAD_TO_LAST, LAST, database, edit, rechained

CUT: Final = 2


@dataclass(frozen=True)
class Register:
    """A holder that was stopped, an old copy of its database, and the receipts of all that it answered.

    Attributes:
        old: The database as it was after the first two of four releases.
        without_wal: The newest database file, without its write-ahead log.
    """

    settings: Settings
    admin_key: str
    auditor_key: str
    receipts: Path
    old: Path
    without_wal: Path

    def copied(self, folder: Path) -> "Register":
        """The same in another folder."""
        shutil.copytree(self.settings.home.parent, folder)
        return replace(self, settings=settings_in(folder))


@pytest.fixture(scope="module")
def register(tmp_path_factory: pytest.TempPathFactory) -> Register:
    home = tmp_path_factory.mktemp("register")
    extra = tmp_path_factory.mktemp("copies")
    receipts = Receipts(extra / "receipts")
    with running_holder(home) as holder:
        keep_receipts(holder, receipts, draws=(1, 2))
        with database(holder.settings) as live:
            live.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            with closing(sqlite3.connect(extra / "old.sqlite")) as copy:
                live.backup(copy)
        keep_receipts(holder, receipts, draws=(3, 4))
        shutil.copyfile(home / "holder.sqlite", extra / "without-wal.sqlite")
    return Register(
        holder.settings, holder.admin_key, holder.auditor_key,
        receipts.directory, extra / "old.sqlite", extra / "without-wal.sqlite",
    )  # fmt: skip


def keep_receipts(holder: TestedHolder, receipts: Receipts, *, draws: tuple[int, ...]) -> None:
    """Ask plans, and keep the answers as the auditor's client does."""
    receipts.pin(holder.published_keys())
    for draw in draws:
        answer = holder.release(plan(draw=draw))
        receipts.keep(answer.json()["id"], answer.content)


def restore_old_copy(register: Register) -> None:
    replace_database(register.settings, register.old)


def drop_wal(register: Register) -> None:
    replace_database(register.settings, register.without_wal)


def replace_database(settings: Settings, source: Path) -> None:
    path = Path(settings.database_url.removeprefix("sqlite:///"))
    for suffix in ("-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
    shutil.copyfile(source, path)


def cut_last(register: Register) -> None:
    edit(
        register.settings,
        f"DELETE FROM entries WHERE sequence > {LAST} - {CUT}",
        f"DELETE FROM releases WHERE sequence > {LAST}",
        HEAD_TO_LAST,
    )


def delete_one(register: Register) -> None:
    edit(register.settings, f"DELETE FROM entries WHERE {CHARGE}")


def edit_one(register: Register) -> None:
    """The auditor's newest balance says that nothing was spent."""
    edit(
        register.settings,
        "UPDATE entries SET account = '" + '{"limit_epsilon_nano": 10000000000}' + f"' WHERE sequence = {LAST}",
    )


def swap_two(register: Register) -> None:
    edit(
        register.settings,
        f"UPDATE entries SET sequence = -1 WHERE sequence = {LAST}",
        f"UPDATE entries SET sequence = sequence + 1 WHERE sequence = {LAST}",
        f"UPDATE entries SET sequence = {LAST} - 1 WHERE sequence = -1",
        HEAD_TO_LAST,
    )


def insert_one(register: Register) -> None:
    """A second copy of a budget's entry stands in the middle, and those behind it have moved on."""
    edit(
        register.settings,
        "UPDATE entries SET sequence = -sequence - 1 WHERE sequence > 9",
        f"INSERT INTO entries (sequence, {COLUMNS}) SELECT 10, {COLUMNS} FROM entries WHERE sequence = 9",
        "UPDATE entries SET sequence = -sequence WHERE sequence < 0",
        HEAD_TO_LAST,
    )


def recompute(register: Register) -> None:
    """Every charge costs a tenth of what it did, and balances, hashes and head are made to fit."""
    rechained(register.settings, at_a_tenth)


def at_a_tenth(event: Event) -> Event:
    return replace(event, loss=a_tenth(event.loss), cap=spent_a_tenth(event.cap), account=spent_a_tenth(event.account))


def spent_a_tenth(balance: Balance | None) -> Balance | None:
    return None if balance is None else replace(balance, spent=a_tenth(balance.spent))


def a_tenth(loss: Loss) -> Loss:
    return Loss(loss.epsilon_nano // 10, loss.delta_nano)


ATTACKS: Final[dict[Callable[[Register], None], set[str]]] = {
    restore_old_copy: {"anchor", "auditor"},
    drop_wal: {"anchor", "auditor"},
    cut_last: {"anchor", "auditor"},
    delete_one: {"chain", "auditor"},
    edit_one: {"chain", "auditor"},
    swap_two: {"chain", "anchor", "auditor"},
    insert_one: {"chain", "anchor", "auditor"},
    recompute: {"anchor", "auditor"},
}
"""Each attack, and all that finds it out."""


@pytest.fixture
def victim(register: Register, tmp_path: Path) -> Register:
    return register.copied(tmp_path / "victim")


def found_by(victim: Register) -> set[str]:
    """Who finds that something is wrong once the holder is started again: the holder itself, or its auditor."""
    found = set()
    with opened(victim.settings, victim.admin_key, victim.auditor_key) as holder:
        if not ledger_reading.verify(holder.holder.store, seals=holder.holder.seals, chain_only=True).intact:
            found.add("chain")
        if holder.client.get("/readyz").status_code == 503:
            assert holder.release(plan(draw=9)).status_code == 503, "what is not ready does not release"
            found.add("anchor")
        if not auditor_verifies(victim, holder.client):
            found.add("auditor")
    return found


def auditor_verifies(victim: Register, http: httpx.Client) -> bool:
    """What `auditor verify` says of the receipts."""
    url = str(http.base_url)
    with Auditor(url, victim.auditor_key, receipts=victim.receipts, http=http) as auditor:
        return auditor.verify().ok


def test_a_register_that_nobody_touched_is_found_in_order(victim: Register) -> None:
    assert found_by(victim) == set()


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.__name__)
def test_an_attack_is_found_out(victim: Register, attack: Callable[[Register], None]) -> None:
    attack(victim)

    assert found_by(victim) == ATTACKS[attack]


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.__name__)
def test_an_attack_is_found_out_although_the_anchor_was_made_to_fit(
    victim: Register, attack: Callable[[Register], None]
) -> None:
    attack(victim)
    with database(victim.settings) as connection:
        [head] = connection.execute("SELECT sequence, hash FROM ledger_head").fetchall()
    Anchor(victim.settings.anchor).create(LedgerPosition(sequence=head[0], hash=head[1]))

    assert found_by(victim) == ATTACKS[attack] - {"anchor"}


def test_a_holder_serves_nothing_from_a_broken_chain(victim: Register, monkeypatch: pytest.MonkeyPatch) -> None:
    edit_one(victim)
    monkeypatch.setenv("HOLDER_HOME", str(victim.settings.home))
    monkeypatch.setenv("HOLDER_DATABASE_URL", victim.settings.database_url)
    monkeypatch.setenv("HOLDER_ANCHOR", str(victim.settings.anchor))

    done = CliRunner().invoke(holder_command, ["serve", "--port", "0"])

    assert done.exit_code == 2
    assert "broken at entry" in done.stderr


@pytest.fixture
def old_and_new(tmp_path: Path, postgres_server: PostgresServer) -> Iterator[tuple[TestedHolder, str]]:
    """A holder on PostgreSQL that was stopped, and the URL of an older copy of its database."""
    old = f"{tmp_path.name}_old".replace("-", "_").lower()
    with postgres_server.database() as url:
        with running_holder(tmp_path, url) as holder:
            assert holder.release(plan(draw=1)).status_code == 201
        name = sql.Identifier(urlsplit(url).path.removeprefix("/"))
        with psycopg.connect(postgres_server.url, autocommit=True) as connection:
            connection.execute(sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(sql.Identifier(old), name))
            with holder.reopened() as again:
                assert again.release(plan(draw=2)).status_code == 201
            yield holder, urlunsplit(urlsplit(url)._replace(path=f"/{old}"))
            connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(old)))


@pytest.mark.postgres
def test_an_old_copy_of_a_postgresql_database_is_found_out(old_and_new: tuple[TestedHolder, str]) -> None:
    holder, old_url = old_and_new

    with opened(replace(holder.settings, database_url=old_url), holder.admin_key, holder.auditor_key) as restored:
        assert restored.client.get("/readyz").status_code == 503
        assert restored.release(plan(draw=2)).status_code == 503
        assert not restored.admin("POST", "/ledger/verify").json()["intact"]
