"""How fast records are loaded, beside pyarrow's bare read of the same file in the same run.

`python -m benchmarks.loading --rows 10000000 --formats csv,parquet` makes a register of 12 columns and a person key
(five categories, a boolean, three integers, three numbers, of which two columns have missing values). It is loaded on
one core and on two, each time in a process of its own, in turn with pyarrow, which reads the whole file into memory and
does nothing with it. Rows a second are medians; memory is the most that the process had for itself, mapped files left
out. *followed* is the same load with its progress kept for administrators, as a holder keeps it. `--before FOLDER` has
another checkout of this repository load the same file in turn; every encoded file has to have the same bytes, whoever
made it, on however many cores. `--holder` sends the file to a running holder too.
"""

import argparse
import hashlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
from rich.console import Console
from rich.table import Table

from holder_service.records.encoded import load_records
from holder_service.records.person_keys import PersonSecret
from shared.contract.schema import Column, Schema

MEDIA_TYPES: Final = {"csv": "text/csv", "parquet": "application/vnd.apache.parquet"}
CATEGORIES: Final = {"status": 2, "region": 5, "sector": 16, "country": 60, "sex": 2}
SCHEMA: Final = Schema(
    person_key="person",
    columns=(
        *(
            Column(
                name=name,
                type="category",
                categories=tuple(f"{name} {n}" for n in range(size)),
                sensitive=name == "sex",
            )
            for name, size in CATEGORIES.items()
        ),
        Column(name="member", type="boolean"),
        Column(name="age", type="integer", minimum=0, maximum=110),
        Column(name="hours", type="integer", minimum=0, maximum=99, nullable=True),
        Column(name="income", type="integer", minimum=0, maximum=500_000),
        Column(name="score", type="number", minimum=0, maximum=1),
        Column(name="gain", type="number", minimum=-10, maximum=10),
        Column(name="loss", type="number", minimum=-10, maximum=10, nullable=True),
    ),
)
MADE_AT_ONCE: Final = 1_000_000
LOOKED_EVERY_S: Final = 0.02
_SAME_SECRET: Final = PersonSecret.of(bytes(32))
"""Of invented people: with one secret, equal records become equal files."""


def register(rows: int) -> Iterator[pa.Table]:
    """Invented people, many at once; always the same."""
    for first in range(0, rows, MADE_AT_ONCE):
        rng, people = np.random.default_rng(first), min(MADE_AT_ONCE, rows - first)
        columns: dict[str, Any] = {"person": np.char.add("person-", np.arange(first, first + people).astype(str))}
        for name, size in CATEGORIES.items():
            words = pa.array([f"{name} {n}" for n in range(size)])
            columns[name] = words.take(pa.array(rng.integers(0, size, people)))
        yield pa.table(
            {
                **columns,
                "member": rng.random(people) < 0.3,
                "age": rng.integers(0, 111, people),
                "hours": pa.array(rng.integers(0, 100, people), mask=rng.random(people) < 0.1),
                "income": rng.integers(0, 500_001, people),
                "score": rng.random(people).round(4),
                "gain": rng.normal(0, 1, people),
                "loss": pa.array(rng.normal(0, 1, people).round(2), mask=rng.random(people) < 0.2),
            }
        )


def make(path: Path, form: str, rows: int) -> None:
    """Write a register as CSV or Parquet."""
    tables = register(rows)
    first = next(tables)
    writer: Any = (
        pa.csv.CSVWriter(path, first.schema) if form == "csv" else pa.parquet.ParquetWriter(path, first.schema)
    )
    with writer:
        writer.write_table(first)
        for table in tables:
            writer.write_table(table)


@dataclass(frozen=True, slots=True)
class Measured:
    """One run: seconds by the clock and of processors, megabytes at most, and what was made of the file."""

    clock_s: float
    processor_s: float
    peak_mb: float
    digest: str


def measured(side: str, path: Path, form: str, cores: int) -> Measured:
    """Do one side's work in this process, which is for nothing else."""
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:cores])
    pa.set_cpu_count(cores)
    peak, done = _Peak(), threading.Event()
    looks = threading.Thread(target=peak.look, args=(done,))
    looks.start()
    begun_s, processor_s = time.perf_counter(), time.process_time()
    digest = ""
    with tempfile.TemporaryDirectory(dir=path.parent) as name:
        encoded = Path(name) / "encoded"
        if side == "pyarrow":
            table = pa.csv.read_csv(path) if form == "csv" else pa.parquet.read_table(path)
            rows = len(table)
        elif side == "followed":
            _load_followed(path, form, encoded)
            rows = 1
        else:
            load_records(path, MEDIA_TYPES[form], SCHEMA, 2**40, encoded, secret=_SAME_SECRET)
            rows = 1
        took_s, processor_s = time.perf_counter() - begun_s, time.process_time() - processor_s
        done.set()
        looks.join()
        if side != "pyarrow":
            with encoded.open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
    return Measured(took_s, processor_s, peak.megabytes if rows else 0, digest)


