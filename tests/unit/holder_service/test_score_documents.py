"""Hostile score documents are refused; what is admitted is computed as the reference says."""

import pytest
from pydantic import TypeAdapter, ValidationError

from checks.score_documents import by_hand, fuzz, refused
from shared.scores.documents import Document
from shared.wire import limits

HOSTILE = dict(by_hand())


@pytest.mark.parametrize(
    ("kind", "field", "length_max"),
    [
        ("terms", "terms", limits.SCORE_TERMS_MAX), ("trees", "trees", limits.SCORE_TREES_MAX),
        ("trees", "tests", limits.SCORE_TESTS_MAX), ("layers", "inputs", limits.SCORE_UNITS_MAX),
        ("layers", "layers", limits.SCORE_LAYERS_MAX), ("list", "cases", limits.RULES_PER_PLAN_MAX),
        ("choice", "of", limits.SCORE_CLASSES_MAX),
    ],
)  # fmt: skip
def test_a_list_that_is_too_long_is_refused_before_its_items_are_read(kind: str, field: str, length_max: int) -> None:
    with pytest.raises(ValidationError) as refused:
        TypeAdapter(Document).validate_python({"kind": kind, field: ["no item"] * (length_max + 1)})

    errors = [error for error in refused.value.errors() if error["loc"][1:2] == (field,)]
    assert [error["loc"] for error in errors] == [(kind, field)], "no item is looked at"
    assert f"at most {length_max}" in errors[0]["msg"]


@pytest.mark.slow
def test_documents_changed_at_random_are_refused_or_computed_right() -> None:
    tried = fuzz(300, seed=11)

    assert not tried.failures
    assert tried.ends["computed"] > 20
    assert tried.ends["refused as it is read"] > 100


@pytest.mark.slow
@pytest.mark.parametrize("name", HOSTILE)
def test_a_document_that_would_hurt_is_refused(name: str) -> None:
    assert refused(HOSTILE[name]())
