"""Files of shares, and the words in them (12-trust §1, docs/two-holders.md).

`holder split` writes two Parquet files with the same people in the same order: person key, public columns, and of the
sensitive columns one half each. The words of a person are one number modulo 2⁶⁴ for each group, and a last one that
fills a block of AES where the number of groups is odd. Party 1's are the key stream of AES-256 in counter mode, so its
file holds a seed of 256 bits instead: person i's words begin at block i · (words / 2). Party 2's are what is missing to
1 in the person's own group and to 0 in every other, and stand in a column of their own.

A seed and words are as secret as the values that they hide from the other party: they are in files of the holder's home
alone, in no entry, log, error or answer. Source: additive secret sharing, as in Prio (Corrigan-Gibbs, Boneh 2017).
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from pydantic import TypeAdapter, ValidationError

from holder_service.domain.errors import InvalidRecords
from holder_service.records.formats import Upload
from shared.contract.schema import Schema
from shared.contract.shares import COLUMN, WORD_BYTES, Party, SplitId
from shared.wire import canonical
from shared.wire.request_model import RequestModel

FORMAT: Final = "pafer-shares/1"
HEADER: Final = b"pafer-shares"
"""The entry of the Parquet file's metadata that holds the `ShareHeader`."""
PARQUET: Final = "application/vnd.apache.parquet"
SEED_BYTES: Final = 32
_BLOCK_BYTES: Final = 16
_ROWS_READ: Final = 2**14
_NO_HEADER: Final = (
    "Dataset and file differ: the dataset is declared to hold shares, and the file is not one that `holder split` "
    "wrote. Load the half that was made for this party, as it is."
)

Words = npt.NDArray[np.uint64]


class ShareHeader(RequestModel):
    """The header of a file of shares."""

    format: str
    """`FORMAT`."""
    split_id: SplitId
    """Of the split that both files come from."""
    party: Party
    """Whose file it is."""
    groups: str
    """The digest of the sensitive columns, which decide the groups and their order."""
    seed: str | None = None
    """Of party 1: 64 hexadecimal digits."""

    def __repr__(self) -> str:
        return f"ShareHeader({self.split_id}, party {self.party})"  # a seed goes into no log

    __str__ = __repr__


@dataclass(frozen=True, slots=True)
class SeededWords:
    """The words of party 1: the key stream of one split, computed where it is needed.

    Attributes:
        seed: Its key, 32 bytes; no other split has it.
        per_person: How many words a person has, an even number.
    """

    seed: bytes = field(repr=False)
    per_person: int

    def of(self, first: int, people: int) -> Words:
        """The words of some people in a row, shape (people, per_person).

        Args:
            first: How many people are before them.
            people: How many they are.
        """
        block = first * self.per_person * WORD_BYTES // _BLOCK_BYTES
        stream = Cipher(algorithms.AES(self.seed), modes.CTR(block.to_bytes(_BLOCK_BYTES, "big"))).encryptor()
        content = stream.update(bytes(people * self.per_person * WORD_BYTES))
        return np.frombuffer(content, dtype="<u8").reshape(people, self.per_person)


def words_per_person(schema: Schema) -> int:
    """Return how many words each person of a dataset with shares has: its groups, rounded up to whole blocks of AES."""
    groups = schema.group_count(schema.sensitive)
    return groups + groups % 2


def groups_digest(schema: Schema) -> str:
    """Return the digest of the sensitive columns in their order, from which the groups of the words follow."""
    return canonical.digest([schema.by_name[name].model_dump(mode="json") for name in schema.sensitive])


def complement(words: Words, groups: npt.NDArray[np.intp]) -> Words:
    """The words of party 2: what is missing to 1 in each person's group and to 0 elsewhere, shape as the words of 1."""
    missing: Words = np.zeros_like(words) - words
    missing[np.arange(len(groups)), groups] += np.uint64(1)
    return missing


