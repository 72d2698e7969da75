"""Two private scorecards, and the counts of the bands that they make: our own design, `fair_linear` (7-training §2).

f says how likely the label is, and h how likely the worst-off group; both are sums of points, one for the bin of each
feature. The parts of ε are public: by default .4 for the first step and .6 for the second.

1. *tables*: each of m features is counted by bin, label and group, with Laplace noise of m/(.4 ε) people: a class of
   disjoint cells for each feature. All that follows until step 2 is post-processing of these noisy numbers.
   - C, label × group, is the mean of all tables' totals. The *worst-off* group has the lowest rate of the label in C,
     as far as the noise lets it be known; all others together are *the others*.
   - **Points.** Of a bin with P and N people with and without the label, negative numbers being 0, of the base rate π
     and of noise of scale b ≥ 1, f gets the whole number nearest to

         u · (ln((P + 2bπ) / (N + 2b(1 − π))) − ln(π / (1 − π)))

     u points for each unit of the logarithm. The bin's log odds are shrunk to the base rate by as much as the noise is
     worth; if the features were independent given the label, f would order people by how likely the label is (naive
     Bayes). h gets the same for the worst-off group in place of the label. Points lie within ±8u.
   - **Bands** begin behind public quantiles of f and of h in the *public distribution* that takes the features as
     independent given the label and whether somebody is of the worst-off group. Each total is a whole number, so its
     distribution is a convolution of the noisy tables and is computed without drawing anybody.
2. *bands*: band of f × band of h × label × group is counted, with Laplace noise. Whoever gets these counts decides
   which bands are accepted (post-processing); by itself a cell decides as most of its people are.

**Sensitivity.** A person is in one bin of each feature, and in one cell of bands, so adds 1 to one count of each class.
With ε₁ divided evenly among the m classes of step 1, each class is a histogram of L1 sensitivity 1 at ε₁/m (parallel
composition within a class), and the m together cost ε₁ (sequential composition). Points and where bands begin are
functions of these noisy counts and of public facts, so for step 2 they are fixed: its cells are disjoint, it is one
histogram of sensitivity 1, and it costs ε − ε₁ (adaptive composition). If one person takes the place of another, two
come or go (`people_that_change`), and all noise is twice as large.

**Exactness.** Points are whole numbers whose sums stay far below 2⁵³, so sums of doubles are exact, and whoever
evaluates the documents finds the same bands. The model is a tree over the two scores, whose documents go with it. A
score whose bands are one, because all its points are equal, is left out.

Sources: naive Bayes from noisy counts: Vaidya, Shafiq, Basu, Hong (2013); thresholds by group without reading the
group, through a second score: our own.
"""

import math
from collections.abc import Sequence
from itertools import product
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from holder_service.domain.column_times import steps_of
from holder_service.learning.features import BinnedFeature, IntArray, Path, binned, both_labels, numbered_cell
from holder_service.learning.histograms import counted_leaves, extreme_group
from holder_service.learning.measuring import LearningStep, Measuring
from holder_service.learning.step_sizes import band_size, table_size
from holder_service.records.scored_chunks import ScoredColumn
from shared.contract.rules import Cell, Predicate, Rule
from shared.contract.schema import Column, Schema
from shared.kinds.trained_scores import GROUP_SCORE, LABEL_SCORE, TRAINED_UNITS_MAX, whole_score
from shared.kinds.trainings import FairLinear, TrainedCounts, TrainedLeaf, TrainedTree, Training
from shared.privacy.amounts import NANO_PER_UNIT
from shared.scores.documents import Document, TableTerm, Terms
from shared.wire import limits
from shared.wire.problems import InvalidPlan

TABLES: Final = "tables"
BANDS: Final = "bands"

FloatArray = npt.NDArray[np.float64]


