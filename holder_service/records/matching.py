"""Which rules match each record, for any rules, by tables alone (2-privacy §§3, 8; ADR 0004).

Every rule is a bit of a machine word, 64 rules to a word. A table for each column leads from its atoms,
which are those of the disjointness proof, to the rules that admit them, and the rules that match a
record are the intersection of what its columns' tables say. The work depends on how many rules,
columns and records there are, and nothing that an auditor wrote is evaluated.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from holder_service.domain.admitted import Runs, admitted_sets
from holder_service.records.atoms import ColumnAtoms
from holder_service.records.encoded import Chunk, Records
from shared.contract.rules import Rule

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
        everyone = _words(range(len(rules)), len(rules))
        columns, tables = [], []
        for partition, sets in admitted_sets(dict(enumerate(rules)), records.schema):
            unconstrained = everyone & ~_words(sets, len(rules))
            columns.append(ColumnAtoms.compiled(partition, records))
            tables.append(_admitting(sets, partition.atoms, unconstrained))
        return cls(everyone, columns, tables)

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


def _words(numbers: Iterable[int], rules: int) -> _Array:
    """A set of some of so many rules as words, shape (words,); of a smaller type if they are few."""
    words = np.zeros(-(-rules // WORD_BITS), dtype=np.min_scalar_type(2 ** min(rules, WORD_BITS) - 1))
    indices = np.fromiter(numbers, dtype=np.intp)
    np.bitwise_or.at(words, indices // WORD_BITS, _bits(indices, words.dtype))
    return words


def _admitting(sets: Mapping[int, Runs], atoms: int, unconstrained: _Array) -> _Array:
    """The rules that admit each atom, shape (words, atoms): the ones that admit all of them, and those of `sets`."""
    rules = np.fromiter((number for number, runs in sets.items() for _ in runs for _ in (0, 1)), dtype=np.intp)
    ends = np.fromiter((end for runs in sets.values() for run in runs for end in run), dtype=np.intp)
    changes = np.zeros((len(unconstrained), atoms + 1), dtype=unconstrained.dtype)
    changes[:, 0] = unconstrained
    np.bitwise_xor.at(changes, (rules // WORD_BITS, ends), _bits(rules, unconstrained.dtype))
    return np.bitwise_xor.accumulate(changes, axis=1)[:, :-1]


def _bits(rules: _Array, kind: np.dtype[Any]) -> _Array:
    """The bit of each rule in its word."""
    return np.left_shift(np.uint64(1), (rules % WORD_BITS).astype(np.uint64)).astype(kind)
