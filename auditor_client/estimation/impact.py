"""Impact ratios: each group's rate over the highest, as bias audits list them (5-decisions §4).

New York City's rule on automated employment decision tools (6 RCNY § 5-301) asks for them by sex, by origin, and by
both together. The highest rate is itself an estimate: a group's ratio is the smallest of its ratios to all groups that
may have it, and its interval holds that.
"""

from dataclasses import dataclass, replace

from auditor_client.estimation.drawing import DRAWING, Drawing
from auditor_client.estimation.estimates import Estimate
from auditor_client.estimation.hulls import hull_of_figures
from auditor_client.estimation.intervals import undefined
from auditor_client.estimation.judged_groups import GROUPS_MIN, judged_groups
from auditor_client.estimation.measurements import Measurement
from auditor_client.estimation.posterior import Posterior, group_estimates
from auditor_client.estimation.size_rule import SizeRule
from shared.contract.schema import Group


@dataclass(frozen=True, slots=True)
class ImpactRatio:
    """One group's size (in people), its rate, and that rate over the highest (both within [0, 1])."""

    group: Group
    size: Estimate
    rate: Estimate
    ratio: Estimate


def impact_ratios(
    measurement: Measurement,
    *,
    level: float = 0.95,
    drawing: Drawing = DRAWING,
    rule: SizeRule | None = None,
) -> tuple[ImpactRatio, ...]:
    """Every group's rate over the highest.

    Args:
        measurement: Noisy counts of K groups.
        level: Of each interval.
        drawing: How draws are made.
        rule: How large the groups are that are compared with each other; None for all.

    Returns:
        One for each group, in the measurement's order. The ratio of the group with the highest estimated rate need not
        be 1: another may have the highest. That of a group which the rule leaves out is undefined.

    Raises:
        EstimationRefused: The answers cannot be the mechanism's.
    """
    if measurement.finer is not None:
        of_draws, of_counts = (
            _impact_ratios(source, level, drawing, rule) for source in (measurement, replace(measurement, finer=None))
        )
        return hull_of_figures(of_draws, of_counts)
    return _impact_ratios(measurement, level, drawing, rule)


def _impact_ratios(
    measurement: Measurement, level: float, drawing: Drawing, rule: SizeRule | None
) -> tuple[ImpactRatio, ...]:
    posterior = Posterior.of(measurement, level, drawing)
    (judged,) = judged_groups([posterior.totals], rule, posterior.level_of_sizes)
    ratios = {}
    if len(judged) >= GROUPS_MIN:
        flat, pooled = (of_prior.among(judged).over_highest(level) for of_prior in posterior.rates)
        hulls = (ratio.hull(other) for ratio, other in zip(pooled, flat, strict=True))
        ratios = dict(zip(judged, hulls, strict=True))
    return tuple(
        ImpactRatio(group.group, group.size, group.rate, ratios.get(index, undefined(level)))
        for index, group in enumerate(group_estimates(posterior))
    )
