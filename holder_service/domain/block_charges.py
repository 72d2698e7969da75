"""The loss of a request by block, from rules and declaration alone (spec 10 §4).

For a block b only those classes of a batch count that have a cell which a person of b may match: a rule that compares
the block column admits the blocks that the comparison admits, and any other rule admits every declared block. A person
of b changes no count of another class, whatever else is in their record, so in b a batch costs its ε once for each such
class. The comparisons mean what they mean in the disjointness proof and in the count (`domain.admitted`).

Records are never read. Rules over derived columns restrict no block, even where these follow from the block column.
"""

import itertools
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from holder_service.domain.admitted import admitted_values
from holder_service.domain.ledger import loss_columns
from shared.contract.blocks import BlockDomain, BlockLoss
from shared.contract.rules import Cell
from shared.contract.schema import Column, Schema
from shared.privacy.amounts import Loss
from shared.privacy.charges import NO_CHARGE, AccountTerms, Charge
from shared.wire import limits
from shared.wire.problems import TooLarge

BlockRange = tuple[int, int]
"""The numbers of the first block and of the last one, both included."""


def block_losses(
    charges: Sequence[tuple[Charge, Sequence[Sequence[BlockRange]]]], terms: AccountTerms
) -> tuple[BlockLoss, ...]:
    """Add up the losses of classes of disjoint cells by block.

    Args:
        charges: For each batch, the loss of one of its classes, and for each class the blocks that its cells may match.
        terms: The terms of the population's account.

    Returns:
        Ascending ranges of blocks with the loss of each block. Blocks without a loss are left out, and neighbouring
        ranges of equal loss are joined.

    Raises:
        TooLarge: There are more ranges than a request may be charged for.
    """
    starts: defaultdict[int, list[int]] = defaultdict(list)
    ends: defaultdict[int, list[int]] = defaultdict(list)
    for batch, (_, of_classes) in enumerate(charges):
        for ranges in of_classes:
            for first, last in _united(ranges):
                starts[first].append(batch)
                ends[last + 1].append(batch)
    under_way = [0] * len(charges)
    losses: list[BlockLoss] = []
    known: dict[tuple[int, ...], Loss] = {}
    edges = sorted(starts.keys() | ends.keys())
    for edge, following in itertools.pairwise(edges):
        for batch in starts.get(edge, ()):
            under_way[batch] += 1
        for batch in ends.get(edge, ()):
            under_way[batch] -= 1
        classes = tuple(under_way)
        if classes not in known:
            known[classes] = _sum(zip((charge for charge, _ in charges), classes, strict=True), terms)
        loss = known[classes]
        if loss.is_nothing:
            continue
        if losses and losses[-1].last == edge - 1 and losses[-1].loss == loss:
            losses[-1] = BlockLoss(losses[-1].first, following - 1, loss)
        else:
            losses.append(BlockLoss(edge, following - 1, loss))
        if len(losses) > limits.BLOCK_RANGES_PER_REQUEST_MAX:
            raise TooLarge(what="separate ranges of blocks", limit=limits.BLOCK_RANGES_PER_REQUEST_MAX)
    return tuple(losses)


def blocks_of_classes(
    cells: Sequence[Cell], classes: Sequence[Sequence[int]], schema: Schema, domain: BlockDomain
) -> tuple[tuple[BlockRange, ...], ...]:
    """Return for each class of a batch the blocks whose people its cells may match.

    Args:
        cells: The batch's cells; they fit the schema.
        classes: The indices of each class's cells.
        schema: The declared columns.
        domain: The declared blocks.
    """
    of_cells = [tuple(blocks_of(cell, schema.by_name[domain.column], domain)) for cell in cells]
    return tuple(tuple(blocks for index in indices for blocks in of_cells[index]) for indices in classes)


def entered(losses: Iterable[BlockLoss], domain: BlockDomain) -> list[dict[str, Any]]:
    """Return the losses as the entry of a charge states them: numbers of blocks, their values, and losses."""
    return [
        {
            "first": part.first, "last": part.last, "from": domain.value(part.first), "to": domain.value(part.last),
            **{name: nano for name, nano in loss_columns(part.loss).items() if nano is not None},
        }
        for part in losses
    ]  # fmt: skip


def blocks_of(cell: Cell, column: Column, domain: BlockDomain) -> Iterator[BlockRange]:
    """Yield the blocks whose people a cell may match: those that one of its rules admits."""
    for rule in cell.any_of:
        compared = [predicate for predicate in rule.all_of if predicate.column == column.name]
        if compared:
            yield from admitted_values(column, compared)
        else:
            yield domain.first, domain.last


def _united(ranges: Sequence[BlockRange]) -> Iterator[BlockRange]:
    """Yield the same blocks as ascending ranges without a block in common."""
    under_way: BlockRange | None = None
    for first, last in sorted(ranges):
        if under_way is None:
            under_way = first, last
        elif first <= under_way[1] + 1:
            under_way = under_way[0], max(under_way[1], last)
        else:
            yield under_way
            under_way = first, last
    if under_way is not None:
        yield under_way


def _sum(charges: Iterable[tuple[Charge, int]], terms: AccountTerms) -> Loss:
    """Return the joint loss of a number of classes of each batch, as the account enters it."""
    return sum((charge * times for charge, times in charges if times), NO_CHARGE).entered(terms)
