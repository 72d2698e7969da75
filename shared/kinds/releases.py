"""Releases: the holder's noisy, signed answer, which is also the auditor's receipt (4-interface).

The bytes that are signed are the RFC 8785 bytes of the release without `signature`; so a client
verifies the document as it came, fields that it does not know included, before it reads a number.

A release is made in two steps. Its `Answer` is drawn before the charge is entered, and the entry holds the answer's
digest; `Entered` is what is known afterwards. `SerialisedAnswer` puts both together: nobody else writes a release.

**How it may grow.** A release that was signed reads, hashes and verifies the same for ever (`tests/contract`), so a
member never changes its name, its meaning or its form, and is never taken out. A new member is optional, and without it
a release means what it meant before; it is absent where it has no value, and what is absent is neither hashed nor
signed. Since a client ignores members that it does not know, no new one may change what another says. What cannot be
said in this way needs a new version of the contract.
"""

import base64
import binascii
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, Final, Self

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from pydantic import Field, PlainSerializer, model_validator

from shared.contract.blocks import ChargedBlocks
from shared.contract.rehearsals import Rehearsed, marked_name
from shared.contract.shares import Shares, ShareWord
from shared.kinds.plans import BatchQuote, Plan
from shared.kinds.requests import ReleaseRequest
from shared.privacy.amounts import NO_LOSS, Loss
from shared.wire import canonical
from shared.wire.identities import KindName
from shared.wire.nonces import Nonce
from shared.wire.request_model import ContractModel

SIGNATURE_PREFIX: Final = "ed25519:"
_NOTHING: Final[Mapping[str, bytes]] = MappingProxyType({})


class BadSignature(ValueError):
    """A release was not signed by the key that it names, or was changed since."""


class ReleasedCell(ContractModel):
    """The noisy histogram of one cell."""

    id: str
    """The cell's id in the plan."""
    counts: tuple[int, ...] = Field(default=(), exclude_if=lambda counts: not counts)
    """A noisy count for each group (or each counted group), in people; noise may make it negative. Left out of an
    answer in shares."""
    shares: tuple[ShareWord, ...] | None = Field(default=None, exclude_if=lambda shares: shares is None)
    """Instead of counts, of a dataset that is shared by two holders: this holder's half of each noisy count, modulo
    2⁶⁴. The answers of both add up to counts whose noise is the sum of both noises."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if bool(self.counts) == bool(self.shares):
            raise ValueError("A cell has counts, or halves of counts.")
        return self


class ReleasedBatch(BatchQuote):
    """A batch as it was quoted, with the noisy histograms of its cells."""

    cells: tuple[ReleasedCell, ...]
    """The histograms, in the plan's order."""

    @classmethod
    def of(cls, quote: BatchQuote, cells: tuple[ReleasedCell, ...]) -> "ReleasedBatch":
        """The answer to a batch that was priced so."""
        return cls(**dict(quote), cells=cells)


class LedgerPosition(ContractModel):
    """An entry's sequence number and hash."""

    sequence: int
    """The entry's number, from 1."""
    hash: str
    """The entry's hash, "sha256:" and 64 hexadecimal digits."""


class AnswerToRequest(ContractModel):
    """The members of every release before its charge is entered."""

    kind: ClassVar[KindName]
    """The member that says what was asked."""

    id: str
    """The identity of what was asked, for this auditor, dataset and version: "sha256:" and 64 hexadecimal digits."""
    dataset: str
    """The dataset that was asked about."""
    version: int
    """The version of the records that was counted."""
    auditor: str
    """Whose request it answers."""
    relation: str
    """The population's neighbouring relation: what ε is about."""
    nonce: Nonce
    """Random, so that the ledger's hash of this answer confirms no guess: 32 hexadecimal digits."""
    charge: Loss
    """What was charged for it, once."""
    rehearsal: Rehearsed | None = Field(default=None, exclude_if=lambda rehearsal: rehearsal is None)
    """That it is about invented people, and what the same would cost about real ones; left out of all else."""
    blocks: ChargedBlocks | None = Field(default=None, exclude_if=lambda blocks: blocks is None)
    """What each block of people is charged, where cap and budgets hold by block; `charge` is then the largest of it."""

    @property
    def price(self) -> Loss:
        """The price about real people: the charge, but for a rehearsal, which is charged nothing."""
        return self.charge if self.rehearsal is None else self.rehearsal.would_cost

    @property
    def dataset_words(self) -> str:
        """The dataset's name in a list; marked, if it is a rehearsal."""
        return marked_name(self.dataset, self.rehearsal)

    @property
    def expected_id(self) -> str:
        """The id that follows from what the release says.

        Raises:
            ValueError: The request in it is not pinned to a version.
        """
        request: ReleaseRequest = getattr(self, self.kind)
        return request.identity(auditor=self.auditor, dataset=self.dataset)

    @property
    def fault(self) -> str | None:
        """What in the release contradicts the rest of it, for people; `None` if nothing does."""
        request: ReleaseRequest = getattr(self, self.kind)
        if request.version != self.version:
            return f"its {self.kind} is pinned to another version than it names"
        return None


