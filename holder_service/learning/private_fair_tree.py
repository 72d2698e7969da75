"""The private and fair tree of information gain, by a definite reading (7-training §2).

Source: the paper's §4 is a plan, without formulas or figures: noise on entropies and on the leaves' counts; ε₁ over
the levels, ε₂ for the leaves; "if individual 1 is similar to individual 2, the values of both belong to the same
proportion", similar being l∞ ≤ τ after numbers were brought to [0, 1] and categories one-hot encoded.

**What was chosen where it is not definite**, and why (figures: docs/training-sources.md):

- *Noise on counts, not on entropies.* No sensitivity of an entropy is stated; it is of the order (log n)/n, which is
  private itself, and with few people it is as large as 1. Counts of a level's nodes by bin and label change by one for
  one person, and entropies of noisy counts are post-processing.
- *Similarity of bins, not of pairs of people.* One person may be similar to all others, so that a sum over similar
  pairs changes by n − 1. Bins are public, and so is which of them are similar: bins of one ordered column whose
  positions differ by τ at most. Of people who differ in a category, or of whom one has no value, the distance is 1:
  they are similar only for τ = 1. The proportion of labels on one side of a split is that of its own people and of all
  in bins similar to one of its own. So a split that parts people who are nearly the same gains little.
- *Splits in two*: below a cut and from it on; one category (a one-hot column) and the rest; missing and not.
- *Groups are not read.* The paper's fairness is that of individuals; sensitive columns are in no rule.

**Losses.** A level counts each feature's bins of its nodes by label: a class of disjoint cells for each feature, for
which the level's share of ε₁ is divided evenly (`LearningStep.noise`). The leaves by label are one class, at ε₂. All
steps add up to ε (sequential composition), under *add_remove* and *replace* alike: the mechanism's noise is for the
number of people who change.
"""

from collections.abc import Sequence

import numpy as np

from holder_service.domain.deadlines import WORD_RULES, PlanSize
from holder_service.learning.features import BinnedFeature, IntArray, binned, both_labels, numbered_cell
from holder_service.learning.measuring import LearningStep, Measuring
from holder_service.learning.nodes import GrowingNode
from holder_service.learning.quadratic import FloatArray
from shared.contract.schema import Schema
from shared.kinds.trainings import PrivateFairTree, TrainedLeaf, TrainedTree, Training
from shared.privacy.amounts import NANO_PER_UNIT
from shared.wire import limits
from shared.wire.problems import TooLarge

LEAVES = "leaves"


def steps(training: Training, schema: Schema) -> tuple[LearningStep, ...]:
    """A count of bins for each level, with equal shares of ε₁, and one of the leaves with ε₂.

    Raises:
        TooLarge: A level has too many cells.
    """
    algorithm = training.algorithm_as(PrivateFairTree)
    each_nano = training.epsilon * algorithm.splits // NANO_PER_UNIT // algorithm.depth
    features = binned(training, schema)
    bins = sum(len(feature.bins) for feature in features)
    levels = [
        LearningStep(
            _level(level), "counts", each_nano, classes=len(features),
            size=_size(features, nodes=2**level, bins=bins, splits=level, classes=len(features)),
        )
        for level in range(algorithm.depth)
    ]  # fmt: skip
    size = _size(features, nodes=2**algorithm.depth, bins=1, splits=algorithm.depth, classes=1)
    return (*levels, LearningStep(LEAVES, "counts", training.epsilon - each_nano * algorithm.depth, 1, size))


def learn(training: Training, schema: Schema, measuring: Measuring) -> tuple[TrainedTree, None]:
    """Grow the tree level by level, and let each leaf decide as most of its people are: by noisy counts throughout."""
    algorithm = training.algorithm_as(PrivateFairTree)
    features = binned(training, schema)
    near = [similar_bins(feature, algorithm.similarity) for feature in features]
    growing, grown = [GrowingNode.root(features)], []
    for level in range(algorithm.depth):
        # A node without candidates stays a leaf: which bins are left of each feature is public.
        grown += [node for node in growing if not node.candidates(features)]
        growing = [node for node in growing if node.candidates(features)]
        if growing:
            counted = _counted(measuring, _level(level), features, growing, training.label)
            best = [_best(node, features, near, of_node) for node, of_node in zip(growing, counted, strict=True)]
            growing = [
                side for node, chosen in zip(growing, best, strict=True) for side in node.split(features, chosen)
            ]
    leaves = grown + growing
    rules = [(*leaf.path, has_label) for leaf in leaves for has_label in both_labels(training.label)]
    noisy = measuring.counts(LEAVES, [numbered_cell(index, rule) for index, rule in enumerate(rules)]).reshape(-1, 2)
    return TrainedTree(
        leaves=tuple(
            TrainedLeaf(cell=numbered_cell(index, leaf.path), favourable=having > without)
            for index, (leaf, (having, without)) in enumerate(zip(leaves, noisy.tolist(), strict=True))
        )
    ), None


