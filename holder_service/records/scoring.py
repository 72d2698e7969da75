"""Scores of encoded records: what a document is worth for every record, chunk by chunk (5-decisions §2, ADR 0022).

`shared.scores.arrays` orders the operations; here is how it looks at a chunk. Whatever concerns one column is
worked out once for each of its codes and then looked up: a threshold is a cut between codes, a slope times a number is
a number for each code. Which operations are done, and how many, depends on the document and on how many records there
are, never on values. Each record's value follows from its own codes alone, in every chunk, at every index, in every
thread (`test_scoring.py`).
"""

import math
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from holder_service.domain.admitted import Partition
from holder_service.records.atoms import ColumnAtoms
from holder_service.records.column_codes import code_count
from holder_service.records.encoded import CHUNK_RECORDS_MAX, Chunk, Records
from holder_service.records.matching import WORD_BITS, RuleWords
from holder_service.records.score_loops import scale_by_rank
from holder_service.records.score_trees import TreeSum
from shared.contract.schema import Column
from shared.scores.arrays import ScoreArray, score_array
from shared.scores.documents import (
    Axis,
    Document,
    Layers,
    Part,
    Product,
    TableTerm,
    Trees,
    names_of,
    parts_of,
    rules_of,
    terms_of,
    values_of,
)

CHUNKS_AT_ONCE: Final = 64
"""Where cuts are among ranks is kept for so many chunks; then the tables are made again for the next."""
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
    encoded = _encoded_values(document, column)
    for start in range(0, len(records.chunks), CHUNKS_AT_ONCE):
        some = records.chunks[start : start + CHUNKS_AT_ONCE]
        chunks = tuple(replace(chunk, index=index) for index, chunk in enumerate(some))
        scores = Scores.compiled(document, replace(records, chunks=chunks))
        for chunk in chunks:
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
        axes: By each axis's id its column in atoms, and the index of each atom on the axis; `None` if those are the
            atoms.
        numbers: The number of each code, by name of a column that a product names and that is not ranked.
        missing: By name of a column that a term names, and that may be missing, atoms of which the last is missing.
        at_once: How many records go through the document together.
    """

    document: Document
    records: Records
    trees: Mapping[int, TreeSum]
    rules: Mapping[int, tuple[RuleWords, ...]]
    axes: Mapping[int, tuple[ColumnAtoms, _Array | None]]
    numbers: Mapping[str, _Array]
    missing: Mapping[str, ColumnAtoms]
    at_once: int

    @classmethod
    def compiled(cls, document: Document, records: Records) -> "Scores":
        """The tables of a document that fits the records' schema."""
        trees, rules, axes, numbers, missing = {}, {}, {}, {}, {}
        widest = 1
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
                    axes[id(axis)] = _axis_atoms(axis, records)
                for name in names_of(term):
                    column = records.schema.by_name[name]
                    if column.nullable and name not in missing:
                        missing[name] = ColumnAtoms.compiled(_partition(column, []), records)
                    if isinstance(term, Product) and (by_code := _numbers_by_code(column)) is not None:
                        numbers[name] = by_code
            if isinstance(part, Layers):
                widest = max(widest, len(part.inputs), *(len(layer.bias) for layer in part.layers))
        at_once = min(CHUNK_RECORDS_MAX, NUMBERS_AT_ONCE // widest)
        return cls(document, records, trees, rules, axes, numbers, missing, at_once)

    def of(self, chunk: Chunk) -> ScoreArray:
        """The values of a chunk's records, shape (records,)."""
        parts = [
            score_array(
                self.document,
                _ChunkColumns(self, _part(chunk, start, start + self.at_once), chunk.records),
            )
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


def _axis_atoms(axis: Axis, records: Records) -> tuple[ColumnAtoms, _Array | None]:
    """The column in atoms, and the index of each atom on the axis; `None` if those are the atoms."""
    column = records.schema.by_name[axis.column]
    atoms = ColumnAtoms.compiled(_partition(column, axis.cuts or ()), records)
    if axis.values is None:
        return atoms, None
    order = [*map(axis.values.index, column.values), len(column.values)]
    return atoms, None if order == sorted(order) else np.array(order)


def _partition(column: Column, cuts: Iterable[float]) -> Partition:
    """The atoms of a category or boolean column, or those between some cuts; missing is the last, alone."""
    if not column.ordered:
        return Partition(column, (), len(column.values) + column.nullable)
    highest = min(column.high, sys.float_info.max)
    cuts = [min(cut, highest) for cut in cuts] + [highest] * column.nullable
    if code_count(column) is not None:  # cuts of codes, and no number is looked for
        cuts = [max(math.floor(cut), int(column.low) - 1) for cut in cuts]
    return Partition(column, tuple(cuts), len(cuts) + 1)


def _numbers_by_code(column: Column) -> _Array | None:
    """The number of each code of an ordered or boolean column, NaN for missing; `None` if it is ranked."""
    count = code_count(column)
    if count is None:
        return None
    numbers = np.arange(count, dtype=np.float64) + (int(column.low) if column.ordered else 0)
    if column.nullable:
        numbers[-1] = np.nan
    return numbers


@dataclass(frozen=True, slots=True)
class _ChunkColumns:
    """Some records of a chunk as documents look at them (`shared.scores.arrays.Columns`).

    Attributes:
        scores: The document's tables.
        part: The records.
        ranks: How many records the whole chunk has.
    """

    scores: Scores
    part: Chunk
    ranks: int

    @property
    def records(self) -> int:
        """How many records there are."""
        return self.part.records

    def scale(self, column: str, slope: np.floating[Any], out: _Array) -> None:
        """From a number for each code, or for each rank."""
        by_code = self.scores.numbers.get(column)
        if by_code is not None:
            scaled: _Array = np.multiply(by_code.astype(slope.dtype), slope)
            scaled.take(self.part.codes[column], out=out, mode="clip")
            return
        start = self.part.sorted_at[column]
        numbers = self.scores.records.doubles[column][start : start + self.ranks]
        scale_by_rank()(out, numbers, self.part.codes[column], slope)

    def indices(self, axis: Axis) -> _Array:
        """A nullable column's missing values are behind all others, on an axis as among codes."""
        atoms, by_code = self.scores.axes[id(axis)]
        index = atoms.of(self.part)
        return index if by_code is None else by_code.take(index, mode="clip")

    def missing(self, column: str) -> _Array | None:
        """By the codes behind all numbers or values."""
        atoms = self.scores.missing.get(column)
        return None if atoms is None else atoms.of(self.part) == atoms.partition.atoms - 1

    def matching_of(self, part: Part) -> Iterator[_Array]:
        """From words of rules, bit by bit."""
        for words in self.scores.rules[id(part)]:
            for rules, matching in zip(words.rules, words.matching(self.part), strict=True):
                for bit in range(int(rules).bit_length()):
                    yield (matching >> matching.dtype.type(bit)) & 1 != 0

    def tree_sum(self, document: Trees) -> _Array:
        """By the trees' tables."""
        return self.scores.trees[id(document)].of(self.part)
