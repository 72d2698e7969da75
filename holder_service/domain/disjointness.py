"""Which cells provably have nobody in common, and the classes that follow (2-privacy §3).

The proof reads rules and declared domains alone, never a record: a check that counts people leaks.
Two rules are disjoint if the sets that they admit on some column do not meet. A rule with an empty
set matches nobody and is disjoint from every rule. Two cells are disjoint if all their rules are
pairwise; rules of one cell may overlap, because a cell counts nobody twice.

Paths of a tree come with their proof: where two of them part, the comparisons exclude each other. Rules that part so
are followed from comparison to comparison, and nothing more is to be shown of them. All other pairs are compared, but
never one by one: a set of rules is an `int` with a bit for each, and a few operations on these sets give all rules that
a rule meets on a column. So the proof is exact for any plan, in path order or not, and its time is bounded by the
public limits on a plan's size.
"""

import itertools
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from holder_service.domain.admitted import Comparisons, Partition, Runs, admitting_rules
from shared.contract.rules import Cell, Rule
from shared.contract.schema import Schema


def disjoint_classes(cells: Sequence[Cell], schema: Schema) -> tuple[tuple[int, ...], ...]:
    """Colour cells into classes of mutually disjoint ones, first fit in the order given.

    Returns:
        The classes, each the ascending indices of its cells; a batch of cells costs its ε once for each.

    Raises:
        TooLarge: As `admitted_sets`.

    Source: 2-privacy §3; parallel composition: McSherry (2009).
    """
    # Bits of the rules of one cell stand together, and behind them one more, the cell's flag.
    rules: dict[int, Rule] = {}
    cell_at: dict[int, int] = {}
    for index, cell in enumerate(cells):
        first = len(rules) + len(cell_at)
        rules.update(enumerate(cell.any_of, start=first))
        cell_at[first + len(cell.any_of)] = index
    compared = Comparisons.of(rules, schema)
    groups = list(_parted(compared))
    if len(groups) == len(rules):
        return (tuple(range(len(cells))),) if cells else ()
    overlaps = _overlaps(compared, groups)
    # Adding `fill` carries into the flag exactly if one of the cell's rules is in a set: a cell's conflicts
    # with all others come out of one addition.
    flags = _union(cell_at)
    fill = _union(rules)
    conflicts: dict[int, int] = {}
    for flag, index in cell_at.items():
        met = 0
        for number in range(flag - len(cells[index].any_of), flag):
            met |= overlaps[number]
        conflicts[flag] = (met + fill) & flags
    return tuple(tuple(cell_at[flag] for flag in chosen) for chosen in _first_fit(conflicts, flags))


def _first_fit(conflicts: Mapping[int, int], waiting: int) -> list[list[int]]:
    """Fill one class after the other, each with every waiting cell that fits it, in order.

    The classes are those of the usual order of work, each cell into the first class that it fits,
    because whether a cell fits a class depends on the earlier cells of that class alone.
    """
    classes = []
    while waiting:
        chosen = []
        fitting = waiting
        while fitting:
            flag = (fitting & -fitting).bit_length() - 1
            chosen.append(flag)
            waiting ^= 1 << flag
            fitting &= ~(conflicts[flag] | 1 << flag)
        classes.append(chosen)
    return classes


def _overlaps(compared: Comparisons, groups: Iterable[Sequence[int]]) -> dict[int, int]:
    """By rule number, the set of rules that are not provably disjoint from it; itself too, unless it matches nobody.

    Args:
        compared: What the rules compare with.
        groups: All of them, so that rules of two groups are disjoint.
    """
    overlaps: dict[int, int] = {}
    together: list[int] = []
    for group in groups:
        union = _union(group)
        for number in group:
            overlaps[number] = union
        if len(group) > 1:
            together += group
    everyone = _union(together)
    for partition, sets in compared.sets(together):
        undecided = [number for number in sets if overlaps[number] & ~(1 << number)]
        if undecided:
            meeting = _Meeting(partition, sets, everyone)
            for number in undecided:
                overlaps[number] &= meeting.rules(sets[number])
    nobody = _union(number for number in together if not overlaps[number])
    return {number: overlap & ~nobody for number, overlap in overlaps.items()}


