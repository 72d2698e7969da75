"""The languages of the report: what `shared.wire.wording` keeps, said by a catalogue and by the rules of a place.

A catalogue is a gettext file, `catalogues/<code>.po`; `python -m checks.languages` finds what has to be in them.
English needs none: the texts are English already.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from importlib.resources import files
from io import BytesIO
from typing import Any, Final, Literal

from babel import Locale
from babel.dates import format_date
from babel.lists import format_list
from babel.messages.pofile import read_po
from babel.numbers import format_decimal, format_percent
from markupsafe import Markup

from auditor_client.errors import QuestionRefused
from auditor_client.text import no_such
from shared.wire.wording import Date, Figure, Listed, Said

LANGUAGES: Final = ("en", "de", "fr", "nl")
"""The first is the one that texts are written in; each other has a catalogue."""
_LISTS: Final[Mapping[str, Literal["standard", "or"]]] = {"and": "standard", "or": "or"}


@dataclass(frozen=True, slots=True, eq=False)
class Language:
    """A language that pages are written in.

    Attributes:
        code: As HTML names it.
        locale: The rules for its numbers and dates.
        messages: By an English template what it is here: of one thing, and of several.
    """

    code: str
    locale: Locale
    messages: Mapping[str, tuple[str, ...]]

    @classmethod
    @cache
    def of(cls, code: str) -> "Language":
        """A language by its code.

        Raises:
            QuestionRefused: There is no catalogue of it.
        """
        if code not in LANGUAGES:
            raise QuestionRefused(no_such("language", code, LANGUAGES))
        if code == LANGUAGES[0]:
            # British: its lists have no comma before the last "and", like those of `shared.wire.wording`.
            return cls(code, Locale.parse("en_GB"), {})
        return cls(code, Locale.parse(code), _catalogue(code))

    def say(self, text: Any) -> Any:
        """A text in this language; what is no text, or has no other wording, as it is."""
        match text:
            case Said():
                return self._filled(
                    self._template(text), {name: self.say(value) for name, value in text.values.items()}
                )
            case Listed():
                items = [self.say(item) for item in text.items]
                if text.between in _LISTS:
                    return format_list(items, _LISTS[text.between], self.locale) if items else ""
                return text.between.join(items)
            case Figure() if self.messages:
                return self._figure(text)
            case Date() if self.messages:
                day = format_date(text.when, "long", self.locale)
                return f"{day}, {text.when:%H:%M} UTC" if text.time else day
        return text

    def _template(self, text: Said) -> str:
        messages = self.messages.get(text.template, (text.template, text.several))
        if text.number is None:
            return messages[0]
        return messages[0 if self.locale.plural_form(text.number) == "one" else 1]

    def _filled(self, template: str, values: Mapping[str, str]) -> str:
        if any(isinstance(value, Markup) for value in values.values()):
            return Markup(template).format(**values)  # noqa: S704 - the template is ours, and the values are escaped
        return template.format_map(values)

    def _figure(self, text: Figure) -> str:
        if text.form == "whole":
            return format_decimal(round(text.value), locale=self.locale)
        pattern = f"0.{'0' * text.digits}" if text.digits else "0"
        # Rounded as in English: Babel rounds halves to even, which could show the other side of a threshold.
        if text.form == "percent":
            pattern = self.locale.percent_formats[None].pattern.replace("#,##0", pattern)
            return format_percent(Decimal(f"{100 * text.value:z.{text.digits}f}") / 100, pattern, self.locale)
        return format_decimal(Decimal(f"{text.value:z.{text.digits}f}"), pattern, self.locale)


def _catalogue(code: str) -> dict[str, tuple[str, ...]]:
    content = files(__package__).joinpath("catalogues", f"{code}.po").read_bytes()
    texts: dict[str, tuple[str, ...]] = {}
    for message in read_po(BytesIO(content), locale=code):
        if message.id and message.string and not message.fuzzy:
            first_text, *_ = _texts(message.id)
            texts[first_text] = _texts(message.string)
    return texts


def _texts(text: str | Sequence[str]) -> tuple[str, ...]:
    return (text,) if isinstance(text, str) else tuple(text)
