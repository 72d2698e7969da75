"""The only way from a drawn answer to a signed release: charge, entry, signature, row, in one transaction.

Requests of every kind go through here, and so do the answers of watches, whose charge is nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from holder_service.domain.block_accounts import BlockAccount
from holder_service.domain.block_charges import entered
from holder_service.domain.block_losses import nodes_at, tops_of
from holder_service.domain.errors import BudgetExhausted, CapExhausted
from holder_service.domain.ledger import Balance, Event
from holder_service.services.ledger.key_rotation import Signer
from holder_service.services.ledger.store import Transaction
from holder_service.services.releases import rehearsals
from holder_service.storage import block_losses, releases
from holder_service.storage.database import Connection
from holder_service.storage.datasets import Dataset
from holder_service.storage.ledger import AccountState
from holder_service.storage.releases import StoredRelease
from shared.contract.blocks import BlockDomain, BlockLoss, ChargedBlocks, largest
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
    dataset: Dataset,
    *,
    identity: str,
    version: int,
    auditor: str,
    relation: NeighbouringRelation,
    price: Loss,
    blocks: ChargedBlocks | None = None,
) -> AnswerToRequest:
    """Return what every release says of its request; the nonce is drawn."""
    return AnswerToRequest(
        id=identity, dataset=dataset.name, version=version, auditor=auditor, relation=relation.name,
        nonce=nonces.draw_nonce(), charge=rehearsals.charged(dataset, price),
        rehearsal=rehearsals.rehearsed(dataset, price), blocks=blocks,
    )  # fmt: skip


def require_funds(
    connection: Connection, state: AccountState, loss: Loss, losses: Sequence[BlockLoss], *, now: datetime
) -> None:
    """Refuse what account and cap do not both afford; if neither, the error is about the account.

    Args:
        loss: What is charged; of a population with blocks, the most to any of them.
        losses: What is charged to each block; empty without blocks.

    Raises:
        BudgetExhausted, CapExhausted: Something does not fit into what is left, in a block or in all.
    """
    domain = state.dataset.blocks
    if domain is None:
        if not state.account.affords(loss, now):
            raise BudgetExhausted(requested=loss, remaining=state.account.alike(state.cap).remaining(now))
        if not state.cap.affords(loss, now):
            raise CapExhausted(requested=loss, remaining=state.cap.remaining(now))
        return
    of_account, of_cap = _by_block(connection, state, losses, domain)
    for one, refusal in ((of_account, BudgetExhausted), (of_cap, CapExhausted)):
        if not one.balance.affords(loss * 0, now):
            raise refusal(requested=loss, remaining=one.balance.alike(state.cap).remaining(now))
        if (block := one.unaffordable(losses, now)) is not None:
            where = f"{domain.column} {domain.value(block.first)}"
            if block.last > block.first:
                where += f" to {domain.value(block.last)}"
            raise refusal(requested=block.loss, remaining=one.remaining(block, now), blocks=where)


def charge(
    transaction: Transaction, state: AccountState, release: UnsignedRelease, *,
    loss: Loss, detail: Mapping[str, Any], signing: Signer, losses: Sequence[BlockLoss] = (),
) -> StoredRelease:  # fmt: skip
    """Charge a loss to account and cap, and store the release signed; the caller has refused what they do not afford.

    Args:
        state: What it is charged against, read in this transaction.
        loss: As charged: nothing about a rehearsal, or for an answer of a watch.
        detail: What the entry says beside that.
        losses: What is charged to each block; empty without blocks.
    """
    if (domain := state.dataset.blocks) is None:
        account, cap = state.account.charged(loss), state.cap.charged(loss)
    else:
        account, cap = _charge_blocks(transaction.connection, state, loss, losses, domain)
        detail = {**detail, "blocks": entered(losses, domain)}
    event = Event(
        "charge", actor=release.auditor, population=state.dataset.population, dataset=release.dataset,
        auditor=release.auditor, subject=release.id, answer=release.answer.digest, loss=loss, cap=cap, account=account,
        detail=detail,
    )  # fmt: skip
    return enter_signed(transaction, rehearsals.answered(state.dataset, event), release, account, signing)


def _by_block(
    connection: Connection, state: AccountState, losses: Sequence[BlockLoss], domain: BlockDomain
) -> tuple[BlockAccount, BlockAccount]:
    """The auditor's account and the population's with the sums of those blocks that are charged."""
    nodes = nodes_at((one.first, one.last) for one in losses) | tops_of(domain)
    population = state.dataset.population
    account, cap = (
        BlockAccount(balance, block_losses.tree(connection, population, whose, nodes))
        for balance, whose in ((state.account, state.auditor), (state.cap, ""))
    )
    return account, cap


def _charge_blocks(
    connection: Connection, state: AccountState, loss: Loss, losses: Sequence[BlockLoss], domain: BlockDomain
) -> tuple[Balance, Balance]:
    """Charge every block what it loses; gives the balances after it.

    Raises:
        RuntimeError: A block is charged more than the answer says: a fault of the holder's.
    """
    if largest(losses, loss * 0) != loss:
        raise RuntimeError("Blocks would be charged something else than the answer says.")
    balances = []
    for account, whose in zip(_by_block(connection, state, losses, domain), (state.auditor, ""), strict=True):
        before = frozenset(account.tree.nodes)
        balances.append(account.charged(losses))
        block_losses.write(connection, state.dataset.population, whose, account.tree, before)
    after_account, after_cap = balances
    return after_account, after_cap


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
