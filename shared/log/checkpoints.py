"""Checkpoints (C2SP `tlog-checkpoint`): what a log signs about all of its entries."""

import base64
import binascii
import re
from dataclasses import dataclass
from typing import Final, Self

from shared.log.merkle import HASH_BYTES
from shared.log.notes import BadNote

SIZE_MAX: Final = 2**63 - 1
_SIZE: Final = re.compile(r"0|[1-9][0-9]{0,18}")


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A log's name, its number of entries and the root of its tree.

    Attributes:
        origin: The log's name, a line.
        size: How many entries it has.
        root: The root of their tree, 32 bytes.
    """

    origin: str
    size: int
    root: bytes

    @property
    def text(self) -> str:
        """The lines that are signed."""
        return f"{self.origin}\n{self.size}\n{base64.b64encode(self.root).decode()}\n"

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read the signed lines; lines after the third are extensions and are ignored.

        Raises:
            BadNote: They are malformed.
        """
        lines = text.split("\n")
        if len(lines) < 4 or not lines[0]:
            raise BadNote("A checkpoint has three lines: the log's origin, its size and the root of its tree.")
        origin, size = lines[0], parse_size(lines[1])
        return cls(origin, size, parse_hash(lines[2]))


def parse_size(text: str) -> int:
    """Read a number of entries.

    Raises:
        BadNote: It is malformed or too large.
    """
    if not _SIZE.fullmatch(text) or int(text) > SIZE_MAX:
        raise BadNote(f"{text[:30]!r} is not the size of a log.")
    return int(text)


def parse_hash(text: str) -> bytes:
    """Read a hash in base64.

    Raises:
        BadNote: It is malformed.
    """
    try:
        content = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        content = b""
    if len(content) != HASH_BYTES or base64.b64encode(content).decode() != text:
        raise BadNote(f"{text[:60]!r} is not a SHA-256 hash in base64.")
    return content
