"""What a plan costs: parallel composition within a class, sequential over classes and batches (2-privacy §3).

The price follows from the plan and the declared domains alone. All amounts are integers of 10⁻⁹.
"""

from dataclasses import dataclass

from holder_service.domain.disjointness import disjoint_classes
from shared.amounts import LARGEST_LOSS, NO_LOSS, Loss
from shared.plans import Batch, Plan
from shared.problems import InvalidPlan
from shared.refining import charged_before
from shared.schema import Schema


@dataclass(frozen=True, slots=True)
class BatchPrice:
    """What one batch costs.

    Attributes:
        classes: Classes of provably disjoint cells, each as indices into `Batch.cells`.
        loss: What the whole batch is charged: for one class, as often as there are classes. Where it is asked again
            at a larger ε, that is what it then costs more.
    """

    batch: Batch
    classes: tuple[tuple[int, ...], ...]
    loss: Loss


@dataclass(frozen=True, slots=True)
class Price:
    """What a plan costs, whole, and batch by batch in the plan's order."""

    charge: Loss
    batches: tuple[BatchPrice, ...]


def price(plan: Plan, schema: Schema, *, refined: Plan | None = None) -> Price:
    """Price a plan that fits the schema.

    Args:
        plan: Of an auditor.
        schema: The dataset's columns, and the derived ones that the plan names.
        refined: The plan that it refines (`shared.refining`), which was charged.

    Raises:
        InvalidPlan: The price exceeds what an amount can say, and so any budget.
        TooLarge: A batch compares one column with too many thresholds.
    """
    charged = charged_before(plan, refined)
    batches = tuple(_price(batch, schema, loss) for batch, loss in zip(plan.batches, charged, strict=True))
    charge = sum((batch.loss for batch in batches), NO_LOSS)
    if charge.fits_in(LARGEST_LOSS):
        return Price(charge, batches)
    raise InvalidPlan(
        "The plan costs 1000 or more, which no budget holds, because its cells overlap: lower epsilon, or ask for "
        "cells that exclude each other.",
        "batches",
    )


def _price(batch: Batch, schema: Schema, charged: Loss) -> BatchPrice:
    """Parallel composition within a class, sequential over the classes, each less what was charged for it before."""
    classes = disjoint_classes(batch.cells, schema)
    return BatchPrice(batch, classes, (batch.loss - charged) * len(classes))