def _load_followed(path: Path, form: str, encoded: Path) -> None:
    """Load as a holder does, which lets its administrators see how far it is."""
    from holder_service.records.formats import Upload  # noqa: PLC0415 - another checkout might not have it there
    from holder_service.records.progress import followed  # noqa: PLC0415 - nor this

    with followed(encoded.parent, dataset="loaded", actor="administrator", began=datetime.now(UTC)) as report:
        upload = Upload(path, MEDIA_TYPES[form])
        encode_records = import_module("holder_service.records.encoded").encode_records
        encode_records(upload, SCHEMA, 2**40, encoded, secret=_SAME_SECRET, report=report)


class _Peak:
    """The most memory that this process had for itself."""

    megabytes = 0.0

    def look(self, done: threading.Event) -> None:
        """Look until it is done."""
        while not done.wait(LOOKED_EVERY_S):
            status = Path("/proc/self/status").read_text()
            self.megabytes = max(self.megabytes, int(status.partition("RssAnon:")[2].split()[0]) / 1024)


def apart(side: str, checkout: Path, path: Path, form: str, cores: int) -> Measured:
    """Have one side's work done in a process of its own, with the code of a checkout."""
    done = subprocess.run(
        [sys.executable, "-P", __file__, "--one", side, str(path), form, str(cores)],
        env={**os.environ, "PYTHONPATH": str(checkout)}, stdout=subprocess.PIPE, check=True,
    )  # fmt: skip
    return Measured(**json.loads(done.stdout))


def through_holder(path: Path, form: str, rows: int) -> float:
    """How long a running holder takes from the first byte of an upload to its answer, in seconds."""
    from testing.holders import running_holder  # noqa: PLC0415 - another checkout might have another

    with tempfile.TemporaryDirectory(dir=path.parent) as home, running_holder(Path(home)) as holder:
        declared = holder.declare("loaded", **SCHEMA.model_dump(mode="json", exclude_defaults=True), records_max=rows)
        declared.raise_for_status()
        begun_s = time.perf_counter()
        with path.open("rb") as file:
            answer = holder.admin(
                "PUT", "/datasets/loaded/records", content=file, headers={"Content-Type": MEDIA_TYPES[form]},
                timeout=3600,
            )  # fmt: skip
        answer.raise_for_status()
        return time.perf_counter() - begun_s


def compare(given: argparse.Namespace, form: str, table: Table) -> None:
    """The rows of one format."""
    here = Path(__file__).parents[1]
    sides = {
        "pyarrow": here,
        **({"before": given.before.resolve()} if given.before else {}),
        "load": here,
        "followed": here,
    }
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        path = Path(folder) / f"register.{form}"
        make(path, form, given.rows)
        size = path.stat().st_size
        runs: dict[tuple[str, int], list[Measured]] = {}
        for _ in range(given.rounds):
            for cores in given.cores:
                for side, checkout in sides.items():
                    runs.setdefault((side, cores), []).append(apart(side, checkout, path, form, cores))
        if len({run.digest for some in runs.values() for run in some if run.digest}) != 1:
            raise AssertionError("not all encoded files have the same bytes")
        rates = {what: given.rows / statistics.median(run.clock_s for run in some) for what, some in runs.items()}
        for (side, cores), some in runs.items():
            rate = rates[side, cores]
            table.add_row(
                form, side, str(cores), f"{rate:,.0f}", f"{rate * size / given.rows / 1e6:.0f}",
                f"{statistics.median(run.processor_s for run in some) / given.rows * 1e6:.2f}",
                f"{rate / rates['pyarrow', cores]:.3f}",
                f"{rate / rates['before', cores]:.2f}" if given.before else "",
                f"{max(run.peak_mb for run in some):.0f}",
            )  # fmt: skip
        if given.holder:
            rate = given.rows / through_holder(path, form, given.rows)
            table.add_row(form, "holder", "all", f"{rate:,.0f}", f"{rate * size / given.rows / 1e6:.0f}")


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--formats", type=lambda text: text.split(","), default=list(MEDIA_TYPES))
    parser.add_argument("--cores", type=lambda text: [int(one) for one in text.split(",")], default=[1, 2])
    parser.add_argument("--rounds", type=int, default=3, help="each figure is the median of so many runs")
    parser.add_argument("--before", type=Path, help="another checkout, which loads the same file in turn")
    parser.add_argument("--holder", action="store_true", help="send the file to a running holder too")
    parser.add_argument("--folder", type=Path, help="where the files are made, in place of the system's for such")
    parser.add_argument("--one", nargs=4, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        side, path, form, cores = given.one
        run = measured(side, Path(path), form, int(cores))
        print(json.dumps({name: getattr(run, name) for name in Measured.__slots__}))
        return
    columns = (
        "format",
        "side",
        "cores",
        "rows/s",
        "MB/s",
        "processor, µs a row",
        "of pyarrow",
        "of before",
        "memory, MB",
    )
    table = Table(*columns, title=f"Loading {given.rows:,} rows of {len(SCHEMA.columns) + 1} columns")
    for form in given.formats:
        compare(given, form, table)
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
