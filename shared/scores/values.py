"""The evaluation of a score document for one record: the reference evaluator, slow and obvious (5-decisions §2).

It says what documents mean. `shared.scores.arrays` and the holder's evaluation agree with it bit for bit.
"""

import math
from collections.abc import Mapping
from typing import Final

import numpy as np

from shared.contract.rules import Record, is_missing
from shared.scores.documents import (
    Axis,
    Choice,
    Dense,
    Document,
    Layers,
    Precision,
    Product,
    RuleList,
    RuleTerm,
    TableTerm,
    Term,
    Terms,
    Trees,
)
from shared.scores.elementary import logistic, tanh

KINDS: Final[Mapping[Precision, type[np.float32 | np.float64]]] = {"float32": np.float32, "float64": np.float64}

_Float = np.float32 | np.float64


def score_value(document: Document, record: Record) -> float | str | bool | None:
    """The value of a document that fits the record's schema; None is missing.

    Args:
        document: A number for a document that adds; what it says for a list or a choice.
        record: The person's values by column name. A boolean column has True and False, None or NaN is missing.
    """
    if isinstance(document, RuleList):
        return next((case.value for case in document.cases if case.rule.matches(record)), document.otherwise)
    with np.errstate(all="ignore"):  # what overflows is defined
        if isinstance(document, Choice):
            numbers = [_number(part, record) for part in document.of]
            present = [number for number in numbers if number is not None]
            return document.categories[present.index(max(present))] if len(present) == len(numbers) else None
        return _number(document, record)


def _number(document: Trees | Terms | Layers, record: Record) -> float | None:
    kind = KINDS[document.precision]
    match document:
        case Trees():
            total: _Float | None = _trees(document, kind, record)
        case Terms():
            total = _terms(document, kind, record)
        case Layers():
            total = _layers(document, kind, record)
    if total is None:
        return None
    if math.isnan(total):
        return 0.0
    return float(min(max(total, np.finfo(kind).min), np.finfo(kind).max))


def _trees(document: Trees, kind: type[_Float], record: Record) -> _Float:
    total = kind(document.base)
    for tree in document.trees:
        node = 0 if tree.tests else ~0
        while node >= 0:
            test = document.tests[tree.tests[node]]
            node = tree.yes[node] if test.matches(record.get(test.column)) else tree.no[node]
        total = total + kind(tree.values[~node])
    return total / kind(len(document.trees)) if document.mean else total


def _terms(document: Terms, kind: type[_Float], record: Record) -> _Float | None:
    total = kind(document.base)
    for term in document.terms:
        value = _term(term, kind, record)
        if value is None:
            return None
        total = total + value
    return total


def _layers(document: Layers, kind: type[_Float], record: Record) -> _Float | None:
    numbers: list[_Float] = []
    for term in document.inputs:
        value = _term(term, kind, record)
        if value is None:
            return None
        numbers.append(value)
    for layer in document.layers:
        numbers = [_unit(layer, unit, kind, numbers) for unit in range(len(layer.bias))]
    return numbers[0]


def _unit(layer: Dense, unit: int, kind: type[_Float], numbers: list[_Float]) -> _Float:
    total = kind(layer.bias[unit])
    for weight, number in zip(layer.weights[unit], numbers, strict=True):
        total = total + kind(weight) * number
    match layer.activation:
        case "relu":
            return total if total > 0 else kind(0)
        case "tanh":
            return kind(tanh(np.array([total]))[0])
        case "logistic":
            return kind(logistic(np.array([total]))[0])
    return total


def _term(term: Term, kind: type[_Float], record: Record) -> _Float | None:
    match term:
        case Product():
            return _product(term, kind, record)
        case TableTerm():
            entry = 0
            for axis in term.axes:
                index = _index(axis, record)
                if index is None:
                    return None
                entry = entry * axis.size + index
            return kind(term.table[entry])
        case RuleTerm():
            return kind(term.value) if term.rule.matches(record) else kind(0)


def _product(term: Product, kind: type[_Float], record: Record) -> _Float | None:
    product = kind(1)
    for name in term.columns:
        value = record.get(name)
        if value is None or is_missing(value):
            return None if term.missing is None else kind(term.missing)
        product = product * kind(float(value))
    return product * kind(term.slope)


def _index(axis: Axis, record: Record) -> int | None:
    value = record.get(axis.column)
    if value is None or is_missing(value):
        return axis.size - 1 if axis.missing else None
    if axis.cuts is not None:
        return sum(float(value) > cut for cut in axis.cuts)
    return (axis.values or ()).index(value)
