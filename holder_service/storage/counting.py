"""The count: one pass over all records, a histogram over the groups for every cell (2-privacy §§3, 7).

The cells of one class have nobody in common, so any of the class's rules that matches a record tells
the one cell that counts it, and the lowest bit among them is the quickest to find. So a person whom
several rules of a cell match is counted once; and a person changes one count of each class at most
even if the proof of disjointness were wrong. Every record is read, whatever the rules say.
"""

import itertools
import math
import os
from collections import defaultdict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from holder_service.storage.matching import WORD_BITS, RuleWords
from holder_service.storage.records import Chunk, Records
from shared.rules import Cell, Rule
from shared.schema import Schema

_Array = npt.NDArray[Any]


class TrueCounts:
    """True counts, for a mechanism's eyes alone: printing, formatting, copying and pickling do not show them."""

    __slots__ = ("__counts",)

    def __init__(self, counts: npt.NDArray[np.int64]) -> None:
        self.__counts = counts
        self.__counts.flags.writeable = False

    def reveal_to_mechanism(self) -> npt.NDArray[np.int64]:
        """The numbers of people, shape (cells, groups). Noise has to be added before they go anywhere."""
        return self.__counts

    def __repr__(self) -> str:
        return "TrueCounts(hidden)"

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError("True counts are neither copied nor stored.")

    def __getstate__(self) -> NoReturn:
        raise TypeError("True counts are neither copied nor stored.")


def count_cells(
    records: Records, cells: Sequence[Cell], classes: Sequence[Sequence[int]], sensitive: Sequence[str]
) -> TrueCounts:
    """Count, for every cell and group, the people whom the cell matches.

    Args:
        records: The records; the cells fit their schema.
        cells: Unions of rules.
        classes: Classes of mutually disjoint cells, as places in `cells`; each cell is in one.
        sensitive: The columns that the groups are made of.

    Returns:
        Counts in people, shape (cells, groups), the groups in the order of `Schema.groups`.
    """
    groups = _Groups.of_columns(records.schema, sensitive)
    rules, shares = _laid_out(cells, classes, groups.size)
    words = RuleWords.compiled(rules, records)

    def count(chunk: Chunk) -> npt.NDArray[np.int64]:
        counts = np.zeros((len(cells), groups.size), dtype=np.int64)
        group = groups.of(chunk)
        key = np.zeros(chunk.records, dtype=np.uint8)
        for matching, shares_of_word in zip(words.matching(chunk), shares, strict=True):
            for share in shares_of_word:
                key = np.maximum(key, share.key_of_rule.take(_lowest_bit(matching & share.rules), mode="clip"))
                if share.finishes:
                    tally = np.bincount(key + group, minlength=(len(share.cells) + 1) * groups.size)
                    counts[list(share.cells)] = tally.reshape(-1, groups.size)[1:]
                    key = np.zeros(chunk.records, dtype=np.uint8)
        return counts

    with ThreadPoolExecutor(os.cpu_count()) as threads:
        counts = sum(threads.map(count, records.chunks), np.zeros((len(cells), groups.size), dtype=np.int64))
    return TrueCounts(counts)


@dataclass(frozen=True, slots=True)
class _Groups:
    """The groups of some sensitive columns: their names, how many values each has, and how many groups that makes."""

    names: Sequence[str]
    values: Sequence[int]
    size: int

    @classmethod
    def of_columns(cls, schema: Schema, sensitive: Sequence[str]) -> "_Groups":
        columns = [schema.by_name[name] for name in sensitive]
        values = [len(column.values) + column.nullable for column in columns]
        return cls(sensitive, values, math.prod(values))

    def of(self, chunk: Chunk) -> _Array:
        """The place of each record's group, shape (records,)."""
        place = chunk.codes[self.names[0]]
        for name, values in zip(self.names[1:], self.values[1:], strict=True):
            place = place.astype(np.min_scalar_type(self.size)) * values + chunk.codes[name]
        return place


@dataclass(frozen=True, slots=True)
class _Share:
    """What one word says of one class.

    Attributes:
        rules: The class's rules in the word.
        key_of_rule: By bit, n · groups for a rule of the class's n-th cell, counted from 1; 0 elsewhere.
        cells: The places of the class's cells.
        finishes: Whether the class has no rules in later words.
    """

    rules: int
    key_of_rule: _Array
    cells: Sequence[int]
    finishes: bool


def _laid_out(
    cells: Sequence[Cell], classes: Sequence[Sequence[int]], groups: int
) -> tuple[dict[int, Rule], list[list[_Share]]]:
    """Number the rules, class by class; and tell, word by word, the shares that classes have in it."""
    rules: dict[int, Rule] = {}
    shares: defaultdict[int, list[_Share]] = defaultdict(list)
    free = 0
    for places in classes:
        keyed = [(rule, n * groups) for n, place in enumerate(places, start=1) for rule in cells[place].any_of]
        numbered = list(enumerate(keyed, start=free))
        free += len(keyed)
        rules.update((number, rule) for number, (rule, _) in numbered)
        for word, members in itertools.groupby(numbered, lambda item: item[0] // WORD_BITS):
            key_of_rule = np.zeros(WORD_BITS + 1, dtype=np.min_scalar_type((len(places) + 1) * groups))
            own = 0
            for number, (_, key) in members:
                key_of_rule[number % WORD_BITS] = key
                own |= 1 << number % WORD_BITS
            shares[word].append(_Share(own, key_of_rule, places, finishes=word == (free - 1) // WORD_BITS))
    return rules, list(shares.values())


def _lowest_bit(words: _Array) -> _Array:
    """The place of each word's lowest bit; of an empty word, how many bits it has."""
    return np.bitwise_count((words - 1) & ~words)
