"""Signed notes (C2SP `signed-note`): a text with lines of signatures under it, and the keys that sign it.

A verifier key is written "<name>+<key id>+<base64 of the algorithm's byte and the public key>". There are two
algorithms. The log signs the text with Ed25519. A witness signs the text together with the time at which it saw it
(C2SP `tlog-cosignature`, version 1).
"""

import base64
import binascii
import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final, Self

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

NOTE_BYTES_MAX: Final = 64 * 1024
SIGNATURES_MAX: Final = 100
AHEAD_MAX: Final = timedelta(minutes=5)
"""How far the clock of a witness may be ahead of the reader's."""
ED25519: Final = 0x01
COSIGNATURE: Final = 0x04
_KEY_BYTES: Final = 32
_SIGNATURE_BYTES: Final = 64
_TIME_BYTES: Final = 8
NAME_PATTERN: Final = r"[^\s+]{1,200}"
_NAME: Final = re.compile(NAME_PATTERN)
_SIGNATURE_LINE: Final = re.compile(r"— ([^\s+]+) ([A-Za-z0-9+/]+={0,2})")


class BadNote(ValueError):
    """A note or a key is malformed, or a signature is missing or wrong; the message says which, in a sentence."""


@dataclass(frozen=True, slots=True)
class Signature:
    """One line below a note: the name and the id of the key, and the signature's bytes."""

    name: str
    key_id: bytes
    content: bytes

    def __str__(self) -> str:
        return f"— {self.name} {base64.b64encode(self.key_id + self.content).decode()}"

    @classmethod
    def parse(cls, line: str) -> Self:
        """Read a line.

        Raises:
            BadNote: It is malformed.
        """
        match = _SIGNATURE_LINE.fullmatch(line)
        if match is None:
            raise BadNote("A signature line is malformed.")
        try:
            content = base64.b64decode(match[2], validate=True)
        except binascii.Error:
            raise BadNote("A signature line is malformed.") from None
        if len(content) <= 4:
            raise BadNote("A signature line is malformed.")
        return cls(match[1], content[:4], content[4:])


@dataclass(frozen=True, slots=True)
class VerifierKey:
    """A public key with the name of who holds it.

    Raises:
        BadNote: The name, the algorithm or the key is malformed.
    """

    name: str
    algorithm: int
    public_bytes: bytes

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise BadNote(f"{self.name!r} is not the name of a key: it has 1 to 200 characters without spaces or '+'.")
        if self.algorithm not in (ED25519, COSIGNATURE):
            raise BadNote(f"The key of {self.name!r} has the unknown algorithm {self.algorithm}.")
        if len(self.public_bytes) != _KEY_BYTES:
            raise BadNote(f"The key of {self.name!r} has {len(self.public_bytes)} bytes instead of {_KEY_BYTES}.")

    @classmethod
    def of_log(cls, origin: str, public_key: str) -> Self:
        """The key of a log from the base64 of its public key.

        Raises:
            BadNote: It is malformed.
        """
        try:
            return cls(origin, ED25519, base64.b64decode(public_key, validate=True))
        except ValueError:
            raise BadNote(f"{public_key[:60]!r} is not a public key in base64.") from None

    @property
    def id(self) -> bytes:
        """Four bytes by which a signature names the key."""
        content = self.name.encode() + b"\n" + bytes([self.algorithm]) + self.public_bytes
        return hashlib.sha256(content).digest()[:4]

    def __str__(self) -> str:
        content = base64.b64encode(bytes([self.algorithm]) + self.public_bytes).decode()
        return f"{self.name}+{self.id.hex()}+{content}"

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read a key as it is written.

        Raises:
            BadNote: It is malformed, or its id does not fit.
        """
        name, _, rest = text.partition("+")
        key_id, _, encoded = rest.partition("+")
        try:
            content = base64.b64decode(encoded, validate=True)
        except (binascii.Error, ValueError):
            content = b""
        if not content:
            raise BadNote(f"{text!r} is not a verifier key: expected NAME+ID+KEY, as `holder witness init` prints it.")
        key = cls(name, content[0], content[1:])
        if key.id.hex() != key_id:
            raise BadNote(f"The id of the verifier key {text!r} does not fit its name and key: copy it again.")
        return key

    def time_of(self, text: str, signature: Signature) -> datetime | None:
        """Verify a signature of a text that names this key.

        Returns:
            When the witness saw the text; None for a key that signs no time.

        Raises:
            BadNote: The signature is not this key's, of this text.
        """
        time, content = None, text.encode()
        signed = signature.content
        if self.algorithm == COSIGNATURE:
            seconds = int.from_bytes(signed[:_TIME_BYTES], "big")
            signed, content = signed[_TIME_BYTES:], _cosigned(text, seconds)
            time = _time(seconds)
        try:
            Ed25519PublicKey.from_public_bytes(self.public_bytes).verify(signed, content)
        except InvalidSignature:
            raise BadNote(f"The signature of {self.name!r} is false.") from None
        return time

    def names(self, signature: Signature) -> bool:
        """Whether a signature claims to be this key's."""
        return (signature.name, signature.key_id) == (self.name, self.id)


