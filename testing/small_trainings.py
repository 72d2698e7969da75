"""Small registers of any shape, and trainings about them."""

import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from holder_service.learning.learners import LEARNERS
from holder_service.learning.measuring import LearningStep, Measuring
from holder_service.records.engines import Counts
from shared.contract.relations import NeighbouringRelation
from shared.contract.rules import Record
from shared.contract.schema import Column, Schema
from shared.kinds.trainings import TrainedCounts, TrainedScore, TrainedTree, Training
from testing.encoded_records import loaded_columns

EXACT = 10**15
"""So large an ε, in nano-units, that no noise is ever drawn."""
CATEGORIES = tuple("abcdefgh")


def small_schema(source: random.Random) -> Schema:
    """A label, one sensitive column or two, and some features: any type, nullable, of one value or many."""
    sensitive = [_sensitive(source, index) for index in range(source.choice((1, 1, 2)))]
    features = [_feature(source, index) for index in range(source.randint(1, 4))]
    label = Column(name="y", type="boolean", label=True)
    return Schema(person_key="id", columns=(*features, *sensitive, label))


def _sensitive(source: random.Random, index: int) -> Column:
    nullable = source.random() < 0.3
    if source.random() < 0.3:
        return Column(
            name=f"s{index}", type="integer", minimum=0, maximum=9, bands_from=(3, 7), nullable=nullable, sensitive=True
        )
    categories = CATEGORIES[: source.randint(1, 4)]
    return Column(name=f"s{index}", type="category", categories=categories, nullable=nullable, sensitive=True)


def _feature(source: random.Random, index: int) -> Column:
    nullable = source.random() < 0.4
    match source.choice(("boolean", "category", "integer", "number", "unbounded")):
        case "boolean":
            return Column(name=f"x{index}", type="boolean", nullable=nullable)
        case "category":
            categories = CATEGORIES[: source.randint(1, 5)]
            return Column(name=f"x{index}", type="category", categories=categories, nullable=nullable)
        case "integer":
            return Column(name=f"x{index}", type="integer", minimum=-2, maximum=6, nullable=nullable)
        case "number":
            return Column(name=f"x{index}", type="number", minimum=-2.5, maximum=6.5, nullable=nullable)
    return Column(name=f"x{index}", type=source.choice(("integer", "number")), nullable=nullable)


def small_training(schema: Schema, algorithm: Mapping[str, Any], source: random.Random) -> Training:
    """A training by all features."""
    features: list[dict[str, Any]] = []
    for column in schema.columns:
        if column.label or column.sensitive:
            continue
        cuts = sorted(source.sample(range(-1, 6), source.randint(1, 4))) if column.ordered else None
        features.append({"column": column.name, "cuts": cuts})
    return Training.model_validate(
        {
            "algorithm": dict(algorithm), "label": "y", "features": features, "epsilon": "1",
            "sensitive": [column.name for column in schema.columns if column.sensitive],
        }
    )  # fmt: skip


def small_people(schema: Schema, source: random.Random, number: int) -> list[dict[str, Any]]:
    """Some people, of whom sometimes all have one label."""
    labels = source.choice(((False, True), (False, True), (False,), (True,)))
    return [
        {**{column.name: _value(column, source) for column in schema.columns}, "y": source.choice(labels)}
        for _ in range(number)
    ]


def _value(column: Column, source: random.Random) -> Any:
    if column.nullable and source.random() < 0.3:
        return None
    if column.type == "integer":
        return source.randint(max(int(column.low), -2), min(int(column.high), 9))
    return source.choice(column.values) if not column.ordered else float(source.randint(-2, 6))


def loaded_people(folder: Path, schema: Schema, people: Sequence[Record]) -> tuple[Any, Any]:
    """An engine that has them, and their version."""
    columns = {column.name: [person[column.name] for person in people] for column in schema.columns}
    return loaded_columns(folder, schema, columns)


def exactly(steps: Sequence[LearningStep]) -> list[LearningStep]:
    """The same steps, of which none adds noise."""
    return [
        LearningStep(one.name, one.measures, EXACT * one.classes, one.classes, one.size, one.sensitivity)
        for one in steps
    ]


def learned(
    training: Training, schema: Schema, counted: tuple[Counts, Any], *, exact: bool = False,
    relation: NeighbouringRelation | None = None,
) -> tuple[TrainedTree | TrainedScore, TrainedCounts | None]:  # fmt: skip
    """What a training's own learner makes of some records."""
    learner = LEARNERS[training.algorithm.name]
    steps = learner.steps(training, schema)
    measuring = Measuring(
        *counted, schema, relation or NeighbouringRelation("add_remove"), exactly(steps) if exact else steps
    )
    return learner.learn(training, schema, measuring)
