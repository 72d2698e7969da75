"""The only way from a drawn answer to a signed release: charge, entry, signature, row, in one transaction.

Requests of every kind go through here, and so do the answers of watches, whose charge is nothing.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from holder_service.domain.ledger import Balance, Event
from holder_service.services.ledger.key_rotation import Signer
from holder_service.services.ledger.store import Transaction
from holder_service.services.releases import rehearsals
from holder_service.storage import releases
from holder_service.storage.datasets import Dataset
from holder_service.storage.ledger import AccountState
from holder_service.storage.releases import StoredRelease
from shared.contract.relations import NeighbouringRelation
from shared.kinds.releases import AnswerToRequest, Entered, SerialisedAnswer
from shared.privacy.amounts import Loss
from shared.wire import nonces
from shared.wire.identities import KindName


@dataclass(frozen=True, slots=True, repr=False)
class UnsignedRelease:
    """An answer that nobody may see before it is charged and signed.

    Attributes:
        id: The identity of what was asked.
        refines: The release that it refines, if it refines one.
        watch: The watch that it is an answer of, if it is one.
    """

    id: str
    kind: KindName
    auditor: str
    dataset: str
    version: int
    answer: SerialisedAnswer
    refines: str | None = None
    watch: str | None = None


def answer_head(
    dataset: Dataset, *, identity: str, version: int, auditor: str, relation: NeighbouringRelation, price: Loss
) -> AnswerToRequest:
    """Return what every release says of its request; the nonce is drawn."""
    return AnswerToRequest(
        id=identity, dataset=dataset.name, version=version, auditor=auditor, relation=relation.name,
        nonce=nonces.draw_nonce(), charge=rehearsals.charged(dataset, price),
        rehearsal=rehearsals.rehearsed(dataset, price),
    )  # fmt: skip


def charge(
    transaction: Transaction, state: AccountState, release: UnsignedRelease, *,
    loss: Loss, detail: Mapping[str, Any], signing: Signer,
) -> StoredRelease:  # fmt: skip
    """Charge a loss to account and cap, and store the release signed; the caller has refused what they do not afford.

    Args:
        state: What it is charged against, read in this transaction.
        loss: As charged: nothing about a rehearsal, or for an answer of a watch.
        detail: What the entry says beside that.
    """
    account, cap = state.account.charged(loss), state.cap.charged(loss)
    event = Event(
        "charge", actor=release.auditor, population=state.dataset.population, dataset=release.dataset,
        auditor=release.auditor, subject=release.id, answer=release.answer.digest, loss=loss, cap=cap, account=account,
        detail=detail,
    )  # fmt: skip
    return enter_signed(transaction, rehearsals.answered(state.dataset, event), release, account, signing)


def enter_signed(
    transaction: Transaction, event: Event, release: UnsignedRelease, account: Balance, signing: Signer
) -> StoredRelease:
    """Append the entry of a release, sign the release and store it.

    Args:
        account: The auditor's, after the entry.
    """
    pair = transaction.once(signing.in_force)  # asked under the lock: a rotation may have come between
    entry = transaction.append(event)
    entered = Entered(
        created=transaction.now, remaining=account.remaining(transaction.now), ledger=entry.position, key=pair.id
    )
    stored = StoredRelease(
        id=release.id, auditor=release.auditor, dataset=release.dataset, version=release.version,
        sequence=entry.sequence, created=entry.at, body=release.answer.signed(entered, pair.sign_bytes),
        kind=release.kind, refines=release.refines, watch=release.watch,
    )  # fmt: skip
    releases.store(transaction.connection, stored)
    return stored
