"""The evaluation of a score document for many records at once, over arrays (5-decisions §2).

The same operations as in `shared.scores.values`, in the same order, each over all records before the next: no sum is
taken across records or reordered, so that a record's value is the same wherever it stands.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

import numpy as np
import numpy.typing as npt

from shared.contract.rules import MISSING_TESTS, Predicate, Rule, is_missing
from shared.contract.schema import Schema
from shared.scores.descent import Descent
from shared.scores.documents import (
    Axis,
    Choice,
    Dense,
    Document,
    Layers,
    Part,
    Product,
    RuleList,
    RuleTerm,
    TableTerm,
    Terms,
    Trees,
    rules_of,
    terms_of,
    values_of,
)
from shared.scores.elementary import logistic, tanh
from shared.scores.values import KINDS

RECORDS_AT_ONCE: Final = 4096

_Array = npt.NDArray[Any]
_Kind = type[np.float32 | np.float64]


class Columns(Protocol):
    """Some records, as documents look at them."""

    @property
    def records(self) -> int:
        """The number of records."""

    def scale(self, column: str, slope: np.floating[Any], out: _Array) -> None:
        """Put an ordered or boolean column, in the slope's precision, times the slope into `out`, shape (records,).

        Anything where it is missing.
        """

    def indices(self, axis: Axis) -> _Array:
        """The index of each record on an axis, shape (records,); the axis's size where it has none."""

    def missing(self, column: str) -> _Array | None:
        """Return where a column is missing, shape (records,); `None` if it never is."""

    def matching_of(self, part: Part) -> Iterator[_Array]:
        """For each of a part's rules, whom it matches: truth values, shape (records,)."""

    def tree_sum(self, document: Trees) -> _Array:
        """The base and the leaf of every tree, added in order in the document's precision, shape (records,)."""


@dataclass(frozen=True, slots=True)
class ScoreArray:
    """The values of some records.

    Attributes:
        values: Numbers in float64; of a list or a choice the index of what it says in `values_of`. 0 where missing.
        missing: Where there is none, shape (records,).
    """

    values: _Array
    missing: _Array


def score_array(document: Document, columns: Columns) -> ScoreArray:
    """The values of a document that fits the records' schema, shape (records,)."""
    with np.errstate(all="ignore"):  # what overflows is defined
        if isinstance(document, RuleList):
            return _list(document, columns)
        if isinstance(document, Choice):
            return _choice(document, columns)
        return _numbers(document, columns)


def score_column(document: Document, table: Mapping[str, Any], schema: Schema) -> list[float | str | bool | None]:
    """The value of each record of a table: as `score_values.score_value`, but quick.

    Args:
        document: It fits the schema.
        table: Lists or arrays of equal length by column name; None or NaN is missing. An ordered column has numbers,
            a boolean one True and False, a category column texts.
        schema: The types of the columns.
    """
    return score_records(document, TableColumns.of(table, schema))


def score_records(document: Document, columns: "TableColumns") -> list[float | str | bool | None]:
    """The value of each of some records, as `score_column`."""
    labels: Sequence[Any] = values_of(document)
    values: list[float | str | bool | None] = []
    for start in range(0, columns.records, RECORDS_AT_ONCE):
        scores = score_array(document, columns.part(start, start + RECORDS_AT_ONCE))
        part = [labels[index] for index in scores.values] if labels else scores.values.tolist()
        values += [None if missing else value for value, missing in zip(part, scores.missing, strict=True)]
    return values


def _numbers(document: Trees | Terms | Layers, columns: Columns) -> ScoreArray:
    kind = KINDS[document.precision]
    missing = np.zeros(columns.records, dtype=bool)
    match document:
        case Trees():
            total = columns.tree_sum(document)
            if document.mean:
                total /= kind(len(document.trees))
        case Terms():
            total = np.full(columns.records, kind(document.base))
            for values in _terms(document, columns, missing):
                total += values
        case Layers():
            numbers = np.empty((len(document.inputs), columns.records), dtype=kind)
            for number, values in zip(numbers, _terms(document, columns, missing), strict=True):
                number[:] = values
            for layer in document.layers:
                numbers = _dense(layer, kind, numbers)
            total = numbers[0]
    np.clip(total, -np.finfo(kind).max, np.finfo(kind).max, out=total)
    return ScoreArray(np.where(missing | np.isnan(total), 0.0, total.astype(np.float64, copy=False)), missing)


