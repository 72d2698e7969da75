"""Metadata: words of any script, bounded, about what is declared and nothing else."""

import json
import time
from typing import Any

import pytest
from pydantic import ValidationError

from shared.contract.datasets import DatasetDeclaration
from shared.contract.metadata import DatasetMetadata
from shared.contract.schema import Column, Schema
from shared.wire import limits
from shared.wire.canonical import digest
from testing.registers import DECLARATION, REGISTER

WORDS: dict[str, Any] = {
    "title": "Kreditanträge 2025 – طلبات القرض",
    "description": "Ten years of loans. 👩‍👩‍👧 नमस्ते",
    "source": "Register of loans",
    "reference_date": "2025-12-31",
    "people": 50_000,
    "contact": "daten@example.org",
    "licence": "CC BY 4.0",
    "columns": {
        "age": {"title": "Age", "unit": "years", "description": "At the time of the application."},
        "sex": {"title": "Geschlecht", "values": {"Female": "women", "Male": "men"}},
        "citizen": {"values": {"true": "citizens", "false": "others"}},
    },
}


def refusal(document: dict[str, Any]) -> str:
    with pytest.raises(ValidationError) as refused:
        DatasetMetadata.model_validate_json(json.dumps(document))
    return str(refused.value)


def test_what_is_written_is_kept_and_nothing_is_added() -> None:
    metadata = DatasetMetadata.model_validate_json(json.dumps(WORDS))

    assert json.loads(metadata.text()) == WORDS
    assert DatasetMetadata.model_validate_json(metadata.text()) == metadata
    assert DatasetMetadata().text() == "{}"
    assert list(metadata.faults(REGISTER.table)) == []


@pytest.mark.parametrize(
    "words",
    [
        "a\u202eb",
        "a\u2066b",
        "a\nb",
        "a\u2028b",
        "a\x00b",
        "\u200d",
        "   ",
        "",
        "a\ufeffb",
        "a\u200bb",
        "a\u034fb",
        "\u2800",
        "\u3164 \uffa0",
        "x" * 201,
        7,
        None,
    ],
)
def test_words_that_are_blank_long_or_turn_the_line_are_refused(words: Any) -> None:
    for document in (
        {"title": words},
        {"columns": {"age": {"title": words}}},
        {"columns": {"sex": {"values": {"f": words}}}},
    ):
        if words is None and "values" not in str(document):
            continue  # which is how a member is left out
        refusal(document)


@pytest.mark.parametrize("day", ["2025-02-30", "31.12.2025", "2025", 20251231, "2025-12-31T00:00"])
def test_a_reference_date_is_a_day_of_the_calendar(day: Any) -> None:
    refusal({"reference_date": day})


def test_words_are_normalised_and_freed_of_blanks_around_them() -> None:
    metadata = DatasetMetadata.model_validate({"title": "  Mu\u0308ller  "})

    assert metadata.title == "M\u00fcller"


def test_two_names_that_are_one_after_nfc_are_refused() -> None:
    assert "one name" in refusal({"columns": {"e\u0301": {"title": "a"}, "\u00e9": {"title": "b"}}})


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"height": {"title": "Height"}}, "no column 'height'"),
        ({"sex": {"unit": "kg"}}, "cannot have a unit"),
        ({"sex": {"values": {"other": "others"}}}, "'other'"),
        ({"citizen": {"values": {"True": "citizens"}}}, "'True'"),
        ({"age": {"values": {"40": "forty"}}}, "'40'"),
    ],
)
def test_words_are_about_what_is_declared(columns: dict[str, Any], said: str) -> None:
    assert said in str(list(DatasetMetadata.model_validate({"columns": columns}).faults(REGISTER.table)))
    with pytest.raises(ValidationError, match=said):
        DatasetDeclaration.model_validate({**DECLARATION, "metadata": {"columns": columns}})


def test_words_about_what_is_not_declared_any_more_go() -> None:
    schema = Schema(
        person_key="id",
        columns=(
            Column(name="sex", type="category", categories=("Female", "Diverse"), sensitive=True),
            Column(name="age", type="boolean"),
        ),
    )
    fitted = DatasetMetadata.model_validate(WORDS).fitted(schema)

    assert list(fitted.faults(schema)) == []
    assert json.loads(fitted.text())["columns"] == {
        "age": {"title": "Age", "description": "At the time of the application."},
        "sex": {"title": "Geschlecht", "values": {"Female": "women"}},
    }


def test_a_declaration_without_metadata_has_the_form_that_it_had() -> None:
    declared = DatasetDeclaration.model_validate(DECLARATION)
    worded = DatasetDeclaration.model_validate({**DECLARATION, "metadata": WORDS})

    assert "metadata" not in declared.model_dump(mode="json")
    assert digest(worded.model_dump(mode="json", exclude={"metadata"})) == digest(declared.model_dump(mode="json"))
    assert worded.table == declared.table


def test_metadata_have_a_size() -> None:
    assert "bytes" in refusal({"columns": {f"c{n}": {"description": "é" * 4000} for n in range(200)}})
    assert "values" in refusal(
        {"columns": {f"c{n}": {"values": {str(m): "w" for m in range(9_000)}} for n in range(3)}}
    )
    assert "members" in refusal({"columns": {f"c{n}": {} for n in range(limits.COLUMNS_PER_DATASET_MAX + 1)}})


def test_a_name_of_a_megabyte_of_combining_marks_is_not_normalised() -> None:
    """Unicode's composition takes hours on it, so a hang is the failure."""
    started = time.process_time()

    refusal({"columns": {"e" + "\u0301\u0327" * 500_000: {"title": "a"}}})

    assert time.process_time() - started < 60