def _parted(compared: Comparisons) -> Iterator[list[int]]:
    """Groups of rules, so that rules of two groups are disjoint; of a tree's paths each is a group by itself.

    Rules that agree so far part by their next comparisons if these, of one column, exclude each other.
    """
    paths = compared.paths
    shortest = min(map(len, paths.values()), default=0)
    waiting = [(list(paths), 0)] if paths else []
    while waiting:
        group, agreed = waiting.pop()
        parts: defaultdict[int, list[int]] = defaultdict(list)
        if len(group) > 1 and (agreed < shortest or all(len(paths[number]) > agreed for number in group)):
            for number in group:
                parts[paths[number][agreed]].append(number)
        if parts and _exclude_each_other(compared, parts):
            for part in parts.values():
                if len(part) > 1:
                    waiting.append((part, agreed + 1))
                else:
                    yield part
        else:
            yield group


def _exclude_each_other(compared: Comparisons, comparisons: Collection[int]) -> bool:
    """Whether no value satisfies two of some comparisons, which have to be of one column to show it."""
    if len({compared.columns[one] for one in comparisons}) > 1:
        return False
    runs = sorted(itertools.chain.from_iterable(compared.admitted[one] for one in comparisons))
    return all(end <= start for (_, end), (start, _) in itertools.pairwise(runs))


class _Meeting:
    """Whom a set of atoms of one column meets.

    The last atom of a nullable column, where missing is, stands apart; of the others most rules admit one run. Such a
    rule meets another run if it begins before that ends and has not ended where that begins, so two sets show all of
    them. For rules of several runs there are unions over atoms, from a segment tree. A rule that does not name the
    column admits all of its atoms.
    """

    def __init__(self, partition: Partition, sets: Mapping[int, Runs], everyone: int) -> None:
        self._everyone = everyone
        self._unconstrained = everyone & ~_union(sets)
        self._atoms = partition.atoms - partition.column.nullable
        self._admit_last = 0
        begin: list[list[int]] = [[] for _ in range(self._atoms + 1)]
        end: list[list[int]] = [[] for _ in range(self._atoms + 1)]
        several: dict[int, Runs] = {}
        for number, admitted in sets.items():
            runs, last = self._apart(admitted)
            if last:
                self._admit_last |= 1 << number
            if len(runs) == 1:
                begin[runs[0][0]].append(number)
                end[runs[0][1]].append(number)
            elif runs:
                several[number] = runs
        self._begun = [0, *_growing(begin)]
        self._ended = list(_growing(end))
        self._unions = _Unions(admitting_rules(several, self._atoms)) if several else None
        self._known: dict[Runs, int] = {}

    def rules(self, atoms: Runs) -> int:
        """The set of rules that admit at least one of some atoms."""
        met = self._known.get(atoms)
        if met is None:
            runs, last = self._apart(atoms)
            met = self._unconstrained if atoms else 0
            if last:
                met |= self._admit_last
            for start, end in runs:
                met |= self._begun[end] & ~self._ended[start]
                if self._unions:
                    met |= self._unions.over(start, end)
                if met == self._everyone:
                    break
            self._known[atoms] = met
        return met

    def _apart(self, runs: Runs) -> tuple[Runs, bool]:
        """The runs of all atoms but a nullable column's last one, and whether that is in them."""
        if not runs or runs[-1][1] <= self._atoms:
            return runs, False
        start = runs[-1][0]
        return runs[:-1] + (((start, self._atoms),) if start < self._atoms else ()), True


def _union(numbers: Iterable[int]) -> int:
    """A set of rules from their numbers: bit n for rule n."""
    union = 0
    for number in numbers:
        union |= 1 << number
    return union


def _growing(joining: Iterable[Sequence[int]]) -> Iterator[int]:
    """The set of all that joined so far, step by step."""
    joined = 0
    for numbers in joining:
        for number in numbers:
            joined |= 1 << number
        yield joined


class _Unions:
    """Unions of consecutive ones of some sets."""

    def __init__(self, sets: list[int]) -> None:
        self._size = len(sets)
        self._tree = [0] * self._size + sets
        for node in range(self._size - 1, 0, -1):
            self._tree[node] = self._tree[2 * node] | self._tree[2 * node + 1]

    def over(self, start: int, end: int) -> int:
        """The union of the sets from one index to before another."""
        union = 0
        low, high = start + self._size, end + self._size
        while low < high:
            if low & 1:
                union |= self._tree[low]
                low += 1
            if high & 1:
                high -= 1
                union |= self._tree[high]
            low >>= 1
            high >>= 1
        return union
