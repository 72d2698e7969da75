"""Looks: the losses at which one question is asked, one after the other, until its verdict is decided (8-time §2).

Whoever looks several times is wrong more often than whoever looks once. So all looks are settled before the first
answer is seen, and share the error: with n looks at a level of 95 %, the intervals of each hold at 1 − 0.05/n. By
Bonferroni's inequality the intervals of all looks hold together in 95 % of audits, whichever of them is the last, and
however much one look's noise has to do with another's. So the verdict of the look that decides is right that often too.
"""

from typing import Final, Self

from pydantic import BaseModel, ConfigDict, model_validator

from auditor_client.errors import QuestionRefused
from auditor_client.text import loss_words
from shared.privacy.amounts import (
    EPSILON_NANO_MIN,
    NO_LOSS,
    RHO_NANO_MIN,
    AccountKind,
    Amount,
    Loss,
    format_nano,
)

HALVINGS: Final = 5
"""How often the most is halved for the first look, where none is named: six looks, the first at 1/32 of the most."""
_LEAST: Final[dict[AccountKind, int]] = {"sum": 2 * EPSILON_NANO_MIN, "zcdp": 2 * RHO_NANO_MIN}
"""Of that first look: a strategy may halve it."""


class Looks(BaseModel):
    """At what losses a question is asked, each with all that were before it, and at what level all hold together."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: AccountKind
    """Whether losses are in ε or in ρ."""
    amounts: tuple[Amount, ...]
    """The loss of each look and all before it together, in nano-units; the last is the most that is spent."""
    level: float
    """At which the intervals of all looks hold together."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if not self.amounts or list(self.amounts) != sorted(set(self.amounts)) or not 0 < self.level < 1:
            raise QuestionRefused("Looks are at one loss or several, each larger than the one before.")
        return self

    @classmethod
    def of(cls, first: int | None, most: Loss, level: float) -> Self:
        """Looks that double from the first, and end at the most exactly.

        The last step is 1.5 to 3 times: a look shortly before the last one would hardly decide anything.

        Args:
            first: The first look's ε or ρ, in units of 10⁻⁹; None for a thirty-second of the most.
            most: What all looks together may lose.
            level: At which all hold together.

        Raises:
            QuestionRefused: There is no room for two looks.
        """
        limit = most.epsilon_nano if most.rho_nano is None else most.rho_nano
        look = max(limit >> HALVINGS, _LEAST[most.kind]) if first is None else first
        if not 0 < 3 * look <= 2 * limit:
            raise QuestionRefused(
                f"The first look (`first_look`) costs at most two thirds of the most, which is {loss_words(most)}; not "
                f"{format_nano(look)}. Name a smaller one, or leave `until_decided` out."
            )
        amounts = []
        while 3 * look <= 2 * limit:
            amounts.append(look)
            look *= 2
        texts = [format_nano(amount) for amount in (*amounts, limit)]
        return cls.model_validate({"kind": most.kind, "amounts": texts, "level": level})

    @property
    def each(self) -> float:
        """The level of the intervals of each look by itself."""
        return 1 - (1 - self.level) / len(self.amounts)

    @property
    def losses(self) -> tuple[Loss, ...]:
        """The loss of each look together with all before it."""
        return tuple(Loss(amount) if self.kind == "sum" else Loss.of_rho(amount) for amount in self.amounts)

    @property
    def steps(self) -> tuple[Loss, ...]:
        """The cost of each look beyond those before it."""
        return tuple(loss - before for loss, before in zip(self.losses, (NO_LOSS, *self.losses[:-1]), strict=True))

    def number(self, loss: Loss) -> int:
        """Return which look, from 1 on, was taken when all answers together lost so much.

        Raises:
            QuestionRefused: None.
        """
        if loss in self.losses:
            return self.losses.index(loss) + 1
        raise QuestionRefused(f"None of the looks is at {loss_words(loss)}.")
