"""A declaration as text reads back as it was, and a fault's line is the one that it is on."""

import json
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holder_service.domain.declarations import EXAMPLE, declared_text, located
from shared.contract.datasets import DatasetDeclaration

TEXT: Final = """{
  "person_key": "a \\" {[,:",
  "cap": {"epsilon": "10",
          "delta": "0"},
  "columns": [
    {"name": "age", "categories": [
      "x",
      "y"]}, 7,
    [[], {}, {"deep":
      null}]
  ],
  "none": {}
}"""


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("person_key", 2), ("cap", 3), ("cap.epsilon", 3), ("cap.delta", 4), ("columns", 5), ("columns[0]", 6),
        ("columns[0].name", 6), ("columns[0].categories[1]", 8), ("columns[0].type", 6), ("columns[1]", 8),
        ("columns[2]", 9), ("columns[2][2].deep", 9), ("none", 12), ("none.epsilon", 12), ("columns[0].minimum.int", 6),
    ],
)  # fmt: skip
def test_a_fault_has_its_line(path: str, line: int) -> None:
    assert json.loads(TEXT)
    assert located(TEXT, path, "Wrong.") == f"line {line}, {path}: Wrong."


@pytest.mark.parametrize("field", ["missing", "path.dataset", "age"])
def test_what_is_not_in_a_document_has_no_line(field: str) -> None:
    assert located(TEXT, field, "Wrong.") == f"{field}: Wrong."


@pytest.mark.parametrize("text", [TEXT, "[]", "1"])
def test_a_fault_of_a_whole_document_has_no_line(text: str) -> None:
    assert located(text, "body", "Wrong.") == "Wrong."


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: (
            st.lists(inner, max_size=3) | st.dictionaries(st.text('ab"{[,:]}\\', min_size=1), inner, max_size=3)
        ),
    )
)
def test_any_document_has_lines(document: object) -> None:
    """With one item a line, a list's items are on the lines that they are written on."""
    text = "[\n" + ",\n".join(json.dumps(item) for item in [document, 1, document]) + "\n]"

    assert [located(text, f"[{index}]", "") for index in range(3)] == [
        f"line {index + 2}, [{index}]: " for index in range(3)
    ]


def test_a_declaration_reads_back() -> None:
    text = declared_text(EXAMPLE)

    assert DatasetDeclaration.model_validate_json(text) == EXAMPLE
    line = text[: text.index('"sex"')].count("\n") + 1
    assert located(text, "columns[5].sensitive", "Wrong.") == f"line {line}, columns[5].sensitive: Wrong."
