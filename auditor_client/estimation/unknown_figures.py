"""The figures of ratio and difference where some people's group is unknown: values, without how they are made.

A figure is then a *set*: one value for each allocation of the unknown people to the declared groups. The set has two
ends, each with the noise of privacy, and an interval that is meant to hold the whole set (`unknown_groups`).
"""

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Literal

from auditor_client.estimation.estimates import Estimate, Unit, Verdict
from shared.contract.schema import Group

UnknownMode = Literal["auto", "bounds", "group"]
"""Bounds if the unknown are more than `SHARE_MAX`, always, or never: they are then a group of their own."""
SHARE_MAX: Final = 0.02
"""With a larger estimated share of unknown people figures are bounded without being asked for."""


class OpenBecause(StrEnum):
    """Why a verdict is open: more budget narrows noise, and does not tell anybody's group."""

    NOISE = "noise"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class SetEstimate:
    """All values that a figure may have, by who the unknown people are. NaN: undefined.

    Attributes:
        least: The estimate of the smallest value.
        most: The estimate of the largest value.
        low: Lower end of the interval that is meant to hold the whole set.
        high: Upper end.
        level: Probability of that.
    """

    least: float
    most: float
    low: float
    high: float
    level: float

    @property
    def defined(self) -> bool:
        """Whether there are values at all."""
        return not (math.isnan(self.least) or math.isnan(self.most))

    def reciprocal(self) -> "SetEstimate":
        """One divided by each value, which is not negative: the ends change places, and 0 becomes infinite."""
        ends = (self.most, self.least, self.high, self.low)
        smallest, largest, low, high = (math.inf if end == 0 else 1 / end for end in ends)
        return SetEstimate(smallest, largest, low, high, self.level)

    def against(self, threshold: float) -> Verdict:
        """Whether the whole interval lies at or above a threshold, below it, or neither."""
        if self.low >= threshold:
            return Verdict.MEETS
        return Verdict.FAILS if self.high < threshold else Verdict.UNDECIDED

    def reaches_across(self, threshold: float) -> bool:
        """Whether the set itself, as it is estimated, has values on both sides of a threshold."""
        return self.least < threshold <= self.most

    def interval(self) -> Estimate:
        """Its interval as an estimate of no value."""
        return Estimate(math.nan, self.low, self.high, self.level, "posterior", Unit.SHARE)


@dataclass(frozen=True, slots=True)
class FactorPoint:
    """The set of ratios if the unknown differ from the known by at most a factor in odds; infinite: in any way."""

    factor: float
    ratio: SetEstimate
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class TippingShare:
    """The group, and the share of the unknown people with one outcome who would have to belong to it.

    Attributes:
        group: A declared group.
        accepted: Whether these people have the outcome whose rates are compared.
        share: Of all unknown people with that outcome, within (0, 1].
        known: Of the people with that outcome whose group is known, the share who belong to it.
    """

    group: Group
    accepted: bool
    share: float
    known: float


@dataclass(frozen=True, slots=True)
class TippingPoint:
    """The smallest difference between the unknown and the known that gives another verdict.

    Attributes:
        verdict: If the unknown people of each outcome are divided as the known ones are (missing at random).
        factor: The smallest factor in odds at which the verdict is another one; None if none is.
        share: The smallest departure of one group that gives another one; None if none does.
    """

    verdict: Verdict
    factor: float | None
    share: TippingShare | None


@dataclass(frozen=True, slots=True, kw_only=True)
class UnknownFigures:
    """The figures over all allocations of the people whose group is unknown.

    Attributes:
        groups: The groups of the answer that hold the unknown people.
        share: Of the people whom the rates are about, those whose group is unknown.
        people: Their number.
        ratio: Of the kind that is reported (`RatioKind`).
        difference: The highest rate minus the lowest.
        factor: What is assumed: the unknown differ from the known by at most this factor in odds; infinite: nothing.
        sized: Whether each group's number of people was known.
        curve: The ratio by factors in odds, from 1 to infinite; without known numbers of people.
        tipping: None where there is no verdict, or it is open even if the unknown are as the known are.
        verdict: By the whole set; NONE without a threshold.
        because: Why the verdict is open; None if it is not.
    """

    groups: tuple[Group, ...]
    share: Estimate
    people: Estimate
    ratio: SetEstimate
    difference: SetEstimate
    factor: float
    sized: bool
    curve: tuple[FactorPoint, ...]
    tipping: TippingPoint | None
    verdict: Verdict
    because: OpenBecause | None
