"""Blocks of people: what is lost is added up for each value of one public column by itself (spec 10 §4).

People who come into a dataset in another month are other people. A population that declares `blocks` keeps one balance
for each block, so what is asked about this month leaves next month's balance whole. The promise for one person follows
from the number of blocks that a person may be in (`per_person_max`), which the holder enforces at each load.

A block has a *number*: the value itself of an integer column, and the index in declared order of a category. Numbers
are what the ledger adds up by; people read the column's values.

Proof: docs/guarantee.md, "Blocks". Decision: docs/adr/0069-blocks.md.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field, StrictInt

from shared.privacy.amounts import NO_LOSS, Loss
from shared.wire import limits
from shared.wire.request_model import ContractModel, RequestModel
from shared.wire.text import Text

BlockValue = str | int
"""A value of the block column, as rules name it."""


class Blocks(RequestModel):
    """The declaration of blocks: losses are added up for each block of people, and a person may be in a few of them."""

    column: Text
    """The column whose values are the blocks: public, and fixed for a record. A category, or an integer with minimum
    and maximum; it has no missing values."""
    per_person_max: Annotated[StrictInt, Field(ge=1, le=limits.BLOCKS_PER_PERSON_MAX)] = 1
    """In how many blocks one person may ever be, over all versions and datasets of the population. What one person
    loses is at most so many times the cap."""


@dataclass(frozen=True, slots=True)
class BlockLoss:
    """The loss of each block from one number to another, both included."""

    first: int
    last: int
    loss: Loss


@dataclass(frozen=True, slots=True)
class BlockDomain:
    """The declared blocks.

    Attributes:
        column: The name of their column.
        values: The categories of the column in declared order; empty where it is an integer.
        first, last: The numbers of the first block and of the last.
        per_person_max: In how many blocks one person may be.
    """

    column: str
    values: tuple[str, ...]
    first: int
    last: int
    per_person_max: int

    @property
    def count(self) -> int:
        """The number of declared blocks."""
        return self.last - self.first + 1

    def value(self, number: int) -> BlockValue:
        """The column's value that a number stands for."""
        return self.values[number] if self.values else number

    def number(self, value: BlockValue) -> int:
        """The number of a declared value.

        Raises:
            ValueError: It is not declared.
        """
        return self.values.index(str(value)) if self.values else int(value)

    def everywhere(self, loss: Loss) -> tuple[BlockLoss, ...]:
        """The same loss of every declared block."""
        return () if loss.is_nothing else (BlockLoss(self.first, self.last, loss),)

    def extends(self, before: "BlockDomain") -> bool:
        """Whether every block keeps its number and all that were declared still are."""
        return self.agrees(before) and self.last >= before.last

    def agrees(self, other: "BlockDomain") -> bool:
        """Whether two datasets of one population may have these blocks: no number stands for two values."""
        shorter = min(len(self.values), len(other.values))
        same = (self.column, self.per_person_max, self.first, bool(self.values)) == (
            other.column, other.per_person_max, other.first, bool(other.values),
        )  # fmt: skip
        return same and self.values[:shorter] == other.values[:shorter]

    def described(self, losses: Iterable[BlockLoss]) -> "ChargedBlocks":
        """Losses by block, as quotes and releases say them."""
        charged = tuple(
            BlockCharge(
                first=self.value(each.first),
                last=self.value(each.last),
                blocks=each.last - each.first + 1,
                loss=each.loss,
            )
            for each in losses
        )
        return ChargedBlocks(column=self.column, per_person_max=self.per_person_max, charged=charged)


class BlockCharge(ContractModel):
    """The loss of each block from one value to another, both included."""

    first: BlockValue
    """The value of the first block."""
    last: BlockValue
    """The value of the last block; equal to `first` where it is one block."""
    blocks: int
    """How many blocks these are."""
    loss: Loss
    """What each of them loses."""


class ChargedBlocks(ContractModel):
    """The charges of a request to blocks of people; blocks that are not listed are charged nothing."""

    column: str
    """The column whose values are the blocks."""
    per_person_max: int
    """In how many blocks one person may be."""
    charged: tuple[BlockCharge, ...]
    """Ranges of blocks, ascending, none of which overlap, and what each block of a range loses."""

    @property
    def words(self) -> str:
        """The blocks that are charged, for people: "month 2026-01 – 2026-03, 2026-07"."""
        return f"{self.column} {', '.join(_range_words(charge.first, charge.last) for charge in self.charged)}"

    @property
    def person_loss(self) -> Loss:
        """The most that one person can lose: the largest losses of as many blocks as a person may be in, added up.

        ε and δ each: the blocks that lose most of one may not be those that lose most of the other.
        """
        if not self.charged:
            return NO_LOSS
        first = self.charged[0].loss
        epsilon, delta = (self._largest(name) for name in ("epsilon_nano", "delta_nano"))
        if first.rho_nano is None:
            return Loss(epsilon, delta)
        return Loss.of_rho(self._largest("rho_nano"), first.delta_nano)

    def _largest(self, amount: str) -> int:
        """The sum of the largest amounts of as many blocks as a person may be in."""
        left, total = self.per_person_max, 0
        for nano, blocks in sorted(((getattr(each.loss, amount), each.blocks) for each in self.charged), reverse=True):
            taken = min(left, blocks)
            total, left = total + nano * taken, left - taken
        return total


class BlockBalance(ContractModel):
    """The balance of each block from one value to another, both included."""

    first: BlockValue
    """The value of the first block."""
    last: BlockValue
    """The value of the last block; equal to `first` where it is one block."""
    blocks: int
    """How many blocks these are."""
    spent: Loss
    """What the auditor was charged about each of them."""
    spendable: Loss
    """What the auditor's limit and the population's cap both have left for each of them."""

    @property
    def words(self) -> str:
        """The range, for people: one value, or the first and the last."""
        return _range_words(self.first, self.last)


class BlockBalances(ContractModel):
    """An auditor's account block by block: newest first, blocks of equal balances as one."""

    column: str
    """The column whose values are the blocks."""
    per_person_max: int
    """In how many blocks one person may be."""
    balances: tuple[BlockBalance, ...]
    """The newest ranges of blocks."""
    more: bool
    """Whether there are older ranges that are not listed."""


def _range_words(first: BlockValue, last: BlockValue) -> str:
    return str(first) if first == last else f"{first} – {last}"


def largest(losses: Sequence[BlockLoss], nothing: Loss) -> Loss:
    """The most that any block loses, ε and δ each; `nothing`, in the account's terms, where no block loses anything."""
    maximum = nothing
    for block_loss in losses:
        maximum = maximum.larger(block_loss.loss)
    return maximum
