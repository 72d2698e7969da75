"""Bands of a sensitive column of numbers: each value in exactly one; what declared none is written as before."""

import math
from typing import Any

import pytest
from pydantic import ValidationError

from holder_service.domain.admitted import band_partition
from shared.contract.schema import Column, Schema
from shared.wire import limits
from testing.invented.plans import atom


def column(**declared: Any) -> Column:
    return Column.model_validate(
        {"name": "age", "type": "integer", "sensitive": True, "bands_from": [25, 45], **declared}
    )


def test_bands_are_named_in_order_by_what_is_in_them() -> None:
    assert column().group_values == ("under 25", "25 to 44", "45 and above")
    assert column(bands_from=[25]).group_values == ("under 25", "25 and above")
    assert column(bands_from=[-5, -4, 0]).group_values == ("under -5", "-5", "-4 to -1", "0 and above")
    assert column(type="number", bands_from=[0.1 + 0.2, 987654321.123]).group_values == (
        "under 0.30000000000000004",
        "0.30000000000000004 to under 987654321.123",
        "987654321.123 and above",
    )
    assert column(type="number", bands_from=[1e17]).group_values == ("under 1e+17", "1e+17 and above")
    assert column(type="number", bands_from=[0.5, 45]).group_values == ("under 0.5", "0.5 to under 45", "45 and above")


@pytest.mark.parametrize(
    ("value", "band"),
    [(24, "under 25"), (25, "25 to 44"), (44, "25 to 44"), (45, "45 and above"), (120, "45 and above")],
)
def test_a_number_belongs_to_the_band_that_begins_with_it(value: int, band: str) -> None:
    assert column().group_value(value) == band


def test_the_double_before_an_edge_is_in_the_band_below() -> None:
    score = column(type="number", bands_from=[0.3])

    assert score.group_value(math.nextafter(0.3, 0)) == "under 0.3"
    assert score.group_value(0.3) == "0.3 and above"
    assert score.group_value(math.nan) is None


def test_missing_is_a_group_of_its_own_behind_the_bands() -> None:
    schema = Schema(
        person_key="id", columns=(column(nullable=True), Column(name="sex", type="boolean", sensitive=True))
    )

    assert [group[0] for group in schema.groups(["age"])] == ["under 25", "25 to 44", "45 and above", None]
    assert schema.group_count(["age", "sex"]) == len(schema.groups(["age", "sex"])) == 8
    assert schema.groups(["sex", "age"])[:2] == ((False, "under 25"), (False, "25 to 44"))
    assert schema.group_of({"age": None, "sex": True}, ["sex", "age"]) == (True, None)


@pytest.mark.parametrize("nullable", [False, True])
@pytest.mark.parametrize("bounds", [{}, {"minimum": 0, "maximum": 120}, {"maximum": 45}, {"minimum": 24}])
def test_the_count_cuts_the_column_as_its_bands_are_declared(nullable: bool, bounds: dict[str, int]) -> None:
    for kind in ("integer", "number"):
        banded = column(type=kind, nullable=nullable, **bounds)
        partition = band_partition(banded)
        values = [value for value in (24, 25, 44, 45, 120) if banded.low <= value <= banded.high]

        assert partition.atoms == len(banded.group_values) + nullable
        for value in values:
            assert banded.group_values[atom(partition, value)] == banded.group_value(value)
        assert not nullable or atom(partition, None) == len(banded.group_values)


@pytest.mark.parametrize(
    ("declared", "why"),
    [
        ({"bands_from": []}, "at least 1 item"),
        ({"bands_from": [45, 25]}, "ascending"),
        ({"bands_from": [25, 25]}, "ascending"),
        ({"bands_from": [25.5]}, "whole numbers"),
        ({"bands_from": [2**60]}, "whole numbers"),
        ({"bands_from": [10**400]}, "whole numbers"),
        ({"bands_from": [10**17], "type": "number"}, "with a decimal point"),
        ({"bands_from": [10**400], "type": "number"}, "with a decimal point"),
        ({"bands_from": [math.inf], "type": "number"}, "finite"),
        ({"bands_from": [0], "minimum": 0}, "within the declared range"),
        ({"bands_from": [121], "maximum": 120}, "within the declared range"),
        ({"bands_from": [-1.7976931348623157e308], "type": "number"}, "within the declared range"),
        ({"sensitive": False}, "sensitive column of numbers"),
        ({"type": "boolean"}, "sensitive column of numbers"),
        ({"type": "category", "categories": ["a"]}, "sensitive column of numbers"),
        ({"bands_from": list(range(1, limits.BANDS_PER_COLUMN_MAX + 1))}, "at most 99 items"),
        ({"randomised_response": {"kept": "0.8"}}, "at least two values"),
    ],
)
def test_bands_that_are_none_are_refused(declared: dict[str, Any], why: str) -> None:
    with pytest.raises(ValidationError, match=why):
        column(**declared)


def test_a_column_without_bands_is_written_as_before_there_were_any() -> None:
    plain = Column(name="age", type="integer", sensitive=True)

    assert "bands_from" not in plain.model_dump(mode="json")
    assert column(type="number", bands_from=[25.0, 45.5]).model_dump(mode="json")["bands_from"] == [25, 45.5]
    with pytest.raises(ValueError, match="does not have bands"):
        plain.group_value(30)
