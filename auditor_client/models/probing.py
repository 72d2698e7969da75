"""Asking the model's own transformers: invented rows, and the exact values at which an answer changes.

Rows are made with the types that scikit-learn is mostly trained on: float64 for ordered columns, bool
for boolean ones, Python texts for categories. Where a model was trained on something else and it
matters (float32 into a scaler changes values), `Inputs.dtypes` says so (3-estimation §5).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from auditor_client.errors import ModelRefused
from auditor_client.models.domains import LARGEST, Keys, Line
from auditor_client.models.inventing import Invented
from shared.contract.schema import Schema, Value

DTYPES: Final = ("float32", "float64", "object")
_ROWS_PER_CALL: Final = 1024
_AROUND: Final = (-4096, -8, -1, 0, 1, 8, 4096)
"""The distances from a guess, in keys, at which the search begins."""

Matrix = Callable[[Any], NDArray[Any]]
"""From a table of raw rows to a matrix inside the model, of shape (rows, features)."""


@dataclass(frozen=True, slots=True)
class Probe:
    """One invented row: everything at its base value, but for one column. `None` is missing."""

    column: str
    value: Value | None


@dataclass(frozen=True, slots=True)
class Inputs:
    """How rows are given to the model.

    Attributes:
        schema: The dataset's declared columns.
        columns: The dataset's column behind each of the model's inputs, in the model's order.
        names: What the model calls its inputs if it was fitted on a DataFrame; None if on an array.
        dtypes: Column name to one of `DTYPES`, where the model was trained on that instead.
        missing: By column, the value for a missing category or boolean: None or NaN. NaN where it is not known.
    """

    schema: Schema
    columns: tuple[str, ...]
    names: tuple[str, ...] | None
    dtypes: Mapping[str, str]
    missing: dict[str, float | None] = field(default_factory=dict)

    def table(self, rows: int, values: Mapping[str, tuple[NDArray[np.intp], Sequence[Any] | NDArray[Any]]]) -> Any:
        """Make rows, at the base value wherever nothing else is said; `None` or NaN is missing.

        `values` has, by column, some rows' numbers and the values they have there.

        Returns:
            A DataFrame if the model was fitted on one, else an array of shape (rows, inputs).
        """
        arrays = [self._array(column, rows, *values.get(column, ((), ()))) for column in self.columns]
        if self.names is None:
            mixed = len({array.dtype for array in arrays}) > 1  # numbers and truth values make objects, as in pandas
            return np.column_stack([array.astype(object) for array in arrays] if mixed else arrays)
        try:
            import pandas as pd  # noqa: PLC0415  # models fitted on arrays do not need it
        except ImportError as error:
            raise ModelRefused("The model was fitted on a DataFrame: install pandas to read it.") from error
        columns = zip(self.names, arrays, strict=True)
        return pd.DataFrame({name: pd.Series(array, dtype=array.dtype) for name, array in columns})

    def rows(self, probes: Sequence[Probe]) -> Any:
        """A table with one row for each probe."""
        values: dict[str, tuple[list[int], list[Value | None]]] = {}
        for row, probe in enumerate(probes):
            numbers, entries = values.setdefault(probe.column, ([], []))
            numbers.append(row)
            entries.append(probe.value)
        return self.table(len(probes), {name: (np.array(rows), entries) for name, (rows, entries) in values.items()})

    def invented(self, records: Invented) -> Any:
        """A table of invented records."""
        rows = np.arange(records.count)
        values_by_column = {name: (rows, values) for name, values in records.values.items() if name in self.columns}
        return self.table(records.count, values_by_column)

    def _array(self, name: str, rows: int, where: Any, values: Any) -> NDArray[Any]:
        column = self.schema.by_name.get(name)
        if column is None:
            return np.zeros(rows)
        if column.ordered:
            array = np.full(rows, min(max(0, column.low), column.high), np.float64)
            array[np.asarray(where, np.intp)] = values
            return array.astype(self.dtypes.get(name, "float64"))
        missing = self.missing.get(name, np.nan)
        array = np.full(rows, column.values[0], object)
        array[np.asarray(where, np.intp)] = [missing if value is None else value for value in values]
        plain = "bool" if column.type == "boolean" and not column.nullable else "object"
        return array.astype(self.dtypes.get(name, plain))


class ThresholdTest(NamedTuple):
    """Whether a number inside the model is at most a threshold.

    Attributes:
        source: The ordered raw column that the number is a function of.
        cuts: Keys of that column between whose neighbours the function is monotone.
        column: The number's column in the matrix.
        threshold: What it is compared with; a float64.
        of_nan: The answer for NaN. An encoder may make it of a value that is not missing.
        slope, offset: The number is about slope · x + offset, so that the search knows where to begin; 0: not known.
    """

    source: str
    cuts: frozenset[int]
    column: int
    threshold: float
    of_nan: bool = False
    slope: float = 0.0
    offset: float = 0.0


def turns(inputs: Inputs, tests: Sequence[ThresholdTest], matrix: Matrix) -> list[frozenset[int]]:
    """Return where each answer changes, exactly: the keys k of the test's raw column with another answer at k + 1.

    Section search in all monotone pieces of all tests at once: the model's transformers are called a
    few times on some thousand rows, because most of a call's cost does not depend on the rows.
    """
    pieces = {
        source: list(_pieces(Line(inputs.schema.by_name[source[0]]), source[1]))
        for source in {(test.source, test.cuts) for test in tests}
    }
    brackets = [
        (number, low, high) for number, test in enumerate(tests) for low, high in pieces[test.source, test.cuts]
    ]
    keys_of_test: list[set[int]] = [set() for _ in tests]
    if brackets:
        ask = _ThresholdTests(inputs, tests, matrix)
        number = np.array([bracket[0] for bracket in brackets], np.intp)
        low, high = (np.array([bracket[end] for bracket in brackets], np.uint64) for end in (1, 2))
        for test_number, key in zip(*(part.tolist() for part in _narrow(ask, number, low, high)), strict=True):
            keys_of_test[test_number].add(key)
    return [frozenset(keys) for keys in keys_of_test]


def _pieces(line: Line, cuts: frozenset[int]) -> Iterator[tuple[int, int]]:
    """Neighbouring keys between which an answer can change at most once: within a piece, and from one to the next."""
    edges = [line.first, *(edge for cut in sorted(cuts) for edge in (cut, cut + 1)), line.last]
    return ((low, high) for low, high in pairwise(edges) if low < high)


def _narrow(ask: "_ThresholdTests", number: NDArray[np.intp], low: Keys, high: Keys) -> tuple[NDArray[np.intp], Keys]:
    left = ask(number, low)
    turning = left != ask(number, high)
    number, low, high, left = number[turning], low[turning], high[turning], left[turning]
    if not len(number):
        return number, low
    points = np.clip(ask.guesses(number), low[:, None], high[:, None])
    low, high = _nearer(ask, number, np.column_stack([low, points, high]), left)
    while len(open_ones := np.flatnonzero(high - low > 1)):
        begin, end = low[open_ones], high[open_ones]
        sections = max(8, _ROWS_PER_CALL // len(open_ones))
        step = np.maximum((end - begin) // np.uint64(sections), np.uint64(1))
        inner = begin[:, None] + step[:, None] * np.arange(1, sections, dtype=np.uint64)
        points = np.column_stack([begin, np.minimum(inner, end[:, None]), end])
        low[open_ones], high[open_ones] = _nearer(ask, number[open_ones], points, left[open_ones])
    return number, low


def _nearer(
    ask: "_ThresholdTests", number: NDArray[np.intp], points: Keys, left: NDArray[np.bool_]
) -> tuple[Keys, Keys]:
    """Return the two neighbouring points between which the answer changes; points ascend, shape (brackets, points)."""
    width = points.shape[1] - 1
    answers = ask(np.repeat(number, width), points[:, 1:].ravel()).reshape(-1, width)
    first = np.argmax(answers != left[:, None], axis=1)
    rows = np.arange(len(points))
    return points[rows, first], points[rows, first + 1]


class _ThresholdTests:
    """Threshold tests as arrays, to be made of many keys in one call of the model's transformers."""

    def __init__(self, inputs: Inputs, tests: Sequence[ThresholdTest], matrix: Matrix) -> None:
        self._inputs = inputs
        self._matrix = matrix
        self._sources = list(dict.fromkeys(test.source for test in tests))
        self._lines = [Line(inputs.schema.by_name[name]) for name in self._sources]
        self._source = np.array([self._sources.index(test.source) for test in tests], np.intp)
        self._column = np.array([test.column for test in tests], np.intp)
        self._threshold = np.array([test.threshold for test in tests], np.float64)
        self._of_nan = np.array([test.of_nan for test in tests], bool)
        self._slope = np.array([test.slope for test in tests], np.float64)
        self._offset = np.array([test.offset for test in tests], np.float64)

    def guesses(self, number: NDArray[np.intp]) -> Keys:
        """Guess where the answer to test `number[i]` changes: ascending keys, shape (tests, guesses).

        No result relies on them. They lie around the threshold, and where a number is rounded to its float32.
        """
        guesses = np.zeros((len(number), 2 * len(_AROUND)), np.uint64)
        with np.errstate(all="ignore"):
            threshold = self._threshold[number]
            rounded = threshold.astype(np.float32)
            middle = (rounded.astype(np.float64) + np.nextafter(rounded, np.float32(np.inf)).astype(np.float64)) / 2
            values = (np.stack([threshold, middle]) - self._offset[number]) / self._slope[number]
        values = np.nan_to_num(values, nan=0.0, posinf=LARGEST, neginf=-LARGEST)
        for index, line in enumerate(self._lines):
            own = np.flatnonzero(self._source[number] == index)
            inside = np.clip(values[:, own], line.value(line.first), line.value(line.last))
            keys = line.keys(np.floor(inside) if line.column.type == "integer" else inside)
            guesses[own] = np.concatenate([keys + np.uint64(step % 2**64) for step in _AROUND]).T
        return np.sort(guesses, axis=1)

    def __call__(self, number: NDArray[np.intp], keys: Keys) -> NDArray[np.bool_]:
        """Answer test `number[i]` for the value at `keys[i]`; the result has the shape of both."""
        row = np.empty(len(keys), np.intp)
        values: dict[str, tuple[NDArray[np.intp], NDArray[np.float64]]] = {}
        rows = 0
        for index, name in enumerate(self._sources):
            of_source = np.flatnonzero(self._source[number] == index)
            different, which = np.unique(keys[of_source], return_inverse=True)
            row[of_source] = rows + which
            values[name] = np.arange(rows, rows + len(different)), self._lines[index].values(different)
            rows += len(different)
        matrix = self._matrix(self._inputs.table(rows, values))
        numbers = matrix[row, self._column[number]]
        return np.where(np.isnan(numbers), self._of_nan[number], numbers <= self._threshold[number])
