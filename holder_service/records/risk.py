"""How few people stand behind what a declaration names: for the holder's administrator alone, before it is published.

A declaration is public, and rules may ask about every combination of its values. Noise protects each person whatever
is declared; but a category of three people is estimated by nobody, tempts to guess, and says that there is such a
person. These are true counts, in the open: nothing of them is sent, logged or kept. k of k-anonymity is the number of
people who share their combination of values with the fewest others (Sweeney 2002); l of l-diversity is the number of
different sensitive values among those who share a combination, where it is smallest (Machanavajjhala et al. 2007,
*distinct* l-diversity).
"""

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from holder_service.domain.admitted import band_partition
from holder_service.domain.errors import InvalidRequest
from holder_service.records.atoms import ColumnAtoms
from holder_service.records.encoded import Records
from holder_service.records.options import RiskOptions
from shared.contract.schema import Column, Schema

_Codes = npt.NDArray[np.int64]
SETS_MAX = 10_000
"""So many sets of columns are looked at."""


@dataclass(frozen=True, slots=True, repr=False)
class DeclaredValue:
    """How many people have a declared value, or are in a declared band; `None` as value: it is missing."""

    column: str
    value: str | None
    people: int


@dataclass(frozen=True, slots=True, repr=False)
class ValueMerge:
    """Values of a column that together have enough people, or all there are."""

    column: str
    values: tuple[str, ...]
    people: int


@dataclass(frozen=True, slots=True, repr=False)
class KnownCombination:
    """What is known of everybody from some columns together.

    Attributes:
        columns: The quasi-identifiers.
        occupied: How many combinations of their values somebody has.
        k: The people who have the rarest of them; 0 if there is nobody.
        alone: The people whose combination nobody else has.
        few: The people whose combination fewer than `people_min` have.
        diversity: By sensitive column, the fewest different values among people of one combination (l).
    """

    columns: tuple[str, ...]
    occupied: int
    k: int
    alone: int
    few: int
    diversity: dict[str, int]


@dataclass(frozen=True, slots=True, repr=False)
class Risk:
    """How few people stand behind what is declared; printing it as an object shows nothing.

    Attributes:
        people: All of them.
        values: Of every column with a list of values or bands, in declared order.
        merges: What to declare as one, so that no value has fewer than `people_min`.
        combinations: For every set of quasi-identifiers that was looked at, the smallest sets first.
        left_out: Columns that were not looked at, because they are numbers and were not named.
    """

    people: int
    values: tuple[DeclaredValue, ...]
    merges: tuple[ValueMerge, ...]
    combinations: tuple[KnownCombination, ...]
    left_out: tuple[str, ...]


def risk_of(records: Records, options: RiskOptions) -> Risk:
    """Count the people behind every declared value, and behind every combination of quasi-identifiers.

    Raises:
        InvalidRequest: A quasi-identifier is no declared column, or is sensitive; or there are too many sets of them.
    """
    schema = records.schema
    quasi = _quasi_identifiers(schema, options)
    sensitive = [column.name for column in schema.columns if column.sensitive and column.group_values]
    listed = [column.name for column in schema.columns if column.group_values]
    codes = {name: _codes(records, name) for name in dict.fromkeys([*listed, *sensitive, *quasi])}
    weights = _weights(records)
    values: list[DeclaredValue] = []
    merges: list[ValueMerge] = []
    for name in listed:
        counts = _people(codes[name], _size(schema.by_name[name]), weights)
        values += _values(schema.by_name[name], counts)
        merges += _merges(schema.by_name[name], counts, options.people_min)
    combinations = tuple(
        _combination(columns, codes, sensitive, weights, options.people_min)
        for columns in _sets(quasi, options.together)
    )
    left_out = () if options.quasi else tuple(column.name for column in schema.columns if _left_out(column))
    return Risk(int(weights.sum()), tuple(values), tuple(merges), combinations, left_out)


def _quasi_identifiers(schema: Schema, options: RiskOptions) -> tuple[str, ...]:
    for name in options.quasi:
        column = schema.by_name.get(name)
        if column is None:
            raise InvalidRequest(f"Column {name!r} is not declared: name a declared one.", field="quasi")
        if column.sensitive:
            raise InvalidRequest(
                f"Column {name!r} is declared sensitive: its diversity is shown beside every combination.",
                field="quasi",
            )
    own = tuple(
        column.name for column in schema.columns if not (column.sensitive or column.label or column.type == "number")
    )
    quasi = tuple(dict.fromkeys(options.quasi)) or own
    sets = sum(math.comb(len(quasi), size) for size in range(1, options.together + 1))
    if sets > SETS_MAX:
        raise InvalidRequest(
            f"{len(quasi)} columns make {sets} sets of up to {options.together}: name the columns that others could "
            "know (--quasi), or look at fewer together (--together 1).",
            field="quasi",
        )
    return quasi


