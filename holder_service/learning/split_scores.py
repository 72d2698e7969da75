"""Scores of splits, said as tables of cells: what one person moves follows from how they are said (7-training §2).

Of each candidate a learner says which bins of a node go left, and for two sorts of people, A and B, the score is

    u = max(A_left, B_left) + max(A_right, B_right)

in people. The gate makes the cells, has them counted and works the scores out (`measuring.Measuring.choices`); the
learner gets no count.

**Sensitivity.** `ScoredSplits` refuses to exist unless the nodes exclude each other, a node's cells are within it, the
cells of each of its tables exclude each other, and a bin goes to one side. So a person is in the tables of one node, in
one cell of each at most, and there in one of the four numbers of each candidate, or in none. If the person comes, it
grows by 1, and a maximum grows with one of its numbers by 0 or by 1. So one person raises all scores of one node by 0
or 1, and lowers none: *monotone* in steps of at most 1, whatever the learner says.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np

from holder_service.domain.disjointness import disjoint_classes
from holder_service.learning.features import IntArray, Path, numbered_cell
from holder_service.learning.overspent import Overspent
from shared.contract.rules import Cell
from shared.contract.schema import Schema


class SplitTable(NamedTuple):
    """Some candidates over the same bins.

    Attributes:
        bins: Who is in each, beside the node's path.
        left: 1 where a bin goes left, 0 where it goes right, shape (candidates, bins).
    """

    bins: tuple[Path, ...]
    left: IntArray


class NodeSplits(NamedTuple):
    """The candidates of one node, table by table.

    Attributes:
        node: Who is in it.
        people: A and B.
        tables: One at least.
    """

    node: Path
    people: tuple[Path, Path]
    tables: tuple[SplitTable, ...]

    def rules(self, table: SplitTable) -> list[Path]:
        """Of each bin of a table: A in it, B in it."""
        return [(*self.node, *path, *who) for path in table.bins for who in self.people]

    def scores(self, counts: IntArray) -> list[int]:
        """Those of all candidates.

        Args:
            counts: How many people the rules of all tables match, one after the other.
        """
        scores: list[int] = []
        start = 0
        for table in self.tables:
            end = start + 2 * len(table.bins)
            of_bins = counts[start:end].reshape(-1, 2)
            left = table.left @ of_bins  # (candidates, 2)
            right = of_bins.sum(axis=0) - left
            scores += (left.max(axis=1) + right.max(axis=1)).tolist()
            start = end
        return scores


@dataclass(frozen=True, slots=True)
class ScoredSplits:
    """The candidates of nodes that exclude each other.

    Attributes:
        nodes: In any order.
        cells: All that is counted for their scores: node by node, table by table.
        classes: Of these cells, each of disjoint ones: the first table of every node, the second of every node, ...
    """

    nodes: tuple[NodeSplits, ...]
    cells: tuple[Cell, ...]
    classes: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, nodes: Sequence[NodeSplits], schema: Schema) -> Self:
        """Make their cells, and check all that the sensitivity rests on.

        Raises:
            Overspent: One person may move a score by more than 1, or those of more than one node.
        """
        if len(disjoint_classes([numbered_cell(index, node.node) for index, node in enumerate(nodes)], schema)) > 1:
            raise Overspent("Nodes have people in common.")
        rules: list[Path] = []
        classes: list[list[int]] = [[] for _ in range(max((len(node.tables) for node in nodes), default=0))]
        for node in nodes:
            for table, indices in zip(node.tables, classes, strict=False):
                if not np.isin(table.left, (0, 1)).all():
                    raise Overspent("A bin goes to one side of a split, once.")
                first = len(rules)
                rules += node.rules(table)
                indices.extend(range(first, len(rules)))
        cells = tuple(itertools.starmap(numbered_cell, enumerate(rules)))
        for indices in classes:
            if len(disjoint_classes([cells[index] for index in indices], schema)) > 1:
                raise Overspent("Bins of a table have people in common, or A and B do.")
        return cls(tuple(nodes), cells, tuple(map(tuple, classes)))

    def scores(self, counts: IntArray) -> list[list[int]]:
        """Of each node those of its candidates, from the true counts of all cells, shape (cells,)."""
        ends = np.cumsum([2 * sum(len(table.bins) for table in node.tables) for node in self.nodes])
        parts = np.split(counts, ends[:-1])
        return [node.scores(part) for node, part in zip(self.nodes, parts, strict=True)]
