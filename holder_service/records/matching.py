"""Which rules match each record, for any rules, by tables alone (2-privacy §§3, 8; ADR 0004).

Every rule is a bit of a machine word, 64 rules to a word. A table for each column leads from its atoms,
which are those of the disjointness proof, to the rules that admit them, and the rules that match a
record are the intersection of what its columns' tables say. The work depends on how many rules,
columns and records there are, and nothing that an auditor wrote is evaluated.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from holder_service.domain.admitted import admitted_sets, admitting_rules
from holder_service.records.atoms import ColumnAtoms
from holder_service.records.encoded import Chunk, Records
from shared.rules import Rule

WORD_BITS: Final = 64

_Array = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class RuleWords:
    """Rules as tables.

    Attributes:
        rules: All rules of each word, shape (words,).
        columns: The columns that rules name.
        tables: For each of them the rules that admit each atom, shape (words, atoms).
    """

    rules: _Array
    columns: Sequence[ColumnAtoms]
    tables: Sequence[_Array]

    @classmethod
    def compiled(cls, rules: Sequence[Rule], records: Records) -> "RuleWords":
        """The tables of rules that fit the records' schema; rule n is bit n % 64 of word n // 64."""
        everyone = (1 << len(rules)) - 1
        columns, tables = [], []
        for partition, sets in admitted_sets(dict(enumerate(rules)), records.schema):
            unconstrained = everyone & ~sum(1 << number for number in sets)
            admitting = [unconstrained | admitting for admitting in admitting_rules(sets, partition.atoms)]
            columns.append(ColumnAtoms.compiled(partition, records))
            tables.append(_words(admitting, len(rules)))
        return cls(_words([everyone], len(rules))[:, 0], columns, tables)

    def matching(self, chunk: Chunk) -> Iterator[_Array]:
        """Word by word, the rules that match each record: unsigned integers, shape (records,)."""
        atoms = [column.of(chunk) for column in self.columns]
        for word, rules in enumerate(self.rules):
            matching = np.full(chunk.records, rules)
            admitting = np.empty_like(matching)
            for atom, table in zip(atoms, self.tables, strict=True):
                table[word].take(atom, out=admitting, mode="clip")
                matching &= admitting
            yield matching


def _words(sets: Sequence[int], rules: int) -> _Array:
    """Sets of so many rules as words, shape (words, sets); of a smaller type if they are few."""
    words = -(-rules // WORD_BITS)
    packed = b"".join(admitting.to_bytes(words * WORD_BITS // 8, "little") for admitting in sets)
    kind = np.min_scalar_type(2 ** min(rules, WORD_BITS) - 1)
    return np.ascontiguousarray(np.frombuffer(packed, dtype="<u8").reshape(len(sets), words).T, dtype=kind)
