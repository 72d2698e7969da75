"""The loss of an answer, as either kind of account adds it up (8-time §1).

A charge is made once, where the noise is known, and knows its ε, its δ and its ρ. The account of the people that it is
about says which of them is entered.
"""

from dataclasses import dataclass
from typing import Annotated, Final, Literal

from pydantic import ConfigDict, Field

from shared.privacy.amounts import AccountKind, Amount, Loss
from shared.privacy.zero_concentrated import pure_rho_nano


@dataclass(frozen=True, slots=True)
class AccountTerms:
    """The way in which a population's account adds up charges: fixed at its first charge."""

    # As `Loss`: in JSON {"kind": "zcdp", "delta": "0.000001"}.

    __pydantic_config__ = ConfigDict(extra="forbid", serialize_by_alias=True)

    kind: Annotated[
        AccountKind, Field(description="`sum`: ε and δ each are added up; `zcdp`: ρ, the zero-concentrated loss, is.")
    ]
    delta_nano: Annotated[
        Amount,
        Field(
            alias="delta",
            description="Where ρ is added up, the δ at which it is read as an ε, as a decimal string.",
            json_schema_extra={"default": "0"},
        ),
    ] = 0

    def of(self, rho_nano: int) -> Loss:
        """A loss in ρ as an account of such terms has it.

        Raises:
            NoSuchLoss: The account adds up ε and δ.
        """
        if self.kind == "sum":
            raise NoSuchLoss
        return Loss.of_rho(rho_nano, self.delta_nano)


SUM: Final = AccountTerms(kind="sum")
"""The terms of an account that adds up ε and δ."""


class NoSuchLoss(ValueError):
    """Something has no loss in the terms of an account."""


@dataclass(frozen=True, slots=True)
class Charge:
    """The loss of something.

    Attributes:
        stated: In ε and δ; `None` where it was asked in ρ, and no pair of ε and δ is its own.
        rho_nano: In ρ, in units of 10⁻⁹.
    """

    stated: Loss | None
    rho_nano: int

    @classmethod
    def pure(cls, epsilon_nano: int) -> "Charge":
        """Return the charge of a mechanism of pure ε, whose ρ is ε²/2."""
        return cls(Loss(epsilon_nano), pure_rho_nano(epsilon_nano))

    def __add__(self, other: "Charge") -> "Charge":
        """Sequential composition."""
        both = None if self.stated is None or other.stated is None else self.stated + other.stated
        return Charge(both, self.rho_nano + other.rho_nano)

    def __mul__(self, times: int) -> "Charge":
        """The same so many times over."""
        return Charge(None if self.stated is None else self.stated * times, self.rho_nano * times)

    def entered(self, terms: AccountTerms) -> Loss:
        """Return what an account of these terms is charged.

        Raises:
            NoSuchLoss: The account adds up ε and δ, and this has none.
        """
        if terms.kind == "zcdp":
            return terms.of(self.rho_nano)
        if self.stated is None:
            raise NoSuchLoss
        return self.stated


NO_CHARGE: Final = Charge.pure(0)


def step_rho_nano(measures: Literal["counts", "choices", "sums"], epsilon_nano: int, classes: int) -> int:
    """ρ of a training's step of pure ε: of counts each class of disjoint cells gets its part of ε, once.

    A choice is charged as pure: permute-and-flip is of no bounded range. Of two candidates of equal score, one of which
    gains a person, the logarithms of the ratios of both chances lie ε + log(2 − e^(−ε)) apart, nearly 2ε for a small
    ε: so ε²/8 would be a quarter of what is lost.
    """
    if measures == "counts":
        return pure_rho_nano(epsilon_nano // classes) * classes
    return pure_rho_nano(epsilon_nano)
