"""What a planted bug is."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Edit:
    """A piece of a symbol's code, and what replaces it.

    Attributes:
        file: The path of the source file, relative to the repository.
        symbol: The function, method, class or constant that contains the piece, such as `Releases.enter`; the whole
            file where it is empty.
        anchor: The piece of code. Line breaks, indentation, comments and trailing commas do not matter.
        planted: The code that replaces it. An indented first line is moved to the place of the piece, others with it.
    """

    file: str
    symbol: str
    anchor: str
    planted: str


@dataclass(frozen=True, slots=True)
class Bug:
    """A bug, by its edits, and the tests of which one at least has to fail."""

    name: str
    edits: tuple[Edit, ...]
    tests: tuple[str, ...]
