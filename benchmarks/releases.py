"""How many releases a second the whole service gives, beside what it stands on (issue 2).

`python -m benchmarks.releases` prints, for SQLite and PostgreSQL and for 1 and 8 clients: releases per
second with their median and 99th percentile, on 30 000 records with 16 disjoint cells by two groups,
quantum 0; beside the bare application (the same framework and server answering a constant to the same
body) and the bare transaction (the same insert and update, durably committed, by one thread). All of
it in one run, in turn, so that the ratios hold on a noisy machine.

Clients are processes of their own, so they share the two cores with the holder, as the figures say.
"""

import argparse
import itertools
import multiprocessing
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
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

from holder_service.storage.database import Connection, Database
from holder_service.storage.tables import releases
from tests.holders import Served, register_csv, running_holder, serving
from tests.postgres import running_server

RECORDS = 30_000
CELLS = 16


@dataclass(frozen=True, slots=True)
class Measured:
    """Answers per second, and how long one took, in milliseconds."""

    per_second: float
    median_ms: float
    p99_ms: float


def plan(number: int) -> dict[str, Any]:
    """A plan of 16 disjoint cells that nobody asked before: its thresholds carry its number."""
    step = 120 / CELLS
    cuts = [step * (cell + 1) + number * 1e-6 for cell in range(CELLS - 1)]
    cells = []
    for cell, (low, high) in enumerate(itertools.pairwise([None, *cuts, None])):
        bounds = [("gt", low), ("le", high)]
        rule = [{"column": "age", "op": op, "value": value} for op, value in bounds if value is not None]
        cells.append({"id": f"leaf-{cell}", "all_of": rule})
    batch = {"name": "rules", "mechanism": {"name": "laplace"}, "epsilon": "0.001", "cells": cells}
    return {"sensitive": ["sex"], "batches": [batch]}


def ask(url: str, key: str, first: int, seconds: float) -> list[float]:
    """Ask plan after plan for a while; gives how long each answer took, in seconds."""
    took: list[float] = []
    with httpx.Client(base_url=url, headers={"Authorization": f"Bearer {key}"}, timeout=60) as client:
        until = time.perf_counter() + seconds
        for number in itertools.count(first):
            body = plan(number)
            started = time.perf_counter()
            if started >= until:
                return took
            answer = client.post("/v1/datasets/register/releases", json=body)
            took.append(time.perf_counter() - started)
            if answer.status_code != 201:
                raise RuntimeError(f"the holder answered {answer.status_code}")
    return took


def measure(pool: Pool, url: str, key: str, *, clients: int, seconds: float, first: int) -> Measured:
    """Let some clients ask at once."""
    asked = [(url, key, first + client * 100_000, seconds) for client in range(clients)]
    took = sorted(itertools.chain.from_iterable(pool.starmap(ask, asked)))
    return Measured(
        len(took) / seconds, statistics.median(took) * 1000, took[min(int(len(took) * 0.99), len(took) - 1)] * 1000
    )


def bare_transactions(database_url: str, seconds: float) -> Measured:
    """Durable transactions that lock the head and insert a row of a release's size, one after the other."""
    database = Database(database_url)
    body = b"x" * 3000
    took = []

    def work(connection: Connection, number: int) -> None:
        row = {"id": f"bare-{number}", "auditor": "ADR", "dataset": "register", "version": 1, "sequence": 1}
        connection.execute(insert(releases), {**row, "created": "", "body": body})

    until = time.perf_counter() + seconds
    for number in itertools.count():
        started = time.perf_counter()
        if started >= until:
            break
        database.write(partial(work, number=number))
        took.append(time.perf_counter() - started)
    database.close()
    took.sort()
    return Measured(len(took) / seconds, statistics.median(took) * 1000, took[int(len(took) * 0.99)] * 1000)


Row = tuple[str, str, int, list[Measured]]
"""Store, what was measured, clients, and each round's figures."""


def main() -> None:
    """Measure everything in turn and print the table."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--seconds", type=float, default=5.0, help="how long each measurement asks")
    options.add_argument("--rounds", type=int, default=3, help="each figure is the median of so many rounds")
    options.add_argument("--workers", type=int, default=1, help="processes of the holder")
    given = options.parse_args()
    table = Table("store", "what", "clients", "per second", "median ms", "p99 ms", title="Releases, quantum 0")
    for store, what, clients, rounds in measured_rows(given.seconds, given.rounds, given.workers):
        per_second, median_ms, p99_ms = (
            statistics.median(getattr(one, name) for one in rounds) for name in Measured.__slots__
        )
        table.add_row(store, what, str(clients), f"{per_second:.0f}", f"{median_ms:.1f}", f"{p99_ms:.1f}")
    Console().print(table)


def measured_rows(seconds: float, rounds: int, workers: int) -> Iterator[Row]:
    """Every line of the table, in turn."""
    with multiprocessing.get_context("spawn").Pool(8) as pool, running_server() as postgres:
        with application("benchmarks.bare_app:app") as url:
            for clients in (1, 8):
                asked = [measure(pool, url, "-", clients=clients, seconds=seconds, first=0) for _ in range(rounds)]
                yield "–", "bare application", clients, asked
        for store in ("SQLite", "PostgreSQL"):
            with tempfile.TemporaryDirectory() as folder, postgres.database() as postgres_url:
                url = f"sqlite:///{folder}/holder.sqlite" if store == "SQLite" else postgres_url
                with running_holder(Path(folder), url, epsilon="999", people=1) as holder:
                    holder.declare(cap={"epsilon": "999", "delta": "0"}, records_max=RECORDS)
                    holder.load(register_csv(people=RECORDS))
                firsts = itertools.count(1, 1_000_000)
                with serving(holder.settings, workers=workers) as served:
                    ask_with = partial(measure, pool, served.url, holder.auditor_key, seconds=seconds)
                    for clients in (1, 8):
                        asked = [ask_with(clients=clients, first=next(firsts)) for _ in range(rounds)]
                        yield store, "release", clients, asked
                yield store, "bare transaction", 1, [bare_transactions(url, seconds) for _ in range(rounds)]


@contextmanager
def application(name: str) -> Iterator[str]:
    """Serve an application in a process of its own on a free port of loopback."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    command = [sys.executable, "-m", "uvicorn", name, "--port", str(port), "--log-level", "critical", "--no-access-log"]
    served = Served(f"http://127.0.0.1:{port}", subprocess.Popen(command, start_new_session=True))
    try:
        served.wait_until_ready()
        yield served.url
    finally:
        served.kill()


if __name__ == "__main__":
    main()
