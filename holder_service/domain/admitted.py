"""What comparisons mean: which values of a column a rule admits, exactly (2-privacy §§3, 8).

The disjointness proof and the count both read these sets, so a value compares alike in both.

On a column of numbers a predicate admits spans (above, up to] whose ends are values of the column's
own kind, so nothing is rounded twice: among integers "≤ t" ends at floor(t) and "< t" at ceil(t) − 1;
among doubles "≤ t" ends at t and "< t" at the double before it. Ends are clipped to the declared
range. Missing, in a nullable column, is the point +infinity, which is no value.

The rules at hand cut each column into *atoms*, which no predicate divides, numbered in order. The
atom of a number is how many cuts lie below it; of a category or boolean it is its place in declared
order. Missing is in the last atom, and alone there if any predicate distinguishes it from the largest values.
No atom is empty, so two sets meet exactly if a value can lie in both.
"""

import itertools
import math
import operator
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from shared.contract.rules import MISSING_TESTS, ORDERS, Predicate, Rule
from shared.contract.schema import Column, Schema, Value
from shared.wire import limits
from shared.wire.problems import TooLarge

RUNS_ADDED_MAX: Final = 8
"""Beyond so many runs it is quicker to write a set down digit by digit."""

NOT_CHECKED: Final = "A column of numbers is compared with numbers; check the plan against the schema first."
_UP_TO: Final = frozenset({"le", "gt"})
"""Comparisons that are between a threshold and the values above it; the others are between it and those below it."""
_FROM_BELOW: Final = frozenset({"lt", "le"})

Runs = tuple[tuple[int, int], ...]
"""A set of atoms as its runs of consecutive ones, ascending: of each the first, and the one behind the last."""

Path = list[tuple[str, int]]

_Comparison = tuple[str, str, Value | None, tuple[Value, ...] | None, bool]
"""What of a predicate says whom it admits: copies of it are equal."""
_End = TypeVar("_End", int, float)

_comparison: Final[Callable[[Predicate], _Comparison]] = operator.attrgetter(
    "column", "op", "value", "values", "or_missing"
)


@dataclass(frozen=True, slots=True)
class Partition:
    """A column's domain in atoms.

    Attributes:
        column: The declared column.
        cuts: For a column of numbers where one atom ends and the next begins, ascending: "value > cut".
            Missing counts as +infinity. Empty for other columns, where every value is an atom.
        atoms: How many atoms there are, missing included.
    """

    column: Column
    cuts: tuple[float, ...]
    atoms: int


@dataclass(frozen=True, slots=True)
class Comparisons:
    """What some rules compare with, each different comparison under a number.

    Paths of a tree repeat their splits, so what a comparison admits is worked out once for all rules that have it.

    Attributes:
        partitions: Of each column that a rule names, under its name, in order of first appearance.
        columns: By the number of a comparison, the name of its column.
        admitted: By the number of a comparison, the set of atoms that it admits.
        paths: By the number of a rule, the numbers of its comparisons, in the rule's order.
    """

    partitions: Mapping[str, Partition]
    columns: Sequence[str]
    admitted: Sequence[Runs]
    paths: Mapping[int, Sequence[int]]

    @classmethod
    def of(
        cls, rules: Mapping[int, Rule], schema: Schema, *, cuts_max: int = limits.CUTS_PER_COLUMN_MAX
    ) -> "Comparisons":
        """The comparisons of rules that fit a schema, each rule under a number of the caller's.

        Raises:
            TooLarge: The rules cut a column more than `cuts_max` times.
        """
        numbers: dict[_Comparison, int] = {}
        every = list(itertools.chain.from_iterable(rule.all_of for rule in rules.values()))
        number_of = {
            number: numbers.setdefault(_comparison(predicate), len(numbers))
            for number, predicate in dict(zip(map(id, every), every, strict=True)).items()
        }
        partitions: dict[str, Partition] = {}
        admitted: list[Runs] = [()] * len(numbers)
        for column, compared in _by_column(numbers, schema):
            partitions[column.name], sets = _partitioned(column, compared.values(), cuts_max)
            for number, atoms in zip(compared, sets, strict=True):
                admitted[number] = atoms
        paths = {number: list(map(number_of.__getitem__, map(id, rule.all_of))) for number, rule in rules.items()}
        return cls(partitions, [column for column, *_ in numbers], admitted, paths)

    def sets(self, rules: Iterable[int]) -> Iterator[tuple[Partition, dict[int, Runs]]]:
        """Yield the values that some of the rules admit, column by column, as `admitted_sets` does."""
        conjunctions: dict[str, defaultdict[int, list[Runs]]] = {name: defaultdict(list) for name in self.partitions}
        for rule in rules:
            for comparison in self.paths[rule]:
                conjunctions[self.columns[comparison]][rule].append(self.admitted[comparison])
        for name, conjoined in conjunctions.items():
            if conjoined:
                yield self.partitions[name], {rule: _common(sets) for rule, sets in conjoined.items()}


