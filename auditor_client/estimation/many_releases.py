"""Ratio and difference of many releases at once, by the estimator of an audit: for simulations."""

from collections.abc import Sequence
from dataclasses import dataclass

from auditor_client.estimation.drawing import Drawing
from auditor_client.estimation.estimates import Estimate
from auditor_client.estimation.intervals import RateDraws
from auditor_client.estimation.judged_groups import judged_groups
from auditor_client.estimation.local_model import Totals
from auditor_client.estimation.outcomes import draws_of_outcome, inverted_of_outcome, worst_of_kind
from auditor_client.estimation.results import RatioKind
from auditor_client.estimation.size_rule import SizeRule


@dataclass(frozen=True, slots=True)
class ParityRange:
    """The ratio and the difference of one release, each with its interval; `groups` are the indices of those judged."""

    ratio: Estimate
    difference: Estimate
    groups: tuple[int, ...]


def parity_ranges(
    *comparisons: Totals,
    level: float,
    drawing: Drawing,
    rule: SizeRule | None = None,
    kind: RatioKind = RatioKind.LOWEST,
) -> list[ParityRange]:
    """Estimate T releases of K groups.

    Args:
        comparisons: One, or two comparisons of the same groups (equalized odds), of which the smaller ratio and the
            larger difference are estimated.
        level: Of each interval.
        drawing: How draws are made from each posterior.
        rule: How large the groups are that are judged; None for all.
        kind: Which ratio; an adverse one is of the other outcome than the totals' accepted.

    Returns:
        One for each release.
    """
    drawings = [drawing.at(drawing.seed + index) for index in range(len(comparisons))]
    each = list(zip(comparisons, drawings, strict=True))
    judged = judged_groups(comparisons, rule, drawing.edition.level_of_sizes or level)
    by_prior = [[of_prior.rates() for of_prior in draws_of_outcome(totals, kind, level, own)] for totals, own in each]
    none: list[RateDraws | None] = [None] * len(judged)
    inverted: list[Sequence[RateDraws | None]] = [
        inverted_of_outcome(totals, kind, level, own) or none for totals, own in each
    ]
    return [
        ParityRange(
            *worst_of_kind(
                kind,
                list(zip(*((flat[release], pooled[release]) for flat, pooled in by_prior), strict=True)),
                [of_comparison[release] for of_comparison in inverted],
                groups,
                level,
            ),
            groups,
        )
        for release, groups in enumerate(judged)
    ]
