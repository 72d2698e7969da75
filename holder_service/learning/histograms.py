"""What learners make of noisy counts by label and group: post-processing (7-training §2)."""

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from holder_service.learning.features import Path, both_labels, numbered_cell
from holder_service.learning.measuring import Measuring
from holder_service.records.scored_chunks import ScoredColumn
from shared.kinds.trainings import LeafHistogram, TrainedCounts, Training


def extreme_group(counts: npt.NDArray[np.int64] | npt.NDArray[np.float64], *, deviation: float, highest: bool) -> int:
    """The index of the group whose rate of the label is surely high, or surely low; the first of those that are equal.

    A group's rate is moved by two standard deviations of the noise towards the others, or noise would find its
    extremes where there are hardly any people.

    Args:
        counts: Noisy numbers with the label and without it, shape (2, groups).
        deviation: The standard deviation of the noise on each, in people.
        highest: Whether the highest rate is looked for; else the lowest.
    """
    positive, negative = np.maximum(counts, 0).astype(np.float64)
    people = np.maximum(positive + negative, max(deviation, 1.0))
    rates, margins = positive / people, 2 * deviation / people
    return int((rates - margins).argmax() if highest else (rates + margins).argmin())


def counted_leaves(
    measuring: Measuring, step: str, paths: Mapping[str, Path], training: Training, scored: Sequence[ScoredColumn] = ()
) -> tuple[TrainedCounts, list[bool]]:
    """Take the step that counts the leaves by label and group.

    Args:
        measuring: What counts.
        step: Its name.
        paths: Who comes to each leaf, by its id; disjoint.
        training: Of the label and the groups.
        scored: The scores that paths name.

    Returns:
        The counts; and of each leaf whether more of its people have the label than not, as counted.
    """
    rules = [(*path, has_label) for path in paths.values() for has_label in both_labels(training.label)]
    cells = [numbered_cell(index, rule) for index, rule in enumerate(rules)]
    counts = measuring.counts(step, cells, training.sensitive, scored).reshape(len(paths), 2, -1)
    leaves = (
        LeafHistogram(id=name, positive=tuple(positive), negative=tuple(negative))
        for name, (positive, negative) in zip(paths, counts.tolist(), strict=True)
    )
    histograms = TrainedCounts(
        groups=measuring.schema.groups(training.sensitive), noise=measuring.noise(step), leaves=tuple(leaves)
    )
    return histograms, (counts[:, 0].sum(axis=1) > counts[:, 1].sum(axis=1)).tolist()