def admitted_sets(
    rules: Mapping[int, Rule], schema: Schema, *, cuts_max: int = limits.CUTS_PER_COLUMN_MAX
) -> Iterator[tuple[Partition, dict[int, Runs]]]:
    """Yield what some rules admit, column by column.

    Args:
        rules: Rules that fit the schema, each under a number of the caller's.
        schema: The dataset's declared columns.
        cuts_max: At most how often a column may be cut.

    Returns:
        For each column that a rule names, in order of first appearance: its partition, and under the
        number of each rule that names it the set of atoms that the rule admits. A rule that does not
        name a column admits all of it. An empty set is a contradiction: the rule matches nobody.

    Raises:
        TooLarge: The rules cut a column more often.
    """
    return Comparisons.of(rules, schema, cuts_max=cuts_max).sets(rules)


def admitted_paths(rules: Sequence[Rule], schema: Schema) -> tuple[Mapping[str, Partition], list[Path]]:
    """Return what some rules admit, predicate by predicate.

    Args:
        rules: Rules that fit the schema.
        schema: The dataset's declared columns.

    Returns:
        The partition of each column that a rule names; and for each rule its predicates in order, each
        as the column and the set of atoms that it admits, as an integer: bit a for atom a.

    Raises:
        TooLarge: The rules cut a column more than `CUTS_PER_COLUMN_MAX` times.
    """
    compared = Comparisons.of(dict(enumerate(rules)), schema)
    splits = list(zip(compared.columns, map(_bits, compared.admitted), strict=True))
    return compared.partitions, [[splits[number] for number in path] for path in compared.paths.values()]


def admitted_values(column: Column, predicates: Sequence[Predicate]) -> Iterator[tuple[int, int]]:
    """Yield the values of one column that a conjunction admits, as ascending ranges.

    Args:
        column: A category, or an integer with bounds; without missing values.
        predicates: At least one, all of that column.

    Yields:
        The first and the last value of each range: whole numbers, or indices of categories in declared order.
    """
    partition, sets = _partitioned(column, map(_comparison, predicates))
    for start, end in _common(sets):
        if column.ordered:
            ends = (int(column.low) - 1, *map(int, partition.cuts), int(column.high))
            yield ends[start] + 1, ends[end]
        else:
            yield start, end - 1


def band_partition(column: Column) -> Partition:
    """A column's bands as its atoms, in order, and missing, if it may be, behind them.

    Raises:
        ValueError: The column has no bands, or one without a value: its declaration should have been refused.
    """
    starts = column.bands_from or ()
    predicates = [Predicate(column=column.name, op="ge", value=start) for start in starts]
    if column.nullable:
        predicates.append(Predicate(column=column.name, op="is_missing"))
    partition, _ = _partitioned(column, map(_comparison, predicates))
    if not starts or partition.atoms != len(starts) + 1 + column.nullable:
        raise ValueError(
            f"Column {column.name!r} does not have bands, or has a band without possible values. "
            "Correct its declaration."
        )
    return partition


