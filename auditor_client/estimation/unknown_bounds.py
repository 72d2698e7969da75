"""Sharp bounds of ratio and difference over every allocation of people whose group is unknown (spec 11, section 1).

A *register* has K declared groups with people whose group is known, and blocks of people whose group is unknown: an
unknown person belongs to some group of its block. With one sensitive column there is one block of all groups; with
further columns, each combination of their values is a block. An allocation gives each unknown person a group. It may be
limited to what lies within boxes: how many of the accepted and of the refused each group gets, at least and at most.

*Worst case.* The lowest ratio gives one group i of a block its most refused and its fewest accepted people, and another
group j the opposite. Both ends can be reached at once. For the whole range this is clear; within a factor Γ in odds it
holds because s/(s + Γ(1 − s)) is convex in s and 0 at 0; with known sizes because what i and j do not take fits the
other groups.

*Best case.* The rates lie within [l, u] for some allocation if and only if the block's accepted and refused people
(α, β) lie in the sum of the polygons {(α_k, β_k) in the box of k, l ≤ rate ≤ u}. In the plane that sum is described by
the normals of its parts: the sides of the boxes, and the lines of rate l and of rate u. Each condition names l or u
alone. So the highest possible lowest rate and the lowest possible highest rate are found each by itself, and one
allocation has both: the largest ratio and the smallest difference follow. This treats people as divisible; with whole
people (`whole_people`) the best case is the same or nearer to the worst one by at most the share of one person a group.

Axes: K groups, B blocks, M draws. All counts are numbers of people. "Accepted" means the outcome that is compared.

Source: the bounds of Horowitz and Manski (1995) applied to group membership; Kallus, Mao, Zhou (2022) for proxies.
"""

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from auditor_client.estimation.noise_sums import FloatArray
from auditor_client.estimation.totals import BoolArray

HALVINGS: Final = 48
"""Of the interval in which an end is sought: to 2^-48 of a rate."""
TOLERANCE: Final = 1e-12
"""Relative to all people of a block: rounding of sums."""


@dataclass(frozen=True, slots=True, eq=False)
class Register:
    """People by group and outcome, shape (K, M) each, and those of unknown group by block and outcome, (B, M) each.

    Attributes:
        accepted: With a known group.
        refused: Likewise.
        unknown_accepted: Without a known group.
        unknown_refused: Likewise.
        block: The index of each group's block, K of them.
        judged: The indices of the groups that are compared; people may belong to the others too.
    """

    accepted: FloatArray
    refused: FloatArray
    unknown_accepted: FloatArray
    unknown_refused: FloatArray
    block: tuple[int, ...]
    judged: tuple[int, ...]

    def members(self, block: int) -> list[int]:
        """The indices of a block's groups."""
        return [group for group, of in enumerate(self.block) if of == block]

    def turned_round(self) -> "Register":
        """The same people with the outcomes exchanged."""
        return Register(
            self.refused, self.accepted, self.unknown_refused, self.unknown_accepted, self.block, self.judged
        )

    def draws(self, chosen: NDArray[np.intp]) -> "Register":
        """Some draws alone, by their indices."""
        parts = (self.accepted, self.refused, self.unknown_accepted, self.unknown_refused)
        accepted, refused, more_accepted, more_refused = (part[:, chosen] for part in parts)
        return Register(accepted, refused, more_accepted, more_refused, self.block, self.judged)

    @property
    def unknown(self) -> FloatArray:
        """The number of people whose group is unknown, shape (M,)."""
        unknown: FloatArray = self.unknown_accepted.sum(axis=0) + self.unknown_refused.sum(axis=0)
        return unknown

    @property
    def people(self) -> FloatArray:
        """The number of people, shape (M,)."""
        people: FloatArray = self.accepted.sum(axis=0) + self.refused.sum(axis=0) + self.unknown
        return people


