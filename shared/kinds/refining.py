"""What one plan may refine of another: the same question, at a larger ε (8-time §2). Both parties decide it so."""

from typing import Any

from shared.kinds.plans import Laplace, Plan
from shared.privacy.amounts import NO_LOSS, Loss
from shared.wire.problems import InvalidPlan


def require_refines(plan: Plan, earlier: Plan) -> None:
    """Refuse a plan that is not another one at a larger ε.

    Everything but `refines` and the ε of batches has to be the same: what is counted, its order, names and mechanisms,
    and the version of the records. A batch may keep its ε, and then its answer; of the others each has discrete Laplace
    noise and a larger ε.

    Args:
        plan: Pinned to a version, as the earlier one is.
        earlier: What was answered.

    Raises:
        InvalidPlan: Naming what is different.
    """
    if _but_epsilon(plan) != _but_epsilon(earlier):
        raise InvalidPlan(
            "A plan refines another that is the same but for the epsilon of its batches: send the sensitive columns, "
            "version, draw, derived columns, batches and cells of the release that it refines.",
            "refines",
        )
    for index, (batch, before) in enumerate(zip(plan.batches, earlier.batches, strict=True)):
        path = f"batches[{index}].epsilon"
        if batch.loss.epsilon_nano < before.loss.epsilon_nano:
            raise InvalidPlan("It is below that of the release that is refined: ask for a larger one.", path)
        if batch.loss != before.loss and not isinstance(batch.mechanism, Laplace):
            raise InvalidPlan(
                f"Mechanism {batch.mechanism.name!r} cannot be refined: keep the batch's epsilon, and so its answer, "
                "or ask for a new answer, without `refines`.",
                path,
            )
    if all(batch.loss == before.loss for batch, before in zip(plan.batches, earlier.batches, strict=True)):
        raise InvalidPlan("No batch has a larger epsilon than in the release that is refined.", "refines")


def charged_before(plan: Plan, refined: Plan | None) -> tuple[Loss, ...]:
    """For each batch of a plan what a class of its cells was charged before: nothing, if it refines no other.

    Where it does, that is the loss that the other names. It holds of a chain too: each link was charged what it names
    less what the one before it names.
    """
    return tuple(NO_LOSS for _ in plan.batches) if refined is None else tuple(batch.loss for batch in refined.batches)


def _but_epsilon(plan: Plan) -> tuple[Any, ...]:
    """Return what has to be the same."""
    batches = tuple((batch.name, batch.mechanism, batch.cells) for batch in plan.batches)
    return plan.sensitive, plan.version, plan.draw, plan.columns, batches
