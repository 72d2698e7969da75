"""Amounts: decimal strings and integers of 10⁻⁹, exactly, and nothing else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, TypeAdapter, ValidationError

from shared.privacy.amounts import NO_LOSS, Amount, Delta, Epsilon, InvalidAmount, Loss, format_nano, parse_nano

WIRE = TypeAdapter(Loss)
losses = st.builds(Loss, st.integers(0, 10**12 - 1), st.integers(0, 10**12 - 1))


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
    loss = WIRE.validate_python({"epsilon": "0.10"})

    assert loss == Loss(10**8)
    assert WIRE.dump_python(loss, mode="json") == loss.document() == {"epsilon": "0.1", "delta": "0"}
    assert WIRE.json_schema(mode="validation") == WIRE.json_schema(mode="serialization")


@pytest.mark.parametrize(
    "document",
    [
        {"delta": "0"}, {"epsilon": 1}, {"epsilon": "-1"}, {"epsilon_nano": 1}, {"epsilon": "1", "rho": "1"}, "1",
        {f"field {number}": "1" for number in range(1000)},
    ],
)  # fmt: skip
def test_a_loss_that_is_not_of_its_form_is_refused_with_few_errors(document: object) -> None:
    with pytest.raises(ValidationError) as refused:
        WIRE.validate_python(document)

    assert refused.value.error_count() <= 2


@given(losses, losses, st.integers(0, 100))
def test_epsilon_and_delta_add_up_and_fit_separately(one: Loss, other: Loss, times: int) -> None:
    both = one + other

    assert (both.epsilon_nano, both.delta_nano) == (
        one.epsilon_nano + other.epsilon_nano,
        one.delta_nano + other.delta_nano,
    )
    assert sum([one] * times, NO_LOSS) == one * times
    assert one.fits_in(both)
    assert one.fits_in(other) == (one.epsilon_nano <= other.epsilon_nano and one.delta_nano <= other.delta_nano)
    assert both.left_after(one) == other


def test_nothing_is_left_of_a_limit_below_what_was_spent() -> None:
    assert Loss(5, 7).left_after(Loss(6, 3)) == Loss(0, 4)


@pytest.mark.parametrize(("epsilon", "delta"), [(-1, 0), (0, -1)])
def test_no_loss_is_negative(epsilon: int, delta: int) -> None:
    with pytest.raises(ValueError, match="not negative"):
        Loss(epsilon, delta)
