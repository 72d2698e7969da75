"""Invented records that sit on and beside every threshold of a score document, with missing and unseen values.

Of every column: each threshold and its neighbours, the declared limits, all declared values, missing, and values in
between. Part of the records are drawn along a path of one of the trees, so that deep leaves are reached too. Nothing
but the declared domains and the document is needed.
"""

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from auditor_client.models.domains import LARGEST, Line
from shared.contract.rules import ORDERS, Predicate, Record
from shared.contract.schema import Column, Schema
from shared.scores.documents import (
    Choice,
    Document,
    Layers,
    Product,
    RuleList,
    RuleTerm,
    ScoreTree,
    TableTerm,
    Terms,
    Trees,
)

LARGEST_OF_TERMS: Final = 1e6
"""Up to here, or to the declared range, numbers are invented for a document whose rounding grows with them."""
_BETWEEN_SHARE: Final = 0.3
_ALONG_PATHS_MAX: Final = 2000
_MISSING_SHARE: Final = 0.1

Values = NDArray[Any]


@dataclass(frozen=True, slots=True)
class Invented:
    """Invented records, column by column.

    Attributes:
        count: How many.
        values: By column, an array of shape (count,): float64 for an ordered column, NaN for missing; else objects,
            None for missing.
    """

    count: int
    values: Mapping[str, Values]

    def records(self, schema: Schema) -> list[Record]:
        """One by one, each value of its declared type."""
        columns = {}
        for name, values in self.values.items():
            column = schema.by_name[name]
            if column.ordered:
                kind = int if column.type == "integer" else float
                columns[name] = [None if math.isnan(value) else kind(value) for value in values.tolist()]
            else:
                columns[name] = values.tolist()
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def invent(
    documents: Iterable[Document], schema: Schema, count: int, *, predicates: Iterable[Predicate] = (), seed: int = 0
) -> Invented:
    """Invent records.

    Args:
        documents: Whose thresholds the records sit on.
        schema: The dataset's declared columns; each that is neither sensitive nor the label has values.
        count: How many records.
        predicates: Further thresholds.
        seed: The same seed, the same records.
    """
    draw = np.random.default_rng(seed)
    adding = [part for document in documents for part in _parts(document)]
    thresholds: dict[str, set[float]] = {}
    different = {id(part): part for part in adding}.values()
    for name, number in itertools.chain(_thresholds(different), _compared(predicates)):
        thresholds.setdefault(name, set()).add(number)
    largest = LARGEST if all(isinstance(part, Trees | RuleList) for part in adding) else LARGEST_OF_TERMS
    values = {
        column.name: _drawn(column, _candidates(column, thresholds.get(column.name, set()), largest), count, draw)
        for column in schema.columns
        if schema.may_be_named(column.name) and not column.label
    }
    records = Invented(count, values)
    forests = [part for part in adding if isinstance(part, Trees)]
    if forests:
        _Paths(schema, thresholds, draw).walk(records, forests)
    return records


def _parts(document: Document) -> tuple[Trees | Terms | Layers | RuleList, ...]:
    return document.of if isinstance(document, Choice) else (document,)


def _thresholds(parts: Iterable[Trees | Terms | Layers | RuleList]) -> Iterator[tuple[str, float]]:
    """Columns and numbers that they are compared with."""
    for part in parts:
        predicates: Sequence[Predicate] = ()
        match part:
            case Trees():
                predicates = part.tests
            case RuleList():
                predicates = [predicate for case in part.cases for predicate in case.rule.all_of]
            case Terms() | Layers():
                for term in part.terms if isinstance(part, Terms) else part.inputs:
                    match term:
                        case RuleTerm():
                            yield from _compared(term.rule.all_of)
                        case TableTerm():
                            for axis in term.axes:
                                yield from ((axis.column, cut) for cut in axis.cuts or ())
                        case Product():
                            yield from ((name, 0.0) for name in term.columns)
        yield from _compared(predicates)


def _compared(predicates: Iterable[Predicate]) -> Iterator[tuple[str, float]]:
    for predicate in predicates:
        for value in predicate.operands:
            if isinstance(value, int | float) and not isinstance(value, bool):
                yield predicate.column, value


