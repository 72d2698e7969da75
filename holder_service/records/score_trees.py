"""Trees that are added, over encoded records (5-decisions §2, ADR 0022).

A test of a tree is which codes it admits: one run of consecutive codes for a comparison, several for a list. So it is
one subtraction and one comparison of small integers, for many records in one instruction. A tree that is not too large
for its depth is not walked at all: all of its tests are made for every record, and each node chooses between what its
two children found, from the last to the root. In that no record's value decides what is done, or what is looked up
before the leaf. Larger trees are walked, each as many steps as its longest path has, whoever has arrived before.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from holder_service.domain.admitted import Runs, admitted_sets
from holder_service.records.atoms import ColumnAtoms
from holder_service.records.encoded import Chunk, Records
from holder_service.records.score_loops import TestArrays, TreeArrays, add_trees
from shared.contract.rules import Rule
from shared.scores.documents import ScoreTree, Trees
from shared.scores.values import KINDS
from shared.wire import limits

STEP_NODES: Final = 64
"""A step of a walk takes about as long as so many nodes that choose."""
BLOCK_RECORDS: Final = 4096
"""So many records go through all trees at a time: what is found of them stays in a core's own cache."""
BLOCK_CODES_MAX: Final = 2**24
"""Codes and indices of leaves that are kept for one block: large documents have smaller blocks."""
BLOCK_RECORDS_MIN: Final = 32

_Array = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class _Tests:
    """Tests as runs of codes. A run is (column, its first code, how many codes).

    A test of one run is made where a node needs it; any other is a row of its own, 1 where it matches, made once for
    each block of records. Runs never hold a column's last atom: a test that admits it is turned round.

    Attributes:
        columns: The columns that are tested; each is a row of codes.
        turned: Whether a test is true where its runs do not match, shape (tests,).
        row: The row that each test looks at, shape (tests,): of a column, or behind the columns one of its own.
        run: The run of each test, shape (tests,); for a row of its own the last, "1".
        rows_begin: Where the runs of each row of its own begin, and behind the last, shape (rows + 1,).
        run_column: The column of each run, shape (runs,).
        run_ends: By column where each of its runs begins and ends, in atoms, shape (its runs, 2).
        runs_at: By column the indices of its runs.
    """

    columns: Sequence[ColumnAtoms]
    turned: Sequence[bool]
    row: _Array
    run: _Array
    rows_begin: _Array
    run_column: _Array
    run_ends: Sequence[_Array]
    runs_at: Sequence[_Array]

    @classmethod
    def compiled(cls, document: Trees, records: Records) -> "_Tests":
        tests = {number: Rule(all_of=(test,)) for number, test in enumerate(document.tests)}
        sets = list(admitted_sets(tests, records.schema, cuts_max=limits.SCORE_CUTS_PER_COLUMN_MAX))
        columns = [ColumnAtoms.compiled(partition, records) for partition, _ in sets]
        turned, row, run = ([0] * len(document.tests) for _ in range(3))
        runs: list[tuple[int, int, int]] = []
        listed: list[tuple[int, int, Runs]] = []
        for number, (partition, of_column) in enumerate(sets):
            for test, admitted in of_column.items():
                turned[test], inside = _without_last(admitted, partition.atoms)
                if len(inside) <= 1:
                    begin, end = inside[0] if inside else (0, 0)
                    row[test], run[test] = number, len(runs)
                    runs.append((number, begin, end))
                else:
                    listed.append((test, number, inside))
        rows_begin = [len(runs)]
        for own, (test, number, inside) in enumerate(listed):
            row[test] = len(columns) + own
            runs += [(number, begin, end) for begin, end in inside]
            rows_begin.append(len(runs))
        for test, _, _ in listed:
            run[test] = len(runs)
        column_of = np.array([number for number, _, _ in runs], dtype=np.int64)
        ends = np.array([run[1:] for run in runs], dtype=np.int64).reshape(-1, 2)
        at = [np.flatnonzero(column_of == number) for number in range(len(columns))]
        return cls(
            columns, list(map(bool, turned)), np.array(row, dtype=np.int64), np.array(run, dtype=np.int64),
            np.array(rows_begin, dtype=np.int64), column_of, [ends[indices] for indices in at], at,
        )  # fmt: skip

    @property
    def rows(self) -> int:
        """How many rows there are, of columns and of tests."""
        return len(self.columns) + len(self.rows_begin) - 1

    def codes(self, chunk: Chunk) -> _Array:
        """The codes of the columns, shape (columns, records)."""
        codes = np.empty((len(self.columns), chunk.records), dtype=np.uint16)
        for row, column in zip(codes, self.columns, strict=True):
            row[:] = chunk.codes[column.partition.column.name]
        return codes

    def of(self, chunk: Chunk) -> tuple[_Array, _Array]:
        """The first code and the number of codes of each run, and at last of "1", shape (runs + 1,)."""
        first, width = np.ones((2, len(self.run_column) + 1), dtype=np.uint16)
        for column, ends, at in zip(self.columns, self.run_ends, self.runs_at, strict=True):
            begin, end = ends.T
            if column.first_above is not None:
                code_at = np.concatenate(([0], column.first_above[chunk.index]))
                begin, end = code_at.take(begin), code_at.take(end)
            first[at], width[at] = begin, end - begin
        return first, width