def _dense(layer: Dense, kind: _Kind, numbers: _Array) -> _Array:
    """Compute, from the numbers of one layer, shape (inputs, records), to those of the next, shape (units, records)."""
    weights = np.array(layer.weights, dtype=kind)
    total = np.repeat(np.array(layer.bias, dtype=kind)[:, np.newaxis], numbers.shape[1], axis=1)
    for index, number in enumerate(numbers):
        total += weights[:, index, np.newaxis] * number
    match layer.activation:
        case "relu":
            return np.where(total > 0, total, kind(0))
        case "tanh":
            return tanh(total)
        case "logistic":
            return logistic(total)
    return total


def _terms(part: Terms | Layers, columns: Columns, missing: _Array) -> Iterator[_Array]:
    """The values of each term, shape (records,), until the next is asked for.

    They are all in the same memory: to ask the system for more takes longer than to compute a term. Where a term is
    missing is added to `missing`.
    """
    kind = KINDS[part.precision]
    room = np.empty((2, columns.records), dtype=kind)
    matching = columns.matching_of(part)
    for term in terms_of(part):
        match term:
            case Product():
                _multiply(term, columns, missing, room)
            case TableTerm():
                _look_up(term, columns, missing, room[0])
            case RuleTerm():
                np.array([0, term.value], dtype=kind).take(next(matching), out=room[0], mode="clip")
        yield room[0]


def _multiply(term: Product, columns: Columns, missing: _Array, room: _Array) -> None:
    """Put the values of a product into the first row of `room`, shape (2, records)."""
    kind, (values, factors) = room.dtype.type, room
    if len(term.columns) == 1:
        columns.scale(term.columns[0], kind(term.slope), values)
    else:
        columns.scale(term.columns[0], kind(1), values)
        columns.scale(term.columns[1], kind(1), factors)
        values *= factors
        values *= kind(term.slope)
    for name in term.columns:
        if (lost := columns.missing(name)) is not None:
            if term.missing is None:
                missing |= lost
            else:
                values[:] = np.where(lost, kind(term.missing), values)


def _look_up(term: TableTerm, columns: Columns, missing: _Array, values: _Array) -> None:
    """Put the values of a table into `values`."""
    for axis in term.axes:
        if not axis.missing and (lost := columns.missing(axis.column)) is not None:
            missing |= lost
    table: _Array = np.array(term.table, dtype=values.dtype)
    entry = columns.indices(term.axes[0])
    for axis in term.axes[1:]:
        entry = entry.astype(np.intp) * axis.size + columns.indices(axis)
    table.take(entry, out=values, mode="clip")


def _list(document: RuleList, columns: Columns) -> ScoreArray:
    index_of = {value: index for index, value in enumerate(values_of(document))}
    values = np.full(columns.records, index_of[document.otherwise])
    free = np.ones(columns.records, dtype=bool)
    for case, matching in zip(document.cases, columns.matching_of(document), strict=True):
        values = np.where(free & matching, index_of[case.value], values)
        free &= ~matching
    return ScoreArray(values, np.zeros(columns.records, dtype=bool))


def _choice(document: Choice, columns: Columns) -> ScoreArray:
    values = np.zeros(columns.records, dtype=np.intp)
    highest = np.full(columns.records, -np.inf)
    missing = np.zeros(columns.records, dtype=bool)
    for index, part in enumerate(document.of):
        scores = _numbers(part, columns)
        higher = scores.values > highest
        values, highest = np.where(higher, index, values), np.where(higher, scores.values, highest)
        missing |= scores.missing
    return ScoreArray(np.where(missing, 0, values), missing)


