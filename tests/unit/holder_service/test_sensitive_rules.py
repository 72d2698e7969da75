"""Rules that name sensitive columns: only where declared, at the price of moving a person, and never of reports."""

from typing import Any

import pytest

from holder_service.domain.errors import AlreadyCharged
from holder_service.domain.pricing import price
from holder_service.domain.sensitive_columns import require_one_set
from holder_service.mechanisms.calibration import mechanism_of
from shared.contract.datasets import DatasetDeclaration
from shared.contract.relations import NeighbouringRelation, Relation
from shared.contract.schema import Schema
from shared.kinds.plans import Plan
from shared.scores.columns import DerivedColumn, extended
from shared.wire.problems import InvalidPlan, SensitiveColumn

COLUMNS: list[dict[str, Any]] = [
    {"name": "hours", "type": "number"},
    {"name": "age", "type": "integer", "minimum": 0, "maximum": 120, "sensitive": True, "bands_from": [25, 45]},
    {"name": "sex", "type": "category", "categories": ["Female", "Male"], "sensitive": True},
    {"name": "said", "type": "boolean", "sensitive": True, "randomised_response": {"kept": "0.8"}},
]
FORBIDDEN = Schema.model_validate({"person_key": "id", "columns": COLUMNS})
ALLOWED = Schema.model_validate({"person_key": "id", "columns": COLUMNS, "sensitive_in_rules": True})


def rule(column: str, op: str, value: Any) -> dict[str, Any]:
    return {"id": f"{column} {op} {value}", "all_of": [{"column": column, "op": op, "value": value}]}


def plan(*cells: dict[str, Any], sensitive: str = "sex", mechanism: str = "laplace") -> Plan:
    asked: dict[str, Any] = {"name": "one", "mechanism": {"name": mechanism}, "cells": list(cells)}
    if mechanism != "randomised_response":
        asked["epsilon"] = "1"
    return Plan.model_validate({"sensitive": [sensitive], "batches": [asked]})


YOUNG, OLD = rule("age", "lt", 40), rule("age", "ge", 40)
WOMEN, MEN = rule("sex", "eq", "Female"), rule("sex", "eq", "Male")
LONG = rule("hours", "gt", 30)


@pytest.mark.parametrize("cell", [YOUNG, WOMEN])
def test_a_rule_names_a_sensitive_column_only_where_that_is_declared(cell: dict[str, Any]) -> None:
    with pytest.raises(SensitiveColumn, match="sensitive_in_rules"):
        plan(cell).check(FORBIDDEN)

    plan(cell).check(ALLOWED)


def test_a_perturbed_column_is_in_no_rule_whatever_is_declared() -> None:
    with pytest.raises(SensitiveColumn, match="perturbed at its source"):
        plan(rule("said", "eq", True)).check(ALLOWED)


def test_counts_without_noise_are_by_no_rule_that_names_a_sensitive_column() -> None:
    """Reports leave as they are: by sex they would show everybody's sex for nothing."""
    plan(LONG, sensitive="said", mechanism="randomised_response").check(ALLOWED)

    with pytest.raises(InvalidPlan, match="show its values"):
        plan(WOMEN, sensitive="said", mechanism="randomised_response").check(ALLOWED)


@pytest.mark.parametrize(
    ("relation", "cells", "scale"),
    [
        ("add_remove", [WOMEN, MEN], 1), ("add_remove", [LONG], 1),
        ("replace", [WOMEN, MEN], 2), ("replace", [LONG], 2),
        ("sensitive_attribute", [WOMEN, MEN], 2), ("sensitive_attribute", [YOUNG], 2),
        ("sensitive_attribute", [LONG, WOMEN], 2), ("sensitive_attribute", [LONG], 1),
    ],
)  # fmt: skip
def test_under_sensitive_attribute_a_named_column_makes_two_counts_of_two_groups_change(
    relation: Relation, cells: list[dict[str, Any]], scale: int
) -> None:
    """The price follows from the plan and the declaration; a batch that names none costs as without the permission."""
    asked = plan(*cells)
    neighbouring = NeighbouringRelation(relation)
    moved = asked.batches[0].names_sensitive(ALLOWED)
    alone = relation == "sensitive_attribute" and scale == 1

    noise = mechanism_of(asked.batches[0], relation=neighbouring, schema=ALLOWED, sensitive=asked.sensitive).noise

    assert noise.scale == pytest.approx(scale)  # type: ignore[union-attr]  # Laplace noise has one
    groups = ALLOWED.groups(asked.sensitive)
    assert neighbouring.counted_groups(groups, moved=moved) == (groups[:1] if alone else None)


def test_cells_are_proved_disjoint_on_sensitive_columns_too() -> None:
    def classes(*cells: dict[str, Any]) -> int:
        return len(price(plan(*cells), ALLOWED).batches[0].classes)

    assert classes(WOMEN, MEN) == classes(YOUNG, OLD) == 1
    assert classes(YOUNG, rule("age", "ge", 39)) == classes(WOMEN, YOUNG) == 2


SCORE: dict[str, Any] = {
    "kind": "terms", "precision": "float64", "terms": [{"columns": ["age"], "slope": 1.0}],
}  # fmt: skip


def score(document: dict[str, Any]) -> DerivedColumn:
    return DerivedColumn.model_validate({"name": "score", "type": "number", "from": {"score": document}})


def test_a_score_of_a_sensitive_column_is_made_and_named_only_where_that_is_declared() -> None:
    made = score(SCORE)
    above = plan(rule("score", "gt", 40))
    moving, forbidden = (
        extended(schema, {"score": made.column}, reads={"score": made.reads}) for schema in (ALLOWED, FORBIDDEN)
    )

    with pytest.raises(SensitiveColumn):
        made.check(FORBIDDEN)
    made.check(ALLOWED)
    assert above.batches[0].names_sensitive(moving)
    above.check(moving)
    with pytest.raises(SensitiveColumn):  # it was made while that was allowed
        above.check(forbidden)


def test_a_score_of_features_moves_nobody() -> None:
    made = score({**SCORE, "terms": [{**SCORE["terms"][0], "columns": ["hours"]}]})
    schema = extended(ALLOWED, {"score": made.column}, reads={"score": made.reads})
    linked = extended(ALLOWED, {"score": made.column}, reads={"score": (ALLOWED.row_column,)})

    for one in (schema, linked):
        assert not plan(rule("score", "gt", 40)).batches[0].names_sensitive(one)


def test_after_a_charge_no_dataset_begins_to_allow_it_under_sensitive_attribute() -> None:
    before, after = {"one": FORBIDDEN}, {"one": ALLOWED}

    require_one_set("add_remove", after, charged=[before])
    require_one_set("sensitive_attribute", after)
    require_one_set("sensitive_attribute", before, charged=[after])
    require_one_set("sensitive_attribute", {**after, "two": FORBIDDEN}, charged=[after])
    for schemas in (after, {**before, "two": ALLOWED}):
        with pytest.raises(AlreadyCharged, match="leave `sensitive_in_rules` out"):
            require_one_set("sensitive_attribute", schemas, charged=[before])


def test_what_does_not_allow_it_is_written_as_before() -> None:
    declared = DatasetDeclaration.model_validate({"person_key": "id", "columns": COLUMNS[:3]})

    assert "sensitive_in_rules" not in declared.model_dump(mode="json")
    assert declared.table.model_dump(mode="json").keys() == {"person_key", "columns"}
    assert DatasetDeclaration.model_validate(
        {"person_key": "id", "columns": COLUMNS[:3], "sensitive_in_rules": True}
    ).table.sensitive_in_rules
