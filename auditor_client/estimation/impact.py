"""Impact ratios: each group's rate over the highest, as bias audits list them (5-decisions §4).

New York City's rule on automated employment decision tools (6 RCNY § 5-301) asks for them by sex, by origin, and by
both together. The highest rate is itself an estimate: a group's ratio is the smallest of its ratios to all groups that
may have it, and its interval holds that.
"""

from dataclasses import dataclass

from auditor_client.estimation.measurements import Measurement
from auditor_client.estimation.posterior import DRAWS, Posterior, parity_of
from auditor_client.estimation.results import Estimate
from shared.schema import Group


@dataclass(frozen=True, slots=True)
class ImpactRatio:
    """One group's size (in people), its rate, and that rate over the highest (both within [0, 1])."""

    group: Group
    size: Estimate
    rate: Estimate
    ratio: Estimate


def impact_ratios(
    measurement: Measurement, *, level: float = 0.95, seed: int = 0, draws: int = DRAWS
) -> tuple[ImpactRatio, ...]:
    """Every group's rate over the highest.

    Args:
        measurement: Noisy counts of K groups.
        level: Of each interval.
        seed: Of the draws.
        draws: How many.

    Returns:
        One for each group, in the measurement's order. The ratio of the group with the highest estimated rate need not
        be 1: another may have the highest.

    Raises:
        EstimationRefused: The answers cannot be the mechanism's.
    """
    posterior = Posterior.of(measurement, level=level, seed=seed, draws=draws)
    flat, pooled = (of_prior.over_highest(level) for of_prior in posterior.rates)
    groups = parity_of(posterior, threshold=1.0, reference=None).groups
    return tuple(
        ImpactRatio(group.group, group.size, group.rate, one.hull(other))
        for group, one, other in zip(groups, pooled, flat, strict=True)
    )
