"""Which rules match each record, by tables alone (2-privacy §§3, 8; ADR 0004).

Every rule is a bit of a machine word. A table for each column leads from its atoms, which are those of
the disjointness proof, to the word of the rules that admit them, and the rules that match a record
are the intersection of what its columns' tables say. Where there are more rules than a word has bits,
the records are dealt into hands first, and each hand has tables of its own, of the rules that are
alive in it alone: so a record meets few words however many rules there are.

The work depends on the rules and on how many records there are, not on what is in them; and nothing
that an auditor wrote is evaluated.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from holder_service.domain.admitted import Partition, admitted_sets
from holder_service.storage.dealing import HANDS_MAX, Dealing, Integers, RuleRuns
from holder_service.storage.records import Chunk, Records
from shared.rules import Rule

WORD_BITS: Final = 64
NO_RULE: Final = -1
ENTRIES_MAX: Final = 2**17
"""Of all tables for one word: 1 MB, so that they stay in a core's own cache."""

_Array = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class RuleWords:
    """Rules as tables.

    Attributes:
        columns: The columns that rules name.
        used: The bits of each word that stand for a rule in some hand, shape (words,).
        rule_at: The rule of each bit in each hand, shape (words, hands · (WORD_BITS + 1)); `NO_RULE` for a bit
            that the hand does not use, and behind the last.
    """

    columns: Sequence["_Column"]
    used: _Array
    rule_at: Integers

    @classmethod
    def compiled(cls, rules: Sequence[Rule], records: Records) -> "RuleWords":
        """The tables of rules that fit the records' schema."""
        partitions, runs = [], []
        for partition, sets in admitted_sets(dict(enumerate(rules)), records.schema):
            everything = ((0, partition.atoms),)
            partitions.append(partition)
            runs.append(RuleRuns.of([sets.get(number, everything) for number in range(len(rules))], partition.atoms))
        dealing = Dealing.chosen(runs, len(rules), enough=WORD_BITS, entries_max=ENTRIES_MAX)
        bits = np.where(dealing.alive, np.cumsum(dealing.alive, axis=1) - 1, NO_RULE)
        words = [2 ** min(left, WORD_BITS) - 1 for left in range(max(dealing.alive_max, 1), 0, -WORD_BITS)]
        kind = np.min_scalar_type(words[0])
        columns = [
            _Column(
                partition,
                _atoms_of_codes(partition, records),
                parts,
                column.part_of_atom(parts).astype(np.uint8),
                _table(column, bits, len(words)).astype(kind),
            )
            for partition, column, parts in zip(partitions, runs, dealing.parts, strict=True)
        ]
        return cls(columns, np.array(words, dtype=kind), _rule_at(bits, len(words)))

    def matching(self, chunk: Chunk) -> Iterator[tuple[_Array, _Array]]:
        """Word by word, which rules match each record.

        Yields:
            The bits of the rules that match, unsigned integers, shape (records,); and where in `rule_at` the bits
            of the record's hand begin, shape (records,), or (1,) if there is one hand.
        """
        atoms = [column.atoms(chunk) for column in self.columns]
        hand = self._hand(atoms)
        entries = [
            _numbered(hand, atom, column.partition.atoms) for atom, column in zip(atoms, self.columns, strict=True)
        ]
        begin = _numbered(hand, np.zeros(1, dtype=np.uint8), WORD_BITS + 1)
        for word, used in enumerate(self.used):
            matching = np.full(chunk.records, used)
            admitting = np.empty_like(matching)
            for entry, column in zip(entries, self.columns, strict=True):
                column.table[word].take(entry, out=admitting, mode="clip")
                matching &= admitting
            yield matching, begin

    def _hand(self, atoms: Sequence[_Array]) -> _Array | None:
        """The hand of each record, shape (records,); `None` if there is one."""
        hand = None
        for atom, column in zip(atoms, self.columns, strict=True):
            if column.parts > 1:
                part = column.part_of_atom.take(atom, mode="clip")
                hand = part if hand is None else hand * np.uint8(column.parts) + part
        return hand


@dataclass(frozen=True, slots=True)
class _Column:
    """A column that rules name.

    Attributes:
        partition: Its atoms.
        of_code: The atom of each code, shape (codes,), or one more than there are where a cut goes
            through a bucket and the number itself has to be asked. `None` if codes are atoms.
        parts: Into how many parts it is divided for dealing.
        part_of_atom: The part of each atom, shape (atoms,).
        table: The rules that admit each atom in each hand, shape (words, hands · atoms).
    """

    partition: Partition
    of_code: _Array | None
    parts: int
    part_of_atom: _Array
    table: _Array

    def atoms(self, chunk: Chunk) -> _Array:
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


def _atoms_of_codes(partition: Partition, records: Records) -> _Array | None:
    edges = records.edges.get(partition.column.name)
    if edges is None:
        return None
    cuts = np.array(partition.cuts)
    behind = np.searchsorted(edges, cuts, side="right")  # for each cut, the first bucket with an edge above it
    atoms = np.arange(partition.atoms, dtype=np.min_scalar_type(partition.atoms))
    of_code = np.repeat(atoms, np.diff(behind, prepend=0, append=len(edges)))
    if partition.column.name in records.sampled:
        # Missing, infinity, is the last edge: behind every cut there is a bucket, and edges[-1] equals no cut.
        of_code[behind[edges[behind - 1] != cuts]] = partition.atoms
    return of_code


def _table(column: RuleRuns, bits: Integers, words: int) -> npt.NDArray[np.uint64]:
    """The rules that admit each atom in each hand, shape (words, hands · atoms).

    A run flips its rule's bit where it begins, and once more behind its end.

    Args:
        column: What the rules admit.
        bits: The bit of each rule in each hand, counted through the hand's words, shape (hands, rules).
        words: How many words a hand has.
    """
    hand, run = np.nonzero(bits[:, column.rule] != NO_RULE)
    word, bit = np.divmod(bits[hand, column.rule[run]], WORD_BITS)
    rule = np.left_shift(np.uint64(1), bit.astype(np.uint64))
    flips = np.zeros((words, len(bits), column.atoms + 1), dtype=np.uint64)
    for place in (column.start, column.end):
        np.bitwise_xor.at(flips, (word, hand, place[run]), rule)
    return np.bitwise_xor.accumulate(flips, axis=2)[:, :, :-1].reshape(words, -1)


def _rule_at(bits: Integers, words: int) -> Integers:
    """The rule of each bit in each hand, shape (words, hands · (WORD_BITS + 1))."""
    hand, rule = np.nonzero(bits != NO_RULE)
    word, bit = np.divmod(bits[hand, rule], WORD_BITS)
    rule_at = np.full((words, len(bits), WORD_BITS + 1), NO_RULE)
    rule_at[word, hand, bit] = rule
    return rule_at.reshape(words, -1)


def _numbered(hand: _Array | None, digit: _Array, size: int) -> _Array:
    """Pairs of a hand and one of so many things, by number; with one hand, the thing alone."""
    if hand is None:
        return digit
    kind = np.min_scalar_type(HANDS_MAX * size)
    numbered: _Array = hand.astype(kind) * kind.type(size) + digit
    return numbered
