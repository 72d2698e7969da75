"""Two models, or one model before and after a change: whether the second is closer to parity.

The two audits' noise is independent unless both read one answer. An interval for the difference of two figures
comes from their own values and intervals by *variance recovery* (Zou and Donner 2008, *Statistics in Medicine* 27,
MOVER), which keeps what is asymmetric in them and rests on no further assumption about their distribution.
"""

import math

from auditor_client.estimation import caveats
from auditor_client.estimation.estimates import Estimate
from auditor_client.estimation.results import Comparison, ParityEstimate, ParityFigures


def compare_estimates(
    first: ParityEstimate, second: ParityEstimate, *, same_answer: bool = False, apart: str | None = None
) -> Comparison:
    """Compare two audits of the same groups, at the same level and by the posterior. Spends no budget.

    Args:
        first: One model's figures.
        second: The other's.
        same_answer: Whether both read one release, so that their noise is the same and not independent.
        apart: Why either was asked about by itself at half of the loss; None where nothing was halved.
    """
    changes = {
        figure: change_of(getattr(second, figure), getattr(first, figure), same_answer=same_answer)
        for figure in ParityFigures.__slots__
    }
    notes = caveats.of_comparison(changes["ratio"], same_answer=same_answer, apart=apart)
    return Comparison(first=first, second=second, notes=tuple(notes), **changes)


def unchanged(first: ParityEstimate, second: ParityEstimate) -> Comparison:
    """Compare one model with itself in one answer: nothing changes, for certain, but what is undefined stays so."""
    changes = {
        figure: _no_change(getattr(second, figure), getattr(first, figure)) for figure in ParityFigures.__slots__
    }
    return Comparison(first=first, second=second, notes=tuple(caveats.of_no_change()), **changes)


def _no_change(second: Estimate | None, first: Estimate | None) -> Estimate:
    change = change_of(second, first)
    return Estimate(0.0, 0.0, 0.0, change.level, change.method) if change.defined else change


def change_of(second: Estimate | None, first: Estimate | None, *, same_answer: bool = False) -> Estimate:
    """One figure minus another, whose errors are independent, or of the same noise; undefined if either is."""
    if second is None or first is None:
        return Estimate(math.nan, math.nan, math.nan, 0.0, "none")
    value = second.value - first.value
    # Errors of one noise may add up in full, whichever way they go together.
    together = (lambda first_error, other: first_error + other) if same_answer else math.hypot
    below = together(second.value - second.low, first.high - first.value)
    above = together(second.high - second.value, first.value - first.low)
    return Estimate(value, value - below, value + above, min(first.level, second.level), second.method)
