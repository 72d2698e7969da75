"""Scores of encoded records: what a document is worth for every record, chunk by chunk (5-decisions §2, ADR 0022).

`shared.score_arrays` orders the operations; here is how it looks at a chunk. Whatever concerns one column is
worked out once for each of its codes and then looked up: a threshold is a cut between codes, a slope times a number is
a number for each code. Which operations are done, and how many, depends on the document and on how many records there
are, never on values. Each record's value follows from its own codes alone, in every chunk, at every index, in every
thread (`test_scoring.py`).
"""

import math
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from holder_service.domain.admitted import Partition
from holder_service.records.atoms import ColumnAtoms
from holder_service.records.encoded import CHUNK_RECORDS_MAX, Chunk, Records, code_count
from holder_service.records.matching import WORD_BITS, RuleWords
from holder_service.records.score_trees import TreeSum
from shared.schema import Column
from shared.score_arrays import ScoreArray, score_array
from shared.scores import (
    Axis,
    Document,
    Layers,
    Part,
    TableTerm,
    Trees,
    parts_of,
    rules_of,
    terms_of,
    values_of,
)

NUMBERS_AT_ONCE: Final = 2**21
"""Of a layer's units, for so many records together: wide layers go through a chunk in more steps."""
RULES_AT_ONCE: Final = 16 * WORD_BITS
"""Tables of rules are made for so many at a time, because they grow with the square of what they hold."""

_Array = npt.NDArray[Any]


def score_values(document: Document, column: Column, records: Records) -> Iterator[_Array]:
    """The values of a derived column, a score, for each of the records' chunks in their order.

    Args:
        document: It fits the records' schema.
        column: The derived column.
        records: The records; declared columns.

    Yields:
        What `encode_column` takes, shape (records of the chunk,): doubles for a column of numbers, +infinity for
        missing; else the values' indices in declared order, and for missing the number of declared values.
    """
    scores = Scores.compiled(document, records)
    encoded = _encoded_values(document, column)
    for chunk in records.chunks:
        yield encoded.of(scores.of(chunk))


@dataclass(frozen=True, slots=True)
class _EncodedValues:
    """From what a document says to what a column holds.

    Attributes:
        said: For a list or a choice, what the column holds for each of its values.
        missing: What it holds for none.
    """

    said: _Array | None
    missing: float

    def of(self, scores: ScoreArray) -> _Array:
        values = scores.values if self.said is None else self.said.take(scores.values, mode="clip")
        return np.where(scores.missing, self.missing, values)


def _encoded_values(document: Document, column: Column) -> _EncodedValues:
    said: tuple[Any, ...] = values_of(document)
    if column.ordered:
        return _EncodedValues(np.array(said, dtype=np.float64) if said else None, math.inf)
    return _EncodedValues(np.array([column.values.index(value) for value in said]), len(column.values))


