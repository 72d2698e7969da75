"""The count: one pass over all records, a histogram over the groups for every cell (2-privacy §§3, 7).

The cells of one class have nobody in common, so any of the class's rules that matches a record names
the one cell that counts it. Few rules are looked up all at once, and the lowest bit among those that
match is taken (`matching`); many, if they are a tree, are walked down to the first (`walking`). Either
way a person whom several rules of a cell match is counted once; and a person changes one count of each
class at most even if the proof of disjointness were wrong. Every record is read, whatever the rules say.
"""

import math
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import Any, Final, NoReturn

import numpy as np
import numpy.typing as npt

from holder_service.domain.admitted import band_partition
from holder_service.records.atoms import ColumnAtoms
from holder_service.records.encoded import CHUNK_RECORDS_MAX, Chunk, Records
from holder_service.records.matching import WORD_BITS, RuleWords
from holder_service.records.scored_chunks import ScoredChunks, ScoredColumn
from holder_service.records.walking import TreeWalk
from shared.contract.rules import Cell, Rule
from shared.contract.schema import Schema

LANES_MAX: Final = 16
TALLIED_KEYS_MAX: Final = 4096
"""Lanes times keys: the numbers of all lanes stay in a core's first cache."""

_Array = npt.NDArray[Any]
_Counts = npt.NDArray[np.int64]
_Words = npt.NDArray[np.uint64]


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
    records: Records,
    cells: Sequence[Cell],
    classes: Sequence[Sequence[int]],
    sensitive: Sequence[str],
    scored: Sequence[ScoredColumn] = (),
) -> TrueCounts:
    """Count, for every cell and group, the people whom the cell matches; of an aggregate table, those of its rows.

    Args:
        records: The records; the cells fit their schema.
        cells: Unions of rules.
        classes: Classes of mutually disjoint cells, as indices of `cells`; each cell is in one.
        sensitive: The columns that the groups are made of; without any there is one group, everybody.
        scored: Scores that cells name, worked out for this count alone.

    Returns:
        Counts in people, shape (cells, groups), the groups in the order of `Schema.groups`. Of records in shares they
        are this holder's halves of them, modulo 2⁶⁴.
    """
    # One chunk is handed over like many: whether one more record begins another must not be seen.
    if records.schema.shares is not None:
        return TrueCounts(added_shares(records, cells, classes, sensitive, scored, each=_threads().map).view(np.int64))
    return TrueCounts(added_counts(records, cells, classes, sensitive, scored, each=_threads().map))


def added_counts(
    records: Records,
    cells: Sequence[Cell],
    classes: Sequence[Sequence[int]],
    sensitive: Sequence[str],
    scored: Sequence[ScoredColumn] = (),
    *,
    each: Callable[[Callable[[Chunk], _Counts], Iterable[Chunk]], Iterable[_Counts]],
) -> _Counts:
    """The true counts of some records in the open, shape (cells, groups), for an engine that adds up many such parts.

    Args:
        records, cells, classes, sensitive, scored: As for `count_cells`.
        each: Calls a function of a chunk for each chunk, as `map` does.
    """
    with_scores = ScoredChunks.compiled(records, scored)
    records = replace(records, schema=with_scores.schema)
    groups = _Groups.of_columns(records, sensitive)
    counters = list(_counters(classes, cells, groups.size, records))

    def count(chunk: Chunk) -> npt.NDArray[np.int64]:
        chunk = with_scores.of(chunk)
        counts = np.zeros((len(cells), groups.size), dtype=np.int64)
        group = groups.of(chunk)
        for counter in counters:
            for indices, key in counter.keys(chunk):
                tally = _tally(key + group, (len(indices) + 1) * groups.size, chunk.weights)
                counts[indices] = tally.reshape(-1, groups.size)[1:]
        return counts

    return sum(each(count, records.chunks), np.zeros((len(cells), groups.size), dtype=np.int64))


def added_shares(
    records: Records,
    cells: Sequence[Cell],
    classes: Sequence[Sequence[int]],
    sensitive: Sequence[str],
    scored: Sequence[ScoredColumn] = (),
    *,
    each: Callable[[Callable[[Chunk], _Words], Iterable[Chunk]], Iterable[_Words]],
) -> _Words:
    """This holder's half of the true counts, modulo 2⁶⁴, shape (cells, groups).

    Who is in a cell follows from public columns alone. Every word of every record is added to some sum, that of the
    cell or that of nobody's, so the work follows from the number of records and cells.

    Args:
        records: Records in shares.
        cells, classes, sensitive, scored, each: As for `added_counts`.
    """
    with_scores = ScoredChunks.compiled(records, scored)
    schema = with_scores.schema
    records = replace(records, schema=schema)
    counters = list(_counters(classes, cells, 1, records))
    combinations = schema.group_count(schema.sensitive)

    def count(chunk: Chunk) -> _Words:
        chunk = with_scores.of(chunk)
        if chunk.words is None:
            raise ValueError("Records with sensitive values were to be counted as shares.")
        halves = _halves(chunk.words()[:, :combinations])
        sums = np.zeros((len(cells), combinations), dtype=np.uint64)
        for counter in counters:
            for indices, key in counter.keys(chunk):
                sums[indices] = _added(key, len(indices) + 1, halves)[1:]
        return sums

    total = sum(each(count, records.chunks), np.zeros((len(cells), combinations), dtype=np.uint64))
    return _regrouped(total, schema, sensitive)


