"""What a plan costs: parallel composition within a class, sequential over classes and batches (2-privacy §3).

The price follows from the plan and the declared domains alone. All amounts are integers of 10⁻⁹.
"""

from dataclasses import dataclass
from typing import Final

from holder_service.domain.disjointness import disjoint_classes
from shared.amounts import NANO_PER_UNIT, PrivacyLoss
from shared.plans import Batch, Plan
from shared.problems import InvalidPlan
from shared.schema import Schema

AMOUNT_NANO_MAX: Final = 1000 * NANO_PER_UNIT - 1
"""The largest amount that the interface can write: 999.999999999."""


@dataclass(frozen=True, slots=True)
class BatchPrice:
    """What one batch costs.

    Attributes:
        classes: Classes of provably disjoint cells, each as places in `Batch.cells`.
        epsilon_nano: ε of the whole batch: its parameter, once for each class; in units of 10⁻⁹.
        delta_nano: δ of the whole batch, likewise.
    """

    classes: tuple[tuple[int, ...], ...]
    epsilon_nano: int
    delta_nano: int


@dataclass(frozen=True, slots=True)
class Price:
    """What a plan costs, whole, and batch by batch in the plan's order."""

    charge: PrivacyLoss
    batches: tuple[BatchPrice, ...]


def price(plan: Plan, schema: Schema) -> Price:
    """Price a plan that fits the schema.

    Raises:
        InvalidPlan: The price exceeds what an amount can say, and so any budget.
        TooLarge: A batch compares one column with too many thresholds.
    """
    batches = tuple(_price(batch, schema) for batch in plan.batches)
    epsilon_nano = sum(batch.epsilon_nano for batch in batches)
    delta_nano = sum(batch.delta_nano for batch in batches)
    if epsilon_nano <= AMOUNT_NANO_MAX and delta_nano <= AMOUNT_NANO_MAX:
        return Price(PrivacyLoss.of_nano(epsilon_nano, delta_nano), batches)
    raise InvalidPlan(
        "The plan costs 1000 or more, which no budget holds, because its cells overlap: lower epsilon, or ask for "
        "cells that exclude each other.",
        "batches",
    )


def _price(batch: Batch, schema: Schema) -> BatchPrice:
    """Parallel composition within a class, sequential over the classes."""
    classes = disjoint_classes(batch.cells, schema)
    epsilon_nano, delta_nano = batch.loss_nano
    return BatchPrice(classes, epsilon_nano=epsilon_nano * len(classes), delta_nano=delta_nano * len(classes))
