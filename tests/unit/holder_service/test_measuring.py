"""The only way in which a learner counts: each step that was paid for, once, and no more than was paid for."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np
import pytest

from holder_service.domain.deadlines import PlanSize
from holder_service.learning.features import Path
from holder_service.learning.measuring import Combination, LearningStep, Measuring
from holder_service.learning.overspent import Overspent
from holder_service.learning.split_scores import NodeSplits, ScoredSplits, SplitTable
from holder_service.records.counting import TrueCounts
from holder_service.records.engines import EncodedVersion
from shared.contract.relations import NeighbouringRelation
from shared.contract.rules import Cell
from shared.contract.schema import Schema
from shared.privacy.amounts import Loss
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
OTHERS: Final = {"id": "others", "all_of": [{"column": "citizen", "op": "eq", "value": False}]}


def cells(*documents: dict[str, Any]) -> list[Cell]:
    return [Cell.model_validate(one) for one in documents]


class Engine:
    """Counts the same whatever it is asked, and notes how often it was."""

    def __init__(self, *people: int) -> None:
        self.asked = 0
        self._people = people or PEOPLE

    def count(self, *_: Any) -> TrueCounts:
        self.asked += 1
        return TrueCounts(np.array(self._people, dtype=np.int64).reshape(-1, 1))


def step(measures: Any, *, name: str = "step", classes: int = 1, sensitivity: int = 1) -> LearningStep:
    return LearningStep(name, measures, 10**9, classes, SIZE, sensitivity)


def measuring(*steps: LearningStep, engine: Engine | None = None) -> Measuring:
    version = EncodedVersion("loans", "file", SCHEMA)
    return Measuring(engine or Engine(), version, SCHEMA, NeighbouringRelation("add_remove"), steps)


def summed(*weights: int) -> list[Combination]:
    return [Combination(np.arange(len(weights)), np.array(weights))]


def path(document: dict[str, Any]) -> Path:
    return cells(document)[0].any_of[0].all_of


def by_age(*, bins: tuple[dict[str, Any], ...] = (YOUNG,), left: Sequence[int] = (1,)) -> SplitTable:
    """Candidates over bins of age, of which one alone goes left; then that none does."""
    return SplitTable(tuple(map(path, bins)), np.array([left, [0] * len(bins)]))


def splits(
    *nodes: dict[str, Any],
    table: SplitTable | None = None,
    people: tuple[dict[str, Any], dict[str, Any]] = (YOUNG, OLD),
) -> list[NodeSplits]:
    """The same candidates of some nodes; of everybody where none is named."""
    paths = [path(one) for one in nodes] or [()]
    return [NodeSplits(one, (path(people[0]), path(people[1])), (table or by_age(),)) for one in paths]


def chosen(of: Measuring) -> list[int]:
    return of.choices("step", splits())


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

    with pytest.raises(Overspent, match="not charged"):
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


@pytest.mark.parametrize(
    "asked",
    [
        splits(YOUNG, CITIZENS),
        splits(table=by_age(bins=(YOUNG, CITIZENS), left=(1, 0))),
        splits(people=(YOUNG, CITIZENS)),
        splits(table=by_age(left=(2,))),
        splits(table=by_age(left=(-1,))),
        [*splits(YOUNG), *splits(YOUNG)],
        [
            one._replace(tables=(by_age(), by_age(bins=(OLD,)))[::order])
            for one, order in zip(splits() * 2, (1, -1), strict=True)
        ],
    ],
    ids=["nodes", "bins", "A and B", "a bin twice", "a bin less than never", "a node twice", "nodes in turn"],
)
def test_choices_by_scores_that_one_person_moves_by_more_are_refused_unseen(asked: list[NodeSplits]) -> None:
    engine = Engine()

    with pytest.raises(Overspent, match=r"in common|one side|A and B do"):
        measuring(step("choices"), engine=engine).choices("step", asked)

    assert engine.asked == 0


def test_a_score_is_the_larger_of_both_sorts_on_either_side() -> None:
    """30 of A and 70 of B in the one bin, all left or all right: 70 either way. Of two bins it is added up."""
    table = by_age(bins=(YOUNG, OLD), left=(1, 0))
    (node,) = splits(table=table, people=(CITIZENS, OLD))

    assert node.scores(np.array([30, 70, 40, 10])) == [70 + 40, 80]
    assert ScoredSplits.of(splits(), SCHEMA).scores(np.array(PEOPLE)) == [[70, 70]]


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
    """At ε 0.001 a lead of 30 people is hardly one: all 200 draws alike would be one chance in 10⁵⁰."""
    parted = splits(table=by_age(bins=(YOUNG, OLD), left=(1, 0)), people=(CITIZENS, OTHERS))
    faint, strong = (replace(step("choices"), epsilon_nano=nano) for nano in (10**6, 10**12))

    assert {tuple(measuring(faint, engine=Engine(70, 0, 0, 30)).choices("step", parted)) for _ in range(200)} == {
        (0,), (1,)
    }  # fmt: skip
    assert {tuple(measuring(strong, engine=Engine(70, 0, 0, 30)).choices("step", parted)) for _ in range(200)} == {(0,)}
