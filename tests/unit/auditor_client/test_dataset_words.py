"""Declared names as people read them: titles, units and values where the holder wrote some, else the names."""

import re
from typing import Any

import pytest

from auditor_client.dataset_words import DatasetWords
from auditor_client.report.languages import Language
from shared.contract.metadata import DatasetMetadata
from shared.contract.rules import Rule
from shared.contract.schema import Column, Schema
from testing.registers import LOANS

METADATA = DatasetMetadata.model_validate(
    {
        "title": "Applications for loans",
        "columns": {
            "hours": {"title": "working time", "unit": "hours per week"},
            "age": {"unit": "years"},
            "sex": {"title": "Geschlecht", "values": {"Female": "women"}},
            "citizen": {"values": {"true": "citizen", "false": "no citizen"}},
            "region": {"values": {"North": "the north", "South": "the south"}},
        },
    }
)
WRITTEN = DatasetWords("register", LOANS.table, METADATA)
PLAIN = DatasetWords("register", LOANS.table)


@pytest.mark.parametrize(
    ("predicate", "written", "plain"),
    [
        (
            {"column": "hours", "op": "le", "value": 37.5},
            "working time (hours per week) is at most 37.5 (or missing)",
            None,
        ),
        ({"column": "age", "op": "ge", "value": 18}, "age (years) is at least 18", "age is at least 18"),
        ({"column": "citizen", "op": "eq", "value": True}, "citizen is citizen", "citizen is yes"),
        ({"column": "region", "op": "ne", "value": "East"}, "region is not East", "region is not East"),
        (
            {"column": "region", "op": "in", "values": ["East", "North"]},
            "region is East or the north",
            "region is East or North",
        ),
        ({"column": "sex", "op": "eq", "value": "Male"}, "Geschlecht is Male", "sex is Male"),
    ],
)
def test_a_rule_is_said_in_the_holders_words(predicate: dict[str, Any], written: str, plain: str | None) -> None:
    missing = {"or_missing": True} if "missing" in written else {}
    rule = Rule.model_validate({"all_of": [{**predicate, **missing}]})

    assert [str(one) for one in WRITTEN.rule(rule)] == [written]
    if plain is not None:
        assert [str(one) for one in PLAIN.rule(rule)] == [plain]


def test_bands_are_named_in_every_language() -> None:
    ages = Column.model_validate(
        {"name": "age", "type": "integer", "minimum": 0, "maximum": 120, "sensitive": True, "bands_from": [25, 45, 46]}
    )
    shares = Column.model_validate(
        {"name": "share", "type": "number", "minimum": -1, "maximum": 1, "sensitive": True, "bands_from": [-0.25, 0.5]}
    )
    metadata = DatasetMetadata.model_validate({"columns": {"age": {"values": {"46 and above": "elder"}}}})
    words = DatasetWords("register", Schema(columns=(ages, shares), person_key="id"), metadata)

    for column, german in (
        (ages, ["unter 25", "25 bis 44", "45", "elder"]),
        (shares, ["unter -0.25", "-0.25 bis unter 0,5", "ab 0,5"]),
    ):
        said = [words.value(column.name, value) for value in column.group_values]
        assert said == [*column.group_values[: len(said) - 1], "elder" if column is ages else "0.5 and above"]
        assert [Language.of("de").say(value) for value in said] == german
        assert {type(value) for value in column.group_values} == {str}, "as they are sent and stored"


def test_groups_and_titles() -> None:
    assert WRITTEN.group(("sex", "origin"), ("Female", None)) == ("women", "missing")
    assert WRITTEN.group(("sex",), ("Male",)) == ("Male",)
    assert PLAIN.group(("sex", "origin"), ("Female", None)) == ("Female", "missing")
    assert WRITTEN.columns(("sex", "origin")) == ("Geschlecht", "origin")
    assert (WRITTEN.title, PLAIN.title) == ("Applications for loans", "register")
    assert WRITTEN.value("citizen", value=False) == "no citizen"


def test_every_word_of_a_value_is_a_declared_ones() -> None:
    """A number that looks like a value's name is said as a number."""
    words = DatasetWords(
        "register", LOANS.table, DatasetMetadata.model_validate({"columns": {"age": {"title": "Age"}}})
    )

    [said] = words.rule(Rule.model_validate({"all_of": [{"column": "age", "op": "eq", "value": 40}]}))
    assert re.fullmatch("Age is 40", str(said))
