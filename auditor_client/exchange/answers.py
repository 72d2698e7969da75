"""An answer that is charged: asked, verified, and kept before anything in it is used, whatever was asked."""

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Generic

from auditor_client.approval_words import approval_words
from auditor_client.errors import (
    ApprovalAwaited,
    HolderLied,
    HolderUnavailable,
    ProviderUnavailable,
    ReceiptsDamaged,
)
from auditor_client.exchange.calls import awaited
from auditor_client.exchange.holder import HolderClient, UnverifiedRelease
from auditor_client.exchange.receipts import Receipts
from auditor_client.exchange.verification import ReleaseT
from auditor_client.text import loss_words, readable
from shared.contract.approvals import Approval
from shared.kinds.releases import SigningKey, SigningKeys
from shared.privacy.amounts import Loss

FIRST_PAUSE_S: Final = 2.0
LONGEST_PAUSE_S: Final = 60.0
"""Between two looks whether a request is approved: each pause is twice the one before, up to a minute."""


@dataclass(frozen=True, slots=True)
class KeptAnswer(Generic[ReleaseT]):
    """A verified release as it came, with its receipt.

    Attributes:
        release: What was answered.
        document: The same as it came, which is what the signature is over.
        receipt: The file that keeps it.
        key: The public key that signed it.
    """

    release: ReleaseT
    document: Mapping[str, Any] = field(repr=False)
    receipt: Path
    key: SigningKey


@dataclass(frozen=True, slots=True)
class AskedOnce:
    """What is asked, as a request for its approval names it: by the release that it gets, and its charge."""

    release: str
    charge: Loss

    def require_same(self, approval: Approval) -> None:
        """Refuse a request that is about something else.

        Raises:
            HolderLied: So it is.
        """
        if (approval.id, approval.charge) != (self.release, self.charge):
            raise HolderLied(
                f"The holder has a budget officer approve {readable(approval.id)} for {loss_words(approval.charge)}, "
                f"and not what you asked, {self.release} for {loss_words(self.charge)}. Withdraw it "
                "(`Auditor.withdraw`), and report it to the holder's administrator."
            )


@dataclass(frozen=True, slots=True)
class ChargedAnswers:
    """Has one holder answer, and keeps what it answers in one receipts directory."""

    holder: HolderClient
    receipts: Receipts
    on_step: Callable[[str], None]

    def answered(
        self,
        ask: Callable[[HolderClient], UnverifiedRelease],
        verified: Callable[[Mapping[str, Any], SigningKeys], ReleaseT],
        *,
        asked: AskedOnce,
        again: str,
    ) -> KeptAnswer[ReleaseT]:
        """Ask, verify, keep the receipt: in this order.

        Args:
            ask: Sends the request.
            verified: Checks what came against everything that is known before it, with the holder's keys.
            asked: What it is, which a request for its approval has to be about.
            again: What to heed when asking again later, for the error where nothing came.

        Raises:
            ApprovalAwaited: A budget officer has to approve it first, and did not in the time that is waited for it.
            ApprovalDeclined: One declined it.
            HolderUnavailable: No answer; asking again costs nothing more.
            HolderLied: The answer cannot be trusted; it is kept as evidence.
        """
        keys = self.receipts.pin(self.holder.keys())
        try:
            unverified = self._once_approved(ask, asked)
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

    def _once_approved(self, ask: Callable[[HolderClient], UnverifiedRelease], asked: AskedOnce) -> UnverifiedRelease:
        """What comes; where a budget officer has to approve it first, that is waited for as long as is wanted."""
        try:
            return self._asked(ask, asked)
        except ApprovalAwaited as error:
            if not self.holder.wait_approval_s:
                raise
            self.on_step(f"{approval_words(error.approval)} Waiting for that")
            found = self._decided(error.approval, asked)
            if found.state not in ("approved", "declined", "answered"):
                raise awaited(found) from error
        return self._asked(ask, asked)

    def _asked(self, ask: Callable[[HolderClient], UnverifiedRelease], asked: AskedOnce) -> UnverifiedRelease:
        """What comes, if that is no request about something else."""
        try:
            return ask(self.holder)
        except ApprovalAwaited as error:
            asked.require_same(error.approval)
            raise

    def _decided(self, found: Approval, asked: AskedOnce) -> Approval:
        """A request once it does not wait any more, or when nobody decided in time; what is away meanwhile may be."""
        give_up_at, pause_s = time.monotonic() + self.holder.wait_approval_s, FIRST_PAUSE_S
        while found.state == "waiting" and (left_s := give_up_at - time.monotonic()) > 0:
            time.sleep(min(pause_s, left_s))
            pause_s = min(2 * pause_s, LONGEST_PAUSE_S)
            with suppress(HolderUnavailable, ProviderUnavailable):
                found = self.holder.approval(found.dataset, asked.release)
            asked.require_same(found)
        return found

    def _evidence(self, body: bytes) -> str:
        """Keep a false answer, and say where; a failure to keep it must not hide that it is false."""
        try:
            return f"The answer is kept as evidence in {self.receipts.keep_refused(body)}."
        except ReceiptsDamaged as error:
            return f"The answer could not be kept as evidence: {error}"
