"""Releases are signed over their canonical bytes, with a key that only its owner may read."""

import base64
import hashlib
import json
import stat
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519

from holder_service.keys.signing import SigningKeyFolder, SigningKeyPair, UnusableSigningKey
from shared.kinds.releases import BadSignature, SigningKey, SigningKeys, signed_bytes, verify_signature
from shared.wire.canonical import canonical_bytes


def published(*pairs: SigningKeyPair) -> SigningKeys:
    """The public halves of some keys, as a holder shows them."""
    return SigningKeys(
        keys=tuple(
            SigningKey(
                id=pair.id,
                algorithm="ed25519",
                public_key=base64.b64encode(pair.public_bytes).decode(),
                valid_from=datetime.now(UTC),
            )
            for pair in pairs
        )
    )


def signed(pair: SigningKeyPair, **fields: Any) -> dict[str, Any]:
    """A document that stands for a release."""
    release = {"id": "sha256:0", "counts": [1, -2], "scale": 10.000000000000002, "key": pair.id, **fields}
    return {**release, "signature": pair.sign_bytes(signed_bytes(release))}


@pytest.fixture
def pair(tmp_path: Path) -> SigningKeyPair:
    """A new key."""
    return SigningKeyFolder(tmp_path / "keys").create()


def test_what_was_signed_verifies_however_it_is_written(pair: SigningKeyPair) -> None:
    release = signed(pair, name="Zürich")

    verify_signature(dict(reversed(release.items())), published(pair))


def test_bytes_as_the_holder_wrote_them_verify_without_being_written_again(
    pair: SigningKeyPair, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = canonical_bytes(signed(pair, version=1))
    monkeypatch.setattr("shared.kinds.releases.signed_bytes", lambda _: b"")

    verify_signature(json.loads(body), published(pair), body=body)


@pytest.mark.parametrize("spaced", [False, True])
@pytest.mark.parametrize(
    "change",
    [
        lambda body: body.replace(b"[1,-2]", b"[1,-3]"),
        lambda body: body.replace(b'"id"', b'"extra":1,"id"'),
        lambda body: body[:-1] + b',"counts":[1,-3]}',
        lambda body: body[:-1] + b"," + body[body.index(b'"signature"') : -1] + b"}",
    ],
)
def test_changed_bytes_are_refused(pair: SigningKeyPair, change: Callable[[bytes], bytes], spaced: bool) -> None:
    body = change(canonical_bytes(signed(pair, name="x")))
    body = body.replace(b'"id":', b'"id": ') if spaced else body
    document = json.loads(body)

    if document == signed(pair, name="x"):  # written twice, it says what was signed
        verify_signature(document, published(pair), body=body)
    else:
        with pytest.raises(BadSignature):
            verify_signature(document, published(pair), body=body)


@pytest.mark.parametrize(
    "change",
    [
        {"counts": [1, -3]},
        {"counts": [-2, 1]},
        {"extra": 1},
        {"scale": 10.0},
        {"key": "other"},
        {"signature": "ed25519:"},
        {"signature": "ed25519:!"},
        {"signature": "none"},
        {"signature": None},
    ],
    ids=str,
)
def test_what_was_changed_since_does_not(pair: SigningKeyPair, change: dict[str, Any]) -> None:
    with pytest.raises(BadSignature):
        verify_signature({**signed(pair), **change}, published(pair))


def test_another_key_under_the_same_id_does_not(pair: SigningKeyPair, tmp_path: Path) -> None:
    other = SigningKeyFolder(tmp_path / "others").create()
    claimed = published(other).keys[0].model_copy(update={"id": pair.id})

    with pytest.raises(BadSignature):
        verify_signature(signed(pair), SigningKeys(keys=(claimed,)))


def test_a_key_is_kept_for_its_owner_alone_and_comes_back(tmp_path: Path) -> None:
    folder = SigningKeyFolder(tmp_path / "keys")

    created = folder.create()

    (file,) = folder.path.iterdir()
    assert (stat.S_IMODE(folder.path.stat().st_mode), stat.S_IMODE(file.stat().st_mode)) == (0o700, 0o600)
    assert folder.load(created.id).public_bytes == created.public_bytes
    assert created.id == hashlib.sha256(created.public_bytes).hexdigest()[:16]
    assert signed(folder.load(created.id)) == signed(created), "Ed25519 is deterministic"


def test_a_key_is_never_overwritten(tmp_path: Path) -> None:
    folder = SigningKeyFolder(tmp_path / "keys")

    created = [folder.create() for _ in range(5)]

    assert folder.ids() == [pair.id for pair in created], "oldest first"
    assert [folder.load(pair.id).public_bytes for pair in created] == [pair.public_bytes for pair in created]


def test_an_unfinished_file_is_no_key(tmp_path: Path) -> None:
    folder = SigningKeyFolder(tmp_path / "keys")
    assert folder.ids() == []
    folder.path.mkdir()
    (folder.path / ".new-x").write_bytes(b"-----BEGIN")

    assert folder.ids() == []


def test_a_file_under_another_keys_name_is_reported(tmp_path: Path) -> None:
    folder = SigningKeyFolder(tmp_path)
    created = folder.create()
    (tmp_path / f"{created.id}.pem").rename(tmp_path / f"{'0' * 16}.pem")

    with pytest.raises(UnusableSigningKey, match="another"):
        folder.load("0" * 16)


def pem(private: Any, *, password: bytes | None = None) -> bytes:
    """A private key in a file's form."""
    kept = serialization.BestAvailableEncryption(password) if password else serialization.NoEncryption()
    written: bytes = private.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, kept)
    return written


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff\xfe",
        b"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n",
        pem(ec.generate_private_key(ec.SECP256R1())),
        pem(ed25519.Ed25519PrivateKey.generate(), password=b"secret"),
        pem(ed25519.Ed25519PrivateKey.generate())[:-40],
    ],
    ids=["nothing", "no text", "no key", "another kind", "under a password", "cut short"],
)
def test_a_file_of_something_else_is_reported_with_its_path(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "key.pem").write_bytes(content)

    with pytest.raises(UnusableSigningKey, match=r"key\.pem"):
        SigningKeyFolder(tmp_path).load("key")


def test_a_missing_file_is_reported(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        SigningKeyFolder(tmp_path).load("key")


def test_a_key_pair_does_not_show_its_private_half(pair: SigningKeyPair, tmp_path: Path) -> None:
    body = (tmp_path / "keys" / f"{pair.id}.pem").read_text().splitlines()[1]

    assert body not in repr(pair)
    assert pair.sign_bytes(b"{}") not in repr(pair)