def _left_out(column: Column) -> bool:
    return column.type == "number" and not column.sensitive


def _codes(records: Records, name: str) -> _Codes:
    """The place of each record's value among the column's own, shape (records,)."""
    column = records.schema.by_name[name]
    if column.bands_from is not None:
        atoms = ColumnAtoms.compiled(band_partition(column), records)
        parts: list[Any] = [atoms.of(chunk) for chunk in records.chunks]
    else:
        parts = [records.values(chunk, name) for chunk in records.chunks]
    values = np.concatenate(parts) if parts else np.empty(0, dtype=np.int64)
    if column.ordered and column.bands_from is None:
        values = np.unique(values, return_inverse=True)[1]
    return values.astype(np.int64)


def _weights(records: Records) -> _Codes:
    """Return how many people each record stands for, shape (records,)."""
    ones = [
        np.ones(chunk.records, dtype=np.int64) if chunk.weights is None else chunk.weights for chunk in records.chunks
    ]
    return np.concatenate(ones) if ones else np.empty(0, dtype=np.int64)


def _size(column: Column) -> int:
    return len(column.group_values) + column.nullable


def _people(keys: _Codes, size: int, weights: _Codes) -> _Codes:
    """Return how many people each of `size` keys has."""
    people = np.zeros(size, dtype=np.int64)
    np.add.at(people, keys, weights)
    return people


def _words(column: Column) -> list[str | None]:
    words: list[str | None] = [
        str(value).lower() if isinstance(value, bool) else value for value in column.group_values
    ]
    return [*words, None] if column.nullable else words


def _values(column: Column, counts: _Codes) -> Iterator[DeclaredValue]:
    for word, people in zip(_words(column), counts.tolist(), strict=True):
        yield DeclaredValue(column.name, word, people)


def _merges(column: Column, counts: _Codes, people_min: int) -> list[ValueMerge]:
    """Return which values to declare as one: bands with a neighbour, categories with the next smallest."""
    words = [word for word in _words(column) if word is not None]
    parts: list[tuple[tuple[str, ...], int]] = [
        ((word,), people) for word, people in zip(words, counts.tolist(), strict=False)
    ]
    if column.type == "boolean":
        return []
    while len(parts) > 1 and min(people for _, people in parts) < people_min:
        index = min(range(len(parts)), key=lambda one: parts[one][1])
        if column.ordered:
            near = [one for one in (index - 1, index + 1) if 0 <= one < len(parts)]
        else:
            near = [one for one in range(len(parts)) if one != index]
        other = min(near, key=lambda one: parts[one][1])
        first, second = sorted((index, other))
        joined = (*parts[first][0], *parts[second][0]), parts[first][1] + parts[second][1]
        parts[first : first + 1] = [joined]
        del parts[second]
    return [ValueMerge(column.name, names, people) for names, people in parts if len(names) > 1]


def _sets(quasi: Sequence[str], together: int) -> Iterator[tuple[str, ...]]:
    for size in range(1, min(together, len(quasi)) + 1):
        yield from itertools.combinations(quasi, size)
    if len(quasi) > together:
        yield tuple(quasi)


def _combination(
    columns: tuple[str, ...], codes: dict[str, _Codes], sensitive: Sequence[str], weights: _Codes, people_min: int
) -> KnownCombination:
    keys = np.zeros(len(weights), dtype=np.int64)
    for name in columns:
        keys = _dense(keys, codes[name])
    occupied = int(keys.max()) + 1 if len(keys) else 0
    people = _people(keys, occupied, weights)
    return KnownCombination(
        columns, occupied,
        k=int(people.min()) if occupied else 0,
        alone=int((people == 1).sum()),
        few=int(people[people < people_min].sum()),
        diversity={name: _diversity(keys, codes[name], occupied) for name in sensitive},
    )  # fmt: skip


def _dense(keys: _Codes, codes: _Codes) -> _Codes:
    """One key for each pair of a key and a code that somebody has, counted from 0."""
    if not len(keys):
        return keys
    dense: _Codes = np.unique(keys * (int(codes.max()) + 1) + codes, return_inverse=True)[1].astype(np.int64)
    return dense


def _diversity(keys: _Codes, codes: _Codes, occupied: int) -> int:
    """The fewest different codes among those who have one key."""
    if not occupied:
        return 0
    size = int(codes.max()) + 1
    pairs = np.unique(keys * size + codes)
    return int(np.bincount(pairs // size, minlength=occupied).min())
