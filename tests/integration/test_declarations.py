"""docs/declaration.md: each example is declared for real, and each field is in its tables and in the JSON Schema."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from typer.testing import CliRunner

from holder_service.cli import app
from shared.contract.datasets import DatasetDeclaration, Limits
from shared.contract.schema import Column
from testing.holders import TestedHolder, running_holder
from testing.registers import DECLARATION
from testing.shown_commands import shown

PAGE: Final = Path(__file__).parents[2] / "docs" / "declaration.md"
EXAMPLES: Final = [json.loads(block) for block in shown(PAGE, "json")]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestedHolder]:
    with running_holder(tmp_path_factory.mktemp("declarations")) as holder:
        yield holder


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_every_example_of_the_page_is_declared(served: TestedHolder, number: int) -> None:
    answer = served.admin("PUT", f"/datasets/example-{number}", json=EXAMPLES[number])

    assert answer.status_code == 200, answer.text


def test_every_field_is_described_and_in_an_example() -> None:
    rows = [names for line in PAGE.read_text().splitlines() if line.startswith("| `") for names in [line.split("|")[1]]]
    described = {name for names in rows for name in re.findall(r"`([a-z_]+)`", names)}

    fields = DatasetDeclaration.model_fields.keys() | Column.model_fields.keys()
    assert fields <= described
    used = {name for example in EXAMPLES for part in (example, *example["columns"]) for name in part}
    assert fields <= used


def test_the_schema_admits_what_is_declared_and_refuses_what_is_not() -> None:
    """With the parts that JSON Schema can say: names of fields, types, required fields."""
    printed = CliRunner().invoke(app, ["admin", "declare", "--schema"])
    schema: dict[str, Any] = json.loads(printed.stdout)

    assert schema["properties"].keys() == DatasetDeclaration.model_fields.keys()
    assert schema["required"] == ["columns"]
    assert schema["additionalProperties"] is False
    assert schema["$defs"]["Column"]["properties"].keys() == Column.model_fields.keys()
    assert schema["$defs"]["Column"]["properties"]["type"]["enum"] == ["boolean", "category", "integer", "number"]


def test_an_auditor_sees_what_was_declared(served: TestedHolder) -> None:
    """Columns with categories and ranges, and how many records there may be; the page says so."""
    served.declare("seen")
    found = served.auditor("GET", "/datasets/seen", key=served.open_auditor("sees", dataset="seen")).json()

    declared = DECLARATION["columns"]
    assert [{name: column[name] for name in one} for one, column in zip(declared, found["columns"], strict=True)] == [
        *declared
    ]
    assert found["records_max"] == DECLARATION["records_max"]
    assert found["limits"].items() >= Limits().model_dump().items()
