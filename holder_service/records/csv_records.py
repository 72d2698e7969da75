"""CSV files of records, in pieces of bounded size (4-interface).

A record is one line: fields with commas between them, in UTF-8; a field may stand in double quotes,
and quotes inside it are doubled. Every piece is checked to be exactly that before pyarrow splits it.
So nothing depends on what a lenient parser makes of a broken line, every record has a line number,
and no message of pyarrow's, which would quote the line, is passed on.
"""

import codecs
import csv
import re
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.csv

from holder_service.domain.errors import InvalidRecords
from holder_service.records.pieces import Piece, declared_names
from shared.schema import Schema

PIECE_BYTES: Final = 4 * 1024 * 1024
"""As much is read at once; no line may be longer."""

_LONE_RETURN: Final = re.compile(rb"\r(?!\n)")
_COMMA, _LINE_FEED, _QUOTE, _RETURN = b',\n"\r'


def csv_pieces(source: Path, schema: Schema) -> Iterator[Piece]:
    """Read a CSV file whose header names the person key and every declared column, in any order.

    Yields:
        Its records in file order: texts, and null for an empty field.

    Raises:
        InvalidRecords: Naming the first line that is not as it should be; what precedes it was yielded.
    """
    names: tuple[str, ...] = ()
    line = 1
    with source.open("rb") as file:
        for block in _blocks_of_lines(file):
            end, fault = _sound_part(block)
            lines = block[:end]
            if lines and not names:
                header, newline, lines = lines.partition(b"\n")
                names = declared_names("line 1", _header(header), schema)
                line += len(newline)
            try:
                columns = _split(lines, names)
            except pa.ArrowInvalid:
                lines = lines[: _wrongly_divided(lines, len(names))]
                fault = f"does not have {len(names)} fields"
                columns = _split(lines, names)
            if lines:
                yield Piece("line", line, columns)
                line += lines.count(b"\n")
            if fault:
                raise InvalidRecords(f"line {line}: {fault}.")
    if not names:
        raise InvalidRecords("line 1: the file is empty; expected a header with the names of the columns.")


def _header(line: bytes) -> list[str]:
    try:
        return next(csv.reader([line.decode()], strict=True))
    except csv.Error:  # sound as it is, it can only be too long for the module
        raise InvalidRecords("line 1: the name of a column is too long.") from None


def _blocks_of_lines(file: BinaryIO) -> Iterator[bytes]:
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
            raise InvalidRecords(f"line {line}: longer than {PIECE_BYTES} bytes.")
        read = file.read(PIECE_BYTES)
    if rest:
        yield rest


def _sound_part(block: bytes) -> tuple[int, str | None]:
    """Where the lines end that are as they should be, and what is wrong with the one behind them, if there is one."""
    faults = []
    if b"\0" in block:
        faults.append((block.index(b"\0"), "holds a NUL byte; a CSV file is text"))
    try:
        block.decode()
    except UnicodeDecodeError as error:
        faults.append((error.start, "is not UTF-8"))
    if b"\r" in block and (found := _LONE_RETURN.search(block)):
        faults.append((found.start(), "holds a carriage return alone; a line ends with LF or CR LF"))
    faults += [(offset, "is empty") for end in (b"\n\n", b"\n\r\n") if (offset := (b"\n" + block).find(end)) >= 0]
    if b'"' in block and (misplaced := _misplaced_quote(np.frombuffer(block, dtype=np.uint8))) is not None:
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


def _misplaced_quote(text: npt.NDArray[np.uint8]) -> int | None:
    """The offset of the first quote that neither opens, closes nor is doubled within a quoted field.

    A doubled quote reads as a field that closes and opens again at once, so quotes open and close in turn.
    """
    quotes = np.flatnonzero(text == _QUOTE)
    line = np.searchsorted(np.flatnonzero(text == _LINE_FEED), quotes)
    before = np.concatenate(([_LINE_FEED], text))[quotes]
    behind = np.concatenate((text, [_LINE_FEED]))[quotes + 1]
    opens = np.arange(len(quotes)) % 2 == 0
    closed = np.append(line[1:] == line[:-1], False)
    correct = np.where(
        opens,
        np.isin(before, (_COMMA, _LINE_FEED, _QUOTE)) & closed,
        np.isin(behind, (_COMMA, _LINE_FEED, _QUOTE, _RETURN)),
    )
    return None if correct.all() else int(quotes[np.argmin(correct)])


def _split(lines: bytes, names: tuple[str, ...]) -> dict[str, pa.Array]:
    """The columns of sound lines; pyarrow.ArrowInvalid if a line has another number of fields."""
    if not lines:
        return {}
    table = pa.csv.read_csv(
        pa.BufferReader(lines),
        read_options=pa.csv.ReadOptions(column_names=names, block_size=len(lines) + 1),
        convert_options=pa.csv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.string()), null_values=[""], strings_can_be_null=True
        ),
    )
    return {name: table.column(name).combine_chunks() for name in names}


def _wrongly_divided(lines: bytes, fields: int) -> int:
    """Where the first line starts that has another number of fields."""
    text = np.frombuffer(lines, dtype=np.uint8)
    ends = np.flatnonzero(text == _LINE_FEED)
    commas = np.flatnonzero(text == _COMMA)
    separators = commas[np.searchsorted(np.flatnonzero(text == _QUOTE), commas) % 2 == 0]
    divisions = np.bincount(np.searchsorted(ends, separators), minlength=len(ends) + 1)
    wrong = int(np.argmax(divisions != fields - 1))
    return int(ends[wrong - 1]) + 1 if wrong else 0
