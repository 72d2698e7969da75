"""CSV files of records, in pieces of bounded size (4-interface).

A record is one line: fields with a separator between them, in an encoding, both declared (`formats`); a field may
stand in double quotes, and quotes inside it are doubled. Every piece is checked to be exactly that before pyarrow
splits it. So nothing depends on what a lenient parser makes of a broken line, every record has a line number, and no
message of pyarrow's, which would quote the line, is passed on.
"""

import codecs
import csv
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from holder_service.records.faults import Faults
from holder_service.records.formats import RecordFormat
from holder_service.records.pieces import Piece, declared_names
from shared.schema import Schema

PIECE_BYTES: Final = 4 * 1024 * 1024
"""As much is read at once; no line may be longer."""

_LONE_RETURN: Final = re.compile(rb"\r(?!\n)")
_LINE_FEED, _QUOTE, _RETURN = b'\n"\r'
DATE: Final = r"^\d{4}-\d{2}-\d{2}$"
_UNFIT: Final = "?"
"""No boolean and no number."""
_PYARROW_ENCODINGS: Final = {"utf-8": "utf8", "utf-8-sig": "utf8", "latin-1": "latin-1", "cp1252": "cp1252"}


def csv_pieces(source: Path, schema: Schema, form: RecordFormat, faults: Faults) -> Iterator[Piece]:
    """Read a CSV file whose header names the row column and every declared column, in any order.

    Yields:
        Its sound records in file order: texts as the strict format has them, and null for a missing field. Lines that
        are not as they should be are noted and left out.

    Raises:
        InvalidRecords: The file cannot be read on, or too many lines were noted.
    """
    _check_words(schema, form, faults)
    reader: _Lines | None = None
    line = 1
    with source.open("rb") as file:
        for lines in _blocks_of_lines(file, faults):
            rest = lines
            if reader is None:
                header, newline, rest = lines.partition(b"\n")
                reader = _Lines.of_header(header + newline, schema, form, faults)
                line += len(newline)
            while rest:
                sound, columns, fault = reader.split(rest)
                if sound:
                    yield Piece("line", line, columns)
                    line += sound.count(b"\n")
                rest = rest[len(sound) :]
                if fault:
                    faults.add(f"line {line}", f"{fault}.")
                    rest = rest.partition(b"\n")[2]
                    line += 1
    if reader is None:
        raise faults.refusal("line 1", "the file is empty; expected a header with the names of the columns.")


def _check_words(schema: Schema, form: RecordFormat, faults: Faults) -> None:
    for column in schema.columns:
        for word in form.missing:
            if word in column.category_indices:
                faults.add(f"column {column.name!r}", f"{word!r} is a declared category, so it cannot mean missing.")
    for name in form.dates:
        dated = schema.by_name.get(name)
        if dated is None or dated.type != "integer":
            faults.add(f"column {name!r}", "dates need a declared column of type integer: days since 1970-01-01.")


@dataclass(frozen=True, slots=True)
class _Lines:
    """Splits the lines of one file.

    Attributes:
        form: How it is written.
        schema: The declared columns.
        names: Of its columns in file order; `None` for those that are passed over.
    """

    form: RecordFormat
    schema: Schema
    names: tuple[str | None, ...]

    @classmethod
    def of_header(cls, line: bytes, schema: Schema, form: RecordFormat, faults: Faults) -> "_Lines":
        """A reader for a file with this header.

        Raises:
            InvalidRecords: The header is not as it should be.
        """
        names = _header_names(line, form, faults)
        return cls(form, schema, declared_names("line 1", names, schema, faults, only_declared=form.only_declared))

    def split(self, block: bytes) -> tuple[bytes, dict[str, pa.Array], str | None]:
        """The sound lines that a block begins with, their columns, and what is wrong with the line behind them."""
        end, fault = _sound_part(block, self.form)
        lines = block[:end]
        try:
            columns = self._columns(lines)
        except pa.ArrowInvalid:
            lines = lines[: _wrongly_divided(lines, len(self.names), ord(self.form.separator))]
            fault = f"does not have {len(self.names)} fields"
            columns = self._columns(lines)
        return lines, columns, fault

    def _columns(self, lines: bytes) -> dict[str, pa.Array]:
        """The columns of sound lines; pyarrow.ArrowInvalid if a line has another number of fields."""
        if not lines:
            return {}
        wanted = [name for name in self.names if name is not None]
        # No declared name holds a control character.
        names = [f"\x00{index}" if name is None else name for index, name in enumerate(self.names)]
        table = pa.csv.read_csv(
            pa.BufferReader(lines),
            read_options=pa.csv.ReadOptions(
                column_names=names, block_size=3 * len(lines) + 1, encoding=_PYARROW_ENCODINGS[self.form.encoding]
            ),
            parse_options=pa.csv.ParseOptions(delimiter=self.form.separator),
            convert_options=pa.csv.ConvertOptions(
                column_types=dict.fromkeys(wanted, pa.string()),
                include_columns=wanted,
                null_values=["", *self.form.missing],
                strings_can_be_null=True,
            ),
        )
        return {name: self._strict(name, table.column(name).combine_chunks()) for name in wanted}

    def _strict(self, name: str, texts: pa.Array) -> pa.Array:
        """A column's texts as the strict format writes them; what it cannot mean becomes a text that fits nothing."""
        column = self.schema.by_name.get(name)
        if column is None:
            return texts
        if column.type == "boolean":
            written, meant = pc.utf8_lower(texts), pc.if_else(pc.is_valid(texts), _UNFIT, texts)
            for meaning, words in (("true", self.form.true), ("false", self.form.false)):
                said = pc.is_in(written, value_set=pa.array([word.lower() for word in words]))
                meant = pc.if_else(said, meaning, meant)
            return meant
        if name in self.form.dates:
            return _days(texts)
        return with_point(texts) if column.ordered and self.form.decimal == "," else texts


