"""A training's price: the sum of its steps, each with noise of its own loss, from public facts alone."""

from dataclasses import replace
from typing import Any, Final

import pytest

from holder_service.domain.deadlines import AS_SHIPPED, work_s
from holder_service.services.releases.priced import Miscalibrated
from holder_service.services.releases.priced_training import PricedTraining
from holder_service.storage.datasets import Dataset
from shared.contract.relations import NeighbouringRelation, Relation
from shared.contract.schema import Schema
from shared.kinds.trainings import Training
from shared.privacy.amounts import NO_LOSS, Loss
from shared.privacy.charges import SUM
from shared.wire.problems import InvalidPlan, TooLarge
from testing.registers import LEARNABLE, training

SCHEMA: Final = Schema.model_validate({"person_key": "id", "columns": LEARNABLE["columns"]})
DATASET: Final = Dataset("loans", "loans", 10_000, SCHEMA, 1, 1, "file", False, None)


def priced(relation: Relation = "add_remove", *, dataset: Dataset = DATASET, **changes: Any) -> PricedTraining:
    asked = Training.model_validate({**training(), **changes}).pinned(1)
    return PricedTraining.of(asked, dataset, NeighbouringRelation(relation), terms=SUM)


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
@pytest.mark.parametrize("epsilon", ["0.001", "0.1", "0.333333333", "10"])
def test_the_charge_is_the_sum_of_the_steps(relation: Relation, epsilon: str) -> None:
    found = priced(relation, epsilon=epsilon)

    assert sum((Loss(step.epsilon_nano) for step in found.steps), NO_LOSS) == found.charge == found.asked.charge
    for step in found.steps:
        assert step.loss(found.relation).fits_in(Loss(step.epsilon_nano))
        assert step.epsilon_nano - step.loss(found.relation).epsilon_nano <= 1, "of an odd ε two people leave one"


@pytest.mark.parametrize("factor", [2, 0.5])
def test_steps_that_do_not_come_to_the_charge_are_refused(factor: float) -> None:
    first, *others = priced().steps
    changed = replace(first, epsilon_nano=int(first.epsilon_nano * factor))

    with pytest.raises(Miscalibrated, match="would be charged"):
        replace(priced(), steps=(changed, *others))


def test_the_price_is_the_same_whatever_the_records_are() -> None:
    """Nothing of a version is looked at, so a dataset without records has the same steps."""
    empty = replace(DATASET, version=None, records_file=None)

    assert priced(dataset=empty).steps == priced().steps
    assert priced(dataset=empty).quote(None).steps == priced().quote(1).steps


def test_the_deadline_is_that_of_all_steps() -> None:
    found = priced()

    alone = sum(work_s(step.size, records_max=10_000) for step in found.steps)
    assert found.work_ms(AS_SHIPPED).total / 1000 == pytest.approx(alone)


def test_a_training_that_would_take_minutes_is_refused() -> None:
    with pytest.raises(TooLarge, match="seconds of work"):
        priced(dataset=replace(DATASET, records_max=10**9), algorithm={"name": "fair_tree", "depth": 6})


def test_under_sensitive_attribute_it_is_refused_with_a_reason() -> None:
    with pytest.raises(InvalidPlan, match="sensitive_attribute"):
        priced("sensitive_attribute")


def test_too_little_epsilon_for_a_step_is_refused() -> None:
    algorithm = {"name": "fair_tree", "depth": 8, "splits": "0.01"}
    with pytest.raises(InvalidPlan, match=r"would get epsilon 0\.00000125"):
        priced(epsilon="0.001", algorithm=algorithm, features=[{"column": "citizen"}])


def test_a_column_of_reports_makes_no_groups() -> None:
    perturbed = {"name": "sex", "type": "category", "categories": ["Female", "Male"], "sensitive": True,
                 "randomised_response": {"kept": "0.8"}}  # fmt: skip
    columns = [perturbed if column["name"] == "sex" else column for column in LEARNABLE["columns"]]
    reported = replace(DATASET, schema=Schema.model_validate({"person_key": "id", "columns": columns}))

    with pytest.raises(InvalidPlan, match="perturbed at its source"):
        priced(dataset=reported)
