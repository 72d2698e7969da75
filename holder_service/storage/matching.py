"""Which rules match each record, by tables alone (2-privacy §§3, 8; ADR 0004).

Every rule is a bit of a machine word, 64 rules to a word. A table leads from the atoms of a column,
which are those of the disjointness proof, to the rules that admit them; the rules that match a record
are the intersection of what all tables say. Columns with few atoms share a table, from combinations
of their atoms. So the work depends on how many rules and columns there are, not on what the rules
say, and nothing that an auditor wrote is evaluated.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from holder_service.domain.admitted import Partition, admitted_sets, admitting_rules
from holder_service.storage.records import Chunk, Records
from shared.rules import Rule

WORD_BITS: Final = 64
COMBINATIONS_MAX: Final = 2**12
"""Of atoms that share a table: 32 kB of words, so that the tables of a word stay in a core's own cache."""

_Array = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class _Atoms:
    """How a column's codes become atoms.

    Attributes:
        partition: The column's atoms.
        of_code: The atom of each code, shape (codes,), or one more than there are where a cut goes
            through a bucket and the number itself has to be asked. `None` if codes are atoms.
    """

    partition: Partition
    of_code: _Array | None

    @classmethod
    def compiled(cls, partition: Partition, records: Records) -> "_Atoms":
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
        """The atom of each record, shape (records,)."""
        codes = chunk.codes[self.partition.column.name]
        if self.of_code is None:
            return codes
        atoms = self.of_code.take(codes, mode="clip")
        numbers = chunk.numbers.get(self.partition.column.name)
        if numbers is not None:
            divided = np.flatnonzero(atoms == self.partition.atoms)
            atoms[divided] = np.searchsorted(self.partition.cuts, numbers[divided])
        return atoms


@dataclass(frozen=True, slots=True)
class _Table:
    """What some columns together say of the rules.

    Attributes:
        columns: The columns. Combinations of their atoms are numbered like digits, the last column's the fastest.
        admitting: The rules that admit each combination, shape (words, combinations).
    """

    columns: Sequence[_Atoms]
    admitting: _Array

    def joined(self, other: "_Table") -> "_Table":
        """What both say."""
        admitting = self.admitting[:, :, np.newaxis] & other.admitting[:, np.newaxis, :]
        return _Table([*self.columns, *other.columns], admitting.reshape(len(admitting), -1))

    def combinations(self, chunk: Chunk) -> _Array:
        """The combination that each record has, shape (records,)."""
        kind = np.min_scalar_type(self.admitting.shape[1])
        combination = self.columns[0].of(chunk)
        for column in self.columns[1:]:
            combination = combination.astype(kind) * column.partition.atoms + column.of(chunk)
        return combination


@dataclass(frozen=True, slots=True)
class RuleWords:
    """Rules as tables.

    Attributes:
        rules: All rules of each word, shape (words,).
        tables: What the columns that rules name say of them.
    """

    rules: _Array
    tables: Sequence[_Table]

    @classmethod
    def compiled(cls, rules: Mapping[int, Rule], records: Records) -> "RuleWords":
        """The tables of rules that fit the records' schema; rule n is bit n % 64 of word n // 64."""
        everyone = sum(1 << number for number in rules)
        tables: list[_Table] = []
        for partition, sets in admitted_sets(rules, records.schema):
            unconstrained = everyone & ~sum(1 << number for number in sets)
            admitting = [unconstrained | rules for rules in admitting_rules(sets, partition.atoms)]
            tables.append(_Table([_Atoms.compiled(partition, records)], _words(admitting, everyone)))
        return cls(_words([everyone], everyone)[:, 0], _shared(tables))

    def matching(self, chunk: Chunk) -> Iterator[_Array]:
        """Word by word, the rules that match each record: unsigned integers, shape (records,)."""
        looked_up = [(table.combinations(chunk), table.admitting) for table in self.tables]
        for word, rules in enumerate(self.rules):
            matching = np.full(chunk.records, rules)
            admitted = np.empty_like(matching)
            for combinations, admitting in looked_up:
                admitting[word].take(combinations, out=admitted, mode="clip")
                matching &= admitted
            yield matching


def _words(sets: Sequence[int], everyone: int) -> _Array:
    """Sets of rules as words, shape (words, sets); of the smallest type if one word is enough."""
    size = -(-everyone.bit_length() // WORD_BITS)
    packed = b"".join(rules.to_bytes(size * WORD_BITS // 8, "little") for rules in sets)
    words = np.frombuffer(packed, dtype="<u8").reshape(len(sets), size).T
    return np.ascontiguousarray(words, dtype=np.min_scalar_type(min(everyone, 2**WORD_BITS - 1)))


def _shared(tables: Sequence[_Table]) -> list[_Table]:
    """The same in fewer tables: the largest first, each joins the first that it fits."""
    shared: list[_Table] = []
    for table in sorted(tables, key=lambda table: -table.admitting.shape[1]):
        for place, other in enumerate(shared):
            if other.admitting.shape[1] * table.admitting.shape[1] <= COMBINATIONS_MAX:
                shared[place] = other.joined(table)
                break
        else:
            shared.append(table)
    return shared
