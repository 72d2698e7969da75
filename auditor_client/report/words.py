"""Rules and figures in words that a reader without the contract understands."""

import math
from collections.abc import Iterable, Sequence
from typing import Final

from shared.amounts import PrivacyLoss, format_nano
from shared.rules import Predicate, Rule
from shared.schema import Group, Value

_NARROW_SPACE: Final = "\N{NARROW NO-BREAK SPACE}"
_MINUS: Final = "\N{MINUS SIGN}"
_UNDEFINED: Final = "undefined"
_UPPER: Final = ("lt", "le")
_LOWER: Final = ("gt", "ge")
_SIGNS: Final = {"lt": "is below", "le": "is at most", "gt": "is above", "ge": "is at least"}


def rule_words(rule: Rule) -> tuple[tuple[str, str], ...]:
    """A rule as (column, condition) pairs, each column once, in the order of the path; empty for everybody.

    Several tests of one column on a path are told as one condition, the tightest bound of each side.
    """
    columns = dict.fromkeys(predicate.column for predicate in rule.all_of)
    return tuple(
        (column, " and ".join(_conditions([p for p in rule.all_of if p.column == column]))) for column in columns
    )


def group_words(group: Group) -> tuple[str, ...]:
    """A group's values, one for each sensitive column; the group of people whose value is missing says so."""
    return tuple("missing" if value is None else value_words(value) for value in group)


def value_words(value: Value) -> str:
    """One value of a column; a double to ten digits, which the rules in the JSON document have in full."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return value
    return f"{value:.10g}".replace("-", _MINUS) if isinstance(value, float) else str(value).replace("-", _MINUS)


def whole(number: float) -> str:
    """A number of people: rounded, with its thousands apart."""
    if not math.isfinite(number):
        return _UNDEFINED
    return f"{round(number):,}".replace(",", _NARROW_SPACE).replace("-", _MINUS)


def percent(share: float, *, apart_from: float | None = None) -> str:
    """A share as a percentage with one decimal, or as many as keep it on its side of a threshold.

    Args:
        share: Within [0, 1], or NaN.
        apart_from: A threshold, such as 0.8: 0.79996 is then no "80.0 %".
    """
    if not math.isfinite(share):
        return _UNDEFINED
    return f"{_decimals(100 * share, 1, None if apart_from is None else 100 * apart_from)}{_NARROW_SPACE}%"


def threshold_percent(threshold: float) -> str:
    """A threshold as a percentage, with no more decimals than it has."""
    return f"{100 * threshold:.10g}{_NARROW_SPACE}%"


def loss(amount: PrivacyLoss) -> str:
    """A privacy loss, a budget or what is left of one."""
    epsilon = f"ε = {format_nano(amount.epsilon)}"
    return f"{epsilon}, δ = {format_nano(amount.delta)}" if amount.delta else epsilon


def ratio(number: float, *, apart_from: float | None = None) -> str:
    """A ratio with three decimals, or as many as keep it on its side of a threshold."""
    return _decimals(number, 3, apart_from)


def points(share: float) -> str:
    """A difference of shares, in percentage points, without the unit."""
    return _decimals(100 * share, 1, None)


def listed(words: Sequence[str], last: str = "and") -> str:
    """Words as a sentence lists them: "a, b and c"."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} {last} {words[-1]}"


def _decimals(number: float, digits: int, threshold: float | None) -> str:
    if not math.isfinite(number):
        return _UNDEFINED
    if threshold is not None:
        while digits < 9 and (round(number, digits) >= threshold) != (number >= threshold):
            digits += 1
    return f"{number:.{digits}f}".replace("-", _MINUS)


def _conditions(predicates: Sequence[Predicate]) -> list[str]:
    """What several predicates on one column say together."""
    plain = [p for p in predicates if not p.or_missing]
    lower = [p for p in plain if p.op in _LOWER]
    upper = [p for p in plain if p.op in _UPPER]
    # Of equal bounds the strict one is the tighter.
    tightest = [
        *([max(lower, key=lambda p: (_number(p), p.op == "gt"))] if lower else []),
        *([min(upper, key=lambda p: (_number(p), p.op != "lt"))] if upper else []),
    ]
    excluded = list(dict.fromkeys(text for p in plain if p.op in ("ne", "not_in") for text in _values(p)))
    rest = [p for p in predicates if p.or_missing or p.op not in (*_LOWER, *_UPPER, "ne", "not_in")]
    words = [*_unique(_words(p) for p in (*tightest, *rest))]
    if excluded:
        words.append(f"is not {listed(excluded, 'or')}")
    return words


def _words(predicate: Predicate) -> str:
    if predicate.op == "is_missing":
        return "is missing"
    if predicate.op == "not_missing":
        return "is not missing"
    shown = listed(_values(predicate), "or")
    sign = _SIGNS.get(predicate.op, "is not" if predicate.op in ("ne", "not_in") else "is")
    return f"{sign} {shown}{', or is missing' if predicate.or_missing else ''}"


def _values(predicate: Predicate) -> tuple[str, ...]:
    if predicate.values is not None:
        return predicate.values
    return () if predicate.value is None else (value_words(predicate.value),)


def _number(predicate: Predicate) -> float:
    return float(predicate.value) if isinstance(predicate.value, int | float) else math.nan


def _unique(words: Iterable[str]) -> Iterable[str]:
    return dict.fromkeys(words)