def admitting_rules(sets: Mapping[int, Runs], atoms: int) -> list[int]:
    """Turn rules' sets of atoms into atoms' sets of rules.

    Args:
        sets: By rule number, the set of atoms that the rule admits.
        atoms: How many atoms the column has.

    Returns:
        For each atom the set of the rules that admit it, as an integer: bit r for rule r.
    """
    changes: list[list[int]] = [[] for _ in range(atoms + 1)]
    for number, runs in sets.items():
        for start, end in runs:
            changes[start].append(number)
            changes[end].append(number)
    # One set that changes from atom to atom stays in the processor's cache, a set of changes for each atom does not.
    admitting = 0
    by_atom = []
    for changed in changes[:atoms]:
        for number in changed:
            admitting ^= 1 << number
        by_atom.append(admitting)
    return by_atom


def _by_column(comparisons: Iterable[_Comparison], schema: Schema) -> Iterator[tuple[Column, dict[int, _Comparison]]]:
    """Comparisons by the column that they are about, in order of first appearance, each under its number."""
    columns: defaultdict[str, dict[int, _Comparison]] = defaultdict(dict)
    for number, comparison in enumerate(comparisons):
        columns[comparison[0]][number] = comparison
    for name, compared in columns.items():
        yield schema.by_name[name], compared


def _partitioned(
    column: Column, comparisons: Iterable[_Comparison], cuts_max: int = limits.CUTS_PER_COLUMN_MAX
) -> tuple[Partition, list[Runs]]:
    """A column's partition, and what each of some comparisons admits of it."""
    return (
        _partition_numbers(column, comparisons, cuts_max) if column.ordered else _partition_values(column, comparisons)
    )


def _partition_numbers(
    column: Column, comparisons: Iterable[_Comparison], cuts_max: int
) -> tuple[Partition, list[Runs]]:
    """The coarsest atoms, and what each comparison admits of them."""
    line = _Line.of(column)
    spans = list(map(line.admitted, comparisons))
    ends = set(itertools.chain.from_iterable(itertools.chain.from_iterable(spans)))
    cuts = sorted(ends - {-math.inf, line.top})
    if len(cuts) > cuts_max:
        raise TooLarge(what=f"different thresholds for column {column.name!r}", limit=cuts_max)
    index = {end: atom for atom, end in enumerate((-math.inf, *cuts, line.top))}
    admitted = [tuple([(index[above], index[up_to]) for above, up_to in one]) for one in spans]
    return Partition(column, tuple(cuts), len(cuts) + 1), admitted


def _partition_values(column: Column, comparisons: Iterable[_Comparison]) -> tuple[Partition, list[Runs]]:
    """An atom for each category or boolean, and what each comparison admits of them."""
    partition = Partition(column, (), len(column.values) + column.nullable)
    return partition, [tuple(_listed(column, comparison)) for comparison in comparisons]


def _listed(column: Column, comparison: _Comparison) -> list[tuple[int, int]]:
    _, op, value, values, or_missing = comparison
    present = len(column.values)
    missing = (present, present + 1) if or_missing else ()
    match op:
        case "is_missing":
            return _spans(present, present + 1)
        case "not_missing":
            return _spans(0, present)
    indices = sorted(
        column.category_indices[one] if isinstance(one, str) else int(one) for one in _operands(value, values)
    )
    ends = itertools.chain.from_iterable((index, index + 1) for index in indices)
    return _spans(0, *ends, present, *missing) if op in ("ne", "not_in") else _spans(*ends, *missing)


