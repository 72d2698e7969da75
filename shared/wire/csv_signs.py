"""Guesses of how a CSV file is written, from its beginning: what a reader goes by, or what a refusal suggests.

Excel writes semicolons, decimal commas and Windows letters where the machine's language does, and R what it is told.
Each of the three is found by itself; nothing of the file's content is in what is found.
"""

import codecs
import csv
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

HEAD_BYTES: Final = 64 * 1024
LINES_MAX: Final = 50
DELIMITERS: Final[Mapping[str, str]] = {",": ",", ";": ";", "tab": "\t", "|": "|"}
ALIASES: Final[Mapping[str, str]] = {
    "utf8": "utf-8", "utf-8": "utf-8", "utf8sig": "utf-8-sig", "utf-8-sig": "utf-8-sig", "latin1": "latin-1",
    "latin-1": "latin-1", "iso-8859-1": "latin-1", "iso8859-1": "latin-1", "l1": "latin-1", "cp1252": "cp1252",
    "windows-1252": "cp1252", "cp-1252": "cp1252", "1252": "cp1252", "ansi": "cp1252",
}  # fmt: skip
"""What people call the encodings that are read."""
_NOT_IN_WINDOWS: Final = frozenset(b"\x81\x8d\x8f\x90\x9d")
_COMMA_NUMBER: Final = re.compile(r"[+-]?\d*,\d+")
_POINT_NUMBER: Final = re.compile(r"[+-]?\d*\.\d+")


@dataclass(frozen=True, slots=True)
class CsvSigns:
    """The guessed form of a file.

    Attributes:
        encoding: "utf-8", "cp1252", "latin-1", or "utf-16", which is not read.
        delimiter: As the flag names it: a comma, a semicolon, "tab" or a bar.
        decimal: A point or a comma.
        columns: How many columns the header has then.
    """

    encoding: str = "utf-8"
    delimiter: str = ","
    decimal: str = "."
    columns: int = 1

    def flags(self, *, but: Mapping[str, str | None]) -> str:
        """The flags that say so, as they are typed; empty without any.

        Args:
            but: What each flag says already, by its name; `None` where it needs no saying.
        """
        quoted = {";": "';'", "|": "'|'"}
        found = {"delimiter": self.delimiter, "encoding": self.encoding, "decimal": self.decimal}
        return " ".join(
            f"--{name} {quoted.get(value, value)}"
            for name, value in found.items()
            if but.get(name) not in (None, value)
        )


def csv_signs(head: bytes) -> CsvSigns:
    """Find out how a file is written.

    Args:
        head: Its beginning; `HEAD_BYTES` are enough.
    """
    encoding = _encoding(head)
    if encoding == "utf-16":
        return CsvSigns(encoding)
    lines = head.removeprefix(codecs.BOM_UTF8).decode(encoding, errors="replace").splitlines()[:LINES_MAX]
    if len(head) >= HEAD_BYTES and len(lines) > 1:
        lines = lines[:-1]  # which may be cut
    delimiter, rows = max(
        ((name, _rows(lines, separator)) for name, separator in DELIMITERS.items()),
        key=lambda one: _fields(one[1]),
    )
    return CsvSigns(encoding, delimiter, _decimal(rows), len(rows[0]) if rows else 0)


def _encoding(head: bytes) -> str:
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        decoder.decode(head)  # a letter that is cut at the end is none that is wrong
    except UnicodeDecodeError:
        return "latin-1" if _NOT_IN_WINDOWS & set(head) else "cp1252"
    return "utf-8"


def _rows(lines: Sequence[str], separator: str) -> list[list[str]]:
    try:
        return [row for row in csv.reader(lines, delimiter=separator) if row]
    except csv.Error:
        return []


def _fields(rows: Sequence[Sequence[str]]) -> int:
    """Return how many fields all rows have; one where they do not have equally many."""
    numbers = {len(row) for row in rows}
    return numbers.pop() if len(numbers) == 1 else 1


def _decimal(rows: Sequence[Sequence[str]]) -> str:
    values = [value.strip() for row in rows[1:] for value in row]
    with_comma = any(_COMMA_NUMBER.fullmatch(value) for value in values)
    return "," if with_comma and not any(_POINT_NUMBER.fullmatch(value) for value in values) else "."