@dataclass(frozen=True, slots=True)
class SigningNoteKey:
    """A private key with the name of who holds it."""

    verifier: VerifierKey
    _private: Ed25519PrivateKey

    @classmethod
    def of(cls, name: str, private: Ed25519PrivateKey, *, algorithm: int = ED25519) -> Self:
        """Name a private key.

        Raises:
            BadNote: The name is malformed.
        """
        return cls(VerifierKey(name, algorithm, private.public_key().public_bytes_raw()), private)

    def sign(self, text: str) -> Signature:
        """Sign a text, as the log does."""
        return Signature(self.verifier.name, self.verifier.id, self._private.sign(text.encode()))

    def cosign(self, text: str, *, now: datetime) -> Signature:
        """Sign a text and the time at which it was seen, as a witness does."""
        seconds = int(now.timestamp())
        content = seconds.to_bytes(_TIME_BYTES, "big") + self._private.sign(_cosigned(text, seconds))
        return Signature(self.verifier.name, self.verifier.id, content)


@dataclass(frozen=True, slots=True)
class SignedNote:
    """A text and the signatures under it, in order.

    Raises:
        BadNote: The text does not end with a line, or contains control characters.
    """

    text: str
    signatures: tuple[Signature, ...]

    def __post_init__(self) -> None:
        if not self.text.endswith("\n") or any(ord(letter) < 0x20 and letter != "\n" for letter in self.text):
            raise BadNote("The text of a note must be lines without control characters.")

    def __str__(self) -> str:
        return f"{self.text}\n" + "".join(f"{signature}\n" for signature in self.signatures)

    @classmethod
    def parse(cls, content: bytes) -> Self:
        """Read a note; nothing of it is verified.

        Raises:
            BadNote: It is malformed.
        """
        if len(content) > NOTE_BYTES_MAX:
            raise BadNote(f"The note has more than {NOTE_BYTES_MAX} bytes, the maximum.")
        try:
            decoded = content.decode()
        except UnicodeDecodeError:
            raise BadNote("The note is not UTF-8.") from None
        text, separator, below = decoded.rpartition("\n\n")
        if not separator or not below.endswith("\n"):
            raise BadNote("The note does not have signature lines.")
        lines = below[:-1].split("\n")
        if len(lines) > SIGNATURES_MAX:
            raise BadNote(f"The note has more than {SIGNATURES_MAX} signatures, the maximum.")
        return cls(f"{text}\n", tuple(map(Signature.parse, lines)))

    def verified(self, keys: Iterable[VerifierKey]) -> dict[VerifierKey, datetime | None]:
        """Verify every signature by one of some keys; other signatures are ignored.

        Returns:
            The keys that signed, each with the time that it signed.

        Raises:
            BadNote: A signature that names one of the keys is false, or there are two of it.
        """
        signed: dict[VerifierKey, datetime | None] = {}
        for key in keys:
            own = [signature for signature in self.signatures if key.names(signature)]
            if len(own) > 1:
                raise BadNote(f"The note has two signatures of {key.name!r}.")
            if own:
                signed[key] = key.time_of(self.text, own[0])
        return signed


def parse_witnesses(text: str) -> tuple[VerifierKey, ...]:
    """Read keys of witnesses, with spaces between.

    Raises:
        BadNote: One is malformed or not a witness's, or a witness is named twice.
    """
    keys = tuple(map(VerifierKey.parse, text.split()))
    for key in keys:
        if key.algorithm != COSIGNATURE:
            raise BadNote(f"{str(key)!r} is not the key of a witness, as `holder witness init` prints it.")
    if len({key.name for key in keys}) < len(keys):
        raise BadNote("A witness is named twice.")
    return keys


def _cosigned(text: str, seconds: int) -> bytes:
    """Return what a cosignature is over (C2SP `tlog-cosignature`, version 1)."""
    return f"cosignature/v1\ntime {seconds}\n{text}".encode()


def _time(seconds: int) -> datetime:
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, OSError, ValueError):
        raise BadNote("A cosignature's time is out of range.") from None
