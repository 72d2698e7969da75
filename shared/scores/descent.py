"""Many records through many trees: every column is ranked once, and each node compares a rank with its own.

A test of an ordered column by a threshold is the question whether the value's rank among all thresholds of that column
is below a bound; a test of a column of listed values is an entry of a table of truth. Neither rounds anything. Other
tests (single numbers, lists of numbers) are asked of every record.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from shared.contract.rules import ORDERS, Predicate
from shared.scores.documents import ScoreTree, Trees

_Array = npt.NDArray[Any]

_BY_RANK, _LISTED, _ASKED = 0, 1, 2
_ABOVE_ALL: Final = np.int32(2**31 - 1)
_BELOW_ALL: Final = np.int32(-1)


@dataclass(frozen=True, slots=True)
class _TestArrays:
    """A document's tests as arrays, shape (tests,) each.

    Attributes:
        kind: By a rank, by a table of truth, or asked as a predicate.
        row: Of the ranks, of the indices of listed values, or of the answers: which one decides.
        bound: By rank: matched is what is below; by a table: where the table begins.
        opposite: By rank: matched is what is not below.
    """

    kind: _Array
    row: _Array
    bound: _Array
    opposite: _Array


@dataclass(frozen=True, slots=True)
class _Nodes:
    """A tree whose nodes know their tests; a child below 0 is leaf ~child.

    Attributes:
        kind, row, bound: As `_TestArrays`, of each node.
        below, other: Where a record goes on that is below the bound or matched, and any other.
        values: Of each leaf, in the document's precision.
        by_rank: Whether all nodes are decided by ranks.
    """

    kind: _Array
    row: _Array
    bound: _Array
    below: _Array
    other: _Array
    values: _Array
    by_rank: bool


class Descent:
    """A document's trees, laid out for walking."""

    def __init__(self, document: Trees, ordered: Iterable[str], listed: Mapping[str, Sequence[Any]]) -> None:
        """Lay them out.

        Args:
            document: The trees.
            ordered: The names of the ordered columns.
            listed: Of each other column, the values that occur in it, by index; None for missing.
        """
        self.document = document
        self._thresholds: dict[str, _Array] = {}
        self._rows: dict[str, int] = {}
        self._truth: list[bool] = []
        self._asked: list[Predicate] = []
        self._listed = listed
        tests = self._laid_out(frozenset(ordered))
        self._true = np.array(self._truth or [False])
        kind = np.float32 if document.precision == "float32" else np.float64
        self._trees = [_nodes(tree, tests, kind) for tree in document.trees]

    def _laid_out(self, ordered: frozenset[str]) -> _TestArrays:
        tests = self.document.tests
        by_column: dict[str, list[int]] = {}
        count = len(tests)
        kind, row, bound = np.full(count, _ASKED), np.zeros(count, np.intp), np.zeros(count, np.int64)
        opposite = np.zeros(count, bool)
        for index, test in enumerate(tests):
            if test.column in ordered and test.op in ORDERS:
                by_column.setdefault(test.column, []).append(index)
            elif test.column in self._listed:
                kind[index], bound[index] = _LISTED, len(self._truth)
                row[index] = self._rows.setdefault(test.column, len(self._rows))
                self._truth += [test.matches(value) for value in self._listed[test.column]]
            else:
                row[index] = len(self._asked)
                self._asked.append(test)
        for number, (name, indices) in enumerate(by_column.items()):
            own = [tests[index] for index in indices]
            values, inverse = np.unique(np.array([test.value for test in own], np.float64), return_inverse=True)
            self._thresholds[name] = values
            is_above = np.array([test.op in ("gt", "ge") for test in own])
            with_equal = np.array([test.op in ("le", "gt") for test in own])
            low = np.array([test.or_missing for test in own]) != is_above
            kind[indices], opposite[indices] = _BY_RANK, is_above
            row[indices] = 2 * number + ~low
            bound[indices] = 2 * inverse + 1 + with_equal
        return _TestArrays(kind, row, bound, opposite)

    def sums(
        self,
        records: int,
        ordered: Mapping[str, _Array],
        listed: Mapping[str, tuple[Sequence[Any], _Array]],
        matching: Callable[[Predicate], _Array],
    ) -> _Array:
        """The base and the leaf of every tree, added in order in the document's precision, shape (records,).

        Args:
            records: How many there are.
            ordered: Each ordered column's numbers.
            listed: Of each other column the values that it was laid out with, and each record's index among them.
            matching: Whom a predicate matches.
        """
        ranks = np.empty((2 * len(self._thresholds), records), np.int32)
        for number, (name, thresholds) in enumerate(self._thresholds.items()):
            ranks[2 * number] = _ranks(thresholds, ordered[name])
            missing = np.isnan(ordered[name])
            ranks[2 * number + 1] = np.where(missing, _ABOVE_ALL, ranks[2 * number])
            ranks[2 * number][missing] = _BELOW_ALL
        indices = np.array([listed[name][1] for name in self._rows], np.intp).reshape(len(self._rows), records)
        answers = np.array([matching(test) for test in self._asked], bool).reshape(len(self._asked), records)
        kind = np.float32 if self.document.precision == "float32" else np.float64
        total: _Array = np.full(records, kind(self.document.base))
        for tree in self._trees:
            total += tree.values.take(self._leaves(tree, ranks, indices, answers))
        return total

    def _leaves(self, tree: _Nodes, ranks: _Array, indices: _Array, answers: _Array) -> _Array:
        """The leaf that each record ends in."""
        records = ranks.shape[1]
        leaf = np.zeros(records, np.intp)
        if not len(tree.row):
            return leaf
        active, node, flat = np.arange(records), np.zeros(records, np.intp), ranks.ravel()
        start = tree.row * records
        while len(active):
            if tree.by_rank:
                goes = flat.take(start.take(node) + active) < tree.bound.take(node)
            else:
                goes = self._goes(tree, node, active, (ranks, indices, answers))
            node = np.where(goes, tree.below.take(node), tree.other.take(node))
            inner = node >= 0
            if not inner.all():
                done = ~inner
                leaf[active[done]] = ~node[done]
                active, node = active[inner], node[inner]
        return leaf

    def _goes(self, tree: _Nodes, node: _Array, active: _Array, tables: tuple[_Array, _Array, _Array]) -> _Array:
        """Whether each record goes the first way, at nodes of several kinds."""
        goes = np.empty(len(node), bool)
        kind, (ranks, indices, answers) = tree.kind[node], tables
        by_rank, by_table, by_answer = (np.flatnonzero(kind == node_kind) for node_kind in (_BY_RANK, _LISTED, _ASKED))
        at = node[by_rank]
        goes[by_rank] = ranks[tree.row[at], active[by_rank]] < tree.bound[at]
        at = node[by_table]
        goes[by_table] = self._true[tree.bound[at] + indices[tree.row[at], active[by_table]]]
        goes[by_answer] = answers[tree.row[node[by_answer]], active[by_answer]]
        return goes


def _nodes(tree: ScoreTree, tests: _TestArrays, kind: Any) -> _Nodes:
    test = np.array(tree.tests, np.intp)
    yes, no = np.array(tree.yes, np.intp), np.array(tree.no, np.intp)
    opposite, kinds = tests.opposite[test], tests.kind[test]
    return _Nodes(
        kinds, tests.row[test], tests.bound[test], np.where(opposite, no, yes), np.where(opposite, yes, no),
        np.array(tree.values, kind), bool((kinds == _BY_RANK).all()),
    )  # fmt: skip


def _ranks(thresholds: _Array, numbers: _Array) -> _Array:
    """Twice how many thresholds are below each number, and one more where one is equal to it."""
    left = np.searchsorted(thresholds, numbers, side="left")
    return left + np.searchsorted(thresholds, numbers, side="right")