def with_point(texts: pa.Array) -> pa.Array:
    """Numbers with a decimal comma as the strict format writes them."""
    return pc.if_else(pc.match_substring(texts, "."), _UNFIT, pc.replace_substring(texts, ",", "."))


def _days(texts: pa.Array) -> pa.Array:
    """The days from 1970-01-01 to some dates, as texts."""
    written = pc.if_else(pc.match_substring_regex(texts, DATE), texts, None)
    days = pc.strptime(written, format="%Y-%m-%d", unit="s", error_is_null=True).cast(pa.date32())
    meant = pc.equal(days.cast(pa.string()), texts).fill_null(
        False
    )  # the thirtieth of February is read as a day in March
    return pc.if_else(pc.is_valid(texts), pc.if_else(meant, days.cast(pa.int32()).cast(pa.string()), _UNFIT), None)


def csv_header(source: Path, form: RecordFormat, faults: Faults) -> list[str]:
    """The names in a CSV file's header, as they are.

    Raises:
        InvalidRecords: There is none, or it is not as it should be.
    """
    with source.open("rb") as file:
        for lines in _blocks_of_lines(file, faults):
            return _header_names(b"".join(lines.partition(b"\n")[:2]), form, faults)
    raise faults.refusal("line 1", "the file is empty; expected a header with the names of the columns.")


def _header_names(line: bytes, form: RecordFormat, faults: Faults) -> list[str]:
    end, fault = _sound_part(line, form)
    if fault:
        raise faults.refusal("line 1", f"{fault}.")
    try:
        return next(csv.reader([line[:end].decode(form.encoding)], delimiter=form.separator, strict=True))
    except csv.Error:  # sound as it is, it can only be too long for the module
        raise faults.refusal("line 1", "the name of a column is too long.") from None


def _blocks_of_lines(file: BinaryIO, faults: Faults) -> Iterator[bytes]:
    """The file in blocks of whole lines."""
    line, rest = 1, b""
    read = file.read(PIECE_BYTES).removeprefix(codecs.BOM_UTF8)
    while read:
        end = read.rfind(b"\n") + 1
        if end:
            yield rest + read[:end]
            line += read.count(b"\n")
            rest = b""
        rest += read[end:]
        if len(rest) > PIECE_BYTES:
            raise faults.refusal(f"line {line}", f"longer than {PIECE_BYTES} bytes.")
        read = file.read(PIECE_BYTES)
    if rest:
        yield rest


def _sound_part(block: bytes, form: RecordFormat) -> tuple[int, str | None]:
    """Where the lines end that are as they should be, and what is wrong with the one behind them, if there is one."""
    faults = []
    if b"\0" in block:
        faults.append((block.index(b"\0"), "holds a NUL byte; a CSV file is text"))
    try:
        block.decode(form.encoding)
    except UnicodeDecodeError as error:
        faults.append((error.start, f"is not {form.encoding.removesuffix('-sig').upper()}"))
    if b"\r" in block and (found := _LONE_RETURN.search(block)):
        faults.append((found.start(), "holds a carriage return alone; a line ends with LF or CR LF"))
    faults += [(offset, "is empty") for end in (b"\n\n", b"\n\r\n") if (offset := (b"\n" + block).find(end)) >= 0]
    if b'"' in block and (misplaced := _misplaced_quote(block, ord(form.separator))) is not None:
        faults.append(
            (
                misplaced,
                "has a misplaced quote: quote a field as a whole, within one line, and double the quotes inside",
            )
        )
    if not faults:
        return len(block), None
    offset, fault = min(faults)
    return block.rfind(b"\n", 0, offset) + 1, fault


def _misplaced_quote(block: bytes, separator: int) -> int | None:
    """The offset of the first quote that neither opens, closes nor is doubled within a quoted field.

    A doubled quote reads as a field that closes and opens again at once, so quotes open and close in turn.
    """
    text = np.frombuffer(block, dtype=np.uint8)
    quotes = np.flatnonzero(text == _QUOTE)
    line = np.searchsorted(np.flatnonzero(text == _LINE_FEED), quotes)
    before = np.concatenate(([_LINE_FEED], text))[quotes]
    behind = np.concatenate((text, [_LINE_FEED]))[quotes + 1]
    opens = np.arange(len(quotes)) % 2 == 0
    closed = np.append(line[1:] == line[:-1], False)
    correct = np.where(
        opens,
        np.isin(before, (separator, _LINE_FEED, _QUOTE)) & closed,
        np.isin(behind, (separator, _LINE_FEED, _QUOTE, _RETURN)),
    )
    return None if correct.all() else int(quotes[np.argmin(correct)])


def _wrongly_divided(lines: bytes, fields: int, separator: int) -> int:
    """Where the first line starts that has another number of fields."""
    text = np.frombuffer(lines, dtype=np.uint8)
    ends = np.flatnonzero(text == _LINE_FEED)
    found = np.flatnonzero(text == separator)
    separators = found[np.searchsorted(np.flatnonzero(text == _QUOTE), found) % 2 == 0]
    divisions = np.bincount(np.searchsorted(ends, separators), minlength=len(ends) + 1)
    wrong = int(np.argmax(divisions != fields - 1))
    return int(ends[wrong - 1]) + 1 if wrong else 0
