"""CSV files of records, in pieces of bounded size (4-interface).

A record is one line: fields with a separator between them, in an encoding, both declared (`formats`); a field may
stand in double quotes, and quotes inside it are doubled. Every piece is checked to be exactly that before pyarrow
splits it. So nothing depends on what a lenient parser makes of a broken line, every record has a line number, and no
message of pyarrow's, which would quote the line, is passed on.
"""

import codecs
import csv
import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import BinaryIO, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from holder_service.records.faults import Faults, Unreadable
from holder_service.records.formats import RecordFormat
from holder_service.records.pieces import Piece, UnsplitPart, declared_names, pieces_of
from holder_service.records.progress import Report, unseen
from shared.contract.schema import Schema
from shared.wire.csv_signs import HEAD_BYTES, csv_signs

PIECE_BYTES: Final = 4 * 1024 * 1024
"""As much is read at once; no line may be longer."""

_LINE_FEED, _QUOTE, _RETURN = b'\n"\r'
DATE: Final = r"^\d{4}-\d{2}-\d{2}$"
_UNFIT: Final = "?"
_GZIP: Final = b"\x1f\x8b"
"""No boolean and no number."""
_PYARROW_ENCODINGS: Final = {"utf-8": "utf8", "utf-8-sig": "utf8", "latin-1": "latin-1", "cp1252": "cp1252"}
_EMPTY: Final = Unreadable("line 1", "the file is empty; expected a header with the names of the columns.")

_Bytes = npt.NDArray[np.uint8]
_Offsets = npt.NDArray[np.intp]


def csv_pieces(source: Path, schema: Schema, form: RecordFormat, faults: Faults) -> Iterator[Piece]:
    """Read a CSV file whose header names the row column and every declared column, in any order.

    Yields:
        Its sound records in file order: texts as the strict format has them, and null for a missing field. Lines that
        are not as they should be are noted and left out.

    Raises:
        InvalidRecords: The file cannot be read on, or too many lines were noted.
    """
    return pieces_of(csv_parts(source, schema, form, faults), faults)


def csv_parts(
    source: Path, schema: Schema, form: RecordFormat, faults: Faults, report: Report = unseen
) -> Iterator[UnsplitPart]:
    """Read such a file in blocks of lines; what is wrong with the format or the header is noted or raised at once.

    How many of its bytes are read is reported.

    Raises:
        InvalidRecords: The header is not as it should be.
        Unreadable: The file cannot be read on.
    """
    _check_words(schema, form, faults)
    reader: _Lines | None = None
    with source.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        for line, block in _blocks_of_lines(file):
            first, lines = line, block
            if reader is None:
                header, newline, lines = block.partition(b"\n")
                reader = _Lines.of_header(header + newline, schema, form, faults)
                first += len(newline)
            if lines:
                yield partial(reader.pieces, first, lines)
            report("reading", file.tell(), size)
    if reader is None:
        raise _EMPTY


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
        other = csv_signs(line)
        if len(names) == 1 and other.columns > 1:
            said = "';'" if other.delimiter == ";" else "'|'" if other.delimiter == "|" else other.delimiter
            raise faults.refusal(
                "line 1", f"the header has one column. If the delimiter is another one, give --delimiter {said}."
            )
        return cls(form, schema, declared_names("line 1", names, schema, faults, only_declared=form.only_declared))

    def pieces(self, line: int, lines: bytes, faults: Faults) -> Iterator[Piece]:
        """The sound records of some lines, the first of which has this number; the other lines are noted."""
        while lines:
            sound, columns, fault = self.split(lines)
            if sound:
                yield Piece("line", line, columns)
            lines = lines[len(sound) :]
            if fault:
                line += sound.count(b"\n")
                faults.add(f"line {line}", f"{fault}.")
                lines = lines.partition(b"\n")[2]
                line += 1

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
            encoded = texts.dictionary_encode()
            written, meant = pc.utf8_lower(encoded.dictionary), pa.repeat(_UNFIT, len(encoded.dictionary))
            for meaning, words in (("true", self.form.true), ("false", self.form.false)):
                said = pc.is_in(written, value_set=pa.array([word.lower() for word in words]))
                meant = pc.if_else(said, meaning, meant)
            return pa.DictionaryArray.from_arrays(encoded.indices, meant)
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
    try:
        with source.open("rb") as file:
            for _, lines in _blocks_of_lines(file):
                return _header_names(b"".join(lines.partition(b"\n")[:2]), form, faults)
        raise _EMPTY
    except Unreadable as end:
        raise faults.refusal(end.where, end.what) from None


def _header_names(line: bytes, form: RecordFormat, faults: Faults) -> list[str]:
    end, fault = _sound_part(line, form)
    if fault:
        raise faults.refusal("line 1", f"{fault}.")
    try:
        return next(csv.reader([line[:end].decode(form.encoding)], delimiter=form.separator, strict=True))
    except csv.Error:  # sound as it is, it can only be too long for the module
        raise faults.refusal("line 1", "the name of a column is too long.") from None


