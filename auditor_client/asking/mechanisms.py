"""What a plan spends, and by which mechanism: the auditor's choice, in the contract's types (2-privacy §4)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Self

from auditor_client.errors import QuestionRefused
from shared.amounts import (
    DELTA_NANO_MAX,
    DELTA_NANO_MIN,
    EPSILON_NANO_MAX,
    EPSILON_NANO_MIN,
    NANO_PER_UNIT,
    InvalidAmount,
    format_nano,
    parse_nano,
)
from shared.datasets import DatasetDescription
from shared.plans import Batch, Exponential, Plan
from shared.rules import Cell

MECHANISMS: Final = ("laplace", "gaussian", "exponential", "randomised_response")
DEFAULT_DELTA: Final = "0.000001"


@dataclass(frozen=True, slots=True)
class Spending:
    """A privacy loss and the mechanism that it is spent with.

    Attributes:
        mechanism: One of `MECHANISMS`.
        epsilon_nano: The whole loss, in units of 10⁻⁹; 0 for randomised response, which costs nothing.
        delta_nano: Likewise; 0 for all but the Gaussian.
        upper: The exponential mechanism's largest answer, in people; 0 for the others.
    """

    mechanism: str
    epsilon_nano: int
    delta_nano: int = 0
    upper: int = 0

    @classmethod
    def of(
        cls,
        dataset: DatasetDescription,
        *,
        epsilon: str | None,
        sensitive: Sequence[str] = (),
        mechanism: str | None = None,
        delta: str | None = None,
        upper: int | None = None,
    ) -> Self:
        """What was asked for, completed from public facts.

        Args:
            dataset: Its declared number of records is the exponential mechanism's default `upper`.
            epsilon: The whole plan's loss as a decimal string; none for randomised response.
            sensitive: By which columns; where all of them were perturbed at their source, randomised response is
                the mechanism.
            mechanism: One of `MECHANISMS`; "laplace" by default.
            delta: Of the Gaussian; "0.000001" by default.
            upper: Of the exponential.

        Raises:
            QuestionRefused: The mechanism is unknown here or at the holder, or takes other parameters.
        """
        perturbed = [name for name in sensitive if _is_perturbed(dataset, name)]
        mechanism = mechanism or ("randomised_response" if perturbed else "laplace")
        if perturbed and mechanism != "randomised_response":
            raise QuestionRefused(
                f"Column {perturbed[0]!r} was perturbed at its source: ask with mechanism randomised_response, or the "
                "figures would be about reported groups."
            )
        if mechanism not in MECHANISMS or mechanism not in dataset.mechanisms:
            raise QuestionRefused(
                f"Mechanism {mechanism!r} cannot be used: dataset {dataset.name!r} offers "
                f"{', '.join(dataset.mechanisms)}."
            )
        if (delta is not None and mechanism != "gaussian") or (upper is not None and mechanism != "exponential"):
            raise QuestionRefused("delta belongs to the mechanism gaussian alone, and upper to exponential alone.")
        if mechanism == "randomised_response":
            if epsilon is not None:
                raise QuestionRefused("Randomised response costs nothing: leave epsilon out.")
            return cls(mechanism, 0)
        if epsilon is None:
            raise QuestionRefused(f"Mechanism {mechanism!r} needs epsilon, such as 0.1.")
        epsilon_nano = _amount("epsilon", epsilon, EPSILON_NANO_MIN, EPSILON_NANO_MAX)
        if mechanism == "gaussian":
            delta_nano = _amount("delta", delta or DEFAULT_DELTA, DELTA_NANO_MIN, DELTA_NANO_MAX)
            return cls(mechanism, epsilon_nano, delta_nano)
        if mechanism == "exponential":
            smallest = -(-NANO_PER_UNIT // epsilon_nano)
            return cls(mechanism, epsilon_nano, upper=max(dataset.records_max, smallest) if upper is None else upper)
        return cls(mechanism, epsilon_nano)

    @classmethod
    def of_plan(cls, plan: Plan) -> Self:
        """What a plan spends, if each batch's cells are disjoint."""
        mechanism = plan.batches[0].mechanism
        upper = mechanism.upper if isinstance(mechanism, Exponential) else 0
        losses = [batch.loss_nano for batch in plan.batches]
        return cls(mechanism.name, sum(epsilon for epsilon, _ in losses), sum(delta for _, delta in losses), upper)

    def at(self, epsilon_nano: int) -> "Spending":
        """The same at another ε."""
        return Spending(self.mechanism, epsilon_nano, self.delta_nano, self.upper)

    def halves(self) -> tuple["Spending", "Spending"]:
        """The loss in two halves, an odd nano in the second.

        Raises:
            QuestionRefused: Half of it is less than the holder takes.
        """
        if self.mechanism == "randomised_response":
            return self, self
        epsilon, delta = self.epsilon_nano // 2, self.delta_nano // 2
        if epsilon < EPSILON_NANO_MIN or (self.delta_nano and delta < DELTA_NANO_MIN):
            raise QuestionRefused(
                f"Strategy 'pafer' halves the loss, so epsilon is at least {format_nano(2 * EPSILON_NANO_MIN)} and a "
                f"delta at least {format_nano(2 * DELTA_NANO_MIN)}."
            )
        return (
            Spending(self.mechanism, epsilon, delta, self.upper),
            Spending(self.mechanism, self.epsilon_nano - epsilon, self.delta_nano - delta, self.upper),
        )

    def batch(self, name: str, cells: Sequence[Cell]) -> Batch:
        """Some cells asked at this loss."""
        mechanism: dict[str, str | int] = {"name": self.mechanism}
        if self.mechanism == "gaussian":
            mechanism["delta"] = format_nano(self.delta_nano)
        if self.mechanism == "exponential":
            mechanism["upper"] = self.upper
        epsilon = format_nano(self.epsilon_nano) if self.epsilon_nano else None
        return Batch.model_validate(
            {"name": name, "mechanism": mechanism, "epsilon": epsilon, "cells": tuple(cells)}, strict=False
        )


def _is_perturbed(dataset: DatasetDescription, name: str) -> bool:
    column = dataset.table.by_name.get(name)
    return column is not None and column.randomised_response is not None


def _amount(name: str, text: str, low: int, high: int) -> int:
    try:
        nano = parse_nano(text)
    except InvalidAmount as error:
        raise QuestionRefused(f"{name}: {error}") from error
    if low <= nano <= high:
        return nano
    raise QuestionRefused(f"{name} lies between {format_nano(low)} and {format_nano(high)}; not at {text}.")
