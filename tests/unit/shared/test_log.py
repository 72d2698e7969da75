"""The transparency log's formats: roots against an independent implementation, notes and tiles against their texts."""

import base64
import hashlib
from datetime import UTC, datetime
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st
from pymerkle import InmemoryTree

from shared.log.checkpoints import Checkpoint
from shared.log.merkle import (
    HASH_BYTES,
    BadProof,
    consistency_proof,
    leaf_hash,
    nodes_of,
    root_of,
    verify_consistency,
)
from shared.log.notes import COSIGNATURE, BadNote, Signature, SignedNote, SigningNoteKey, VerifierKey
from shared.log.tiles import NoTile, Tile, entry_bundle, nodes_from, parse_entry_bundle

SIZES = [*range(1, 18), 31, 32, 33, 64, 65, 255, 256, 257, 300]
NOW = datetime(2026, 11, 28, 12, tzinfo=UTC)
RFC_6962_LEAVES = [
    bytes.fromhex(leaf)
    for leaf in ("", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f")
]
RFC_6962_ROOTS = [
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
]
"""Of the trees over the first leaves, as the test vectors of certificate-transparency have them."""


def entry(index: int) -> bytes:
    return hashlib.sha256(str(index).encode()).digest()


LEAVES = [leaf_hash(entry(index)) for index in range(max(SIZES))]


def root(size: int) -> bytes:
    return root_of(size, nodes_of(LEAVES[:size]))


def tile_fetched(tile: Tile) -> bytes:
    """A tile of the largest tree, made from its nodes."""
    assert tile.level is not None
    node = nodes_of(LEAVES)
    return b"".join(node(8 * tile.level, tile.number * 256 + i) for i in range(tile.width))


@pytest.mark.parametrize("size", range(1, 9))
def test_roots_are_those_of_the_published_test_vectors(size: int) -> None:
    node = nodes_of([leaf_hash(leaf) for leaf in RFC_6962_LEAVES[:size]])
    assert root_of(size, node).hex() == RFC_6962_ROOTS[size - 1]


@pytest.mark.parametrize("size", SIZES)
def test_roots_are_those_of_another_implementation(size: int) -> None:
    other_tree = InmemoryTree(algorithm="sha256")
    for index in range(size):
        other_tree.append_entry(entry(index))
    node = nodes_of(LEAVES[:size])
    assert root_of(size, node) == other_tree.get_root(size)


@pytest.mark.parametrize("second", SIZES)
def test_every_prefix_is_consistent_and_no_other_tree_is(second: int) -> None:
    node = nodes_of(LEAVES[:second])
    for first in range(1, second + 1, max(second // 9, 1)):
        proof = consistency_proof(first, second, node)
        verify_consistency(first=first, second=second, first_root=root(first), second_root=root(second), proof=proof)
        forked = nodes_of([*LEAVES[: first - 1], leaf_hash(b"another"), *LEAVES[first:second]])
        wrong: list[dict[str, Any]] = [
            {"first_root": root_of(first, forked)},
            {"second_root": root_of(second, forked)},
            {"proof": [*proof, LEAVES[0]]},
            *([{"proof": proof[:-1]}] if proof else []),
        ]
        for changed in wrong:
            roots = {"first_root": root(first), "second_root": root(second)}
            with pytest.raises(BadProof):
                verify_consistency(**{"first": first, "second": second, "proof": proof, **roots, **changed})
    with pytest.raises(BadProof, match="fewer"):
        verify_consistency(first=second + 1, second=second, first_root=b"", second_root=root(second), proof=[])


def test_tiles_give_the_nodes_of_the_tree() -> None:
    size = len(LEAVES)
    fetched: list[Tile] = []

    def fetch(tile: Tile) -> bytes:
        fetched.append(tile)
        return tile_fetched(tile)

    assert root_of(size, nodes_from(size, fetch)) == root(size)
    assert fetched == [Tile(0, 0), Tile(0, 1, size - 256)] or set(fetched) == {Tile(1, 0, 1), Tile(0, 1, size - 256)}
    with pytest.raises(BadProof, match="bytes instead of"):
        root_of(size, nodes_from(size, lambda tile: tile_fetched(tile)[:-1]))


@pytest.mark.parametrize(
    ("tile", "path"),
    [
        (Tile(0, 0), "0/000"),
        (Tile(1, 5, 17), "1/005.p/17"),
        (Tile(None, 1000), "entries/x001/000"),
        (Tile(2, 1_234_067), "2/x001/x234/067"),
    ],
)
def test_a_tile_has_one_path(tile: Tile, path: str) -> None:
    assert tile.path == path
    assert Tile.parse(path) == tile


@pytest.mark.parametrize(
    "path",
    [
        "", "0", "0/", "0/0", "0/0000", "0/x000/000", "00/000", "8/000", "-1/000", "0/000.p/0", "0/000.p/256",
        "0/000.p/257", "0/000.p/999",
        "0/000.p/01", "0/000/", "../../etc/passwd", "0/" + "x001/" * 30 + "000", "entries/1", "0/٠٠٠",
    ],
)  # fmt: skip
def test_other_paths_name_no_tile(path: str) -> None:
    with pytest.raises(NoTile):
        Tile.parse(path)


@given(st.lists(st.binary(max_size=300), max_size=8))
def test_a_bundle_of_entries_reads_as_it_was_written(entries: list[bytes]) -> None:
    content = entry_bundle(entries)
    assert parse_entry_bundle(content) == entries
    if content:
        with pytest.raises(BadProof):
            parse_entry_bundle(content[:-1] if entries[-1] else content[:-2] + b"\x00")


LOG_KEY = SigningNoteKey.of("holder.example/ledger", Ed25519PrivateKey.from_private_bytes(b"1" * 32))
WITNESS_KEY = SigningNoteKey.of(
    "witness.example/w1", Ed25519PrivateKey.from_private_bytes(b"2" * 32), algorithm=COSIGNATURE
)
CHECKPOINT = Checkpoint("holder.example/ledger", 300, root(300))


def test_a_verifier_key_has_the_published_form() -> None:
    # The example of C2SP signed-note, made by Go's golang.org/x/mod/sumdb/note.
    text = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"
    key = VerifierKey.parse(text)
    assert (key.name, str(key)) == ("PeterNeumann", text)
    note = SignedNote.parse(
        (
            "If you think cryptography is the answer to your problem,\nthen you don't know what your problem is.\n\n"
            "— PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6Ryy"
            "BwJnAM=\n"
        ).encode()
    )
    assert note.verified([key]) == {key: None}


def test_a_note_reads_as_it_was_written_and_says_who_signed() -> None:
    signed = SignedNote(CHECKPOINT.text, (LOG_KEY.sign(CHECKPOINT.text), WITNESS_KEY.cosign(CHECKPOINT.text, now=NOW)))
    read = SignedNote.parse(str(signed).encode())
    assert read == signed
    assert Checkpoint.parse(read.text) == CHECKPOINT
    keys = (LOG_KEY.verifier, WITNESS_KEY.verifier)
    assert read.verified(keys) == {LOG_KEY.verifier: None, WITNESS_KEY.verifier: NOW}
    assert read.verified([VerifierKey.parse(str(key)) for key in keys]) == read.verified(keys)


def test_a_changed_text_time_or_signature_is_false() -> None:
    signature, cosignature = LOG_KEY.sign(CHECKPOINT.text), WITNESS_KEY.cosign(CHECKPOINT.text, now=NOW)
    later = Signature(cosignature.name, cosignature.key_id, bytes([255, *cosignature.content[1:]]))
    another = Checkpoint(CHECKPOINT.origin, 301, CHECKPOINT.root).text
    for text, signed in ((another, signature), (another, cosignature), (CHECKPOINT.text, later)):
        with pytest.raises(BadNote, match=r"false|out of range"):
            SignedNote(text, (signed,)).verified([LOG_KEY.verifier, WITNESS_KEY.verifier])
    with pytest.raises(BadNote, match="two signatures"):
        SignedNote(CHECKPOINT.text, (signature, signature)).verified([LOG_KEY.verifier])
    unknown = SignedNote(CHECKPOINT.text, (Signature(LOG_KEY.verifier.name, b"\x00" * 4, signature.content),))
    assert unknown.verified([LOG_KEY.verifier]) == {}


@pytest.mark.parametrize(
    "text",
    ["", "name", "name+00000000+AA==", "na me+00000000+AA==", str(LOG_KEY.verifier).replace("+", "+0", 1),
     str(LOG_KEY.verifier)[:-4], f"x{LOG_KEY.verifier}"],
)  # fmt: skip
def test_a_malformed_key_is_refused(text: str) -> None:
    with pytest.raises(BadNote):
        VerifierKey.parse(text)


@pytest.mark.parametrize(
    "content",
    [
        b"", b"text\n", b"text\n\n", b"te\xff\n\n", "text\n\n— name AAAA\n".encode(),
        "text\n\n— name AAAAAAA=".encode(),
        b"text\n\n- name AAAAAAA=\n", "t\x01\n\n— name AAAAAAA=\n".encode(),
    ],
)  # fmt: skip
def test_a_malformed_note_is_refused(content: bytes) -> None:
    with pytest.raises(BadNote):
        SignedNote.parse(content)


@pytest.mark.parametrize("size", ["", "-1", "01", "1.0", "١", "9223372036854775808", "1e3"])
def test_a_malformed_size_is_refused(size: str) -> None:
    with pytest.raises(BadNote):
        Checkpoint.parse(f"origin\n{size}\n{base64.b64encode(CHECKPOINT.root).decode()}\n")


@pytest.mark.parametrize("root_text", ["", "AAAA", base64.b64encode(bytes(HASH_BYTES)).decode().rstrip("="), "é" * 44])
def test_a_malformed_root_is_refused(root_text: str) -> None:
    with pytest.raises(BadNote):
        Checkpoint.parse(f"origin\n1\n{root_text}\n")
