"""Which rules match each record, by tables alone (2-privacy §§3, 8; ADR 0004).

Every rule is a bit of a machine word, 64 rules to a word. A column has a table for each word: from
its atoms, which are those of the disjointness proof, to the rules that admit the atom. The rules that
match a record are the intersection of what its columns' tables say. So the work depends on how many
rules and columns there are, not on what the rules say, and nothing that an auditor wrote is evaluated.
"""

from collections.abc import Container, Iterator, Mapping, Sequence
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
        """The tables of rules that fit the records' schema; rule n is bit n % 64 of word n // 64."""
        everyone = sum(1 << number for number in rules)
        size = -(-everyone.bit_length() // WORD_BITS)
        atoms: dict[str, _Atoms] = {}
        tables: dict[str, _Array] = {}
        for partition, sets in admitted_sets(rules, records.schema):
            unconstrained = everyone & ~sum(1 << number for number in sets)
            admitting = b"".join(
                (unconstrained | rules).to_bytes(size * WORD_BITS // 8, "little")
                for rules in admitting_rules(sets, partition.atoms)
            )
            atoms[partition.column.name] = _Atoms.compiled(partition, records)
            tables[partition.column.name] = np.frombuffer(admitting, dtype="<u8").reshape(partition.atoms, size)
        words = [
            _Word.of(
                everyone >> (place * WORD_BITS) & (2**WORD_BITS - 1),
                {name: table[:, place] for name, table in tables.items()},
            )
            for place in range(size)
        ]
        return cls(atoms, words)._by_code(records.sampled) if size == 1 else cls(atoms, words)

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

    def _by_code(self, sampled: Container[str]) -> "RuleWords":
        """The same with tables from codes, where codes say all: one look-up instead of two.

        With many words these tables, longer than those from atoms, outgrow the cache.
        """
        of_code = {
            name: column.of_code
            for name, column in self.atoms.items()
            if name not in sampled and column.of_code is not None
        }
        atoms = {
            name: _Atoms(column.partition, None) if name in of_code else column for name, column in self.atoms.items()
        }
        words = [
            _Word(
                word.rules,
                {name: table.take(of_code[name]) if name in of_code else table for name, table in word.tables.items()},
            )
            for word in self.words
        ]
        return RuleWords(atoms, words)


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
