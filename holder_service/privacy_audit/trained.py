"""Draws of trainings through their learners: all that the steps give, and the model, seen together (2-privacy §9).

The registers differ by one person, who is absent from one, or another in it, as far as the relation lets them: every
step loses all that it costs, or as much of that as two people can make it lose. The answer's value is its log
likelihood ratio under the noise as stated (`overheard`). Where the model does not follow from what was measured, it is
told which register it is from, and the value is beyond all others.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from holder_service.learning.learners import LEARNERS, Learner
from holder_service.learning.measuring import Combination, LearningStep, Measuring
from holder_service.learning.sizes import size_of_cells
from holder_service.privacy_audit.loss_bounds import LossBound, examine_values
from holder_service.privacy_audit.overheard import Noiseless, Overheard, Registers, Replayed
from shared.contract.relations import NeighbouringRelation, Relation
from shared.contract.rules import Cell, Record
from shared.contract.schema import Schema
from shared.kinds.trainings import TrainedTree, Training
from shared.privacy.amounts import NANO_PER_UNIT

SCHEMA: Final = Schema.model_validate(
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
PERSON: Final[Record] = {"age": 60, "citizen": True, "sex": "Female", "repaid": True}
_OLD: Final[Record] = {"age": 60, "citizen": False, "sex": "Male", "repaid": True}
_YOUNG: Final[Record] = {"age": 20, "citizen": True, "sex": "Male", "repaid": False}
_YOUNG_WHO_REPAID: Final[Record] = {"age": 20, "citizen": False, "sex": "Male", "repaid": True}
_CROWD: Final = (*[_OLD] * 100, *[_YOUNG] * 10)
"""Men are best off whatever the noise on the groups is. Divided by age 110 are decided rightly, and 111 with the
person; by citizenship 110, with the person or without, and 111 with a young one who repaid and is no citizen."""
_AGE: Final = {"column": "age", "cuts": [50]}
_CITIZEN: Final = {"column": "citizen"}
_HALVES: Final = {"label_quantiles": ["0.5"], "group_quantiles": ["0.5"]}
SUMS: Final = "sums"
"""No algorithm, but the one step that measures weighted sums, by itself."""
_TRAININGS: Final[Mapping[str, dict[str, Any]]] = {
    "fair_tree": {"algorithm": {"name": "fair_tree", "depth": 1}, "features": [_AGE, _CITIZEN]},
    "private_fair_tree": {"algorithm": {"name": "private_fair_tree", "depth": 1}, "features": [_AGE, _CITIZEN]},
    # One coordinate, and most of ε for one of two steps: so few sums change, and some by much.
    "pflr": {"algorithm": {"name": "pflr", "penalty": "0.2"}, "features": [_CITIZEN]},
    "pflr_star": {"algorithm": {"name": "pflr_star", "fairness": "0.8"}, "features": [_CITIZEN]},
    # Whole points of a unit, so that few scores are learned, and each is counted once.
    "fair_linear": {"algorithm": {"name": "fair_linear", "points": 1, **_HALVES}, "features": [_AGE, _CITIZEN]},
    SUMS: {"algorithm": {"name": "pflr"}, "features": [_CITIZEN]},
}
DRAWS_PER_MODEL: Final = 10
"""A model takes as long as some hundred draws of a count, so there are so many times fewer; of sums alone as many."""
BEYOND_ALL: Final = 1000.0
"""The value of an answer whose model follows from one register alone."""


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong, to see that the audit catches it. Nothing that answers anybody can reach it.

    Attributes:
        factors: By what a step measures, by how much the ε of its noise is larger than its charge.
        one_person: Whether noise is that of one person who comes or goes, also where two do.
        noiseless: What is handed out without noise.
        of: The algorithms that can have it.
    """

    factors: Mapping[str, int] = field(default_factory=dict)
    one_person: bool = False
    noiseless: Noiseless = frozenset()
    of: tuple[str, ...] = tuple(_TRAININGS)

    def drawn(
        self, steps: tuple[LearningStep, ...], relation: NeighbouringRelation
    ) -> tuple[list[LearningStep], NeighbouringRelation]:
        """The steps and the relation whose noise is drawn."""
        cheaper = [replace(step, epsilon_nano=step.epsilon_nano * self.factors.get(step.measures, 1)) for step in steps]
        return cheaper, NeighbouringRelation("add_remove") if self.one_person else relation

    def concerns(self, pair: "TrainedPair") -> bool:
        """Whether a pair's training can have it; where one person comes or goes, their noise is no fault."""
        return pair.algorithm in self.of and not (self.one_person and pair.relation == "add_remove")


NONE: Final = Fault()
FAULTS: Final[Mapping[str, Fault]] = {
    "half the noise": Fault(factors={"counts": 2, "choices": 2, "sums": 2}),
    "noise of one person": Fault(one_person=True),
    "a split without noise": Fault(factors={"choices": 10_000}, of=("fair_tree",)),
    "a mean not paid for": Fault(noiseless=frozenset({("fairness", 0)}), of=("pflr", "pflr_star")),
}


