"""Bands of an ordered column: the groups that a sensitive age or income makes (2-privacy §8).

A column declares where its bands begin, ascending. The first band is everything below the first of these numbers;
each number belongs to the band that begins with it. So every value is in exactly one band, and missing in none.
"""

import itertools
import math
import sys
from bisect import bisect_right
from collections.abc import Sequence

from shared.wire import limits
from shared.wire.wording import decimal, said


def check_bands(starts: Sequence[float], *, integers: bool, low: float, high: float) -> None:
    """Refuse bands that would not have a value each.

    Args:
        starts: Where every band but the first begins.
        integers: Whether the column's values are whole numbers, or doubles.
        low: The smallest value of the column's declared range.
        high: The largest.

    Raises:
        ValueError: Naming the fault, for whoever declares them.
    """
    if not all(isinstance(start, int) or math.isfinite(start) for start in starts):
        raise ValueError("bands begin at finite numbers.")
    if integers and not all(start == int(start) and abs(start) <= limits.INTEGER_MAX for start in starts):
        raise ValueError("bands of an integer begin at whole numbers within ±2^53.")
    if any(isinstance(start, int) and abs(start) > limits.INTEGER_MAX for start in starts):
        raise ValueError("bands begin at whole numbers within ±2^53; write a larger number with a decimal point.")
    if any(after <= before for before, after in itertools.pairwise(starts)):
        raise ValueError("list where bands begin in ascending order, each once.")
    if starts and not (max(low, -sys.float_info.max) < starts[0] and starts[-1] <= high):
        raise ValueError(
            "every band needs values within the declared range: begin above minimum and at most at maximum."
        )


def band_words(starts: Sequence[float], *, integers: bool) -> tuple[str, ...]:
    """Return what the bands are called, in order: "under 25", "25 to 44", "45 and above"; texts that can be translated.

    Between whole numbers a name says the last value of its band; between doubles, the first value of the next.
    """
    between: list[str] = []
    for start, behind in itertools.pairwise(starts):
        if not integers:
            between.append(said("{low} to under {high}", low=_number(start), high=_number(behind)))
        elif behind == start + 1:
            between.append(str(start))
        else:
            between.append(said("{low} to {high}", low=_number(start), high=_number(behind - 1)))
    return (said("under {high}", high=_number(starts[0])), *between, said("{low} and above", low=_number(starts[-1])))


def _number(start: float) -> str:
    """A number as names have it: part of what is sent and signed, so below zero with a hyphen."""
    text = str(start)
    return decimal(text) if text.replace(".", "").isdigit() else text


def band_of(value: float, starts: Sequence[float]) -> int:
    """The index of the band that a value is in."""
    return bisect_right(starts, value)


def plain_starts(starts: Sequence[float]) -> tuple[float, ...]:
    """Numbers by their value, as names write them: whole ones as integers."""
    return tuple(
        int(start) if math.isfinite(start) and start == int(start) and abs(start) <= limits.INTEGER_MAX else start
        for start in starts
    )
