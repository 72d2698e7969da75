"""The losses of an account by block, in a form whose charges take no longer however many blocks there are.

An account of a population with blocks keeps, for each block, what was spent about the people in it. A request adds a
loss to whole ranges of blocks, and is refused by the largest sum in these ranges. Both take a number of steps that
grows with the logarithm of the number of blocks: sums are kept in a *segment tree*.

A node stands for the blocks from `index · 2^level` up to the next multiple. Of each node are kept what was *added* to
all of its blocks at once, and the *highest* sum of one of its blocks, of what was added to the node and below it. What
a block lost is the sum of `added` over all nodes that contain it. Nodes that nothing was added to are absent. There is
no root: an account has a node of the highest level for every 2^14 blocks.

ε, δ and ρ are added up separately, so the highest ε and the highest δ may be those of two blocks. A loss fits if both
fit, which is the case exactly if it fits in every block.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from shared.contract.blocks import BlockDomain, BlockLoss, largest
from shared.privacy.amounts import Loss
from shared.privacy.charges import AccountTerms
from shared.wire import limits

LEVELS: Final = 14
"""The level of the highest nodes: any range of `limits.BLOCKS_MAX` blocks lies in two of them."""

Node = tuple[int, int]
"""Level and index."""
Amounts = tuple[int, int, int]
"""ε, δ and ρ, in units of 10⁻⁹; of a loss in ρ the first two are zero."""
NOTHING: Final[Amounts] = (0, 0, 0)


@dataclass(frozen=True, slots=True)
class NodeState:
    """The stored sums of a node."""

    added: Amounts = NOTHING
    highest: Amounts = NOTHING


EMPTY: Final = NodeState()


class BlockTree:
    """An account's sums by block: all of its nodes, or those that were read.

    Attributes:
        nodes: The nodes that are not empty.
        changed: The nodes that `add` changed.
    """

    def __init__(self, nodes: Mapping[Node, NodeState] | None = None) -> None:
        self.nodes: dict[Node, NodeState] = dict(nodes or {})
        self.changed: set[Node] = set()

    def add(self, first: int, last: int, amounts: Amounts) -> None:
        """Add a loss to every block of a range, both ends included."""
        for index in range(first >> LEVELS, (last >> LEVELS) + 1):
            self._add(LEVELS, index, first, last, amounts)

    def highest(self, first: int, last: int) -> Amounts:
        """Return the highest sums of a range's blocks."""
        tops = range(first >> LEVELS, (last >> LEVELS) + 1)
        return _highest(self._highest(LEVELS, index, first, last) for index in tops)

    @property
    def highest_of_all(self) -> Amounts:
        """The highest sums of any block."""
        return _highest(state.highest for (level, _), state in self.nodes.items() if level == LEVELS)

    def runs(self, first: int, last: int) -> Iterator[tuple[int, int, Amounts]]:
        """Yield ranges of blocks with equal sums, from the last block of a range down to its first, both included.

        Only as much of the tree is walked as is taken.
        """
        run: tuple[int, int, Amounts] | None = None
        for index in range(last >> LEVELS, (first >> LEVELS) - 1, -1):
            for start, end, sums in self._runs(LEVELS, index, NOTHING):
                low, high = max(start, first), min(end, last)
                if low > high:
                    continue
                if run is not None and run[2] == sums:
                    run = low, run[1], sums
                else:
                    if run is not None:
                        yield run
                    run = low, high, sums
        if run is not None:
            yield run

    def _add(self, level: int, index: int, first: int, last: int, amounts: Amounts) -> None:
        start, end = _span(level, index)
        state = self.nodes.get((level, index), EMPTY)
        if first <= start and end <= last:
            state = NodeState(_plus(state.added, amounts), _plus(state.highest, amounts))
        else:
            for child in _children(level, index):
                if _meets(child, first, last):
                    self._add(*child, first, last, amounts)
            below = (self.nodes.get(child, EMPTY).highest for child in _children(level, index))
            state = replace(state, highest=_plus(state.added, _highest(below)))
        self.nodes[level, index] = state
        self.changed.add((level, index))

    def _highest(self, level: int, index: int, first: int, last: int) -> Amounts:
        start, end = _span(level, index)
        state = self.nodes.get((level, index))
        if state is None:
            return NOTHING
        if first <= start and end <= last:
            return state.highest
        below = (self._highest(*child, first, last) for child in _children(level, index) if _meets(child, first, last))
        return _plus(state.added, _highest(below))

    def _runs(self, level: int, index: int, above: Amounts) -> Iterator[tuple[int, int, Amounts]]:
        state = self.nodes.get((level, index), EMPTY)
        sums = _plus(above, state.added)
        if state.added == state.highest:  # nothing was added to any part of it
            yield (*_span(level, index), sums)
            return
        for child in reversed(_children(level, index)):
            yield from self._runs(*child, sums)


def nodes_at(ranges: Iterable[tuple[int, int]]) -> set[Node]:
    """Return the nodes that reading and adding to ranges of blocks needs, empty ones included."""
    needed: set[Node] = set()
    for first, last in ranges:
        waiting = [(LEVELS, index) for index in range(first >> LEVELS, (last >> LEVELS) + 1)]
        while waiting:
            node = waiting.pop()
            needed.add(node)
            start, end = _span(*node)
            if first <= start and end <= last:
                continue
            children = _children(*node)
            needed.update(children)  # the other child too: the highest of both is kept above
            waiting += [child for child in children if _meets(child, first, last)]
    return needed


