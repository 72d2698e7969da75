"""Clopper and Pearson's exact confidence limits of a probability, from how often something happened.

Source: Clopper, Pearson (1934). Each limit is wrong with a probability of at most α, whatever the true probability is.
"""

import math
from typing import Final

_STEPS: Final = 80
_NEGLIGIBLE: Final = 1e-18


def lower_limit(hits: int, runs: int, alpha: float) -> float:
    """The probability at which as many hits or more have the probability α; 0 if there was none."""
    if hits == 0:
        return 0.0
    low, high = 0.0, hits / runs
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if _at_least(hits, runs, middle) <= alpha else (low, middle)
    return low


def upper_limit(hits: int, runs: int, alpha: float) -> float:
    """The probability at which as many hits or fewer have the probability α; 1 if there were only hits."""
    return 1.0 - lower_limit(runs - hits, runs, alpha)


def _at_least(hits: int, runs: int, share: float) -> float:
    """The probability of so many hits or more, where that is more than are expected: the terms only shrink."""
    if not 0 < share < 1:
        return float(share >= 1)
    ratio = share / (1 - share)
    term = total = math.exp(
        math.lgamma(runs + 1) - math.lgamma(hits + 1) - math.lgamma(runs - hits + 1)
        + hits * math.log(share) + (runs - hits) * math.log1p(-share)
    )  # fmt: skip
    for more in range(hits, runs):
        term *= (runs - more) / (more + 1) * ratio
        total += term
        if term <= _NEGLIGIBLE * total:
            break
    return total