def similar_bins(feature: BinnedFeature, similarity: int) -> IntArray:
    """Return which bins are similar, shape (bins, bins), 1 or 0; `similarity` is τ in nano-units."""
    whole = max(feature.known - 1, 1)  # the distance 1 in steps between bins: so whole numbers are compared

    def distance(first: int, second: int) -> int:
        if feature.column.ordered and max(first, second) < feature.known:
            return abs(first - second)
        return whole * (first != second)

    bins = range(len(feature.bins))
    similar = [[distance(first, second) * NANO_PER_UNIT <= similarity * whole for second in bins] for first in bins]
    return np.array(similar, dtype=np.int64)


def fair_gain(counts: FloatArray, left: IntArray, right: IntArray, near: IntArray) -> float:
    """A split's information gain in bits, the proportion of labels on a side being that of all who are similar to it.

    Args:
        counts: A node's people by bin and label, shape (bins, 2); not negative.
        left: 1 where a bin of the node goes left, shape (bins,).
        right: The same of its other bins.
        near: Which bins are similar, shape (bins, bins).
    """
    total = counts.sum()
    if not total > 0:
        return 0.0
    gain = _entropy(counts.sum(axis=0))
    for side in (left, right):
        gain -= float((side @ counts).sum() / total) * _entropy((near @ side > 0) @ counts)
    return gain


def _counted(
    measuring: Measuring, name: str, features: Sequence[BinnedFeature], nodes: Sequence[GrowingNode], label: str
) -> list[list[FloatArray]]:
    """Of each node and feature noisy counts by bin and label, shape (bins, 2); 0 where the noise left less."""
    counted = [[np.zeros((len(each.bins), 2)) for each in features] for _ in nodes]
    rows = [
        (of_node[index], bin_index, (*node.path, *feature.bins[bin_index]))
        for index, feature in enumerate(features)
        for node, of_node in zip(nodes, counted, strict=True)
        for bin_index in sorted(node.left[index])
    ]
    rules = [(*rule, has_label) for _, _, rule in rows for has_label in both_labels(label)]
    noisy = measuring.counts(name, [numbered_cell(index, rule) for index, rule in enumerate(rules)]).reshape(-1, 2)
    for (of_feature, bin_index, _), counts in zip(rows, noisy, strict=True):
        of_feature[bin_index] = np.maximum(counts, 0)
    return counted


def _best(
    node: GrowingNode, features: Sequence[BinnedFeature], near: Sequence[IntArray], counts: Sequence[FloatArray]
) -> tuple[int, int]:
    """The candidate of the largest gain, the first of those that are equal."""

    def gain(candidate: tuple[int, int]) -> float:
        index, number = candidate
        bins = np.zeros(len(features[index].bins), dtype=np.int64)
        bins[list(node.left[index])] = 1
        left = bins * sides[index][number]
        return fair_gain(counts[index], left, bins - left, near[index])

    sides = [feature.sides for feature in features]
    return max(node.candidates(features), key=gain)


def _entropy(people: FloatArray) -> float:
    """In bits, of a proportion of labels."""
    parts = people[people > 0] / people.sum()
    return float(-(parts * np.log2(parts)).sum())


def _level(level: int) -> str:
    return f"bins of level {level + 1}"


def _size(features: Sequence[BinnedFeature], *, nodes: int, bins: int, splits: int, classes: int) -> PlanSize:
    """As many cells as are counted at most; a cell's rule has its node's splits, its bin and the label."""
    cells = nodes * bins * 2
    if cells > limits.CELLS_PER_STEP_MAX:
        raise TooLarge(
            what=f"cells on level {splits + 1} (nodes times bins times both labels)", limit=limits.CELLS_PER_STEP_MAX,
            path="features", asked="training", remedy="name fewer features or cuts, or a smaller depth",
        )  # fmt: skip
    columns = len(features) + 1
    words = cells // WORD_RULES + classes
    return PlanSize(
        rules=cells, predicates=cells * (splits + 3), values=0,
        cuts=columns + 2 * sum(len(feature.bins) for feature in features), columns=columns, counts={"laplace": cells},
        gaussians=0, classes=classes, words=words, word_columns=words * columns, starts=1,
    )  # fmt: skip