def _halves(words: _Words) -> npt.NDArray[np.float64]:
    """The lower and the upper 32 bits of some words as doubles, shape (2 · words a person, people).

    A chunk has fewer than 2¹⁵ people, so sums of them stay below 2⁴⁷ and are exact.
    """
    return np.ascontiguousarray(words).view("<u4").T.astype(np.float64, order="C")


def _added(keys: _Array, size: int, halves: npt.NDArray[np.float64]) -> _Words:
    """The sum of the words of each key below `size`, modulo 2⁶⁴, shape (size, words a person); lanes as in `_tally`."""
    lanes = min(max(TALLIED_KEYS_MAX // size, 1), LANES_MAX)
    keys = keys.astype(np.intp) + _lane_keys(size, lanes)[: len(keys)]
    added = np.stack([np.bincount(keys, weights=half, minlength=lanes * size) for half in halves])
    lower_upper = added.reshape(-1, 2, lanes, size).sum(axis=2).astype(np.uint64)
    words: _Words = (lower_upper[:, 0] + (lower_upper[:, 1] << np.uint64(32))).T
    return words


def _regrouped(sums: _Words, schema: Schema, sensitive: Sequence[str]) -> _Words:
    """Sums for each combination of all sensitive columns as sums for the groups of some, modulo 2⁶⁴."""
    number = {group: index for index, group in enumerate(schema.groups(sensitive))}
    columns = [schema.sensitive.index(name) for name in sensitive]
    grouped = np.zeros((len(sums), len(number)), dtype=np.uint64)
    for index, combination in enumerate(schema.groups(schema.sensitive)):
        grouped[:, number[tuple(combination[column] for column in columns)]] += sums[:, index]
    return grouped


def _tally(keys: _Array, size: int, weights: _Counts | None) -> _Counts:
    """Return how many people each key below `size` has: its records, or what they stand for in all.

    Adding to a number that was added to just before takes longer, so each of several lanes has numbers of its own:
    otherwise the time would say how many neighbours in the file have a key in common. Integers are added: doubles,
    which `bincount` would take, need three times as long where neighbours have one key.
    """
    lanes = min(max(TALLIED_KEYS_MAX // size, 1), LANES_MAX)
    if lanes > 1:
        keys = keys + _lane_keys(size, lanes)[: len(keys)]
    if weights is None:
        laned = np.bincount(keys, minlength=lanes * size)
    else:
        laned = np.zeros(lanes * size, dtype=np.int64)
        np.add.at(laned, keys, weights)
    tally: _Counts = laned.reshape(lanes, size).sum(axis=0) if lanes > 1 else laned
    return tally


@lru_cache(maxsize=64)
def _lane_keys(size: int, lanes: int) -> _Array:
    """Return what is added to the keys of a chunk, lane after lane in turn."""
    return (np.arange(CHUNK_RECORDS_MAX) % lanes * size).astype(np.min_scalar_type(lanes * size))


@cache
def _threads() -> ThreadPoolExecutor:
    """The threads that all counts of this process share: each has a core to itself."""
    return ThreadPoolExecutor(os.cpu_count(), thread_name_prefix="count")


@dataclass(frozen=True, slots=True)
class _Groups:
    """The groups of some sensitive columns, and how many that makes.

    Attributes:
        values: Of each column its name, or how its codes become bands; and how many values or bands it has.
    """

    values: Sequence[tuple[str | ColumnAtoms, int]]
    size: int

    @classmethod
    def of_columns(cls, records: Records, sensitive: Sequence[str]) -> "_Groups":
        columns = [records.schema.by_name[name] for name in sensitive]
        values = [
            (
                column.name if column.bands_from is None else ColumnAtoms.compiled(band_partition(column), records),
                len(column.group_values) + column.nullable,
            )
            for column in columns
        ]
        return cls(values, math.prod(count for _, count in values))

    def of(self, chunk: Chunk) -> _Array:
        """The index of each record's group, shape (records,); without sensitive columns everybody is in one."""
        if not self.values:
            return np.zeros(chunk.records, dtype=np.uint8)
        (first, _), *others = self.values
        index = _values(first, chunk)
        for column, count in others:
            index = index.astype(np.min_scalar_type(self.size)) * count + _values(column, chunk)
        return index


def _values(column: str | ColumnAtoms, chunk: Chunk) -> _Array:
    """The index of each record's value or band, shape (records,)."""
    return chunk.codes[column] if isinstance(column, str) else column.of(chunk)


def _counters(
    classes: Sequence[Sequence[int]], cells: Sequence[Cell], groups: int, records: Records
) -> Iterator["_WordCounter | _WalkCounter"]:
    """The quicker way to count each class: a step of a walk takes about as long as four look-ups in tables."""
    looked_up = []
    for indices in classes:
        rules = _rules(cells, indices)
        words = -(-len(rules) // WORD_BITS)
        walk = TreeWalk.compiled(rules, records, _quicker_than(words)) if words > 1 else None
        if walk is not None:
            yield _WalkCounter(list(indices), walk, _keys(indices, cells, groups))
        else:
            looked_up.append(indices)
    if looked_up:
        yield _WordCounter.compiled(looked_up, cells, groups, records)


def _quicker_than(words: int) -> Callable[[int, int], bool]:
    """Whether a walk of so many steps over so many columns is quicker than so many words."""
    return lambda steps, columns: 4 * steps <= words * (columns + 2)


def _rules(cells: Sequence[Cell], indices: Sequence[int]) -> list[Rule]:
    return [rule for index in indices for rule in cells[index].any_of]


def _keys(indices: Sequence[int], cells: Sequence[Cell], groups: int) -> _Array:
    """The key of each rule of a class, and after them of none.

    A rule of the class's n-th cell, counted from 1, has n · groups; none has 0.
    """
    keys = [n * groups for n, index in enumerate(indices, start=1) for _ in cells[index].any_of]
    return np.array([*keys, 0], dtype=np.min_scalar_type((len(indices) + 1) * groups))


@dataclass(frozen=True, slots=True)
class _WalkCounter:
    """Counts one class by the rule that matches first.

    Attributes:
        cells: The indices of its cells.
        walk: To that rule.
        key_of_rule: As `_keys`.
    """

    cells: list[int]
    walk: TreeWalk
    key_of_rule: _Array

    def keys(self, chunk: Chunk) -> Iterator[tuple[list[int], _Array]]:
        """The class's cells, and the key of the one that counts each record, shape (records,)."""
        yield self.cells, self.key_of_rule.take(self.walk.first_matching(chunk), mode="clip")


@dataclass(frozen=True, slots=True)
class _WordPart:
    """The rules of one class in one word.

    Attributes:
        bits: Theirs; `None` for all of the word.
        key_at: The key of each bit, shape (WORD_BITS + 1,).
        cells: The indices of the class's cells if these are its last rules, else `None`.
    """

    bits: int | None
    key_at: _Array
    cells: list[int] | None


@dataclass(frozen=True, slots=True)
class _WordCounter:
    """Counts classes by the lowest bit among the rules that match.

    Attributes:
        words: The rules of all the classes, one class after the other.
        parts: Of each word, the parts of classes in it.
    """

    words: RuleWords
    parts: Sequence[Sequence[_WordPart]]

    @classmethod
    def compiled(
        cls, classes: Sequence[Sequence[int]], cells: Sequence[Cell], groups: int, records: Records
    ) -> "_WordCounter":
        words = RuleWords.compiled([rule for indices in classes for rule in _rules(cells, indices)], records)
        parts: list[list[_WordPart]] = [[] for _ in words.rules]
        begin = 0
        for indices in classes:
            keys = _keys(indices, cells, groups)[:-1]
            end = begin + len(keys)
            for word in range(begin // WORD_BITS, -(-end // WORD_BITS)):
                first, behind = max(begin - word * WORD_BITS, 0), min(end - word * WORD_BITS, WORD_BITS)
                key_at = np.zeros(WORD_BITS + 1, dtype=keys.dtype)
                key_at[first:behind] = keys[word * WORD_BITS + first - begin :][: behind - first]
                bits = (1 << behind) - (1 << first)
                last = end <= (word + 1) * WORD_BITS
                whole = bits == words.rules[word]
                parts[word].append(_WordPart(None if whole else bits, key_at, list(indices) if last else None))
            begin = end
        return cls(words, parts)

    def keys(self, chunk: Chunk) -> Iterator[tuple[list[int], _Array]]:
        """For each class its cells, and the key of the one that counts each record, shape (records,)."""
        before: _Array | None = None
        for parts, matching in zip(self.parts, self.words.matching(chunk), strict=True):
            for part in parts:
                lowest = _lowest_bit(matching if part.bits is None else matching & part.bits)
                key = part.key_at.take(lowest, mode="clip")
                key = key if before is None else np.maximum(before, key)
                before = key if part.cells is None else None
                if part.cells is not None:
                    yield part.cells, key


def _lowest_bit(words: _Array) -> _Array:
    """The index of each word's lowest bit; of an empty word, how many bits it has."""
    return np.bitwise_count((words - 1) & ~words)
