"""What the names of columns hint at, and round numbers around values: for drafts, where somebody looks at the hint."""

import math
import re
from typing import Final

_SENSITIVE: Final = (
    "sex", "gender", "geslacht", "geschlecht", "sexe", "genre", "race", "ethn", "origin", "origine", "herkunft",
    "herkomst", "afkomst", "migra", "nationality", "nationalit", "nationaliteit", "staatsang", "citizen", "birth",
    "geburt", "geboorte", "naissance", "relig", "geloof", "godsdienst", "konfession", "confession", "disab", "handicap",
    "behinder", "beperking", "orientation", "pregnan", "schwanger", "zwanger", "caste", "language", "sprache", "taal",
)  # fmt: skip
"""How words begin that name what equal treatment is about, in English, Dutch, German and French."""
_SENSITIVE_WORDS: Final = frozenset(
    {"age", "alter", "leeftijd", "male", "female", "man", "woman", "vrouw", "frau", "femme"}
)
_KEYS: Final = frozenset(
    "id key uid uuid pid person persoon personne subject client customer case number no nr num nummer bsn ssn ahv avs "
    "nino insee".split()
)
_WORDS: Final = re.compile(r"[^\W\d_]+")
_CAMEL: Final = re.compile(r"(?<=[a-zà-ÿ])(?=[A-ZÀ-Þ])")
_STEPS: Final = (1, 2, 5, 10)


def sounds_sensitive(name: str) -> bool:
    """Whether a column's name sounds as if groups should be counted by it. A hint: names promise nothing."""
    words = _words(name)
    return any(word in _SENSITIVE_WORDS or word.startswith(_SENSITIVE) for word in words)


def could_be_key(name: str) -> bool:
    """Whether a column's name sounds as if it identified people."""
    return any(word in _KEYS for word in _words(name))


def rounded_range(low: float, high: float, *, whole: bool) -> tuple[float, float]:
    """A range around some values: each end is 0, or 1, 2 or 5 times a power of ten, and so nobody's own value.

    Raises:
        OverflowError: There is none: the values are infinite, or no integer is as large as the end would be.
    """
    ends = 0.0 if low >= 0 else -_rounded_up(-low), 0.0 if high <= 0 else _rounded_up(high)
    return (int(ends[0]), int(ends[1])) if whole else ends


def _rounded_up(value: float) -> float:
    power = 10.0 ** math.floor(math.log10(value))
    return next((step * power for step in _STEPS if step * power > value), math.inf)  # behind the smallest doubles


def _words(name: str) -> list[str]:
    return [word.lower() for part in _CAMEL.split(name) for word in _WORDS.findall(part)]
