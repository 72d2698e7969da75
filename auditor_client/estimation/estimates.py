"""Estimates: a value that knows its interval, its level, its method and its unit (3-estimation §2)."""

import math
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

OPEN_WIDTH: Final = 0.5
"""A share whose interval is wider than half of all that it could be is not known (ADR 0032)."""


class Unit(StrEnum):
    """The unit of an estimate: a rate, a ratio or a difference of rates is a share."""

    SHARE = "share"
    PEOPLE = "people"
    POINTS = "percentage points"


class Verdict(StrEnum):
    """The position of an interval relative to a threshold: wholly above it, wholly below it, or across it.

    NONE without a threshold, or if the method does not make the figure. A figure that the answers leave undefined is
    UNDECIDED, as documents keep it; pages say "undefined". DEPENDS is an audit's, never one figure's: the verdicts on
    the favourable and on the adverse ratio differ, and nobody said which kind of decision it is (`findings.verdicts`).
    """

    MEETS = "meets"
    FAILS = "fails"
    UNDECIDED = "undecided"
    DEPENDS = "depends on the kind of decision"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure with its interval. NaN means undefined; an interval of NaN means that the method gives none.

    Attributes:
        value: The estimate.
        low: Lower end of the interval, inclusive, in the unit of `value`.
        high: Upper end, inclusive.
        level: Probability that the interval is meant to hold the truth with, such as 0.95.
        method: How it was made: "posterior", "plug-in".
        unit: Of value and interval.
    """

    value: float
    low: float
    high: float
    level: float
    method: str
    unit: Unit = Unit.SHARE

    @classmethod
    def between(cls, value: float, low: float, high: float, level: float, method: str) -> "Estimate":
        """A value moved to the nearer end of its interval where it lies outside."""
        return cls(min(max(value, low), high), low, high, level, method)

    @property
    def defined(self) -> bool:
        """Whether there is a value at all."""
        return not math.isnan(self.value)

    @property
    def known(self) -> bool:
        """Whether the answers tell the value: not of a share whose interval is wider than half of what it could be.

        What is wider is what the prior makes of next to no answer, and leans towards parity: show the interval. A
        ratio above 1 is known within half of itself.
        """
        if not self.defined or math.isinf(self.value) or math.isinf(self.width):
            return False
        return not (self.unit is Unit.SHARE and self.width > OPEN_WIDTH * max(1.0, abs(self.value)))

    @property
    def width(self) -> float:
        """Width of the interval, in the unit of `value`."""
        return self.high - self.low

    def reciprocal(self) -> "Estimate":
        """One divided by this figure, which is not negative: the ends change places, and 0 becomes infinite."""
        value, low, high = (math.inf if end == 0 else 1 / end for end in (self.value, self.high, self.low))
        return replace(self, value=value, low=low, high=high)

    def hull(self, other: "Estimate") -> "Estimate":
        """This value, within the interval that holds both intervals."""
        # Where one side is NaN, min and max keep their first argument: undefined stays so, and takes no other with it.
        return replace(self, low=min(self.low, other.low), high=max(self.high, other.high))

    def within(self, other: "Estimate") -> "Estimate":
        """Return this value moved into the other's interval; unchanged if the other is without one."""
        return replace(other, value=min(max(self.value, other.low), other.high)) if other.defined else self

    def stretched_to(self, boundary: float) -> "Estimate":
        """This value, within the interval stretched to a boundary."""
        return replace(self, low=min(self.low, boundary), high=max(self.high, boundary))

    def against(self, threshold: float) -> Verdict:
        """Whether the whole interval lies at or above a threshold, below it, or neither."""
        if self.low >= threshold:
            return Verdict.MEETS
        if self.high < threshold:
            return Verdict.FAILS
        return Verdict.UNDECIDED

    def __float__(self) -> float:
        """The value alone; NaN if it is undefined."""
        return self.value

    def __str__(self) -> str:
        if not self.defined:
            return "undefined"
        if math.isnan(self.low):
            return f"{self.value:.3f}"
        # One digit more, or some, where the ends of a narrow interval would look alike.
        digits = next((one for one in range(3, 8) if f"{self.low:.{one}f}" != f"{self.high:.{one}f}"), 3)
        value = f"{self.value:.{digits}f}" if self.known else "unknown"
        high = "∞" if math.isinf(self.high) else f"{self.high:.{digits}f}"
        return f"{value} [{self.low:.{digits}f}, {high}]"
