"""Invented records that sit on and beside every threshold of a score document, with missing and unseen values.

Of every column: each threshold and its neighbours, the declared limits, all declared values, missing, and values in
between. Part of the records are drawn along a path of one of the trees, so that deep leaves are reached too. Nothing
but the declared domains and the document is needed.
"""

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from auditor_client.models.domains import LARGEST, Line
from shared.contract.rules import Predicate, Record, Rule
from shared.contract.schema import Column, Schema
from shared.scores.arrays import TableColumns
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
    for name, number in (*_thresholds(adding), *_compared(predicates)):
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
        predicates: list[Predicate] = []
        match part:
            case Trees():
                predicates += part.tests
            case RuleList():
                predicates += [predicate for case in part.cases for predicate in case.rule.all_of]
            case Terms() | Layers():
                for term in part.terms if isinstance(part, Terms) else part.inputs:
                    match term:
                        case RuleTerm():
                            predicates += term.rule.all_of
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
    near: set[float] = {low, high, min(max(0, low), high)}
    for number in thresholds:
        inside = min(max(number, line.value(line.first)), line.value(line.last))
        if column.type == "integer":
            near |= {math.ceil(inside) - 1, math.floor(inside), math.ceil(inside), math.floor(inside) + 1}
        else:
            key = line.key(inside)
            near |= {line.value(min(max(key + step, line.first), line.last)) for step in (-1, 0, 1)}
    return np.array(sorted(value for value in near if column.low <= value <= column.high), np.float64)


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


class _Paths:
    """Ways of invented records through trees."""

    def __init__(self, schema: Schema, thresholds: Mapping[str, set[float]], draw: np.random.Generator) -> None:
        self._schema = schema
        self._thresholds = thresholds
        self._draw = draw
        self._candidates: dict[str, tuple[Values, TableColumns]] = {}

    def walk(self, records: Invented, forests: list[Trees]) -> None:
        """Change some records so that each goes a random way through one of the trees."""
        some = self._draw.permutation(records.count)[: min(records.count // 4, _ALONG_PATHS_MAX)]
        for row in some.tolist():
            forest = forests[self._draw.integers(len(forests))]
            tree = forest.trees[self._draw.integers(len(forest.trees))]
            for name, allowed in self._path(forest, tree).items():
                records.values[name][row] = self._of(name)[0][self._draw.choice(np.flatnonzero(allowed))]

    def _path(self, forest: Trees, tree: ScoreTree) -> dict[str, NDArray[np.bool_]]:
        """By column, which of its candidates take one random path."""
        allowed: dict[str, NDArray[np.bool_]] = {}
        node = 0 if tree.tests else -1
        while node >= 0:
            test = forest.tests[tree.tests[node]]
            candidates, columns = self._of(test.column)
            before = allowed.get(test.column, np.ones(len(candidates), bool))
            [taken] = columns.matching([Rule(all_of=(test,))])
            ways = [side for side in (True, False) if (before & (taken == side)).any()]
            side = ways[self._draw.integers(len(ways))]
            allowed[test.column] = before & (taken == side)
            node = tree.yes[node] if side else tree.no[node]
        return allowed

    def _of(self, name: str) -> tuple[Values, TableColumns]:
        """A column's candidates, missing among them."""
        if name not in self._candidates:
            column = self._schema.by_name[name]
            known = _candidates(column, self._thresholds.get(name, set()), LARGEST)
            gone: Any = [np.nan if column.ordered else None]
            values = np.append(known, gone) if column.nullable else known
            self._candidates[name] = values, TableColumns.of({name: values}, self._schema)
        return self._candidates[name]
