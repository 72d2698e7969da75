"""A model's inputs as declared columns, and its tests as predicates over them.

A model's input is the number of one declared column: an ordered column's own, 0 and 1 for a boolean one, a code for
each category. A test of that number is a predicate of the column, exactly: thresholds are doubles, and a test that the
column cannot answer in two ways is no test at all.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from auditor_client.errors import ModelRefused
from auditor_client.models.nameable import nameable_column
from auditor_client.models.raw_inputs import columns_of, named_inputs, require_raw
from auditor_client.models.read_model import ModelRequest, Provenance, ReadModel
from shared.contract.rules import Predicate
from shared.contract.schema import Column, Value
from shared.wire.limits import VALUES_PER_PREDICATE_MAX

Comparison = Literal["lt", "le", "gt", "ge", "eq", "ne"]
_COMPARE: Final = {
    "lt": lambda number, value: number < value,
    "le": lambda number, value: number <= value,
    "gt": lambda number, value: number > value,
    "ge": lambda number, value: number >= value,
    "eq": lambda number, value: number == value,
    "ne": lambda number, value: number != value,
}


@dataclass(frozen=True, slots=True)
class InputTest:
    """A maker's test of one input.

    Attributes:
        op: How the number is compared; "in" for one of several numbers.
        value: With what: a double, or several.
        missing: The answer where the number is missing.
    """

    op: Comparison | Literal["in"]
    value: float | frozenset[float]
    missing: bool = False

    def __post_init__(self) -> None:
        value = self.value
        if any(map(math.isnan, value)) if isinstance(value, frozenset) else math.isnan(value):
            raise ModelRefused("A test compares with NaN, which no number equals: save the model again.")

    def answer(self, number: float) -> bool:
        """The answer for a number; NaN is missing."""
        if math.isnan(number):
            return self.missing
        if isinstance(self.value, frozenset):
            return number in self.value
        return bool(_COMPARE[self.op](number, self.value))


@dataclass(frozen=True, slots=True)
class ModelInput:
    """An input of a model: a declared column, and the numbers that its values enter the model as.

    Attributes:
        column: The declared column.
        codes: The number of each value; a value that is not there enters as missing. None: an ordered column's own.
        compared: With which numbers the model compares it; it grows.
        known: The predicates of tests that were asked about; it grows.
        numbers: Those of them that compare with one number; it grows.
    """

    column: Column
    codes: Mapping[Value, float] | None
    compared: set[float] = field(default_factory=set, compare=False)
    known: dict[InputTest, Predicate | bool] = field(default_factory=dict, compare=False)
    numbers: dict[tuple[Comparison, float, bool], Predicate | bool] = field(default_factory=dict, compare=False)

    def predicate(self, test: InputTest) -> Predicate | bool:
        """The test as a predicate of the column; its answer, if that is the same for every declared value.

        Raises:
            ModelRefused: No single predicate says it.
        """
        if test not in self.known:
            self.known[test] = self._predicate(test)
        return self.known[test]

    def compared_with(self, op: Comparison, value: float, missing: bool) -> Predicate | bool:
        """The `predicate` of the test of one number, which is made once."""
        predicate = self.numbers.get((op, value, missing))
        if predicate is None:
            predicate = self.numbers[op, value, missing] = self.predicate(InputTest(op, value, missing))
        return predicate

    def _predicate(self, test: InputTest) -> Predicate | bool:
        if self.codes is None:
            if not isinstance(test.value, frozenset):
                self.compared.add(test.value)
            return self._ordered(test)
        if self.column.ordered:
            return self._listed(test, self.codes)
        answers = {value: test.answer(self.codes.get(value, math.nan)) for value in self.column.values}
        return one_of(self.column, [value for value, answer in answers.items() if answer], test.missing)

    def _listed(self, test: InputTest, codes: Mapping[Value, float]) -> Predicate | bool:
        """Of an integer column whose values a model takes for categories."""
        other = [float(value) for value, code in codes.items() if test.answer(code) != test.missing]
        listed = ModelInput(self.column, None).predicate(InputTest("in", frozenset(other)))
        if not test.missing:
            return listed
        return not listed if isinstance(listed, bool) else opposite(listed, self.column)

    def _ordered(self, test: InputTest) -> Predicate | bool:
        column, missing = self.column, test.missing and self.column.nullable
        if isinstance(test.value, frozenset):
            if column.type != "integer":
                raise ModelRefused(
                    f"The model tests column {column.name!r} for single codes, and the dataset declares it as a "
                    "number: declare it as an integer or a category."
                )
            listed = sorted(int(number) for number in test.value if column.low <= number <= column.high)
            if len(listed) > VALUES_PER_PREDICATE_MAX:
                raise ModelRefused(f"The model tests column {column.name!r} for {len(listed)} codes at once.")
            if not listed:
                return _constant(column, of_values=False, of_missing=missing)
            return _predicate(column, "in", missing, values=listed)
        low, high = (min(max(end, -_LARGEST), _LARGEST) for end in (column.low, column.high))
        ends = {test.answer(low), test.answer(high)}
        inside = test.op in ("eq", "ne") and low <= test.value <= high
        if inside and column.type == "integer" and test.value != math.floor(test.value):
            inside = False
        if len(ends) == 1 and not inside:
            return _constant(column, of_values=ends.pop(), of_missing=missing)
        return _predicate(column, test.op, missing, value=test.value)


_LARGEST: Final = float(np.finfo(np.float64).max)


def one_of(column: Column, values: Sequence[Any], missing: bool) -> Predicate | bool:
    """That a category or boolean column has one of some values; the answer, if it is the same for all."""
    missing = missing and column.nullable
    excluded = [value for value in column.values if value not in values]
    if not values or not excluded:
        return _constant(column, of_values=not excluded, of_missing=missing)
    if column.type == "boolean":
        return _predicate(column, "eq", missing, value=values[0])
    short = min(values, excluded, key=len)
    if len(short) > VALUES_PER_PREDICATE_MAX:
        raise ModelRefused(
            f"The model splits column {column.name!r} into lists of more than {VALUES_PER_PREDICATE_MAX}."
        )
    return _predicate(column, "in" if short is values else "not_in", missing, values=list(short))


def opposite(predicate: Predicate, column: Column) -> Predicate:
    """The predicate that matches exactly who the other does not, of the column's admitted values."""
    if column.type == "boolean" and predicate.op == "eq":
        return _predicate(column, "eq", column.nullable and not predicate.or_missing, value=not predicate.value)
    op = _OPPOSITE[predicate.op]
    if op in ("is_missing", "not_missing"):
        return Predicate(column=column.name, op=op)
    missing = column.nullable and not predicate.or_missing
    operand = {"values": list(predicate.values)} if predicate.values is not None else {"value": predicate.value}
    return _predicate(column, op, missing, **operand)


