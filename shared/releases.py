"""Releases: the holder's noisy, signed answer, which is also the auditor's receipt (4-interface).

The bytes that are signed are the RFC 8785 bytes of the release without `signature`; so a client
verifies the document as it came, fields that it does not know included, before it reads a number.
"""

import base64
import binascii
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from pydantic import BaseModel, ConfigDict

from shared import canonical
from shared.amounts import PrivacyLoss
from shared.noise import Noise
from shared.nonces import Nonce
from shared.plans import Plan
from shared.schema import Group

SIGNATURE_PREFIX: Final = "ed25519:"
_ADDED_WHEN_CHARGED: Final = frozenset({"created", "remaining", "ledger", "key", "signature"})


class BadSignature(ValueError):
    """A release was not signed by the key that it names, or was changed since."""


class ReleasedCell(BaseModel):
    """The noisy histogram of one cell: one integer for each group, in people; noise may make it negative."""

    model_config = ConfigDict(frozen=True)

    id: str
    counts: tuple[int, ...]


class ReleasedBatch(BaseModel):
    """The noisy histograms of one batch, with the price that was paid and the noise that each count got."""

    model_config = ConfigDict(frozen=True)

    name: str
    epsilon: str
    delta: str
    composition: dict[str, int]
    groups: tuple[Group, ...]
    counted_groups: tuple[Group, ...] | None = None
    noise: Noise
    cells: tuple[ReleasedCell, ...]


class LedgerPosition(BaseModel):
    """An entry's sequence number and hash."""

    model_config = ConfigDict(frozen=True)

    sequence: int
    hash: str


class Release(BaseModel):
    """The answer to a plan. Fields that this version does not know are ignored."""

    model_config = ConfigDict(frozen=True)

    id: str
    dataset: str
    version: int
    auditor: str
    created: datetime
    relation: str
    plan: Plan
    charge: PrivacyLoss
    remaining: PrivacyLoss
    batches: tuple[ReleasedBatch, ...]
    nonce: Nonce
    ledger: LedgerPosition
    key: str
    signature: str

    def batch(self, name: str) -> ReleasedBatch:
        """The batch of a name.

        Raises:
            KeyError: The release has none of that name.
        """
        for batch in self.batches:
            if batch.name == name:
                return batch
        raise KeyError(name)


class Handover(BaseModel):
    """The word of the key before, `by`, that this one follows it (`shared.handovers`)."""

    model_config = ConfigDict(frozen=True)

    by: str
    signature: str


class SigningKey(BaseModel):
    """A public key of the holder, as `GET /v1/keys` shows it; the first one of a holder was handed over by none."""

    model_config = ConfigDict(frozen=True)

    id: str
    algorithm: str
    public_key: str
    valid_from: datetime
    valid_to: datetime | None = None
    handover: Handover | None = None

    def has_signed(self, content: bytes, signature: Any) -> bool:
        """Whether a signature, as the contract writes it, is this key's over these bytes."""
        if self.algorithm != "ed25519" or not isinstance(signature, str) or not signature.startswith(SIGNATURE_PREFIX):
            return False
        try:
            public = Ed25519PublicKey.from_public_bytes(base64.b64decode(self.public_key, validate=True))
            public.verify(base64.b64decode(signature.removeprefix(SIGNATURE_PREFIX), validate=True), content)
        except (InvalidSignature, binascii.Error, ValueError):
            return False
        return True


class SigningKeys(BaseModel):
    """All keys that the holder signs or has signed with."""

    model_config = ConfigDict(frozen=True)

    keys: tuple[SigningKey, ...]


def signed_bytes(release: Mapping[str, Any]) -> bytes:
    """The bytes that a release's signature is over: its canonical JSON without `signature`."""
    return canonical.canonical_bytes({name: value for name, value in release.items() if name != "signature"})


def answer_digest(release: Mapping[str, Any]) -> str:
    """The digest that a ledger entry keeps of a release: of what was answered, before the entry was written.

    The release names its entry's hash and the entry names this digest, so it leaves out what is only
    known once the charge is entered: creation time, balance, ledger position, key and signature. The release's nonce
    is in it, so that the digest confirms no guess of the counts.
    """
    return canonical.digest({name: value for name, value in release.items() if name not in _ADDED_WHEN_CHARGED})


def verify_signature(release: Mapping[str, Any], keys: SigningKeys) -> None:
    """Check a release, as it came, against the holder's public keys.

    Raises:
        BadSignature: The key is unknown, or the signature is not over these bytes.
    """
    key = next((key for key in keys.keys if key.id == release.get("key")), None)
    if key is None or key.algorithm != "ed25519":
        raise BadSignature("The release names a signing key that the holder does not publish.")
    if not key.has_signed(signed_bytes(release), release.get("signature")):
        raise BadSignature("The release's signature is not over its bytes: it was changed, or never signed.")
