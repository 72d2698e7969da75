"""The only way in which a learner counts: each step that was paid for, once, and no more than was paid for."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

import numpy as np
import pytest

from holder_service.domain.deadlines import PlanSize
from holder_service.learning.measuring import Combination, LearningStep, Measuring, Overspent
from holder_service.records.counting import TrueCounts
from holder_service.records.engines import EncodedVersion
from shared.amounts import Loss
from shared.relations import NeighbouringRelation
from shared.rules import Cell
from shared.schema import Schema
from testing.registers import LEARNABLE

SCHEMA: Final = Schema.model_validate({"person_key": "id", "columns": LEARNABLE["columns"]})
SIZE: Final = PlanSize(
    rules=2, predicates=2, values=0, cuts=2, columns=1, counts={"laplace": 2}, gaussians=0, classes=1, words=1,
    word_columns=1, starts=1,
)  # fmt: skip
PEOPLE: Final = (30, 70)
"""How many the engine below counts in each of two cells."""
YOUNG: Final = {"id": "young", "all_of": [{"column": "age", "op": "lt", "value": 50}]}
OLD: Final = {"id": "old", "all_of": [{"column": "age", "op": "ge", "value": 50}]}
CITIZENS: Final = {"id": "citizens", "all_of": [{"column": "citizen", "op": "eq", "value": True}]}


def cells(*documents: dict[str, Any]) -> list[Cell]:
    return [Cell.model_validate(one) for one in documents]


class Engine:
    """Counts the same whatever it is asked, and notes how often it was."""

    def __init__(self) -> None:
        self.asked = 0

    def count(self, *_: Any) -> TrueCounts:
        self.asked += 1
        return TrueCounts(np.array(PEOPLE, dtype=np.int64).reshape(2, 1))


def step(measures: Any, *, name: str = "step", classes: int = 1, sensitivity: int = 1) -> LearningStep:
    return LearningStep(name, measures, 10**9, classes, SIZE, sensitivity)


def measuring(*steps: LearningStep, engine: Engine | None = None) -> Measuring:
    version = EncodedVersion("loans", "file", SCHEMA)
    return Measuring(engine or Engine(), version, SCHEMA, NeighbouringRelation("add_remove"), steps)


def summed(*weights: int) -> list[Combination]:
    return [Combination(np.arange(len(weights)), np.array(weights))]


def chosen(of: Measuring, *, nodes: list[Cell] | None = None, rows: int = 2, name: str = "step") -> list[int]:
    return of.choices(name, nodes or cells(YOUNG, OLD), cells(YOUNG, OLD), lambda counts: [counts.tolist()] * rows)


TAKEN: Final[dict[str, Callable[[Measuring], object]]] = {
    "counts": lambda of: of.counts("step", cells(YOUNG, OLD)),
    "sums": lambda of: of.sums("step", cells(YOUNG, OLD), summed(1, 1)),
    "choices": chosen,
}


@pytest.mark.parametrize("measures", TAKEN)
def test_a_step_is_taken_once(measures: str) -> None:
    engine = Engine()
    of = measuring(step(measures), engine=engine)
    TAKEN[measures](of)

    with pytest.raises(Overspent, match="taken before"):
        TAKEN[measures](of)

    assert engine.asked == 1, "what is refused is not counted"


@pytest.mark.parametrize("measures", TAKEN)
@pytest.mark.parametrize("announced", [*TAKEN, None])
def test_a_step_that_was_not_announced_is_refused_unseen(measures: str, announced: str | None) -> None:
    if announced == measures:
        return
    engine = Engine()
    of = measuring(*([] if announced is None else [step(announced)]), engine=engine)

    with pytest.raises(Overspent, match="not paid for"):
        TAKEN[measures](of)

    assert engine.asked == 0


def test_two_steps_of_one_name_are_refused() -> None:
    with pytest.raises(Overspent):
        measuring(step("counts"), step("counts")).counts("step", cells(YOUNG, OLD))


def test_cells_in_more_classes_than_were_announced_are_refused() -> None:
    engine = Engine()
    with pytest.raises(Overspent, match="more classes"):
        measuring(step("counts"), engine=engine).counts("step", cells(YOUNG, CITIZENS))
    assert engine.asked == 0

    measuring(step("counts", classes=2)).counts("step", cells(YOUNG, CITIZENS))


def test_sums_that_one_person_changes_by_more_are_refused() -> None:
    with pytest.raises(Overspent, match="change by more"):
        measuring(step("sums")).sums("step", cells(YOUNG, OLD), summed(1, 2))

    measuring(step("sums", sensitivity=2)).sums("step", cells(YOUNG, OLD), summed(1, 2))


def test_nodes_with_people_in_common_and_choices_beyond_the_nodes_are_refused() -> None:
    with pytest.raises(Overspent, match="in common"):
        chosen(measuring(step("choices")), nodes=cells(YOUNG, CITIZENS))
    with pytest.raises(Overspent, match="one choice was paid for"):
        chosen(measuring(step("choices")), rows=3)

    assert len(chosen(measuring(step("choices")))) == 2


@pytest.mark.parametrize(("relation", "people"), [("add_remove", 1), ("replace", 2)])
@pytest.mark.parametrize(
    ("asked", "units"),
    [
        (step("counts"), 1), (step("counts", classes=4), 4), (step("sums", sensitivity=3), 3),
        (step("sums", sensitivity=3, classes=4), 3), (step("choices"), 1), (step("choices", classes=4), 1),
    ],
)  # fmt: skip
def test_the_noise_of_a_step_costs_what_the_step_says(
    asked: LearningStep, units: int, relation: Any, people: int
) -> None:
    """The scale is what one person changes over ε, and OpenDP's map of what is drawn confirms the loss."""
    of = NeighbouringRelation(relation)

    assert asked.loss(of) == Loss(10**9)
    assert asked.quoted(of).scale == pytest.approx(people * units)
    half = replace(asked, epsilon_nano=asked.epsilon_nano // 2)
    assert half.loss(of) == Loss(10**9 // 2)


def test_counts_get_noise_of_their_scale() -> None:
    """2 000 draws of scale 2: the mean absolute noise is 1.92, and that of half the scale 0.85.

    Its standard error is 0.05, so [1.6, 2.3] is left by chance less than once in 10⁹ times.
    """
    noise = [
        abs(count - true)
        for _ in range(1000)
        for count, true in zip(
            measuring(step("counts", classes=2)).counts("step", cells(YOUNG, OLD))[:, 0], PEOPLE, strict=True
        )
    ]

    assert 1.6 <= np.mean(noise) <= 2.3


def test_a_choice_is_noisy() -> None:
    """At ε 0.001 a lead of 40 people is hardly one: all 200 draws alike would be one chance in 10⁵⁰."""
    faint = replace(step("choices"), epsilon_nano=10**6)

    assert {tuple(chosen(measuring(faint))) for _ in range(200)} > {(1, 1)}
