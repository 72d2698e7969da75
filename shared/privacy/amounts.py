"""Privacy amounts: decimal strings on the wire, integers of 10⁻⁹ everywhere else (2-privacy §3).

No float ever stands between the wire and the ledger. A *parameter* (`Epsilon`, `Delta`) is
positive and lies in a public range; an *amount* (`Amount`: budgets, caps, charges) may be zero.
In Python each is an `int` of nano-units; in JSON each is a string, and a JSON number is refused.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal

from pydantic import BeforeValidator, ConfigDict, Field, PlainSerializer, WithJsonSchema, model_validator

from shared.privacy.zero_concentrated import epsilon_nano_at
from shared.wire.request_model import refuse_many_fields

NANO_PER_UNIT: Final = 10**9
EPSILON_NANO_MIN: Final = 10**6
EPSILON_NANO_MAX: Final = 10 * NANO_PER_UNIT
DELTA_NANO_MIN: Final = 1
DELTA_NANO_MAX: Final = 10**6
RHO_NANO_MIN: Final = 1000
RHO_NANO_MAX: Final = 10 * NANO_PER_UNIT
RHO_NANO_SUM_MAX: Final = 500 * NANO_PER_UNIT
"""The largest ρ that can be said: it is read as an ε below 1000 at every δ that can."""
DELTA_READ_NANO: Final = 1000
"""The δ that a ρ is read at where none is stated: 10⁻⁶."""

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

Rho = Annotated[int, BeforeValidator(_parameter("rho", RHO_NANO_MIN, RHO_NANO_MAX)), _WIRE, _JSON_SCHEMA]
"""A mechanism's ρ in nano-units, from 0.000001 to 10."""

Probability = Annotated[int, BeforeValidator(_parameter("a probability", 1, NANO_PER_UNIT - 1)), _WIRE, _JSON_SCHEMA]
"""A probability strictly between 0 and 1, in nano-units."""

Share = Annotated[int, BeforeValidator(_parameter("a share", 0, NANO_PER_UNIT)), _WIRE, _JSON_SCHEMA]
"""A number from 0 to 1, in nano-units."""

Factor = Annotated[int, BeforeValidator(_parameter("a factor", 0, 100 * NANO_PER_UNIT)), _WIRE, _JSON_SCHEMA]
"""A number from 0 to 100, in nano-units."""


AccountKind = Literal["sum", "zcdp"]
"""How a population's account adds up what is charged: ε and δ each; or ρ, the zero-concentrated loss."""


class MixedAccounts(ValueError):
    """A loss in ε and δ and one in ρ are no one sum."""

    def __init__(self) -> None:
        super().__init__("A loss in epsilon and delta and one in rho cannot be added up.")