@dataclass(frozen=True, slots=True)
class Scores:
    """A document, ready for some records' chunks.

    Attributes:
        document: As it came.
        records: The records.
        trees: The tables of each part that is trees, by the part's id.
        rules: Those of each other part's rules.
        axes: How each axis cuts its column, if it is ordered; by the axis's id.
        at_once: How many records go through the document together.
    """

    document: Document
    records: Records
    trees: Mapping[int, TreeSum]
    rules: Mapping[int, tuple[RuleWords, ...]]
    axes: Mapping[int, ColumnAtoms]
    at_once: int

    @classmethod
    def compiled(cls, document: Document, records: Records) -> "Scores":
        """The tables of a document that fits the records' schema."""
        trees, rules, axes, widest = {}, {}, {}, 1
        for part in parts_of(document):
            if isinstance(part, Trees):
                trees[id(part)] = TreeSum.compiled(part, records)
                continue
            every = rules_of(part)
            rules[id(part)] = tuple(
                RuleWords.compiled(every[start : start + RULES_AT_ONCE], records)
                for start in range(0, len(every), RULES_AT_ONCE)
            )
            for term in terms_of(part):
                for axis in term.axes if isinstance(term, TableTerm) else ():
                    if axis.cuts is not None:
                        axes[id(axis)] = _axis_atoms(axis, records)
            if isinstance(part, Layers):
                widest = max(widest, len(part.inputs), *(len(layer.bias) for layer in part.layers))
        return cls(document, records, trees, rules, axes, min(CHUNK_RECORDS_MAX, NUMBERS_AT_ONCE // widest))

    def of(self, chunk: Chunk) -> ScoreArray:
        """The values of a chunk's records, shape (records,)."""
        parts = [
            score_array(self.document, _ChunkColumns(self, chunk, _part(chunk, start, start + self.at_once)))
            for start in range(0, chunk.records, self.at_once)
        ]
        if len(parts) == 1:
            return parts[0]
        return ScoreArray(*(np.concatenate([getattr(part, name) for part in parts]) for name in ("values", "missing")))


def _part(chunk: Chunk, begin: int, end: int) -> Chunk:
    """Some of a chunk's records; ranks are still those of the whole chunk."""
    return replace(
        chunk,
        records=min(end, chunk.records) - begin,
        codes={name: codes[begin:end] for name, codes in chunk.codes.items()},
    )


def _axis_atoms(axis: Axis, records: Records) -> ColumnAtoms:
    """An axis's cuts, and one between the largest number and missing if that may be there."""
    column = records.schema.by_name[axis.column]
    highest = min(column.high, sys.float_info.max)
    cuts = [min(cut, highest) for cut in axis.cuts or ()] + [highest] * column.nullable
    if code_count(column) is not None:  # cuts of codes, and no number is looked for
        cuts = [max(math.floor(cut), int(column.low) - 1) for cut in cuts]
    return ColumnAtoms.compiled(Partition(column, tuple(cuts), len(cuts) + 1), records)


@dataclass(frozen=True, slots=True)
class _ChunkColumns:
    """Some records of a chunk as documents look at them (`shared.score_arrays.Columns`).

    Attributes:
        scores: The document's tables.
        chunk: The whole chunk.
        part: The records.
    """

    scores: Scores
    chunk: Chunk
    part: Chunk

    @property
    def records(self) -> int:
        """How many records there are."""
        return self.part.records

    def numbers(self, column: str) -> _Array:
        """A value for each code."""
        declared = self._column(column)
        count = code_count(declared)
        if count is None:
            start = self.chunk.sorted_at[column]
            numbers = self.scores.records.doubles[column][start : start + self.chunk.records]
            return np.where(np.isposinf(numbers), np.nan, numbers)
        low = int(declared.low) if declared.ordered else 0
        numbers = np.arange(count, dtype=np.float64) + low
        if declared.nullable:
            numbers[-1] = np.nan
        return numbers

    def indices(self, axis: Axis) -> _Array:
        """An index for each code; a nullable column's missing values are behind all others, on an axis and in codes."""
        atoms = self.scores.axes.get(id(axis))
        column = self._column(axis.column)
        if atoms is None:
            return np.array([*((axis.values or ()).index(value) for value in column.values), len(column.values)])
        codes = self.chunk.records if atoms.codes is None else atoms.codes
        above = np.zeros(0, dtype=np.intp) if atoms.first_above is None else atoms.first_above[self.chunk.index]
        return np.repeat(np.arange(len(above) + 1), np.diff(above, prepend=0, append=codes))

    def of_records(self, column: str, values: _Array) -> _Array:
        """The item of each record's code."""
        return values.take(self.part.codes[column], mode="clip")

    def nullable(self, column: str) -> bool:
        """As declared."""
        return self._column(column).nullable

    def matching_of(self, part: Part) -> Iterator[_Array]:
        """From words of rules, bit by bit."""
        for words in self.scores.rules[id(part)]:
            for rules, matching in zip(words.rules, words.matching(self.part), strict=True):
                for bit in range(int(rules).bit_length()):
                    yield (matching >> matching.dtype.type(bit)) & 1 != 0

    def tree_sum(self, document: Trees) -> _Array:
        """By the trees' tables."""
        return self.scores.trees[id(document)].of(self.part)

    def _column(self, name: str) -> Column:
        return self.scores.records.schema.by_name[name]
