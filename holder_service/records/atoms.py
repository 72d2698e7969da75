"""From the codes that records are stored in to the atoms that rules distinguish.

A cut becomes the first code above it, in each chunk: for a ranked column that is a search among the
chunk's sorted numbers, a fixed number of steps for each cut. Then an atom is how many cuts a record's
code is not below, and no record's number is looked at. Which operations are done, and how many,
depends on how many cuts, columns and records there are, never on values (2-privacy §7, ADR 0015).
"""

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from holder_service.domain.admitted import Partition
from holder_service.records.column_codes import code_count
from holder_service.records.encoded import CHUNK_RECORDS_MAX, Chunk, Records

COMPARED_CUTS_MAX: Final = 4
"""So few cuts are compared with every code; for more a table of all codes is quicker."""
STRIDES: Final = (8**4, 8**3, 8**2, 8, 1)
"""Of a search: each step looks at seven numbers so far apart."""
SEARCHES_AT_ONCE: Final = 2**13

_Array = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class ColumnAtoms:
    """How one column's codes become atoms.

    Attributes:
        partition: The column's atoms.
        codes: How many codes there are; `None` if a chunk has as many as it has records.
        first_above: The first code above each cut, chunk by chunk, shape (chunks, cuts). `None` if codes are atoms.
    """

    partition: Partition
    codes: int | None
    first_above: _Array | None

    @classmethod
    def compiled(cls, partition: Partition, records: Records) -> "ColumnAtoms":
        """The atoms of the codes that some records have."""
        column, codes = partition.column, code_count(partition.column)
        if not column.ordered:
            return cls(partition, codes, None)
        if codes is None:
            return cls(partition, codes, _ranks_above(np.array(partition.cuts), column.name, records))
        above = np.array([int(cut) - int(column.low) + 1 for cut in partition.cuts], dtype=np.intp)
        return cls(partition, codes, np.broadcast_to(above, (len(records.chunks), len(above))))

    def of(self, chunk: Chunk) -> _Array:
        """The atom of each record, unsigned integers, shape (records,)."""
        codes = chunk.codes[self.partition.column.name]
        if self.first_above is None:
            return codes
        above = self.first_above[chunk.index]
        kind = np.min_scalar_type(len(above))
        if len(above) <= COMPARED_CUTS_MAX:
            atoms = np.zeros(chunk.records, dtype=kind)
            for first in above.astype(codes.dtype):
                atoms += codes >= first
            return atoms
        behind = CHUNK_RECORDS_MAX if self.codes is None else self.codes
        of_code = np.repeat(np.arange(len(above) + 1, dtype=kind), np.diff(above, prepend=0, append=behind))
        return of_code.take(codes, mode="clip")


def _ranks_above(cuts: _Array, name: str, records: Records) -> _Array:
    """Return how many numbers of a ranked column are at most each cut, chunk by chunk, shape (chunks, cuts)."""
    begins = np.array([chunk.sorted_at[name] for chunk in records.chunks], dtype=np.intp)[:, np.newaxis]
    ends = begins + np.array([chunk.records for chunk in records.chunks], dtype=np.intp)[:, np.newaxis]
    ranks = np.empty((len(begins), len(cuts)), dtype=np.intp)
    step = max(SEARCHES_AT_ONCE // max(len(cuts), 1), 1)
    for start in range(0, len(begins), step):
        some = slice(start, start + step)
        ranks[some] = _ends_of_search(records.doubles[name], begins[some], ends[some], cuts) - begins[some]
    return ranks


def _ends_of_search(numbers: _Array, begins: _Array, ends: _Array, cuts: _Array) -> _Array:
    """Behind the last number that is at most each cut, in sorted stretches from begins to ends, shape (chunks, cuts).

    Not `searchsorted`, whose steps depend on what it finds. Whoever would look behind the end looks at the last number.
    """
    found: _Array = np.broadcast_to(begins, (len(begins), len(cuts)))
    for stride in STRIDES:
        probes = found + (stride * np.arange(1, 8) - 1)[:, np.newaxis, np.newaxis]
        np.minimum(probes, ends - 1, out=probes)
        found = found + stride * np.sum(numbers.take(probes, mode="clip") <= cuts, axis=0)
    ended: _Array = np.minimum(found, ends)
    return ended