@dataclass(frozen=True, slots=True)
class _Line:
    """The values that records can have in a column of numbers, and missing behind them.

    Attributes:
        integers: Whether the values are integers, or doubles.
        low: The smallest value.
        high: The largest value; infinity is refused at load.
        top: The last point: `high`, or infinity for missing.
    """

    integers: bool
    low: float
    high: float
    top: float

    @classmethod
    def of(cls, column: Column) -> "_Line":
        low, high = max(column.low, -sys.float_info.max), min(column.high, sys.float_info.max)
        return cls(column.type == "integer", low, high, math.inf if column.nullable else high)

    def admitted(self, comparison: _Comparison) -> list[tuple[float, float]]:
        """The points that satisfy a comparison: spans (above, up to] without a point in common, none of them empty."""
        _, op, value, values, or_missing = comparison
        missing = (self.high, self.top) if or_missing else ()
        if op in ORDERS:
            end = self._at_most(value) if op in _UP_TO else self._below(value)
            above, up_to = (-math.inf, end) if op in _FROM_BELOW else (end, self.high)
            if missing:
                return _spans(above, up_to, *missing)
            return [(above, up_to)] if above < up_to else []
        if op in MISSING_TESTS:
            return _spans(self.high, self.top) if op == "is_missing" else _spans(-math.inf, self.high)
        pairs = sorted((self._below(one), self._at_most(one)) for one in _operands(value, values))
        ends = itertools.chain.from_iterable(pairs)
        if op in ("ne", "not_in"):
            return _spans(-math.inf, *ends, self.high, *missing)
        return _spans(*ends, *missing)

    def _below(self, threshold: Value | None) -> float:
        """Return the largest value below a threshold, or −infinity if no value is."""
        if not isinstance(threshold, (int, float)):  # quicker than their union, thousands of times
            raise TypeError(NOT_CHECKED)
        end = math.ceil(threshold) - 1 if self.integers else math.nextafter(threshold, -math.inf)
        return min(end, self.high) if end >= self.low else -math.inf

    def _at_most(self, threshold: Value | None) -> float:
        """Return the largest value that is at most a threshold, or −infinity if no value is."""
        if not isinstance(threshold, (int, float)):
            raise TypeError(NOT_CHECKED)
        end = math.floor(threshold) if self.integers else float(threshold)
        return min(end, self.high) if end >= self.low else -math.inf


def _spans(*ends: _End) -> list[tuple[_End, _End]]:
    """From ascending ends, start and end in turn, the spans that are not empty, joined where they touch."""
    if len(ends) == 2:
        return [(ends[0], ends[1])] if ends[0] < ends[1] else []
    spans: list[tuple[_End, _End]] = []
    for start, end in zip(ends[::2], ends[1::2], strict=True):
        if spans and spans[-1][1] == start:
            start = spans.pop()[0]  # noqa: PLW2901 - the span before goes on
        if start < end:
            spans.append((start, end))
    return spans


def _common(sets: Sequence[Runs]) -> Runs:
    """The atoms that are in all of some sets: those where as many runs are under way as there are sets."""
    if len(sets) == 1:
        return sets[0]
    under_way = start = 0
    runs = []
    for end, change in sorted(itertools.chain.from_iterable(((s, 1), (e, -1)) for one in sets for s, e in one)):
        if change < 0 and under_way == len(sets):
            runs.append((start, end))
        under_way += change
        start = end
    return tuple(runs)


def _bits(runs: Runs) -> int:
    """A set of atoms as an integer: bit a for atom a."""
    if len(runs) <= RUNS_ADDED_MAX:
        return sum((1 << end) - (1 << start) for start, end in runs)
    ends = (0, *itertools.chain.from_iterable(runs))
    digits = "".join(
        digit * (end - start) for digit, (start, end) in zip(itertools.cycle("01"), itertools.pairwise(ends))
    )
    return int(digits[::-1], 2)


def _operands(value: Value | None, values: tuple[Value, ...] | None) -> tuple[Value, ...]:
    """Return the values that a comparison names; none for the tests for missing."""
    if values is not None:
        return values
    return () if value is None else (value,)
