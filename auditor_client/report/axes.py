"""Axes of pictures as data: positions in per cent of an axis, and texts, before anything is drawn."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from auditor_client.estimation.estimates import Estimate
from auditor_client.estimation.results import RatioKind
from auditor_client.report.formats import both_ends
from shared.wire.wording import plain, said, signed


@dataclass(frozen=True, slots=True)
class Tick:
    """A mark of an axis, in per cent of its length, and what it says."""

    position: float
    label: str


@dataclass(frozen=True, slots=True)
class Mark:
    """An estimate as a bar from `zero` to `value`, in per cent of an axis; None where it is not known, or no interval.

    `wide_low` and `wide_high` are the ends of a second interval, drawn thinner: of the population.
    """

    value: float | None
    low: float | None
    high: float | None
    wide_low: float | None = None
    wide_high: float | None = None
    zero: float = 0.0

    @property
    def falls(self) -> bool:
        """Whether the bar goes to the left."""
        return self.value is not None and self.value < self.zero

    @property
    def outer(self) -> float:
        """The end of everything that is drawn, on the side that the bar goes to: its text stands beyond it."""
        ends = [end for end in (self.value, self.low, self.high, self.wide_low, self.wide_high) if end is not None]
        return min([self.zero, *ends]) if self.falls else max([self.zero, *ends])


@dataclass(frozen=True, slots=True)
class LinearAxis:
    """A line from one value to another, in equal parts; `label` writes the value of a tick."""

    low: float
    high: float
    parts: int
    label: Callable[[float], str] = plain

    @classmethod
    def around_zero(cls, values: Sequence[float]) -> "LinearAxis":
        """The shortest axis of round ends that holds some values and is as long on either side of zero."""
        largest = max((abs(value) for value in values if math.isfinite(value)), default=1.0) or 1.0
        step = 10.0 ** math.floor(math.log10(largest))
        end = next(step * factor for factor in (1, 1.5, 2, 3, 4, 5, 6, 8, 10) if largest <= step * factor * (1 + 1e-9))
        return cls(-end, end, 4, lambda value: signed(plain(value, 3)))

    @property
    def ticks(self) -> tuple[Tick, ...]:
        """A tick at either end and between the parts."""
        return tuple(
            Tick(100 * part / self.parts, self.label(self.low + (self.high - self.low) * part / self.parts))
            for part in range(self.parts + 1)
        )

    def position(self, value: float | None) -> float | None:
        """Return where a value lies, within the axis."""
        if value is None or not math.isfinite(value):
            return None
        return round(min(max(100 * (value - self.low) / (self.high - self.low), 0.0), 100.0), 3)

    def mark(self, estimate: Estimate, population: Estimate | None = None) -> Mark:
        """An estimate with the interval about the people, and perhaps the one about the population."""
        ends = (estimate.value if estimate.known else None, estimate.low, estimate.high)
        wide = None if population is None else (population.low, population.high)
        value, low, high = map(self.position, ends)
        wide_low, wide_high = map(self.position, wide or (None, None))
        return Mark(value, low, high, wide_low, wide_high, zero=self.position(0.0) or 0.0)


@dataclass(frozen=True, slots=True)
class RatioAxis:
    """A line for ratios that are 1 or more, on which a ratio lies where 1 less its reciprocal does: ∞ has a place."""

    labelled: tuple[float, ...] = (1.0, 1.5, 2.0, 4.0, 10.0, math.inf)

    @property
    def ticks(self) -> tuple[Tick, ...]:
        """A tick at either end and at some round ratios."""
        texts = {number: "∞" if math.isinf(number) else plain(number) for number in self.labelled}
        return tuple(Tick(self.position(number) or 0.0, text) for number, text in texts.items())

    def position(self, value: float | None) -> float | None:
        """Return where a ratio lies."""
        return None if value is None or math.isnan(value) else round(100 * (1 - 1 / max(value, 1.0)), 3)

    def mark(self, estimate: Estimate, population: Estimate | None = None) -> Mark:
        """An estimate with the interval about the people, and perhaps the one about the population."""
        value = self.position(estimate.value) if estimate.known else None
        wide = (None, None) if population is None else (population.low, population.high)
        low, high, wide_low, wide_high = map(self.position, (estimate.low, estimate.high, *wide))
        return Mark(value, low, high, wide_low, wide_high)


def ratio_axis(kind: RatioKind, *, narrow: bool = False) -> LinearAxis | RatioAxis:
    """The line on which a kind of ratio is drawn; in the column of a table it is narrow, and has fewer labels."""
    if not kind.adverse:
        return LinearAxis(0.0, 1.0, 5)
    return RatioAxis((1.0, 1.5, 2.0, 4.0, math.inf)) if narrow else RatioAxis()


def ratio_threshold(kind: RatioKind, threshold: float) -> float:
    """A threshold of the lowest divided by the highest rate, as one of a kind of ratio."""
    return 1 / threshold if kind.adverse else threshold


def interval_text(estimate: Estimate | None, words: Callable[[float], str]) -> str:
    """An interval as "low to high"; empty without one."""
    if estimate is None or math.isnan(estimate.low):
        return ""
    low, high = both_ends(estimate, words)
    return said("{low} to {high}", low=low, high=high)
