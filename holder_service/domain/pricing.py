"""What a plan costs: parallel composition within a class, sequential over classes and batches (2-privacy §3).

The price follows from the plan and the declared domains alone. All amounts are integers of 10⁻⁹. What an account that
adds up ρ is charged (`entered`) follows from the noise too: the ρ of Gaussian noise is that of its σ.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from holder_service.domain.disjointness import disjoint_classes
from shared.contract.schema import Schema
from shared.kinds.plans import Batch, Plan
from shared.kinds.refining import charged_before
from shared.privacy.amounts import NO_LOSS, Loss
from shared.privacy.charges import NO_CHARGE, AccountTerms, Charge
from shared.wire.problems import InvalidPlan


@dataclass(frozen=True, slots=True)
class BatchPrice:
    """What one batch costs.

    Attributes:
        classes: Classes of provably disjoint cells, each as indices into `Batch.cells`.
        loss: What the whole batch is charged: for one class, as often as there are classes. Where it is asked again
            at a larger ε, that is what it then costs more.
        loss_of_class: What each class is charged.
    """

    batch: Batch
    classes: tuple[tuple[int, ...], ...]
    loss: Loss
    loss_of_class: Loss


@dataclass(frozen=True, slots=True)
class Price:
    """What a plan costs, batch by batch in the plan's order."""

    batches: tuple[BatchPrice, ...]

    @property
    def charge(self) -> Loss:
        """What it costs whole, in ε and δ.

        Raises:
            MixedAccounts: A batch is asked in ρ, and another is not.
        """
        return sum((batch.loss for batch in self.batches), NO_LOSS)


def price(plan: Plan, schema: Schema, *, refined: Plan | None = None) -> Price:
    """Price a plan that fits the schema.

    Args:
        plan: Of an auditor.
        schema: The dataset's columns, and the derived ones that the plan names.
        refined: The plan that it refines (`shared.kinds.refining`), which was charged.

    Raises:
        InvalidPlan: The price exceeds what an amount can say, and so any budget.
        TooLarge: A batch compares one column with too many thresholds.
    """
    charged = charged_before(plan, refined)
    found = Price(tuple(_price(batch, schema, loss) for batch, loss in zip(plan.batches, charged, strict=True)))
    for in_rho in (False, True):
        asked = [batch.loss for batch in found.batches if (batch.batch.rho is not None) == in_rho]
        require_can_be_said(sum(asked, NO_LOSS))
    return found


def require_can_be_said(charge: Loss) -> None:
    """Refuse a price that no amount can say.

    Raises:
        InvalidPlan: It is one.
    """
    if not charge.can_be_said:
        raise InvalidPlan(
            f"The plan costs {'a rho above 500' if charge.kind == 'zcdp' else '1000 or more'}, which no budget holds, "
            "because its cells overlap: lower epsilon, or ask for cells that exclude each other.",
            "batches",
        )


def entered(plan: Plan, charges: Sequence[Charge], terms: AccountTerms) -> Loss:
    """Return what the account of the people that a plan is about is charged, given what each of its batches loses.

    Raises:
        InvalidPlan: A batch asks for noise in ρ, and the account adds up ε and δ; or the price exceeds what an amount
            can say.
    """
    for index, batch in enumerate(plan.batches):
        if batch.rho is not None and terms.kind == "sum":
            raise InvalidPlan(
                "This population's account adds up epsilon and delta, so noise is not asked for by rho here: name "
                "epsilon, and delta of the mechanism.",
                f"batches[{index}].rho",
            )
    loss = sum(charges, NO_CHARGE).entered(terms)
    require_can_be_said(loss)
    return loss


def _price(batch: Batch, schema: Schema, charged: Loss) -> BatchPrice:
    """Parallel composition within a class, sequential over the classes, each less what was charged for it before."""
    classes = disjoint_classes(batch.cells, schema)
    of_class = batch.loss - charged
    return BatchPrice(batch, classes, of_class * len(classes), of_class)
