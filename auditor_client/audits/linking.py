"""Values of the auditor's own as a file to be linked: decisions, scores or labels, one for each person key.

The file is canonical, so the same values are the same column at the holder, wherever they came from: a header, then a
line for each person who has a value, in the order of the keys. Whoever has none is left out, and is missing.
"""

import csv
import io
import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from pydantic import ValidationError

from auditor_client.asking.data_files import CsvForm, DataTable, data_table, with_points
from auditor_client.audits.asking import COLUMN_TYPES, LinkRequest
from auditor_client.errors import QuestionRefused
from auditor_client.text import closest, first_fault, no_such
from shared.contract.datasets import DatasetDescription
from shared.contract.schema import Column
from shared.scores.columns import DerivedColumn
from shared.wire import limits
from shared.wire.canonical import sha256_name
from shared.wire.problems import PlanRefused
from shared.wire.text import normalise

VALUE: Final = "value"
"""What the file calls the values."""
COLUMNS_SHOWN_MAX: Final = 30
_NUMBER: Final = re.compile(
    r"\s*[+-]?(?:\d+\.?\d*|\.\d+|inf(?=\s*$)|infinity)(?:[eE][+-]?\d+)?\s*", re.IGNORECASE | re.ASCII
)
_TRUTHS: Final = {"true": True, "false": False, "1": True, "0": False, "1.0": True, "0.0": False}


@dataclass(frozen=True, slots=True)
class LinkedFile:
    """Values as they are sent, and the column that they make.

    Attributes:
        column: Names the SHA-256 of the file.
        content: The canonical CSV file.
        people: How many have a value.
    """

    column: DerivedColumn
    content: bytes
    people: int


def linked_file(data: Any, dataset: DatasetDescription, request: LinkRequest) -> LinkedFile:
    """Make the file of some values; sends nothing.

    Args:
        data: A DataFrame, or the path of a CSV (with a header; an empty field is missing) or Parquet file, with a row
            for each person.
        dataset: Whose people they are.
        request: Which of the data's columns, and what they are.

    Raises:
        QuestionRefused: The data cannot be read, have no key or two rows of one, or do not fit their type. No error
            shows a key or a value.
    """
    if dataset.person_key is None:
        raise QuestionRefused(
            f"Dataset {dataset.name} is an aggregate table: its rows stand for several people, and nobody has a key "
            "that values could be linked to. Audit a model that decides from its columns."
        )
    rows = _Rows(data, dataset.person_key, request)
    if not rows.values:
        raise QuestionRefused(f"Column {rows.value!r} of your data does not have values.")
    if len(rows.values) > limits.LINKED_ROWS_MAX:
        raise QuestionRefused(f"At most {limits.LINKED_ROWS_MAX} people can be linked at once.")
    keys = rows.person_keys()
    kind = request.type or ("boolean" if request.label else _inferred(rows.values))
    if kind not in COLUMN_TYPES:
        raise QuestionRefused(no_such("type", kind, COLUMN_TYPES))
    written = rows.written(kind)
    categories = request.categories
    if kind == "category" and categories is None:
        categories = tuple(sorted(set(written)))
    content = _csv(dataset.person_key, keys, written)
    column = _column(request, kind, categories, sha256_name(content), dataset)
    rows.require_declared(written, column.column)
    return LinkedFile(column, content, len(keys))


