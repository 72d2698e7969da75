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
        return tuple(_document(ensemble, score, raw, index) for score in range(len(ensemble.base)))
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


def _document(ensemble: Ensemble, score: int, raw: RawTests, index: dict[NumberTest, int]) -> Trees:
    predicates: dict[Predicate, int] = {}
    trees = [
        _score_tree(tree, tree.values[:, tree.scores.index(score)], raw, index, predicates)
        for tree in ensemble.trees
        if score in tree.scores
    ]
    return Trees(
        kind="trees", precision=ensemble.precision, base=float(ensemble.base[score]), tests=tuple(predicates),
        trees=tuple(trees), mean=ensemble.mean,
    )  # fmt: skip


def _score_tree(
    tree: FittedTree,
    values: NDArray[np.float64],
    raw: RawTests,
    index: dict[NumberTest, int],
    predicates: dict[Predicate, int],
) -> ScoreTree:
    """One tree as a table; a test that is several steps becomes as many nodes, which share what follows."""
    leaves: dict[float, int] = {}
    first, order, nodes = {}, [], 0
    waiting = [_resolved(tree, 0, raw, index)]
    while waiting:
        node = waiting.pop()
        if node in first:
            continue
        test = tree.tests[node]
        if test is None:
            first[node] = ~leaves.setdefault(float(values[node]), len(leaves))
            continue
        first[node] = nodes
        order.append(node)
        nodes += len(raw.steps[index[test]] or ())
        waiting += [_resolved(tree, child, raw, index) for child in (tree.right[node], tree.left[node])]
    tests, yes, no = [], [], []
    for node in order:
        ways = {
            side: first[_resolved(tree, child, raw, index)]
            for side, child in ((LEFT, tree.left[node]), (RIGHT, tree.right[node]))
        }
        test = tree.tests[node]
        for step in (raw.steps[index[test]] if test is not None else None) or ():
            tests.append(predicates.setdefault(step.predicate, len(predicates)))
            yes.append(ways[step.yes] if step.yes < 0 else first[node] + step.yes)
            no.append(ways[step.no] if step.no < 0 else first[node] + step.no)
    return ScoreTree(tests=tuple(tests), yes=tuple(yes), no=tuple(no), values=tuple(leaves))


def _resolved(tree: FittedTree, node: int, raw: RawTests, index: dict[NumberTest, int]) -> int:
    """The node itself, or what follows it if everybody goes the same way there."""
    while (test := tree.tests[node]) is not None and raw.steps[index[test]] is None:
        node = tree.left[node] if raw.always[index[test]] else tree.right[node]
    return node