def _blocks_of_lines(file: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """The file in blocks of whole lines, each with the number of its first line."""
    line, rest = 1, b""
    read = file.read(PIECE_BYTES).removeprefix(codecs.BOM_UTF8)
    while read:
        end = read.rfind(b"\n") + 1
        if end:
            yield line, rest + read[:end]
            line += int(np.count_nonzero(np.frombuffer(read, dtype=np.uint8) == _LINE_FEED))
            rest = b""
        rest += read[end:]
        if len(rest) > PIECE_BYTES:
            raise Unreadable(f"line {line}", f"longer than {PIECE_BYTES} bytes.")
        read = file.read(PIECE_BYTES)
    if rest:
        yield line, rest


def _other_encoding(block: bytes, start: int, form: RecordFormat) -> str:
    """Say how bytes seem to be written that the encoding cannot have."""
    if block.startswith(_GZIP) and start < len(_GZIP):
        return "is compressed by gzip. Unpack the file, and send the CSV itself"
    signs = csv_signs(block[max(0, start - HEAD_BYTES // 2) :][:HEAD_BYTES])
    if signs.encoding == "utf-16":
        return "is UTF-16, which is not read. Save the file as UTF-8"
    fault = f"is not {form.encoding.removesuffix('-sig').upper()}"
    if signs.encoding == form.encoding:
        return fault
    return f"{fault}. If it is {signs.encoding}, give --encoding {signs.encoding}"


def _sound_part(block: bytes, form: RecordFormat) -> tuple[int, str | None]:
    """Where the lines end that are as they should be, and what is wrong with the one behind them, if there is one."""
    faults = []
    if b"\0" in block:
        faults.append((block.index(b"\0"), "holds a NUL byte; a CSV file is text, and not UTF-16"))
    try:
        block.decode(form.encoding)
    except UnicodeDecodeError as error:
        faults.append((error.start, _other_encoding(block, error.start, form)))
    text = np.frombuffer(block, dtype=np.uint8)
    ends = np.flatnonzero(text == _LINE_FEED)
    if b"\r" in block and (found := _lone_return(text)) is not None:
        faults.append((found, "holds a carriage return alone; a line ends with LF or CR LF"))
    if (found := _empty_line(text, ends)) is not None:
        faults.append((found, "is empty"))
    if b'"' in block and (found := _misplaced_quote(text, ends, ord(form.separator))) is not None:
        faults.append(
            (found, "has a misplaced quote: quote a field as a whole, within one line, and double the quotes inside")
        )
    if not faults:
        return len(block), None
    offset, fault = min(faults)
    return block.rfind(b"\n", 0, offset) + 1, fault


def _lone_return(text: _Bytes) -> int | None:
    """The offset of the first carriage return with no line feed behind it."""
    returns = np.flatnonzero(text == _RETURN)
    return _first(returns, text.take(returns + 1, mode="clip") != _LINE_FEED)


def _empty_line(text: _Bytes, ends: _Offsets) -> int | None:
    """The offset of the first line with nothing but its end."""
    lengths = np.diff(ends, prepend=-1)
    short = lengths <= len(b"\r\n")
    begins = ends[short] - lengths[short] + 1
    return _first(begins, (lengths[short] == 1) | (text[begins] == _RETURN))


def _misplaced_quote(text: _Bytes, ends: _Offsets, separator: int) -> int | None:
    """The offset of the first quote that neither opens, closes nor is doubled within a quoted field.

    A doubled quote reads as a field that closes and opens again at once, so quotes open and close in turn.
    """
    around = np.zeros(256, dtype=bool)
    around[[separator, _LINE_FEED, _QUOTE]] = True
    quotes = np.flatnonzero(text == _QUOTE)
    correct = np.empty(len(quotes), dtype=bool)
    correct[::2] = around[text[quotes[::2] - 1]]
    correct[0] |= quotes[0] == 0
    around[_RETURN] = True
    correct[1::2] = around[text.take(quotes[1::2] + 1, mode="clip")]  # behind the block is nothing, which is as good
    before_end = np.searchsorted(quotes, np.append(ends, len(text)))
    correct[before_end[before_end % 2 == 1] - 1] = False  # the last one opens, and its line ends before the next
    return _first(quotes, ~correct)


def _first(offsets: _Offsets, chosen: npt.NDArray[np.bool_]) -> int | None:
    return int(offsets[np.argmax(chosen)]) if chosen.any() else None


def _wrongly_divided(lines: bytes, fields: int, separator: int) -> int:
    """Return where the first line starts that has another number of fields."""
    text = np.frombuffer(lines, dtype=np.uint8)
    ends = np.flatnonzero(text == _LINE_FEED)
    found = np.flatnonzero(text == separator)
    separators = found[np.searchsorted(np.flatnonzero(text == _QUOTE), found) % 2 == 0]
    divisions = np.bincount(np.searchsorted(ends, separators), minlength=len(ends) + 1)
    wrong = int(np.argmax(divisions != fields - 1))
    return int(ends[wrong - 1]) + 1 if wrong else 0
