"""What was read is compared with its maker: on the thresholds, and a difference is not overlooked."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from auditor_client.errors import ModelRefused
from auditor_client.models.checking import MakersAnswers, checked, compare
from auditor_client.models.inventing import Invented, invent
from auditor_client.models.read_model import Provenance, ReadModel, above, among
from shared.contract.rules import Predicate
from shared.scores.columns import DerivedColumn
from shared.scores.documents import Choice, Document, Product, ScoreTree, Terms, Trees
from testing.invented.models import SCHEMA

NEAR = 0.1 + 0.2


def forest(op: Any = "le", threshold: float = NEAR) -> Trees:
    return Trees(
        kind="trees",
        precision="float64",
        tests=(
            Predicate(column="hours", op=op, value=threshold),
            Predicate.model_validate({"column": "city", "op": "in", "values": ["Aa", "Bb"], "or_missing": True}),
        ),
        trees=(ScoreTree(tests=(0, 1), yes=(1, -3), no=(-1, -2), values=(0.25, 0.5, 1.0)),),
    )


def read(document: Document, threshold: float = 0.5) -> ReadModel:
    if isinstance(document, Choice):
        column = DerivedColumn.model_validate(
            {"name": "d", "type": "category", "categories": document.categories, "from": {"score": document}}
        )
        return ReadModel(among("d", document.categories, document.categories[:1]), (column,))
    column = DerivedColumn.model_validate(
        {"name": "s", "type": "number", "nullable": True, "from": {"score": document}}
    )
    tree = above("s", threshold, favourable=("yes", "no"))
    return ReadModel(tree, (column,), "s", (threshold,), provenance=Provenance("a model", "test"))


def by_hand(less: Callable[[Any, Any], Any] = np.less_equal) -> Callable[[Invented], MakersAnswers]:
    def ask(records: Invented) -> MakersAnswers:
        below = less(records.values["hours"], NEAR)
        city = np.array([value in ("Aa", "Bb", None) for value in records.values["city"]])
        scores = np.where(below, np.where(city, 1.0, 0.5), 0.25)
        return MakersAnswers(scores > 0.5, {"s": scores})

    return ask


def test_a_document_that_is_its_maker_agrees_everywhere() -> None:
    checked_model = checked(read(forest()), SCHEMA, by_hand())

    assert checked_model.provenance is not None
    assert checked_model.provenance.probes == 40_000
    assert (checked_model.provenance.differing, checked_model.provenance.largest) == (0, 0.0)


@pytest.mark.parametrize("fault", [forest(op="lt"), forest(threshold=float(np.float32(NEAR)))])
def test_a_threshold_that_is_off_by_one_double_is_found(fault: Trees) -> None:
    """The negative control: less for at most, and a threshold rounded to float32."""
    with pytest.raises(ModelRefused, match=r"decides otherwise than the model itself on \d+ of 40000"):
        checked(read(fault), SCHEMA, by_hand())


def test_a_score_that_differs_where_the_decision_does_not_is_found() -> None:
    other = forest().model_copy(update={"base": 1e-9})

    assert compare(read(other), SCHEMA, by_hand(), invent([other], SCHEMA, 4000)).outside > 0


def test_records_sit_on_every_threshold_and_beside_it() -> None:
    records = invent([forest()], SCHEMA, 4000)

    hours = records.values["hours"]
    assert {np.nextafter(NEAR, -1), NEAR, np.nextafter(NEAR, 1)} <= set(hours.tolist())
    assert set(records.values["city"]) == {*"Aa Bb Cc Dd Ee Ff Gg".split(), None}
    assert set(records.values["children"]) <= set(range(-1, 7))
    assert np.isnan(records.values["income"]).any()
    assert "sex" not in records.values
    assert [type(value) for value in records.records(SCHEMA)[0].values()][:2] == [int, int]


def test_deep_leaves_are_reached() -> None:
    """Some records go a random way through a tree whose leaf 24 needs 24 columns' worth of luck."""
    tests = tuple(Predicate(column="hours", op="gt", value=number) for number in range(24))
    deep = Trees(
        kind="trees", precision="float64", tests=tests, trees=(
            ScoreTree(tests=tuple(range(24)), yes=(*range(1, 24), -1), no=tuple(range(-2, -26, -1)),
                      values=tuple(range(25))),
        ),
    )  # fmt: skip
    asked: list[Invented] = []

    def ask(records: Invented) -> MakersAnswers:
        asked.append(records)
        steps = np.clip(np.ceil(records.values["hours"]), 0, 24)
        return MakersAnswers(np.where(steps == 24, 0, steps + 1) > 0.5)

    assert checked(read(deep), SCHEMA, ask).provenance is not None
    assert len(np.unique(np.ceil(asked[0].values["hours"]).clip(0, 24))) == 25


def test_within_the_bound_of_rounding_decisions_may_differ_and_outside_not() -> None:
    line = Terms(kind="terms", precision="float64", terms=(Product(columns=("hours",), slope=1.0),))

    def ask(records: Invented, shift: float, bound: float) -> MakersAnswers:
        scores = records.values["hours"] + shift
        return MakersAnswers(scores > NEAR, {"s": scores}, {"s": np.full(records.count, bound)})

    around = np.nextafter(NEAR, [-1, 1]).tolist()
    records = Invented(3, {"hours": np.array([*around, 5.0])})
    model = read(line, NEAR)

    near = compare(model, SCHEMA, lambda records: ask(records, 1e-15, 1e-14), records)
    assert (near.differing, near.outside, near.inside) == (1, 0, 2)
    assert near.largest == pytest.approx(1e-15, rel=0.2)
    assert compare(model, SCHEMA, lambda records: ask(records, 1e-12, 1e-14), records).outside == 3
    provenance = checked(model, SCHEMA, lambda records: ask(records, 0.0, 1e-14)).provenance
    assert provenance is not None
    assert (provenance.bound, provenance.largest) == (1e-14, 0.0)


def test_a_choice_is_compared_class_by_class() -> None:
    choice = Choice(kind="choice", categories=("a", "b"), of=(forest(), forest().model_copy(update={"base": -0.4})))

    def ask(records: Invented, fault: float = 0.0) -> MakersAnswers:
        scores = by_hand()(records).scores["s"]
        both = np.column_stack([scores, scores - 0.4 + fault])
        return MakersAnswers(both[:, 0] >= both[:, 1], {"d": both})

    assert checked(read(choice), SCHEMA, lambda records: replace(ask(records), scores={})).columns
    with pytest.raises(ModelRefused, match="decides otherwise"):
        checked(read(choice), SCHEMA, lambda records: ask(records, 1.0))
