"""Texts from outside, made fit to be shown."""

import unicodedata
from typing import Final

CHARACTERS_MAX: Final = 1000


def readable(text: str) -> str:
    """A text from outside for a terminal: without control, format and direction characters, and cut."""
    shown = "".join(" " if unicodedata.category(character)[0] == "C" else character for character in text)
    return shown if len(shown) <= CHARACTERS_MAX else f"{shown[:CHARACTERS_MAX]} …"
