"""Files that are sent, checked record by record and put aside column by column (2-privacy §8).

Memory is bounded whatever a file's size. Person keys are hashed as they arrive, and nowhere put aside in clear.
"""

from bisect import bisect_right
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from holder_service.domain.errors import InvalidRecords
from holder_service.records.csv_records import csv_parts
from holder_service.records.faults import FAULTS_MAX, Faults, Unreadable
from holder_service.records.formats import RecordFormat, Upload
from holder_service.records.parquet_records import parquet_parts
from holder_service.records.person_keys import PersonKeys, PersonSecret
from holder_service.records.pieces import Piece, UnsplitPart
from holder_service.records.pipeline import in_order
from holder_service.records.progress import Report, unseen
from holder_service.records.values import checked_values, expectation, over_marked, people_column, value_type
from shared.contract.schema import Schema

_READERS: Final[Mapping[str, Callable[[Path, Schema, RecordFormat, Faults, Report], Iterator[UnsplitPart]]]] = {
    "text/csv": csv_parts,
    "application/vnd.apache.parquet": parquet_parts,
}

_Fault = tuple[str, str]
_Values = npt.NDArray[Any]


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class StagedFile:
    """The checked records of a file, in a folder that goes with the work on it.

    Attributes:
        keys: The keyed hashes of the person keys; none of an aggregate table.
        people: How many people each record stands for, mapped, shape (records,), int64; `None` but in an aggregate
            table.
        values: Of each column in declared order, mapped: what `checked_values` makes of it, shape (records,).
    """

    keys: PersonKeys
    people: npt.NDArray[np.int64] | None
    values: tuple[_Values, ...]

    @classmethod
    def read(
        cls,
        upload: Upload,
        schema: Schema,
        *,
        secret: PersonSecret,
        folder: Path,
        records_max: int,
        too_many: str,
        report: Report = unseen,
    ) -> "StagedFile":
        """Check all records of a file.

        Args:
            upload: A CSV or Parquet file with the row column and every column, in any order.
            schema: The row column and the columns.
            secret: What person keys are hashed under.
            folder: An empty folder.
            records_max: How many people it may be about.
            too_many: What to say if it has more.
            report: Is called with how much of it is read, and then that keys are compared.

        Raises:
            InvalidRecords: Naming for each fault, up to a bound, the line (CSV; the header is line 1) or the record
                (Parquet), the column and what is expected there; never a value, nor how many records there are.
        """
        keys, faults = PersonKeys(folder, secret), Faults()
        with _refusing(faults):
            with closing(_found(upload, schema, faults, report)) as found:
                _stage(_at_most(found, records_max, too_many, faults), schema, folder, keys, faults, report=report)
            people = None
            if schema.is_aggregate:
                people = _mapped(_people_file(folder), np.dtype(np.int64))
                if int(people.sum()) > records_max:
                    raise faults.refusal("", too_many)
        values = [_mapped(_staged(folder, index), value_type(column)) for index, column in enumerate(schema.columns)]
        return cls(keys, people, tuple(values))

    def __len__(self) -> int:
        return len(self.keys.hashes if self.people is None else self.people)


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class CheckedPiece:
    """A piece, its columns' values, and those among them that do not fit."""

    piece: Piece
    values: Mapping[str, _Values]
    unfit: Sequence[_Fault]


def checked_pieces(upload: Upload, schema: Schema, *, records_max: int, too_many: str) -> Iterator[CheckedPiece]:
    """The pieces of a file, checked, for who keeps them elsewhere; whether a key is there twice is not looked at.

    Args:
        upload, schema, records_max, too_many: As for `StagedFile.read`.

    Raises:
        InvalidRecords: As for `StagedFile.read`, behind all sound pieces that come before.
    """
    faults = Faults()
    with _refusing(faults), closing(_found(upload, schema, faults, unseen)) as found:
        for checked in _at_most(found, records_max, too_many, faults):
            if not faults.found:
                yield checked
        faults.check()


@contextmanager
def _refusing(faults: Faults) -> Iterator[None]:
    """Refuse a file that cannot be read on; no text may quote a record."""
    try:
        yield
    except Unreadable as end:
        raise faults.refusal(end.where, end.what) from None
    except (pa.ArrowException, MemoryError):
        raise InvalidRecords("The file cannot be read as what it says it is, or in the memory there is.") from None


def _found(
    upload: Upload, schema: Schema, faults: Faults, report: Report
) -> Generator[Sequence[CheckedPiece | _Fault | Unreadable]]:
    """The parts of a file, checked on several cores, in its order."""
    reader = _READERS.get(upload.media_type.partition(";")[0].strip().lower())
    if reader is None:
        raise InvalidRecords(f"Send the records as {' or '.join(_READERS)}.")
    parts = reader(upload.path, schema, upload.form, faults, report)
    return in_order(lambda part: list(_checked_part(part, schema, upload.form)), parts)


