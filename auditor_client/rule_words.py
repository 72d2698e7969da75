"""Rules in few words and few digits: the one place that says a rule to people, in reports, terminals and Python.

The words of a category, a boolean or an integer column say exactly which values pass. A threshold of a number column
is rounded to six digits, and its exact words are beside the rounded ones.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from shared.contract.metadata import ColumnWords, value_name
from shared.contract.rules import MISSING_TESTS, Predicate, Rule
from shared.contract.schema import Column, Value
from shared.wire.wording import MINUS, figure, joined, listed, said, sentence

Columns = Mapping[str, Column]
Written = Mapping[str, ColumnWords]
"""What a holder wrote of columns, by their names."""
DIGITS: Final = 6
TINY: Final = 1e-300
"""What is nearer to zero is said to be next to it."""
_DIGITS_EXACT: Final = 17
_BELOW: Final = sentence("below {value}")
_AT_MOST: Final = sentence("at most {value}")
_ABOVE: Final = sentence("above {value}")
_AT_LEAST: Final = sentence("at least {value}")
_NOTHING: Final = said("none of its possible values")
_UPPER: Final = ("lt", "le")
_LOWER: Final = ("gt", "ge")


@dataclass(frozen=True, slots=True)
class Condition:
    """What a rule says of one column, in people's words; `exact` is unrounded, and empty where nothing was rounded."""

    column: str
    words: str
    exact: str = ""

    def __str__(self) -> str:
        return said("{column} {words}", column=self.column, words=self.words)


@dataclass(frozen=True, slots=True)
class _Bound:
    """The tightest bound of one side."""

    value: int | float
    strict: bool = False


def rule_words(rule: Rule, columns: Columns | None = None, written: Written | None = None) -> tuple[Condition, ...]:
    """A rule as conditions, each column once, in the order of the path; empty for everybody.

    Several tests of one column on a path are one condition: the tightest bounds, or the values that are left.

    Args:
        rule: What is to be said.
        columns: The declared columns by name, as far as they are known: integers are then said in whole numbers, and
            what every declared value passes is left out.
        written: What people read of columns and values instead of their names.
    """
    conditions = []
    for name in dict.fromkeys(predicate.column for predicate in rule.all_of):
        predicates = [predicate for predicate in rule.all_of if predicate.column == name]
        column, of_column = (columns or {}).get(name), (written or {}).get(name)
        words = _condition(predicates, column, DIGITS, of_column)
        exact = _condition(predicates, column, _DIGITS_EXACT, of_column)
        if words:
            shown = measured(name, of_column)
            conditions.append(
                Condition(shown, said("is {what}", what=words), "" if exact == words else said("is {what}", what=exact))
            )
    return tuple(conditions)


def measured(name: str, written: ColumnWords | None) -> str:
    """A column's title with its unit: "income (CHF per month)"."""
    if written is None:
        return name
    title = written.title or name
    return title if written.unit is None else f"{title} ({written.unit})"


def rule_text(rule: Rule) -> str:
    """A rule as a text of one line."""
    return joined(map(str, rule_words(rule)), " and ") or said("everybody")


def value_words(value: Value, digits: int = DIGITS, written: ColumnWords | None = None) -> str:
    """One value of a column; a fraction to some significant digits, a whole number with all it has."""
    if written is not None and written.values and not isinstance(value, float):
        words = written.values.get(value_name(value))
        if words is not None:
            return words
    if isinstance(value, bool):
        return said("yes") if value else said("no")
    if isinstance(value, str):
        return value
    if isinstance(value, int):
        return str(value).replace("-", MINUS)
    shown = value if digits >= _DIGITS_EXACT else float(f"{value:.{digits}g}")
    if digits < _DIGITS_EXACT and 0 < abs(shown) < TINY:
        return said("just above 0") if shown > 0 else said("just below 0")
    text = f"{Decimal(repr(shown)):f}" if 1e-5 <= abs(shown) < 1e15 else repr(shown)
    if "e" in text:
        return text.replace("-", MINUS)
    return figure(shown, len(text.removesuffix(".0").partition(".")[2]), "decimal")


def _condition(predicates: Sequence[Predicate], column: Column | None, digits: int, written: ColumnWords | None) -> str:
    """Return what several predicates on one column say together; empty if they exclude nothing."""
    tests = {predicate.op for predicate in predicates if predicate.op in MISSING_TESTS}
    compared = [predicate for predicate in predicates if predicate.op not in MISSING_TESTS]
    # A missing value passes a conjunction only if every predicate of it lets missing pass.
    missing_passes = all(predicate.or_missing for predicate in compared)
    if "is_missing" in tests:
        return said("missing") if missing_passes and len(tests) == 1 else _NOTHING
    words = _known(compared, column, digits, written)
    nullable = column is None or column.nullable
    if missing_passes and not tests:
        if words == _NOTHING:
            return said("missing") if nullable else words
        return said("{what} (or missing)", what=words) if words and nullable else words
    return words or (said("not missing") if nullable else "")


