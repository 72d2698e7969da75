"""Sums of weighted counts: exact before the noise, and refused where one person changes them by more than was paid."""

import itertools
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from holder_service.domain.deadlines import PlanSize
from holder_service.learning.measuring import Combination, LearningStep, Measuring, largest_change
from holder_service.learning.overspent import Overspent
from shared.contract.relations import NeighbouringRelation
from shared.contract.rules import Cell, Predicate, Rule
from shared.contract.schema import Column, Schema
from testing.encoded_records import loaded_columns

SIZE = PlanSize(1, 1, 0, 2, 1, {"laplace": 1}, 0, 1, 1, 1, 1)
EXACT = 10**15
"""So large an ε, in nano-units, that no noise is ever drawn."""
SCHEMA = Schema(
    person_key="id",
    columns=(
        Column(name="age", type="integer", minimum=0, maximum=9),
        Column(name="owner", type="boolean"),
        Column(name="sex", type="category", categories=("Female", "Male"), sensitive=True),
    ),
)
PEOPLE = [(age, owner, sex) for age in (1, 5, 8) for owner in (False, True) for sex in ("Female", "Male")]
CELLS = [
    Cell(id=str(number), any_of=(Rule(all_of=(predicate,)),))
    for number, predicate in enumerate((
        Predicate(column="age", op="lt", value=5), Predicate(column="age", op="ge", value=5),
        Predicate(column="owner", op="eq", value=False), Predicate(column="owner", op="eq", value=True),
    ))
]  # fmt: skip
CLASSES = ((0, 1), (2, 3))
COMBINATIONS = [
    Combination(np.array([0, 1, 2, 3]), np.array([3, -3, 2, -2])),
    Combination(np.array([3, 7]), np.array([4, 5])),
]
"""Of counts by sex: two for each cell."""


def measuring(folder: Path, sensitivity: int, people: Sequence[tuple[int, bool, str]] = PEOPLE) -> Measuring:
    columns = {
        name: list(values) for name, values in zip(("age", "owner", "sex"), zip(*people, strict=True), strict=True)
    }
    step = LearningStep("sums", "sums", EXACT, 2, SIZE, sensitivity)
    return Measuring(*loaded_columns(folder, SCHEMA, columns), SCHEMA, NeighbouringRelation("add_remove"), [step])


def directly(people: Sequence[tuple[int, bool, str]]) -> list[int]:
    """The two sums, person by person."""
    first = sum((3 if sex == "Female" else -3) if age < 5 else (2 if sex == "Female" else -2) for age, _, sex in people)
    second = sum(4 * (age >= 5 and sex == "Male") + 5 * (owner and sex == "Male") for age, owner, sex in people)
    return [first, second]


def test_the_sums_are_those_of_the_people(tmp_path: Path) -> None:
    exact = largest_change(COMBINATIONS, CLASSES, 2)

    assert measuring(tmp_path / "home", exact).sums("sums", CELLS, COMBINATIONS, ["sex"]) == directly(PEOPLE)


def test_the_largest_change_is_that_of_a_person_who_comes(tmp_path: Path) -> None:
    """No bound above what some person attains: here a man of 5 or more who owns."""
    changes = [sum(abs(change) for change in directly([person])) for person in PEOPLE]

    assert largest_change(COMBINATIONS, CLASSES, 2) == max(changes) == 11
    with pytest.raises(Overspent):
        measuring(tmp_path / "home", 10).sums("sums", CELLS, COMBINATIONS, ["sex"])


def test_cells_in_no_groups_change_with_everybody() -> None:
    for weights in itertools.product((-2, 0, 3), repeat=4):
        one = Combination(np.arange(4), np.array(weights))
        largest = max(abs(weights[0]), abs(weights[1])) + max(abs(weights[2]), abs(weights[3]))

        assert largest_change([one], CLASSES) == largest
