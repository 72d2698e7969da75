"""A tree whose splits are chosen privately, and whose leaves are counted by label and group (7-training §2).

The tree is complete and its depth public. On each level one candidate is chosen of each node, by noisy scores; at the
end the leaves are counted by label and group, so that whoever gets the counts can let the leaves decide fairly.

**Score of a split**: how many of the node's people are decided rightly if each of both children decides as most of its
people are, max(p, n) of the left one and of the right one, where p have the label and n have not. It is a whole number.
A person more is in one node, on one side of each candidate, and adds 1 to p or to n there: the maximum grows by 1 or
stays, whatever the candidate. So one person raises all scores of one node by 0 or 1 and no others, which is what
`ChoiceMechanism` asks for. A tie between p and n is worth the same either way and is not broken. The nodes of a level
are disjoint, so a level costs its ε once.

The bins of a feature (`learning.features`) are disjoint and together everybody in the node.
"""

from collections.abc import Iterator, Sequence
from functools import partial

from holder_service.domain.deadlines import WORD_RULES, PlanSize
from holder_service.learning.features import BinnedFeature, Path, binned, both_labels, numbered_cell
from holder_service.learning.measuring import IntArray, LearningStep, Measuring
from shared import limits
from shared.amounts import NANO_PER_UNIT
from shared.problems import TooLarge
from shared.rules import Cell
from shared.schema import Schema
from shared.trainings import FairTree, LeafHistogram, TrainedCounts, TrainedLeaf, TrainedTree, Training

LEAVES = "leaves"


def steps(training: Training, schema: Schema) -> tuple[LearningStep, ...]:
    """A choice for each level, with equal shares of the part of ε for splits, and the leaves' counts with the rest.

    Raises:
        TooLarge: A level or the leaves have too many cells.
    """
    algorithm = training.algorithm_as(FairTree)
    depth = algorithm.depth
    each_nano = training.epsilon * algorithm.splits // NANO_PER_UNIT // depth
    levels = tuple(
        LearningStep(_level(level), "choices", each_nano, classes=1, size=_level_size(training, schema, level))
        for level in range(depth)
    )
    leaves = LearningStep(
        LEAVES, "counts", training.epsilon - each_nano * depth, classes=1, size=_leaves_size(training, schema)
    )
    return (*levels, leaves)


def learn(training: Training, schema: Schema, measuring: Measuring) -> tuple[TrainedTree, TrainedCounts]:
    """Grow the tree level by level, and count its leaves."""
    features = binned(training, schema)
    splits = [split for feature in features for split in feature.splits]
    paths: list[Path] = [()]
    for level in range(training.algorithm_as(FairTree).depth):
        chosen = measuring.choices(
            _level(level), [numbered_cell(index, path) for index, path in enumerate(paths)],
            list(_level_cells(features, paths, training.label)),
            partial(_scores, features, nodes=len(paths)),
        )  # fmt: skip
        paths = [
            (*path, side)
            for path, split in zip(paths, chosen, strict=True)
            for side in (splits[split].left, splits[split].right)
        ]
    labelled = [(*path, has_label) for path in paths for has_label in both_labels(training.label)]
    cells = [numbered_cell(index, path) for index, path in enumerate(labelled)]
    counts = measuring.counts(LEAVES, cells, training.sensitive).reshape(len(paths), 2, -1)
    return _tree(paths, counts), TrainedCounts(
        groups=schema.groups(training.sensitive),
        noise=measuring.noise(LEAVES),
        leaves=tuple(
            LeafHistogram(id=str(index), positive=tuple(positive), negative=tuple(negative))
            for index, (positive, negative) in enumerate(counts.tolist())
        ),
    )


def _level_cells(features: Sequence[BinnedFeature], paths: Sequence[Path], label: str) -> Iterator[Cell]:
    """What a level counts: for each feature the nodes, of each the bins, of each those with the label and without."""
    rules = (
        (*path, *people, has_label)
        for feature in features
        for path in paths
        for people in feature.bins
        for has_label in both_labels(label)
    )
    return (numbered_cell(index, rule) for index, rule in enumerate(rules))


