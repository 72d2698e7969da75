"""Privacy amounts: decimal strings on the wire, integers of 10⁻⁹ everywhere else (2-privacy §3).

No float ever stands between the wire and the ledger. A *parameter* (`Epsilon`, `Delta`) is
positive and lies in a public range; an *amount* (`Amount`: budgets, caps, charges) may be zero.
In Python each is an `int` of nano-units; in JSON each is a string, and a JSON number is refused.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Final

from pydantic import BeforeValidator, ConfigDict, Field, PlainSerializer, WithJsonSchema, model_validator

from shared.request_model import refuse_many_fields

NANO_PER_UNIT: Final = 10**9
EPSILON_NANO_MIN: Final = 10**6
EPSILON_NANO_MAX: Final = 10 * NANO_PER_UNIT
DELTA_NANO_MIN: Final = 1
DELTA_NANO_MAX: Final = 10**6

_DECIMAL: Final = re.compile(r"(0|[1-9][0-9]{0,2})(?:\.([0-9]{1,9}))?")
_PATTERN: Final = r"^(0|[1-9][0-9]{0,2})(\.[0-9]{1,9})?$"


class InvalidAmount(ValueError):
    """A text is not an amount, or is outside the public range of its kind."""


def parse_nano(text: object) -> int:
    """Read a decimal string as nano-units.

    Args:
        text: Plain ASCII, at most three digits before the point and nine behind it: "0.1".

    Returns:
        The amount in units of 10⁻⁹, zero or more.

    Raises:
        InvalidAmount: It is not a decimal string. JSON numbers are refused: 0.1 is no exact number there.
    """
    match = _DECIMAL.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        raise InvalidAmount(
            'Write the amount as a decimal string such as "0.1": at most three digits before the '
            "point and nine behind it, without sign, exponent or blanks."
        )
    whole, fraction = match.groups()
    return int(whole) * NANO_PER_UNIT + int((fraction or "").ljust(9, "0"))


def format_nano(nano: int) -> str:
    """Write nano-units as the shortest decimal string: 100000000 becomes "0.1"."""
    if not 0 <= nano < 1000 * NANO_PER_UNIT:
        raise InvalidAmount(f"An amount lies between 0 and 999.999999999; this has {nano} nano-units.")
    whole, fraction = divmod(nano, NANO_PER_UNIT)
    return f"{whole}.{fraction:09d}".rstrip("0").rstrip(".") if fraction else str(whole)


def _parameter(name: str, low: int, high: int) -> Callable[[object], int]:
    def parse(text: object) -> int:
        nano = parse_nano(text)
        if low <= nano <= high:
            return nano
        raise InvalidAmount(f"{name} must lie between {format_nano(low)} and {format_nano(high)}.")

    return parse


_WIRE: Final = PlainSerializer(format_nano, return_type=str, when_used="json")
_JSON_SCHEMA: Final = WithJsonSchema({"type": "string", "pattern": _PATTERN, "examples": ["0.1"]})

Amount = Annotated[int, BeforeValidator(parse_nano), _WIRE, _JSON_SCHEMA]
"""A budget, cap, charge or balance in nano-units, zero allowed."""

Epsilon = Annotated[
    int, BeforeValidator(_parameter("epsilon", EPSILON_NANO_MIN, EPSILON_NANO_MAX)), _WIRE, _JSON_SCHEMA
]
"""A mechanism's ε in nano-units, from 0.001 to 10."""

Delta = Annotated[int, BeforeValidator(_parameter("delta", DELTA_NANO_MIN, DELTA_NANO_MAX)), _WIRE, _JSON_SCHEMA]
"""A mechanism's δ in nano-units, from 10⁻⁹ to 0.001."""


Probability = Annotated[int, BeforeValidator(_parameter("a probability", 1, NANO_PER_UNIT - 1)), _WIRE, _JSON_SCHEMA]
"""A probability strictly between 0 and 1, in nano-units."""

Share = Annotated[int, BeforeValidator(_parameter("a share", 0, NANO_PER_UNIT)), _WIRE, _JSON_SCHEMA]
"""A number from 0 to 1, in nano-units."""

Factor = Annotated[int, BeforeValidator(_parameter("a factor", 0, 100 * NANO_PER_UNIT)), _WIRE, _JSON_SCHEMA]
"""A number from 0 to 100, in nano-units."""


@dataclass(frozen=True, slots=True)
class Loss:
    """An (ε, δ) pair of nano-units: a charge, a limit, what was spent or what remains. ε and δ add up separately.

    In JSON it is `{"epsilon": "0.1", "delta": "0"}`; a request may leave `delta` out.
    """

    # A standard dataclass, which pydantic reads and writes as a field of its models, and checks there. Python code
    # makes one without parsing, under the ledger's lock too.

    __pydantic_config__ = ConfigDict(extra="forbid", serialize_by_alias=True)

    epsilon_nano: Annotated[Amount, Field(alias="epsilon", description="ε, as a decimal string.")]
    # As text: else its JSON schema would be one in requests, and another in answers.
    delta_nano: Annotated[
        Amount, Field(alias="delta", description="δ, as a decimal string.", json_schema_extra={"default": "0"})
    ] = 0

    def __post_init__(self) -> None:
        if not (self.epsilon_nano >= 0 and self.delta_nano >= 0):
            raise ValueError("A privacy loss is not negative.")

    _few_fields = model_validator(mode="before")(staticmethod(refuse_many_fields))

    def __add__(self, other: "Loss") -> "Loss":
        """Sequential composition."""
        return Loss(self.epsilon_nano + other.epsilon_nano, self.delta_nano + other.delta_nano)

    def __sub__(self, other: "Loss") -> "Loss":
        """What it is more than another.

        Raises:
            ValueError: ε or δ of the other is larger.
        """
        return Loss(self.epsilon_nano - other.epsilon_nano, self.delta_nano - other.delta_nano)

    def __mul__(self, times: int) -> "Loss":
        """The same loss so many times over."""
        return Loss(self.epsilon_nano * times, self.delta_nano * times)

    def fits_in(self, limit: "Loss") -> bool:
        """Whether neither ε nor δ exceeds a limit's."""
        return self.epsilon_nano <= limit.epsilon_nano and self.delta_nano <= limit.delta_nano

    def within(self, limit: "Loss") -> "Loss":
        """As much of it as a limit admits."""
        return Loss(min(self.epsilon_nano, limit.epsilon_nano), min(self.delta_nano, limit.delta_nano))

    def left_after(self, spent: "Loss") -> "Loss":
        """What is left of it after a loss, zero where more was spent: a limit may have been lowered."""
        return Loss(max(self.epsilon_nano - spent.epsilon_nano, 0), max(self.delta_nano - spent.delta_nano, 0))

    def document(self) -> dict[str, str]:
        """As JSON values."""
        return {"epsilon": format_nano(self.epsilon_nano), "delta": format_nano(self.delta_nano)}

    def __repr__(self) -> str:
        delta = f", delta='{format_nano(self.delta_nano)}'" if self.delta_nano else ""
        return f"Loss(epsilon='{format_nano(self.epsilon_nano)}'{delta})"

    def __str__(self) -> str:
        epsilon = f"epsilon {format_nano(self.epsilon_nano)}"
        return f"{epsilon}, delta {format_nano(self.delta_nano)}" if self.delta_nano else epsilon


NO_LOSS: Final = Loss(0)
LARGEST_LOSS: Final = Loss(1000 * NANO_PER_UNIT - 1, 1000 * NANO_PER_UNIT - 1)
"""The largest that the interface can write: 999.999999999 each."""
