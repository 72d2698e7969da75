"""Whether what is claimed of a figure is true: one way for all simulations."""

from collections.abc import Iterable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from auditor_client.estimation.estimates import Estimate, Verdict

ROUNDING: Final = 1e-12
"""How far beyond an end a truth may lie that was computed in another order."""

BEYOND: Final = 6
"""How many times its half-widths an interval is widened where a single release has to hold."""


def true_parity(rates: NDArray[np.float64]) -> tuple[float, float]:
    """Ratio and difference of the smallest and the largest rate that there is, of rates of shape (K,).

    NaN in place of a rate means a group without people. The ratio is NaN where nobody is accepted, and both are where
    no group has people.
    """
    smallest, largest = float(np.fmin.reduce(rates)), float(np.fmax.reduce(rates))
    return smallest / largest if largest > 0 else np.nan, largest - smallest


def holds(estimate: Estimate | None, truth: float) -> bool:
    """Whether an interval holds the truth: an undefined figure claims nothing, and no truth is claimed by none."""
    if estimate is None or np.isnan(truth) or np.isnan(estimate.low):
        return True
    return bool(estimate.low - ROUNDING <= truth <= estimate.high + ROUNDING)


def surely_holds(estimate: Estimate, truth: float) -> bool:
    """Whether the truth lies within BEYOND times the interval: for tests of one release, which has to hold always.

    An interval of 95 % fails one release in twenty; how often it does is for the tests of coverage. With one count and
    two-sided geometric noise, the widest tails that an answer has, the truth is beyond six such intervals with a chance
    of exp(-6 · ln 20) = 2 · 10⁻⁸, with sums and with Gaussian noise less often. That supposes noise of several people:
    an interval of no width is refused.
    """
    assert estimate.low < estimate.high, "the noise is too small for the test: ask for it at a smaller loss"
    below, above = estimate.value - estimate.low, estimate.high - estimate.value
    return bool(estimate.value - BEYOND * below <= truth <= estimate.value + BEYOND * above)


def all_hold(figures: Iterable[tuple[Estimate | None, float]]) -> bool:
    """Whether the interval of every figure holds its truth."""
    return all(holds(estimate, truth) for estimate, truth in figures)


def is_wrong(verdict: Verdict, truth: float, threshold: float) -> bool:
    """Whether a verdict contradicts the truth; none does where there is no verdict or no truth."""
    return (verdict is Verdict.MEETS and truth < threshold) or (verdict is Verdict.FAILS and truth >= threshold)
