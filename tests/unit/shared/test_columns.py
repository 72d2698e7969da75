"""Derived columns: what they are called, which the contract refuses, and that as many fit as a plan may name."""

from typing import Any

import pytest
from pydantic import ValidationError

from shared.contract.schema import Column, Schema
from shared.scores.columns import DerivedColumn, column_id, extended
from shared.wire import limits

SCHEMA = Schema(
    person_key="id", columns=(Column(name="age", type="integer"), Column(name="hours", type="number", nullable=True))
)
SCORE: dict[str, Any] = {
    "name": "score",
    "type": "number",
    "from": {"score": {"kind": "terms", "precision": "float64", "terms": [{"columns": ["age"], "slope": 2}]}},
}
LINKED: dict[str, Any] = {
    "name": "decision",
    "type": "category",
    "categories": ["granted", "refused"],
    "nullable": True,
    "from": "linked",
    "values": f"sha256:{'0' * 64}",
}


def test_a_blinded_id_follows_from_the_blinding_and_only_linked_values_are_blinded() -> None:
    one, other = (
        column_id(DerivedColumn.model_validate({**LINKED, **blinded}), auditor="ADR", dataset="loans")
        for blinded in ({}, {"blinding": "7" * 64})
    )

    assert one != other
    with pytest.raises(ValidationError, match="Only linked values are blinded"):
        DerivedColumn.model_validate({**SCORE, "blinding": "7" * 64})


def test_the_widest_dataset_takes_as_many_derived_columns_as_a_plan_names() -> None:
    declared = [Column(name=f"c{number}", type="boolean") for number in range(limits.COLUMNS_PER_DATASET_MAX)]
    derived = {
        f"d{number}": Column(name=f"d{number}", type="boolean") for number in range(limits.DERIVED_COLUMNS_PER_PLAN_MAX)
    }

    assert len(extended(Schema(person_key="id", columns=tuple(declared)), derived, reads={}).columns) == len(
        declared
    ) + len(derived)


def test_a_column_keeps_its_id_for_ever() -> None:
    score = DerivedColumn.model_validate(SCORE)

    named = column_id(score, auditor="ADR", dataset="loans")

    assert named == column_id(DerivedColumn.model_validate(score.document()), auditor="ADR", dataset="loans")
    assert (
        len({named, column_id(score, auditor="other", dataset="loans"), column_id(score, auditor="ADR", dataset="x")})
        == 3
    )


@pytest.mark.parametrize(
    ("asked", "changes", "words"),
    [
        (LINKED, {"nullable": False}, "A linked column is nullable"),
        (LINKED, {"values": None}, "names the SHA-256"),
        (SCORE, {"values": f"sha256:{'0' * 64}"}, "a score has none"),
        (SCORE, {"type": "integer"}, "is of type number"),
        (SCORE, {"maximum": 5}, "must not declare a range"),
        (SCORE, {"name": "no such name!"}, "should match pattern"),
        (LINKED, {"categories": ["granted", "granted"]}, "lists a category twice"),
    ],
)
def test_what_is_no_derived_column_is_refused(asked: dict[str, Any], changes: dict[str, Any], words: str) -> None:
    with pytest.raises(ValidationError, match=words):
        DerivedColumn.model_validate({**asked, **changes})


def test_a_list_says_only_what_the_column_declares() -> None:
    document = {"kind": "list", "cases": [{"rule": {"all_of": []}, "value": "granted"}], "otherwise": "unknown"}

    with pytest.raises(ValidationError, match="List all its values"):
        DerivedColumn.model_validate({**LINKED, "values": None, "from": {"score": document}})