def steps(training: Training, schema: Schema) -> tuple[LearningStep, ...]:
    """The tables of all features, and the bands with the rest.

    Raises:
        TooLarge: There are too many counts.
        InvalidPlan: A bin begins at a number that no score document can hold.
    """
    algorithm = training.algorithm_as(FairLinear)
    for index, feature in enumerate(training.features):
        if any(abs(cut) >= limits.SCORE_NUMBER_MAX for cut in feature.cuts or ()):
            raise InvalidPlan(
                f"Column {feature.column!r}: a score's bins begin within ±{limits.SCORE_NUMBER_MAX:g}.",
                f"features[{index}]",
            )
    tables_nano = training.epsilon * algorithm.tables // NANO_PER_UNIT
    features = binned(training, schema)
    points = [np.zeros(len(each.bins), dtype=np.int64) for each in features]
    steps_of_scores = 2 * steps_of(_document(training, features, points))
    cells = (len(algorithm.label_quantiles) + 1) * (len(algorithm.group_quantiles) + 1)
    reach = 2 * TRAINED_UNITS_MAX * algorithm.points * len(features) + 1
    added = 8 * sum(len(each.bins) for each in features) * reach  # four cells of each of two scores
    of_tables = table_size(training, schema, added=added)
    of_bands = band_size(training, schema, cells=cells, score_steps=steps_of_scores)
    return (
        LearningStep(TABLES, "counts", tables_nano, len(features), of_tables),
        LearningStep(BANDS, "counts", training.epsilon - tables_nano, 1, of_bands),
    )


def learn(training: Training, schema: Schema, measuring: Measuring) -> tuple[TrainedTree, TrainedCounts]:
    """Count the tables, make the scores of them, and count their bands."""
    algorithm = training.algorithm_as(FairLinear)
    features = binned(training, schema)
    tables = _tables(training, features, measuring)
    noise = measuring.noise(TABLES).scale
    totals = np.mean([table.sum(axis=0) for table in tables], axis=0)  # (2, groups)
    bins = sum(len(table) for table in tables)
    deviation = noise * math.sqrt(2 * bins) / len(tables)
    worst_off = extreme_group(totals[::-1], deviation=deviation, highest=False)
    parted = [_parted(table, worst_off) for table in tables]
    whole = _parted(totals[np.newaxis], worst_off)[0]
    scores: list[_Score] = []
    for name, axis, quantiles in zip(
        _names(schema), (1, 2), (algorithm.label_quantiles, algorithm.group_quantiles), strict=True
    ):
        points = [bin_points(table.sum(axis=3 - axis), noise, algorithm.points) for table in parted]
        behind = band_ends(points, parted, whole, [quantile / NANO_PER_UNIT for quantile in quantiles])
        scores.append(_Score.of(name, _document(training, features, points), behind))
    paths = {
        f"{f}-{h}": (*of_label, *of_group)
        for (f, of_label), (h, of_group) in product(enumerate(scores[0].bands), enumerate(scores[1].bands))
    }
    usable = [score for score in scores if len(score.bands) > 1]
    scored = [ScoredColumn(score.column, score.document) for score in usable]
    counts, favourable = counted_leaves(measuring, BANDS, paths, training, scored)
    leaves = (
        TrainedLeaf(cell=Cell(id=name, any_of=(Rule(all_of=path),)), favourable=decided)
        for (name, path), decided in zip(paths.items(), favourable, strict=True)
    )
    documents: dict[str, Document] = {score.column.name: score.document for score in usable}
    return TrainedTree(leaves=tuple(leaves), scores=documents or None), counts


def bin_points(people: FloatArray, noise: float, points: int) -> IntArray:
    """The points of each bin.

    Args:
        people: Noisy numbers of those without and with what is scored, shape (bins, 2).
        noise: The scale of the noise on a count, in people.
        points: For a unit of the logarithm.
    """
    base = np.maximum(people.sum(axis=0), 1)
    rate, strength = base[1] / base.sum(), 2 * max(noise, 1.0)
    without, having = np.maximum(people, 0).T
    odds = np.log((having + strength * rate) / (without + strength * (1 - rate))) - math.log(rate / (1 - rate))
    points_max = TRAINED_UNITS_MAX * points
    points_of_bins: IntArray = np.clip(np.rint(points * odds), -points_max, points_max).astype(np.int64)
    return points_of_bins


