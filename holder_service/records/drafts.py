"""Drafts of declarations: what a file of records suggests, for whoever may see the file (2-privacy §8).

A declaration is public, so a draft keeps out of it what only the records say: smallest and largest values, words that
few people have, how many people there are. It is made on the holder's own machine, sends nothing, and cannot be
declared as it is: what is sensitive, and the cap, are for people to decide.
"""

import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet
from pydantic import TypeAdapter, ValidationError

from holder_service.domain.errors import InvalidRecords
from holder_service.records.csv_records import csv_header, csv_pieces
from holder_service.records.draft_hints import could_be_key, rounded_range, sounds_sensitive
from holder_service.records.draft_profiles import Profile
from holder_service.records.faults import Faults
from holder_service.records.formats import RecordFormat
from holder_service.records.options import DraftOptions
from holder_service.records.parquet_records import shown_type
from holder_service.records.person_keys import PersonKeys, PersonSecret
from holder_service.records.values import checked_values, expectation, is_text, people_column
from shared.contract.schema import Column, Schema
from shared.wire import limits
from shared.wire.text import Text

_NAME: Final = TypeAdapter(Text)
_WORD: Final = "\N{SYMBOL FOR NULL}"
"""The one category of a column that is read as texts; what the texts are is not compared with it."""


@dataclass(frozen=True, slots=True)
class Draft:
    """A draft of a declaration.

    Attributes:
        person_key: The likely person key; None if no column has a different value for everybody.
        people: Of an aggregate table, its column of people.
        columns: As far as they could be decided; none is sensitive.
        notes: What has to be decided, and what was left out and why; about columns, without a value.
    """

    person_key: str | None
    people: str | None
    columns: tuple[Column, ...]
    notes: tuple[str, ...]

    def document(self) -> dict[str, Any]:
        """Return what was decided, as a declaration has it."""
        named = {"person_key": self.person_key, "people": self.people}
        return {
            **{field: name for field, name in named.items() if name is not None},
            "relation": "add_remove",
            "columns": self.columns,
        }


def draft(source: Path, media_type: str, form: RecordFormat, options: DraftOptions) -> Draft:
    """Draft a declaration of a file's columns. Memory is bounded, whatever the file's size.

    Raises:
        InvalidRecords: The file cannot be read as what it is declared to be, or its column of people is none.
    """
    with tempfile.TemporaryDirectory(prefix="holder-draft-") as name:
        folder, secret = Path(name), PersonSecret.forgotten()

        def profile(column: str, written: str) -> Profile:
            keys = folder / str(len(profiles))
            keys.mkdir()
            return Profile(column, written, form, options.categories_max, PersonKeys(keys, secret))

        profiles: dict[str, Profile] = {}
        notes: list[str] = []
        try:
            read = _parquet_texts if media_type != "text/csv" else _csv_texts
            kinds, texts = read(source, form, notes)
            notes += [
                f"Column {name!r} does not exist, so it cannot have dates (--dates). Correct the name."
                for name in form.dates
                if name not in kinds
            ]
            if options.people is not None and options.people not in kinds:
                raise InvalidRecords(
                    f"Column {options.people!r} is not there, so it says of no row how many people it is."
                )
            for column, written in kinds.items():
                if column != options.people:
                    profiles[column] = profile(column, written)
            for piece in texts:
                people = None if options.people is None else _people(piece[options.people], options.people)
                for column, known in profiles.items():
                    known.add(piece[column], people)
        except (pa.ArrowException, OSError, UnicodeDecodeError, MemoryError) as error:
            if isinstance(error, OSError) and error.errno is not None:
                raise  # of the file system, which names the file alone; another text might quote a record
            raise InvalidRecords("The file cannot be read as what it says it is, or in the memory there is.") from None
        return _drafted(tuple(profiles.values()), notes, options)


def _csv_texts(
    source: Path, form: RecordFormat, notes: list[str]
) -> tuple[dict[str, str], Iterator[Mapping[str, pa.Array]]]:
    """The columns of a CSV file, and their texts piece by piece."""
    faults = Faults()
    names = list(_usable(csv_header(source, form, faults), notes))
    if len(names) < 2:
        raise InvalidRecords("The header has fewer than two columns. Is the delimiter another one (--delimiter)?")
    schema = Schema(
        person_key=names[0],
        columns=tuple(Column(name=name, type="category", categories=(_WORD,)) for name in names[1:]),
    )
    passing = form.model_copy(update={"only_declared": True, "dates": ()})

    def texts() -> Iterator[Mapping[str, pa.Array]]:
        for piece in csv_pieces(source, schema, passing, faults):
            yield piece.columns
        faults.check()

    return dict.fromkeys(names, "csv"), texts()