class Answer(AnswerToRequest):
    """The release of a plan before its charge is entered: all that the ledger's entry holds the digest of."""

    kind: ClassVar[KindName] = Plan.kind

    plan: Plan
    """The plan in canonical form, pinned to the version."""
    batches: tuple[ReleasedBatch, ...]
    """The price, noise and noisy counts of each batch, in the plan's order."""
    shares: Shares | None = Field(default=None, exclude_if=lambda shares: shares is None)
    """Which half of every count it holds, where another holder has the other half; else left out."""

    @property
    def fault(self) -> str | None:
        """What contradicts the rest of it: as of every answer, and counts where it says that they are halves."""
        shared = self.shares is not None
        if any((cell.shares is not None) != shared for batch in self.batches for cell in batch.cells):
            return "it has counts where it says that they are halves, or the reverse"
        return super().fault

    @property
    def loss(self) -> Loss:
        """What it says of people loses, by itself and together with all that it refines; charged in parts, if it does.

        Where it refines nothing that is what was charged for it.
        """
        if self.plan.refines is None:
            return self.price
        answered = zip(self.plan.batches, self.batches, strict=True)
        return sum((asked.loss * batch.composition["classes"] for asked, batch in answered), NO_LOSS)


class Entered(ContractModel):
    """The members that a release gets once its charge is entered."""

    created: Annotated[datetime, PlainSerializer(datetime.isoformat, when_used="json")]
    """When it was charged, in UTC."""
    remaining: Loss
    """What the auditor had left of the budget afterwards."""
    ledger: LedgerPosition
    """The entry of the charge."""
    key: str
    """The id of the signing key; `GET /v1/keys` lists them."""


class Signed(AnswerToRequest, Entered):
    """The envelope of every release: what each says of its request and its entry, and the signature over all of it."""

    signature: str
    """Of the RFC 8785 bytes of the release without this member: "ed25519:" and base64."""


class Release(Answer, Signed):
    """The answer to a plan. Fields that this version does not know are ignored."""

    def batch(self, name: str) -> ReleasedBatch:
        """The batch of a name.

        Raises:
            KeyError: The release has none of that name.
        """
        for batch in self.batches:
            if batch.name == name:
                return batch
        raise KeyError(name)


@dataclass(frozen=True, slots=True)
class SerialisedAnswer:
    """An answer as canonical bytes: serialised once, before the ledger's lock is taken.

    Attributes:
        members: The canonical bytes of each member's value, by its name.
        digest: What the ledger's entry holds of it (`answer_digest`).
    """

    members: Mapping[str, bytes]
    digest: str

    @classmethod
    def of(cls, answer: AnswerToRequest, *, at_hand: Mapping[str, bytes] = _NOTHING) -> "SerialisedAnswer":
        """Serialise an answer; `at_hand` are members whose canonical bytes are known, by name."""
        document = answer.model_dump(mode="json", exclude=set(at_hand), exclude_none=True)
        members = {name: canonical.canonical_bytes(value) for name, value in document.items()} | dict(at_hand)
        return cls(members, canonical.sha256_name(canonical.object_bytes(members)))

    def signed(self, entered: Entered, sign: Callable[[bytes], str]) -> bytes:
        """The release, whole: the bytes that are stored and sent.

        Args:
            entered: What is known now that the charge is entered.
            sign: Signs bytes with the key that `entered` names, as the contract writes a signature.
        """
        document = entered.model_dump(mode="json")
        members = {**self.members, **{name: canonical.canonical_bytes(value) for name, value in document.items()}}
        signature = sign(canonical.object_bytes(members))
        return canonical.object_bytes({**members, "signature": canonical.canonical_bytes(signature)})


class Handover(ContractModel):
    """The word of the key before that another follows it (`shared.kinds.handovers`)."""

    by: str
    """The id of the key before."""
    signature: str
    """Its signature of the key that follows: "ed25519:" and base64."""


