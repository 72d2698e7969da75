"""What values a column can have, cut into pieces that a tree does not distinguish, and predicates for unions of them.

A column's domain is a row of *atoms*: for a category or boolean column its declared values, for an
ordered one the stretches between *cuts*, and last, for a nullable column, missing. A set of atoms is a
Python integer used as a bit mask, so which way a split sends everybody is one number.

An ordered column is walked by *keys*: unsigned 64-bit integers in the order of the values, one for each
double or integer that the column admits. A cut k lies between key k and key k + 1, so nothing is lost
to rounding: no admitted value lies in between.
"""

import struct
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from shared.contract.rules import Predicate
from shared.contract.schema import Column, Value
from shared.wire.limits import VALUES_PER_PREDICATE_MAX

LARGEST: Final = float(np.finfo(np.float32).max)
"""scikit-learn's trees refuse larger values; a rule treats them as the largest accepted value."""

_SIGN: Final = 1 << 63
_ALL_BITS: Final = (1 << 64) - 1

Keys = NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class Line:
    """The values of an ordered column as keys `first` to `last`, in order; −0.0 is 0.0."""

    column: Column

    @property
    def first(self) -> int:
        """The key of the smallest value that can be asked about."""
        return self.key(max(self.column.low, -LARGEST))

    @property
    def last(self) -> int:
        """The key of the largest value that can be asked about."""
        return self.key(min(self.column.high, LARGEST))

    def key(self, value: float) -> int:
        """The key of an admitted value."""
        if self.column.type == "integer":
            return int(value) + _SIGN
        bits = int(np.float64(value).view(np.uint64))
        return (bits ^ _ALL_BITS) + 1 if bits & _SIGN else bits ^ _SIGN

    def keys(self, values: NDArray[np.float64]) -> Keys:
        """The keys of admitted values, of the same shape."""
        if self.column.type == "integer":
            return values.astype(np.int64).view(np.uint64) + np.uint64(_SIGN)
        bits = (values + 0.0).view(np.uint64)
        return np.where(bits & np.uint64(_SIGN), (bits ^ np.uint64(_ALL_BITS)) + np.uint64(1), bits ^ np.uint64(_SIGN))

    def values(self, keys: Keys) -> NDArray[np.float64]:
        """The values of some keys, of the same shape."""
        if self.column.type == "integer":
            return (keys - np.uint64(_SIGN)).view(np.int64).astype(np.float64)
        bits = np.where(keys & np.uint64(_SIGN), keys ^ np.uint64(_SIGN), (keys - np.uint64(1)) ^ np.uint64(_ALL_BITS))
        return bits.view(np.float64)

    def value(self, key: int) -> int | float:
        """The value of one key, an `int` for an integer column."""
        if self.column.type == "integer":
            return key - _SIGN
        bits = key ^ _SIGN if key & _SIGN else (key - 1) ^ _ALL_BITS
        number: float = struct.unpack("<d", struct.pack("<Q", bits))[0]
        return number


@dataclass(frozen=True, slots=True)
class Way:
    """One way on from a split: which atoms take it, and predicates that say so."""

    left: bool
    admitted: int
    predicates: tuple[Predicate, ...]