def _checked_part(
    part: UnsplitPart, schema: Schema, form: RecordFormat
) -> Iterator[CheckedPiece | _Fault | Unreadable]:
    """The pieces of a part and its faults, in file order; nothing that other parts are needed for is done here."""
    own, given = Faults(), 0
    try:
        for piece in part(own):
            yield from own.found[given:]
            given = len(own.found)
            yield _checked(piece, schema, form)
    except InvalidRecords:  # as many as are named were noted
        yield from own.found[given:]
    except Unreadable as end:
        yield from own.found[given:]
        yield end
    else:
        yield from own.found[given:]


def _at_most(
    parts: Iterable[Sequence[CheckedPiece | _Fault | Unreadable]], records_max: int, too_many: str, faults: Faults
) -> Iterator[CheckedPiece]:
    """The pieces of all parts, as long as they have no more records; faults are noted in their place.

    Raises:
        InvalidRecords: There are more, or too many faults.
        Unreadable: The file cannot be read on.
    """
    records = 0
    for part in parts:
        for found in part:
            if isinstance(found, tuple):
                faults.add(*found)
            elif isinstance(found, Unreadable):
                raise found
            else:
                records += len(found.piece)
                if records > records_max:
                    raise faults.refusal("", too_many)
                for fault in found.unfit:
                    faults.add(*fault)
                yield found


def _stage(
    pieces: Iterator[CheckedPiece], schema: Schema, folder: Path, keys: PersonKeys, faults: Faults, *, report: Report
) -> None:
    """Take all records, and append each column's values to a file of its own.

    Raises:
        InvalidRecords: For all faults, up to a bound, repeated keys behind the others.
    """
    unit, records = "", 0
    begins: list[tuple[int, int]] = []
    for checked in pieces:
        unit = unit or checked.piece.unit
        if schema.person_key is not None:
            begins.append((records, checked.piece.first))
            texts = checked.piece.columns[schema.person_key]
            # A key with too many marks is a fault already, and its NFC would take hours.
            given = pc.if_else(over_marked(texts), "", texts).to_pylist()
            keys.add(key or f"\0{records + number}" for number, key in enumerate(given))  # a missing one is a fault
        records += len(checked.piece)
        if faults.found:
            continue
        if schema.person_key is None:
            with _people_file(folder).open("ab") as file:
                checked.values[schema.row_column].astype(np.int64).tofile(file)
        for index, column in enumerate(schema.columns):
            with _staged(folder, index).open("ab") as file:
                checked.values[column.name].tofile(file)
    if schema.person_key is not None:
        report("comparing-keys")
    for repeated in keys.repeated(FAULTS_MAX):
        before, first = begins[bisect_right(begins, repeated, key=itemgetter(0)) - 1]
        faults.add(
            f"{unit} {first + repeated - before}, column {schema.person_key!r}",
            f"the key of an earlier {unit}; everybody has exactly one.",
        )
    faults.check()


def _checked(piece: Piece, schema: Schema, form: RecordFormat) -> CheckedPiece:
    """A piece with its columns' values; those that do not fit are listed record by record in the columns' order."""
    values, unfit = {}, []
    for position, (name, array) in enumerate(piece.columns.items()):
        if name == schema.people:
            stands_for = people_column(name)
            values[name], fit = checked_values(array, stands_for)
            expected = f"how many people the row stands for: {expectation(stands_for)}"
        elif name == schema.person_key:
            marked = over_marked(array)
            fit = pc.and_not(pc.not_equal(array, "").fill_null(False), marked).to_numpy(zero_copy_only=False)
            expected = "a person key" + (" with at most 30 combining marks in a row" if pc.any(marked).as_py() else "")
        else:
            values[name], fit = checked_values(array, schema.by_name[name])
            expected = expectation(schema.by_name[name], dated=name in form.dates)
        if not fit.all():
            where = f"column {name!r}", f"expected {expected}."
            unfit += [(int(index), position, *where) for index in np.flatnonzero(~fit)[:FAULTS_MAX]]
    faults = [(f"{piece.unit} {piece.first + index}, {column}", text) for index, _, column, text in sorted(unfit)]
    return CheckedPiece(piece, values, faults)


def _staged(folder: Path, index: int) -> Path:
    return folder / f"column-{index}"


def _people_file(folder: Path) -> Path:
    return folder / "people"


def _mapped(path: Path, kind: np.dtype[Any]) -> _Values:
    if path.exists() and path.stat().st_size:
        return np.memmap(path, dtype=kind, mode="r")
    return np.empty(0, dtype=kind)
