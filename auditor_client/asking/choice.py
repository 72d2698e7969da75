"""Strategy `auto`: how to ask, from public facts alone (3-estimation §1).

The same question must always get the same choice, or a repeated question would be another plan and be charged
again. So the choice follows from a formula, not from a simulation.
"""

import math
from typing import Final

from auditor_client.asking.assumption import Assumption
from auditor_client.asking.inquiry import Inquiry
from shared.amounts import NANO_PER_UNIT, Loss

GOOD_ENOUGH: Final = 0.01
"""An expected error of the ratio that changes hardly any verdict."""
WORTH_IT: Final = 1.25
"""How many times as large the error may be rule by rule as with unions."""


def choose_strategy(inquiry: Inquiry) -> str:
    """Strategy "rules" where asking rule by rule costs the ratio hardly any accuracy, else "verdict".

    "pafer" is never chosen: "verdict" is more accurate at the same loss whatever the data are. Nor is "rules" of the
    exponential mechanism, whose answers give no shares of single rules (docs/adr/0018-no-exponential-shares.md).
    """
    if inquiry.request.mechanism == "exponential":
        return "verdict"
    request, groups = inquiry.request, len(inquiry.groups)
    loss = Loss(request.epsilon_nano, request.delta_nano)
    changed = inquiry.dataset.neighbouring.counts_that_change(groups, moved=inquiry.names_sensitive)
    variance = count_variance(str(request.mechanism), loss, changed)
    leaves = len(inquiry.leaves(favourable=True)), len(inquiry.leaves(favourable=False))
    together, apart = (expected_error(cells, variance, groups, request.assumption) for cells in ((1, 1), leaves))
    return "rules" if apart <= max(WORTH_IT * together, GOOD_ENOUGH) else "verdict"


def expected_error(cells: tuple[int, int], variance: float, groups: int, assumption: Assumption) -> float:
    """The mean absolute error of the parity ratio to expect, to first order in the noise, within [0, 1].

    `cells` is how many noisy counts are summed for the accepted, and for the refused; `variance` is of the noise on one
    count, in people squared.
    """
    accepted, sizes = assumption.counts(groups)
    relative = []
    for favoured, size in zip(accepted, sizes, strict=True):
        if not favoured > 0:
            return 1.0
        rate = min(favoured / size, 1.0)
        of_rate = variance * ((1 - rate) ** 2 * cells[0] + rate**2 * cells[1]) / size**2
        relative.append(of_rate / rate**2)
    deviation = assumption.ratio * math.sqrt(relative[sizes.index(min(sizes))] + min(relative))
    return min(deviation * math.sqrt(2 / math.pi), 1.0)


def count_variance(mechanism: str, loss: Loss, counts_that_change: int) -> float:
    """Of the noise on one count, in people squared, near enough to compare strategies.

    `counts_that_change` do so between neighbouring records.
    """
    if mechanism == "randomised_response":
        return 0.0
    epsilon = loss.epsilon_nano / NANO_PER_UNIT
    if mechanism == "gaussian":
        return 2 * counts_that_change * math.log(1.25 * NANO_PER_UNIT / loss.delta_nano) / epsilon**2
    scale = (2 if mechanism == "exponential" else 1) * counts_that_change / epsilon
    return 2 * scale**2
