"""What the processor time of a count reveals of the records: registers that differ by one person, and in everything.

`python -m checks.count_cost --people 250000 --runs 60`

Registers are invented, each declared as the one that it is compared with, and counted in turn and in random order. The
area under the ROC curve (AUC) says how well the time of one count distinguishes the registers: .5 is
guessing, 1 is certain. No deadline is in between: it is the time that the deadline has to hide.
"""

import argparse
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet
from rich.console import Console
from rich.table import Table
from scipy import stats

from holder_service.domain.disjointness import disjoint_classes
from holder_service.records.counting import count_cells
from holder_service.records.encoded import CHUNK_RECORDS_MAX, Records, load_records
from shared.contract.rules import Cell, Predicate, Rule
from shared.contract.schema import Column, Schema

FREQUENT: Final = 1e6
"""The value that many people have, and that rules cut just below."""
MANY_CUTS: Final = 1023
DIFFERENT: Final = 65_536
PARQUET: Final = "application/vnd.apache.parquet"

_Numbers = npt.NDArray[np.float64]
Invent = Callable[[np.random.Generator, int], _Numbers]
"""A column of so many people."""


def _crowded(rng: np.random.Generator, people: int) -> _Numbers:
    """65 536 different values, one of which everybody else has."""
    values = np.full(people, FREQUENT)
    others = min(DIFFERENT - 1, people // 2)
    values[:others] = np.arange(others)
    return rng.permutation(values)


def _constant(_: np.random.Generator, people: int) -> _Numbers:
    return np.full(people, FREQUENT)


def _random(rng: np.random.Generator, people: int) -> _Numbers:
    return 2 * FREQUENT * rng.random(people)


def _ascending(rng: np.random.Generator, people: int) -> _Numbers:
    return np.sort(_random(rng, people))


def _half(rng: np.random.Generator, people: int) -> _Numbers:
    return np.where(rng.random(people) < 0.5, FREQUENT, _random(rng, people))


@dataclass(frozen=True, slots=True)
class Register:
    """How a register is invented.

    Attributes:
        people: How many, without the one more.
        invent: Each column of numbers.
        one_more: Whether one more person is in it, with a value of their own.
        one_group: Whether all people are in one group, or half in each.
    """

    people: int
    invent: Invent
    one_more: bool = False
    one_group: bool = False

    def table(self, columns: int) -> pa.Table:
        """The records."""
        rng = np.random.default_rng(5)
        size = self.people + self.one_more
        more = [2 * FREQUENT] * self.one_more
        numbers = {f"x{n}": np.append(self.invent(rng, self.people), more) for n in range(columns)}
        groups = ["F"] * size if self.one_group else rng.choice(["F", "M"], size)
        return pa.table({"person": np.arange(size), **numbers, "sex": groups})


def _schema(columns: int) -> Schema:
    numbers = (Column(name=f"x{n}", type="number") for n in range(columns))
    sex = Column(name="sex", type="category", categories=("F", "M"), sensitive=True)
    return Schema(person_key="person", columns=(*numbers, sex))


def _one_cell(columns: int) -> list[Cell]:
    """Everybody below the frequent value in every column."""
    below = tuple(Predicate(column=f"x{n}", op="lt", value=FREQUENT) for n in range(columns))
    return [Cell(id="below", any_of=(Rule(all_of=below),))]


def _many_cuts(columns: int) -> list[Cell]:
    """One cell of many rules, which cut every column at many values."""
    values = np.random.default_rng(6).permutation(2 * FREQUENT * np.arange(MANY_CUTS * columns) / (MANY_CUTS * columns))
    rules = (
        Rule(all_of=(Predicate(column=f"x{n % columns}", op="lt", value=float(value)),))
        for n, value in enumerate(values)
    )
    return [Cell(id="any", any_of=tuple(rules))]


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two registers of one declaration, and what is counted of both."""

    name: str
    registers: tuple[Register, Register]
    columns: int
    cells: Callable[[int], list[Cell]]


def comparisons(people: int) -> Iterator[Comparison]:
    """Neighbours first, then registers that differ in everything."""
    crowded = Register(people, _crowded), Register(people, _crowded, one_more=True)
    for columns in (1, 6, 24):
        yield Comparison("65 536 values, half at one | one person more", crowded, columns, _one_cell)
    yield Comparison("the same, 1 023 cuts a column", crowded, 1, _many_cuts)
    full = (Register(CHUNK_RECORDS_MAX, _random), Register(CHUNK_RECORDS_MAX, _random, one_more=True))
    yield Comparison("a full chunk | one person more", full, 6, _one_cell)
    for cells, cuts in ((_one_cell, "one cut"), (_many_cuts, "1 023 cuts")):
        for name, invent in (("one value", _constant), ("half at one value", _half), ("sorted", _ascending)):
            pair = Register(people, _random), Register(people, invent)
            yield Comparison(f"random | {name}; {cuts} a column", pair, 6 if cells is _one_cell else 1, cells)
    groups = Register(people, _random), Register(people, _random, one_group=True)
    yield Comparison("two groups | all in one", groups, 1, _one_cell)


def processor_ms(registers: Sequence[Records], cells: Sequence[Cell], runs: int) -> list[list[float]]:
    """How long each count of each register occupied processors, in milliseconds; in turn and in random order."""
    classes = disjoint_classes(cells, registers[0].schema)
    took_ms: list[list[float]] = [[] for _ in registers]
    rng = random.Random(7)
    for _ in range(runs + 2):
        for number in rng.sample(range(len(registers)), len(registers)):
            start_s = time.process_time()
            count_cells(registers[number], cells, classes, ["sex"])
            took_ms[number].append(1000 * (time.process_time() - start_s))
    return [one[2:] for one in took_ms]


def measured(comparison: Comparison, runs: int) -> Mapping[str, Any]:
    """Load and count both registers."""
    schema = _schema(comparison.columns)
    opened = []
    with tempfile.TemporaryDirectory() as folder:
        for number, register in enumerate(comparison.registers):
            source, encoded = Path(folder) / "upload", Path(folder) / f"encoded-{number}"
            pa.parquet.write_table(register.table(comparison.columns), source)
            load_records(source, PARQUET, schema, register.people + 1, encoded)
            opened.append(Records.open(encoded, schema))
        first, second = processor_ms(opened, comparison.cells(comparison.columns), runs)
    auc = stats.mannwhitneyu(second, first).statistic / (len(first) * len(second))
    return {"first": statistics.median(first), "second": statistics.median(second), "auc": float(auc)}


def main() -> None:
    """Print a line for each comparison."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--people", type=int, default=250_000, help="in each register")
    options.add_argument("--runs", type=int, default=60, help="counts of each register")
    given = options.parse_args()
    table = Table("registers", "columns", "first ms", "second ms", "AUC", title="Processor time of a count, medians")
    for one in comparisons(given.people):
        found = measured(one, given.runs)
        table.add_row(
            one.name, str(one.columns), f"{found['first']:.2f}", f"{found['second']:.2f}", f"{found['auc']:.2f}"
        )
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