@dataclass(frozen=True, slots=True)
class TrainedPair:
    """Two registers that differ by one person, and a training about them."""

    algorithm: str = "fair_tree"
    relation: Relation = "add_remove"
    sensitive: tuple[str, ...] = ("sex",)

    @property
    def label(self) -> str:
        return f"{self.relation}, one person"

    @property
    def training(self) -> Training:
        """What is asked."""
        asked = {"label": "repaid", "sensitive": self.sensitive, "epsilon": "2", "version": 1}
        return Training.model_validate({**asked, **_TRAININGS[self.algorithm]})

    @property
    def learner(self) -> Learner:
        return _SumsAlone() if self.algorithm == SUMS else LEARNERS[self.algorithm]

    @property
    def sides(self) -> tuple[list[Record], list[Record]]:
        """All people of either register."""
        if self.relation == "add_remove":
            return [*_CROWD, PERSON], [*_CROWD]
        if self.algorithm == "fair_tree":
            # The split by age is two people ahead, or none: so the choice loses all that it costs.
            return [*_CROWD, PERSON, PERSON], [*_CROWD, PERSON, _YOUNG_WHO_REPAID]
        return [*_CROWD, PERSON], [*_CROWD, _YOUNG_WHO_REPAID if self.algorithm == SUMS else _YOUNG]

    def runs(self, draws: int) -> int:
        """Return how often it is learned where a count is drawn so many times."""
        return draws if self.algorithm == SUMS else max(draws // DRAWS_PER_MODEL, 2)

    def drawn(self, folder: Path, *, runs: int, alpha: float, fault: Fault = NONE) -> LossBound:
        """Learn from both registers, and bound the loss.

        Args:
            folder: Where the registers are kept.
            runs: On either.
            alpha: The probability, at most, that the bound of a faultless learner does not hold.
            fault: What noise is drawn; it is stated, and charged, as if there were no fault.
        """
        drawing = _Drawing(self, Registers(SCHEMA, self.sides, folder), fault)
        here, there = ([drawing.draw(side) for _ in range(runs)] for side in (0, 1))
        epsilon = self.training.epsilon / NANO_PER_UNIT
        values = [value for value, _ in here], [value for value, _ in there]
        found = examine_values(values, epsilon=epsilon, delta=0, alpha=alpha)
        stated = max(reach for _, reach in here + there)
        return replace(found, stated=stated, excess=found.bound - stated)


EVERY_TRAINED_PAIR: Final = tuple(
    TrainedPair(algorithm, relation) for algorithm in _TRAININGS for relation in ("add_remove", "replace")
)


class _Drawing:
    """Draws models of one pair, as charged or with a fault."""

    def __init__(self, pair: TrainedPair, registers: Registers, fault: Fault) -> None:
        self._learner, self._training, self._registers, self._fault = pair.learner, pair.training, registers, fault
        relation = NeighbouringRelation(pair.relation)
        self._stated = pair.learner.steps(pair.training, SCHEMA), relation
        self._drawn = fault.drawn(*self._stated)

    def draw(self, side: int) -> tuple[float, float]:
        """An answer's value, and the most that it could have been if the noise is as stated."""
        overheard = Overheard(
            self._registers, SCHEMA, side=side, stated=self._stated, drawn=self._drawn, noiseless=self._fault.noiseless
        )
        model = self._learner.learn(self._training, SCHEMA, overheard)
        heard = overheard.transcript
        again = Replayed(overheard, self._registers, heard.answers, side=1 - side, noiseless=self._fault.noiseless)
        follows = self._learner.learn(self._training, SCHEMA, again) == model
        return round(heard.loss, 6) if follows else (BEYOND_ALL, -BEYOND_ALL)[side], heard.reach


class _SumsAlone:
    """Two sums over two classes of cells, which one person changes by six in all."""

    _PATHS: Final = (
        ({"column": "citizen", "op": "eq", "value": True}, {"column": "repaid", "op": "eq", "value": True}),
        ({"column": "citizen", "op": "eq", "value": False}, {"column": "repaid", "op": "eq", "value": True}),
        ({"column": "age", "op": "ge", "value": 50},),
        ({"column": "age", "op": "lt", "value": 50},),
    )
    _CELLS: Final = tuple(
        Cell.model_validate({"id": str(index), "all_of": path}) for index, path in enumerate(_PATHS)
    )  # fmt: skip

    def steps(self, training: Training, schema: Schema) -> tuple[LearningStep, ...]:
        """The one."""
        size = size_of_cells(self._CELLS, schema, classes=2, noisy=2)
        return (LearningStep(SUMS, "sums", training.epsilon, 2, size, sensitivity=6),)

    def learn(self, training: Training, schema: Schema, measuring: Measuring) -> tuple[TrainedTree, None]:
        """Take it, and make nothing of it."""
        weights = [([0, 1, 2, 3], [2, -2, 2, -2]), ([0, 1], [2, -2])]
        combinations = [Combination.of(counts, some) for counts, some in weights]
        measuring.sums(SUMS, self._CELLS, combinations)
        return TrainedTree(leaves=()), None
