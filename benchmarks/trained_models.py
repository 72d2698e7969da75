"""Models that the holder's learners make of public data, and what they decide about any people (7-training §2).

Learners take their steps over the holder's own local engine, with noise of their own; what they would charge is not
entered anywhere, because no auditor is there. The people of the data are public, so that models can be judged.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from auditor_client.estimation.fair_choice import most_accurate
from auditor_client.estimation.leaf_choices import ChoiceBounds, LeafCounts
from auditor_client.estimation.measurements import NoisyCounts
from holder_service.learning.learners import LEARNERS
from holder_service.learning.measuring import Measuring
from holder_service.records.engines import EncodedVersion
from holder_service.records.local_engine import LocalEngine
from pafer_demo.open_data import OpenData
from shared.contract.relations import NeighbouringRelation
from shared.contract.rules import Predicate
from shared.contract.schema import Schema
from shared.kinds.trainings import TrainedCounts, TrainedScore, TrainedTree, Training, TrainingFeature
from shared.scores.arrays import score_column
from shared.scores.documents import Document
from testing.encoded_records import loaded_columns

BINS: Final = 16
"""Of one width over each declared range, as `auditor train` cuts where no cuts are named."""
FIVE: Final[Mapping[str, tuple[str, ...]]] = {
    "adult": ("relationship", "occupation", "age", "education-num", "capital-gain"),
    "compas": ("c_charge_degree", "score_text", "priors_count", "days_b_screening_arrest", "decile_score"),
    "german": ("checking_account", "duration", "credit_history", "savings", "employment_since"),
}
"""Of each public data set five columns, as one might choose beforehand."""

BoolArray = NDArray[np.bool_]
FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class People:
    """Some people, column by column.

    Attributes:
        schema: Of the columns.
        columns: Their values, shape (n,) each.
        different: Of each column its different values, and of each person the index of theirs among them.
    """

    schema: Schema
    columns: Mapping[str, NDArray[Any]]
    different: Mapping[str, tuple[list[Any], IntArray]]

    @classmethod
    def of(cls, table: pa.Table, schema: Schema) -> Self:
        """Look up the declared columns of a table once."""
        columns = {column.name: table[column.name].to_numpy() for column in schema.columns}
        found = {name: np.unique(values, return_inverse=True) for name, values in columns.items()}
        return cls(schema, columns, {name: (values.tolist(), index) for name, (values, index) in found.items()})

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    def labels(self, name: str) -> BoolArray:
        """Who has a label."""
        return self.columns[name].astype(np.bool_)

    def groups(self, sensitive: Sequence[str]) -> IntArray:
        """The index of each one's group among the schema's, shape (n,)."""
        groups = np.zeros(len(self), np.int64)
        for name in sensitive:
            admitted = self.schema.by_name[name].group_values
            values, index = self.different[name]
            groups = groups * len(admitted) + np.array([admitted.index(value) for value in values])[index]
        return groups

    def matches(self, path: Sequence[Predicate]) -> BoolArray:
        """Who meets every predicate; all people where there are none."""
        return _matching(path, self.different, len(self))

    def leaves(self, model: TrainedTree) -> IntArray:
        """The index of the leaf that each one comes to, shape (n,)."""
        scored = {name: self._of_score(document) for name, document in (model.scores or {}).items()}
        looked_up = {**self.different, **scored}
        found = np.full(len(self), -1, np.int64)
        for number, leaf in enumerate(model.leaves):
            for rule in leaf.cell.any_of:
                found[_matching(rule.all_of, looked_up, len(self))] = number
        if (found < 0).any():
            raise ValueError("Somebody comes to no leaf.")
        return found

    def scores(self, model: TrainedScore) -> FloatArray:
        """What each one's score is, shape (n,)."""
        return np.array(score_column(model.document, self.columns, self.schema), np.float64)

    def _of_score(self, document: Document) -> tuple[list[Any], IntArray]:
        points = np.array(score_column(document, self.columns, self.schema), np.int64)
        values, index = np.unique(points, return_inverse=True)
        return values.tolist(), index


@dataclass(frozen=True, slots=True, eq=False)
class Parts:
    """A public data set: an engine that has the part to train on, and both parts as people."""

    data: OpenData
    schema: Schema
    engine: LocalEngine
    version: EncodedVersion
    train: People
    test: People

    @classmethod
    def of(cls, data: OpenData, folder: Path) -> Self:
        """Encode the part to train on, in a folder that does not exist yet."""
        schema = Schema(person_key=data.declaration.person_key, columns=data.declaration.columns)
        columns = {column.name: data.train[column.name].combine_chunks() for column in schema.columns}
        engine, version = loaded_columns(folder, schema, columns)
        return cls(data, schema, engine, version, People.of(data.train, schema), People.of(data.test, schema))

    def features(self, names: Sequence[str]) -> tuple[TrainingFeature, ...]:
        """Columns with public bins."""
        return tuple(TrainingFeature(column=name, cuts=self._cuts(name)) for name in names)

    def _cuts(self, name: str) -> tuple[int, ...] | None:
        column = self.schema.by_name[name]
        if not column.ordered:
            return None
        width = (column.high - column.low + 1) / BINS
        return tuple(sorted({round(column.low + width * index) for index in range(1, BINS)} - {int(column.low)}))

    def training(
        self, algorithm: Mapping[str, Any], names: Sequence[str], epsilon: str, sensitive: Sequence[str]
    ) -> Training:
        """What is asked of the holder; it fits the declared columns."""
        training = Training.model_validate(
            {
                "algorithm": algorithm, "label": self.data.label, "sensitive": sensitive, "epsilon": epsilon,
                "features": [feature.model_dump(exclude_none=True) for feature in self.features(names)],
            }
        )  # fmt: skip
        training.check(self.schema)
        return training


def train(parts: Parts, training: Training) -> tuple[TrainedTree | TrainedScore, TrainedCounts | None]:
    """What the holder answers under relation `add_remove`: the model, and the counts of its leaves."""
    learner = LEARNERS[training.algorithm.name]
    steps = learner.steps(training, parts.schema)
    measuring = Measuring(parts.engine, parts.version, parts.schema, NeighbouringRelation("add_remove"), steps)
    return learner.learn(training, parts.schema, measuring)


def leaf_counts(counts: TrainedCounts) -> LeafCounts:
    """The counts of a release as the auditor's estimators take them."""
    table = [[one.positive for one in counts.leaves], [one.negative for one in counts.leaves]]
    return LeafCounts.of([[NoisyCounts.of([of_leaf], counts.noise) for of_leaf in of_value] for of_value in table])


def fairly(leaves: LeafCounts, ratio: float) -> list[bool] | None:
    """The leaves' decisions for a ratio, shown or estimated to be met, as `auditor train` takes them; None if none."""
    groups = list(range(leaves.counts.shape[-1]))
    found = most_accurate(ChoiceBounds(leaves, groups, ratio, level=0.95))
    return None if found is None else [bool(one) for one in found[0]]


def _matching(path: Sequence[Predicate], different: Mapping[str, tuple[list[Any], IntArray]], people: int) -> BoolArray:
    """Whom all predicates match: looked up for each different value."""
    matches = np.ones(people, np.bool_)
    for one in path:
        values, index = different[one.column]
        matches &= np.array([one.matches(value) for value in values], np.bool_)[index]
    return matches
