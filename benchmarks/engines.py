"""Loads and counts by both engines, on this machine in one run; and from that, what a nation's register would take.

`python -m benchmarks.engines [--records 1000000,10000000] [--leaves 16,1024] [--cores 1,2] [--spark]`
`python -m benchmarks.engines --spark --for 1000000000 --executors 10,100`

Records and trees are those of `benchmarks.counting`. Every line is a process of its own, which the kernel keeps on so
many cores. It loads one Parquet file, joins the hashes of keys and counts each tree, five times. All lines of a number
of records have to give the same counts. Seconds are medians; memory is the most that one process held at once: this
one, Spark's Java process (driver and executor in one, here), and the largest of its Python workers.

**The plan** (`--for`) takes from the two largest numbers of records the seconds that a million more cost one core, and
from the smaller of them what a count costs at least. A cluster's count is simulated: the register lies in parts of
`PART_BYTES`, each part is a task, tasks go to whoever is free, and their times vary as the measured ones did. Once an
executor is lost in the middle, and what it had in hand is done again. What is simulated is the work, not the network: a
task hands on one row of counts, and its part is read where it lies or at the rate of the store, whichever it is.
"""

import argparse
import hashlib
import heapq
import math
import multiprocessing
import os
import random
import statistics
import tempfile
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.table import Table

from benchmarks.counting import SCHEMA, cells, grown, write_records
from holder_service.domain.disjointness import disjoint_classes
from holder_service.records.engines import EncodedVersion, Engine
from holder_service.records.formats import RecordsUrl, Upload
from holder_service.records.local_engine import LocalEngine
from holder_service.records.person_keys import PersonSecret
from holder_service.settings.holder import SparkSettings
from shared.wire import limits
from testing.encoded_records import record_files

PARQUET: Final = "application/vnd.apache.parquet"
GROUPS: Final = 8
COUNTS: Final = 5
PART_BYTES: Final = 128 * 1024 * 1024
"""Of Parquet that Spark gives one task, unless `spark.sql.files.maxPartitionBytes` says otherwise."""
CORES_PER_EXECUTOR: Final = 4
SIMULATIONS: Final = 200
NAME: Final = "00000000000000000000000000000001"


@dataclass(frozen=True, slots=True)
class Line:
    """What one process measured.

    Attributes:
        engine: "local" or "spark".
        cores: On which it was kept.
        records: How many.
        loaded_s: Seconds of the load, with the hashes joined.
        bytes_per_record: On disk, with hashes.
        counted_s: By leaves, the seconds of each count.
        digests: By leaves, a checksum of the counts.
        memory: Of each process, by what it is: the most it held, in bytes.
    """

    engine: str
    cores: int
    records: int
    loaded_s: float
    bytes_per_record: float
    counted_s: dict[int, list[float]]
    digests: dict[int, str]
    memory: dict[str, int]


def measured(source: Path, records: int, leaves: Sequence[int], engine: str, cores: int) -> Line:
    """Load and count in this process, kept on so many cores."""
    os.sched_setaffinity(0, range(cores))
    with tempfile.TemporaryDirectory(dir=source.parent, ignore_cleanup_errors=True) as name:
        home = Path(name) / "home"
        with _engine(engine, home, cores) as one:
            begun_s = time.perf_counter()
            given = Upload(source, PARQUET) if engine == "local" else RecordsUrl(source.as_uri())
            one.load(given, SCHEMA, records_max=records, name=NAME)
            one.join(NAME, None)
            one.forget(NAME)
            loaded_s = time.perf_counter() - begun_s
            size = sum(path.stat().st_size for path in home.rglob("*") if path.is_file())
            version = EncodedVersion("register", NAME, SCHEMA)
            counted_s, digests = {}, {}
            for number in leaves:
                counted_s[number], digests[number] = _counted(one, version, number)
            return Line(engine, cores, records, loaded_s, size / records, counted_s, digests, _memory())


@contextmanager
def _engine(kind: str, home: Path, cores: int) -> Iterator[Engine]:
    files = record_files(home, PersonSecret.forgotten())
    if kind == "local":
        yield LocalEngine(files)
        return
    from holder_service.records.spark.engine import SparkEngine  # noqa: PLC0415 - Spark is not always here

    warnings.filterwarnings("ignore", category=FutureWarning, module="pyspark")
    os.environ.setdefault("SPARK_DRIVER_MEMORY", "2g")  # as docs/operations.md advises
    engine = SparkEngine(files, SparkSettings(master=f"local[{cores}]"), home)
    try:
        yield engine
    finally:
        engine.close()


