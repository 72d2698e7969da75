"""Accounts of populations with blocks: whether a request fits into every block, and the balance after it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from holder_service.domain.block_losses import BlockTree, amounts_of, loss_of
from holder_service.domain.ledger import Balance
from shared.contract.blocks import BlockBalance, BlockBalances, BlockDomain, BlockLoss
from shared.privacy.amounts import NO_LOSS, Loss


@dataclass(frozen=True, slots=True)
class BlockAccount:
    """An account of a population with blocks: its limit for each block, and the losses of each block.

    Attributes:
        balance: The limit, with the highest sums of any block as what was spent.
        tree: The sums by block: all of them, or those that a request needs (`nodes_at`).
    """

    balance: Balance
    tree: BlockTree

    def unaffordable(self, losses: Sequence[BlockLoss], now: datetime) -> BlockLoss | None:
        """Return the first range of blocks that has less left than a request costs there; `None` if there is none."""
        for part in losses:
            if not self._within(part).affords(part.loss, now):
                return part
        return None

    def remaining(self, part: BlockLoss, now: datetime) -> Loss:
        """Return what is left in every block of a range."""
        return self._within(part).remaining(now)

    def charged(self, losses: Sequence[BlockLoss]) -> Balance:
        """Add losses to blocks, and return the balance after them."""
        for part in losses:
            self.tree.add(part.first, part.last, amounts_of(part.loss))
        return self.balance.by_block(self.tree.highest_of_all)

    def spent(self, block: int) -> Loss:
        """Return the loss of one block."""
        return loss_of(self.tree.highest(block, block), self.balance.terms)

    def _within(self, part: BlockLoss) -> Balance:
        return self.balance.by_block(self.tree.highest(part.first, part.last))


def balances(
    account: BlockAccount, cap: BlockAccount, domain: BlockDomain, *, now: datetime, ranges_max: int
) -> BlockBalances:
    """Return an auditor's account block by block, newest blocks first.

    Args:
        account, cap: The auditor's account and the population's, each with its whole tree.
        domain: The declared blocks.
        now: The time, as limits expire.
        ranges_max: The maximum number of ranges of blocks with equal balances.
    """
    starts = {first for side in (account, cap) for first, _, _ in side.tree.runs(domain.first, domain.last)}
    newest: list[BlockBalance] = []
    last = domain.last
    for first in sorted(starts, reverse=True)[:ranges_max]:
        block = BlockLoss(first, first, NO_LOSS)
        newest.append(
            BlockBalance(
                first=domain.value(first), last=domain.value(last), blocks=last - first + 1, spent=account.spent(first),
                spendable=account.remaining(block, now).within(cap.remaining(block, now)),
            )
        )  # fmt: skip
        last = first - 1
    return BlockBalances(
        column=domain.column,
        per_person_max=domain.per_person_max,
        balances=tuple(newest),
        more=len(starts) > ranges_max,
    )
