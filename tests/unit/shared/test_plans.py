"""Plans: identity by meaning, limits, and what a schema refuses."""

from typing import Any

import pytest
from pydantic import ValidationError

from shared.contract.schema import Schema
from shared.kinds.plans import Plan
from shared.wire import limits
from shared.wire.problems import InvalidPlan, SensitiveColumn, TooLarge, UnknownColumn
from testing.documents import put

SCHEMA = Schema.model_validate(
    {
        "person_key": "id",
        "columns": [
            {"name": "age", "type": "integer", "minimum": 0, "maximum": 120},
            {"name": "job", "type": "category", "categories": ["a", "b", "c"]},
            {"name": "sex", "type": "category", "categories": ["Female", "Male"], "sensitive": True},
            {"name": "height", "type": "number", "sensitive": True},
        ],
    }
)
PLAN: dict[str, Any] = {
    "sensitive": ["sex"],
    "version": 1,
    "batches": [
        {
            "name": "verdict",
            "mechanism": {"name": "laplace"},
            "epsilon": "0.1",
            "cells": [
                {"id": "young", "all_of": [{"column": "age", "op": "le", "value": 30}]},
                {"id": "ab", "any_of": [{"all_of": [{"column": "job", "op": "in", "values": ["a", "b"]}]}]},
            ],
        }
    ],
}


def changed(**at: Any) -> dict[str, Any]:
    """The plan with some values changed: `batches__0__epsilon="0.2"`."""
    document = PLAN
    for path, value in at.items():
        document = put(document, tuple(int(part) if part.isdigit() else part for part in path.split("__")), value)
    return document


def name_of(document: dict[str, Any], auditor: str = "ADR", dataset: str = "adult") -> str:
    return Plan.model_validate(document).identity(auditor=auditor, dataset=dataset)


@pytest.mark.parametrize(
    "spelling",
    [
        changed(draw=1),
        changed(batches__0__epsilon="0.100"),
        changed(batches__0__cells__0__all_of__0__value=30.0),
        changed(batches__0__cells__0__all_of__0__or_missing=False),
        changed(batches__0__cells__1__any_of__0__all_of__0__values=["b", "a", "b"]),
        changed(batches__0__cells__1__any_of__0__id=None),
    ],
)
def test_another_spelling_is_the_same_plan(spelling: dict[str, Any]) -> None:
    assert name_of(spelling) == name_of(PLAN)


@pytest.mark.parametrize(
    "other",
    [
        changed(draw=2),
        changed(version=2),
        changed(batches__0__epsilon="0.2"),
        changed(batches__0__name="other"),
        changed(batches__0__cells__0__id="other"),
        changed(batches__0__cells__0__all_of__0__op="lt"),
        changed(batches__0__cells=PLAN["batches"][0]["cells"][::-1]),
    ],
)
def test_another_meaning_is_another_plan(other: dict[str, Any]) -> None:
    assert name_of(other) != name_of(PLAN)


def test_a_plan_of_another_auditor_or_about_another_dataset_is_another_plan() -> None:
    assert len({name_of(PLAN), name_of(PLAN, auditor="BDR"), name_of(PLAN, dataset="german")}) == 3


def test_an_unpinned_plan_has_no_identity() -> None:
    with pytest.raises(ValueError, match="Pin the plan"):
        name_of(changed(version=None))


def test_a_canonical_document_is_a_fixed_point() -> None:
    document = Plan.model_validate(PLAN).document()

    assert Plan.model_validate(document).document() == document


@pytest.mark.parametrize(
    "bad",
    [
        changed(sensitive=[]),
        changed(sensitive=["sex", "sex"]),
        changed(version=0),
        changed(version="1"),
        changed(draw=0),
        changed(draw=limits.DRAW_MAX + 1),
        changed(draw=True),
        changed(batches=[]),
        changed(batches__0__cells=[]),
        changed(batches__0__epsilon=0.1),
        changed(batches__0__mechanism={"name": "geometric"}),
        changed(batches__0__cells__1__id="young"),
        changed(batches__0__unknown=1),
        changed(batches__0__cells__1__any_of=[]),
        changed(unknown=1),
    ],
)
def test_a_malformed_plan_does_not_exist(bad: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        Plan.model_validate(bad)


@pytest.mark.parametrize(
    ("bad", "error"),
    [
        (changed(sensitive=["sexx"]), UnknownColumn),
        (changed(sensitive=["age"]), InvalidPlan),
        (changed(sensitive=["height"]), InvalidPlan),
        (changed(batches__0__cells__0__all_of__0__column="sex"), SensitiveColumn),
        (changed(batches__0__cells__0__all_of__0__column="id"), UnknownColumn),
    ],
)
def test_a_plan_that_does_not_fit_the_schema_is_refused(bad: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        Plan.model_validate(bad).check(SCHEMA)


def test_a_plan_over_the_limits_is_refused_before_anything_else() -> None:
    rule: dict[str, list[Any]] = {"all_of": []}
    cells = [{"id": str(n), "any_of": [rule] * 3} for n in range(limits.RULES_PER_PLAN_MAX // 3 + 1)]

    with pytest.raises(TooLarge, match=str(limits.RULES_PER_PLAN_MAX)):
        Plan.model_validate(changed(batches__0__cells=cells)).require_small()
