"""Strategy `auto`: how to ask, from public facts alone (3-estimation §1).

The choice has to be the same whenever the same is asked, or a repeated question would be another plan
and be charged again. So it is made from a formula, not from a simulation.
"""

import math
from typing import Final

from auditor_client.asking.assumption import Assumption
from auditor_client.asking.mechanisms import Spending
from auditor_client.asking.strategies import Subject
from shared.amounts import NANO_PER_UNIT

AUTO: Final = "auto"
GOOD_ENOUGH: Final = 0.01
"""An expected error of the ratio that hardly any verdict hangs on."""
WORTH_IT: Final = 1.25
"""How much more error the rule-by-rule answer may cost."""


def choose_strategy(
    subject: Subject, spending: Spending, *, groups: int, counts_that_change: int, assumption: Assumption
) -> str:
    """Strategy "rules" where asking rule by rule costs the ratio hardly any accuracy, else "verdict".

    "pafer" is never chosen: "verdict" is more accurate at the same loss whatever the data are. Nor is "rules" of the
    exponential mechanism, whose answers give no shares of single rules (docs/adr/0018-no-exponential-shares.md).
    """
    if spending.mechanism == "exponential":
        return "verdict"
    facts = (spending, groups, counts_that_change, assumption)
    together = expected_error((1, 1), *facts)
    apart = expected_error((len(subject.leaves(favourable=True)), len(subject.leaves(favourable=False))), *facts)
    return "rules" if apart <= max(WORTH_IT * together, GOOD_ENOUGH) else "verdict"


def expected_error(
    cells: tuple[int, int], spending: Spending, groups: int, counts_that_change: int, assumption: Assumption
) -> float:
    """The mean absolute error of the parity ratio to expect, to first order in the noise.

    Args:
        cells: How many noisy counts are summed for the accepted, and for the refused.
        spending: Loss and mechanism.
        groups: K.
        counts_that_change: Between neighbouring records.
        assumption: About the people.

    Returns:
        Dimensionless, within [0, 1].
    """
    variance = count_variance(spending, counts_that_change)
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


def count_variance(spending: Spending, counts_that_change: int) -> float:
    """Of the noise on one count, in people squared, near enough to compare strategies."""
    if spending.mechanism == "randomised_response":
        return 0.0
    epsilon = spending.epsilon_nano / NANO_PER_UNIT
    if spending.mechanism == "gaussian":
        return 2 * counts_that_change * math.log(1.25 * NANO_PER_UNIT / spending.delta_nano) / epsilon**2
    scale = (2 if spending.mechanism == "exponential" else 1) * counts_that_change / epsilon
    return 2 * scale**2
