"""Draws of a training through the learner: what was chosen and what was counted, seen together (2-privacy §9).

The registers differ by one person, who raises the score of one of two candidates by one and of the other by nothing,
where both were alike: so the choice loses all that it costs. The answer's value is its log likelihood ratio under the
noise as stated: that of the chosen split, and that of the count which the person is in. True counts are the real
engine's, each counted once.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from holder_service.learning.fair_tree import LEAVES
from holder_service.learning.learners import LEARNERS
from holder_service.learning.measuring import LearningStep, Measuring
from holder_service.privacy_audit.log_likelihood_ratio import log_likelihood
from holder_service.privacy_audit.loss_bounds import LossBound, examine_values
from holder_service.records.counting import TrueCounts, count_cells
from holder_service.records.encoded import Records, load_records
from holder_service.records.engines import EncodedVersion
from shared.amounts import NANO_PER_UNIT
from shared.relations import NeighbouringRelation, Relation
from shared.rules import Cell, Record
from shared.schema import Schema
from shared.trainings import TrainedTree, Training

_SCHEMA: Final = Schema.model_validate(
    {
        "person_key": "id",
        "columns": [
            {"name": "age", "type": "integer", "minimum": 0, "maximum": 120},
            {"name": "citizen", "type": "boolean"},
            {"name": "sex", "type": "category", "categories": ["Female", "Male"], "sensitive": True},
            {"name": "repaid", "type": "boolean", "label": True},
        ],
    }
)  # fmt: skip
_TRAINING: Final = Training.model_validate(
    {
        "algorithm": {"name": "fair_tree", "depth": 1, "splits": "0.5"}, "label": "repaid",
        "sensitive": ["sex"], "epsilon": "2",
        "features": [{"column": "age", "cuts": [50]}, {"column": "citizen"}], "version": 1,
    }
)  # fmt: skip
_PERSON: Final[Record] = {"age": 60, "citizen": True, "sex": "Female", "repaid": True}
_OLD: Final[Record] = {"age": 60, "citizen": False, "sex": "Male", "repaid": True}
_YOUNG: Final[Record] = {"age": 20, "citizen": True, "sex": "Male", "repaid": False}
_CROWD: Final = (*[_OLD] * 100, *[_YOUNG] * 10)
"""Men are best off whatever the noise on the groups is. Divided by age 110 are decided rightly, and 111 with the
person; by citizenship 110, with the person or without."""
AHEAD: Final = (1, 0)
"""By how many people the split by age is ahead, with the person and without."""

Steps = Callable[[Sequence[LearningStep]], Sequence[LearningStep]]


def as_charged(steps: Sequence[LearningStep]) -> Sequence[LearningStep]:
    return steps


def _cheaper(steps: Sequence[LearningStep], factors: Mapping[str, int]) -> list[LearningStep]:
    """Steps whose noise is that of a larger ε than they are charged, by what they measure."""
    return [replace(step, epsilon_nano=step.epsilon_nano * factors.get(step.measures, 1)) for step in steps]


FAULTS: Final[Mapping[str, Steps]] = {
    "half the noise": lambda steps: _cheaper(steps, {"counts": 2, "choices": 2}),
    "a split without noise": lambda steps: _cheaper(steps, {"choices": 10_000}),
}
"""To see that the audit catches them. Nothing that answers anybody can reach them."""


@dataclass(frozen=True, slots=True)
class TrainedPair:
    """Two registers that differ by one person, and a training about them."""

    relation: Relation = "add_remove"
    sensitive: tuple[str, ...] = _TRAINING.sensitive

    @property
    def label(self) -> str:
        return f"{self.relation}, one person"

    def drawn(self, folder: Path, *, runs: int, alpha: float, steps: Steps = as_charged) -> LossBound:
        """Learn from both registers, and bound the loss.

        Args:
            folder: Where the registers are kept.
            runs: On either.
            alpha: The probability, at most, that the bound of a faultless learner does not hold.
            steps: What noise is drawn; it is stated, and charged, as that of the steps as they are.
        """
        here, there = (_Counted.of([*_CROWD, *people], folder / name) for name, people in _SIDES.items())
        values = tuple([_value(_learned(side, steps)) for _ in range(runs)] for side in (here, there))
        epsilon = _TRAINING.epsilon / NANO_PER_UNIT
        found = examine_values((values[0], values[1]), epsilon=epsilon, delta=0, alpha=alpha)
        stated = max(map(abs, _SPLIT_LOSSES.values())) + 1 / _scale(LEAVES)
        return replace(found, stated=stated, excess=found.bound - stated)


_SIDES: Final[Mapping[str, list[Record]]] = {"here": [_PERSON], "there": []}


@dataclass(frozen=True, slots=True)
class _Counted:
    """An engine's counts of one register, each counted once."""

    records: Records
    known: dict[tuple[Any, ...], TrueCounts] = field(default_factory=dict)

    @classmethod
    def of(cls, people: Sequence[Record], folder: Path) -> "_Counted":
        folder.mkdir(parents=True)
        names = [column.name for column in _SCHEMA.columns]
        rows = [
            ",".join(str(person[name]).lower() if name != "sex" else str(person[name]) for name in names)
            for person in people
        ]
        lines = [",".join(["id", *names]), *(f"p{number},{row}" for number, row in enumerate(rows)), ""]
        (folder / "records.csv").write_text("\n".join(lines))
        load_records(folder / "records.csv", "text/csv", _SCHEMA, 1000, folder / "encoded")
        return cls(Records.open(folder / "encoded", _SCHEMA))

    def count(
        self, _: EncodedVersion, cells: Sequence[Cell], classes: Sequence[Sequence[int]], sensitive: Sequence[str]
    ) -> TrueCounts:
        """Count as the local engine does."""
        key = (tuple(map(str, (rule for cell in cells for rule in cell.any_of))), tuple(sensitive))
        if key not in self.known:
            self.known[key] = count_cells(self.records, cells, classes, sensitive)
        return self.known[key]


