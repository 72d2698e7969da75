"""`holder split`: a register as two files of shares, neither of which alone contains a sensitive value.

The register is read whole, and each person gets words as `records.shares` says. Nothing else is written; what is only
in memory is forgotten with the process. If anything fails, neither file has its name.

Both files have the people in the order of their keys, a fixed number in each row group. So nothing but words follows
from sensitive values: a register may be sorted by sex, and where its pieces end follows from the length of its texts.
"""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet

from holder_service.domain.errors import InvalidRecords
from holder_service.files.durable import durable_file
from holder_service.records.encoded import said_too_many
from holder_service.records.formats import Upload
from holder_service.records.shares import (
    FORMAT,
    HEADER,
    SEED_BYTES,
    SeededWords,
    ShareHeader,
    complement,
    groups_digest,
    words_array,
    words_per_person,
)
from holder_service.records.staging import CheckedPiece, checked_pieces
from shared.contract.schema import Column, Schema
from shared.contract.shares import COLUMN, WORD_BYTES, Party

ROWS_WRITTEN: Final = 2**14
"""People in a row group: their words are in memory at once."""

_Indices = npt.NDArray[np.intp]


class SplitResult(NamedTuple):
    """A finished split.

    Attributes:
        split_id: What both files have in common.
        people: The number of people. Only the owner of the register may see it.
    """

    split_id: str
    people: int


def split_register(register: Upload, schema: Schema, first: Path, second: Path, *, records_max: int) -> SplitResult:
    """Write the two halves of a register, each into a new file that its owner alone may read.

    Args:
        register: A CSV or Parquet file with the person key and every declared column.
        schema: The declared columns; with `shares`, whose party does not matter here.
        first: Where the half of party 1 is written.
        second: Where that of party 2 is.
        records_max: How many people the declaration admits.

    Raises:
        InvalidRecords: The register does not fit; no value is in the text. Neither file is left.
        FileExistsError: One of the files is there already; it stays as it was.
    """
    split_id, words = secrets.token_hex(16), SeededWords(secrets.token_bytes(SEED_BYTES), words_per_person(schema))
    with _half(first, schema, split_id, words) as one, _half(second, schema, split_id, None) as other:
        pieces = checked_pieces(register, schema, records_max=records_max, too_many=said_too_many(schema, records_max))
        people = _SortedRegister.of_pieces(pieces, schema)
        for begin in range(0, len(people.groups), ROWS_WRITTEN):
            part, groups = people.public(begin, schema), people.groups[begin : begin + ROWS_WRITTEN].astype(np.intp)
            missing = complement(words.of(begin, len(groups)), groups)
            one.write_batch(pa.record_batch(part, schema=one.schema))
            other.write_batch(pa.record_batch([*part, words_array(missing, words.per_person)], schema=other.schema))
    return SplitResult(split_id, len(people.groups))


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class _SortedRegister:
    """All people of a register in the order of their keys.

    Attributes:
        keys: The person keys as they are in the register, shape (people,).
        values: Of each public column, as `checked_values` gives them, shape (people,).
        groups: The index of each person's group among those of all sensitive columns, shape (people,).
    """

    keys: pa.Array
    values: tuple[npt.NDArray[Any], ...]
    groups: npt.NDArray[np.uint8]

    @classmethod
    def of_pieces(cls, pieces: Iterator[CheckedPiece], schema: Schema) -> Self:
        """Read a register and sort it.

        Raises:
            InvalidRecords: It does not fit, or has two people with one key.
        """
        names = [column.name for column in schema.public_columns]
        read = [
            (
                piece.piece.columns[str(schema.person_key)].cast(pa.large_string()),
                [piece.values[name] for name in names],
                _groups(piece, schema).astype(np.uint8),
            )
            for piece in pieces
        ]
        if not read:
            return cls(pa.array([], pa.large_string()), tuple(np.empty(0) for _ in names), np.empty(0, np.uint8))
        keys, values, groups = zip(*read, strict=True)
        all_keys = pa.concat_arrays(keys)
        order = pc.array_sort_indices(all_keys)
        all_keys, at = all_keys.take(order), order.to_numpy()
        if pc.any(pc.equal(all_keys[1:], all_keys[:-1])).as_py():
            raise InvalidRecords("A person key is in the register more than once; everybody has exactly one record.")
        by_column = zip(*values, strict=True)
        return cls(all_keys, tuple(np.concatenate(pieces)[at] for pieces in by_column), np.concatenate(groups)[at])

    def public(self, begin: int, schema: Schema) -> list[pa.Array]:
        """The person keys and the public columns of one row group, which begins with this person."""
        rows = slice(begin, begin + ROWS_WRITTEN)
        columns = zip(schema.public_columns, self.values, strict=True)
        return [self.keys[rows].cast(pa.string()), *(_array(column, values[rows]) for column, values in columns)]


@contextmanager
def _half(path: Path, schema: Schema, split_id: str, seeded: SeededWords | None) -> Iterator[pa.parquet.ParquetWriter]:
    """The file of one party, to be written; of party 1 with the seed, of party 2 with a column of words."""
    party: Party = 2 if seeded is None else 1
    header = ShareHeader(
        format=FORMAT, split_id=split_id, party=party, groups=groups_digest(schema),
        seed=None if seeded is None else seeded.seed.hex(),
    )  # fmt: skip
    fields = [pa.field(str(schema.person_key), pa.string())]
    fields += [pa.field(column.name, _type(column)) for column in schema.public_columns]
    texts = [field.name for field in fields if field.type == pa.string()]
    if seeded is None:
        fields.append(pa.field(COLUMN, pa.binary(words_per_person(schema) * WORD_BYTES)))
    written = pa.schema(fields, metadata={HEADER: header.model_dump_json()})
    compression = {field.name: "none" if field.name == COLUMN else "zstd" for field in fields}
    with (
        durable_file(path, replaces=False) as file,
        pa.parquet.ParquetWriter(
            file, written, compression=compression, use_dictionary=texts[1:], write_statistics=False
        ) as writer,
    ):
        yield writer


def _type(column: Column) -> pa.DataType:
    return {"category": pa.string(), "boolean": pa.bool_(), "integer": pa.int64(), "number": pa.float64()}[column.type]


def _array(column: Column, values: npt.NDArray[Any]) -> pa.Array:
    """Checked values as the declared type has them."""
    if not column.ordered:
        return pa.array([*column.values, None], _type(column)).take(pa.array(values))
    missing = np.isposinf(values)
    present = np.where(missing, 0.0, values)
    return pa.array(present.astype(np.int64) if column.type == "integer" else present, _type(column), mask=missing)


def _groups(piece: CheckedPiece, schema: Schema) -> _Indices:
    """The index of each person's group among those of all sensitive columns, shape (people,)."""
    groups: _Indices = np.zeros(len(piece.piece), dtype=np.intp)
    for name in schema.sensitive:
        column, values = schema.by_name[name], piece.values[name]
        index = values.astype(np.intp) if column.bands_from is None else _bands(column, values)
        groups = groups * schema.group_count([name]) + index
    return groups


def _bands(column: Column, values: npt.NDArray[np.float64]) -> _Indices:
    """The index of each number's band, that of missing behind the last; as `Column.group_value` names them."""
    starts = np.array(column.bands_from, dtype=np.float64)
    return np.where(np.isposinf(values), len(column.group_values), np.searchsorted(starts, values, side="right"))
