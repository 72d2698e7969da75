"""The auditor's own, attribute-free data about the same people: how many a cell applies to (3-estimation §2).

An auditor often has the features of the people whose sensitive attributes the holder has. Counts in them are
exact and cost no privacy, and the data are never sent.
"""

import bz2
import gzip
import io
import lzma
import re
import zipfile
from collections.abc import Mapping, Sequence
from functools import reduce
from pathlib import Path
from typing import Any, Final, NamedTuple, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from auditor_client.errors import QuestionRefused
from auditor_client.text import closest
from shared.contract.rules import MISSING_TESTS, Cell, Predicate, Rule
from shared.contract.schema import Column, Schema
from shared.scores.arrays import score_column
from shared.scores.documents import Document, columns_of
from shared.wire.csv_signs import DELIMITERS, HEAD_BYTES, csv_signs
from shared.wire.text import normalise

BoolArray = NDArray[np.bool_]
_COMPRESSIONS: Final = {".gz": "gzip", ".bz2": "bz2", ".xz": "xz", ".zip": "zip"}
DECIMAL: Final = "decimal"
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
        """How many people a cell applies to, each counted once.

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
            raise QuestionRefused(f"Your data hold too few different values of {column.name!r} for bands: name edges.")
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
        """Whom a predicate matches, as `Predicate.matches` says it."""
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
                f"Your data have no column {column.name!r}, which the question names: supports cannot be "
                f"counted.{meant}"
            )
        if column not in self._typed:
            self._typed[column] = _typed(self.frame[column.name], column)
        return self._typed[column]


def _read(table: Any, schema: Schema) -> pd.DataFrame:
    if isinstance(table, pd.DataFrame):
        return table
    wanted = [column.name for column in schema.columns if not column.sensitive]
    texts = {column.name: "string" for column in schema.columns if column.type in ("category", "boolean")}
    read = file_table(table, dtype=texts)
    return read[[name for name in read if name in wanted]] if set(wanted) & set(read) else read


class CsvForm(NamedTuple):
    """How a CSV file is written; what is `None` is found by itself."""

    delimiter: str | None = None
    decimal: str | None = None
    encoding: str | None = None


FOUND: Final = CsvForm()


def file_table(name: Path | str, *, missing: Sequence[str] = (), form: CsvForm = FOUND, **csv: Any) -> pd.DataFrame:
    """The table in a Parquet or CSV file; of the latter an empty field is missing, for a category may be "NA".

    The frame's `attrs` have the decimal separator of a CSV file as `DECIMAL`.

    Args:
        name: Where it is.
        missing: What else is missing in a CSV file.
        form: How a CSV file is written.
        csv: How that is read.

    Raises:
        QuestionRefused: It cannot be read; the text is never a library's.
    """
    path = Path(name)
    try:
        if path.suffix == ".parquet":
            with path.open("rb") as content:  # given a path, pandas reads all files of a folder
                table: pd.DataFrame = pd.read_parquet(content, engine="pyarrow")
            return table
        return _csv_table(path, missing, form, csv)
    except ImportError as error:
        raise QuestionRefused(f"To read {path}, pip install 'pafer[parquet]', or write it as CSV.") from error
    except OSError as error:
        raise QuestionRefused(f"{path} cannot be read: {error.strerror or 'it is damaged'}.") from error
    except (ValueError, IndexError, EOFError, lzma.LZMAError, zipfile.BadZipFile) as error:
        raise QuestionRefused(f"{path.name} cannot be read as a table: {_why(error, path)}") from error


def _csv_table(path: Path, missing: Sequence[str], form: CsvForm, csv: Mapping[str, Any]) -> pd.DataFrame:
    compression: Any = _COMPRESSIONS.get(path.suffix)
    signs = csv_signs(_head(path))
    if signs.encoding == "utf-16":
        raise QuestionRefused(f"{path.name} is written in UTF-16. Save it as “CSV UTF-8”.")
    decimal = form.decimal or signs.decimal
    encodings = [form.encoding] if form.encoding else list(dict.fromkeys((signs.encoding, "cp1252", "latin-1")))
    for encoding in encodings:
        try:
            with path.open("rb") as raw:
                table: Any = pd.read_csv(
                    raw, keep_default_na=False, na_values=["", *missing], compression=compression,
                    sep=DELIMITERS[form.delimiter or signs.delimiter], decimal=decimal, encoding=encoding, **csv,
                )  # fmt: skip
        except UnicodeDecodeError:
            if encoding == encodings[-1]:
                raise
        else:
            frame: pd.DataFrame = table
            frame.attrs[DECIMAL] = decimal
            return frame
    raise AssertionError("There is at least one encoding.")


def _head(path: Path) -> bytes:
    """How a file begins, unpacked."""
    if path.suffix == ".zip":
        with zipfile.ZipFile(path) as archive, archive.open(archive.namelist()[0]) as inside:
            return inside.read(HEAD_BYTES)
    opened: Any = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}.get(path.suffix, io.open)
    with opened(path, "rb") as content:
        head: bytes = content.read(HEAD_BYTES)
    return head


def _why(error: Exception, path: Path) -> str:
    """What is wrong, in words of our own: a library's quote the file, or talk of its own arguments."""
    if isinstance(error, UnicodeDecodeError):
        return f"it is not {error.encoding}. Leave --encoding out, and it is found, or name another one."
    if isinstance(error, pd.errors.EmptyDataError):
        return "it is empty. A table has a header with the names of its columns."
    divided = re.search(r"Expected (\d+) fields in line (\d+), saw (\d+)", str(error))
    if divided:
        return (
            f"line {divided[2]} has {divided[3]} fields, and the header has {divided[1]}. Quote fields that hold the "
            "separator, or name another one (--delimiter)."
        )
    if path.suffix == ".parquet":
        return "it is not a whole Parquet file. Write it again, or name a CSV file."
    return "it is not a CSV file with a header and a record in each line. Name one, or a Parquet file (.parquet)."


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
        raise QuestionRefused(f"Column {column.name!r} of your data holds something that is no number.") from error
    return numbers


def _require_known(values: "pd.Series[Any]", known: set[str], column: Column) -> None:
    unknown = set(values.dropna().unique()) - known
    if unknown:
        raise QuestionRefused(
            f"Column {column.name!r} of your data holds {min(map(str, unknown))!r}, which the dataset does not "
            "declare: supports cannot be counted."
        )


def _compared(values: "pd.Series[Any]", predicate: Predicate) -> Any:
    if predicate.values is not None:
        inside = values.isin(predicate.values)
        return inside if predicate.op == "in" else ~inside
    return getattr(values, predicate.op)(predicate.value).astype("boolean")  # pandas has the operators' names
