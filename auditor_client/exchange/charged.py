"""A request that is charged: priced, asked, verified, and kept before anything in it is used, whatever its kind."""

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

from auditor_client.approval_words import approval_words
from auditor_client.errors import (
    ApprovalAwaited,
    HolderLied,
    HolderUnavailable,
    ProviderUnavailable,
    ReceiptsDamaged,
)
from auditor_client.exchange.calls import awaited
from auditor_client.exchange.client_kind import ClientKind, PricedRequest, QuoteT, RequestContext, RequestT
from auditor_client.exchange.holder import HolderClient, UnverifiedRelease
from auditor_client.exchange.receipts import KeptAnswer, Receipts
from auditor_client.exchange.verification import ReleaseT
from shared.contract.approvals import Approval

FIRST_PAUSE_S: Final = 2.0
LONGEST_PAUSE_S: Final = 60.0
"""Between two looks whether a request is approved: each pause is twice the one before, up to a minute."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """Has one holder answer, and keeps what it answers in one receipts directory."""

    holder: HolderClient
    receipts: Receipts
    on_step: Callable[[str], None]

    def priced(
        self, kind: ClientKind[RequestT, QuoteT, ReleaseT], request: RequestT, context: RequestContext
    ) -> PricedRequest[RequestT, QuoteT, ReleaseT]:
        """Ask for the price of a request, and check it. Spends nothing.

        Raises:
            HolderLied: The price cannot be trusted.
        """
        self.on_step("Asking for the price")
        return kind.priced(request, self.holder.quote(context.dataset.name, request, kind.quote), context)

    def charged(self, priced: PricedRequest[RequestT, QuoteT, ReleaseT]) -> KeptAnswer[ReleaseT]:
        """Ask, verify, keep the receipt: in this order.

        Raises:
            ApprovalAwaited: A budget officer has to approve it first, and did not in the time that is waited for it.
            ApprovalDeclined: One declined it.
            HolderUnavailable: No answer; asking again costs nothing more.
            HolderLied: The answer cannot be trusted; it is kept as evidence.
        """
        keys = self.receipts.pin(self.holder.keys())
        try:
            unverified = self._once_approved(priced)
        except HolderUnavailable as error:
            raise HolderUnavailable(
                f"{error} It was asked of version {priced.request.version} of the records: name that version if you "
                "ask again later, and it is charged once."
            ) from error
        try:
            if all(key.id != unverified.document.get("key") for key in keys.keys):
                keys = self.receipts.pin(self.holder.keys())  # signed with a key that was made in between
            release = priced.verified(unverified.document, keys)
            receipt = self.receipts.keep(release.id, unverified.body)
        except HolderLied as error:
            raise HolderLied(f"{error} {self._evidence(unverified.body)}") from error
        return KeptAnswer.signed_by(keys, release, unverified.document, receipt)

    def kept(self, priced: PricedRequest[RequestT, QuoteT, ReleaseT]) -> KeptAnswer[ReleaseT]:
        """Read the kept answer to a request, verified like a new one. Spends nothing.

        Raises:
            ReceiptsDamaged: Its receipt is missing, or does not hold.
        """
        keys = self.receipts.pin(self.holder.keys())
        try:
            kept = self.receipts.answer(priced.kind.release, priced.identity, keys)
            priced.verified(kept.document, keys)
        except (OSError, HolderLied, HolderUnavailable) as error:
            raise ReceiptsDamaged(
                f"The receipt {self.receipts.path(priced.identity)} does not hold ({error}) Restore it from a copy, or "
                "move it elsewhere: the holder answers the same request again at no cost."
            ) from error
        return kept

    def _once_approved(self, priced: PricedRequest[Any, Any, Any]) -> UnverifiedRelease:
        """What comes; where a budget officer has to approve it first, that is waited for as long as is wanted."""
        try:
            return self._answer(priced)
        except ApprovalAwaited as error:
            if not self.holder.wait_approval_s:
                raise
            self.on_step(f"{approval_words(error.approval)} Waiting for that")
            found = self._decided(error.approval, priced)
            if found.state not in ("approved", "declined", "answered"):
                raise awaited(found) from error
        return self._answer(priced)

    def _answer(self, priced: PricedRequest[Any, Any, Any]) -> UnverifiedRelease:
        """What comes, if that is not a request for the approval of something else."""
        try:
            return self.holder.release(priced.context.dataset.name, priced.request)
        except ApprovalAwaited as error:
            priced.require_same(error.approval)
            raise

    def _decided(self, found: Approval, priced: PricedRequest[Any, Any, Any]) -> Approval:
        """A request once it does not wait any more, or when nobody decided in time; what is away meanwhile may be."""
        give_up_at, pause_s = time.monotonic() + self.holder.wait_approval_s, FIRST_PAUSE_S
        while found.state == "waiting" and (left_s := give_up_at - time.monotonic()) > 0:
            time.sleep(min(pause_s, left_s))
            pause_s = min(2 * pause_s, LONGEST_PAUSE_S)
            with suppress(HolderUnavailable, ProviderUnavailable):
                found = self.holder.approval(found.dataset, priced.identity)
            priced.require_same(found)
        return found

    def _evidence(self, body: bytes) -> str:
        """Keep a false answer, and say where; a failure to keep it must not hide that it is false."""
        try:
            return f"The answer is kept as evidence in {self.receipts.keep_refused(body)}."
        except ReceiptsDamaged as error:
            return f"The answer could not be kept as evidence: {error}"
