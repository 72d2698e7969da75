"""Ensembles of fitted trees as `trees` documents over the dataset's columns."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError

from auditor_client.errors import ModelRefused
from auditor_client.models.score_tests import LEFT, RIGHT, NumberTest, RawTests
from shared.contract.rules import Predicate
from shared.scores.documents import ScoreTree, Trees

if TYPE_CHECKING:
    from auditor_client.models.preprocessing import Preprocessing

_SMALLER: Final = "Train fewer or smaller trees (max_leaf_nodes, max_depth, n_estimators)."


@dataclass(frozen=True, slots=True)
class FittedTree:
    """A fitted tree of some maker; node 0 is the root.

    Attributes:
        tests: Of each inner node its test; None for a leaf.
        left: Of each inner node where a record goes on that goes left; children come behind their parent.
        right: Where any other goes on.
        values: What a record gets that ends in a node, shape (nodes, scores); zeros for inner nodes.
        scores: To which of the ensemble's scores the columns of `values` are added.
    """

    tests: Sequence[NumberTest | None]
    left: Sequence[int]
    right: Sequence[int]
    values: NDArray[np.float64]
    scores: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Ensemble:
    """Trees whose leaves are added in order.

    Attributes:
        trees: In the maker's order of summation.
        base: What the sums begin with, shape (scores,).
        mean: Whether the sums are divided by the number of trees.
        precision: In which the maker adds.
    """

    trees: Sequence[FittedTree]
    base: NDArray[np.float64]
    mean: bool = False
    precision: Literal["float32", "float64"] = "float64"


def documents(ensemble: Ensemble, preprocessing: "Preprocessing", matrix: Any) -> tuple[Trees, ...]:
    """The document of each of an ensemble's scores, exact in its precision.

    Args:
        ensemble: The trees.
        preprocessing: The steps before them.
        matrix: From a table of raw rows to the numbers that the trees compare.

    Raises:
        ModelRefused: The trees read what nothing may be asked about, or are more than a document may hold.
    """
    different = list(dict.fromkeys(test for tree in ensemble.trees for test in tree.tests if test is not None))
    raw = RawTests(preprocessing, different, matrix)
    index = {test: number for number, test in enumerate(different)}
    try:
        laid = [_laid_out(tree, raw, index) for tree in ensemble.trees]
        return tuple(_document(ensemble, score, raw, laid) for score in range(len(ensemble.base)))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        raise ModelRefused(f"The model is larger than a score document may be: {first['msg']} {_SMALLER}") from error


def joined(parts: Sequence[Trees], *, mean: bool) -> Trees:
    """The trees of several documents without a base, one after the other."""
    tests: dict[Predicate, int] = {}
    trees = []
    for part in parts:
        index = [tests.setdefault(test, len(tests)) for test in part.tests]
        trees += [tree.model_copy(update={"tests": tuple(index[test] for test in tree.tests)}) for tree in part.trees]
    return Trees(kind="trees", precision="float64", tests=tuple(tests), trees=tuple(trees), mean=mean)


@dataclass(frozen=True, slots=True)
class _LaidOut:
    """A tree as a table of nodes, whatever its leaves are worth; a test that is several steps is as many nodes.

    Attributes:
        tests: Of each node, the index of its predicate in `RawTests.predicates`.
        yes, no: A later node, or ~n for the tree's own leaf n; shape (nodes,).
        leaves: The tree's own leaves that are reached, in order.
    """

    tests: NDArray[np.intp]
    yes: NDArray[np.intp]
    no: NDArray[np.intp]
    leaves: list[int]


def _document(ensemble: Ensemble, score: int, raw: RawTests, laid: Sequence[_LaidOut]) -> Trees:
    chosen = [(tree, table) for tree, table in zip(ensemble.trees, laid, strict=True) if score in tree.scores]
    test_indices = np.concatenate([np.zeros(0, np.intp), *(table.tests for _, table in chosen)])
    different, first = np.unique(test_indices, return_index=True)
    different = different[np.argsort(first)]
    predicates, index = list(raw.predicates), np.zeros(len(raw.predicates), np.intp)
    index[different] = np.arange(len(different))
    trees = tuple(_score_tree(table, tree.values[:, tree.scores.index(score)], index) for tree, table in chosen)
    return Trees(
        kind="trees", precision=ensemble.precision, base=float(ensemble.base[score]), trees=trees, mean=ensemble.mean,
        tests=tuple(predicates[number] for number in different.tolist()),
    )  # fmt: skip


def _score_tree(table: _LaidOut, values: NDArray[np.float64], index: NDArray[np.intp]) -> ScoreTree:
    """One tree as a table, with leaves of one value once."""
    leaves: dict[float, int] = {}
    number = np.zeros(len(values), np.intp)
    number[table.leaves] = [leaves.setdefault(value, len(leaves)) for value in values[table.leaves].tolist()]
    yes, no = (np.where(side < 0, ~number[np.maximum(~side, 0)], side).tolist() for side in (table.yes, table.no))
    return ScoreTree(tests=tuple(index[table.tests].tolist()), yes=tuple(yes), no=tuple(no), values=tuple(leaves))


def _laid_out(tree: FittedTree, raw: RawTests, index: dict[NumberTest, int]) -> _LaidOut:
    numbers = [None if test is None else index[test] for test in tree.tests]
    steps = [() if number is None else raw.steps[number] or () for number in numbers]
    indices = [() if number is None else raw.indices[number] for number in numbers]
    behind = _behind(tree, raw, index)
    first: dict[int, int] = {}
    order, leaves, nodes = [], [], 0
    waiting = [behind[0]]
    while waiting:
        node = waiting.pop()
        if node in first:
            continue
        if tree.tests[node] is None:
            first[node] = ~node
            leaves.append(node)
            continue
        first[node] = nodes
        order.append(node)
        nodes += len(steps[node])
        waiting += (behind[tree.right[node]], behind[tree.left[node]])
    tests: list[int] = []
    yes, no = [], []
    for node in order:
        ways = {LEFT: first[behind[tree.left[node]]], RIGHT: first[behind[tree.right[node]]]}
        tests += indices[node]
        for step in steps[node]:
            yes.append(ways[step.yes] if step.yes < 0 else first[node] + step.yes)
            no.append(ways[step.no] if step.no < 0 else first[node] + step.no)
    return _LaidOut(np.array(tests, np.intp), np.array(yes, np.intp), np.array(no, np.intp), leaves)


def _behind(tree: FittedTree, raw: RawTests, index: dict[NumberTest, int]) -> list[int]:
    """Return for each node the node itself, or its first descendant where people go different ways, or a leaf."""
    behind = list(range(len(tree.tests)))
    onward = {
        node: tree.left[node] if raw.always[index[test]] else tree.right[node]
        for node, test in enumerate(tree.tests)
        if test is not None and raw.steps[index[test]] is None
    }
    for node in onward:
        while behind[node] in onward:
            behind[node] = onward[behind[node]]
    return behind
