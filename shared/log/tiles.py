"""Tiles (C2SP `tlog-tiles`): a tree in static files of 256 hashes, from which a reader makes its own proofs.

Tile N of level L has the hashes of the complete subtrees of 256**L leaves, from number 256 * N on. A tile that is not
full yet is named with its width. The entries are served in bundles of 256 as well.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Final, Self

from shared.log.merkle import HASH_BYTES, BadProof, Node, node_hash

WIDTH: Final = 256
"""Hashes of a full tile."""
LEVEL_BITS: Final = 8
"""Levels of the tree in one level of tiles."""
LEVEL_MAX: Final = 7
"""A tree with entries enough for a tile of a higher level would have more than 2**63."""
ENTRIES: Final = "entries"
_PATH: Final = re.compile(r"(entries|0|[1-9][0-9]?)/((?:x[0-9]{3}/)*[0-9]{3})(?:\.p/([1-9][0-9]{0,2}))?")


class NoTile(ValueError):
    """The path names no tile, or not in the one way in which it is named."""


@dataclass(frozen=True, slots=True)
class Tile:
    """A tile of hashes or, with `level` None, a bundle of entries.

    Attributes:
        number: Its position in its level, from 0.
        width: How many hashes or entries it has, 1 to 256.
    """

    level: int | None
    number: int
    width: int = WIDTH

    @property
    def path(self) -> str:
        """Its path below "tile/"."""
        digits = f"{self.number:03}"
        digits = digits.zfill(-(-len(digits) // 3) * 3)
        groups = [digits[i : i + 3] for i in range(0, len(digits), 3)]
        number = "/".join([*(f"x{group}" for group in groups[:-1]), groups[-1]])
        partial = "" if self.width == WIDTH else f".p/{self.width}"
        return f"{ENTRIES if self.level is None else self.level}/{number}{partial}"

    @classmethod
    def parse(cls, path: str) -> Self:
        """Read a path below "tile/".

        Raises:
            NoTile: It names none.
        """
        match = _PATH.fullmatch(path)
        if match is None or len(match[2]) > 30:
            raise NoTile(f"{path[:80]!r} does not name a tile.")
        level = None if match[1] == ENTRIES else int(match[1])
        tile = cls(level, int(match[2].replace("x", "").replace("/", "")), int(match[3] or WIDTH))
        if tile.path != path or tile.width > WIDTH or (level is not None and level > LEVEL_MAX):
            raise NoTile(f"{path[:80]!r} does not name a tile.")
        return tile

    @property
    def is_full(self) -> bool:
        """Whether it is a tile of hashes that a longer log has as well."""
        return self.level is not None and self.width == WIDTH

    def is_in(self, size: int) -> bool:
        """Whether a tree of so many leaves has all hashes of the tile."""
        level = 0 if self.level is None else self.level
        return ((self.number * WIDTH + self.width) << (LEVEL_BITS * level)) <= size


def tile_of(level: int, index: int, size: int) -> tuple[Tile, int, int]:
    """Return where a complete subtree's hash follows from.

    Args:
        level, index: The subtree, as `merkle.Node` takes it.
        size: How many leaves the tree has.

    Returns:
        The tile as a tree of this size has it, and from where to where (exclusive) its hashes lie below the subtree.
    """
    tile_level, inside = divmod(level, LEVEL_BITS)
    first = index << inside
    number, start = divmod(first, WIDTH)
    complete = size >> (LEVEL_BITS * tile_level)
    width = min(complete - number * WIDTH, WIDTH)
    return Tile(tile_level, number, width), start, start + (1 << inside)


def nodes_from(size: int, fetch: Callable[[Tile], bytes]) -> Node:
    """Return the nodes of a tree of which tiles can be fetched; each is fetched once.

    Args:
        size: How many leaves the tree has.
        fetch: Returns a tile's hashes one after the other, 32 bytes each.
    """

    @cache
    def hashes(tile: Tile) -> bytes:
        content = fetch(tile)
        if len(content) != tile.width * HASH_BYTES:
            raise BadProof(f"The tile {tile.path} has {len(content)} bytes instead of {tile.width * HASH_BYTES}.")
        return content

    def node(level: int, index: int) -> bytes:
        tile, start, end = tile_of(level, index, size)
        content = hashes(tile)
        return subtree_root([content[i * HASH_BYTES : (i + 1) * HASH_BYTES] for i in range(start, end)])

    return node


def subtree_root(hashes: list[bytes]) -> bytes:
    """Return the root of a complete subtree over 2**k hashes."""
    while len(hashes) > 1:
        hashes = [node_hash(hashes[i], hashes[i + 1]) for i in range(0, len(hashes), 2)]
    return hashes[0]


def entry_bundle(entries: list[bytes]) -> bytes:
    """Return entries as a bundle has them, each with its length in two bytes before it."""
    return b"".join(len(entry).to_bytes(2, "big") + entry for entry in entries)


def parse_entry_bundle(content: bytes) -> list[bytes]:
    """Read a bundle.

    Raises:
        BadProof: It is cut off.
    """
    entries, at = [], 0
    while at < len(content):
        end = at + 2 + int.from_bytes(content[at : at + 2], "big")
        if end > len(content) or at + 2 > len(content):
            raise BadProof("A bundle of entries is cut off.")
        entries.append(content[at + 2 : end])
        at = end
    return entries
