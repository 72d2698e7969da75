"""Records: loaded all or nothing, encoded once, and from then on an immutable file (2-privacy §§2, 8).

The encoded file is Arrow IPC, memory-mapped by every process that counts. Of each column it holds a
code for each record, a small unsigned integer:

- a category's or boolean's place in declared order, and missing behind the last;
- a number's bucket. A bucket's *edge* is its largest number, and missing counts as +infinity. If a
  column has few enough different numbers, every one has a bucket to itself and the code says all;
  otherwise the edges are a sample and the numbers themselves stand beside the codes.

No person key is in it, and no text.
"""

import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from holder_service.domain.errors import InvalidRecords, Unavailable
from holder_service.storage.csv_records import csv_pieces
from holder_service.storage.parquet_records import parquet_pieces
from holder_service.storage.person_keys import PersonKeys
from holder_service.storage.pieces import Piece
from holder_service.storage.values import checked_values, expectation
from shared import canonical
from shared.schema import Column, Schema

EDGES_MAX: Final = 2**16
CHUNK_RECORDS: Final = 2**15
"""What one step of a count works on: its columns together fit into a core's own cache."""

_READERS: Final[Mapping[str, Callable[[Path, Schema], Iterator[Piece]]]] = {
    "text/csv": csv_pieces,
    "application/vnd.apache.parquet": parquet_pieces,
}

Codes = npt.NDArray[np.unsignedinteger[Any]]
Numbers = npt.NDArray[np.float64]


def load_records(source: Path, media_type: str, schema: Schema, records_max: int, destination: Path) -> None:
    """Check a file of records against the declaration, and encode it. All of it, or nothing is left.

    Memory is bounded whatever the size of the file; disk space of some three times the records is needed
    beside `destination` meanwhile.

    Args:
        source: A CSV or Parquet file with the person key and every declared column, in any order.
        media_type: "text/csv" or "application/vnd.apache.parquet".
        schema: The dataset's declared columns.
        records_max: The largest number of records that the dataset admits.
        destination: Where the encoded file is to be; it appears complete and durable, or not at all.

    Raises:
        InvalidRecords: Naming the line (CSV; the header is line 1) or record (Parquet), the column and
            what is expected there; never a value, nor how many records there are.
    """
    reader = _READERS.get(media_type.partition(";")[0].strip().lower())
    if reader is None:
        raise InvalidRecords(f"Send the records as one of {', '.join(_READERS)}.")
    with tempfile.TemporaryDirectory(dir=destination.parent, prefix=".loading-") as name:
        folder = Path(name)
        _stage(reader(source, schema), schema, records_max, folder)
        encoded = folder / "encoded"
        _write(encoded, schema, folder)
        encoded.chmod(0o444)
        _make_durable(encoded)
        encoded.replace(destination)
        _make_durable(destination.parent)