def _counted(engine: Engine, version: EncodedVersion, leaves: int) -> tuple[list[float], str]:
    asked = cells(grown(leaves, seed=leaves))
    classes = disjoint_classes(asked, SCHEMA)
    seconds = []
    for _ in range(1 + COUNTS):
        begun_s = time.perf_counter()
        counts = engine.count(version, asked, classes, ["group"]).reveal_to_mechanism()
        seconds.append(time.perf_counter() - begun_s)
    return seconds[1:], hashlib.sha256(counts.tobytes()).hexdigest()


def _memory() -> dict[str, int]:
    """The most that this process and those below it held at once, each; of several of a kind the largest."""
    parents = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(path.parent.name)] = int(path.read_text().rpartition(")")[2].split()[1])
        except FileNotFoundError:
            continue
    below = {os.getpid()}
    while more := {process for process, parent in parents.items() if parent in below} - below:
        below |= more
    found: dict[str, int] = {}
    for process in below:
        status = dict(line.split(":", 1) for line in Path(f"/proc/{process}/status").read_text().splitlines())
        java = status["Name"].strip() == "java"
        kind = "holder" if process == os.getpid() else "Java" if java else "worker"
        found[kind] = max(found.get(kind, 0), int(status.get("VmHWM", "0 kB").split()[0]) * 1024)
    return found


@dataclass(frozen=True, slots=True)
class Costs:
    """What a cluster's work is made of, from two lines of one engine on one core.

    Attributes:
        load_s: Seconds of one core for a million records.
        count_s: By leaves the same for a count.
        fixed_s: By leaves what a count takes at least.
        spread: By leaves the standard deviation of the logarithm of a count's seconds.
        bytes_per_record: On disk.
    """

    load_s: float
    count_s: dict[int, float]
    fixed_s: dict[int, float]
    spread: dict[int, float]
    bytes_per_record: float

    @classmethod
    def of(cls, small: Line, large: Line) -> "Costs":
        """From two lines of one core."""
        millions = (large.records - small.records) / 1e6
        count_s, fixed_s, spread = {}, {}, {}
        for leaves, seconds in large.counted_s.items():
            ends = statistics.median(small.counted_s[leaves]), statistics.median(seconds)
            count_s[leaves] = max(ends[1] - ends[0], 0.0) / millions
            fixed_s[leaves] = max(ends[0] - count_s[leaves] * small.records / 1e6, 0.0)
            spread[leaves] = statistics.stdev(map(math.log, seconds))
        load_s = (large.loaded_s - small.loaded_s) / millions
        return cls(load_s, count_s, fixed_s, spread, large.bytes_per_record)


def simulated(costs: Costs, leaves: int, *, records: int, cores: int, lost: bool, seed: int) -> float:
    """Seconds of one count on a cluster; of an executor that is lost all tasks in hand are done again."""
    rng = random.Random(seed)
    tasks = max(math.ceil(records * costs.bytes_per_record / PART_BYTES), 1)
    each_s = costs.count_s[leaves] * records / 1e6 / tasks
    waiting = [each_s * rng.lognormvariate(0, costs.spread[leaves]) for _ in range(tasks)]
    if lost:
        waiting += [each_s] * min(CORES_PER_EXECUTOR, tasks)
        cores -= CORES_PER_EXECUTOR
    free = [0.0] * min(cores, len(waiting))
    for task_s in waiting:
        heapq.heapreplace(free, free[0] + task_s)
    return costs.fixed_s[leaves] + max(free)


def planned(costs: Costs, records: int, executors: Sequence[int], leaves: Sequence[int]) -> Table:
    """A line for each number of executors: the load, each count, and a count that loses an executor."""
    table = Table(
        "executors", "cores", "load min", *(f"{number} leaves s" for number in leaves), f"{leaves[-1]}, one lost s",
        title=f"{records:,} records, {records * costs.bytes_per_record / 1e9:.0f} GB, by simulation",
    )  # fmt: skip
    for number in executors:
        cores = number * CORES_PER_EXECUTOR
        runs = partial(_runs, costs, records=records, cores=cores)
        table.add_row(
            str(number), str(cores), f"{costs.load_s * records / 1e6 / cores / 60:.1f}",
            *(f"{statistics.median(runs(one, lost=False)):.1f}" for one in leaves),
            f"{max(runs(leaves[-1], lost=True)):.1f}",
        )  # fmt: skip
    return table


