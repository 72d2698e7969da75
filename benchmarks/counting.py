"""The count beside a hand-written nested CASE in DuckDB, on the same records, in the same run.

`python -m benchmarks.counting --records 1000000,10000000 --leaves 16,256,1024`

Records are invented: categories, integers and doubles, some missing, eight groups. A random tree is
grown to exactly so many leaves; each leaf is a cell. Both sides hold the records as they like best:
ours in its encoded file, DuckDB in a table in memory, with categories as small integers and two
threads. Both answer all leaves by all groups, the answers have to be equal, and the medians are of
runs that alternate. Aims: at most 1.3 of DuckDB at 16 leaves, and half of it at 1 024.
"""

import argparse
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet

from holder_service.domain.disjointness import disjoint_classes
from holder_service.storage.counting import count_cells
from holder_service.storage.records import Records, load_records
from shared.rules import Cell, Predicate, Rule
from shared.schema import Column, Schema

SCHEMA = Schema(
    person_key="person",
    columns=(
        *(
            Column(name=f"category_{size}", type="category", categories=tuple(f"c{n}" for n in range(size)))
            for size in (2, 5, 16, 60)
        ),
        Column(name="age", type="integer", minimum=0, maximum=110),
        Column(name="hours", type="integer", minimum=0, maximum=99, nullable=True),
        Column(name="income", type="integer", minimum=0, maximum=10_000_000),
        Column(name="score", type="number", minimum=0, maximum=1),
        Column(name="gain", type="number"),
        Column(name="loss", type="number", nullable=True),
        Column(name="group", type="category", categories=tuple("ABCDEFGH"), sensitive=True),
    ),
)


@dataclass(frozen=True, slots=True)
class Split:
    """A binary test, both ways as predicates and as the SQL condition of the first."""

    left: Predicate
    right: Predicate
    condition: str


Node = int | tuple[Split, "Node", "Node"]