@dataclass(frozen=True, slots=True, eq=False)
class Boxes:
    """The fewest and the most accepted and refused people of each group, shape (K, M) each."""

    accepted_least: FloatArray
    accepted_most: FloatArray
    refused_least: FloatArray
    refused_most: FloatArray

    @property
    def lowest_rates(self) -> FloatArray:
        """The lowest rate that each group can have, shape (K, M); NaN where nobody can belong to it."""
        return _rate(self.accepted_least, self.refused_most)

    @property
    def highest_rates(self) -> FloatArray:
        """The highest one."""
        return _rate(self.accepted_most, self.refused_least)

    def of(self, groups: Sequence[int]) -> "Boxes":
        """Some groups alone."""
        index = np.array(groups, dtype=np.intp)
        parts = (self.accepted_least, self.accepted_most, self.refused_least, self.refused_most)
        return Boxes(*(part[index] for part in parts))

    def turned_round(self) -> "Boxes":
        """The same with the outcomes exchanged."""
        return Boxes(self.refused_least, self.refused_most, self.accepted_least, self.accepted_most)


@dataclass(frozen=True, slots=True, eq=False)
class Bounds:
    """The ends of the figures over all allocations, shape (M,) each; NaN in draws where the figure is undefined.

    `ratio_…` is the lowest rate divided by the highest, `odds_…` the same of the odds, `difference_…` the highest rate
    minus the lowest. `…_worst` is the end farther from parity.
    """

    ratio_worst: FloatArray
    ratio_best: FloatArray
    odds_worst: FloatArray
    odds_best: FloatArray
    difference_worst: FloatArray
    difference_best: FloatArray


def _rate(accepted: FloatArray, refused: FloatArray) -> FloatArray:
    with np.errstate(invalid="ignore"):
        rate: FloatArray = accepted / (accepted + refused)
    return rate


