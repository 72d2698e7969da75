"""How long a holder's pages, metrics, exports and verification take, by the length of its ledger.

`python -m benchmarks.ledger_length --entries 40 100000`

The first lines of a length have what should not depend on it, in milliseconds of processor time of holder and client,
which are this process: of the first look after the start, which adds up the whole ledger, and the mean of several more.
The lines after them have what reads every entry: microseconds an entry, and the processor time as a multiple of the
plainest pass over the same releases, which parses their JSON and hashes their bytes. All is one run, on SQLite.
"""

import argparse
import hashlib
import json
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final

from sqlalchemy import select

from holder_service.storage import tables
from holder_service.storage.database import Database
from testing.console_visitors import Visitor
from testing.holders import TestedHolder, running_holder
from testing.long_ledgers import lengthen
from testing.registers import plan

READ_AT_ONCE: Final = 1000
_ROW: Final = "{:34} {:>9} {:>10} {:>10}"


def processor_s() -> float:
    """The processor time of this process so far, and of its children that ended, in seconds."""
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system


def timed_s(work: Callable[[], object]) -> tuple[float, float]:
    """How many seconds some work takes, and of the processors' time."""
    started_s, used_s = time.perf_counter(), processor_s()
    work()
    return time.perf_counter() - started_s, processor_s() - used_s


def plain_pass(holder: TestedHolder) -> None:
    """Parse and hash every stored release, and nothing else."""
    database = Database(holder.settings.database_url)
    try:
        with database.read() as connection:
            for (body,) in connection.execution_options(yield_per=READ_AT_ONCE).execute(select(tables.releases.c.body)):
                json.loads(body)
                hashlib.sha256(body).digest()
    finally:
        database.close()


def looks(holder: TestedHolder) -> Iterator[tuple[str, Callable[[], object]]]:
    """What should not depend on the ledger's length."""
    visitor = Visitor(holder.client)
    visitor.log_in(holder.admin_key)
    yield "GET /metrics", holder.metrics
    yield "console: overview", partial(visitor.get, "/console")
    yield "console: budgets", partial(visitor.get, "/console/budgets")
    yield "GET /v1/admin/budgets", partial(holder.admin, "GET", "/budgets")


def passes(holder: TestedHolder) -> Iterator[tuple[str, Callable[[], object]]]:
    """What reads every entry."""
    yield "JSON and SHA-256 of each release", partial(plain_pass, holder)
    yield "verification", lambda: _require_intact(holder)
    yield "transparency report", partial(holder.admin, "GET", "/datasets/register/report")
    yield "export, JSON lines", partial(holder.admin, "GET", "/ledger?format=jsonl")
    yield "export, CSV", partial(holder.admin, "GET", "/ledger?format=csv")


def _require_intact(holder: TestedHolder) -> None:
    if not holder.is_intact():
        raise RuntimeError("the ledger is not intact")


def measure(holder: TestedHolder, entries: int, *, rounds: int) -> None:
    """Print both tables of one length."""
    for what, look in looks(holder):
        _, first_s = timed_s(look)
        _, rounds_s = timed_s(lambda look=look: [look() for _ in range(rounds)])  # type: ignore[misc]
        print(_ROW.format(what, entries, f"{1000 * first_s:.0f}", f"{1000 * rounds_s / rounds:.1f}"), flush=True)
    _, plain_s = timed_s(partial(plain_pass, holder))
    for what, work in passes(holder):
        took_s, used_s = timed_s(work)
        each = (f"{1e6 * took_s / entries:.1f}", f"{used_s / plain_s:.1f}" if plain_s else "-")
        print(_ROW.format(what, entries, *each), flush=True)


def main() -> None:
    """Measure each length."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--entries", type=int, nargs="+", default=[40, 100_000])
    options.add_argument("--rounds", type=int, default=9)
    given = options.parse_args()
    print(_ROW.format("look; pass", "entries", "first, us", "ms, times"))
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        with running_holder(home / "set-up", epsilon="100") as holder:
            holder.release(plan(epsilon="0.001"))
        for entries in given.entries:
            with holder.copied(home / str(entries)) as copy:
                pass
            stopped = replace(holder, settings=copy.settings)
            lengthen(stopped, entries)
            with stopped.reopened() as opened:
                measure(opened, entries, rounds=given.rounds)


if __name__ == "__main__":
    main()
