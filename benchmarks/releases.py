"""How many releases a second the whole service gives, compared with its server and its database (issues 2 and 3).

`python -m benchmarks.releases` prints, for SQLite and PostgreSQL, with 0, 10 000 and 100 000 charges in the
ledger before, and for 1 and 8 clients: releases per second, each with its charge and receipt, with their
median and 99th percentile, on 30 000 records with 16 disjoint cells by two groups, with the quantum given (0);
and the same for the bare application (the same framework and server answering a constant to the same body) and the bare
transaction (an insert of a release's size, durably committed, by one thread). All of it in one run, in
turn, so that the ratios hold on a noisy machine. The processor time that the server takes for each answer depends least
on what else the machine does.

Clients are processes of their own, so they share the two cores with the holder, as the figures say. One auditor asks
for all of them while the holder takes that many plans of one auditor (`concurrent_releases`); more clients are several
auditors. All have begun before anything is measured, and they begin to ask at the same time.
"""

import argparse
import itertools
import os
import socket
import statistics
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from multiprocessing.pool import Pool
from pathlib import Path
from typing import Any

import httpx
from rich.console import Console
from rich.table import Table
from sqlalchemy import insert

from holder_service.domain.ledger import Event
from holder_service.services.ledger.store import LedgerStore, Transaction
from holder_service.storage import ledger, releases, tables
from holder_service.storage.database import Connection, Database
from holder_service.storage.releases import StoredRelease
from shared.privacy.amounts import Loss
from testing.holders import FORKING, Served, TestedHolder, running_holder, serving
from testing.postgres import empty_store
from testing.registers import plan, register_csv

RECORDS = 30_000
CELLS = 16
RELEASE_BODY = b"x" * 3000
FILLED_AT_ONCE = 1000
CLIENTS_APART = 10_000
"""Every client numbers its plans from another number; a round of measuring has a million."""
READY_S = 0.1
"""From handing out what to ask until all clients begin to, for each client."""


@dataclass(frozen=True, slots=True)
class Measured:
    """Answers per second; how long one took, and the server's processor time for each, in milliseconds."""

    per_second: float
    median_ms: float
    p99_ms: float
    processor_ms: float


def fresh_plan(number: int) -> dict[str, Any]:
    """A plan of 16 disjoint cells that nobody asked before: its thresholds carry its number."""
    step = 120 / CELLS
    cuts = [step * (cell + 1) + number * 1e-6 for cell in range(CELLS - 1)]
    cells = []
    for cell, (low, high) in enumerate(itertools.pairwise([None, *cuts, None])):
        bounds = [("gt", low), ("le", high)]
        rule = [{"column": "age", "op": op, "value": value} for op, value in bounds if value is not None]
        cells.append({"id": f"leaf-{cell}", "all_of": rule})
    return plan(epsilon="0.001", cells=cells)


def ask(url: str, key: str, first: int, begin_s: float, seconds: float) -> list[float]:
    """Ask plan after plan for a while from a time on; gives how long each answer took, in seconds."""
    took: list[float] = []
    with httpx.Client(base_url=url, headers={"Authorization": f"Bearer {key}"}, timeout=60) as client:
        time.sleep(max(begin_s - time.monotonic(), 0))
        for number in itertools.count(first):
            body = fresh_plan(number)
            started = time.monotonic()
            if started >= begin_s + seconds:
                return took
            answer = client.post("/v1/datasets/register/releases", json=body)
            took.append(time.monotonic() - started)
            if answer.status_code != 201:
                raise RuntimeError(f"the holder answered {answer.status_code}")
    return took


def measure(pool: Pool, served: Served, keys: Sequence[str], *, clients: int, seconds: float, first: int) -> Measured:
    """Let some clients ask at once, each with one of the keys in turn."""
    begin_s = time.monotonic() + READY_S * clients
    asked = [
        (served.url, keys[client % len(keys)], first + client * CLIENTS_APART, begin_s, seconds)
        for client in range(clients)
    ]
    before_s = processor_s(served.process.pid or 0)
    took = sorted(itertools.chain.from_iterable(pool.starmap(ask, asked, chunksize=1)))
    if not took:
        raise RuntimeError("no client was ready in time: the machine does too much else")
    processor_ms = (processor_s(served.process.pid or 0) - before_s) / len(took) * 1000
    return measured(took, seconds, processor_ms)