def _scores(features: Sequence[BinnedFeature], counts: IntArray, *, nodes: int) -> list[list[int]]:
    """The score of each split, of each node, from true counts in the order of `_level_cells`."""
    scores: list[list[int]] = [[] for _ in range(nodes)]
    start = 0
    for feature in features:
        end = start + nodes * len(feature.bins) * 2
        of_bins = counts[start:end].reshape(nodes, len(feature.bins), 2)
        left = feature.sides @ of_bins  # (nodes, splits, 2)
        right = of_bins.sum(axis=1, keepdims=True) - left
        rightly = left.max(axis=2) + right.max(axis=2)
        scores = [before + more for before, more in zip(scores, rightly.tolist(), strict=True)]
        start = end
    return scores


def _tree(paths: Sequence[Path], counts: IntArray) -> TrainedTree:
    """The leaves, each deciding as most of its people are, as counted; counts of shape (leaves, 2, groups)."""
    favourable = counts[:, 0].sum(axis=1) > counts[:, 1].sum(axis=1)
    return TrainedTree(
        leaves=tuple(
            TrainedLeaf(cell=numbered_cell(index, path), favourable=bool(favourable[index]))
            for index, path in enumerate(paths)
        )
    )


def _level(level: int) -> str:
    return f"splits of level {level + 1}"


def _level_size(training: Training, schema: Schema, level: int) -> PlanSize:
    """As many cells as the level counts at most; a cell's rule has its node's splits, its bin and the label."""
    nodes = 2**level
    cells = nodes * sum(one.bins(schema.by_name[one.column]) for one in training.features) * 2
    if cells > limits.CELLS_PER_STEP_MAX:
        raise TooLarge(
            what=f"cells on level {level + 1} (nodes times bins times both labels)", limit=limits.CELLS_PER_STEP_MAX,
            path="features", asked="training", remedy="name fewer features or cuts, or a smaller depth",
        )  # fmt: skip
    features = len(training.features)
    return PlanSize(
        rules=cells + nodes, predicates=cells * (level + 3) + nodes * level, values=0, cuts=_cuts(training),
        columns=features + 1, counts={"choice": cells + 8 * nodes}, gaussians=0, classes=features,
        words=cells // WORD_RULES + features, word_columns=(cells // WORD_RULES + features) * (features + 1), starts=1,
    )  # fmt: skip


def _leaves_size(training: Training, schema: Schema) -> PlanSize:
    """As many counts as the leaves have by label and group."""
    depth = training.algorithm_as(FairTree).depth
    cells = 2 ** (depth + 1)
    counts = cells * schema.group_count(training.sensitive)
    if counts > limits.COUNTS_PER_PLAN_MAX:
        raise TooLarge(
            what="counts (leaves times both labels times groups)", limit=limits.COUNTS_PER_PLAN_MAX, path="sensitive",
            asked="training", remedy="name fewer sensitive columns, or a smaller depth",
        )  # fmt: skip
    bands = [schema.by_name[name] for name in training.sensitive]
    band_cuts = [len(column.bands_from) + 1 for column in bands if column.bands_from is not None]
    columns = len(training.features) + 1
    return PlanSize(
        rules=cells, predicates=cells * (depth + 1), values=0,
        cuts=_cuts(training) + sum(band_cuts), columns=columns + len(band_cuts), counts={"laplace": counts},
        gaussians=0, classes=1, words=-(-cells // WORD_RULES), word_columns=-(-cells // WORD_RULES) * columns, starts=1,
    )  # fmt: skip


def _cuts(training: Training) -> int:
    """How often columns are cut at most: numbers twice at each cut, and once more each, as the label is."""
    return 1 + sum(2 * len(one.cuts or ()) + 1 for one in training.features)
