"""What holds of every learner: its steps are taken, cost ε together, and count no more than the deadline supposes."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from holder_service.learning.learners import LEARNERS
from holder_service.privacy_audit.overheard import Registers
from holder_service.privacy_audit.trained import BEYOND_ALL, EVERY_TRAINED_PAIR, NONE, TrainedPair, _Drawing
from holder_service.privacy_audit.trained import SCHEMA as SCHEMA_OF_PAIRS
from shared.contract.relations import NeighbouringRelation, Relation
from testing.invented.trainings import SCHEMA, invented_people, measuring, training
from testing.step_sizes import KeepingEngine, exceeded

PEOPLE = invented_people(60, seed=3)
ALGORITHMS: list[dict[str, Any]] = [
    *({"name": name} for name in LEARNERS), {"name": "private_fair_tree", "depth": 6}, {"name": "pflr", "penalty": "0"},
]  # fmt: skip


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("sensitive", ["sex", "old"])
def test_every_step_is_taken_and_is_no_larger_than_the_deadline_supposes(
    algorithm: dict[str, Any], sensitive: str, tmp_path: Path
) -> None:
    """Whatever was chosen before: three times with little ε; groups may be bands of a column."""
    asked = training(algorithm, sensitive=[sensitive], epsilon="0.01")
    learner = LEARNERS[asked.algorithm.name]
    steps = learner.steps(asked, SCHEMA)
    taken = measuring(tmp_path / "home", PEOPLE, steps)
    for _ in range(3):
        engine = KeepingEngine(taken.engine)

        learner.learn(asked, SCHEMA, replace(taken, engine=engine, _taken=set()))

        assert len(engine.asked) == len(steps)
        for step, counted in zip(steps, engine.asked, strict=True):
            assert exceeded(step, counted, SCHEMA) == [], step.name


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("relation", ["add_remove", "replace"])
def test_the_noise_of_all_steps_costs_what_was_asked(algorithm: dict[str, Any], relation: Relation) -> None:
    for epsilon in ("0.01", "0.123456789", "10"):
        asked = training(algorithm, epsilon=epsilon)
        steps = LEARNERS[asked.algorithm.name].steps(asked, SCHEMA)

        assert sum(step.epsilon_nano for step in steps) == asked.epsilon
        for step in steps:
            assert step.loss(NeighbouringRelation(relation)).epsilon_nano <= step.epsilon_nano


@pytest.mark.parametrize("pair", EVERY_TRAINED_PAIR, ids=lambda pair: f"{pair.algorithm}, {pair.relation}")
def test_a_model_follows_from_what_was_measured_alone(pair: TrainedPair, tmp_path: Path) -> None:
    """Given the same noisy numbers, other records make the same model: nothing else of them is in it."""
    drawing = _Drawing(pair, Registers(SCHEMA_OF_PAIRS, pair.sides, tmp_path), NONE)

    for side in (0, 1):
        for _ in range(10):
            value, reach = drawing.draw(side)
            assert abs(value) <= reach + 1e-5 < BEYOND_ALL
