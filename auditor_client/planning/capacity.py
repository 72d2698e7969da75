"""The number of audits like a planned one that fit into the remaining budget (8-time §1)."""

from dataclasses import dataclass
from typing import Literal

from auditor_client.asking.question import Question
from shared.contract.datasets import Budget
from shared.kinds.plans import Quote
from shared.privacy.capacity import AskedNoise, gaussian_times, laplace_times, times_within
from shared.privacy.noise import DiscreteGaussianNoise, DiscreteLaplaceNoise

NoiseName = Literal["laplace", "gaussian"]


@dataclass(frozen=True, slots=True)
class Capacity:
    """The number of audits that fit, this one included.

    Attributes:
        asked: As they are planned.
        other: Of the same width with the other noise, and which that is; None where the holder offers none, no δ is
            left for it, or the plan's noise has no such counterpart.
    """

    asked: int
    other: tuple[NoiseName, int] | None = None


def capacity(question: Question, quote: Quote, budget: Budget) -> Capacity | None:
    """Return how many fit; None of a plan that costs nothing, and of one that pays a difference alone."""
    if quote.charge.is_nothing or question.plan.refines is not None:
        return None
    return Capacity(times_within(quote.charge, budget.left), _other(question, quote, budget))


def _other(question: Question, quote: Quote, budget: Budget) -> tuple[NoiseName, int] | None:
    dataset, plan, schema, left = question.dataset, question.plan, question.schema, budget.left
    noises = [batch.noise for batch in quote.batches]
    groups = schema.group_count(plan.sensitive)
    noises_asked = [
        AskedNoise(
            priced.noise.variance,
            dataset.neighbouring.counts_that_change(groups, moved=batch.names_sensitive(schema)),
            priced.composition["classes"],
        )
        for batch, priced in zip(plan.batches, quote.batches, strict=True)
        if isinstance(priced.noise, DiscreteLaplaceNoise | DiscreteGaussianNoise)
    ]
    if all(isinstance(noise, DiscreteGaussianNoise) for noise in noises) and "laplace" in dataset.mechanisms:
        return "laplace", laplace_times(noises_asked, left)
    if all(isinstance(noise, DiscreteLaplaceNoise) for noise in noises) and "gaussian" in dataset.mechanisms:
        return ("gaussian", gaussian_times(noises_asked, left)) if left.delta_nano else None
    return None