def _announced() -> tuple[LearningStep, ...]:
    return LEARNERS[_TRAINING.algorithm.name].steps(_TRAINING, _SCHEMA)


def _step(name: str) -> LearningStep:
    [step] = (step for step in _announced() if step.name == name)
    return step


def _scale(name: str) -> float:
    return _step(name).quoted(NeighbouringRelation("add_remove")).scale


def _learned(counted: _Counted, steps: Steps) -> tuple[str, int]:
    """The column that was split by, and the noisy count that the person is in."""
    version = EncodedVersion("audited", None, _SCHEMA)
    measuring = Measuring(counted, version, _SCHEMA, NeighbouringRelation("add_remove"), steps(_announced()))
    tree, counts = LEARNERS[_TRAINING.algorithm.name].learn(_TRAINING, _SCHEMA, measuring)
    if not isinstance(tree, TrainedTree) or counts is None:
        raise TypeError("The training that is audited learns a tree.")
    [index] = (index for index, leaf in enumerate(tree.leaves) if leaf.cell.matches(_PERSON))
    return tree.leaves[index].cell.any_of[0].all_of[0].column, counts.leaves[index].positive[0]


def _split_losses() -> dict[str, float]:
    """The log likelihood ratio of either split, from permute-and-flip's masses for two candidates.

    The one that is d behind is taken with probability e^(−d/scale)/2: McKenna, Sheldon (2020).
    """
    here, there = (math.exp(-people / _scale("split 1")) / 2 for people in AHEAD)
    return {"age": math.log((1 - here) / (1 - there)), "citizen": math.log(here / there)}


_SPLIT_LOSSES: Final = _split_losses()


def _value(drawn: tuple[str, int]) -> float:
    """The answer's log likelihood ratio: of the register with the person, against the one without."""
    column, noisy = drawn
    noise = _step(LEAVES).noise(NeighbouringRelation("add_remove"))
    ratio = log_likelihood(noise.noise, noisy, 1) - log_likelihood(noise.noise, noisy, 0)
    return round(_SPLIT_LOSSES[column] + ratio, 6)