def _known(predicates: Sequence[Predicate], column: Column | None, digits: int, written: ColumnWords | None) -> str:
    """Return which values pass, missing ones aside; empty if all do."""
    low, high = _bounds(predicates, column)
    admitted, excluded = _listed(predicates, column)
    if admitted is not None:
        left = [value for value in admitted if value not in excluded and _within(value, low, high)]
        return listed([value_words(value, digits, written) for value in left], "or") if left else _NOTHING
    words = _range(low, high, column, digits)
    if not excluded or words == _NOTHING:
        return words
    values = listed([value_words(value, digits, written) for value in excluded], "or")
    if words:
        return said("{range} and not {values}", range=words, values=values)
    return said("not {values}", values=values)


def _listed(predicates: Sequence[Predicate], column: Column | None) -> tuple[list[Value] | None, list[Value]]:
    """The values that may pass where they are named, or are fewer than those that may not; and those that may not."""
    excluded = list(dict.fromkeys(value for one in predicates if one.op in ("ne", "not_in") for value in one.operands))
    named = [one.operands for one in predicates if one.op in ("eq", "in")]
    if named:
        return [value for value in dict.fromkeys(named[0]) if all(value in other for other in named)], excluded
    values: tuple[Value, ...] = () if column is None else column.values
    left = [value for value in values if value not in excluded]
    return (left if excluded and 0 < len(left) <= len(excluded) else None), excluded


def _bounds(predicates: Sequence[Predicate], column: Column | None) -> tuple[_Bound | None, _Bound | None]:
    """The tightest bounds, of an integer column in whole numbers; none where every declared value lies within."""
    lower = [_Bound(_number(one), strict=one.op == "gt") for one in predicates if one.op in _LOWER]
    upper = [_Bound(_number(one), strict=one.op == "lt") for one in predicates if one.op in _UPPER]
    if column is not None and column.type == "integer":
        lower = [_Bound(math.floor(one.value) + 1 if one.strict else math.ceil(one.value)) for one in lower]
        upper = [_Bound(math.ceil(one.value) - 1 if one.strict else math.floor(one.value)) for one in upper]
    else:
        lower, upper = [_shortest(one, math.inf) for one in lower], [_shortest(one, -math.inf) for one in upper]
    # Of equal bounds the strict one is the tighter.
    low = max(lower, key=lambda one: (one.value, one.strict), default=None)
    high = min(upper, key=lambda one: (one.value, not one.strict), default=None)
    if column is not None and column.ordered:
        low = None if low and (low.value < column.low or (low.value == column.low and not low.strict)) else low
        high = None if high and (high.value > column.high or (high.value == column.high and not high.strict)) else high
    return low, high


def _shortest(bound: _Bound, inwards: float) -> _Bound:
    """The same bound of a double by the neighbouring double, if that is much shorter to write.

    More than 0.49999999999999994 is 0.5 or more, and 0 or more is more than −5·10⁻³²⁴.
    """
    number = float(bound.value)
    if not math.isfinite(number) or number != bound.value:
        return bound
    beside = _Bound(math.nextafter(number, inwards if bound.strict else -inwards) + 0.0, strict=not bound.strict)
    return beside if len(repr(beside.value)) < len(repr(number)) - 2 else bound


def _range(low: _Bound | None, high: _Bound | None, column: Column | None, digits: int) -> str:
    if low is None and high is None:
        return ""
    ends = (None, None) if column is None or not column.ordered else (_end(column.low), _end(column.high))
    first, last = low or ends[0], high or ends[1]
    if first is not None and last is not None and first.value >= last.value:
        met = first.value == last.value and not (first.strict or last.strict)
        return value_words(first.value, _DIGITS_EXACT) if met else _NOTHING
    digits = _digits_apart([bound.value for bound in (low, high, *ends) if bound is not None], digits)
    if low is not None and high is not None and column is not None and column.type == "integer":
        return said("{low} to {high}", low=value_words(low.value), high=value_words(high.value))
    upper = "" if high is None else said(_BELOW if high.strict else _AT_MOST, value=value_words(high.value, digits))
    if low is None:
        return upper
    lower = said(_ABOVE if low.strict else _AT_LEAST, value=value_words(low.value, digits))
    return said("{lower} and {upper}", lower=lower, upper=upper) if upper else lower


def _end(value: float) -> _Bound | None:
    return _Bound(value) if math.isfinite(value) else None


def _digits_apart(values: Sequence[float], digits: int) -> int:
    """As many digits as show different values as different."""
    while digits < _DIGITS_EXACT and len({value_words(value, digits) for value in values}) < len(set(values)):
        digits += 1
    return digits


def _within(value: Value, low: _Bound | None, high: _Bound | None) -> bool:
    if isinstance(value, str):
        return True
    above = low is None or (value > low.value if low.strict else value >= low.value)
    return above and (high is None or (value < high.value if high.strict else value <= high.value))


def _number(predicate: Predicate) -> int | float:
    return predicate.value if isinstance(predicate.value, int | float) else math.nan
