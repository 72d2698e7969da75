"""Ratio and difference of many releases at once, by the estimator of an audit: for simulations."""

from dataclasses import dataclass

from auditor_client.estimation.drawing import Drawing
from auditor_client.estimation.draws import DrawsWithBoundaryCases, posterior_draws
from auditor_client.estimation.judged_groups import judged_groups, worst_among
from auditor_client.estimation.local_model import Totals
from auditor_client.estimation.results import Estimate
from auditor_client.estimation.size_rule import SizeRule


@dataclass(frozen=True, slots=True)
class ParityRange:
    """The ratio and the difference of one release, each with its interval; `groups` are the indices of those judged."""

    ratio: Estimate
    difference: Estimate
    groups: tuple[int, ...]


def parity_ranges(
    *comparisons: Totals, level: float, drawing: Drawing, rule: SizeRule | None = None
) -> list[ParityRange]:
    """Estimate T releases of K groups.

    Args:
        comparisons: One, or two comparisons of the same groups (equalized odds), of which the smaller ratio and the
            larger difference are estimated.
        level: Of each interval.
        drawing: How draws are made from each posterior.
        rule: How large the groups are that are judged; None for all.

    Returns:
        One for each release.
    """
    of_comparisons = [
        [
            DrawsWithBoundaryCases.of(of_prior, totals, level).rates()
            for of_prior in posterior_draws(totals, drawing.at(drawing.seed + index))
        ]
        for index, totals in enumerate(comparisons)
    ]
    judged = judged_groups(comparisons, rule, drawing.edition.level_of_sizes or level)
    flat, pooled = (
        [worst_among(parts, groups, level) for groups, *parts in zip(judged, *of_prior, strict=True)]
        for of_prior in zip(*of_comparisons, strict=True)
    )
    return [
        ParityRange(ratio.hull(flat_ratio), difference.hull(flat_difference), groups)
        for (ratio, difference), (flat_ratio, flat_difference), groups in zip(pooled, flat, judged, strict=True)
    ]
