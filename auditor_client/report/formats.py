"""Rules and figures in words that readers who do not know the contract understand."""

import math
from collections.abc import Sequence
from typing import Final

from shared.rules import MISSING_TESTS, Predicate, Rule
from shared.schema import Group, Value

_NARROW_SPACE: Final = "\N{NARROW NO-BREAK SPACE}"
_MINUS: Final = "\N{MINUS SIGN}"
_UNDEFINED: Final = "undefined"
_UPPER: Final = ("lt", "le")
_LOWER: Final = ("gt", "ge")
_SIGNS: Final = {"lt": "below ", "le": "at most ", "gt": "above ", "ge": "at least "}


def rule_words(rule: Rule) -> tuple[tuple[str, str], ...]:
    """A rule as (column, condition) pairs, each column once, in the order of the path; empty for everybody.

    Several tests of one column on a path are shown as one condition, with the tightest bound of each side.
    """
    columns = dict.fromkeys(predicate.column for predicate in rule.all_of)
    return tuple(
        (column, f"is {' and '.join(_conditions([p for p in rule.all_of if p.column == column]))}")
        for column in columns
    )


def scope_words(scope: Sequence[Predicate]) -> tuple[str, ...]:
    """The conditions of a scope, one for each column: "age is at least 18"."""
    return tuple(f"{column} {condition}" for column, condition in rule_words(Rule(all_of=tuple(scope))))


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
    tests = [p.op.removeprefix("is_").replace("_", " ") for p in predicates if p.op in MISSING_TESTS]
    compared = [p for p in predicates if p.op not in MISSING_TESTS]
    # A missing value passes a conjunction only if every predicate of it lets missing pass.
    missing_passes = all(p.or_missing for p in compared)
    if "missing" in tests and missing_passes:
        return ["missing"]
    words = _comparisons(compared)
    if words and missing_passes and not tests:
        words[-1] += ", or missing"
    return [*words, *dict.fromkeys(tests)]


def _comparisons(predicates: Sequence[Predicate]) -> list[str]:
    """The tightest bounds, what is admitted and what is not, missing values aside."""
    lower = [p for p in predicates if p.op in _LOWER]
    upper = [p for p in predicates if p.op in _UPPER]
    # Of equal bounds the strict one is the tighter.
    tightest = [
        *([max(lower, key=lambda p: (_number(p), p.op == "gt"))] if lower else []),
        *([min(upper, key=lambda p: (_number(p), p.op != "lt"))] if upper else []),
    ]
    words = [_SIGNS[p.op] + listed(_values(p)) for p in tightest]
    words += dict.fromkeys(listed(_values(p), "or") for p in predicates if p.op in ("eq", "in"))
    excluded = dict.fromkeys(text for p in predicates if p.op in ("ne", "not_in") for text in _values(p))
    return [*words, f"not {listed(list(excluded), 'or')}"] if excluded else words


def _values(predicate: Predicate) -> tuple[str, ...]:
    return tuple(map(value_words, predicate.operands))


def _number(predicate: Predicate) -> float:
    return float(predicate.value) if isinstance(predicate.value, int | float) else math.nan