def _parquet_texts(
    source: Path, form: RecordFormat, notes: list[str]
) -> tuple[dict[str, str], Iterator[Mapping[str, pa.Array]]]:
    """The columns of a Parquet file, and their values as texts piece by piece."""
    if form.of_text:
        raise InvalidRecords("A Parquet file says itself how it is written: leave out the options of the format.")
    kinds: dict[str, str] = {}
    with pa.parquet.ParquetFile(source) as file:
        schema = file.schema_arrow
        as_sent = _usable(schema.names, notes)
        for name, sent in as_sent.items():
            kind = schema.field(sent).type
            kind = kind.value_type if pa.types.is_dictionary(kind) else kind
            written = _written(kind)
            if written is None:
                notes.append(
                    f"Column {name!r} is left out: values of its type, {shown_type(kind)}, cannot be declared."
                )
            else:
                kinds[name] = written

    def texts() -> Iterator[Mapping[str, pa.Array]]:
        with pa.parquet.ParquetFile(source, memory_map=True) as file:
            for batch in file.iter_batches(columns=[as_sent[name] for name in kinds]):
                yield {name: _as_text(batch.column(as_sent[name])) for name in kinds}

    return kinds, texts()


def _written(kind: pa.DataType) -> str | None:
    known: tuple[tuple[Callable[[pa.DataType], bool], str], ...] = (
        (is_text, "text"), (pa.types.is_boolean, "boolean"), (pa.types.is_integer, "number"),
        (pa.types.is_floating, "number"), (pa.types.is_decimal, "number"), (pa.types.is_date32, "number"),
    )  # fmt: skip
    return next((written for fits, written in known if fits(kind)), None)


def _as_text(array: pa.Array) -> pa.Array:
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if pa.types.is_date32(array.type):
        array = array.cast(pa.int32())
    if pa.types.is_floating(array.type):
        array = array.cast(pa.float64())
    return array.cast(pa.string())


def _usable(names: list[str], notes: list[str]) -> dict[str, str]:
    """The names that a declared column can have, in NFC, each with the file's own.

    Raises:
        InvalidRecords: One is there twice, or there are more than a dataset may have.
    """
    found: dict[str, str] = {}
    for index, sent in enumerate(names):
        try:
            name = _NAME.validate_python(sent)
        except ValidationError:
            notes.append(
                f"Column number {index + 1} is left out: its name cannot be declared. Rename it in the "
                "file to include it."
            )
            continue
        if name in found:
            raise InvalidRecords(
                f"Column {name!r} is there twice (names are compared after NFC). Rename one of them, or leave it out "
                "of the file."
            )
        found[name] = sent
    if len(found) > limits.COLUMNS_PER_DATASET_MAX:
        raise InvalidRecords(f"A dataset has at most {limits.COLUMNS_PER_DATASET_MAX} columns; the file has more.")
    return found


def _people(texts: pa.Array, name: str) -> pa.Array:
    """Return how many people each row stands for.

    Raises:
        InvalidRecords: A row does not say it.
    """
    column = people_column(name)
    numbers, fit = checked_values(texts, column)
    if fit.all():
        return pa.array(numbers.astype("int64"))
    raise InvalidRecords(
        f"Column {name!r} does not say of every row how many people it stands for: expected {expectation(column)}."
    )


def _with_range(column: Column, extremes: tuple[float, float]) -> Column:
    """A column with a range of round numbers around its values.

    Raises:
        OverflowError, ValueError: There are none, or none that can be declared.
    """
    low, high = rounded_range(*extremes, whole=column.type == "integer")
    return Column.model_validate({**dict(column), "minimum": low, "maximum": high})


def _drafted(profiles: tuple[Profile, ...], notes: list[str], options: DraftOptions) -> Draft:
    aggregate = options.people is not None
    keys = sorted((one.name for one in profiles if one.is_unique() and not aggregate), key=could_be_key, reverse=True)
    key = keys[0] if keys else None
    if aggregate:
        notes.append("Nobody in an aggregate table has a key: values cannot be linked, and overlaps are not found.")
    elif key is None:
        notes.append(
            "No column has a different value for everybody: name the person key yourself (person_key). If rows stand "
            "for several people each, draft again with the column that says for how many (--people)."
        )
    elif len(keys) > 1:
        others = ", ".join(map(repr, keys[1:]))
        notes.append(f"The person key could be another column than {key!r}: {others} have different values too.")
    columns = []
    for profile in profiles:
        if profile.name == key:
            continue
        drafted = profile.drafted(options.people_min)
        notes += [drafted.note] if drafted.note else []
        if drafted.column is None:
            continue
        column = drafted.column
        if options.ranges and profile.extremes is not None and column.ordered:
            try:
                column = _with_range(column, profile.extremes)
            except (OverflowError, ValueError):
                notes.append(
                    f"Column {column.name!r} does not have a range: round bounds around its values cannot be declared."
                )
        columns.append(column)
    sensitive = [column.name for column in columns if sounds_sensitive(column.name)]
    notes.append(
        'Say which columns are sensitive ("sensitive": true); none is yet.'
        + (f" By their names it could be: {', '.join(map(repr, sensitive))}." if sensitive else "")
    )
    booleans = [column.name for column in columns if column.type == "boolean"]
    if booleans:
        notes.append(
            f'If one of these columns says how it turned out in truth, mark it with "label": true: '
            f"{', '.join(map(repr, booleans))}."
        )
    return Draft(key, options.people, tuple(columns), tuple(notes))