_PAIRS: Final = (("lt", "ge"), ("le", "gt"), ("eq", "ne"), ("in", "not_in"), ("is_missing", "not_missing"))
_OPPOSITE: Final[Mapping[str, Any]] = dict(_PAIRS) | {right: left for left, right in _PAIRS}


def _predicate(column: Column, op: Any, missing: bool, **operand: Any) -> Predicate:
    return Predicate(column=column.name, op=op, or_missing=missing, **operand)


def _constant(column: Column, *, of_values: bool, of_missing: bool) -> Predicate | bool:
    if not column.nullable or of_values == of_missing:
        return of_values
    return Predicate(column=column.name, op="is_missing" if of_missing else "not_missing")


class ModelInputs:
    """A model's inputs by their index; a column is looked for when a test names it, since not every input is used."""

    def __init__(self, names: Sequence[str], request: ModelRequest) -> None:
        """Take the names that the model gives its inputs, or those of `request.columns`.

        Raises:
            ModelRefused: `request.columns` has another number of names, or one twice.
        """
        self.names = columns_of(names, request)
        self._own_names = tuple(names)
        self._schema = request.schema
        self._made: dict[int, ModelInput] = {}
        self._codes: dict[int, Mapping[Value, float]] = {}

    def __len__(self) -> int:
        return len(self.names)

    def encode(self, index: int, categories: Sequence[Value]) -> None:
        """Say that an input is a category's index among some; another category enters as missing.

        Whole numbers are the texts that a category column declares for codes: 1 and 1.0 are "1".
        """
        column = self._schema.by_name.get(self.names[index])
        whole = [value for value in categories if type(value) in (int, float) and float(value).is_integer()]
        if column is not None and column.type == "category" and len(whole) == len(categories):
            codes = [str(value) for value in column.values if re.fullmatch("0|-?[1-9][0-9]*", str(value))]
            if len(codes) == len(column.values):
                categories = [str(int(value)) for value in whole]
        self._codes[index] = {category: float(code) for code, category in enumerate(categories)}

    def encoded(self, index: int) -> bool:
        """Whether an input is a category's index."""
        return index in self._codes

    def column(self, index: int) -> Column:
        """An input's declared column, whatever the model takes it for."""
        return nameable_column(self.names[index], self._schema)

    def noted(self, read: ReadModel) -> ReadModel:
        """Note how the auditor named the inputs, and refuse a model whose inputs are evidently scaled.

        Raises:
            ModelRefused: Its splits are not on the numbers that the dataset declares.
        """
        compared = [(source.column, source.compared) for source in self._made.values() if source.codes is None]
        fractional = require_raw(compared)
        provenance = read.provenance or Provenance("a model", "a file")
        inputs = named_inputs(self._own_names, self.names)
        return replace(read, provenance=replace(provenance, inputs=inputs, fractional=fractional))

    def __getitem__(self, index: int) -> ModelInput:
        """An input.

        Raises:
            ModelRefused: Its column is not declared, or sensitive, or the label, or a category without codes.
        """
        if index not in self._made:
            self._made[index] = self._feature(index)
        return self._made[index]

    def _feature(self, index: int) -> ModelInput:
        column = nameable_column(self.names[index], self._schema)
        codes = self._codes.get(index)
        if codes is not None:
            kind = {"category": str, "boolean": bool, "integer": int}.get(column.type)
            if kind is int:  # pandas makes whole numbers floats where one is missing
                codes = {
                    int(value) if isinstance(value, float) and value.is_integer() else value: code
                    for value, code in codes.items()
                }
            if not all(type(value) is kind for value in codes):
                raise ModelRefused(
                    f"The model knows {_shown(list(codes))} as categories of {column.name!r}, and the dataset declares "
                    f"it as {column.type}: train the model on the declared values."
                )
            return ModelInput(column, codes)
        if column.type == "category":
            raise ModelRefused(
                f"The model takes {column.name!r} as a number, and the dataset declares categories: train it on a "
                "DataFrame whose column is categorical, or behind an encoder in a scikit-learn Pipeline."
            )
        return ModelInput(column, {False: 0.0, True: 1.0} if column.type == "boolean" else None)


