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

**Sensitivity.** The gate works u out (`split_scores`), and checks all that the proof there needs: one person raises all
scores of one node by 0 or 1, lowers none, and touches no other node. So scores are *monotone* in steps of at most 1,
which is what `ChoiceMechanism` asks for. The nodes of a level are disjoint, so a level costs its ε once (parallel
composition: McSherry 2009); levels add up (sequential composition). If one person takes the place of another, two come
or go (`people_that_change`). b* is noisy and released before, so nothing else of the records is in a score.

**Candidates** part a node's people by the bins of one feature: below a cut, or one value, or missing, against all
others. They follow from the path alone: one that would send everybody to one side is none there, and of two that part
alike the first counts. A node without any stays as it is, so that a tree has 2^d leaves or fewer.

Sources: exponential mechanism over counts of a tree: Friedman, Schuster (2010); permute-and-flip: McKenna, Sheldon
(2020).
"""

from collections import defaultdict
from collections.abc import Sequence
from typing import Final

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
from holder_service.learning.measuring import LearningStep, Measuring
from holder_service.learning.nodes import GrowingNode
from holder_service.learning.split_scores import NodeSplits, SplitTable
from holder_service.learning.step_sizes import choice_size, count_size
from shared.contract.schema import Schema
from shared.kinds.trainings import FairTree, TrainedCounts, TrainedLeaf, TrainedTree, Training
from shared.privacy.amounts import NANO_PER_UNIT

GROUPS: Final = "groups"
LEAVES: Final = "leaves"


def steps(training: Training, schema: Schema) -> tuple[LearningStep, ...]:
    """The groups, a choice for each level with equal shares of the part of ε for splits, and the leaves with the rest.

    Raises:
        TooLarge: A level or the leaves have too many cells.
    """
    algorithm = training.algorithm_as(FairTree)
    groups_nano = training.epsilon * algorithm.groups_nano // NANO_PER_UNIT
    split_nano = training.epsilon * algorithm.splits // NANO_PER_UNIT // algorithm.depth
    leaves_nano = training.epsilon - groups_nano - split_nano * algorithm.depth
    levels = (
        LearningStep(_level(level), "choices", split_nano, 1, choice_size(training, schema, level=level))
        for level in range(algorithm.depth)
    )
    leaves_size = count_size(training, schema, cells=2**algorithm.depth, tests=algorithm.depth)
    return (
        LearningStep(GROUPS, "counts", groups_nano, 1, count_size(training, schema, cells=1, tests=0)),
        *levels,
        LearningStep(LEAVES, "counts", leaves_nano, 1, leaves_size),
    )


def learn(training: Training, schema: Schema, measuring: Measuring) -> tuple[TrainedTree, TrainedCounts]:
    """Find b*, grow the tree level by level, and count its leaves."""
    positive, negative = both_labels(training.label)
    by_label = [numbered_cell(index, (label,)) for index, label in enumerate((positive, negative))]
    rates = measuring.counts(GROUPS, by_label, training.sensitive)
    best_off = extreme_group(rates, deviation=2**0.5 * measuring.noise(GROUPS).scale, highest=True)
    group = group_rule(schema.groups(training.sensitive)[best_off], training.sensitive, schema)
    features = binned(training, schema)
    nodes = [GrowingNode.root(features)]
    for level in range(training.algorithm_as(FairTree).depth):
        candidates = [node.candidates(features) for node in nodes]
        looking = [
            splits_of(node, features, ((positive,), (negative, *group)))
            for node, splits in zip(nodes, candidates, strict=True)
            if splits
        ]
        if looking:
            chosen = iter(measuring.choices(_level(level), looking))
            below = [
                node.split(features, splits[next(chosen)]) if splits else (node,)
                for node, splits in zip(nodes, candidates, strict=True)
            ]
            nodes = [node for splits in below for node in splits]
    paths = {str(index): node.path for index, node in enumerate(nodes)}
    counts, favourable = counted_leaves(measuring, LEAVES, paths, training)
    leaves = (
        TrainedLeaf(cell=numbered_cell(index, node.path), favourable=decided)
        for index, (node, decided) in enumerate(zip(nodes, favourable, strict=True))
    )
    return TrainedTree(leaves=tuple(leaves)), counts


def splits_of(node: GrowingNode, features: Sequence[BinnedFeature], people: tuple[Path, Path]) -> NodeSplits:
    """A node's candidates in their order: a table for each feature that has some, of the bins that are left of it."""
    numbers = defaultdict(list)
    for index, number in node.candidates(features):
        numbers[index].append(number)
    tables = []
    for index, split_numbers in numbers.items():
        bins = sorted(node.left[index])
        of_bins = tuple(features[index].bins[bin_index] for bin_index in bins)
        tables.append(SplitTable(of_bins, features[index].sides[np.ix_(split_numbers, bins)]))
    return NodeSplits(node.path, people, tuple(tables))


def _level(level: int) -> str:
    return f"split {level + 1}"
