"""Dealing records into hands, so that each has to be compared with few of many rules.

A few columns are divided into parts, and a hand is one part of each. Only rules that admit something
in every part of a hand can match anybody in it: they are *alive* there. The dealing follows from the
rules alone, be they a tree or not.
"""

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from holder_service.domain.admitted import Runs

HANDS_MAX: Final = 32

Integers = npt.NDArray[np.int64]
Truths = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class RuleRuns:
    """What rules admit of one column, run by run.

    Attributes:
        atoms: How many atoms the column has.
        rule: The rule that each run belongs to, shape (runs,).
        start: The run's first atom, shape (runs,).
        end: The atom behind its last, shape (runs,).
    """

    atoms: int
    rule: Integers
    start: Integers
    end: Integers

    @classmethod
    def of(cls, sets: Sequence[Runs], atoms: int) -> "RuleRuns":
        """From the set of atoms that each rule admits."""
        runs = [(rule, start, end) for rule, admitted in enumerate(sets) for start, end in admitted]
        return cls(atoms, *np.array(runs, dtype=np.int64).reshape(-1, 3).T)

    def part_of_atom(self, parts: int) -> Integers:
        """The part of each atom, shape (atoms,): consecutive atoms, with about as many ends of runs in each part."""
        ends = np.bincount(self.start, minlength=self.atoms + 1) + np.bincount(self.end, minlength=self.atoms + 1)
        before = np.cumsum(ends[1 : self.atoms])
        return np.append(0, before * parts // (before[-1:] + 1))

    def alive(self, parts: int, rules: int) -> Truths:
        """Whether each rule admits something in each part, shape (parts, rules)."""
        bounds = np.searchsorted(self.part_of_atom(parts), np.arange(parts + 1))
        alive = np.zeros((parts, rules), dtype=bool)
        for part in range(parts):
            alive[part, self.rule[(self.start < bounds[part + 1]) & (self.end > bounds[part])]] = True
        return alive


@dataclass(frozen=True, slots=True)
class Dealing:
    """How records are dealt.

    Attributes:
        parts: How many parts each column has. Hands are numbered by their parts like digits, the last
            column's the fastest.
        alive: Whether each rule is alive in each hand, shape (hands, rules).
    """

    parts: Sequence[int]
    alive: Truths

    @classmethod
    def chosen(cls, columns: Sequence[RuleRuns], rules: int, *, enough: int, entries_max: int) -> "Dealing":
        """Double, again and again, the parts of the column that leaves the fewest rules alive where most are.

        Args:
            columns: What the rules admit, column by column.
            rules: How many rules there are.
            enough: With so few rules alive in every hand there is nothing to gain.
            entries_max: How many pairs of a hand and an atom the columns may have together.
        """
        alive = functools.cache(lambda place, parts: columns[place].alive(parts, rules))
        best = cls((1,) * len(columns), np.ones((1, rules), dtype=bool))
        hands_max = min(HANDS_MAX, entries_max // max(sum(column.atoms for column in columns), 1))
        while best.alive_max > enough and 2 * len(best.alive) <= hands_max:
            tried = []
            for doubled in range(len(columns)):
                parts = tuple(2 * number if place == doubled else number for place, number in enumerate(best.parts))
                divided = [alive(place, number) for place, number in enumerate(parts) if number > 1]
                tried.append(cls(parts, functools.reduce(_crossed, divided)))
            better = min(tried, key=lambda dealing: dealing.alive_max, default=best)
            if better.alive_max == best.alive_max:
                break
            best = better
        return best

    @property
    def alive_max(self) -> int:
        """How many rules are alive in the hand where most are."""
        return int(self.alive.sum(axis=1).max())


def _crossed(slow: Truths, fast: Truths) -> Truths:
    return (slow[:, np.newaxis] & fast).reshape(-1, slow.shape[1])