def _shown(values: Sequence[Value]) -> str:
    return ", ".join(repr(value) for value in values[:3]) + (", …" if len(values) > 3 else "")


def float32_below(threshold: float) -> InputTest:
    """The doubles whose float32, rounded to nearest, is below a float32 threshold, as one test of the double itself."""
    [(op, value)] = all_float32_below([threshold])
    return InputTest(op, value)


def all_float32_below(thresholds: Sequence[float] | NDArray[np.float32]) -> list[tuple[Comparison, float]]:
    """Return each threshold's comparison of `float32_below`: the operator and the number.

    Nothing declared is infinite, and what rounds to infinity is taken for the largest float32.
    """
    upper = np.asarray(thresholds, np.float32)
    with np.errstate(all="ignore"):
        lower = np.nextafter(upper, np.float32(-np.inf))
        middle = (lower.astype(np.float64) + upper.astype(np.float64)) / 2  # exact: one more bit than a float32 has
        strict = (middle.astype(np.float32) >= upper) | np.isinf(upper) | np.isinf(lower)
    middle = np.where(np.isinf(upper), upper, np.where(np.isinf(lower), -np.inf, middle))
    return [("lt" if below else "le", value) for below, value in zip(strict.tolist(), middle.tolist(), strict=True)]


def float32_at_most(threshold: float) -> InputTest:
    """The doubles whose float32 is at most a float32 threshold."""
    value = np.float32(threshold)
    if np.isinf(value):
        return InputTest("le", math.inf if value > 0 else -math.inf)
    with np.errstate(over="ignore"):
        return float32_below(float(np.nextafter(value, np.float32(np.inf))))
