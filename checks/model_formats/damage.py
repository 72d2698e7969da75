"""Files that are damaged at random, as an attacker or a bad copy would."""

import random
import re
from collections.abc import Callable, Iterator
from typing import Final

_NUMBERS: Final = (
    b"NaN",
    b"nan",
    b"inf",
    b"-Infinity",
    b"1e999",
    b"-1",
    b"0",
    b"4294967296",
    b"99999999999999999999",
    b"",
)


def damaged(content: bytes, count: int, seed: int = 0) -> Iterator[bytes]:
    """Some damaged copies of a file: bytes changed, parts left out, doubled, moved, numbers replaced, ends cut off."""
    draw = random.Random(seed)  # no secret
    ways: tuple[Callable[[bytes, random.Random], bytes], ...] = (
        _flipped,
        _cut,
        _doubled,
        _renumbered,
        _renumbered,
        _ended,
    )
    for _ in range(count):
        made = content
        for _ in range(draw.choice((1, 1, 2, 5))):
            made = draw.choice(ways)(made, draw)
        yield made


def _span(content: bytes, draw: random.Random) -> tuple[int, int]:
    start = draw.randrange(len(content) + 1)
    return start, min(len(content), start + draw.choice((1, 2, 8, 40, 400)))


def _flipped(content: bytes, draw: random.Random) -> bytes:
    start, end = _span(content, draw)
    return content[:start] + bytes(draw.randrange(256) for _ in range(min(end - start, 4))) + content[start + 4 :]


def _cut(content: bytes, draw: random.Random) -> bytes:
    start, end = _span(content, draw)
    return content[:start] + content[end:]


def _doubled(content: bytes, draw: random.Random) -> bytes:
    start, end = _span(content, draw)
    return content[:end] + content[start:]


def _renumbered(content: bytes, draw: random.Random) -> bytes:
    found = list(re.finditer(rb"-?[0-9][0-9.eE+-]*", content))
    if not found:
        return content
    one = draw.choice(found)
    return content[: one.start()] + draw.choice(_NUMBERS) + content[one.end() :]


def _ended(content: bytes, draw: random.Random) -> bytes:
    return content[: draw.randrange(len(content) + 1)]
