"""Pieces of an uploaded file: some consecutive records, column by column, before they are checked."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

import pyarrow as pa

from holder_service.records.faults import Faults, Unreadable
from shared.contract.schema import Schema
from shared.wire.limits import TEXT_CHARACTERS_MAX
from shared.wire.text import normalise

UNDECLARED_SHOWN_MAX: Final = 20
NAME_CHARACTERS_MAX: Final = 4 * TEXT_CHARACTERS_MAX
"""No declared name is longer, however it is written: NFC makes at most four characters one."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Consecutive records of a file.

    Attributes:
        unit: What the file's records are counted in for people: a CSV file's lines, the header being
            line 1, or a Parquet file's records from 1.
        first: The number of the first record.
        columns: Arrow arrays of one length under the declared names, the row column's too, in the
            file's order. Texts are as in the file; null is missing.
    """

    unit: Literal["line", "record"]
    first: int
    columns: Mapping[str, pa.Array]

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))


UnsplitPart = Callable[[Faults], Iterator[Piece]]
"""Consecutive records as they were read, which several cores may split at once.

Gives their pieces. Faults behind which the file can be read are noted; `Unreadable` is raised for another."""


def pieces_of(parts: Iterable[UnsplitPart], faults: Faults) -> Iterator[Piece]:
    """The pieces of all parts, split one after the other.

    Raises:
        InvalidRecords: The file cannot be read on, or too many faults were noted.
    """
    try:
        for part in parts:
            yield from part(faults)
    except Unreadable as end:
        raise faults.refusal(end.where, end.what) from None


def declared_names(
    where: str, names: Sequence[str], schema: Schema, faults: Faults, *, only_declared: bool
) -> tuple[str | None, ...]:
    """Check that a file has the row column and every declared column, each once, and nothing else unless it may.

    Args:
        where: What names them, for the error: "line 1".
        names: As in the file.
        schema: The dataset's declared columns.
        faults: What was found so far.
        only_declared: Whether other columns are passed over.

    Returns:
        The same names in NFC; `None` for a column that is passed over.

    Raises:
        InvalidRecords: For all names. An undeclared one appears by its number alone: where a file has no header, what
            is in that field is somebody’s value.
    """
    wanted = dict.fromkeys((schema.row_column, *schema.by_name))
    found: set[str] = set()
    names_in_file: list[str | None] = []
    undeclared: list[int] = []
    for number, sent in enumerate(names, start=1):
        name = _normalised(sent)
        if name in found:
            faults.add(where, f"column {name!r} is there twice.")
        elif name in wanted:
            found.add(name)
        elif not only_declared:
            undeclared.append(number)
        names_in_file.append(name if name in found else None)
    if undeclared:
        listed = ", ".join(map(str, undeclared[:UNDECLARED_SHOWN_MAX])) + (
            ", …" if undeclared[UNDECLARED_SHOWN_MAX:] else ""
        )
        which = (
            f"field {listed} is not a declared column"
            if len(undeclared) == 1
            else f"fields {listed} are not declared columns"
        )
        faults.add(
            where,
            f"{which}. The file has the {schema.row_words} {schema.row_column!r} and every declared column, in any "
            "order. Skip others with --only-declared (over HTTP `only_declared=true`).",
        )
    for name in wanted:
        if name not in found:
            faults.add(where, f"column {name!r} is missing.")
    faults.check()
    return tuple(names_in_file)


def _normalised(name: str) -> str:
    if len(name) > NAME_CHARACTERS_MAX:
        return ""
    try:
        return normalise(name)
    except ValueError:  # a control character: no declared name has one
        return ""
