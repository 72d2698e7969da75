"""What somebody does to a holder's database who has its file, and knows the code, but not the signing key."""

import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from typing import Final

from holder_service.domain.ledger import GENESIS, Balance, Entry, Event
from holder_service.settings.holder import Settings
from holder_service.storage import ledger
from holder_service.storage.anchor import Anchor
from holder_service.storage.database import Database
from shared.kinds.releases import LedgerPosition
from testing.holders import TestedHolder

COLUMNS: Final = (
    "at, kind, actor, population, dataset, auditor, subject, answer, epsilon_nano, delta_nano, cap, account, detail, "
    "nonce, previous, hash"
)
CHARGE: Final = "sequence = (SELECT min(sequence) FROM entries WHERE kind = 'charge')"
LAST: Final = "(SELECT max(sequence) FROM entries)"
HEAD_TO_LAST: Final = (
    "UPDATE ledger_head SET (sequence, hash) = (SELECT sequence, hash FROM entries ORDER BY sequence DESC LIMIT 1)"
)


def database(settings: Settings) -> "closing[sqlite3.Connection]":
    """The holder's database, opened behind its back."""
    path = settings.database_url.removeprefix("sqlite:///")
    return closing(sqlite3.connect(path, isolation_level=None, timeout=10))


@contextmanager
def put_back(holder: TestedHolder) -> Iterator[TestedHolder]:
    """A holder whose database and anchor are put back when somebody has tampered with them."""
    anchor = holder.settings.anchor.read_bytes()
    with closing(sqlite3.connect(":memory:")) as copy:
        with database(holder.settings) as live:
            live.backup(copy)
        yield holder
        with database(holder.settings) as live:
            copy.backup(live)
    holder.settings.anchor.write_bytes(anchor)
    assert holder.is_intact()


def unsealed(threshold: int) -> tuple[str, ...]:
    """Statements that put a store back as it was before watches were sealed: its only watch's threshold in clear."""
    return (
        "DROP TABLE block_losses", "ALTER TABLE datasets DROP COLUMN split_id", "DROP INDEX entries_by_kind",
        "DROP INDEX watches_by_auditor", "DROP INDEX releases_by_watch",
        "ALTER TABLE releases DROP COLUMN watch", "ALTER TABLE watches DROP COLUMN sealed",
        f"ALTER TABLE watches ADD COLUMN noisy_threshold BIGINT NOT NULL DEFAULT {threshold}",
    )  # fmt: skip


def edit(settings: Settings, *statements: str) -> None:
    """Run statements behind the holder's back."""
    with database(settings) as connection:
        for statement in ("PRAGMA foreign_keys = OFF", *statements):
            connection.execute(statement)


def rechained(settings: Settings, change: Callable[[Event], Event] = lambda event: event) -> LedgerPosition:
    """Change entries, and make every hash and the head fit again. Gives the new head."""
    store = Database(settings.database_url)
    with store.read() as connection:
        found = list(ledger.read_entries(connection))
    store.close()
    entry = Entry(0, "", found[0].event, "", "", GENESIS)
    with database(settings) as connection:
        connection.execute("DELETE FROM ledger_head")
        for sequence, old in enumerate(found, start=1):
            event = change(old.event)
            entry = replace(old, event=event).rechained(sequence=sequence, previous=entry.hash)
            connection.execute(
                "UPDATE entries SET detail = ?, epsilon_nano = ?, cap = ?, account = ?, previous = ?, hash = ? "
                "WHERE sequence = ?",
                [
                    json.dumps(event.detail), event.loss.epsilon_nano, _text(event.cap), _text(event.account),
                    entry.previous, entry.hash, sequence,
                ],
            )  # fmt: skip
        connection.execute("INSERT INTO ledger_head VALUES (1, ?, ?)", [entry.sequence, entry.hash])
    return entry.position


def _text(balance: Balance | None) -> str | None:
    return None if balance is None else json.dumps(balance.document(), sort_keys=True)


def lose_the_anchored_entry(settings: Settings) -> None:
    """Have a holder look as if its database had been rolled back: its anchor holds an entry that is not there."""
    settings.anchor.unlink()
    Anchor(settings.anchor).create(LedgerPosition(sequence=999, hash="sha256:" + "f" * 64))
