"""A private tree whose splits prepare its leaves to decide fairly: our own design, `fair_tree` (7-training §2).

A binary tree of public depth d. Three parts of ε, public and by default .05, .50 and .45:

1. *groups*: label × group is counted once, with Laplace noise. b* is the group with the highest rate of the label, as
   far as the noise lets it be known.
2. *split 1* to *split d*: on each level one candidate of each node is chosen by `ChoiceMechanism`.
3. *leaves*: leaf × label × group is counted, with Laplace noise. Whoever gets these counts lets the leaves decide
   fairly by them (post-processing); by itself a leaf decides as most of its people are.

**Score of a split.** Let A be the people with the label, and B those of group b* without it. At parity the others
without the label have to be accepted more often than their rate asks for, and people of b* less often, so that it
costs little who of the others is accepted: they weigh nothing. What a split is worth is how many are decided rightly if
each child decides as most of A and B in it are:

    u = max(A_left, B_left) + max(A_right, B_right)

**Sensitivity.** u is a whole number. A person is in one node of a level, on one side of each candidate, and in A, in B
or in neither. If the person comes, one of the four numbers of each candidate grows by 1, the same of A and B for all of
them, or none does; and a maximum grows with one of its numbers by 0 or by 1. So one person raises all scores of one
node by 0 or 1, lowers none, and touches no other node: scores are *monotone* in steps of at most 1, which is what
`ChoiceMechanism` asks for. The nodes of a level are disjoint, so a level costs its ε once (parallel composition:
McSherry 2009); levels add up (sequential composition). If one person takes the place of another, two come or go
(`people_that_change`). b* is noisy and released before, so nothing else of the records is in a score.

**Candidates** part a node's people by the bins of one feature: below a cut, or one value, or missing, against all
others. They follow from the path alone: one that would send everybody to one side is none there, and of two that part
alike the first counts. A node without any stays as it is, so that a tree has 2^d leaves or fewer.

Sources: exponential mechanism over counts of a tree: Friedman, Schuster (2010); permute-and-flip: McKenna, Sheldon
(2020).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, Self

import numpy as np

from holder_service.learning.features import (
    BinnedFeature,
    Path,
    binned,
    both_labels,
    group_rule,
    numbered_cell,
)
from holder_service.learning.histograms import counted_leaves, extreme_group
from holder_service.learning.measuring import IntArray, LearningStep, Measuring
from holder_service.learning.nodes import GrowingNode
from holder_service.learning.step_sizes import choice_size, count_size
from shared.amounts import NANO_PER_UNIT
from shared.schema import Schema
from shared.trainings import FairTree, TrainedCounts, TrainedLeaf, TrainedTree, Training

GROUPS: Final = "groups"
LEAVES: Final = "leaves"


def steps(training: Training, schema: Schema) -> tuple[LearningStep, ...]:
    """The groups, a choice for each level with equal shares of the part of ε for splits, and the leaves with the rest.

    Raises:
        TooLarge: A level or the leaves have too many cells.
    """
    asked = training.algorithm_as(FairTree)
    groups_nano = training.epsilon * asked.groups_nano // NANO_PER_UNIT
    split_nano = training.epsilon * asked.splits // NANO_PER_UNIT // asked.depth
    leaves_nano = training.epsilon - groups_nano - split_nano * asked.depth
    levels = (
        LearningStep(_level(level), "choices", split_nano, 1, choice_size(training, schema, level=level))
        for level in range(asked.depth)
    )
    leaves_size = count_size(training, schema, cells=2**asked.depth, tests=asked.depth)
    return (
        LearningStep(GROUPS, "counts", groups_nano, 1, count_size(training, schema, cells=1, tests=0)),
        *levels,
        LearningStep(LEAVES, "counts", leaves_nano, 1, leaves_size),
    )


def learn(training: Training, schema: Schema, measuring: Measuring) -> tuple[TrainedTree, TrainedCounts]:
    """Find b*, grow the tree level by level, and count its leaves."""
    positive, negative = both_labels(training.label)
    by_label = [numbered_cell(index, (one,)) for index, one in enumerate((positive, negative))]
    rates = measuring.counts(GROUPS, by_label, training.sensitive)
    best_off = extreme_group(rates, deviation=2**0.5 * measuring.noise(GROUPS).scale, highest=True)
    group = group_rule(schema.groups(training.sensitive)[best_off], training.sensitive, schema)
    features = binned(training, schema)
    nodes = [GrowingNode.root(features)]
    for level in range(training.algorithm_as(FairTree).depth):
        looks = [Look.at(node, features, ((positive,), (negative, *group))) for node in nodes]
        looking = [look for look in looks if look.candidates]
        rules = [rule for look in looking for rule in look.rules]
        if looking:
            chosen = measuring.choices(
                _level(level), [numbered_cell(index, look.node.path) for index, look in enumerate(looking)],
                [numbered_cell(index, rule) for index, rule in enumerate(rules)], partial(scores_of, looking),
            )  # fmt: skip
            split = iter(chosen)
            below = [
                look.node.split(features, look.candidates[next(split)]) if look.candidates else (look.node,)
                for look in looks
            ]
            nodes = [node for some in below for node in some]
    paths = {str(index): node.path for index, node in enumerate(nodes)}
    counts, favourable = counted_leaves(measuring, LEAVES, paths, training)
    leaves = (
        TrainedLeaf(cell=numbered_cell(index, node.path), favourable=decided)
        for index, (node, decided) in enumerate(zip(nodes, favourable, strict=True))
    )
    return TrainedTree(leaves=tuple(leaves)), counts


@dataclass(frozen=True, slots=True)
class Look:
    """What is counted in a node, and the candidates that are scored by it.

    Attributes:
        node: Where.
        candidates: Indices of features and of splits of them, feature by feature.
        sides: Of each feature with candidates, 1 where a bin that is left goes left, shape (candidates, bins).
        rules: Of each of these features, in order, and of each bin that is left: A in it, B in it.
    """

    node: GrowingNode
    candidates: tuple[tuple[int, int], ...]
    sides: tuple[IntArray, ...]
    rules: tuple[Path, ...]

    @classmethod
    def at(cls, node: GrowingNode, features: Sequence[BinnedFeature], people: tuple[Path, Path]) -> Self:
        """The look at a node, where A and B are these people."""
        candidates = node.candidates(features)
        sides: list[IntArray] = []
        rules: list[Path] = []
        for feature in dict.fromkeys(index for index, _ in candidates):
            bins = sorted(node.left[feature])
            numbers = [number for index, number in candidates if index == feature]
            sides.append(features[feature].sides[np.ix_(numbers, bins)])
            rules += [(*node.path, *features[feature].bins[one], *who) for one in bins for who in people]
        return cls(node, tuple(candidates), tuple(sides), tuple(rules))

    def scores(self, counts: IntArray) -> list[int]:
        """U of each candidate, from the true counts of the rules, shape (rules,)."""
        scores: list[int] = []
        start = 0
        for sides in self.sides:
            bins = sides.shape[1]
            of_bins = counts[start : start + 2 * bins].reshape(bins, 2)
            left = sides @ of_bins  # (candidates, 2)
            right = of_bins.sum(axis=0) - left
            scores += (left.max(axis=1) + right.max(axis=1)).tolist()
            start += 2 * bins
        return scores


def scores_of(looks: Sequence[Look], counts: IntArray) -> list[list[int]]:
    """Those of each node, from the true counts of all rules."""
    ends = np.cumsum([len(look.rules) for look in looks])
    return [look.scores(some) for look, some in zip(looks, np.split(counts, ends[:-1]), strict=True)]


def _level(level: int) -> str:
    return f"split {level + 1}"
