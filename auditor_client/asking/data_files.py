"""The auditor's own tables: CSV files as Excel, R and databases write them, Parquet files, and DataFrames.

CSV files are read by Python's own `csv`, so that decisions in such files are linked without pandas. No value of a
table is in an error.
"""

import bz2
import csv
import gzip
import io
import lzma
import re
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from auditor_client.errors import QuestionRefused, needs
from shared.wire.csv_signs import DELIMITERS, HEAD_BYTES, csv_signs

if TYPE_CHECKING:
    import pandas as pd

POINT: Final = "."
_FIELD_CHARACTERS_MAX: Final = 1 << 24
_WITH_COMMA: Final = re.compile(r"([+-]?\d*),(\d+(?:[eE][+-]?\d+)?)")
_OPENERS: Final[dict[str, Callable[[Path, str], Any]]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}


class CsvForm(NamedTuple):
    """How a CSV file is written; a part that is `None` is detected.

    Attributes:
        missing: Texts that stand for a missing value, besides the empty one.
    """

    delimiter: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    missing: Sequence[str] = ()


DETECTED: Final = CsvForm()


@dataclass(frozen=True, slots=True)
class DataTable:
    """A table by its columns.

    Attributes:
        names: The columns, in order.
        columns: Reads the values of some columns, a list for each; `None` is missing. Values of a CSV file are texts.
        decimal: The decimal separator of a CSV file.
        frame: The table as a DataFrame, if it was one or came from a Parquet file.
    """

    names: tuple[Any, ...]
    columns: Callable[[Sequence[Any]], list[list[Any]]]
    decimal: str = POINT
    frame: "pd.DataFrame | None" = None


def data_table(data: Any, form: CsvForm = DETECTED, *, index: str | None = None) -> DataTable:
    """Read a table.

    Args:
        data: A DataFrame, or the path of a CSV file (with a header; an empty field is missing) or a Parquet file.
        form: How a CSV file is written.
        index: The name of a column that may be the DataFrame's index.

    Raises:
        QuestionRefused: It cannot be read, or a library for it is not installed.
    """
    if hasattr(data, "columns") and hasattr(data, "index"):
        return _framed(data.reset_index() if index is not None and index == data.index.name else data)
    path = Path(data)
    with _readable(path):
        if path.suffix == ".parquet":
            return _framed(_parquet(path))
        return _csv_table(path, form)


def with_points(values: Sequence[Any], decimal: str) -> list[Any]:
    """Return texts with a decimal comma as texts with a decimal point; other values stay as they are."""
    if decimal == POINT:
        return list(values)
    found = (_WITH_COMMA.fullmatch(value) if isinstance(value, str) else None for value in values)
    return [value if match is None else f"{match[1]}.{match[2]}" for value, match in zip(values, found, strict=True)]


def _framed(frame: "pd.DataFrame") -> DataTable:
    def columns(names: Sequence[Any]) -> list[list[Any]]:
        return [frame[name].astype(object).where(frame[name].notna(), None).tolist() for name in names]

    return DataTable(tuple(frame), columns, frame=frame)


def _parquet(path: Path) -> "pd.DataFrame":
    with needs("A Parquet file"):
        import pandas as pd  # noqa: PLC0415 - other tables do not need it
        import pyarrow as pa  # noqa: F401, PLC0415
    with path.open("rb") as content:  # given a path, pandas reads all files of a folder
        frame: pd.DataFrame = pd.read_parquet(content, engine="pyarrow")
    return frame


def _csv_table(path: Path, form: CsvForm) -> DataTable:
    signs = csv_signs(_head(path))
    if signs.encoding == "utf-16":
        raise QuestionRefused(f"{path.name} is written in UTF-16. Save it as “CSV UTF-8”.")
    encodings = [form.encoding] if form.encoding else list(dict.fromkeys((signs.encoding, "cp1252", "latin-1")))
    file = _CsvFile(path, DELIMITERS[form.delimiter or signs.delimiter], encodings, frozenset(["", *form.missing]))
    names = file.first_line()
    return DataTable(names, partial(file.columns, names), form.decimal or signs.decimal)


