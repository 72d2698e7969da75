"""Figures of either outcome of a decision from the same draws: of the favourable one, or of the adverse one.

The favourable rate p and the adverse rate q = 1 − p of a group are two readings of one draw, so the figures about both
never contradict each other. The adverse ratio is max q / min q, within [1, ∞]: a relative risk. It is estimated as
min q / max q, by what estimates the ratio of favourable rates, and turned over at the end: medians and interval ends
keep their meaning under a monotone function. Its upper end is infinite where the lowest q may be 0.
"""

from collections.abc import Sequence

from auditor_client.estimation.drawing import Drawing
from auditor_client.estimation.draws import DrawsWithBoundaryCases, posterior_draws
from auditor_client.estimation.estimates import Estimate
from auditor_client.estimation.intervals import RateDraws
from auditor_client.estimation.inversion import inverted_rates
from auditor_client.estimation.judged_groups import worst_figures
from auditor_client.estimation.local_model import Totals
from auditor_client.estimation.misreporting import corrected_cases
from auditor_client.estimation.results import RatioKind


def draws_of_outcome(
    totals: Totals, kind: RatioKind, level: float, drawing: Drawing
) -> tuple[DrawsWithBoundaryCases, DrawsWithBoundaryCases]:
    """Draws under the flat prior and under the pooled one, of the outcome that a kind of ratio is about."""
    confusion = totals.confusion
    flat, pooled = (
        DrawsWithBoundaryCases.of(draws, totals, level)
        if confusion is None
        else corrected_cases(draws, confusion, level)
        for draws in posterior_draws(totals, drawing)
    )
    return (flat.turned_round(), pooled.turned_round()) if kind.adverse else (flat, pooled)


def inverted_of_outcome(totals: Totals, kind: RatioKind, level: float, drawing: Drawing) -> list[RateDraws] | None:
    """Rates without a prior (`inversion`), of the outcome that a kind of ratio is about; None without any."""
    rates = inverted_rates(totals, drawing, level)
    return [draws.turned_round() for draws in rates] if rates is not None and kind.adverse else rates


def worst_of_kind(
    kind: RatioKind,
    by_prior: Sequence[Sequence[RateDraws]],
    inverted: Sequence[RateDraws | None],
    groups: Sequence[int],
    level: float,
) -> tuple[Estimate, Estimate]:
    """The ratio of a kind and the difference of rates of some groups; the arguments are those of `worst_figures`."""
    ratio, difference = worst_figures(by_prior, inverted, groups, level)
    if kind is RatioKind.ODDS:
        odds = [[rates.odds() for rates in of_prior] for of_prior in by_prior]
        ratio, _ = worst_figures(odds, [None if draws is None else draws.odds() for draws in inverted], groups, level)
    return kind.reported(ratio), difference


def against_of_kind(
    kind: RatioKind, rates: RateDraws, reference: int, level: float
) -> tuple[list[Estimate], list[Estimate]]:
    """Every group's rate, or odds, divided by a reference group's, and the difference of the rates."""
    ratios, differences = rates.against(reference, level)
    return (rates.odds().against(reference, level)[0] if kind is RatioKind.ODDS else ratios), differences