def _runs(costs: Costs, leaves: int, *, records: int, cores: int, lost: bool) -> list[float]:
    return [simulated(costs, leaves, records=records, cores=cores, lost=lost, seed=seed) for seed in range(SIMULATIONS)]


def binding(records: int) -> list[str]:
    """Which limits of the contract such a register meets first."""
    columns = min(limits.DERIVED_BYTES_PER_AUDITOR_MAX // records, limits.DERIVED_COLUMNS_PER_AUDITOR_MAX)
    return [
        f"records_max ends at {limits.RECORDS_MAX_MAX:,} records.",
        f"A plan is due within {limits.RELEASE_S_MAX} s.",
        f"An auditor's derived columns of one byte: {columns} at once.",
        f"A linked column has {limits.LINKED_ROWS_MAX / records:.1%} of the people at most.",
    ]


def main() -> None:
    """Print a line for each engine, number of cores and number of records, and the plan if one is asked for."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--records", default="1000000,10000000", help="numbers of records, ascending")
    options.add_argument("--leaves", default="16,1024", help="numbers of leaves")
    options.add_argument("--cores", default="1,2", help="numbers of cores")
    options.add_argument("--spark", action="store_true", help="also Spark, which has to be installed")
    options.add_argument("--for", type=int, dest="planned", help="plan for so many records")
    options.add_argument("--executors", default="10,100", help="of the plan, each of four cores")
    given = options.parse_args()
    leaves = [int(one) for one in given.leaves.split(",")]
    kinds = ["local", "spark"] if given.spark else ["local"]
    cores = [int(one) for one in given.cores.split(",")]
    lines: list[Line] = []
    for records in map(int, given.records.split(",")):
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder) / "records.parquet"
            write_records(source, records)
            some = [_apart(source, records, leaves, engine, number) for engine in kinds for number in cores]
        if len({tuple(line.digests.values()) for line in some}) != 1:
            raise RuntimeError(f"Of {records:,} records the engines count different numbers.")
        lines += some
    Console().print(shown(lines, leaves))
    costs = {kind: Costs.of(*ends) for kind in kinds if len(ends := _ends(lines, kind)) == 2}
    if costs:
        Console().print(compared(costs, leaves))
    if given.planned:
        if kinds[-1] not in costs:
            raise SystemExit("A plan needs two numbers of records on one core.")
        executors = [int(one) for one in given.executors.split(",")]
        Console().print(planned(costs[kinds[-1]], given.planned, executors, leaves))
        Console().print(*binding(given.planned), sep="\n")


def _ends(lines: Sequence[Line], kind: str) -> list[Line]:
    """The lines of an engine's two largest numbers of records, on one core."""
    return [line for line in lines if (line.engine, line.cores) == (kind, 1)][-2:]


def _apart(source: Path, records: int, leaves: Sequence[int], engine: str, cores: int) -> Line:
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(measured, (source, records, leaves, engine, cores))


def shown(lines: Sequence[Line], leaves: Sequence[int]) -> Table:
    """The lines as a table."""
    table = Table(
        "records", "engine", "cores", "load rows/s", *(f"{one} leaves ms" for one in leaves), "memory MB",
        title=f"Both engines, {GROUPS} groups",
    )  # fmt: skip
    for line in lines:
        table.add_row(
            f"{line.records:,}", line.engine, str(line.cores), f"{line.records / line.loaded_s:,.0f}",
            *(f"{statistics.median(line.counted_s[one]) * 1e3:.0f}" for one in leaves),
            ", ".join(f"{kind} {size / 1e6:.0f}" for kind, size in line.memory.items()),
        )  # fmt: skip
    return table


def compared(costs: Mapping[str, Costs], leaves: Sequence[int]) -> Table:
    """What a million records more cost one core, and what a count takes at least."""
    table = Table(
        "engine", "load s", *(f"{one} leaves ms" for one in leaves), *(f"{one}: at least ms" for one in leaves),
        "bytes/record", title="A million records more, one core",
    )  # fmt: skip
    for kind, cost in costs.items():
        table.add_row(
            kind, f"{cost.load_s:.2f}", *(f"{cost.count_s[one] * 1e3:.1f}" for one in leaves),
            *(f"{cost.fixed_s[one] * 1e3:.0f}" for one in leaves), f"{cost.bytes_per_record:.1f}",
        )  # fmt: skip
    return table


if __name__ == "__main__":
    main()
