"""The only way in which a learner gets at the records: steps that are paid for, each taken once (7-training §1).

A learner says beforehand, from public facts alone, which steps it will take and what each costs (`LearningStep`). The
losses of its steps add up to the training's ε. While it learns, `Measuring` counts for it and adds the noise of the
step. A step that was not announced, or is taken twice, ends the training. So whatever a learner makes of what it is
given is post-processing, and the loss of the whole is the sum of the steps' (sequential composition, the steps chosen
one after the other: Dwork, Rothblum, Vadhan 2010).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

import numpy as np

from holder_service.domain.deadlines import PlanSize
from holder_service.domain.disjointness import disjoint_classes
from holder_service.learning.features import IntArray
from holder_service.learning.overspent import Overspent
from holder_service.learning.split_scores import NodeSplits, ScoredSplits
from holder_service.mechanisms.choice import ChoiceMechanism
from holder_service.mechanisms.laplace import LaplaceMechanism
from holder_service.records.engines import Counts, EncodedVersion
from holder_service.records.scored_chunks import ScoredColumn
from shared.contract.relations import NeighbouringRelation
from shared.contract.rules import Cell
from shared.contract.schema import Schema
from shared.kinds.trainings import TrainingStep
from shared.privacy.amounts import Loss, format_nano
from shared.privacy.charges import Charge, step_rho_nano
from shared.privacy.noise import DiscreteLaplaceNoise
from shared.scores.columns import extended


@dataclass(frozen=True, slots=True)
class LearningStep:
    """One look at the records; nothing of it depends on them.

    Attributes:
        name: What it is for.
        measures: Counts, choices or sums.
        epsilon_nano: What it costs.
        classes: Into how many classes its cells fall at most; the ε of counts is divided among them.
        sensitivity: Of sums, by how much all of them together change at most with one person who comes or goes.
        size: What the deadline supposes of it.
    """

    name: str
    measures: Literal["counts", "choices", "sums"]
    epsilon_nano: int
    classes: int
    size: PlanSize
    sensitivity: int = 1

    def noise(self, relation: NeighbouringRelation) -> LaplaceMechanism:
        """Return what is added to each count of one class of its cells, or to each sum."""
        epsilon = self.epsilon_nano if self.measures == "sums" else self.epsilon_nano // self.classes
        return LaplaceMechanism.calibrated(
            epsilon_nano=epsilon, sensitivity=people_that_change(relation) * self.sensitivity
        )

    def choice(self, relation: NeighbouringRelation) -> ChoiceMechanism:
        """Return what chooses."""
        return ChoiceMechanism.calibrated(
            epsilon_nano=self.epsilon_nano, people_that_change=people_that_change(relation)
        )

    def loss(self, relation: NeighbouringRelation) -> Loss:
        """Return what its noise costs, computed from what is drawn and not from what was asked of it."""
        match self.measures:
            case "choices":
                return self.choice(relation).loss
            case "sums":
                return self.noise(relation).loss
            case "counts":
                return self.noise(relation).loss * self.classes

    @property
    def charge(self) -> Charge:
        """What it is charged."""
        return Charge(Loss(self.epsilon_nano), step_rho_nano(self.measures, self.epsilon_nano, self.classes))

    def rho_nano(self, relation: NeighbouringRelation) -> int:
        """What its noise costs as ρ, in units of 10⁻⁹, computed from what is drawn; of each class of cells once."""
        if self.measures == "choices":
            return self.choice(relation).rho_nano
        return self.noise(relation).rho_nano * (self.classes if self.measures == "counts" else 1)

    @property
    def least_epsilon_nano(self) -> int:
        """What one class gets of counts, which divide ε among their classes; of anything else, all of it."""
        return self.epsilon_nano // self.classes if self.measures == "counts" else self.epsilon_nano

    def quoted(self, relation: NeighbouringRelation) -> TrainingStep:
        """Return what a quote and a release say of it."""
        return TrainingStep(
            name=self.name, measures=self.measures, epsilon=format_nano(self.epsilon_nano), classes=self.classes,
            scale=(self.choice(relation) if self.measures == "choices" else self.noise(relation)).scale,
        )  # fmt: skip


def people_that_change(relation: NeighbouringRelation) -> int:
    """Return how many people come or go between neighbours: one, or two where one takes the place of another.

    Raises:
        ValueError: Under the relation only a person's sensitive values change, which trainings do not offer.
    """
    if relation.name == "sensitive_attribute":
        raise ValueError("Trainings protect whole records.")
    return 1 if relation.name == "add_remove" else 2


class Combination(NamedTuple):
    """A sum of counts, each times a whole number.

    Attributes:
        counts: Which counts: of each the index of its cell, times the number of groups, plus the index of its group.
        weights: As many whole numbers.
    """

    counts: IntArray
    weights: IntArray

    @classmethod
    def of(cls, counts: Sequence[int], weights: Sequence[int]) -> "Combination":
        """That of some lists."""
        return cls(np.array(counts, dtype=np.int64), np.array(weights, dtype=np.int64))


def by_cells(numbers: Sequence[int], cells: int) -> IntArray:
    """Counts that lie one after the other, shape (cells, groups)."""
    return np.array(numbers, dtype=np.int64).reshape(cells, -1)


def largest_change(combinations: Sequence[Combination], classes: Sequence[Sequence[int]], groups: int = 1) -> int:
    """Return by how much all of some sums together change at most with one person who comes or goes: an L1 sensitivity.

    The person is in one cell of each class at most, and in one group. There each sum changes by the weight that it
    gives to the count. So the sums change by at most the largest such total of each class, over all classes.

    Args:
        combinations: The sums.
        classes: Of the cells, each of disjoint ones.
        groups: The number of groups that each cell is counted by.
    """
    cells = sum(map(len, classes))
    totals: IntArray = np.zeros(cells * groups, dtype=np.int64)
    for combination in combinations:
        np.add.at(totals, combination.counts, np.abs(combination.weights))
    of_cell = totals.reshape(cells, groups).max(axis=1, initial=0)
    return sum(int(of_cell[list(chosen)].max(initial=0)) for chosen in classes)


@dataclass(slots=True, repr=False)
class Measuring:
    """Counts for one training, and adds the noise that was announced.

    Attributes:
        engine: What counts.
        version: What is counted.
        schema: Its declared columns.
        relation: Of the people that it is about.
        steps: All that are paid for, in any order.
    """

    engine: Counts
    version: EncodedVersion
    schema: Schema
    relation: NeighbouringRelation
    steps: Sequence[LearningStep]
    _taken: set[str] = field(default_factory=set)

    def counts(
        self, name: str, cells: Sequence[Cell], sensitive: Sequence[str] = (), scored: Sequence[ScoredColumn] = ()
    ) -> IntArray:
        """Noisy counts of some cells by groups, shape (cells, groups), in people.

        Args:
            name: The step's.
            cells: What is counted.
            sensitive: The columns that the groups are made of; without any there is one group, everybody.
            scored: Scores that the cells name beside declared columns.
        """
        step = self._take(name, "counts")
        schema = extended(self.schema, {column.column.name: column.column for column in scored}, reads={})
        classes = self._classes(step, cells, schema)
        mechanism = step.noise(self.relation)
        version = replace(self.version, scored=tuple(scored))
        true_counts = self.engine.count(version, cells, classes, sensitive).reveal_to_mechanism()
        return np.array(mechanism.release(true_counts.ravel().tolist()), dtype=np.int64).reshape(true_counts.shape)

    def sums(
        self, name: str, cells: Sequence[Cell], combinations: Sequence[Combination], sensitive: Sequence[str] = ()
    ) -> list[int]:
        """Noisy sums of weighted counts of some cells by groups, one for each combination.

        Raises:
            Overspent: One person changes the sums by more than was announced.
        """
        step = self._take(name, "sums")
        classes = self._classes(step, cells, self.schema)
        groups = self.schema.group_count(sensitive)
        if largest_change(combinations, classes, groups) > step.sensitivity:
            raise Overspent(f"Step {name!r}: the sums change by more than was paid for.")
        mechanism = step.noise(self.relation)
        true_counts = self.engine.count(self.version, cells, classes, sensitive).reveal_to_mechanism().ravel()
        return mechanism.release([int(each.weights @ true_counts[each.counts]) for each in combinations])

    def choices(self, name: str, nodes: Sequence[NodeSplits]) -> list[int]:
        """One candidate for each node, chosen by noisy scores; what one person moves is checked (`split_scores`).

        Args:
            name: The step's.
            nodes: The candidates of disjoint nodes.

        Returns:
            The index of the chosen candidate of each node: of all its tables, one after the other.

        Raises:
            Overspent: One person may move a score by more than 1, or those of more than one node.
        """
        step = self._take(name, "choices")
        splits = ScoredSplits.of(nodes, self.schema)
        mechanism = step.choice(self.relation)
        true_counts = self.engine.count(self.version, splits.cells, splits.classes, ()).reveal_to_mechanism()
        return mechanism.choose(splits.scores(true_counts[:, 0]))

    def noise(self, name: str) -> DiscreteLaplaceNoise:
        """Return what a step of counts or sums adds: public, and not taken by asking."""
        steps = [step for step in self.steps if step.name == name]
        if len(steps) != 1:
            raise Overspent(f"Step {name!r} was not charged.")
        return steps[0].noise(self.relation).noise

    def _take(self, name: str, measures: str) -> LearningStep:
        steps = [step for step in self.steps if step.name == name and step.measures == measures]
        if len(steps) != 1 or name in self._taken:
            raise Overspent(f"Step {name!r} was not charged, or was taken before.")
        self._taken.add(name)
        return steps[0]

    def _classes(self, step: LearningStep, cells: Sequence[Cell], schema: Schema) -> tuple[tuple[int, ...], ...]:
        classes = disjoint_classes(cells, schema)
        if len(classes) > step.classes:
            raise Overspent(f"Step {step.name!r}: its cells fall into more classes than were paid for.")
        return classes

    def __getstate__(self) -> Any:
        raise TypeError("What measures is neither copied nor stored.")
