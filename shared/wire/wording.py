"""Texts that know how they were made, so that a page can say them in another language.

A sentence is written once, in English, with names for what is filled in: `said("{name} meets {rule}.", name=…)`. What
comes of it is a text: documents, terminals and tests see the English. A page in another language says the template as
its catalogue has it, and what is filled in likewise; figures and dates follow the rules of the place
(`auditor_client.report.languages`).
"""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Literal

MINUS = "\N{MINUS SIGN}"
NARROW_SPACE = "\N{NARROW NO-BREAK SPACE}"


class Said(str):
    """A sentence or a term: its template, what is filled in, and for a number of things the template of several."""

    __slots__ = ("number", "several", "template", "values")
    template: str
    values: Mapping[str, str]
    number: int | None
    several: str


class Figure(str):
    """A number as it is shown: with so many decimals, in per cent or plain, or with its thousands apart."""

    __slots__ = ("digits", "form", "value")
    value: float
    digits: int
    form: Literal["decimal", "percent", "whole"]


class Date(str):
    """A date, or a date and a time; in universal time."""

    __slots__ = ("time", "when")
    when: datetime
    time: bool


class Listed(str):
    """Several texts: as a sentence lists them ("and", "or"), or with a separator between them."""

    __slots__ = ("between", "items")
    items: tuple[str, ...]
    between: str


def sentence(template: str, /) -> str:
    """A template that is filled in later, by `said`: so that catalogues have it."""
    return template


def said(template: str, /, **values: object) -> Said:
    """A sentence or a term; the template's values by their names, texts of this module or others."""
    texts = {name: value if isinstance(value, str) else str(value) for name, value in values.items()}
    return _said(template, template, "", None, texts)


def said_of(number: int, one: str, several: str, /, **values: object) -> Said:
    """Return what is said of one thing, or of another number of things, which fills `{number}` in."""
    texts = {name: value if isinstance(value, str) else str(value) for name, value in values.items()}
    return _said(one if number == 1 else several, one, several, number, {"number": figure(number), **texts})


def figure(value: float, digits: int = 0, form: Literal["decimal", "percent", "whole"] = "whole") -> Figure:
    """A number that is finite: rounded to whole thousands-apart numbers, to decimals, or to decimals of a per cent."""
    if form == "whole":
        text = f"{round(value):,}".replace(",", NARROW_SPACE)
    else:
        text = f"{value if form == 'decimal' else 100 * value:z.{digits}f}"
    made = Figure(text.replace("-", MINUS) + (f"{NARROW_SPACE}%" if form == "percent" else ""))
    made.value, made.digits, made.form = value, digits, form
    return made


def with_decimals(text: str, more: int) -> str:
    """A figure with so many more decimals, also one with a sign before it; of anything else the same text."""
    if isinstance(text, Figure) and text.form != "whole":
        return figure(text.value, text.digits + more, text.form)
    if isinstance(text, Listed):
        return joined([with_decimals(item, more) for item in text.items], text.between)
    return text


def decimal(text: str) -> Figure:
    """A number that is written without an exponent, as a double holds it, such as an amount: "0.25"."""
    return figure(float(text), len(text.partition(".")[2]), "decimal")


def plain(value: float, digits: int = 6) -> str:
    """A number with as many decimals as it needs; with an exponent if it is very small or large.

    Args:
        value: A finite number.
        digits: At most so many, from the first that is not 0.
    """
    text = f"{value:.{digits}g}"
    return text.replace("-", MINUS) if "e" in text else decimal(text)


def signed(number: str) -> str:
    """A figure as a change is written, "+0.12" or "−0.12"; unchanged at zero, and where there is no figure.

    A number with an exponent is no figure (`plain`): it has no sign before it unless it is below zero.
    """
    above = isinstance(number, Figure) and not number.startswith(MINUS) and number.strip(f"0.%{NARROW_SPACE}")
    return joined(["+", number], "") if above else number


def date(when: datetime, *, time: bool = False) -> Date:
    """A date in universal time: "22 November 2026", or with the time of day."""
    made = Date(f"{when.day} {when:%B %Y}{when:, %H:%M} UTC" if time else f"{when.day} {when:%B %Y}")
    made.when, made.time = when, time
    return made


def listed(items: Iterable[str], last: Literal["and", "or"] = "and") -> Listed:
    """Texts as a sentence lists them: "a, b and c"."""
    texts = tuple(items)
    made = Listed(texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} {last} {texts[-1]}" if texts else "")
    made.items, made.between = texts, last
    return made


def joined(items: Iterable[str], between: str = " ") -> Listed:
    """Texts one after the other, such as the sentences of a paragraph."""
    texts = tuple(items)
    made = Listed(between.join(texts))
    made.items, made.between = texts, between
    return made


def _said(template: str, one: str, several: str, number: int | None, values: Mapping[str, str]) -> Said:
    made = Said(template.format_map(values))
    made.template, made.several, made.number, made.values = one, several, number, values
    return made
