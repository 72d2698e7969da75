"""A ledger with many charges, each with its signed release, written at once: as if they had been asked one by one."""

import json
import secrets
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from typing import Any, Final

from sqlalchemy import insert, select, update

from holder_service.domain.ledger import Entry
from holder_service.keys.signing import SigningKeyFolder, SigningKeyPair
from holder_service.storage import ledger, releases, tables
from holder_service.storage.anchor import Anchor
from holder_service.storage.database import Connection, Database
from holder_service.storage.releases import StoredRelease
from shared.kinds.releases import answer_digest
from shared.privacy.amounts import Loss, format_nano
from shared.wire import canonical
from testing.holders import TestedHolder

WRITTEN_AT_ONCE: Final = 2000


def lengthen(holder: TestedHolder, entries: int) -> None:
    """Repeat the newest charge of a stopped holder, at a billionth of ε, until its ledger has so many entries.

    Each has a nonce, an identity, an answer and a signature of its own, and the balances follow: `verify` finds the
    ledger intact. The newest entry of the holder has to be a charge in ε.
    """
    database = Database(holder.settings.database_url)
    try:
        keys = SigningKeyFolder(holder.settings.signing_keys)
        head = database.transaction(lambda connection: _lengthened(connection, entries, keys))
    finally:
        database.close()
    Anchor(holder.settings.anchor).advance(head.position)


def _lengthened(connection: Connection, entries: int, keys: SigningKeyFolder) -> Entry:
    last = ledger.entry_at(connection, ledger.head(connection).sequence)
    assert last is not None
    stored = releases.find_release(connection, last.event.subject or "")
    assert stored is not None
    newest = select(tables.entries).where(tables.entries.c.sequence == last.sequence)
    columns = dict(connection.execute(newest).mappings().one())
    pair = keys.load(json.loads(stored.body)["key"])
    repeated = _repeated(last, stored, pair)
    while last.sequence < entries:
        part = list(islice(repeated, min(WRITTEN_AT_ONCE, entries - last.sequence)))
        connection.execute(insert(tables.entries), [columns | _changed(entry) for entry, _ in part])
        connection.execute(
            insert(tables.releases),
            [{name: getattr(release, name) for name in StoredRelease.__slots__} for _, release in part],
        )
        last = part[-1][0]
    connection.execute(update(tables.ledger_head).values(sequence=last.sequence, hash=last.hash))
    return last


def _changed(entry: Entry) -> dict[str, Any]:
    event = entry.event
    assert event.cap is not None
    assert event.account is not None
    return {
        "sequence": entry.sequence, "nonce": entry.nonce, "previous": entry.previous, "hash": entry.hash,
        "subject": event.subject, "answer": event.answer, "epsilon_nano": event.loss.epsilon_nano,
        "cap": json.dumps(event.cap.document(), sort_keys=True),
        "account": json.dumps(event.account.document(), sort_keys=True),
    }  # fmt: skip


def _repeated(entry: Entry, stored: StoredRelease, pair: SigningKeyPair) -> Iterator[tuple[Entry, StoredRelease]]:
    """The charges that follow one, with their releases."""
    release: dict[str, Any] = json.loads(stored.body) | {"charge": {"delta": "0", "epsilon": format_nano(1)}}
    entry = replace(entry, event=replace(entry.event, loss=Loss(1)))
    while True:
        event = entry.event
        assert event.cap is not None
        assert event.account is not None
        release |= {"id": f"sha256:{secrets.token_hex(32)}", "nonce": secrets.token_hex(16)}
        cap, account = event.cap.charged(event.loss), event.account.charged(event.loss)
        event = replace(event, subject=release["id"], answer=answer_digest(release), cap=cap, account=account)
        entry = Entry.chained(
            sequence=entry.sequence + 1, at=entry.at, event=event, nonce=secrets.token_hex(16), previous=entry.hash
        )
        left = account.limit.epsilon_nano - account.spent.epsilon_nano
        release |= {
            "ledger": {"sequence": entry.sequence, "hash": entry.hash},
            "remaining": {**release["remaining"], "epsilon": format_nano(left)},
        }
        del release["signature"]
        release["signature"] = pair.sign_bytes(canonical.canonical_bytes(release))
        body = canonical.canonical_bytes(release)
        stored = replace(stored, id=release["id"], sequence=entry.sequence, body=body)
        yield entry, stored
