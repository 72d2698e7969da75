"""What a planted bug is."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Edit:
    """A piece of a file, and what replaces it."""

    file: str
    anchor: str
    planted: str


@dataclass(frozen=True, slots=True)
class Bug:
    """A bug, by its edits, and the tests of which one at least has to fail."""

    name: str
    edits: tuple[Edit, ...]
    tests: tuple[str, ...]
