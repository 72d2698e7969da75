"""The examples of docs/scores.md are documents, and worth what the page says."""

import re
from pathlib import Path

import pytest
from pydantic import TypeAdapter

from shared.contract.rules import Record
from shared.contract.schema import Column, Schema
from shared.scores.documents import Document, check_document
from shared.scores.values import score_value

PAGE = (Path(__file__).parents[3] / "docs" / "scores.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)
SCHEMA = Schema(
    person_key="id",
    columns=(
        Column(name="age", type="integer", minimum=0, maximum=120, nullable=True),
        Column(name="income", type="number", nullable=True),
        Column(name="arrears", type="integer", minimum=0, maximum=99),
        Column(name="region", type="category", categories=("N", "E", "S", "W")),
        Column(name="housing", type="category", categories=("own", "rent", "free"), nullable=True),
    ),
)
PERSON: Record = {"age": 25, "income": 30_000.0, "arrears": 3, "region": "N", "housing": None}
VALUES = [0.5 + 0.1 + 0.05, 600 - 20 - 12 + 60 - 40, None, "refuse", "high"]


@pytest.mark.parametrize("index", range(len(VALUES)))
def test_an_example_is_worth_what_the_page_says(index: int) -> None:
    document: Document = TypeAdapter(Document).validate_json(EXAMPLES[index])
    check_document(document, SCHEMA)

    value = score_value(document, PERSON)

    if VALUES[index] is None:
        assert isinstance(value, float)
        assert 0 < value < 1
    else:
        assert value == (pytest.approx(VALUES[index], abs=1e-6) if isinstance(value, float) else VALUES[index])


def test_every_kind_has_an_example() -> None:
    assert len(EXAMPLES) == len(VALUES)
