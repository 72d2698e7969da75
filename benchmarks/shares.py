"""Counting shares beside counting sensitive values, of the same invented people, in the same run.

`python -m benchmarks.shares --records 1000000 --leaves 16`

The people are split, and each half is loaded as a holder loads it. All three are counted by the leaves of a random tree
and the groups, in turn; the halves have to add up to the counts. The last column is the time that the public deadline
allows for the count of a half: all others have to be below it. Aim: a million people by 16 leaves and 8 groups in less
than a second for each holder, and ten million in proportion. What was found: `docs/operations.md`.
"""

import argparse
import statistics
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from rich.console import Console
from rich.table import Table

from benchmarks.counting import SCHEMA, cells, grown, write_records
from holder_service.domain.deadlines import PlanSize, work_ms
from holder_service.domain.disjointness import disjoint_classes
from holder_service.domain.pricing import price
from holder_service.records.counting import count_cells
from holder_service.records.encoded import Records, encode_records
from holder_service.records.formats import Upload
from holder_service.records.shares import PARQUET, words_per_person
from holder_service.records.splitting import split_register
from shared.contract.schema import Schema
from shared.contract.shares import ShareParty
from shared.kinds.plans import Plan

HOLDERS = ("sensitive values", "party 1 (seed)", "party 2 (words)")


def schema_of(groups: int) -> Schema:
    """The columns of `benchmarks.counting`, with so many groups."""
    names = tuple(f"g{number}" for number in range(groups))
    columns = tuple(
        column.model_copy(update={"categories": names}) if column.sensitive else column for column in SCHEMA.columns
    )
    return SCHEMA.model_copy(update={"columns": columns})


def loaded(folder: Path, people: int, schema: Schema) -> tuple[list[Records], list[tuple[str, str]]]:
    """The people as one holder has them and as each of two has them; and how long splitting and loading took."""
    source, halves = folder / "register.parquet", [folder / "a.parquet", folder / "b.parquet"]
    write_records(source, people, schema)
    schemas = [schema, *(schema.model_copy(update={"shares": ShareParty(party=party)}) for party in (1, 2))]
    begun = time.perf_counter()
    split_register(Upload(source, PARQUET), schemas[1], *halves, records_max=people)
    taken = [("holder split", f"{time.perf_counter() - begun:.1f} s")]
    records = []
    for name, path, held in zip(HOLDERS, (source, *halves), schemas, strict=True):
        begun, encoded = time.perf_counter(), folder / f"encoded-{path.stem}"
        encode_records(Upload(path, PARQUET), held, people, encoded)
        size = encoded.stat().st_size / 1e6
        taken.append((f"load {name}", f"{time.perf_counter() - begun:.1f} s, {size:,.0f} MB encoded"))
        records.append(Records.open(encoded, held))
    return records, taken


def allowed(schema: Schema, people: int, leaves: int) -> float:
    """The seconds that the public deadline allows for the count of a half, on a machine that nobody calibrated."""
    batch = {
        "name": "leaves",
        "mechanism": {"name": "laplace"},
        "epsilon": "1",
        "cells": cells(grown(leaves, seed=leaves)),
    }
    plan = Plan.model_validate({"version": 1, "sensitive": ["group"], "batches": [batch]})
    size = PlanSize.of(price(plan, schema), words_per_person(schema), sensitive=plan.sensitive)
    size = replace(size, shared=words_per_person(schema) * size.classes)
    return work_ms(size, records_max=people).counting / 1000


def compare(records: Sequence[Records], leaves: int, repetitions: int) -> list[float]:
    """Median seconds of one count by each holder, in turn.

    Raises:
        RuntimeError: The halves do not add up to the counts.
    """
    asked = cells(grown(leaves, seed=leaves))
    classes = disjoint_classes(asked, records[0].schema)

    def counted(one: Records) -> npt.NDArray[Any]:
        return count_cells(one, asked, classes, ["group"]).reveal_to_mechanism()

    whole, first, second = (counted(one).view(np.uint64) for one in records)
    if not (first + second == whole).all():
        raise RuntimeError(f"The halves do not add up to the counts at {leaves} leaves.")
    seconds: list[list[float]] = [[] for _ in records]
    for _ in range(repetitions):
        for taken, one in zip(seconds, records, strict=True):
            begun = time.perf_counter()
            counted(one)
            taken.append(time.perf_counter() - begun)
    return [statistics.median(taken) for taken in seconds]


def main() -> None:
    """Print a line for each number of people and leaves."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--records", default="1000000", help="numbers of people")
    options.add_argument("--leaves", default="16,256", help="numbers of leaves")
    options.add_argument("--groups", default="8", help="numbers of groups, at most 64")
    options.add_argument("--repetitions", type=int, default=9, help="each figure is the median of so many")
    given = options.parse_args()
    console = Console()
    table = Table("people", "groups", "leaves", *(f"{name}, ms" for name in HOLDERS), "allowed, ms")
    for people, groups in product(map(int, given.records.split(",")), map(int, given.groups.split(","))):
        with tempfile.TemporaryDirectory() as folder:
            records, taken = loaded(Path(folder), people, schema_of(groups))
            for what, value in taken:
                console.print(f"{people:,} people by {groups} groups, {what}: {value}")
            for leaves in map(int, given.leaves.split(",")):
                seconds = [*compare(records, leaves, given.repetitions), allowed(records[1].schema, people, leaves)]
                table.add_row(f"{people:,}", str(groups), str(leaves), *(f"{1e3 * one:,.0f}" for one in seconds))
    console.print(table)


if __name__ == "__main__":
    main()