class SigningKey(ContractModel):
    """A public key of the holder, as `GET /v1/keys` shows it."""

    id: str
    """Its id, which releases name."""
    algorithm: str
    """What signatures are made with: "ed25519"."""
    public_key: str
    """The key's 32 bytes in base64."""
    valid_from: datetime
    """From when on it signed."""
    valid_to: datetime | None = None
    """Until when it signed; null for the one that is in force."""
    handover: Handover | None = None
    """The word of the key before; null for the holder's first key."""

    def has_signed(self, content: bytes, signature: Any) -> bool:
        """Whether a signature, as the contract writes it, is this key's over these bytes."""
        if self.algorithm != "ed25519" or not isinstance(signature, str) or not signature.startswith(SIGNATURE_PREFIX):
            return False
        try:
            public = _public_key(self.public_key)
            public.verify(base64.b64decode(signature.removeprefix(SIGNATURE_PREFIX), validate=True), content)
        except (InvalidSignature, binascii.Error, ValueError):
            return False
        return True


@lru_cache(maxsize=64)
def _public_key(text: str) -> Ed25519PublicKey:
    """A public key from its base64; many releases are signed by the same."""
    return Ed25519PublicKey.from_public_bytes(base64.b64decode(text, validate=True))


class SigningKeys(ContractModel):
    """All keys that the holder signs or has signed with."""

    keys: tuple[SigningKey, ...]
    """The keys, oldest first."""


_NOT_ANSWERED: Final = frozenset({*Entered.model_fields, "signature"})


def signature_of(content: bytes, private: Ed25519PrivateKey) -> str:
    """The signature of some bytes, as the contract writes it: "ed25519:<base64>"."""
    return SIGNATURE_PREFIX + base64.b64encode(private.sign(content)).decode()


def signed_bytes(release: Mapping[str, Any]) -> bytes:
    """The bytes that a release's signature is over: its canonical JSON without `signature`."""
    return canonical.canonical_bytes({name: value for name, value in release.items() if name != "signature"})


def answer_digest(release: Mapping[str, Any]) -> str:
    """The digest that a ledger entry keeps of a release: of what was answered, before the entry was written.

    The release names its entry's hash and the entry names this digest, so it leaves out what is only
    known once the charge is entered, and the signature. The release's nonce is in it, so that it confirms no
    guess of the counts.
    """
    return canonical.digest({name: value for name, value in release.items() if name not in _NOT_ANSWERED})


def has_answer_digest(release: Mapping[str, Any], digest: str, *, body: bytes) -> bool:
    """Return whether a release has an answer's digest; the same as comparing `answer_digest`, several times faster.

    If the members that came with the charge are cut out of the bytes and the rest has the digest, then the rest is
    the answer: it has none of these members. Then what was cut put each of them into the answer, at the top, and
    nothing else. Bytes that the holder did not write so are serialised again.

    Args:
        release: The release as JSON values.
        digest: What the entry holds.
        body: The bytes that `release` was read from.
    """
    if release.keys() >= _NOT_ANSWERED:
        answer = body
        for name in _NOT_ANSWERED:
            before, _, after = answer.partition(b',"%b":%b' % (name.encode(), canonical.canonical_bytes(release[name])))
            answer = before + after
        if canonical.sha256_name(answer) == digest:
            return True
    return answer_digest(release) == digest


def verify_signature(release: Mapping[str, Any], keys: SigningKeys, *, body: bytes | None = None) -> None:
    """Check a release, as it came, against the holder's public keys.

    Args:
        release: The release as JSON values.
        keys: The holder's keys.
        body: The bytes that `release` was read from. If they are as the holder wrote them, they need not be
            serialised again, which takes most of the time.

    Raises:
        BadSignature: The key is unknown, or the signature is not over these bytes.
    """
    key = next((key for key in keys.keys if key.id == release.get("key")), None)
    if key is None or key.algorithm != "ed25519":
        raise BadSignature("The release names a signing key that the holder does not publish.")
    signature = release.get("signature")
    if body is not None and key.has_signed(_without_signature(body, signature), signature):
        return
    if not key.has_signed(signed_bytes(release), signature):
        raise BadSignature("The release's signature is not over its bytes: it was changed, or never signed.")


def _without_signature(body: bytes, signature: Any) -> bytes:
    """The bytes of a release without its signature's member, where that stands in them once.

    If a key signed the result, then `body` is what it signed and that member put somewhere into it: since what was
    signed has no signature of its own, the member is that of the release itself, and all else was signed.
    """
    member = b',"signature":' + json.dumps(signature).encode()
    before, _, after = body.partition(member)
    return before + after