@dataclass(frozen=True, slots=True)
class ShareFile:
    """A file of shares that fits a declaration: who it is for, and where its words are.

    Attributes:
        header: What it says of itself.
        per_person: How many words each person has.
        path: The file.
    """

    header: ShareHeader
    per_person: int
    path: Path

    @classmethod
    def open(cls, upload: Upload, schema: Schema) -> Self:
        """Read what a file says of itself, and compare it with the declaration.

        Raises:
            InvalidRecords: It is not a file of shares, or is one of the other party or of other groups.
        """
        header, names = _header(upload)
        if schema.shares is None or header.party != schema.shares.party:
            own = "no half" if schema.shares is None else f"the half of party {schema.shares.party}"
            raise InvalidRecords(
                f"The file is the half of party {header.party}, and the dataset is declared to hold {own}. No holder "
                "may have both halves: load the right file, delete this one here, and split the register again if "
                "both were ever in one place."
            )
        if header.groups != groups_digest(schema):
            raise InvalidRecords(
                "The sensitive columns differ from those that the register was split by. Declare the same columns, "
                "with the same values in the same order, or split the register by this declaration."
            )
        columns = [str(schema.person_key), *(column.name for column in schema.public_columns)]
        if sorted(names) != sorted([*columns, *([] if header.seed is not None else [COLUMN])]):
            raise InvalidRecords(
                "A file of shares has the person key, every declared column that is not sensitive, and nothing else. "
                "Declare these columns, or split the register by this declaration."
            )
        return cls(header, words_per_person(schema), upload.path)

    @property
    def seeded(self) -> SeededWords | None:
        """The words of party 1; `None` of party 2, whose words are in the file."""
        return None if self.header.seed is None else SeededWords(bytes.fromhex(self.header.seed), self.per_person)

    def write_words(self, destination: Path) -> Words:
        """Copy the words of party 2 into a file of their own, and map that, shape (people, per_person).

        Raises:
            InvalidRecords: The file does not have them.
        """
        try:
            with destination.open("wb") as file:
                for block in self._blocks():
                    file.write(block)
        except (pa.ArrowException, OSError):
            raise InvalidRecords("The words of the shares cannot be read: split the register again.") from None
        if not destination.stat().st_size:
            return np.empty((0, self.per_person), dtype=np.uint64)
        return np.memmap(destination, dtype="<u8", mode="r").reshape(-1, self.per_person)

    def _blocks(self) -> Iterator[bytes]:
        with pa.parquet.ParquetFile(self.path, memory_map=True) as file:
            kind = pa.binary(self.per_person * WORD_BYTES)
            if COLUMN not in file.schema_arrow.names or file.schema_arrow.field(COLUMN).type != kind:
                raise InvalidRecords(
                    "The file does not contain the words of shares for these groups: split the register again."
                )
            for batch in file.iter_batches(batch_size=_ROWS_READ, columns=[COLUMN]):
                if batch.column(0).null_count:
                    raise InvalidRecords("The words of a person are missing: split the register again.")
                yield words_of(batch.column(0), self.per_person).tobytes()


def words_of(array: pa.Array, per_person: int) -> Words:
    """The words in an array of binary values of one size, none of them missing, shape (people, per_person)."""
    size = per_person * WORD_BYTES
    content = array.buffers()[1]
    flat = np.frombuffer(content, dtype="<u8", count=len(array) * per_person, offset=array.offset * size)
    return flat.reshape(-1, per_person)


def words_array(words: Any, per_person: int) -> pa.Array:
    """Words as binary values of one size, a value a person."""
    flat = np.ascontiguousarray(words, dtype="<u8")
    return pa.Array.from_buffers(pa.binary(per_person * WORD_BYTES), len(flat), [None, pa.py_buffer(flat)])


_HEADERS: Final[TypeAdapter[ShareHeader]] = TypeAdapter(ShareHeader)


def _header(upload: Upload) -> tuple[ShareHeader, list[str]]:
    """Return what a file says of itself, and the names of its columns."""
    if upload.media_type.partition(";")[0].strip().lower() != PARQUET:
        raise InvalidRecords(_NO_HEADER)
    try:
        with pa.parquet.ParquetFile(upload.path, memory_map=True) as file:
            content = (file.schema_arrow.metadata or {}).get(HEADER)
            names: list[str] = list(file.schema_arrow.names)
        header = _HEADERS.validate_python(json.loads(content or b"null"))
    except (pa.ArrowException, OSError, ValueError, ValidationError):
        raise InvalidRecords(_NO_HEADER) from None  # the text of these errors may quote the file
    seeded = header.seed is not None and len(header.seed) == 2 * SEED_BYTES
    if header.format != FORMAT or seeded != (header.party == 1) or not _is_hexadecimal(header.seed):
        raise InvalidRecords(_NO_HEADER)
    return header, names


def _is_hexadecimal(seed: str | None) -> bool:
    return seed is None or all(digit in "0123456789abcdef" for digit in seed)