@dataclass(frozen=True, slots=True)
class _Run:
    """Neighbouring atoms, as far as others cannot arrive, that go the same way."""

    left: bool
    atoms: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Domain:
    """A column's atoms. `cuts` (of an ordered column) ascend and lie within its line."""

    column: Column
    cuts: tuple[int, ...] = ()

    @property
    def values_count(self) -> int:
        """How many atoms there are without missing."""
        return len(self.cuts) + 1 if self.column.ordered else len(self.column.values)

    @property
    def missing(self) -> int:
        """The mask of missing: 0 for a column that is never missing."""
        return 1 << self.values_count if self.column.nullable else 0

    @property
    def everything(self) -> int:
        """The mask of all atoms."""
        return (1 << self.values_count) - 1 | self.missing

    def examples(self, atom: int) -> list[Value | None]:
        """Values of an atom, the extreme ones where they are next to a cut or declared as the column's limits."""
        if atom == self.values_count:
            return [None]
        if not self.column.ordered:
            return [self.column.values[atom]]
        line = Line(self.column)
        low, high = self.ends(atom)
        ends = []
        if atom > 0 or self.column.low >= -LARGEST:
            ends.append(line.value(low))
        if atom < len(self.cuts) or self.column.high <= LARGEST:
            ends.append(line.value(high))
        return list(dict.fromkeys(ends)) or [0.0]

    def extremes(self) -> tuple[NDArray[np.intp], list[Value | None]]:
        """The values of `examples`, atom by atom and missing last, and of each its atom."""
        if not self.column.ordered:
            values: list[Value | None] = [*self.column.values, *([None] if self.column.nullable else [])]
            return np.arange(len(values)), values
        line, cuts = Line(self.column), np.array(self.cuts, np.uint64)
        low = line.values(np.concatenate([[np.uint64(line.first)], cuts + np.uint64(1)]).astype(np.uint64))
        high = line.values(np.concatenate([cuts, [np.uint64(line.last)]]).astype(np.uint64))
        is_example = np.ones((len(low), 2), bool)
        is_example[0, 0], is_example[-1, 1] = self.column.low >= -LARGEST, self.column.high <= LARGEST
        is_example[:, 1] &= ~(is_example[:, 0] & (low == high))
        ends = np.column_stack([low, high])
        if not is_example.any():
            ends[0, 0], is_example[0, 0] = 0.0, True
        atoms = np.repeat(np.arange(len(low)), 2)[is_example.ravel()]
        examples: list[Value | None] = ends.ravel()[is_example.ravel()].tolist()
        if self.column.nullable:
            return np.append(atoms, len(low)), [*examples, None]
        return atoms, examples

    def ways(self, left: int, reach: int) -> list[Way]:
        """Describe a split by predicates, where some atoms can arrive and some of them go left.

        What the predicates say of atoms that cannot arrive is arbitrary, which is what keeps them short.

        Returns:
            Two or more ways whose `admitted` atoms exclude each other and together are `reach`; a single
            one, without predicates, if everybody goes the same way.
        """
        right = reach & ~left
        left &= reach
        if not (left and right):
            return [Way(bool(left), reach, ())]
        values = self.everything & ~self.missing
        if not (left & values and right & values):
            return [self._missing_or_not(True, left), self._missing_or_not(False, right)]
        return self._stretches(left, reach) if self.column.ordered else self._lists(left, right)

    def _missing_or_not(self, goes_left: bool, admitted: int) -> Way:
        missing = admitted & self.missing
        return Way(
            goes_left, admitted, (Predicate(column=self.column.name, op="is_missing" if missing else "not_missing"),)
        )

    def _predicate(self, op: Any, admitted: int, **value: Any) -> Predicate:
        return Predicate(column=self.column.name, op=op, or_missing=bool(admitted & self.missing), **value)

    def _lists(self, left: int, right: int) -> list[Way]:
        """Ways of a category or boolean column: the shorter list, and not the shorter list."""
        listed = {side: [v for atom, v in enumerate(self.column.values) if side >> atom & 1] for side in (left, right)}
        if self.column.type == "boolean":
            return [Way(side == left, side, (self._predicate("eq", side, value=listed[side][0]),)) for side in listed]
        short = min(left, right, key=lambda side: len(listed[side]))
        ways = []
        for side, other in ((left, right), (right, left)):
            if len(listed[short]) > VALUES_PER_PREDICATE_MAX:
                parts = _parts(listed[other], VALUES_PER_PREDICATE_MAX)
                predicates = tuple(self._predicate("not_in", side, values=part) for part in parts)
            else:
                predicates = (self._predicate("in" if side == short else "not_in", side, values=listed[short]),)
            ways.append(Way(side == left, side, predicates))
        return ways

    def _stretches(self, left: int, reach: int) -> list[Way]:
        """Ways of an ordered column: stretches, from which single values may be taken out; the fewest of them."""
        atoms = [atom for atom in range(self.values_count) if reach >> atom & 1]
        runs = [_Run(side, tuple(run)) for side, run in groupby(atoms, key=lambda atom: bool(left >> atom & 1))]
        points = [run for run in runs[1:-1] if self.ends(run.atoms[0])[0] == self.ends(run.atoms[-1])[1]]
        taken_out = ([run for run in points if run.left in sides] for sides in ((), (True,), (False,), (True, False)))
        missing_left = bool(left & self.missing) if reach & self.missing else None
        options = [self._ways_around(runs, out, missing_left) for out in taken_out]
        return min(options, key=lambda ways: (len(ways), sum(len(way.predicates) for way in ways)))

    def _ways_around(self, runs: "list[_Run]", points: "list[_Run]", missing_left: bool | None) -> list[Way]:
        """A way for each point, and for each stretch that is left when the points are taken out."""
        runs_by_side = groupby((run for run in runs if run not in points), key=lambda run: run.left)
        stretches = [_Run(side, tuple(atom for run in stretch for atom in run.atoms)) for side, stretch in runs_by_side]
        ways = []
        for run in sorted((*points, *stretches), key=lambda run: run.atoms):
            admitted = sum(1 << atom for atom in run.atoms)
            if missing_left == run.left:
                admitted, missing_left = admitted | self.missing, None
            if run in points:
                predicates = [self._compare("eq", run.atoms[0], admitted)]
            else:
                index = stretches.index(run)
                low = stretches[index - 1].atoms[-1] if index > 0 else -1
                high = run.atoms[-1] if index < len(stretches) - 1 else self.values_count
                predicates = [self._bounded("gt", "ge", low, admitted)] if low >= 0 else []
                predicates += [self._bounded("le", "lt", high, admitted)] if high < self.values_count else []
                inside = (point for point in points if low < point.atoms[0] < high)
                predicates += [self._compare("ne", point.atoms[0], admitted) for point in inside]
            ways.append(Way(run.left, admitted, tuple(predicates)))
        return ways

    def _compare(self, op: str, atom: int, admitted: int) -> Predicate:
        return self._predicate(op, admitted, value=Line(self.column).value(self.ends(atom)[0]))

    def _bounded(self, at_last: str, at_following: str, atom: int, admitted: int) -> Predicate:
        """One side of the end of an atom, by its last value or by the one that follows, whichever is prettier."""
        last, following = self.boundary(atom)
        if following is None:
            return self._predicate(at_last, admitted, value=last)
        return self._predicate(at_following, admitted, value=following)

    def boundary(self, atom: int) -> tuple[int | float, float | None]:
        """The last value of an atom; and the first one behind it, if that has fewer digits (29.999999999999996, 30)."""
        line, cut = Line(self.column), self.cuts[atom]
        last, following = line.value(cut), line.value(cut + 1)
        prettier = self.column.type == "number" and len(repr(following)) < len(repr(last))
        return last, following if prettier else None

    def boundaries(self) -> list[tuple[int | float, float | None]]:
        """The `boundary` of every atom but the last."""
        if not self.cuts:
            return []
        line, cuts = Line(self.column), np.array(self.cuts, np.uint64)
        if self.column.type == "integer":
            return [(line.value(cut), None) for cut in self.cuts]
        last, following = line.values(cuts).tolist(), line.values(cuts + np.uint64(1)).tolist()
        return [
            (low, high if len(repr(high)) < len(repr(low)) else None) for low, high in zip(last, following, strict=True)
        ]

    def ends(self, atom: int) -> tuple[int, int]:
        """The first and last key of an atom."""
        line = Line(self.column)
        low = self.cuts[atom - 1] + 1 if atom > 0 else line.first
        return low, self.cuts[atom] if atom < len(self.cuts) else line.last


def _parts(values: list[Any], size: int) -> list[list[Any]]:
    return [values[start : start + size] for start in range(0, len(values), size)]