class _Rows:
    """The rows that have a value.

    Attributes:
        value: The name of the column of values.
        values: Each row's value.
    """

    def __init__(self, data: Any, person_key: str, request: LinkRequest) -> None:
        """Read them; a row without a value is left out."""
        form = CsvForm(request.delimiter, request.decimal, request.encoding, request.missing)
        self.key: Any = request.key or person_key
        table = data_table(data, form, index=self.key)
        self.value = _named_value(table, self.key, request)
        keys, values = table.columns([self.key, self.value])
        self._numbers = [number for number, value in enumerate(values, 1) if value is not None]
        self._keys = [keys[number - 1] for number in self._numbers]
        self.values = with_points([values[number - 1] for number in self._numbers], table.decimal)

    def person_keys(self) -> list[str]:
        """The person keys as texts.

        Raises:
            QuestionRefused: A row has none, or two have the same.
        """
        fractions = any(isinstance(key, float) and not key.is_integer() for key in self._keys)
        if fractions:
            raise QuestionRefused(f"Column {self.key!r} of your data has fractions, which cannot be keys.")
        whole = [int(key) if isinstance(key, float) else key for key in self._keys]
        keys = self._texts(["" if key is None else str(key) for key in whole], self.key)
        first = {key: row for row, key in reversed(list(enumerate(keys)))}
        if "" in first:
            raise QuestionRefused(f"Row {self._numbers[first['']]} of your data has a value and no person key.")
        if len(first) < len(keys):
            self._refuse_repeated(keys)
        return keys

    def _refuse_repeated(self, keys: Sequence[str]) -> None:
        times = Counter(keys)
        again = [number for number, key in zip(self._numbers, keys, strict=True) if times[key] > 1]
        raise QuestionRefused(
            f"{len(again)} rows of your data have a person key that is there more than once, the first of them "
            f"row {again[0]} below the header: send one value for each person."
        )

    def written(self, kind: str) -> list[str]:
        """The values as the file writes them.

        Raises:
            QuestionRefused: A value is not of that type.
        """
        if kind == "category":
            return self._texts(list(map(str, self.values)), self.value)
        if kind == "boolean":
            truths = [_TRUTHS.get(str(value).lower()) for value in self.values]
            self._require([truth is not None for truth in truths], "something else than true and false")
            return ["true" if truth else "false" for truth in truths]
        numbers = list(map(_number, self.values))
        whole = kind != "integer"
        self._require(
            [number is not None and (whole or number.is_integer()) for number in numbers],
            f"something that is no {kind}",
        )
        return [repr(number) if whole else str(int(number)) for number in numbers if number is not None]

    def require_declared(self, written: Sequence[str], column: Column) -> None:
        """Refuse a category that is not among the column's."""
        if column.categories is not None:
            declared = set(column.categories)
            self._require(
                [text in declared for text in written],
                "a value that is not among the categories", ": list all that there can be",
            )  # fmt: skip

    def _require(self, good: Sequence[bool], otherwise: str, more: str = "") -> None:
        if not all(good):
            row = self._numbers[good.index(False)]
            raise QuestionRefused(f"Column {self.value!r} of your data holds {otherwise} in row {row}{more}.")

    @staticmethod
    def _texts(values: Sequence[str], name: Any) -> list[str]:
        try:
            return list(map(normalise, values))
        except ValueError as error:
            raise QuestionRefused(f"Column {name!r} of your data holds a text with control characters.") from error


def _named_value(table: DataTable, key: Any, request: LinkRequest) -> Any:
    """The name of the column of values."""
    if key not in table.names:
        raise QuestionRefused(
            f"Your data do not have the column {key!r} with the person keys. {_columns_of(table.names, key)} Name the "
            "right one (`--key`)."
        )
    others = [name for name in table.names if name != key]
    value = request.value or (request.name if request.name in others or len(others) != 1 else others[0])
    if value not in others:
        raise QuestionRefused(
            f"Your data do not have the column {value!r} with the values. {_columns_of(others, value)} Name the right "
            "one (`--value`)."
        )
    return value


def _columns_of(columns: Sequence[object], wanted: object) -> str:
    """Which columns a table has, and which was probably meant."""
    names = list(map(str, columns))
    close = closest(str(wanted), names)
    listed = ", ".join(map(repr, names[:COLUMNS_SHOWN_MAX])) or "none"
    more = f" and {len(names) - COLUMNS_SHOWN_MAX} more" if names[COLUMNS_SHOWN_MAX:] else ""
    return f"{'' if close is None else f'did you mean {close!r}? '}The columns are {listed}{more}."


def _inferred(values: Sequence[Any]) -> str:
    """What the values are: truth values, numbers, or categories."""
    distinct = set(values)
    if {str(value).lower() for value in distinct} <= _TRUTHS.keys():
        return "boolean"
    numbers = all(not isinstance(one, str) or _NUMBER.fullmatch(one) is not None for one in distinct)
    return "number" if numbers and all(_float(one) is not None for one in distinct) else "category"


def _number(value: Any) -> float | None:
    """A finite number; None if a value is none."""
    number = _float(value) if not isinstance(value, str) or _NUMBER.fullmatch(value) else None
    return number if number is not None and math.isfinite(number) else None


def _float(value: Any) -> float | None:
    try:
        return float(value)
    except (TypeError, ValueError):
        return None


def _csv(person_key: str, keys: Sequence[str], values: Sequence[str]) -> bytes:
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow([person_key, VALUE])
    writer.writerows(sorted(zip(keys, values, strict=True)))
    return file.getvalue().encode()


def _column(
    request: LinkRequest, kind: str, categories: tuple[str, ...] | None, values: str, dataset: DatasetDescription
) -> DerivedColumn:
    try:
        column = DerivedColumn.model_validate(
            {
                "name": request.name, "type": kind, "categories": categories, "nullable": True, "label": request.label,
                "from": "linked", "values": values,
            }
        )  # fmt: skip
        column.check(dataset.table)
    except ValidationError as error:
        raise QuestionRefused(": ".join(part for part in first_fault(error) if part)) from error
    except PlanRefused as error:
        raise QuestionRefused(str(error)) from error
    return column
