"""Texts and names as the contract admits them: NFC, bounded, without control characters."""

import unicodedata
from typing import Annotated, Final

from pydantic import AfterValidator, StringConstraints

from shared.wire import limits

NUL: Final = "\0"


def has_nul(path: str, query: bytes) -> bool:
    """Return whether an address of HTTP has a NUL: neither files nor PostgreSQL take one.

    Args:
        path: As decoded from its percent signs.
        query: As it was sent.
    """
    return NUL in path or b"%00" in query or b"\0" in query


def normalise(text: str) -> str:
    """Bring a text to NFC, so that equal meaning has equal bytes; case and blanks are kept.

    Raises:
        ValueError: It holds a control character or an unpaired surrogate.
    """
    # Neither kind is printable, so the slow look at each character is for few texts.
    if not text.isprintable() and any(unicodedata.category(character) in ("Cc", "Cs") for character in text):
        raise ValueError("A text may not hold control characters.")
    return unicodedata.normalize("NFC", text)


def _bounded(text: str) -> str:
    """A text in NFC, which may be longer than the text as sent."""
    if text.isascii() and text.isprintable():  # most are, thousands of times in a plan, and are in NFC as they are
        return text
    normal = normalise(text)
    if len(normal) <= limits.TEXT_CHARACTERS_MAX:
        return normal
    raise ValueError(f"A text has at most {limits.TEXT_CHARACTERS_MAX} characters in NFC.")


Text = Annotated[
    str,
    StringConstraints(strict=True, min_length=1, max_length=limits.TEXT_CHARACTERS_MAX),
    AfterValidator(_bounded),
]
"""An id, a column's name, a category: 1 to 200 characters, compared after NFC."""

_MARKS: Final = frozenset("\u061c\u200c\u200d\u200e\u200f")
"""Unseen characters that scripts need: joiners (Persian, emoji), and marks of a direction, which turn nothing else."""

_BLANKS: Final = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
"""Unseen characters that count as letters, marks or signs: the grapheme joiner, fillers of Hangul, inherent vowels of
Khmer, empty Braille."""


def _shown(text: str) -> str:
    """A text of any script, in NFC, that says nothing else than it shows.

    Raises:
        ValueError: It holds a character that turns the direction of others, ends a line or is unseen, or is blank.
    """
    normal = normalise(text)
    if not _BLANKS.isdisjoint(normal) or (
        not normal.isprintable()
        and any(
            unicodedata.category(character) in ("Cf", "Zl", "Zp") and character not in _MARKS for character in normal
        )
    ):
        raise ValueError("Words may not hold characters that end a line, are unseen, or turn the direction of writing.")
    if all(character in _MARKS or character.isspace() for character in normal):
        raise ValueError("Words may not be blank: leave them out.")
    return normal


Words = Annotated[
    str,
    StringConstraints(strict=True, strip_whitespace=True, max_length=limits.TEXT_CHARACTERS_MAX),
    AfterValidator(_shown),
    AfterValidator(_bounded),
]
"""What people read instead of a technical name: 1 to 200 characters of any script."""

Paragraph = Annotated[
    str,
    StringConstraints(strict=True, strip_whitespace=True, max_length=limits.PARAGRAPH_CHARACTERS_MAX),
    AfterValidator(_shown),
]
"""A description for people: some sentences of any script, as `Words` otherwise."""

NAME_PATTERN: Final = r"^[A-Za-z0-9][A-Za-z0-9._-]*$"
NAME_WORDS: Final = (
    f"A name has up to {limits.NAME_CHARACTERS_MAX} letters (A to Z), digits, dots, dashes and underscores, and begins "
    "with a letter or digit."
)

Name = Annotated[
    str, StringConstraints(strict=True, min_length=1, max_length=limits.NAME_CHARACTERS_MAX, pattern=NAME_PATTERN)
]
"""The name of a dataset, population or auditor: it stands in paths, so letters, digits, dot, dash, underscore."""

ColumnId = Annotated[str, StringConstraints(strict=True, pattern=r"^sha256:[0-9a-f]{64}$")]
"""The id of a derived column, or the SHA-256 of a file."""

Blinding = Annotated[str, StringConstraints(strict=True, pattern=r"^[0-9a-f]{64}$")]
"""256 random bits."""

ReleaseId = Annotated[str, StringConstraints(strict=True, pattern=r"^sha256:[0-9a-f]{64}$")]
"""The id of a release."""
