"""The best case over allocations of whole people, exactly: for registers of few people.

`unknown_bounds` treats people as divisible, which changes the best case by at most about one person a group. Where a
register is so small that this matters, each possible lowest rate is tried, and for each the lowest possible highest
rate is found group by group, over how many unknown people of either outcome the groups so far have taken. This is
exact: every allocation is looked at, none is drawn.
"""

import math
from fractions import Fraction
from typing import Final

from auditor_client.estimation.unknown_bounds import Register

WHOLE_MAX: Final = 24
"""So many people at most are allocated as whole people."""

Rates = tuple[Fraction, Fraction]
"""The lowest and the highest rate of an allocation."""


def extreme_rates(register: Register) -> list[Rates]:
    """Pairs of a lowest and a highest rate, among them those that are best for ratio, odds and difference.

    Of the first draw of the register, whose counts are whole numbers. Groups without people have no rate, and
    allocations in which no judged group has people are left out.
    """
    found = []
    for lowest in sorted(
        {Fraction(part, whole) for whole in range(1, people(register) + 1) for part in range(whole + 1)}
    ):
        highest = _lowest_highest(register, lowest)
        if highest is not None:
            found.append((lowest, highest))
    return found


def people(register: Register) -> int:
    """How many people the first draw has."""
    return int(register.people[0])


def best_case(register: Register) -> tuple[float, float, float]:
    """The largest ratio and odds ratio, lowest to highest, and the smallest difference; NaN where there is none."""
    pairs = extreme_rates(register)
    ratios = [low / high for low, high in pairs if high > 0]
    odds = [Fraction(1) if low == high else low * (1 - high) / (high * (1 - low)) for low, high in pairs if high > 0]
    differences = [high - low for low, high in pairs]
    return (
        float(max(ratios, default=math.nan)),
        float(max(odds, default=math.nan)),
        float(min(differences, default=math.nan)),
    )


def _lowest_highest(register: Register, lowest: Fraction) -> Fraction | None:
    """The lowest possible highest rate if every judged group with people has at least some rate; None if none can."""
    found: list[Fraction] = []
    for block in range(len(register.unknown_accepted)):
        of_block = _of_block(register, block, lowest)
        if of_block is None:
            return None
        found.append(of_block)
    highest = max(found)
    return highest if highest >= 0 else None


def _of_block(register: Register, block: int, lowest: Fraction) -> Fraction | None:
    """The same of one block; −1 where none of its judged groups has people."""
    accepted, refused = (int(of_all[block, 0]) for of_all in (register.unknown_accepted, register.unknown_refused))
    reached: dict[tuple[int, int], Fraction] = {(0, 0): Fraction(-1)}
    for group in register.members(block):
        further: dict[tuple[int, int], Fraction] = {}
        for (x, y), highest in reached.items():
            for more_x in range(accepted - x + 1):
                for more_y in range(refused - y + 1):
                    rate = _rate(register, group, more_x, more_y)
                    if rate is not None and rate < lowest:
                        continue
                    place, found = (x + more_x, y + more_y), highest if rate is None else max(highest, rate)
                    further[place] = min(further.get(place, found), found)
        reached = further
    return reached.get((accepted, refused))


def _rate(register: Register, group: int, more_accepted: int, more_refused: int) -> Fraction | None:
    """A judged group's rate with further people; None of a group that is not judged or has nobody."""
    accepted = int(register.accepted[group, 0]) + more_accepted
    size = accepted + int(register.refused[group, 0]) + more_refused
    return Fraction(accepted, size) if size and group in register.judged else None
