"""The holder's signing keys: Ed25519 over RFC 8785 bytes (4-interface, *Further definite points*).

Each private key is a file of its own, named by its id. Which of them signs now is for the database to
say (`services.key_rotation`): so a crash cannot leave a second record of it behind.
"""

import base64
import hashlib
import os
import time
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from holder_service.files.durable import durable_file, sync_folder
from holder_service.files.set_up_errors import SetUpError
from shared.kinds.handovers import handover_bytes
from shared.kinds.releases import Handover, SigningKey, signature_of
from shared.log.notes import SigningNoteKey

_ENDING: Final = ".pem"


class UnusableSigningKey(SetUpError):
    """A signing key's file holds something else."""


@dataclass(frozen=True, slots=True)
class SigningKeyPair:
    """A private key in memory; `id` is the beginning of its public key's SHA-256."""

    id: str
    public_bytes: bytes
    _private: Ed25519PrivateKey

    @classmethod
    def of(cls, private: Ed25519PrivateKey) -> "SigningKeyPair":
        public = private.public_key().public_bytes_raw()
        return cls(hashlib.sha256(public).hexdigest()[:16], public, private)

    def public_key(self, *, valid_from: datetime) -> SigningKey:
        """The public half, as the first key of a holder is published."""
        public = base64.b64encode(self.public_bytes).decode()
        return SigningKey(id=self.id, algorithm="ed25519", public_key=public, valid_from=valid_from)

    def hand_over(self, successor: SigningKey) -> SigningKey:
        """The successor with this key's word for it."""
        signature = self.sign_bytes(handover_bytes(successor, by=self.id))
        return successor.model_copy(update={"handover": Handover(by=self.id, signature=signature)})

    def note_key(self, name: str) -> SigningNoteKey:
        """This key as the one of a log of a name, which signs checkpoints."""
        return SigningNoteKey.of(name, self._private)

    def sign_bytes(self, content: bytes) -> str:
        """The signature of some canonical bytes, as "ed25519:<base64>"."""
        return signature_of(content, self._private)


class SigningKeyFolder:
    """The private keys in the holder's home; they are made, read and never changed."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def ids(self) -> list[str]:
        """The ids of all keys that are here, oldest first: what a restore lost is put in force again in that order."""
        try:
            files = [file for file in self.path.iterdir() if file.suffix == _ENDING]
        except FileNotFoundError:
            return []
        return [file.stem for file in sorted(files, key=lambda file: (file.stat().st_mtime_ns, file.name))]

    def create(self) -> SigningKeyPair:
        """Make a new key and keep it, durably, in a file that only its owner may read."""
        private = Ed25519PrivateKey.generate()
        self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        pem = private.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        pair = SigningKeyPair.of(private)
        with durable_file(self.path / f"{pair.id}{_ENDING}") as file:
            file.write(pem)
            file.flush()
            made_ns = time.time_ns()  # a file system's own clock may tick a hundred times a second
            os.utime(file.fileno(), ns=(made_ns, made_ns))
        sync_folder(self.path.parent)
        return pair

    def load(self, key_id: str) -> SigningKeyPair:
        """Read a key.

        Raises:
            FileNotFoundError: It is not here.
            UnusableSigningKey: Its file holds something else.
        """
        path = self.path / f"{key_id}{_ENDING}"
        content = path.read_bytes()
        try:
            private = serialization.load_pem_private_key(content, password=None)
        except (TypeError, UnsupportedAlgorithm, ValueError):
            private = None
        if not isinstance(private, Ed25519PrivateKey):
            raise UnusableSigningKey(f"{path} does not hold the holder's signing key: put it back from a backup.")
        pair = SigningKeyPair.of(private)
        if pair.id != key_id:
            raise UnusableSigningKey(f"{path} holds another signing key than the one it is named by.")
        return pair
