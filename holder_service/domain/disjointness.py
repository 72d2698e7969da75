"""Which cells provably have nobody in common, and the classes that follow (2-privacy §3).

The proof reads rules and declared domains alone, never a record: a check that counts people leaks.
Two rules are disjoint if the sets that they admit on some column do not meet. A rule with an empty
set matches nobody and is disjoint from every rule. Two cells are disjoint if all their rules are
pairwise; rules of one cell may overlap, because a cell counts nobody twice.

All pairs are compared, but never one by one: a set of rules is an `int` with a bit for each, and a
column tells in a few operations on such sets whom a rule meets there. So the proof is exact for any
plan, in path order or not, and its time is bounded by the public limits on a plan's size.
"""

from collections.abc import Mapping, Sequence

from holder_service.domain.admitted import Runs, admitted_sets, admitting_rules
from shared.rules import Cell, Rule
from shared.schema import Schema


def disjoint_classes(cells: Sequence[Cell], schema: Schema) -> tuple[tuple[int, ...], ...]:
    """Colour cells into classes of mutually disjoint ones, first fit in the order given.

    Args:
        cells: Cells that fit the schema.
        schema: The dataset's declared columns.

    Returns:
        The classes, each the ascending places of its cells; a batch of cells costs its ε once for each.

    Raises:
        TooLarge: As `admitted_sets`.

    Source: 2-privacy §3; parallel composition: McSherry (2009).
    """
    # Bits of the rules of one cell stand together, and behind them one more, the cell's flag. Adding
    # `fill` carries into the flag exactly if one of the cell's rules is in a set: a cell's conflicts
    # with all others come out of one addition.
    rules: dict[int, Rule] = {}
    cell_at: dict[int, int] = {}
    fill = flags = 0
    for place, cell in enumerate(cells):
        first = len(rules) + len(cell_at)
        rules.update(enumerate(cell.any_of, start=first))
        flag = first + len(cell.any_of)
        cell_at[flag] = place
        fill |= (1 << flag) - (1 << first)
        flags |= 1 << flag
    overlaps = _overlaps(rules, schema)
    conflicts: dict[int, int] = {}
    for flag, place in cell_at.items():
        met = 0
        for number in range(flag - len(cells[place].any_of), flag):
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


def _overlaps(rules: Mapping[int, Rule], schema: Schema) -> dict[int, int]:
    """By rule number, the set of rules that are not provably disjoint from it; itself too, unless it matches nobody."""
    everyone = sum(1 << number for number in rules)
    overlaps = dict.fromkeys(rules, everyone)
    for partition, sets in admitted_sets(rules, schema):
        unconstrained = everyone & ~sum(1 << number for number in sets)
        meeting = _Meeting([unconstrained | admitting for admitting in admitting_rules(sets, partition.atoms)])
        for number, admitted in sets.items():
            if overlaps[number] & ~(1 << number):
                overlaps[number] &= meeting.rules(admitted)
    nobody = sum(1 << number for number, overlap in overlaps.items() if not overlap)
    return {number: overlap & ~nobody for number, overlap in overlaps.items()}


class _Meeting:
    """Whom a set of atoms of one column meets: unions over runs of atoms, from a segment tree."""

    def __init__(self, admitting: list[int]) -> None:
        self._atoms = len(admitting)
        self._tree = [0] * self._atoms + admitting
        for node in range(self._atoms - 1, 0, -1):
            self._tree[node] = self._tree[2 * node] | self._tree[2 * node + 1]
        self._known: dict[Runs, int] = {}

    def rules(self, atoms: Runs) -> int:
        """The set of rules that admit at least one of some atoms."""
        met = self._known.get(atoms)
        if met is None:
            met = 0
            for start, end in atoms:
                met |= self._union(start, end)
            self._known[atoms] = met
        return met

    def _union(self, start: int, end: int) -> int:
        union = 0
        low, high = start + self._atoms, end + self._atoms
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
