"""An answer that is charged: asked, verified, and kept before anything in it is used, whatever was asked."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic

from auditor_client.errors import HolderLied, HolderUnavailable, ReceiptsDamaged
from auditor_client.exchange.holder import HolderClient, UnverifiedRelease
from auditor_client.exchange.receipts import Receipts
from auditor_client.exchange.verification import AnyRelease
from shared.releases import SigningKey, SigningKeys


@dataclass(frozen=True, slots=True)
class KeptAnswer(Generic[AnyRelease]):
    """A verified release as it came, with its receipt.

    Attributes:
        release: What was answered.
        document: The same as it came, which is what the signature is over.
        receipt: The file that keeps it.
        key: The public key that signed it.
    """

    release: AnyRelease
    document: Mapping[str, Any] = field(repr=False)
    receipt: Path
    key: SigningKey


@dataclass(frozen=True, slots=True)
class ChargedAnswers:
    """Has one holder answer, and keeps what it answers in one receipts directory."""

    holder: HolderClient
    receipts: Receipts

    def answered(
        self,
        ask: Callable[[HolderClient], UnverifiedRelease],
        verified: Callable[[Mapping[str, Any], SigningKeys], AnyRelease],
        *,
        again: str,
    ) -> KeptAnswer[AnyRelease]:
        """Ask, verify, keep the receipt: in this order.

        Args:
            ask: Sends the request.
            verified: Checks what came against everything that is known before it, with the holder's keys.
            again: What to heed when asking again later, for the error where nothing came.

        Raises:
            HolderUnavailable: No answer; asking again costs nothing more.
            HolderLied: The answer cannot be trusted; it is kept as evidence.
        """
        keys = self.receipts.pin(self.holder.keys())
        try:
            unverified = ask(self.holder)
        except HolderUnavailable as error:
            raise HolderUnavailable(f"{error} {again}") from error
        try:
            if all(key.id != unverified.document.get("key") for key in keys.keys):
                keys = self.receipts.pin(self.holder.keys())  # signed with a key that was made in between
            release = verified(unverified.document, keys)
            receipt = self.receipts.keep(release.id, unverified.body)
        except HolderLied as error:
            raise HolderLied(f"{error} {self._evidence(unverified.body)}") from error
        key = next(key for key in keys.keys if key.id == release.key)
        return KeptAnswer(release, unverified.document, receipt, key)

    def _evidence(self, body: bytes) -> str:
        """Keep a false answer, and say where; a failure to keep it must not hide that it is false."""
        try:
            return f"The answer is kept as evidence in {self.receipts.keep_refused(body)}."
        except ReceiptsDamaged as error:
            return f"The answer could not be kept as evidence: {error}"
