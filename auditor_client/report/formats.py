"""Groups and figures in words that readers who do not know the contract understand."""

import math
from collections.abc import Callable, Mapping
from typing import Final

from auditor_client.asking.inquiry import Inquiry
from auditor_client.estimation.estimates import Estimate
from shared.contract.rules import Rule
from shared.contract.schema import Group
from shared.wire.wording import figure, said, with_decimals

MORE_DECIMALS_MAX: Final = 4
"""So many decimals a figure gets at most so that the ends of its interval do not look alike."""
_UNDEFINED: Final = said("undefined")
_UNKNOWN: Final = said("unknown")
_VERDICTS: Final[Mapping[str, str]] = {
    "meets": said("meets"),
    "fails": said("fails"),
    "undecided": said("undecided"),
    "undefined": said("undefined"),
    "depends on the kind of decision": said("depends on the kind of decision"),
    "none": said("no verdict"),
}
_CHANGES: Final[Mapping[str, str]] = {
    "closer-to-parity": said("closer to parity"),
    "farther-from-parity": said("farther from parity"),
    "no-change": said("no change"),
    "undecided": said("undecided"),
}


def scope_words(question: Inquiry) -> tuple[str, ...]:
    """The conditions of the scope that was asked for, one for each column: "age is at least 18"."""
    predicates = tuple(predicate for predicate in question.scope if predicate not in question.source.decided)
    return tuple(map(str, question.words.rule(Rule(all_of=predicates))))


def group_words(question: Inquiry, group: Group) -> tuple[str, ...]:
    """A group's values as people read them, one for each sensitive column."""
    return question.words.group(question.request.sensitive, group)


def sensitive_words(question: Inquiry) -> tuple[str, ...]:
    """The titles of the sensitive columns that groups are made of."""
    return question.words.columns(question.request.sensitive)


def whole(number: float) -> str:
    """A number of people: rounded, with its thousands apart."""
    if not math.isfinite(number):
        return _UNDEFINED
    return figure(number)


def percent(share: float, *, apart_from: float | None = None) -> str:
    """A share as a percentage with one decimal, or as many as keep it on its side of a threshold.

    Args:
        share: Within [0, 1], or NaN.
        apart_from: A threshold, such as 0.8: 0.79996 is then no "80.0 %".
    """
    if not math.isfinite(share):
        return _UNDEFINED
    digits = _digits(100 * share, 1, None if apart_from is None else 100 * apart_from)
    return figure(share, digits, "percent")


def threshold_percent(threshold: float) -> str:
    """A threshold as a percentage, with no more decimals than it has."""
    _, _, decimals = f"{100 * threshold:.10g}".partition(".")
    return figure(threshold, len(decimals), "percent")


def ratio(number: float, *, apart_from: float | None = None) -> str:
    """A ratio with three decimals, or as many as keep it on its side of a threshold."""
    return _decimals(number, 3, apart_from)


def per_thousand(share: float) -> str:
    """A difference of shares, in people per 1 000, without the unit."""
    return _decimals(1000 * share, 1, None)


def points(share: float) -> str:
    """A difference of shares, in percentage points, without the unit."""
    return _decimals(100 * share, 1, None)


def known(estimate: Estimate, words: Callable[[float], str]) -> str:
    """A rate, ratio or difference in words; "unknown" where the answers do not tell it, but its interval alone.

    With as many decimals as the ends of its interval get (`both_ends`).
    """
    if estimate.known or not estimate.defined:
        return with_decimals(words(estimate.value), _more_decimals(estimate, words))
    return _UNKNOWN


def both_ends(estimate: Estimate, words: Callable[[float], str]) -> tuple[str, str]:
    """Both ends of an interval in words, with more decimals where they would look alike and differ."""
    more = _more_decimals(estimate, words)
    return with_decimals(words(estimate.low), more), with_decimals(words(estimate.high), more)


def _more_decimals(estimate: Estimate, words: Callable[[float], str]) -> int:
    """How many more decimals part the ends of an interval; none if they are equal, or if `MORE_DECIMALS_MAX` do not."""
    if not (math.isfinite(estimate.low) and estimate.low < estimate.high):
        return 0
    low, high = words(estimate.low), words(estimate.high)
    parting = (more for more in range(MORE_DECIMALS_MAX + 1) if with_decimals(low, more) != with_decimals(high, more))
    return next(parting, 0)


def verdict_words(verdict: str) -> str:
    """A verdict by its value, or that there is no figure."""
    return _VERDICTS[verdict]


def change_words(change: str) -> str:
    """Return what a comparison shows, by its value."""
    return _CHANGES[change]


def _decimals(number: float, digits: int, threshold: float | None) -> str:
    if math.isinf(number):
        return "∞"
    return figure(number, _digits(number, digits, threshold), "decimal") if math.isfinite(number) else _UNDEFINED


def _digits(number: float, digits: int, threshold: float | None) -> int:
    """Return as many decimals as keep a number on its side of a threshold, and at least some."""
    if threshold is not None:
        while digits < 9 and (round(number, digits) >= threshold) != (number >= threshold):
            digits += 1
    return digits