@dataclass(frozen=True, slots=True)
class _CsvFile:
    """A CSV file, which is read anew for each list of columns, so that no other column is held in memory."""

    path: Path
    delimiter: str
    encodings: Sequence[str]
    missing: frozenset[str]

    def first_line(self) -> tuple[str, ...]:
        names: tuple[str, ...] = self._in_any_encoding(lambda lines: tuple(next(lines)))
        return names

    def columns(self, header: Sequence[str], names: Sequence[str]) -> list[list[str | None]]:
        for name in names:
            if header.count(name) > 1:
                raise QuestionRefused(f"{self.path.name} has two columns {name!r}. Rename one of them.")
        with _readable(self.path):
            rows = self._in_any_encoding(lambda lines: self._values(lines, header, names))
        return [list(column) for column in zip(*rows, strict=True)] or [[] for _ in names]

    def _values(self, lines: Any, header: Sequence[str], names: Sequence[str]) -> list[tuple[str | None, ...]]:
        next(lines)
        known: dict[str, str | None] = dict.fromkeys(self.missing)
        pick = itemgetter(*map(header.index, names))
        values = []
        for row in lines:
            if len(row) != len(header):
                if not row:
                    continue
                if len(row) > len(header):
                    raise QuestionRefused(
                        f"{self.path.name} cannot be read as a table: line {lines.line_num} has {len(row)} fields, and "
                        f"the header has {len(header)}. Quote fields that hold the separator, or name another one "
                        "(--delimiter)."
                    )
                row.extend([""] * (len(header) - len(row)))
            picked = pick(row)
            values.append(tuple(known.get(text, text) for text in (picked if len(names) > 1 else (picked,))))
        return values

    def _in_any_encoding(self, read: Callable[[Any], Any]) -> Any:
        for encoding in self.encodings:
            try:
                with _opened(self.path) as raw:
                    if raw.read(3) != b"\xef\xbb\xbf":
                        raw.seek(0)
                    text = io.TextIOWrapper(raw, encoding=encoding, newline="")
                    csv.field_size_limit(_FIELD_CHARACTERS_MAX)
                    return read(csv.reader(text, delimiter=self.delimiter, strict=True))
            except UnicodeDecodeError:
                if encoding == self.encodings[-1]:
                    raise
        raise AssertionError("There is at least one encoding.")


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    """Refuse what cannot be read, in words of our own: a library's quote the file, or its own arguments."""
    try:
        yield
    except OSError as error:
        raise QuestionRefused(f"{path} cannot be read: {error.strerror or 'it is damaged'}.") from error
    except StopIteration as error:
        raise QuestionRefused(
            f"{path.name} cannot be read as a table: it is empty. A table has a header with the names of its columns."
        ) from error
    except (ValueError, IndexError, EOFError, csv.Error, lzma.LZMAError, zipfile.BadZipFile) as error:
        raise QuestionRefused(f"{path.name} cannot be read as a table: {_why(error, path)}") from error


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    """A file, unpacked."""
    if path.suffix == ".zip":
        with zipfile.ZipFile(path) as archive, archive.open(archive.namelist()[0]) as inside:
            yield inside
    else:
        with _OPENERS.get(path.suffix, io.open)(path, "rb") as content:
            yield content


def _head(path: Path) -> bytes:
    with _opened(path) as content:
        head: bytes = content.read(HEAD_BYTES)
    return head


def _why(error: Exception, path: Path) -> str:
    if isinstance(error, UnicodeDecodeError):
        return f"it is not {error.encoding}. Leave --encoding out, and it is found, or name another one."
    if path.suffix == ".parquet":
        return "it is not a whole Parquet file. Write it again, or name a CSV file."
    return "it is not a CSV file with a header and a record in each line. Name one, or a Parquet file (.parquet)."
