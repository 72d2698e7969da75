"""Trainings about invented people, measured by a real local engine."""

import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from holder_service.learning.measuring import LearningStep, Measuring
from shared.contract.relations import NeighbouringRelation, Relation
from shared.contract.rules import Record
from shared.contract.schema import Column, Schema
from shared.kinds.trainings import Training
from testing.encoded_records import loaded_columns

EXACT_NANO: Final = 10**19
"""So large an ε, in nano-units, that no noise is drawn; a request cannot name it."""
SCHEMA: Final = Schema(
    person_key="id",
    columns=(
        Column(name="age", type="integer", minimum=0, maximum=99),
        Column(name="hours", type="number", nullable=True),
        Column(name="income", type="number"),
        Column(name="region", type="category", categories=("North", "South", "East")),
        Column(name="citizen", type="boolean"),
        Column(name="sex", type="category", categories=("Female", "Male"), sensitive=True),
        Column(name="origin", type="category", categories=("here", "there"), sensitive=True, nullable=True),
        Column(name="old", type="integer", minimum=0, maximum=99, sensitive=True, bands_from=(60,)),
        Column(name="repaid", type="boolean", label=True),
    ),
)
FEATURES: Final[tuple[dict[str, Any], ...]] = (
    {"column": "age", "cuts": [30, 45, 60]},
    {"column": "hours", "cuts": [20.5]},
    {"column": "region"},
    {"column": "citizen"},
)


def training(algorithm: Mapping[str, Any], **changes: Any) -> Training:
    """A training about them."""
    asked = {"label": "repaid", "sensitive": ["sex"], "features": FEATURES, "epsilon": "1", "algorithm": algorithm}
    return Training.model_validate(asked | changes)


def exact(asked: Training) -> Training:
    """The same without noise."""
    return asked.model_copy(update={"epsilon": EXACT_NANO})


def invented_people(number: int, seed: int) -> list[Record]:
    """People whose label depends on all features, on the sex too."""
    rng = random.Random(seed)
    people: list[Record] = []
    for _ in range(number):
        person: dict[str, Any] = {
            "age": rng.randint(0, 99), "hours": rng.choice([None, 0.0, 20.5, 40.0]),
            "income": rng.random(), "region": rng.choice(["North", "South", "East"]), "citizen": rng.random() < 0.6,
            "sex": rng.choice(["Female", "Male"]), "origin": rng.choice([None, "here", "there"]),
        }  # fmt: skip
        person["old"] = person["age"]
        merit = person["age"] / 40 + person["citizen"] + (person["sex"] == "Male") + (person["region"] == "East")
        people.append(person | {"repaid": rng.random() < merit / 5})
    return people


def measuring(
    folder: Path, people: Sequence[Record], steps: Sequence[LearningStep], relation: Relation = "add_remove"
) -> Measuring:
    """What measures some people in a home of its own."""
    columns = {column.name: [person[column.name] for person in people] for column in SCHEMA.columns}
    engine, version = loaded_columns(folder, SCHEMA, columns)
    return Measuring(engine, version, SCHEMA, NeighbouringRelation(relation), steps)
