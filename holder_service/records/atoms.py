"""From the codes that records are stored in to the atoms that rules tell apart."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from holder_service.domain.admitted import Partition
from holder_service.records.encoded import Chunk, Records

_Array = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class ColumnAtoms:
    """How one column's codes become atoms.

    Attributes:
        partition: The column's atoms.
        of_code: The atom of each code, shape (codes,), or one more than there are where a cut goes
            through a bucket and the number itself has to be asked. `None` if codes are atoms.
    """

    partition: Partition
    of_code: _Array | None

    @classmethod
    def compiled(cls, partition: Partition, records: Records) -> "ColumnAtoms":
        """The atoms of the codes that some records have."""
        edges = records.edges.get(partition.column.name)
        if edges is None:
            return cls(partition, None)
        cuts = np.array(partition.cuts)
        behind = np.searchsorted(edges, cuts, side="right")  # for each cut, the first bucket with an edge above it
        atoms = np.arange(partition.atoms, dtype=np.min_scalar_type(partition.atoms))
        of_code = np.repeat(atoms, np.diff(behind, prepend=0, append=len(edges)))
        if partition.column.name in records.sampled:
            # Missing, infinity, is the last edge: behind every cut there is a bucket, and edges[-1] equals no cut.
            of_code[behind[edges[behind - 1] != cuts]] = partition.atoms
        return cls(partition, of_code)

    def of(self, chunk: Chunk) -> _Array:
        """The atom of each record, unsigned integers, shape (records,)."""
        codes = chunk.codes[self.partition.column.name]
        if self.of_code is None:
            return codes
        atoms = self.of_code.take(codes, mode="clip")
        numbers = chunk.numbers.get(self.partition.column.name)
        if numbers is not None:
            divided = np.flatnonzero(atoms == self.partition.atoms)
            atoms[divided] = np.searchsorted(self.partition.cuts, numbers[divided])
        return atoms
