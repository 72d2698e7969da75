"""Scores that a count works out for itself: those of the reference evaluator, at every place of every chunk."""

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from holder_service.records.counting import count_cells
from holder_service.records.encoded import CHUNK_RECORDS_MAX
from holder_service.records.scored_chunks import ScoredColumn
from shared.contract.rules import Cell, Predicate, Rule
from shared.contract.schema import Column, Schema
from shared.scores.documents import Axis, TableTerm, Terms
from shared.scores.values import score_value
from testing.encoded_records import encoded_people

SCHEMA = Schema(
    person_key="id",
    columns=(
        Column(name="age", type="integer", minimum=0, maximum=99),
        Column(name="income", type="number", nullable=True),
        Column(name="job", type="category", categories=("a", "b", "c"), nullable=True),
        Column(name="sex", type="category", categories=("Female", "Male"), sensitive=True),
    ),
)
DOCUMENT = Terms(
    kind="terms", precision="float64",
    terms=(
        TableTerm(axes=(Axis(column="age", cuts=(29, 59)),), table=(-7, 0, 4)),
        TableTerm(axes=(Axis(column="income", cuts=(0.5,), missing=True),), table=(-2, 5, 1)),
        TableTerm(axes=(Axis(column="job", values=("a", "b", "c"), missing=True),), table=(3, -3, 0, 10)),
    ),
)  # fmt: skip
SCORE = Column(name="score", type="integer", minimum=-12, maximum=19)
THRESHOLDS = (-12, -5, 0, 3, 19)


def test_a_count_by_a_score_is_that_of_the_reference(tmp_path: Path) -> None:
    source = random.Random(5)
    people: list[dict[str, Any]] = [
        {
            "age": source.randint(0, 99), "income": source.choice((None, 0.0, 0.5, 0.75)),
            "job": source.choice((None, "a", "b", "c")), "sex": source.choice(("Female", "Male")),
        }
        for _ in range(CHUNK_RECORDS_MAX + 300)
    ]  # fmt: skip
    records = encoded_people(tmp_path, SCHEMA, people)
    young = Predicate(column="age", op="lt", value=60)
    starts = [Predicate(column="score", op="ge", value=start) for start in THRESHOLDS]
    cells = [Cell(id=str(start.value), any_of=(Rule(all_of=(start, young)),)) for start in starts]

    counted = count_cells(
        records, cells, [[index] for index in range(len(cells))], ["sex"], [ScoredColumn(SCORE, DOCUMENT)]
    ).reveal_to_mechanism()

    scores = np.array([score_value(DOCUMENT, person) for person in people])
    under_sixty = np.array([young.matches(person["age"]) for person in people])
    women = np.array([person["sex"] == "Female" for person in people])
    expected = [[((scores >= start) & under_sixty & of).sum() for of in (women, ~women)] for start in THRESHOLDS]
    assert counted.tolist() == expected
    assert len({tuple(row) for row in expected}) == len(THRESHOLDS)


def test_a_score_outside_its_range_is_refused_and_not_shown(tmp_path: Path) -> None:
    records = encoded_people(tmp_path, SCHEMA, [{"age": 1, "income": 1.0, "job": "a", "sex": "Male"}])
    narrow = ScoredColumn(SCORE.model_copy(update={"minimum": 5}), DOCUMENT)

    with pytest.raises(ValueError, match="holds something else") as refused:
        count_cells(records, [Cell(id="all", any_of=(Rule(all_of=()),))], [[0]], [], [narrow])

    assert "1" not in str(refused.value)


def test_a_score_may_not_be_called_like_a_column(tmp_path: Path) -> None:
    records = encoded_people(tmp_path, SCHEMA, [{"age": 1, "income": 1.0, "job": "a", "sex": "Male"}])

    with pytest.raises(ValueError, match="share a name"):
        count_cells(records, [], [], [], [ScoredColumn(SCORE.model_copy(update={"name": "age"}), DOCUMENT)])
