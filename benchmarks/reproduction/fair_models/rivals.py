"""Models of others, and ours, as rows of figures: as they are, and brought to a parity ratio."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

import numpy as np

from benchmarks.judged_decisions import Judged
from benchmarks.reproduction.fair_models.parity import bands, by_lot, group_thresholds, parity_step
from benchmarks.trained_models import BoolArray, FloatArray, IntArray, Parts, People, fairly, leaf_counts
from shared.kinds.trainings import TrainedCounts, TrainedTree

Row = dict[str, Any]
AS_IT_IS: Final = "as it is"
PARITY_STEP: Final = "parity step"
BY_GROUP: Final = "by group"
STEPS: Final = (AS_IT_IS, PARITY_STEP, BY_GROUP)
RATIO: Final = 0.85
"""That parity steps decide for: above the .8 that is wanted of others, who differ by chance from those learned from."""
WANTED: Final = (0.4, 0.6, 0.8, RATIO, 0.95)
"""The ratios that ours are decided for: one training each, and no further charge."""


@dataclass(frozen=True, slots=True, eq=False)
class Rival:
    """A model that has a score.

    Attributes:
        name: Of its row.
        train, test: Scores of the people of both parts, shape (n,).
        at_least: From which score on it decides favourably.
        ranked: Whether scores order people; else the AUC is that of decisions.
    """

    name: str
    train: FloatArray
    test: FloatArray
    at_least: float
    ranked: bool = True

    @classmethod
    def of_tree(cls, name: str, model: TrainedTree, parts: Parts) -> "Rival":
        """A tree that says of its leaves no more than what they decide.

        For the steps afterwards leaves that decide alike are ordered by their true shares of the label.
        """
        leaves, labels = parts.train.leaves(model), parts.train.labels(parts.data.label)
        people = np.bincount(leaves, minlength=len(model.leaves))
        shares = np.bincount(leaves, weights=labels, minlength=len(model.leaves)) / np.maximum(people, 1)
        values = np.array([leaf.favourable for leaf in model.leaves]) + shares / 2
        return cls(name, values[leaves], values[parts.test.leaves(model)], 1.0, ranked=False)

    def rows(self, parts: Parts, sensitive: Sequence[str], steps: Sequence[str] = STEPS) -> Iterator[Row]:
        """Judged as it is and after each step."""
        label, train = parts.data.label, parts.train
        labels, groups = train.labels(label), train.groups(sensitive)
        for step in steps:
            if step == AS_IT_IS:
                decided = self.test >= self.at_least
            elif step == PARITY_STEP:
                of_train, of_test = bands(self.train, self.test)
                decided = parity_step(of_train, labels, groups, RATIO)[of_test]
            else:
                train_lots, test_lots = by_lot(self.train, self.test)
                thresholds = group_thresholds(train_lots, labels, groups, RATIO)
                decided = test_lots >= thresholds[parts.test.groups(sensitive)]
            scores = self.test if step == AS_IT_IS and self.ranked else None
            yield {"learner": self.name, "step": step, **row(parts.test, label, sensitive, decided, scores)}


def own_rows(
    name: str, model: TrainedTree, counts: TrainedCounts, parts: Parts, sensitive: Sequence[str]
) -> Iterator[Row]:
    """A model of ours as it learned, and decided for each ratio by its noisy counts alone.

    Where no decisions are found that are better than one for everybody, everybody is decided as most are by the counts.
    """
    leaves, leaf_of = leaf_counts(counts), parts.test.leaves(model)
    learned = [leaf.favourable for leaf in model.leaves]
    having, without = leaves.counts.sum(axis=(1, 3))  # (leaves,) each
    shares = np.clip(having, 0, None) / np.maximum(np.clip(having, 0, None) + np.clip(without, 0, None), 1)
    label = parts.data.label
    as_learned = row(parts.test, label, sensitive, np.array(learned)[leaf_of], shares[leaf_of])
    yield {"learner": name, "step": AS_IT_IS, **as_learned}
    alike = [bool(having.sum() > without.sum())] * len(learned)
    for ratio in WANTED:
        found = fairly(leaves, ratio) if len(learned) > 1 else None
        decided = np.array(alike if found is None else found, np.bool_)[leaf_of]
        figures = row(parts.test, label, sensitive, decided)
        yield {"learner": name, "step": PARITY_STEP, **figures, "wanted": ratio, "none": found is None}


def row(
    people: People, label: str, sensitive: Sequence[str], decided: BoolArray, scores: FloatArray | None = None
) -> Row:
    """The figures of some decisions about the people of the part for tests."""
    groups: IntArray = people.groups(sensitive)
    judged = Judged.of(decided, people.labels(label), groups, scores)
    return {"sensitive": "-".join(sensitive), **asdict(judged)}
