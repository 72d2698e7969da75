"""Amounts: decimal strings and integers of 10⁻⁹, exactly, and nothing else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ValidationError

from shared.amounts import Amount, Delta, Epsilon, InvalidAmount, PrivacyLoss, format_nano, parse_nano


class Holding(BaseModel):
    amount: Amount = 0
    epsilon: Epsilon = 1
    delta: Delta = 1


@given(st.integers(0, 10**12 - 1))
def test_every_amount_survives_its_text(nano: int) -> None:
    assert parse_nano(format_nano(nano)) == nano


@pytest.mark.parametrize(
    ("text", "nano"),
    [("0.1", 10**8), ("0.10", 10**8), ("0", 0), ("1", 10**9), ("999.999999999", 10**12 - 1), ("0.000000001", 1)],
)
def test_equal_amounts_have_one_value(text: str, nano: int) -> None:
    assert parse_nano(text) == nano


@pytest.mark.parametrize(
    "text",
    ["", " 1", "1 ", "1\n", "+1", "-1", "-0", "1.", ".1", "01", "1e3", "1e400", "1_0", "1,0", "0x1", "NaN", "nan",
     "Infinity", "inf", "1000", "0.0000000001", "٣", "１", 0.1, 1, True, None, ["1"], {"a": 1}],
)  # fmt: skip
def test_anything_else_is_refused_with_what_to_write(text: object) -> None:
    with pytest.raises(InvalidAmount, match="decimal string"):
        parse_nano(text)


@pytest.mark.parametrize(
    ("field", "text"),
    [
        ("epsilon", "0"),
        ("epsilon", "0.000999999"),
        ("epsilon", "10.000000001"),
        ("delta", "0"),
        ("delta", "0.001000001"),
    ],
)
def test_a_parameter_outside_its_public_range_is_refused(field: str, text: str) -> None:
    with pytest.raises(ValidationError, match="must lie between"):
        Holding.model_validate({field: text})


@pytest.mark.parametrize("text", ["0.001", "10", "0.5"])
def test_the_ends_of_the_range_belong_to_it(text: str) -> None:
    assert format_nano(Holding.model_validate({"epsilon": text}).epsilon) == text


def test_amounts_are_strings_on_the_wire() -> None:
    loss = PrivacyLoss.model_validate({"epsilon": "0.10", "delta": "0"})

    assert loss.model_dump(mode="json") == {"epsilon": "0.1", "delta": "0"}
    assert loss.epsilon == 10**8


def test_a_negative_balance_shows_as_nothing_left() -> None:
    assert PrivacyLoss.of_nano(-5, -7) == PrivacyLoss.of_nano(0, 0)