def _without_last(admitted: Runs, atoms: int) -> tuple[bool, Runs]:
    """Whether a set of atoms holds the last one; and the set, or then all others, as runs."""
    if not admitted or admitted[-1][1] < atoms:
        return False, admitted
    ends = [0, *(end for run in admitted for end in run)]
    return True, tuple((begin, end) for begin, end in zip(ends[::2], ends[1::2], strict=False) if begin < end)


@dataclass(frozen=True, slots=True)
class TreeSum:
    """The base of a document and the leaves of all its trees, added in order.

    Attributes:
        tests: The tests of all trees.
        base: The first number of the sum.
        steps: Of each tree how many steps it is walked; 0 for a tree that chooses, shape (trees,).
        begins: Where each tree's rows in `nodes` begin, and behind the last, shape (trees + 1,).
        nodes: Row by row (test, yes, no, out). In a tree that chooses, yes and no are the slots of what the children
            found or ~l for leaf l, and out is the slot of what this node finds. In a walk, they are the rows that
            follow, counted from the tree's first; a leaf is followed by itself, and out is l.
        ends: Of each tree the slot of what it finds, or ~l; in a walk the first row, shape (trees,).
        slots: How many slots there are.
        values_begin: Where each tree's leaves begin in `values`, shape (trees,).
        values: Of all leaves, in the document's precision.
    """

    tests: _Tests
    base: float
    steps: _Array
    begins: _Array
    nodes: _Array
    ends: _Array
    slots: int
    values_begin: _Array
    values: _Array

    @classmethod
    def compiled(cls, document: Trees, records: Records) -> "TreeSum":
        """The tables of a document that fits the records' schema."""
        tests = _Tests.compiled(document, records)
        trees = [_chosen(tree, tests.turned) or _walked(tree, tests.turned) for tree in document.trees]
        begins = np.cumsum([0, *(len(tree.rows) for tree in trees)])
        rows = [row for tree in trees for row in tree.rows]
        sizes = [len(tree.values) for tree in document.trees]
        return cls(
            tests=tests,
            base=document.base,
            steps=np.array([tree.steps for tree in trees], dtype=np.int64),
            begins=begins,
            nodes=np.array(rows, dtype=np.int64).reshape(-1, 4),
            ends=np.array([tree.end for tree in trees], dtype=np.int64),
            slots=max(tree.slots for tree in trees),
            values_begin=np.cumsum([0, *sizes])[:-1],
            values=np.array([v for tree in document.trees for v in tree.values], dtype=KINDS[document.precision]),
        )

    def of(self, chunk: Chunk) -> _Array:
        """The sum for each record, shape (records,), in the document's precision."""
        total = np.full(chunk.records, self.values.dtype.type(self.base))
        tests = self.tests
        block = max(min(BLOCK_RECORDS, BLOCK_CODES_MAX // (tests.rows + self.slots + 1)), BLOCK_RECORDS_MIN)
        first, width = tests.of(chunk)
        of_tests = TestArrays(tests.row, tests.run, first, width, tests.rows_begin, tests.run_column)
        of_trees = TreeArrays(
            self.steps, self.begins, self.nodes, self.ends, self.slots, self.values_begin, self.values
        )
        add_trees()(total, tests.codes(chunk), of_tests, of_trees, block)
        return total


@dataclass(frozen=True, slots=True)
class _TreeRows:
    """One tree of `TreeSum`."""

    steps: int
    rows: Sequence[tuple[int, int, int, int]]
    end: int
    slots: int


def _chosen(tree: ScoreTree, turned: Sequence[bool]) -> _TreeRows | None:
    """A tree whose nodes choose, children first; `None` if to walk is quicker."""
    if not tree.tests:
        return _TreeRows(0, (), ~0, 0)
    order, uses = _children_first(tree)
    if len(order) > STEP_NODES * tree.depth or len(tree.values) > np.iinfo(np.uint16).max:
        return None
    rows, slot_of, free, slots = [], dict[int, int](), list[int](), 0
    for node in order:
        if free:
            out = free.pop()
        else:
            out, slots = slots, slots + 1
        yes, no = (child if child < 0 else slot_of[child] for child in _children(tree, node, turned))
        rows.append((tree.tests[node], yes, no, out))
        slot_of[node] = out
        for child in (tree.yes[node], tree.no[node]):
            if child >= 0:
                uses[child] -= 1
                if not uses[child]:
                    free.append(slot_of[child])
    return _TreeRows(0, rows, slot_of[0], slots)


def _children(tree: ScoreTree, node: int, turned: Sequence[bool]) -> tuple[int, int]:
    """Return where those go on whose code is in the test's runs, and all others."""
    yes, no = tree.yes[node], tree.no[node]
    return (no, yes) if turned[tree.tests[node]] else (yes, no)


def _children_first(tree: ScoreTree) -> tuple[list[int], list[int]]:
    """The nodes that can be reached, each behind its children; and of each how many parents it has.

    The child that needs more slots comes first, so that few are in use at a time.
    """
    needs = [0] * len(tree.tests)
    for node in reversed(range(len(needs))):
        more, less = sorted(needs[child] if child >= 0 else 0 for child in (tree.yes[node], tree.no[node]))[::-1]
        needs[node] = max(more, less + 1)
    uses, begun = [0] * len(needs), set[int]()
    order: list[int] = []
    waiting: list[tuple[int, bool]] = [(0, False)]
    while waiting:
        node, ready = waiting.pop()
        if ready:
            order.append(node)
        elif node not in begun:
            begun.add(node)
            waiting.append((node, True))
            for child in sorted((c for c in (tree.yes[node], tree.no[node]) if c >= 0), key=needs.__getitem__):
                uses[child] += 1
                waiting.append((child, False))
    return order, uses


def _walked(tree: ScoreTree, turned: Sequence[bool]) -> _TreeRows:
    """A tree that is walked: its nodes, and behind them its leaves."""
    nodes = len(tree.tests)
    rows = []
    for node, test in enumerate(tree.tests):
        yes, no = (child if child >= 0 else nodes + ~child for child in _children(tree, node, turned))
        rows.append((test, yes, no, 0))
    rows += [(0, nodes + leaf, nodes + leaf, leaf) for leaf in range(len(tree.values))]
    return _TreeRows(tree.depth, rows, 0, 0)
