"""What an estimate is: a value that knows its interval, its level and its method (3-estimation §2)."""

import math
from dataclasses import dataclass
from enum import StrEnum

from shared.schema import Group


class Verdict(StrEnum):
    """What an interval says about a threshold: wholly above it, wholly below it, or across it."""

    MEETS = "meets"
    FAILS = "fails"
    UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure with its interval. NaN means undefined; an interval of NaN means that the method gives none.

    Attributes:
        value: The estimate.
        low: Lower end of the interval, inclusive, in the unit of `value`.
        high: Upper end, inclusive.
        level: Probability that the interval is meant to hold the truth with, such as 0.95.
        method: How it was made: "posterior", "plug-in".
    """

    value: float
    low: float
    high: float
    level: float
    method: str

    @property
    def defined(self) -> bool:
        """Whether there is a value at all."""
        return not math.isnan(self.value)

    @property
    def width(self) -> float:
        """Width of the interval, in the unit of `value`."""
        return self.high - self.low

    def against(self, threshold: float) -> Verdict:
        """Whether the whole interval lies at or above a threshold, below it, or neither."""
        if self.low >= threshold:
            return Verdict.MEETS
        if self.high < threshold:
            return Verdict.FAILS
        return Verdict.UNDECIDED

    def __str__(self) -> str:
        if not self.defined:
            return "undefined"
        if math.isnan(self.low):
            return f"{self.value:.3f}"
        return f"{self.value:.3f} [{self.low:.3f}, {self.high:.3f}]"


@dataclass(frozen=True, slots=True)
class GroupEstimate:
    """One group's acceptance rate (within [0, 1]), size and number of accepted people (both in people)."""

    group: Group
    rate: Estimate
    size: Estimate
    accepted: Estimate


@dataclass(frozen=True, slots=True)
class ParityEstimate:
    """Statistical parity over K groups, as ratio and difference, and the verdict on a threshold of the ratio.

    Attributes:
        groups: One for each group, in the release's order.
        ratio: min p_k / max p_k, within [0, 1].
        difference: max p_k − min p_k, within [0, 1].
        threshold: What the verdict is about: 0.8 for the four-fifths rule.
        verdict: *meets* or *fails* only if the ratio's interval lies wholly on one side.
        warnings: What the reader has to know of these figures, in sentences.
        invalid_share: How many of the answers were impossible and had to be replaced, within [0, 1]; None for
            a method that replaces none.
    """

    groups: tuple[GroupEstimate, ...]
    ratio: Estimate
    difference: Estimate
    threshold: float
    verdict: Verdict
    warnings: tuple[str, ...] = ()
    invalid_share: float | None = None
