"""Accounts of populations with blocks: whether a request fits in every block, and the balance after it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from holder_service.domain.block_losses import BlockTree, amounts_of, loss_of
from holder_service.domain.ledger import Balance
from shared.contract.blocks import BlockBalance, BlockBalances, BlockDomain, BlockLoss
from shared.privacy.amounts import NO_LOSS, Loss


@dataclass(frozen=True, slots=True)
class BlockAccount:
    """An account of a population with blocks: its limit for each block, and what each block lost.

    Attributes:
        balance: With the highest sums of any block as what was spent.
        tree: The sums by block, as far as they are at hand.
    """

    balance: Balance
    tree: BlockTree

    def unaffordable(self, losses: Sequence[BlockLoss], now: datetime) -> BlockLoss | None:
        """Return the first range of blocks that has less left than a request costs there; `None` if there is none."""
        for one in losses:
            if not self._within(one).affords(one.loss, now):
                return one
        return None

    def remaining(self, of: BlockLoss, now: datetime) -> Loss:
        """Return what is left in every block of a range."""
        return self._within(of).remaining(now)

    def charged(self, losses: Sequence[BlockLoss]) -> Balance:
        """Add losses to blocks, and return the balance after them."""
        for one in losses:
            self.tree.add(one.first, one.last, amounts_of(one.loss))
        return self.balance.by_block(self.tree.highest_of_all)

    def spent(self, block: int) -> Loss:
        """Return what one block lost."""
        return loss_of(self.tree.highest(block, block), self.balance.terms)

    def _within(self, of: BlockLoss) -> Balance:
        return self.balance.by_block(self.tree.highest(of.first, of.last))


def balances(
    account: BlockAccount, cap: BlockAccount, domain: BlockDomain, *, now: datetime, ranges_max: int
) -> BlockBalances:
    """Return an auditor's account block by block, newest blocks first.

    Args:
        account, cap: With all of their sums.
        domain: The declared blocks.
        now: When a limit may have expired.
        ranges_max: How many ranges of blocks with equal balances are listed.
    """
    starts = {first for one in (account, cap) for first, _, _ in one.tree.runs(domain.first, domain.last)}
    found: list[BlockBalance] = []
    last = domain.last
    for first in sorted(starts, reverse=True)[:ranges_max]:
        left = [one.remaining(BlockLoss(first, first, NO_LOSS), now) for one in (account, cap)]
        found.append(
            BlockBalance(
                first=domain.value(first), last=domain.value(last), blocks=last - first + 1, spent=account.spent(first),
                spendable=left[0].within(left[1]),
            )
        )  # fmt: skip
        last = first - 1
    return BlockBalances(
        column=domain.column, per_person_max=domain.per_person_max, balances=tuple(found), more=len(starts) > ranges_max
    )
