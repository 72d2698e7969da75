"""Ratio and difference of many releases at once, by the estimator of an audit: for simulations."""

from dataclasses import dataclass

from auditor_client.estimation.draws import DrawsWithBoundaryCases, posterior_draws
from auditor_client.estimation.intervals import worst_parity
from auditor_client.estimation.local_model import Totals
from auditor_client.estimation.results import Estimate


@dataclass(frozen=True, slots=True)
class ParityRange:
    """The ratio and the difference of one release, each with its interval."""

    ratio: Estimate
    difference: Estimate


def parity_ranges(*comparisons: Totals, level: float, draws: int, seed: int = 0) -> list[ParityRange]:
    """Estimate T releases of K groups.

    Args:
        comparisons: One, or two comparisons of the same groups (equalized odds), of which the smaller ratio and the
            larger difference are estimated.
        level: Of each interval.
        draws: How many from each posterior; a power of two.
        seed: Of the draws.

    Returns:
        One for each release.
    """
    of_comparisons = [
        [
            DrawsWithBoundaryCases.of(of_prior, totals, level).rates()
            for of_prior in posterior_draws(totals, number=draws, seed=seed + index)
        ]
        for index, totals in enumerate(comparisons)
    ]
    flat, pooled = (
        [worst_parity(parts, level) for parts in zip(*of_prior, strict=True)]
        for of_prior in zip(*of_comparisons, strict=True)
    )
    return [
        ParityRange(ratio.hull(flat_ratio), difference.hull(flat_difference))
        for (ratio, difference), (flat_ratio, flat_difference) in zip(pooled, flat, strict=True)
    ]
