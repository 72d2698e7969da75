"""Which rules match each record, by tables alone (2-privacy §§3, 8; ADR 0004).

Every rule is a bit of a machine word, 64 rules to a word. A column has a table for each word: from
its atoms, which are those of the disjointness proof, to the rules that admit the atom. The rules that
match a record are the intersection of what its columns' tables say. So the work depends on how many
rules and columns there are, not on what the rules say, and nothing that an auditor wrote is evaluated.
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

_Array = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class RuleWords:
    """Rules as tables.

    Attributes:
        atoms: By name of a column that a rule names, how its codes become atoms.
        words: The words, ascending.
    """

    atoms: Mapping[str, "_Atoms"]
    words: Sequence["_Word"]

    @classmethod
    def compiled(cls, rules: Mapping[int, Rule], records: Records) -> "RuleWords":
        """Make the tables of rules that fit the records' schema; rule n is bit n % 64 of word n // 64."""
        everyone = sum(1 << number for number in rules)
        size = -(-everyone.bit_length() // WORD_BITS)
        atoms: dict[str, _Atoms] = {}
        tables: dict[str, _Array] = {}
        for partition, sets in admitted_sets(rules, records.schema):
            name = partition.column.name
            unconstrained = everyone & ~sum(1 << number for number in sets)
            admitting = b"".join(
                (unconstrained | rules).to_bytes(size * WORD_BITS // 8, "little")
                for rules in admitting_rules(sets, partition.atoms)
            )
            tables[name] = np.frombuffer(admitting, dtype="<u8").reshape(partition.atoms, size)
            atoms[name] = _Atoms.looked_up(partition, records)
            of_code = atoms[name].of_code
            if size == 1 and of_code is not None and name not in records.sampled:
                # One look-up does for both. With more words such tables, long as they are, outgrow the cache.
                tables[name] = tables[name][of_code]
                atoms[name] = _Atoms(partition, None)
        words = [
            _Word.of(
                everyone >> (place * WORD_BITS) & (2**WORD_BITS - 1),
                {name: table[:, place] for name, table in tables.items()},
            )
            for place in range(size)
        ]
        return cls(atoms, words)

    def matching(self, chunk: Chunk) -> Iterator[_Array]:
        """Word by word, the rules that match each record: unsigned integers, shape (records,)."""
        atoms = {name: column.of(chunk) for name, column in self.atoms.items()}
        for word in self.words:
            matching = np.full(chunk.records, word.rules)
            admitting = np.empty_like(matching)
            for name, table in word.tables.items():
                table.take(atoms[name], out=admitting, mode="clip")
                matching &= admitting
            yield matching


@dataclass(frozen=True, slots=True)
class _Word:
    """A word of rules.

    Attributes:
        rules: All of them.
        tables: For each column that one of them names, the rules that admit each atom, shape (atoms,).
    """

    rules: np.unsignedinteger[Any]
    tables: Mapping[str, _Array]

    @classmethod
    def of(cls, rules: int, tables: Mapping[str, _Array]) -> "_Word":
        kind = np.min_scalar_type(rules)
        return cls(
            kind.type(rules), {name: table.astype(kind) for name, table in tables.items() if (table != rules).any()}
        )


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
    def looked_up(cls, partition: Partition, records: Records) -> "_Atoms":
        edges = records.edges.get(partition.column.name)
        if edges is None:
            return cls(partition, None)
        of_code = np.searchsorted(partition.cuts, edges)
        if partition.column.name in records.sampled:
            of_lowest = np.searchsorted(partition.cuts, np.concatenate(([-np.inf], edges[:-1])), side="right")
            of_code[of_lowest != of_code] = partition.atoms
        return cls(partition, of_code.astype(np.min_scalar_type(partition.atoms)))

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
