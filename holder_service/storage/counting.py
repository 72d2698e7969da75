"""The count: one pass over all records, a histogram over the groups for every cell (2-privacy §§3, 7).

The cells of one class have nobody in common, so any of the class's rules that matches a record tells
the one cell that counts it, and the lowest bit among them is the quickest to find. So a person whom
several rules of a cell match is counted once; and a person changes one count of each class at most
even if the proof of disjointness were wrong. Every record is read, whatever the rules say.
"""

import math
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from holder_service.storage.matching import WORD_BITS, RuleWords
from holder_service.storage.records import Chunk, Records
from shared.rules import Cell
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
    units = [_Unit.compiled(unit, cells, groups.size, records) for unit in _units(cells, classes)]

    def count(chunk: Chunk) -> npt.NDArray[np.int64]:
        counts = np.zeros((len(cells), groups.size), dtype=np.int64)
        group = groups.of(chunk)
        for unit in units:
            for share, key in zip(unit.classes, unit.keys(chunk), strict=True):
                tally = np.bincount(key + group, minlength=(len(share.cells) + 1) * groups.size)
                counts[share.cells] = tally.reshape(-1, groups.size)[1:]
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


def _units(cells: Sequence[Cell], classes: Sequence[Sequence[int]]) -> Iterator[list[Sequence[int]]]:
    """Consecutive classes, as many as have rules for one word; a class with more is alone."""
    unit: list[Sequence[int]] = []
    size = 0
    for places in classes:
        rules = sum(len(cells[place].any_of) for place in places)
        if unit and size + rules > WORD_BITS:
            yield unit
            unit, size = [], 0
        unit.append(places)
        size += rules
    if unit:
        yield unit


@dataclass(frozen=True, slots=True)
class _Class:
    """A class of disjoint cells. The key of its n-th cell, counted from 1, is n · groups; that of no cell is 0.

    Attributes:
        cells: Their places.
        bits: The bits of its rules, if it shares a word with other classes; else `None`.
        key_at: The key of each bit in each hand, shape (words, hands · (WORD_BITS + 1)).
    """

    cells: list[int]
    bits: int | None
    key_at: _Array


@dataclass(frozen=True, slots=True)
class _Unit:
    """Classes whose rules are matched together."""

    words: RuleWords
    classes: Sequence[_Class]

    @classmethod
    def compiled(
        cls, classes: Sequence[Sequence[int]], cells: Sequence[Cell], groups: int, records: Records
    ) -> "_Unit":
        rules = [rule for places in classes for place in places for rule in cells[place].any_of]
        words = RuleWords.compiled(rules, records)
        compiled, first = [], 0
        for places in classes:
            keys = [n * groups for n, place in enumerate(places, start=1) for _ in cells[place].any_of]
            key_of_rule = np.zeros(len(rules) + 1, dtype=np.min_scalar_type((len(places) + 1) * groups))
            key_of_rule[first : first + len(keys)] = keys
            bits = ((1 << len(keys)) - 1) << first if len(classes) > 1 else None
            compiled.append(_Class(list(places), bits, key_of_rule[words.rule_at]))
            first += len(keys)
        return cls(words, compiled)

    def keys(self, chunk: Chunk) -> list[_Array]:
        """For each class the key of the cell that counts each record, shape (records,)."""
        keys = [np.zeros(chunk.records, dtype=np.uint8)] * len(self.classes)
        for word, (matching, begin) in enumerate(self.words.matching(chunk)):
            for place, share in enumerate(self.classes):
                bit = _lowest_bit(matching if share.bits is None else matching & share.bits)
                keys[place] = np.maximum(keys[place], share.key_at[word].take(bit + begin, mode="clip"))
        return keys


def _lowest_bit(words: _Array) -> _Array:
    """The place of each word's lowest bit; of an empty word, how many bits it has."""
    return np.bitwise_count((words - 1) & ~words)
