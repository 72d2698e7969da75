"""The people of a rehearsal: drawn from what is published about a dataset, and from nothing else (docs/adr/0052).

`write_invented` is given the declared columns and the published rehearsal. It has no way to records, to their number,
or to anything that follows from them. Whoever reads a dataset's description can do the same, and gets the same people:
the draws are those of Python's Mersenne Twister, seeded by the published seed and the column's name.
"""

import math
from bisect import bisect_right
from collections.abc import Callable, Sequence
from itertools import accumulate
from pathlib import Path
from random import Random
from typing import Final

import pyarrow as pa
import pyarrow.parquet

from holder_service.records.formats import Upload
from shared.contract.rehearsals import Part, Rehearsal
from shared.contract.schema import Column, Schema

MISSING_SHARE: Final = 0.1
"""Of the people of a column whose values may be missing, where no marginal is published."""
REACH: Final = 100
"""How far a range reaches at least on a side where none is declared."""
_TYPES: Final = {"boolean": pa.bool_(), "category": pa.string(), "integer": pa.int64(), "number": pa.float64()}
Value = bool | int | float | str | None


def write_invented(path: Path, schema: Schema, rehearsal: Rehearsal) -> Upload:
    """Write the people of a rehearsal as a file that can be loaded; each column is drawn by itself.

    Args:
        path: Of the new file.
        schema: The declared columns.
        rehearsal: How many people, what they are drawn with, and the published marginals.
    """
    columns = {schema.row_column: _who(schema, rehearsal.people)}
    for column in schema.columns:
        columns[column.name] = pa.array(invented_values(column, rehearsal), _TYPES[column.type])
    pa.parquet.write_table(pa.table(columns), path)
    return Upload(path, "application/vnd.apache.parquet")


def invented_values(column: Column, rehearsal: Rehearsal) -> list[Value]:
    """A value of a column for each of the invented people."""
    random = Random(f"{rehearsal.seed}:{column.name}").random  # noqa: S311 - public, and hides nothing
    parts = rehearsal.marginals.get(column.name)
    drawn = _by_declaration(column, random) if parts is None else _by_marginal(column, parts, random)
    return [drawn() for _ in range(rehearsal.people)]


def _who(schema: Schema, people: int) -> pa.Array:
    """A key for each person; in an aggregate table, that each row stands for one."""
    if schema.is_aggregate:
        return pa.array([1] * people, pa.int64())
    return pa.array([f"invented-{number}" for number in range(1, people + 1)], pa.string())


def _by_declaration(column: Column, random: Callable[[], float]) -> Callable[[], Value]:
    """Each declared value is as likely; missing are one in ten, where values may be."""
    low, high = _range(column)
    values = column.values

    def drawn() -> Value:
        if column.nullable and random() < MISSING_SHARE:
            return None
        return _within(column, low, high, random()) if column.ordered else values[int(random() * len(values))]

    return drawn


def _by_marginal(column: Column, parts: Sequence[Part], random: Callable[[], float]) -> Callable[[], Value]:
    """Each part by its weight, and each number of a range is as likely."""
    below = list(accumulate(part.weight for part in parts))

    def drawn() -> Value:
        part = parts[bisect_right(below, int(random() * below[-1]))]
        if part.missing:
            return None
        if part.minimum is not None and part.maximum is not None:
            return _within(column, part.minimum, part.maximum, random())
        return part.value

    return drawn


def _range(column: Column) -> tuple[float, float]:
    """From where to where a column's numbers are drawn: where no end is declared, one that reaches past what is."""
    declared = [bound for bound in (column.minimum, column.maximum, *(column.bands_from or ())) if bound is not None]
    low = min([0, *(bound - REACH for bound in declared)]) if column.minimum is None else column.minimum
    high = max([REACH, *(bound + REACH for bound in declared)]) if column.maximum is None else column.maximum
    return max(low, column.low), min(high, column.high)


def _within(column: Column, low: float, high: float, share: float) -> Value:
    """The number at a share of a range."""
    if column.type == "integer":
        first, last = math.ceil(low), math.floor(high)
        return min(first + int(share * (last - first + 1)), last)
    return min(max(low * (1 - share) + high * share, low), high)