def band_ends(
    points: Sequence[IntArray], tables: Sequence[FloatArray], whole: FloatArray, quantiles: Sequence[float]
) -> list[int]:
    """The largest totals of all bands but the last, ascending: quantiles of the total if features were independent.

    Args:
        points: Of each feature those of its bins.
        tables: Of each feature noisy counts, shape (bins, 2, 2): by label, and whether in the worst-off group.
        whole: The same of everybody, shape (2, 2).
        quantiles: Ascending.
    """
    lowest, highest = (sum(int(extreme(of_bins)) for of_bins in points) for extreme in (np.min, np.max))
    weights = np.maximum(whole, 1) / np.maximum(whole, 1).sum()
    total = np.zeros(highest - lowest + 1)
    for cell in product(range(2), range(2)):
        distribution = np.ones(1)
        for of_bins, table in zip(points, tables, strict=True):
            likely = np.maximum(table[:, *cell], 0) + 0.5
            at, which = np.unique(of_bins - of_bins.min(), return_inverse=True)
            mass = np.bincount(which, weights=likely / likely.sum())
            sums = np.zeros(len(distribution) + int(at[-1]))
            for shift, share in zip(at.tolist(), mass.tolist(), strict=True):
                sums[shift : shift + len(distribution)] += share * distribution
            distribution = sums
        total += weights[cell] * distribution
    ends = np.searchsorted(total.cumsum(), quantiles) + lowest
    return sorted({int(end) for end in ends if end < highest})


class _Score(NamedTuple):
    """A score and its bands.

    Attributes:
        column: Its values.
        document: What it is worth.
        bands: Of each band who is in it, ascending; if there is one alone, everybody without a comparison.
    """

    column: Column
    document: Terms
    bands: tuple[Path, ...]

    @classmethod
    def of(cls, name: str, document: Terms, ends: Sequence[int]) -> "_Score":
        below = [Predicate(column=name, op="lt", value=end + 1) for end in ends]
        above = [Predicate(column=name, op="ge", value=end + 1) for end in ends]
        bands: list[Path] = [()] if not ends else [
            (below[0],), *zip(above, below[1:], strict=False), (above[-1],)
        ]  # fmt: skip
        return cls(whole_score(name, document), document, tuple(bands))


def _tables(training: Training, features: Sequence[BinnedFeature], measuring: Measuring) -> list[FloatArray]:
    """Of each feature noisy counts by bin, label (without, with) and group, shape (bins, 2, groups)."""
    positive, negative = both_labels(training.label)
    rules = [(*path, label) for feature in features for path in feature.bins for label in (negative, positive)]
    cells = [numbered_cell(index, rule) for index, rule in enumerate(rules)]
    counts = measuring.counts(TABLES, cells, training.sensitive).reshape(len(rules) // 2, 2, -1)
    ends = np.cumsum([len(feature.bins) for feature in features])
    return [table.astype(np.float64) for table in np.split(counts, ends[:-1])]


def _parted(table: FloatArray, worst_off: int) -> FloatArray:
    """Counts by group as counts by whether that is the worst-off one, shape (bins, 2, 2): the others, then it."""
    of_worst = table[:, :, worst_off]
    return np.stack([table.sum(axis=2) - of_worst, of_worst], axis=2)


def _document(training: Training, features: Sequence[BinnedFeature], points: Sequence[IntArray]) -> Terms:
    """The score that adds the points of each feature's bin."""
    terms = (
        TableTerm(axes=(training_feature.axis(feature.column),), table=tuple(map(float, of_bins.tolist())))
        for training_feature, feature, of_bins in zip(training.features, features, points, strict=True)
    )
    return Terms(kind="terms", precision="float64", terms=tuple(terms))


def _names(schema: Schema) -> tuple[str, ...]:
    """Return what the scores are called, so that no column is."""
    taken = {*schema.by_name, schema.row_column}
    return tuple(
        next(free for free in (name, *(f"{name}_{number}" for number in range(2, len(taken) + 3))) if free not in taken)
        for name in (LABEL_SCORE, GROUP_SCORE)
    )
