"""Linked values: sent by person key, and joined with the records without a word about whom they meet (5-decisions §1).

What is sent is checked like records. What stays of it are 64 bits of each key's keyed hash, sorted, each with its
value, so that the next version of the records can be joined as well; no key stays. A value that was sent for somebody
who is in no record meets nobody, and whom nothing was sent for is missing.

How much work the join is follows from how many records there are and how many values were sent, never from how many
of them meet: each record takes the same steps of the same search, and reads a value whether it is its own or not.
"""

import hashlib
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from holder_service.domain.errors import InvalidRecords, Unavailable
from holder_service.files.durable import immutable_file
from holder_service.records.encoded import Records, encode_column
from holder_service.records.formats import Upload
from holder_service.records.person_keys import PersonSecret
from holder_service.records.staging import StagedFile
from holder_service.records.values import value_type
from shared.contract.schema import Column, Schema
from shared.scores.columns import DerivedColumn
from shared.wire import canonical
from shared.wire.limits import LINKED_ROWS_MAX

LINKED_ENCODING: Final = 1
"""Raised when a file of linked values begins to mean something else: older ones are refused."""
VALUE: Final = "value"
"""What a file calls the values that it brings."""

_Hashes = npt.NDArray[np.uint64]
_Values = npt.NDArray[Any]


def read_linked(
    source: Path,
    media_type: str,
    linked: DerivedColumn,
    *,
    person_key: str,
    secret: PersonSecret,
    destination: Path,
) -> int:
    """Check a file of linked values: all of it is taken, or nothing is left.

    Memory is bounded whatever the file's size. Nothing that this does depends on the records.

    Args:
        source: A CSV or Parquet file with the person key and a column `value`, in any order.
        media_type: "text/csv" or "application/vnd.apache.parquet".
        linked: The column that the values are of; its `values` are the file's SHA-256.
        person_key: What the dataset calls the person key.
        secret: What person keys are hashed under.
        destination: Where the values appear, complete and durable; for `LinkedValues.open`.

    Returns:
        How many rows the file has.

    Raises:
        InvalidRecords: Naming the line (CSV; the header is line 1) or the record (Parquet), the column and what is
            expected there, never a value; or the file is not the one that the column names.
    """
    with source.open("rb") as file:
        if f"sha256:{hashlib.file_digest(file, 'sha256').hexdigest()}" != linked.values:
            raise InvalidRecords(
                "The file's SHA-256 differs from the one that the column names. Send the file with that SHA-256."
            )
    if person_key == VALUE:
        raise InvalidRecords(f"The dataset's person key is called {VALUE!r} itself, so no values can be linked to it.")
    schema = Schema(person_key=person_key, columns=(linked.column.model_copy(update={"name": VALUE}),))
    with tempfile.TemporaryDirectory(dir=destination.parent, prefix=".linking-") as name:
        staged = StagedFile.read(
            Upload(source, media_type), schema, secret=secret, folder=Path(name), records_max=LINKED_ROWS_MAX,
            too_many=f"A file of linked values has at most {LINKED_ROWS_MAX} rows.",
        )  # fmt: skip
        hashes = np.ascontiguousarray(staged.keys.hashes)
        if not len(hashes):
            raise InvalidRecords("The file is empty. Send at least one person's value.")
        order = np.argsort(hashes)
        arrow_schema = pa.schema(
            {"person": pa.uint64(), VALUE: pa.from_numpy_dtype(value_type(linked.column))},
            metadata={"declaration": _declaration(linked.column), "secret": secret.id},
        )
        rows = pa.record_batch([pa.array(hashes[order]), pa.array(staged.values[0][order])], schema=arrow_schema)
        with immutable_file(destination) as encoded, pa.ipc.new_file(encoded, arrow_schema) as writer:
            writer.write_batch(rows)
    return len(hashes)


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class LinkedValues:
    """Linked values that were sent, memory-mapped.

    Attributes:
        column: What they are values of.
        people: 64 bits of the keyed hash of each person key, ascending, shape (rows,).
        values: Of each person, as `Records.values` gives them, shape (rows,).
        secret: The id of the secret that the keys were hashed under.
    """

    column: Column
    people: _Hashes
    values: _Values
    secret: str

    @classmethod
    def open(cls, path: Path, column: Column) -> "LinkedValues":
        """Map what `read_linked` left.

        Raises:
            FileNotFoundError: It does not exist.
            Unavailable: It is damaged, or was made for another column or by another version.
        """
        unfit = Unavailable(f"The values of column {column.name!r} cannot be read: make it again, and send them again.")
        try:
            file = pa.ipc.open_file(pa.memory_map(str(path)))
            metadata = file.schema.metadata or {}
            if metadata.get(b"declaration") != _declaration(column):
                raise unfit
            people, values = file.get_batch(0).columns
        except pa.ArrowInvalid:
            raise unfit from None
        hashes: Any = np.from_dlpack(people)
        return cls(column, hashes, np.from_dlpack(values), metadata[b"secret"].decode())

    def join(self, records: Records, destination: Path) -> None:
        """Write the column of some records: each one's value, missing where none was sent.

        Args:
            records: The records; their schema does not matter.
            destination: Where the encoded column appears; for `Records.with_column`.

        Raises:
            Unavailable: Keys were hashed under different secrets, so nobody would be found.
        """
        self.require_secret(records.secret)
        encode_column(self.column, (self.of(chunk.people) for chunk in records.chunks), destination)

    def require_secret(self, secret: str) -> None:
        """Refuse to join with records whose keys were hashed under another secret: nobody would be found.

        Raises:
            Unavailable: They were.
        """
        if secret != self.secret:
            raise Unavailable(
                "The secret for person keys was replaced: load the records again, make the column again, and send its "
                "values again."
            )

    def of(self, people: _Hashes) -> _Values:
        """The values of some people, by the hashes of their keys; missing where none was sent, shape (people,)."""
        at = self._last_not_above(people)
        values: _Values = self.values.take(at, mode="clip")
        # Not `where`, which is slower the less regular it is who was found.
        bits = np.dtype(f"u{values.itemsize}")
        found = -(self.people.take(at, mode="clip") == people).astype(bits)
        missing = np.array([np.inf if self.column.ordered else len(self.column.values)], dtype=values.dtype)
        chosen: _Values = (values.view(bits) & found) | (missing.view(bits) & ~found)
        return chosen.view(values.dtype)

    def _last_not_above(self, people: _Hashes) -> npt.NDArray[np.intp]:
        """The last row whose hash is not above each of some; row 0 where all are.

        Not `searchsorted`, whose steps depend on what it finds: here everybody takes as many, wherever they lead.
        """
        found = np.zeros(len(people), dtype=np.intp)
        rows = len(self.people)
        while rows > 1:
            half = rows // 2
            found += half * (self.people.take(found + half, mode="clip") <= people)
            rows -= half
        return found


def _declaration(column: Column) -> bytes:
    return canonical.digest({"encoding": LINKED_ENCODING, "linked": column.model_dump(mode="json")}).encode()