@dataclass(frozen=True, slots=True)
class Loss:
    """A charge, a limit, what was spent or what remains: ε and δ, which add up separately; or ρ, which adds up alone.

    In JSON it is `{"epsilon": "0.1", "delta": "0"}`; a request may leave `delta` out. A loss in ρ is
    `{"epsilon": "0.429942", "delta": "0.000001", "rho": "0.005"}`: `delta` says at which δ it is read, and `epsilon` is
    what it then is. That is worked out of ρ and δ wherever a loss is made, whatever was sent or kept, and is never
    added up.
    """

    # A standard dataclass, which pydantic reads and writes as a field of its models, and checks there. Python code
    # makes one without parsing, under the ledger's lock too.

    __pydantic_config__ = ConfigDict(extra="forbid", serialize_by_alias=True)

    epsilon_nano: Annotated[
        Amount,
        Field(
            alias="epsilon",
            description="ε, as a decimal string.",
            json_schema_extra=lambda schema: schema.pop("default"),  # without ρ it has to be there
        ),
    ] = 0
    # As text: else its JSON schema would be one in requests, and another in answers.
    delta_nano: Annotated[
        Amount, Field(alias="delta", description="δ, as a decimal string.", json_schema_extra={"default": "0"})
    ] = 0
    rho_nano: Annotated[
        Amount | None,
        Field(
            alias="rho",
            exclude_if=lambda rho: rho is None,
            description="ρ, as a decimal string, where losses add up in ρ; `epsilon` is then what ρ is read as at "
            "`delta`. Left out where they add up in ε and δ.",
        ),
    ] = None

    def __post_init__(self) -> None:
        if not (self.epsilon_nano >= 0 and self.delta_nano >= 0 and (self.rho_nano or 0) >= 0):
            raise ValueError("A privacy loss is not negative.")
        if self.rho_nano is not None:
            object.__setattr__(self, "epsilon_nano", epsilon_nano_at(self.rho_nano, self.delta_nano))

    @model_validator(mode="before")
    @staticmethod
    def _refuse_nothing(data: Any) -> Any:
        if isinstance(data, dict) and not data.keys() & {"epsilon", "rho"}:
            raise ValueError(
                'State epsilon, such as {"epsilon": "1"}; or rho, such as {"rho": "0.02", "delta": "0.000001"}.'
            )
        return refuse_many_fields(data)

    @classmethod
    def of_rho(cls, rho_nano: int, delta_nano: int = DELTA_READ_NANO) -> "Loss":
        """A loss in ρ, read at a δ."""
        return cls(0, delta_nano, rho_nano)

    @property
    def kind(self) -> AccountKind:
        """The kind of account that it belongs to."""
        return "sum" if self.rho_nano is None else "zcdp"

    @property
    def is_nothing(self) -> bool:
        """Whether nothing is lost, in whatever it is."""
        return not (self.rho_nano if self.rho_nano is not None else self.epsilon_nano or self.delta_nano)

    @property
    def admits_any(self) -> bool:
        """Whether anything may be charged under it, as a limit: ε or ρ is above zero, for δ alone buys nothing."""
        return (self.rho_nano or self.epsilon_nano) > 0

    @property
    def can_be_said(self) -> bool:
        """Whether the interface can write it: below 1000 each, and in ρ at most 500, so that its reading can be too."""
        if self.rho_nano is not None:
            return self.rho_nano <= RHO_NANO_SUM_MAX
        return max(self.epsilon_nano, self.delta_nano) < 1000 * NANO_PER_UNIT

    def read_at(self, delta_nano: int) -> "Loss":
        """A loss in ρ, read at another δ."""
        return self if self.rho_nano is None or self.delta_nano == delta_nano else Loss(0, delta_nano, self.rho_nano)

    def __add__(self, other: "Loss") -> "Loss":
        """Sequential composition; a sum in ρ is read at the larger δ.

        Raises:
            MixedAccounts: One is in ε and δ, and the other in ρ.
        """
        if self.rho_nano is not None and other.rho_nano is not None:
            return Loss(0, max(self.delta_nano, other.delta_nano), self.rho_nano + other.rho_nano)
        if self.rho_nano is None and other.rho_nano is None:
            return Loss(self.epsilon_nano + other.epsilon_nano, self.delta_nano + other.delta_nano)
        if NO_LOSS in (self, other):
            return other if self == NO_LOSS else self
        raise MixedAccounts

    def __sub__(self, other: "Loss") -> "Loss":
        """Return what it is more than another.

        Raises:
            ValueError: ε, δ or ρ of the other is larger.
            MixedAccounts: One is in ε and δ, and the other in ρ.
        """
        if other == NO_LOSS:
            return self
        if self.rho_nano is not None and other.rho_nano is not None:
            return Loss(0, self.delta_nano, self.rho_nano - other.rho_nano)
        if self.kind != other.kind:
            raise MixedAccounts
        return Loss(self.epsilon_nano - other.epsilon_nano, self.delta_nano - other.delta_nano)

    def __mul__(self, times: int) -> "Loss":
        """The same loss so many times over."""
        if self.rho_nano is not None:
            return Loss(0, self.delta_nano, self.rho_nano * times)
        return Loss(self.epsilon_nano * times, self.delta_nano * times)

    def fits_in(self, limit: "Loss") -> bool:
        """Whether neither ε nor δ exceeds a limit's, or ρ does not; a loss fits into no limit of the other kind."""
        if self.is_nothing:
            return True
        if self.rho_nano is not None or limit.rho_nano is not None:
            return self.rho_nano is not None and limit.rho_nano is not None and self.rho_nano <= limit.rho_nano
        return self.epsilon_nano <= limit.epsilon_nano and self.delta_nano <= limit.delta_nano

    def share_of(self, limit: "Loss") -> tuple[int, Literal["ε", "δ", "ρ"]]:
        """How much of a limit of the same kind it is: the largest share of ε or δ, or that of ρ, and of which it is.

        Returns:
            Whole per cent, rounded down: so it reaches a threshold exactly where the amounts do.

        Raises:
            ValueError: The limit admits nothing.
        """
        pairs: tuple[tuple[int, int, Literal["ε", "δ", "ρ"]], ...] = (
            (self.epsilon_nano, limit.epsilon_nano, "ε"), (self.delta_nano, limit.delta_nano, "δ"),
        )  # fmt: skip
        if limit.rho_nano is not None:
            pairs = ((self.rho_nano or 0, limit.rho_nano, "ρ"),)
        return max(((100 * part // whole, amount) for part, whole, amount in pairs if whole), key=lambda one: one[0])

    def within(self, limit: "Loss") -> "Loss":
        """As much of it as a limit admits; nothing of it, if the limit is of the other kind."""
        if self.rho_nano is not None:
            return Loss(0, self.delta_nano, min(self.rho_nano, limit.rho_nano or 0))
        if limit.rho_nano is not None:
            return NO_LOSS
        return Loss(min(self.epsilon_nano, limit.epsilon_nano), min(self.delta_nano, limit.delta_nano))

    def left_after(self, spent: "Loss") -> "Loss":
        """Return what is left of it after a loss, zero where more was spent: a limit may have been lowered.

        Raises:
            MixedAccounts: One is in ε and δ, and the other in ρ.
        """
        if self.rho_nano is not None:
            if spent.rho_nano is None and spent != NO_LOSS:
                raise MixedAccounts
            return Loss(0, self.delta_nano, max(self.rho_nano - (spent.rho_nano or 0), 0))
        if spent.rho_nano is not None:
            raise MixedAccounts
        return Loss(max(self.epsilon_nano - spent.epsilon_nano, 0), max(self.delta_nano - spent.delta_nano, 0))

    def larger(self, other: "Loss") -> "Loss":
        """The larger of two limits, ε and δ each.

        Raises:
            MixedAccounts: One is in ε and δ, and the other in ρ.
        """
        if self.rho_nano is not None and other.rho_nano is not None:
            return Loss(0, max(self.delta_nano, other.delta_nano), max(self.rho_nano, other.rho_nano))
        if self.rho_nano is None and other.rho_nano is None:
            return Loss(max(self.epsilon_nano, other.epsilon_nano), max(self.delta_nano, other.delta_nano))
        return self + other

    def document(self) -> dict[str, str]:
        """Return it as JSON values."""
        rho = {} if self.rho_nano is None else {"rho": format_nano(self.rho_nano)}
        return {"epsilon": format_nano(self.epsilon_nano), "delta": format_nano(self.delta_nano), **rho}

    @property
    def symbols(self) -> str:
        """Return it as people read it: "ε 0.1", with δ where there is one; or "ρ 0.005 (ε 0.43 at δ 0.000001)"."""
        epsilon, delta = f"ε {format_nano(self.epsilon_nano)}", f"δ {format_nano(self.delta_nano)}"
        if self.rho_nano is not None:
            return f"ρ {format_nano(self.rho_nano)} ({epsilon} at {delta})"
        return f"{epsilon}, {delta}" if self.delta_nano else epsilon

    def __repr__(self) -> str:
        delta = f", delta='{format_nano(self.delta_nano)}'" if self.delta_nano else ""
        rho = "" if self.rho_nano is None else f", rho='{format_nano(self.rho_nano)}'"
        return f"Loss(epsilon='{format_nano(self.epsilon_nano)}'{delta}{rho})"

    def __str__(self) -> str:
        epsilon = f"epsilon {format_nano(self.epsilon_nano)}"
        if self.rho_nano is not None:
            return f"rho {format_nano(self.rho_nano)} ({epsilon} at delta {format_nano(self.delta_nano)})"
        return f"{epsilon}, delta {format_nano(self.delta_nano)}" if self.delta_nano else epsilon


NO_LOSS: Final = Loss(0)
