"""What the ledger's public log costs: a checkpoint and a proof of a long ledger, and a release beside it.

`python -m benchmarks.ledger_log --entries 1000000`

The first table has times of one process on SQLite, in milliseconds: of the first checkpoint after the start (all
hashes are read), of the next one after one more entry, of a consistency proof and of a tile. The second has the
latency of releases of one client without a log and with a log that a witness cosigns, in turn and in the same run;
the aim is a difference of at most 1 ms. Entries of the first table are made up: their hashes are random.
"""

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final, TypeVar

from sqlalchemy import insert, update

from holder_service.domain.ledger import Event
from holder_service.keys.signing import SigningKeyFolder
from holder_service.services.ledger.key_rotation import Signer
from holder_service.services.ledger.log import LedgerLog
from holder_service.services.ledger.store import LedgerStore
from holder_service.storage import tables
from holder_service.storage.anchor import Anchor
from holder_service.storage.database import Connection, Database
from shared.kinds.releases import LedgerPosition
from shared.log.checkpoints import Checkpoint
from shared.log.tiles import Tile
from testing.holders import TestedHolder, running_holder
from testing.registers import plan
from testing.witnesses import ORIGIN, new_witness, witnessing

ENTRIES_AT_ONCE: Final = 10_000
_T = TypeVar("_T")


def filled(holder: TestedHolder, entries: int) -> LedgerPosition:
    """Append entries of random hashes to a stopped holder's ledger; gives its new head."""

    def fill(connection: Connection) -> LedgerPosition:
        head = connection.execute(tables.ledger_head.select()).one()
        sequence, last = head.sequence, head.hash
        while sequence < entries:
            rows = []
            for _ in range(min(ENTRIES_AT_ONCE, entries - sequence)):
                sequence, previous, last = sequence + 1, last, f"sha256:{os.urandom(32).hex()}"
                rows.append(
                    {
                        "sequence": sequence, "at": "2026-11-28T12:00:00+00:00", "nonce": "0" * 32,
                        "previous": previous, "hash": last, "kind": "key", "actor": "holder", "epsilon_nano": 0,
                        "delta_nano": 0, "detail": "{}",
                    }
                )  # fmt: skip
            connection.execute(insert(tables.entries), rows)
        connection.execute(update(tables.ledger_head).values(sequence=sequence, hash=last))
        return LedgerPosition(sequence=sequence, hash=last)

    database = Database(holder.settings.database_url)
    try:
        return database.write(fill)
    finally:
        database.close()


def timed(work: Callable[[], _T]) -> tuple[float, _T]:
    """How many milliseconds some work takes, and its result."""
    started_s = time.perf_counter()
    result = work()
    return 1000 * (time.perf_counter() - started_s), result


def log_times(holder: TestedHolder, entries: int) -> Iterator[tuple[str, float]]:
    """Times of a log of so many entries."""
    head = filled(holder, entries)
    anchor = Anchor(holder.settings.anchor)
    anchor.advance(head)
    database = Database(holder.settings.database_url)
    try:
        store = LedgerStore(database, anchor)
        signer = Signer(SigningKeyFolder(holder.settings.signing_keys))
        log = LedgerLog(store, signer, origin=ORIGIN, file=holder.settings.log_checkpoint)
        yield "first checkpoint after the start", timed(log.newest)[0]
        store.commit(lambda transaction: transaction.append(Event(kind="key", actor="holder")))
        yield "checkpoint after one more entry", timed(log.newest)[0]
        log.publish(log.signed(log.newest()))
        yield "published checkpoint, as it is served", statistics.median(timed(log.published)[0] for _ in range(20))
        size = Checkpoint.parse(log.signed(log.newest()).text).size
        proofs = [timed(partial(log.consistency, size * part // 20, size))[0] for part in range(1, 20)]
        yield "consistency proof", statistics.median(proofs)
        yield "tile", statistics.median(timed(partial(log.tile, Tile(0, number)))[0] for number in range(20))
    finally:
        database.close()


def latencies(set_up: TestedHolder, home: Path, *, rounds: int, releases: int) -> tuple[list[float], list[float]]:
    """Latencies of releases in milliseconds: without a log, and with one that a witness cosigns; in turn."""
    took: tuple[list[float], list[float]] = ([], [])
    with ExitStack() as up:
        witness = up.enter_context(witnessing(new_witness(home / "witness", set_up.settings)))
        holders = [
            up.enter_context(set_up.copied(home / "without")),
            up.enter_context(set_up.copied(home / "with", log_origin=ORIGIN, witnesses=(witness,))),
        ]
        draw = 0
        for _ in range(rounds):
            for holder, of_holder in zip(holders, took, strict=True):
                for _ in range(releases):
                    draw += 1
                    of_holder.append(timed(partial(holder.release, plan(epsilon="0.001", draw=draw)))[0])
    return took


def main() -> None:
    """Measure, and print both tables."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--entries", type=int, default=1_000_000)
    options.add_argument("--rounds", type=int, default=10)
    options.add_argument("--releases", type=int, default=30, help="in each round, with and without")
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        with running_holder(home / "set-up", epsilon="100") as set_up:
            pass
        with set_up.copied(home / "long") as long:
            pass
        stopped = replace(set_up, settings=long.settings)
        print(f"{given.entries:,} entries; milliseconds")
        for what, ms in log_times(stopped, given.entries):
            print(f"{what:40} {ms:10.2f}", flush=True)
        without, beside = latencies(set_up, home, rounds=given.rounds, releases=given.releases)
        print("latency of a release                         p50        p90")
        for what, took in (("without a log", without), ("with a log and a witness", beside)):
            print(f"{what:40} {statistics.median(took):8.2f} {statistics.quantiles(took, n=10)[-1]:10.2f}")


if __name__ == "__main__":
    main()
