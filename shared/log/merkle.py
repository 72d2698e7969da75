"""The Merkle tree of RFC 6962: roots and consistency proofs.

A leaf is hashed as SHA-256(0x00 ‖ data) and an inner node as SHA-256(0x01 ‖ left ‖ right). A tree is read through a
function that returns the hash of a complete subtree, so a proof reads a logarithmic number of hashes of a large tree.
Proofs are verified as RFC 9162 (section 2.1.4.2) describes. Nothing here proves that a leaf is in a tree: the auditor
keeps all leaves, and others make that proof from the tiles.
"""

import hashlib
from collections.abc import Callable, Sequence
from typing import Final

HASH_BYTES: Final = 32
Node = Callable[[int, int], bytes]
"""`node(level, index)`: the hash of the complete subtree over the 2**level leaves from `index * 2**level` on."""


class BadProof(ValueError):
    """A proof does not hold; the message says why, in a sentence."""


def leaf_hash(data: bytes) -> bytes:
    """Return the hash of a leaf, 32 bytes."""
    return hashlib.sha256(b"\x00" + data).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """Return the hash of an inner node, 32 bytes."""
    return hashlib.sha256(b"\x01" + left + right).digest()


def root_of(size: int, node: Node) -> bytes:
    """Return the root of the tree over the first `size` leaves; the SHA-256 of nothing for an empty tree."""
    return _subtree(0, size, node) if size else hashlib.sha256().digest()


def nodes_of(leaves: Sequence[bytes]) -> Node:
    """Return the nodes of a tree in memory.

    Args:
        leaves: The leaf hashes, 32 bytes each, in order.
    """
    levels = [list(leaves)]
    while len(levels[-1]) > 1:
        below = levels[-1]
        levels.append([node_hash(below[i], below[i + 1]) for i in range(0, len(below) - 1, 2)])
    return lambda level, index: levels[level][index]


def consistency_proof(first: int, second: int, node: Node) -> list[bytes]:
    """Prove that the tree over the first `first` leaves is a prefix of that over `second` (RFC 6962, section 2.1.2).

    Raises:
        ValueError: The first tree is not the smaller one.
    """
    if not 0 <= first <= second:
        raise ValueError(f"A tree of {first} leaves cannot be a prefix of one of {second}.")
    if first in (0, second):
        return []
    proof: list[bytes] = []
    start, end, whole = 0, second, True
    while first != end:
        middle = start + _split(end - start)
        if first <= middle:
            proof.append(_subtree(middle, end, node))
            end = middle
        else:
            proof.append(_subtree(start, middle, node))
            start, whole = middle, False
    if not whole:
        proof.append(_subtree(start, end, node))
    return proof[::-1]


def verify_consistency(
    *, first: int, second: int, first_root: bytes, second_root: bytes, proof: Sequence[bytes]
) -> None:
    """Check that a tree is a prefix of another.

    Args:
        first, second: The numbers of leaves of the two trees.
        first_root, second_root: Their roots.
        proof: As `consistency_proof` returns it.

    Raises:
        BadProof: It is not, or the proof does not show it.
    """
    if not 0 <= first <= second:
        raise BadProof(f"The later tree has {second} leaves, fewer than the earlier one with {first}.")
    if first in (0, second):
        if proof:
            raise BadProof("The consistency proof is too long.")
        if first == second and first_root != second_root:
            raise BadProof(f"There are two trees of {first} leaves with different roots.")
        return
    path = list(proof)
    if first & (first - 1) == 0:
        path.insert(0, first_root)
    if not path:
        raise BadProof("The consistency proof is too short.")
    position, last = first - 1, second - 1
    while position & 1:
        position, last = position >> 1, last >> 1
    computed_first = computed_second = path[0]
    for sibling in path[1:]:
        if last == 0:
            raise BadProof("The consistency proof is too long.")
        if position & 1 or position == last:
            computed_first, computed_second = node_hash(sibling, computed_first), node_hash(sibling, computed_second)
            while position and not position & 1:
                position, last = position >> 1, last >> 1
        else:
            computed_second = node_hash(computed_second, sibling)
        position, last = position >> 1, last >> 1
    if last != 0:
        raise BadProof("The consistency proof is too short.")
    if (computed_first, computed_second) != (first_root, second_root):
        raise BadProof(f"The tree of {first} leaves is not a prefix of the tree of {second} leaves.")


def _split(size: int) -> int:
    """The largest power of two below `size`, which is at least 2."""
    return 1 << ((size - 1).bit_length() - 1)


def _subtree(start: int, end: int, node: Node) -> bytes:
    """The root over the leaves from `start` to `end`, as a proof cuts the tree: `start` is a multiple of the split."""
    size = end - start
    if size & (size - 1) == 0:
        level = size.bit_length() - 1
        return node(level, start >> level)
    middle = start + _split(size)
    return node_hash(_subtree(start, middle, node), _subtree(middle, end, node))
