"""Which refusals are right: what their text says, and what a file has to be for that."""

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

About = Mapping[str, Any]

_RIGHT: Final[tuple[tuple[str, str, Callable[[About], bool]], ...]] = (
    (".*", "there is nothing to ask|decides alike for everybody", lambda _: True),
)
"""Formats, what the text says, and of which files that is right."""


def right_refusal(name: str, about: About, text: str) -> str | None:
    """In a few words why a refusal is right; None if it is not.

    Args:
        name: The format.
        about: What the maker's side says of the file.
        text: The refusal.
    """
    expected = about["refused"]
    if expected is not None and re.search(expected, text):
        return f"{name}: {expected}"
    for formats, said, when in _RIGHT:
        found = re.search(said, text)
        if re.fullmatch(formats, name) and found and when(about):
            return f"{name}: {found.group()}"
    return None