def bounds(
    register: Register,
    *,
    factor: float = math.inf,
    missing: FloatArray | None = None,
    beyond: tuple[Register, Register] | None = None,
) -> Bounds:
    """Bound the figures over every allocation.

    Args:
        register: The people.
        factor: Γ ≥ 1. Among people of one outcome and block, the odds that an unknown person belongs to a group differ
            from those of a known person by at most this factor, for every group. 1: the unknown are divided as the
            known are. Infinite: nothing is assumed.
        missing: How many of the unknown people belong to each group, shape (K, M), as known sizes have it
            (`missing_of_sizes`); None if that is not known.
        beyond: Further registers for worst cases alone: one for the lowest rates and one for the highest, with the
            outcomes that perhaps nobody has.

    Raises:
        ValueError: Γ is below 1, or both Γ and known sizes are given.
    """
    if not factor >= 1 or (missing is not None and not math.isinf(factor)):
        raise ValueError("The factor is 1 or more, and goes without known sizes.")
    limits, *worse = (
        boxes(each, factor) if missing is None else sized_boxes(each, missing) for each in (register, *(beyond or ()))
    )
    first, second = worse or (limits, limits)
    low, high = first.lowest_rates[list(register.judged)], second.highest_rates[list(register.judged)]
    best = _highest_lowest(register, limits, sized=missing is not None)
    swapped = _highest_lowest(register.turned_round(), limits.turned_round(), sized=missing is not None)
    lowest, highest = best, 1 - swapped
    nobody = np.isnan(low).all(axis=0) & np.isnan(high).all(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio_best = np.where(highest > 0, np.minimum(lowest / highest, 1.0), np.nan)
        odds_best = np.where(highest > 0, np.minimum(_odds(lowest) / _odds(highest), 1.0), np.nan)
    odds_best = np.where((highest > 0) & (lowest >= highest), 1.0, odds_best)
    return Bounds(
        ratio_worst=_worst(low, high, _ratio, ratio_best),
        ratio_best=np.where(nobody, np.nan, ratio_best),
        odds_worst=_worst(low, high, _odds_ratio, odds_best),
        odds_best=np.where(nobody, np.nan, odds_best),
        difference_worst=-_worst(low, high, np.subtract, np.minimum(lowest - highest, 0.0)),
        difference_best=np.where(nobody, np.nan, np.maximum(highest - lowest, 0.0)),
    )


def boxes(register: Register, factor: float = math.inf) -> Boxes:
    """The people of each group if the unknown differ from the known by at most a factor in odds; infinite: in any way.

    A block in which nobody of an outcome has a known group does not restrict the unknown with that outcome.
    """
    accepted = _limits(register, register.accepted, register.unknown_accepted, factor)
    refused = _limits(register, register.refused, register.unknown_refused, factor)
    return Boxes(*accepted, *refused)


def sized_boxes(register: Register, missing: FloatArray) -> Boxes:
    """The people of each group if it is known how many of the unknown belong to it, shape (K, M)."""
    of_group = list(register.block)
    accepted, refused = register.unknown_accepted[of_group], register.unknown_refused[of_group]
    return Boxes(
        register.accepted + np.maximum(missing - refused, 0.0),
        register.accepted + np.minimum(missing, accepted),
        register.refused + np.maximum(missing - accepted, 0.0),
        register.refused + np.minimum(missing, refused),
    )


def missing_of_sizes(register: Register, sizes: FloatArray) -> FloatArray:
    """Return how many of the unknown people each group has, shape (K, M), from known sizes of all groups, shape (K,).

    The sizes are taken as each group's share of its block: draws of noisy counts do not add up to them exactly, and a
    public table may be of a few people more or less. A group that has more known people than that gets none.
    """
    missing = np.zeros_like(register.accepted, dtype=float)
    for block in range(len(register.unknown_accepted)):
        members = register.members(block)
        known_people = register.accepted[members] + register.refused[members]
        unknown = register.unknown_accepted[block] + register.unknown_refused[block]
        share = sizes[members] / max(float(sizes[members].sum()), 1.0)
        lacking = np.maximum(share[:, None] * (known_people.sum(axis=0) + unknown) - known_people, 0.0)
        missing[members] = lacking * unknown / np.maximum(lacking.sum(axis=0), 1e-300)
    return missing


def _limits(
    register: Register, people: FloatArray, unknown: FloatArray, factor: float
) -> tuple[FloatArray, FloatArray]:
    """Return the fewest and the most people of one outcome in each group, shape (K, M) each."""
    minimum, maximum = people.astype(float), people.astype(float)
    for block in range(len(unknown)):
        members = register.members(block)
        low, high = _shares(people[members], factor) if len(members) > 1 else (1.0, 1.0)
        minimum[members] += low * unknown[block]
        maximum[members] += high * unknown[block]
    return minimum, maximum


def _shares(known_people: FloatArray, factor: float) -> tuple[FloatArray | float, FloatArray | float]:
    """The least and the largest share of the unknown in each group of a block; `known_people` has shape (K', M)."""
    if math.isinf(factor):
        return 0.0, 1.0
    total = known_people.sum(axis=0)
    share = known_people / np.maximum(total, 1e-300)
    low, high = share / (share + factor * (1 - share)), factor * share / (factor * share + 1 - share)
    return np.where(total > 0, low, 0.0), np.where(total > 0, high, 1.0)


def _worst(
    low: FloatArray, high: FloatArray, figure: Callable[[FloatArray, FloatArray], FloatArray], best: FloatArray
) -> FloatArray:
    """The smallest figure over pairs of groups, shape (M,), from their lowest and highest rates; at most the best one.

    A draw without two groups that can have people has the best figure.
    """
    worst = np.full(low.shape[1], np.inf)
    for i, j in itertools.permutations(range(len(low)), 2):
        worst = np.fmin(worst, figure(low[i], high[j]))
    return np.where(np.isnan(best), np.nan, np.minimum(worst, best))


def _ratio(first: FloatArray, second: FloatArray) -> FloatArray:
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio: FloatArray = np.where(second > 0, first / second, np.nan)
    return ratio


def _odds_ratio(first: FloatArray, second: FloatArray) -> FloatArray:
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio: FloatArray = np.where(first < 1, _odds(first) / _odds(second), np.nan)
        return np.where(second > 0, np.where((second == 1) & (first < 1), 0.0, ratio), np.nan)


def _odds(rate: FloatArray) -> FloatArray:
    with np.errstate(divide="ignore"):
        odds: FloatArray = rate / (1 - rate)
    return odds


def _highest_lowest(register: Register, limits: Boxes, *, sized: bool) -> FloatArray:
    """The highest rate that all judged groups can have at least, over all allocations; shape (M,).

    It is the smallest of what the blocks allow, each by halving: what one rate allows, every smaller one does.
    """
    low, high = np.zeros(register.accepted.shape[1]), np.ones(register.accepted.shape[1])
    allows = _sized_allows if sized else _allows
    parts = [_Block.of(register, limits, block) for block in range(len(register.unknown_accepted))]
    high = np.where(np.logical_and.reduce([allows(part, high) for part in parts]), 2.0, high)
    for _ in range(HALVINGS):
        middle = (low + np.minimum(high, 1.0)) / 2
        allowed = np.logical_and.reduce([allows(part, middle) for part in parts])
        low, high = np.where(allowed & (high <= 1), middle, low), np.where(allowed | (high > 1), high, middle)
    return np.where(high > 1, 1.0, low)


@dataclass(frozen=True, slots=True, eq=False)
class _Block:
    """One block's boxes: of its judged groups, and summed over its other ones, with all its people; shapes (·, M)."""

    judged: Boxes
    others: Boxes
    accepted: FloatArray
    refused: FloatArray

    @classmethod
    def of(cls, register: Register, limits: Boxes, block: int) -> "_Block":
        members = register.members(block)
        judged = [group for group in members if group in register.judged]
        not_judged = [group for group in members if group not in register.judged]
        return cls(
            limits.of(judged),
            limits.of(not_judged),
            register.accepted[members].sum(axis=0) + register.unknown_accepted[block],
            register.refused[members].sum(axis=0) + register.unknown_refused[block],
        )


def _allows(block: _Block, rate: FloatArray) -> BoolArray:
    """Whether some allocation gives each judged group of a block this rate at least, shape (M,).

    One condition for each normal of the polygons that the lower line of rates cuts from the boxes.
    """
    judged, not_judged, remainder = block.judged, block.others, 1 - rate
    slack = TOLERANCE * (block.accepted + block.refused)
    accepted = np.maximum(remainder * judged.accepted_least, rate * judged.refused_least).sum(axis=0)
    refused = np.minimum(rate * judged.refused_most, remainder * judged.accepted_most).sum(axis=0)
    beyond = np.maximum(remainder * judged.accepted_least - rate * judged.refused_most, 0.0).sum(axis=0)
    beyond = beyond + (remainder * not_judged.accepted_least - rate * not_judged.refused_most).sum(axis=0)
    each = rate * judged.refused_least <= remainder * judged.accepted_most + slack
    allowed: BoolArray = np.logical_and.reduce(
        [
            np.logical_and.reduce(each, axis=0),
            accepted + (remainder * not_judged.accepted_least).sum(axis=0) <= remainder * block.accepted + slack,
            refused + (rate * not_judged.refused_most).sum(axis=0) >= rate * block.refused - slack,
            beyond <= remainder * block.accepted - rate * block.refused + slack,
        ]
    )
    return allowed


def _sized_allows(block: _Block, rate: FloatArray) -> BoolArray:
    """Decide as `_allows`, where each group's size is known: with most of one outcome it has least of the other."""
    judged, slack = block.judged, TOLERANCE * (block.accepted + block.refused)
    needed = rate * (judged.accepted_least + judged.refused_most)
    least = np.maximum(judged.accepted_least, needed).sum(axis=0) + block.others.accepted_least.sum(axis=0)
    each = np.logical_and.reduce(needed <= judged.accepted_most + slack, axis=0)
    allowed: BoolArray = np.logical_and(each, least <= block.accepted + slack)
    return allowed