def _candidates(column: Column, thresholds: set[float], largest: float) -> Values:
    """Values of an ordered column that matter, ascending; all values of another."""
    if not column.ordered:
        return np.array(column.values, object)
    line = Line(column)
    low, high = max(column.low, -largest), min(column.high, largest)
    if not low <= high:
        low, high = line.value(line.first), line.value(line.last)
    numbers = np.clip(np.array(sorted(thresholds), np.float64), line.value(line.first), line.value(line.last))
    if column.type == "integer":
        near = [np.ceil(numbers) - 1, np.floor(numbers), np.ceil(numbers), np.floor(numbers) + 1]
    else:
        keys, first, last = line.keys(numbers), np.uint64(line.first), np.uint64(line.last)
        below, behind = keys - (keys > first), keys + (keys < last)
        near = [line.values(of) for of in (below, keys, behind)]
    values = np.unique(np.concatenate([np.array([low, high, min(max(0, low), high)], np.float64), *near]))
    return values[(values >= column.low) & (values <= column.high)]


def _drawn(column: Column, candidates: Values, count: int, draw: np.random.Generator) -> Values:
    """Every candidate in turn, in a new order each time; some records have values in between, or none."""
    rounds = -(-count // len(candidates))
    order = np.concatenate([draw.permutation(len(candidates)) for _ in range(rounds)])[:count]
    values: Values = candidates[order]
    if column.ordered and len(candidates) > 1:
        between = np.flatnonzero(draw.random(count) < _BETWEEN_SHARE)
        start = draw.integers(0, len(candidates) - 1, len(between))
        share = draw.random(len(between))
        inner = candidates[start] * (1 - share) + candidates[start + 1] * share
        values[between] = np.floor(inner) if column.type == "integer" else inner
    if column.nullable:
        values[draw.random(count) < _MISSING_SHARE] = np.nan if column.ordered else None
    return values


@dataclass(frozen=True, slots=True)
class _Allowed:
    """The candidates of a column that take a path: values, ascending if ordered, and whether missing does."""

    values: Values
    missing: bool

    @property
    def count(self) -> int:
        """The number of candidates, missing included."""
        return len(self.values) + self.missing

    def parted(self, test: Predicate, *, ordered: bool) -> "tuple[_Allowed, _Allowed]":
        """Split the candidates into those that a test matches and the others."""
        missing = self.missing and test.matches(None)
        if ordered and test.op in ORDERS:
            side: Any = "left" if test.op in ("lt", "ge") else "right"
            position = int(np.searchsorted(self.values, float(test.operands[0]), side=side))
            ways = self.values[:position], self.values[position:]
            matched, unmatched = ways if test.op in ("lt", "le") else ways[::-1]
        else:
            taken = np.array([test.matches(value) for value in self.values.tolist()], bool)
            matched, unmatched = self.values[taken], self.values[~taken]
        return _Allowed(matched, missing), _Allowed(unmatched, self.missing and not missing)


class _Paths:
    """Ways of invented records through trees."""

    def __init__(self, schema: Schema, thresholds: Mapping[str, set[float]], draw: np.random.Generator) -> None:
        self._schema = schema
        self._thresholds = thresholds
        self._draw = draw
        self._candidates: dict[str, _Allowed] = {}

    def walk(self, records: Invented, forests: list[Trees]) -> None:
        """Change some records so that each goes a random way through one of the trees."""
        rows = self._draw.permutation(records.count)[: min(records.count // 4, _ALONG_PATHS_MAX)]
        for row in rows.tolist():
            forest = forests[self._draw.integers(len(forests))]
            tree = forest.trees[self._draw.integers(len(forest.trees))]
            for name, allowed in self._path(forest, tree).items():
                index = int(self._draw.integers(allowed.count))
                gone = np.nan if self._schema.by_name[name].ordered else None
                records.values[name][row] = allowed.values[index] if index < len(allowed.values) else gone

    def _path(self, forest: Trees, tree: ScoreTree) -> dict[str, _Allowed]:
        """By column, which of its candidates take one random path."""
        allowed: dict[str, _Allowed] = {}
        node = 0 if tree.tests else -1
        while node >= 0:
            test = forest.tests[tree.tests[node]]
            before = allowed.get(test.column) or self._of(test.column)
            parts = before.parted(test, ordered=self._schema.by_name[test.column].ordered)
            ways = [side for side, part in zip((True, False), parts, strict=True) if part.count]
            side = ways[self._draw.integers(len(ways))]
            allowed[test.column] = parts[not side]
            node = tree.yes[node] if side else tree.no[node]
        return allowed

    def _of(self, name: str) -> _Allowed:
        """A column's candidates."""
        if name not in self._candidates:
            column = self._schema.by_name[name]
            values = _candidates(column, self._thresholds.get(name, set()), LARGEST)
            self._candidates[name] = _Allowed(values, column.nullable)
        return self._candidates[name]
