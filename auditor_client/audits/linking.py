"""Values of the auditor's own as a file to be linked: decisions, scores or labels, one for each person key.

The file is canonical, so the same values are the same column at the holder, wherever they came from: a header, then a
line for each person who has a value, in the order of the keys. Whoever has none is left out, and is missing.
"""

import csv
import io
import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import pandas as pd
from pydantic import ValidationError

from auditor_client.asking.own_data import DECIMAL, CsvForm, file_table
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

if TYPE_CHECKING:
    Series = pd.Series[Any]

VALUE: Final = "value"
"""What the file calls the values."""
COLUMNS_SHOWN_MAX: Final = 30
_WITH_COMMA: Final = re.compile(r"^([+-]?\d*),(\d+(?:[eE][+-]?\d+)?)$")
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
    keys, values = _columns(data, dataset.person_key, request)
    present = values.notna()
    keys, values = _texts(keys[present], f"Column {keys.name!r} of your data"), values[present]
    if not len(keys):
        raise QuestionRefused(f"Column {values.name!r} of your data has no values.")
    if len(keys) > limits.LINKED_ROWS_MAX:
        raise QuestionRefused(f"At most {limits.LINKED_ROWS_MAX} people can be linked at once.")
    _require_keys(keys)
    kind = request.type or ("boolean" if request.label else _inferred(values))
    if kind not in COLUMN_TYPES:
        raise QuestionRefused(no_such("type", kind, COLUMN_TYPES))
    written = _written(values, kind)
    categories = request.categories
    if kind == "category" and categories is None:
        categories = tuple(sorted(set(written)))
    content = _csv(dataset.person_key, keys, written)
    column = _column(request, kind, categories, sha256_name(content), dataset)
    _require_declared(written, column.column, values.name)
    return LinkedFile(column, content, len(keys))


def _columns(data: Any, person_key: str, request: LinkRequest) -> "tuple[Series, Series]":
    """The keys and the values of the data."""
    table = _table(data, request)
    key = request.key or person_key
    if key not in table and table.index.name == key:
        table = table.reset_index()
    if key not in table:
        raise QuestionRefused(
            f"Your data have no column {key!r} with the person keys: {_columns_of(table, key)} Name the one that has "
            "them (`--key`)."
        )
    others = [name for name in table if name != key]
    value = request.value or (request.name if request.name in others or len(others) != 1 else others[0])
    if value not in others:
        raise QuestionRefused(
            f"Your data have no column {value!r} with the values: {_columns_of(table[others], value)} Name the one "
            "that has them (`--value`)."
        )
    rows = range(1, len(table) + 1)
    return table[key].set_axis(rows), _with_points(table[value].set_axis(rows), table.attrs.get(DECIMAL, "."))


def _columns_of(table: pd.DataFrame, wanted: object) -> str:
    """Which columns a table has, and which was probably meant."""
    names = list(map(str, table))
    close = closest(str(wanted), names)
    listed = ", ".join(map(repr, names[:COLUMNS_SHOWN_MAX])) or "none"
    more = f" and {len(names) - COLUMNS_SHOWN_MAX} more" if names[COLUMNS_SHOWN_MAX:] else ""
    return f"{'' if close is None else f'did you mean {close!r}? '}The columns are {listed}{more}."


def _table(data: Any, request: LinkRequest) -> pd.DataFrame:
    if isinstance(data, pd.DataFrame):
        return data
    form = CsvForm(request.delimiter, request.decimal, request.encoding)
    return file_table(data, missing=request.missing, form=form, dtype="string")


def _with_points(values: "Series", decimal: str) -> "Series":
    """Numbers of a file with a decimal comma, with a point; what is no such number stays as it is."""
    if decimal == "." or not pd.api.types.is_string_dtype(values):
        return values
    return values.str.replace(_WITH_COMMA, r"\1.\2", regex=True)


def _texts(values: "Series", what: str) -> "Series":
    """Values as texts in NFC; whole numbers as people write them."""
    if pd.api.types.is_float_dtype(values) and not pd.api.types.is_bool_dtype(values):
        known = values.dropna()
        if not (known == known.round()).all():
            raise QuestionRefused(f"{what} holds fractions, which are no keys.")
        values = values.astype("Int64")
    try:
        return values.map(lambda value: normalise(str(value)), na_action="ignore").astype("string")
    except ValueError as error:
        raise QuestionRefused(f"{what} holds a text with control characters.") from error


def _require_keys(keys: "Series") -> None:
    missing, again = keys.isna() | (keys == ""), keys.duplicated(keep=False)
    if missing.any():
        raise QuestionRefused(f"Row {_row(missing)} of your data has a value and no person key.")
    if again.any():
        raise QuestionRefused(
            f"{int(again.sum())} rows of your data have a person key that is there more than once, the first of them "
            f"row {_row(again)} below the header: send one value for each person."
        )


def _row(mask: "Series") -> int:
    """The number of the first row in the data."""
    row: int = mask.fillna(value=True).tolist().index(True)
    return int(mask.index.tolist()[row])


def _inferred(values: "Series") -> str:
    """What the values are: truth values, numbers, or categories."""
    if pd.api.types.is_bool_dtype(values):
        return "boolean"
    distinct = values.unique()
    if {str(value).lower() for value in distinct} <= _TRUTHS.keys():
        return "boolean"
    numbers = pd.to_numeric(pd.Series(distinct), errors="coerce")
    return "number" if numbers.notna().all() else "category"


def _written(values: "Series", kind: str) -> "Series":
    """Values as the file writes them."""
    what = f"Column {values.name!r} of your data"
    if kind == "category":
        return _texts(values.astype("string"), what)
    if kind == "boolean":
        truths = values.map(lambda value: _TRUTHS.get(str(value).lower()))
        if truths.isna().any():
            raise QuestionRefused(f"{what} holds something else than true and false in row {_row(truths.isna())}.")
        return truths.map({True: "true", False: "false"})
    numbers = pd.to_numeric(values, errors="coerce").astype("float64")
    bad = numbers.isna() | numbers.isin([math.inf, -math.inf])
    if kind == "integer":
        bad |= numbers != numbers.round()
    if bad.any():
        raise QuestionRefused(f"{what} holds something that is no {kind} in row {_row(bad)}.")
    return numbers.map(lambda number: str(int(number)) if kind == "integer" else repr(float(number)))


def _csv(person_key: str, keys: "Series", values: "Series") -> bytes:
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow([person_key, VALUE])
    writer.writerows(sorted(zip(keys.tolist(), values.tolist(), strict=True)))
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


def _require_declared(written: "Series", column: Column, name: Any) -> None:
    unknown = ~written.isin(column.categories) if column.categories is not None else pd.Series(dtype=bool)
    if unknown.any():
        raise QuestionRefused(
            f"Column {name!r} of your data holds a value that is not among the categories in row {_row(unknown)}: list "
            "all that there can be."
        )
