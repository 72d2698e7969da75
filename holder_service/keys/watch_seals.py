"""What the database keeps of a watch's secret: sealed under a key of the holder's home (docs/adr, *Sealed watches*).

A person who knows a watch's noisy threshold learns something of the records by every "unchanged"
(`mechanisms.sparse_vector`), so a reader of the database must not know it. The threshold and whether the watch is used
up are encrypted and authenticated together, with AES-GCM, for one watch id: a seal that was changed, or is another
watch's, does not open. All seals have one length.

The key is a file of the home. It is in no database, entry, log or answer, and signing keys do not change it. A new key
opens no older seal: those watches have no further answers, and the holder says so.
"""

import hashlib
import secrets
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from holder_service.files.durable import durable_file
from holder_service.files.set_up_errors import SetUpError

_KEY_BYTES: Final = 32
_NAME_BYTES: Final = 4
_NONCE_BYTES: Final = 12
_THRESHOLD_BYTES: Final = 16


class UnusableWatchSecret(SetUpError):
    """The file of the secret holds something else."""


class BrokenSeal(Exception):
    """A seal does not open: it was changed, is another watch's, or was made under another key."""


class OtherSecret(BrokenSeal):
    """A seal was made under another key, as its first bytes say."""


class SealedState(NamedTuple):
    """What a seal keeps: the noisy threshold, and whether the watch has said that the verdict changed."""

    noisy_threshold: int
    changed: bool

    def __repr__(self) -> str:
        return f"SealedState(changed={self.changed})"


@dataclass(frozen=True, slots=True)
class WatchSeals:
    """Seals the state of watches, and opens it."""

    _key: bytes = field(repr=False)

    @classmethod
    def create(cls, path: Path) -> bool:
        """Make a key in a new file that only its owner may read, if it does not exist; whether there was none."""
        try:
            with durable_file(path, replaces=False) as file:
                file.write(secrets.token_bytes(_KEY_BYTES))
        except FileExistsError:
            return False
        return True

    @classmethod
    def load(cls, path: Path) -> "WatchSeals":
        """Read the key that `create` made.

        Raises:
            FileNotFoundError: It does not exist.
            UnusableWatchSecret: The file holds something else.
        """
        key = path.read_bytes()
        if len(key) == _KEY_BYTES:
            return cls(key)
        raise UnusableWatchSecret(f"{path} does not hold the secret for watches: put it back from a backup.")

    def seal(self, watch: str, state: SealedState) -> bytes:
        """Seal the state of the watch of an id."""
        content = state.noisy_threshold.to_bytes(_THRESHOLD_BYTES, "big", signed=True) + bytes([state.changed])
        nonce = secrets.token_bytes(_NONCE_BYTES)
        return self._name + nonce + AESGCM(self._key).encrypt(nonce, content, watch.encode())

    def opened(self, watch: str, sealed: bytes) -> SealedState:
        """Open the seal of the watch of an id.

        Raises:
            OtherSecret: It names another key.
            BrokenSeal: It was changed, or is another watch's.
        """
        if sealed[:_NAME_BYTES] != self._name:
            raise OtherSecret
        nonce, content = sealed[_NAME_BYTES : _NAME_BYTES + _NONCE_BYTES], sealed[_NAME_BYTES + _NONCE_BYTES :]
        try:
            state = AESGCM(self._key).decrypt(nonce, content, watch.encode())
        except (InvalidTag, ValueError):
            raise BrokenSeal from None
        return SealedState(int.from_bytes(state[:_THRESHOLD_BYTES], "big", signed=True), bool(state[_THRESHOLD_BYTES]))

    @property
    def _name(self) -> bytes:
        return hashlib.blake2b(b"watch-seals", key=self._key, digest_size=_NAME_BYTES).digest()
