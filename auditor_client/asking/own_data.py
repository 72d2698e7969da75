"""The auditor's own, attribute-free data about the same people: how many a cell applies to (3-estimation §2).

An auditor often has the features of the people whose sensitive attributes the holder has. Counts in them are
exact and cost no privacy, and the data are never sent.
"""

from collections.abc import Mapping
from functools import reduce
from typing import Any, Final, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from auditor_client.asking.data_files import data_table, with_points
from auditor_client.errors import QuestionRefused
from auditor_client.text import closest
from shared.contract.rules import MISSING_TESTS, Cell, Predicate, Rule
from shared.contract.schema import Column, Schema
from shared.scores.arrays import score_column
from shared.scores.documents import Document, columns_of
from shared.wire.text import normalise

BoolArray = NDArray[np.bool_]
_NUMBERS: Final = ("integer", "number")
_BOOLEANS: Final = {"true": True, "false": False, True: True, False: False}  # 1 and 0 equal the last two


class OwnData:
    """Columns of people, as the dataset declares them, in which cells are counted."""

    def __init__(self, table: Any, schema: Schema, scores: Mapping[str, Document] | None = None) -> None:
        """Take a table; only its declared columns are looked at, and sensitive ones are not.

        Args:
            table: A pandas DataFrame, or the path of a CSV (with a header, an empty field is missing) or
                Parquet file.
            schema: The dataset's declaration, and derived columns behind it.
            scores: The documents of derived columns, which are computed.

        Raises:
            QuestionRefused: The table cannot be read.
        """
        self._table = table if isinstance(table, _TypedTable) else _TypedTable(_read(table, schema))
        self._schema = schema
        self._scores = scores or {}
        self._computed: dict[str, pd.Series[Any]] = {}

    def about(self, schema: Schema, scores: Mapping[str, Document]) -> Self:
        """The same people for a question with these columns and documents; what was read of them is not read again."""
        return type(self)(self._table, schema, scores)

    def __len__(self) -> int:
        return len(self._table.frame)

    def count(self, cell: Cell) -> int:
        """Return how many people a cell applies to, each counted once.

        Raises:
            QuestionRefused: A column is missing, or holds a value that the dataset does not declare.
        """
        return int(reduce(np.logical_or, [self._matches(rule) for rule in cell.any_of]).sum())

    def edges(self, column: Column, bands: int) -> tuple[float, ...]:
        """Edges of bands of a column of numbers, each with as many of these people as ties allow.

        Raises:
            QuestionRefused: They have too few different values.
        """
        values = self._values(column).dropna().to_numpy(dtype=np.float64)
        if not len(values) or values.min() == values.max():
            raise QuestionRefused(
                f"Your data have too few different values of {column.name!r} for bands. Name the edges."
            )
        edges = np.unique(np.quantile(values, np.arange(1, bands) / bands, method="inverted_cdf"))
        return tuple(edges[edges < values.max()].tolist())

    def _score(self, column: Column) -> "pd.Series[Any]":
        """A score's value for everybody."""
        document = self._scores[column.name]
        needed = {name: self._values(self._schema.by_name[name]) for name in columns_of(document)}
        plain: dict[str, Any] = {"": range(len(self))}  # a document may name no column
        plain |= {name: [None if pd.isna(one) else one for one in values] for name, values in needed.items()}
        return _typed(pd.Series(score_column(document, plain, self._schema), index=self._table.frame.index), column)

    def _matches(self, rule: Rule) -> BoolArray:
        everybody: BoolArray = np.ones(len(self), dtype=np.bool_)
        for predicate in rule.all_of:
            everybody &= self._satisfies(predicate)
        return everybody

    def _satisfies(self, predicate: Predicate) -> BoolArray:
        """Return whom a predicate matches, as `Predicate.matches` says it."""
        values = self._values(self._schema.by_name[predicate.column])
        missing: BoolArray = pd.isna(values).to_numpy()
        if predicate.op in MISSING_TESTS:
            return missing if predicate.op == "is_missing" else ~missing
        known: BoolArray = _compared(values, predicate).to_numpy(dtype=np.bool_, na_value=False) & ~missing
        return known | missing if predicate.or_missing else known

    def _values(self, column: Column) -> "pd.Series[Any]":
        """A column's values in its declared type; missing is NA."""
        if column.name in self._scores:  # whatever the table calls so
            if column.name not in self._computed:
                self._computed[column.name] = self._score(column)
            return self._computed[column.name]
        return self._table.values(column)


class _TypedTable:
    """A table whose columns are brought to their declared types once."""

    def __init__(self, frame: pd.DataFrame) -> None:
        self.frame = frame
        self._typed: dict[Column, pd.Series[Any]] = {}

    def values(self, column: Column) -> "pd.Series[Any]":
        if column.name not in self.frame:
            close = closest(column.name, map(str, self.frame))
            meant = "" if close is None else f" Did you mean {close!r}? Name it as the dataset does."
            raise QuestionRefused(
                f"Your data do not have the column {column.name!r}, which the request names, so supports cannot "
                f"be counted.{meant}"
            )
        if column not in self._typed:
            self._typed[column] = _typed(self.frame[column.name], column)
        return self._typed[column]


def _read(given: Any, schema: Schema) -> pd.DataFrame:
    table = data_table(given)
    if table.frame is not None:
        return table.frame
    wanted = {column.name: column for column in schema.columns if not column.sensitive}
    names = [name for name in table.names if name in wanted] or list(table.names)
    values = {
        name: with_points(column, table.decimal) if name in wanted and wanted[name].type in _NUMBERS else column
        for name, column in zip(names, table.columns(names), strict=True)
    }
    return pd.DataFrame(values, dtype=object)


def _typed(values: "pd.Series[Any]", column: Column) -> "pd.Series[Any]":
    if column.type == "category":
        texts = values.map(lambda value: normalise(str(value)), na_action="ignore").astype("string")
        _require_known(texts, set(column.categories or ()), column)
        return texts
    if column.type == "boolean":
        read = values.map(
            lambda value: _BOOLEANS.get(value.lower() if isinstance(value, str) else value), na_action="ignore"
        )
        _require_known(values[read.isna()].dropna(), set(), column)
        return read.astype("boolean")
    try:
        numbers = pd.to_numeric(values)
    except (ValueError, TypeError) as error:
        raise QuestionRefused(
            f"Column {column.name!r} of your data has a value that is not a number. Correct the value."
        ) from error
    return numbers


def _require_known(values: "pd.Series[Any]", known: set[str], column: Column) -> None:
    unknown = set(values.dropna().unique()) - known
    if unknown:
        raise QuestionRefused(
            f"Column {column.name!r} of your data has the value {min(map(str, unknown))!r}, which the dataset "
            "does not declare, so supports cannot be counted. Correct or remove it."
        )


def _compared(values: "pd.Series[Any]", predicate: Predicate) -> Any:
    if predicate.values is not None:
        inside = values.isin(predicate.values)
        return inside if predicate.op == "in" else ~inside
    return getattr(values, predicate.op)(predicate.value).astype("boolean")  # pandas has the operators' names
