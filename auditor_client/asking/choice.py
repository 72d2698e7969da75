"""Strategy `auto`: how to ask, from public facts and the auditor's own alone (3-estimation §1).

Rule by rule is as exact as unions only where there are people enough. Where their number is not known, `auto` takes
what is right for any number: asked rule by rule about a few hundred people, the same ε would buy half as much.

The same question must always get the same choice, or a repeated question would be another plan and be charged
again. So the choice follows from a formula, not from a simulation.
"""

import math
from collections.abc import Callable
from typing import Final

from auditor_client.asking.assumption import Assumption
from auditor_client.asking.inquiry import EVERYBODY, Inquiry
from shared.contract.rules import Cell
from shared.privacy.amounts import NANO_PER_UNIT, Loss

GOOD_ENOUGH: Final = 0.01
"""An expected error of the ratio that changes hardly any verdict."""
WORTH_IT: Final = 1.25
"""How many times as large the error may be rule by rule as with unions."""


FEW_PEOPLE: Final = 100
"""What is right for so few is right for any number."""


def choose_strategy(inquiry: Inquiry) -> str:
    """Strategy "rules" where asking rule by rule costs the ratio hardly any accuracy, else "verdict".

    "pafer" is never chosen: "verdict" is more accurate at the same loss whatever the data are. Nor is "rules" of the
    exponential mechanism, whose answers give no shares of single rules (docs/adr/0018-no-exponential-shares.md).
    """
    people = inquiry.request.assumption.people
    return _strategy_for(inquiry, FEW_PEOPLE if people is None else people)


def rules_from(inquiry: Inquiry) -> int | None:
    """From how many people on "rules" would be chosen, where their number is not known and fewer would be in its way.

    None where it is known, or the choice is the same for any number that the dataset may have.
    """
    few, many = FEW_PEOPLE, inquiry.dataset.records_max
    known = inquiry.request.assumption.people is not None
    if known or _strategy_for(inquiry, few) == "rules" or _strategy_for(inquiry, many) == "verdict":
        return None
    while many > few * 1.01 + 1:  # the error falls as the number grows
        middle = round(math.sqrt(few * many))
        few, many = (few, middle) if _strategy_for(inquiry, middle) == "rules" else (middle, many)
    return many


def counted(inquiry: Inquiry, count: Callable[[Cell], int]) -> Assumption:
    """Return what is assumed, with the number of people and the share accepted as the auditor's own data have them."""
    accepting = [rule.rule for rule in inquiry.rules if rule.favourable]
    everybody, accepted = (
        count(Cell(id="own", any_of=tuple(inquiry.restricted(rule, None) for rule in rules)))
        for rules in (EVERYBODY.any_of, accepting)
    )
    assumption = inquiry.request.assumption
    if not everybody:
        return assumption
    share = accepted / everybody if 0 < accepted < everybody else assumption.accepted
    return assumption.model_copy(update={"people": everybody, "accepted": share})


def _strategy_for(inquiry: Inquiry, people: int) -> str:
    """Return what is right for so many people."""
    if inquiry.request.mechanism == "exponential":
        return "verdict"
    request, groups = inquiry.request, len(inquiry.groups)
    changed = inquiry.dataset.neighbouring.counts_that_change(groups, moved=inquiry.names_sensitive)
    variance = count_variance(str(request.mechanism), request.loss, changed)
    if inquiry.dataset.shares is not None:  # each of the two holders adds its full noise
        variance *= 2
    leaves = len(inquiry.leaves(favourable=True)), len(inquiry.leaves(favourable=False))
    # Where groups are compared within strata, the figures of one of them are the least exact.
    assumption = request.assumption.model_copy(update={"people": max(people // len(inquiry.parts), 1)})
    together, apart = (expected_error(cells, variance, groups, assumption) for cells in ((1, 1), leaves))
    # Errors are at most 1: where the ratio is lost in the noise anyway, both are, which says nothing for rules.
    return "rules" if apart < 1 and apart <= max(WORTH_IT * together, GOOD_ENOUGH) else "verdict"


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
    if mechanism == "gaussian" and loss.rho_nano is not None:
        return counts_that_change * NANO_PER_UNIT / (2 * loss.rho_nano)
    epsilon = loss.epsilon_nano / NANO_PER_UNIT
    if mechanism == "gaussian":
        return 2 * counts_that_change * math.log(1.25 * NANO_PER_UNIT / loss.delta_nano) / epsilon**2
    scale = (2 if mechanism == "exponential" else 1) * counts_that_change / epsilon
    return 2 * scale**2