@dataclass(frozen=True, slots=True)
class TableColumns:
    """Records as columns of plain values, such as a client has.

    Attributes:
        records: How many there are.
        ordered: Ordered columns in float64; NaN is missing.
        listed: Of each category or boolean column the values that occur, None for missing, and each record's index.
        descents: The trees of documents that were asked for, by the document's id, laid out for these columns.
    """

    records: int
    ordered: Mapping[str, _Array]
    listed: Mapping[str, tuple[Sequence[Any], _Array]]
    descents: dict[int, Descent] = field(default_factory=dict, compare=False, repr=False)

    @classmethod
    def of(cls, table: Mapping[str, Any], schema: Schema) -> "TableColumns":
        """The columns of a table that the schema knows."""
        ordered, listed = {}, {}
        for name, values in table.items():
            column = schema.by_name.get(name)
            if column is None:
                continue
            if column.ordered:
                ordered[name] = np.asarray(values, dtype=np.float64)
            else:
                indices: dict[Any, int] = {}
                plain = [None if is_missing(value) else value for value in np.asarray(values, dtype=object).tolist()]
                of_record = [indices.setdefault(value, len(indices)) for value in plain]
                listed[name] = (list(indices), np.array(of_record, dtype=np.intp))
        return cls(len(next(iter(table.values()))), ordered, listed)

    def part(self, begin: int, end: int) -> "TableColumns":
        """The records from `begin` to before `end`."""
        return TableColumns(
            len(range(self.records)[begin:end]),
            {name: numbers[begin:end] for name, numbers in self.ordered.items()},
            {name: (values, indices[begin:end]) for name, (values, indices) in self.listed.items()},
            self.descents,
        )

    def scale(self, column: str, slope: np.floating[Any], out: _Array) -> None:
        """See `Columns`."""
        if column in self.ordered:
            out[:] = self.ordered[column]
        else:
            values, indices = self.listed[column]
            out[:] = np.array([np.nan if value is None else float(value) for value in values])[indices]
        out *= slope

    def indices(self, axis: Axis) -> _Array:
        """See `Columns`."""
        none = axis.size - axis.missing
        if axis.cuts is not None:
            numbers = self.ordered[axis.column]
            return np.where(np.isnan(numbers), none, np.searchsorted(np.array(axis.cuts), numbers, side="left"))
        values, indices = self.listed[axis.column]
        return np.array([none if value is None else (axis.values or ()).index(value) for value in values])[indices]

    def missing(self, column: str) -> _Array:
        """See `Columns`; a client's table may have gaps where nobody declared any."""
        if column in self.ordered:
            return np.isnan(self.ordered[column])
        values, indices = self.listed[column]
        return np.array([value is None for value in values], dtype=bool)[indices]

    def matching_of(self, part: Part) -> Iterator[_Array]:
        """See `Columns`."""
        return self.matching(rules_of(part))

    def matching(self, rules: Sequence[Rule]) -> Iterator[_Array]:
        """For each rule, whom it matches: truth values, shape (records,)."""
        for rule in rules:
            matching = np.ones(self.records, dtype=bool)
            for predicate in rule.all_of:
                matching &= self._test(predicate)
            yield matching

    def tree_sum(self, document: Trees) -> _Array:
        """See `Columns`."""
        descent = self.descents.get(id(document))
        if descent is None:
            listed = {name: values for name, (values, _) in self.listed.items()}
            descent = self.descents[id(document)] = Descent(document, self.ordered, listed)
        return descent.sums(self.records, self.ordered, self.listed, self._test)

    def _test(self, predicate: Predicate) -> _Array:
        """Return whom a predicate matches, shape (records,)."""
        if predicate.column in self.listed:
            values, indices = self.listed[predicate.column]
            return np.array([predicate.matches(value) for value in values], dtype=bool)[indices]
        numbers = self.ordered[predicate.column]
        missing = np.isnan(numbers)
        if predicate.op in MISSING_TESTS:
            return np.equal(missing, predicate.op == "is_missing")
        # Every operand is a double: whole numbers are within ±2^53.
        operands = np.array(predicate.operands, dtype=np.float64)
        match predicate.op:
            case "lt":
                matching = numbers < operands[0]
            case "le":
                matching = numbers <= operands[0]
            case "gt":
                matching = numbers > operands[0]
            case "ge":
                matching = numbers >= operands[0]
            case "eq" | "in":
                matching = np.isin(numbers, operands)
            case _:
                matching = np.isin(numbers, operands, invert=True)
        return np.where(missing, predicate.or_missing, matching)