def tops_of(domain: BlockDomain) -> set[Node]:
    """Return the highest nodes that blocks of a population can be in, now or after it declares more."""
    ends = domain.first, domain.first + limits.BLOCKS_MAX - 1
    return {(LEVELS, index) for index in range(ends[0] >> LEVELS, (ends[1] >> LEVELS) + 1)}


def amounts_of(loss: Loss) -> Amounts:
    """Return a loss as amounts to add up. The δ of a loss in ρ says only how ρ is read, so it is left out."""
    return (loss.epsilon_nano, loss.delta_nano, 0) if loss.rho_nano is None else (0, 0, loss.rho_nano)


def loss_of(amounts: Amounts, terms: AccountTerms) -> Loss:
    """Return sums as a loss in an account's terms."""
    epsilon_nano, delta_nano, rho_nano = amounts
    return terms.of(rho_nano) if terms.kind == "zcdp" else Loss(epsilon_nano, delta_nano)


class ImplausibleBlocks(Exception):
    """An entry's blocks do not follow from the entries before it."""


class BlockSums:
    """Recomputes from the ledger's entries what each account lost by block.

    Attributes:
        trees: By population and auditor, the sums by block; the population's own, over all auditors, under "".
    """

    def __init__(self) -> None:
        self.trees: dict[tuple[str, str], BlockTree] = {}
        self._terms: dict[str, tuple[Any, ...]] = {}
        self._last: dict[str, int] = {}
        self._in_use: set[str] = set()

    def declare(self, population: str, dataset: str, detail: Mapping[str, Any]) -> None:
        """Take what the entry of a dataset declares.

        Raises:
            ImplausibleBlocks: The blocks of a population that has records or was charged changed, or became fewer.
        """
        blocks = detail.get("blocks")
        terms = () if blocks is None else (blocks["column"], blocks["per_person_max"], blocks["first"])
        if population in self._in_use:
            if self._terms.get(population, ()) != terms:
                raise ImplausibleBlocks("declares other blocks than the population's records and charges have")
            if blocks is not None and blocks["last"] < self._last.get(dataset, blocks["last"]):
                raise ImplausibleBlocks("declares fewer blocks than the population's records and charges have")
        self._terms[population] = terms
        if blocks is not None:
            self._last[dataset] = blocks["last"]

    def use(self, population: str) -> None:
        """Take that records were loaded or losses charged: from then on the blocks are fixed."""
        self._in_use.add(population)

    def require_none(self, *populations: str) -> None:
        """Refuse what cannot be done about populations with blocks.

        Raises:
            ImplausibleBlocks: One of them has blocks.
        """
        if any(map(self.has_blocks, populations)):
            raise ImplausibleBlocks("looks at or merges people whose losses are added up by block")

    def has_blocks(self, population: str) -> bool:
        """Return whether the population's losses are added up by block."""
        return bool(self._terms.get(population))

    def losses(
        self, population: str, dataset: str, loss: Loss, detail: Mapping[str, Any]
    ) -> tuple[BlockLoss, ...] | None:
        """Return what the entry of a charge was charged by block; `None` where the population has no blocks.

        Raises:
            ImplausibleBlocks: The entry does not say it, names a dataset or blocks that are not declared or one block
                twice, or states another loss than the largest of them.
        """
        charged = detail.get("blocks")
        if self.has_blocks(population) != (charged is not None):
            raise ImplausibleBlocks("does not state its charge by block, or states it for a population without blocks")
        if charged is None:
            return None
        if dataset not in self._last:
            raise ImplausibleBlocks("charges blocks of a dataset that is not declared")
        losses = tuple(
            BlockLoss(part["first"], part["last"], Loss(part["epsilon_nano"], part["delta_nano"], part.get("rho_nano")))
            for part in charged
        )
        *_, first = self._terms[population]
        ends = [first, *(end for part in losses for end in (part.first, part.last + 1)), self._last[dataset] + 1]
        if ends != sorted(ends) or any(part.first > part.last for part in losses):
            raise ImplausibleBlocks("charges blocks that are not declared, or one of them twice")
        if largest(losses, loss * 0) != loss:
            raise ImplausibleBlocks("charges a block more than it says")
        return losses

    def nodes(self) -> dict[tuple[str, str], dict[Node, NodeState]]:
        """Return the nodes of every tree, without trees that nothing was added to."""
        return {of: tree.nodes for of, tree in self.trees.items() if tree.nodes}

    def tree(self, population: str, auditor: str) -> BlockTree:
        """Return an account's sums by block."""
        return self.trees.setdefault((population, auditor), BlockTree())


def _span(level: int, index: int) -> tuple[int, int]:
    return index << level, ((index + 1) << level) - 1


def _children(level: int, index: int) -> tuple[Node, Node]:
    return (level - 1, 2 * index), (level - 1, 2 * index + 1)


def _meets(node: Node, first: int, last: int) -> bool:
    start, end = _span(*node)
    return start <= last and first <= end


def _plus(one: Amounts, other: Amounts) -> Amounts:
    return one[0] + other[0], one[1] + other[1], one[2] + other[2]


def _highest(some: Iterable[Amounts]) -> Amounts:
    highest = NOTHING
    for one in some:
        highest = max(highest[0], one[0]), max(highest[1], one[1]), max(highest[2], one[2])
    return highest