@contextmanager
def client_processes(clients: int) -> Iterator[Pool]:
    """So many processes that have begun: what beginning takes is in no figure."""
    with FORKING.Pool(clients) as pool:
        while len({*pool.map(_process_after, [READY_S * clients] * clients, chunksize=1)}) < clients:
            pass
        yield pool


def _process_after(seconds: float) -> int:
    """Which process this is; the others have their turns meanwhile."""
    time.sleep(seconds)
    return os.getpid()


def measured(took: Sequence[float], seconds: float, processor_ms: float) -> Measured:
    """The figures of so many times in seconds, ascending."""
    last = took[min(int(len(took) * 0.99), len(took) - 1)]
    return Measured(len(took) / seconds, statistics.median(took) * 1000, last * 1000, processor_ms)


def processor_s(pid: int) -> float:
    """The processor time that a process and those under it have had, in seconds."""
    process = Path(f"/proc/{pid}")
    user, system = process.joinpath("stat").read_text().rpartition(") ")[2].split()[11:13]
    children = itertools.chain.from_iterable(
        task.joinpath("children").read_text().split() for task in process.joinpath("task").iterdir()
    )
    own_s = (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")
    return own_s + sum(processor_s(int(child)) for child in children)


def bare_transactions(database_url: str, seconds: float) -> Measured:
    """Durable transactions that insert a row of a release's size, one after the other."""
    database = Database(database_url)
    took = []
    before_s = time.process_time()

    def work(connection: Connection) -> None:
        row = {"id": f"bare-{uuid.uuid4()}", "auditor": "ADR", "dataset": "register", "version": 1, "sequence": 1}
        connection.execute(insert(tables.releases), {**row, "created": "", "body": RELEASE_BODY})

    until = time.perf_counter() + seconds
    while (started := time.perf_counter()) < until:
        database.write(work)
        took.append(time.perf_counter() - started)
    database.close()
    return measured(sorted(took), seconds, (time.process_time() - before_s) / len(took) * 1000)


def fill(ledger_store: LedgerStore, entries: int) -> None:
    """Append charges, each with a stored release, until the ledger has so many entries."""
    while (missing := entries - head(ledger_store)) > 0:
        ledger_store.commit(partial(charge_often, times=min(missing, FILLED_AT_ONCE)))


def charge_often(transaction: Transaction, times: int) -> None:
    """Charge the asking auditor 10⁻⁹ again and again."""
    account = ledger.account_balance(transaction.connection, "register", "ADR")
    cap = ledger.population_balance(transaction.connection, "register")
    for _ in range(times):
        account, cap = account.charged(Loss(1)), cap.charged(Loss(1))
        entry = transaction.append(
            Event("charge", "ADR", "register", "register", "ADR", "", "", loss=Loss(1), account=account, cap=cap)
        )
        releases.store(
            transaction.connection,
            StoredRelease(f"filler-{entry.sequence}", "ADR", "register", 1, entry.sequence, entry.at, RELEASE_BODY),
        )


def head(ledger_store: LedgerStore) -> int:
    """How many entries the ledger has."""
    with ledger_store.database.read() as connection:
        return ledger.head(connection).sequence


@dataclass(frozen=True, slots=True)
class Row:
    """What was measured, and each round's figures."""

    store: str
    what: str
    entries: int | None
    clients: int
    rounds: list[Measured]

    def figures(self) -> tuple[str, ...]:
        """The row of the table."""
        medians = [statistics.median(getattr(one, name) for one in self.rounds) for name in Measured.__slots__]
        before = "–" if self.entries is None else f"{self.entries:,}".replace(",", " ")
        per_second, *times_ms = medians
        return (
            self.store,
            self.what,
            before,
            str(self.clients),
            f"{per_second:.0f}",
            *(f"{ms:.1f}" for ms in times_ms),
        )


def main() -> None:
    """Measure everything in turn and print the table."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--seconds", type=float, default=5.0, help="how long each measurement asks")
    options.add_argument("--rounds", type=int, default=3, help="each figure is the median of so many rounds")
    options.add_argument("--quantum", type=int, default=0, help="of the public deadline, in milliseconds")
    options.add_argument("--clients", type=int, nargs="+", default=[1, 8], help="who ask at once")
    options.add_argument("--workers", type=int, default=1, help="processes of the holder")
    options.add_argument("--entries", type=int, nargs="+", default=[0, 10_000, 100_000], help="in the ledger before")
    options.add_argument("--stores", nargs="+", default=["SQLite", "PostgreSQL"], choices=["SQLite", "PostgreSQL"])
    given = options.parse_args()
    columns = ("store", "what", "entries before", "clients", "per second", "median ms", "p99 ms", "processor ms")
    table = Table(*columns, title=f"Releases, quantum {given.quantum} ms")
    with client_processes(max(given.clients)) as pool:
        for row in bare_rows(pool, given):
            table.add_row(*row.figures())
        for store in given.stores:
            for row in store_rows(pool, given, store):
                table.add_row(*row.figures())
    Console(width=110).print(table)


def bare_rows(pool: Pool, given: argparse.Namespace) -> Iterator[Row]:
    """The framework and the server alone."""
    with application("benchmarks.bare_app:app") as served:
        ask_with = partial(measure, pool, served, ["-"], seconds=given.seconds, first=0)
        for clients in given.clients:
            yield Row("–", "bare application", None, clients, [ask_with(clients=clients) for _ in range(given.rounds)])


def store_rows(pool: Pool, given: argparse.Namespace, store: str) -> Iterator[Row]:
    """The releases of one store, with ever more entries, and its bare transactions."""
    with (
        empty_store(store) as (home, url),
        running_holder(home, url, epsilon="999", people=1, quantum_ms=given.quantum) as holder,
    ):
        holder.declare(cap={"epsilon": "999", "delta": "0"}, records_max=RECORDS)
        holder.load(register_csv(people=RECORDS))
        firsts = itertools.count(1, 1_000_000)
        keys = {clients: auditor_keys(holder, clients) for clients in given.clients}
        with serving(holder.settings, workers=given.workers) as served:
            ask_with = partial(measure, pool, served, seconds=given.seconds)
            for entries in given.entries:
                fill(holder.holder.store, entries)
                for clients in given.clients:
                    rounds = [
                        ask_with(keys=keys[clients], clients=clients, first=next(firsts)) for _ in range(given.rounds)
                    ]
                    yield Row(store, "release", entries, clients, rounds)
        yield Row(
            store, "bare transaction", None, 1, [bare_transactions(url, given.seconds) for _ in range(given.rounds)]
        )


def auditor_keys(holder: TestedHolder, clients: int) -> list[str]:
    """Keys of as many auditors as so many clients need: none of them is refused, however the holder deals its slots.

    An auditor may hold half of the slots and wait with as many plans. Of more auditors than one nobody knows who holds
    how many, so each has no more clients than may wait.
    """
    slots = holder.settings.concurrent_releases
    if clients <= slots:
        return [holder.auditor_key]
    auditors = -(-clients // (slots // 2))
    return [holder.open_auditor(f"asks-{clients}-{number}", epsilon="999") for number in range(auditors)]


@contextmanager
def application(name: str) -> Iterator[Served]:
    """Serve an application in a process of its own on a free port of loopback."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    command = [sys.executable, "-m", "uvicorn", name, "--port", str(port), "--log-level", "critical", "--no-access-log"]
    served = Served(f"http://127.0.0.1:{port}", subprocess.Popen(command, start_new_session=True))
    try:
        served.wait_until_ready()
        yield served
    finally:
        served.kill()


if __name__ == "__main__":
    main()
