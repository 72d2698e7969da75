"""The holder's signing key: Ed25519 over RFC 8785 bytes (4-interface, *Further definite points*)."""

import base64
import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from shared.releases import SIGNATURE_PREFIX, signed_bytes


class UnusableSigningKey(ValueError):
    """The signing key's file holds something else."""


@dataclass(frozen=True, slots=True)
class SigningKeyPair:
    """A private key in memory; `id` is the beginning of its public key's SHA-256."""

    id: str
    public_bytes: bytes
    _private: Ed25519PrivateKey

    @classmethod
    def of(cls, private: Ed25519PrivateKey) -> "SigningKeyPair":
        """The pair of a private key."""
        public = private.public_key().public_bytes_raw()
        return cls(hashlib.sha256(public).hexdigest()[:16], public, private)

    @classmethod
    def create(cls, path: Path) -> "SigningKeyPair":
        """Make a new key and keep it in a file that only its owner may read.

        Raises:
            FileExistsError: There is a key already; it is never overwritten.
        """
        private = Ed25519PrivateKey.generate()
        pem = private.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(pem)
            file.flush()
            os.fsync(file.fileno())
        return cls.of(private)

    @classmethod
    def load(cls, path: Path) -> "SigningKeyPair":
        """Read the key that `create` kept.

        Raises:
            FileNotFoundError: There is none.
            UnusableSigningKey: The file holds something else.
        """
        content = path.read_bytes()
        try:
            private = serialization.load_pem_private_key(content, password=None)
        except (TypeError, UnsupportedAlgorithm, ValueError):
            private = None
        if isinstance(private, Ed25519PrivateKey):
            return cls.of(private)
        raise UnusableSigningKey(f"{path} does not hold the holder's signing key: put it back from a backup.")

    def sign(self, release: Mapping[str, Any]) -> str:
        """The signature of a release that names this key and has none yet, as "ed25519:<base64>"."""
        return SIGNATURE_PREFIX + base64.b64encode(self._private.sign(signed_bytes(release))).decode()
