"""Joint statements: at which level each interval of one report is made, so that all of them hold together.

What holds together: of every rate that was asked for the groups' rates, the ratio and the difference, about the people
in the data and about the population, and the comparisons with the reference; the rules' shares in one disparity; and
what bands of a score say (`score_levels`). Numbers of people, and the rate over all groups, are not among it.

The posterior's own draws say which level that takes (`simultaneous`). The ratio is the smallest of its pairs of groups,
and its interval is made from those of the pairs that may be the extreme ones: it holds where theirs do, so it is these
pairs that are drawn. Every interval is the hull of two priors', so the level is the larger of what either needs.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Final

import numpy as np

from auditor_client.errors import EstimationRefused
from auditor_client.estimation.attribution import needed_by_shares
from auditor_client.estimation.band_counts import BandCounts
from auditor_client.estimation.drawing import DRAWING, Drawing
from auditor_client.estimation.intervals import RateDraws
from auditor_client.estimation.judged_groups import GROUPS_MIN, judged_groups
from auditor_client.estimation.measurements import Measurement
from auditor_client.estimation.noise_sums import FloatArray
from auditor_client.estimation.posterior import Posterior
from auditor_client.estimation.results import RatioKind
from auditor_client.estimation.score_levels import median_edge, needed_by_bands
from auditor_client.estimation.simultaneous import (
    DRAWS_MAX,
    draws_for,
    level_of_independent,
    levels_needed,
    simultaneous_level,
)
from auditor_client.estimation.size_rule import TWO_PERCENT, SizeRule
from shared.contract.schema import Group
from shared.wire.wording import said

FIGURES_A_GROUP: Final = 4
"""So many independent figures need about the level that a group's rates, its pairs and its population's need."""
PAIRS_MAX: Final = 8
"""So many pairs of groups at most stand for the extreme one."""
DRAWS_BEYOND: Final = 4
"""So many draws are to lie beyond either end of an interval: levels near 1 need more draws than one interval's."""
BEYOND_MIN: Final = 2
"""With fewer the draws do not show the level."""
TOO_MANY: Final = said(
    "So many figures cannot be shown to hold together at this level. Read the saved answer with a lower level, "
    "fewer metrics, coarser groups, or separate intervals; that costs nothing."
)

NeededByPrior = tuple[FloatArray, FloatArray]
"""Of one measurement the levels that its draws need under the flat and under the pooled prior, shape (M,) each."""


def level_of_report(
    measurements: Sequence[Measurement],
    *,
    reference: Group | None,
    shares: Measurement | None,
    bands: BandCounts | None,
    edge: int | None,
    level: float,
    rule: SizeRule | None = None,
    drawing: Drawing = DRAWING,
) -> float:
    """The level of each interval at which all intervals of one report hold together.

    Post-processing: spends no budget. The same answers give the same level.

    Args:
        measurements: Of every rate that is compared.
        reference: The group that the others are compared with, if one was named.
        shares: The measurement whose rules are given shares, if one has rules; left out if it allows none.
        bands: Of a score, if there is one.
        edge: The index of the edge at which its rates are divided by the highest; by default the median's.
        level: Of all together, within (0, 1).
        rule: How large the groups are that are judged; None for all. The others' ratio and difference hold too.
        drawing: How draws are made, but for how many.

    Raises:
        EstimationRefused: An answer allows no estimate, or the figures are too many.
    """
    of_others: list[NeededByPrior] = []
    if shares is not None:
        with suppress(EstimationRefused):
            of_others.append(needed_by_shares(shares, drawing, reference=reference, level=level, rule=rule))
    if bands is not None:
        of_bands = needed_by_bands(bands, median_edge(bands) if edge is None else edge)
        of_others.append((of_bands, of_bands))

    figures = FIGURES_A_GROUP * sum(len(measurement.groups) for measurement in measurements)
    for number in (draws_at(level_of_independent(level, figures)), DRAWS_MAX):
        full_drawing = replace(drawing, number=number)
        posteriors = [Posterior.of(measured, level, full_drawing) for measured in measurements]
        each_level = level_together(
            [*(needed_by(posterior, reference, rule) for posterior in posteriors), *of_others], level
        )
        if each_level is not None:
            return each_level
    raise EstimationRefused(TOO_MANY)


def draws_at(level: float) -> int:
    """Return how many draws of a posterior an interval of some level is made from, a power of two."""
    return draws_for(level, beyond=DRAWS_BEYOND, least=DRAWING.number)


def level_together(needed: Sequence[NeededByPrior], level: float) -> float | None:
    """The level of each interval at which the intervals of several measurements hold together at `level`.

    None where they are so many that the draws do not show it.
    """
    each_level = max(simultaneous_level(of_prior, level) for of_prior in zip(*needed, strict=True))
    draws = max(len(of_prior) for both in needed for of_prior in both)
    return each_level if each_level <= 1 - 2 * BEYOND_MIN / draws else None


def needed_by(posterior: Posterior, reference: Group | None, rule: SizeRule | None = None) -> NeededByPrior:
    """Return what the figures of one posterior need."""
    index = None if reference is None else posterior.index(reference)
    (judged,) = judged_groups([posterior.totals], rule or TWO_PERCENT, posterior.level_of_sizes)
    flat, pooled = (_needed(posterior, prior, index, judged) for prior in range(2))
    return flat, pooled


def _needed(posterior: Posterior, prior: int, reference: int | None, judged: tuple[int, ...]) -> FloatArray:
    needed: FloatArray = np.maximum.reduce(
        [levels_needed(figures) for figures in _figures(posterior, prior, reference, judged)]
    )
    return needed


def _figures(posterior: Posterior, prior: int, reference: int | None, judged: tuple[int, ...]) -> Iterator[FloatArray]:
    """Draws of all figures under one prior, shape (F, M) each; of all groups, and of those that are judged."""
    odds = posterior.ratio_kind is RatioKind.ODDS
    for rates in (posterior.rates[prior], posterior.population_rates[prior]):
        yield rates.rates
        for compared in (rates, rates.odds()) if odds else (rates,):
            yield from _extremes(compared)
            if GROUPS_MIN <= len(judged) < len(rates.rates):
                yield from _extremes(compared.among(judged))
    for rates in (posterior.rates[prior], posterior.rates[prior].odds())[: 2 if odds else 1]:
        if reference is None:
            break
        pairs = rates.pairs(np.delete(np.arange(len(rates.rates)), reference), np.array([reference]))
        yield from (pairs.ratios, pairs.differences)


def _extremes(rates: RateDraws) -> Iterator[FloatArray]:
    """The ratio and the difference by the pairs of groups that may be the extreme ones, shape (P, M) each.

    The lower end of the ratio fails only where that of the truly extreme pair does; of many pairs those stand for it
    that are most often extreme. Its upper end allows for all pairs together (`intervals`): the drawn ratio stands for
    it.
    """
    low, high = rates.contenders()
    if len(low) * len(high) <= PAIRS_MAX:
        pairs = rates.pairs(low, high)
        yield from (pairs.ratios, pairs.differences)
        return
    yield np.stack(rates.extremes())
    lowest, highest = (np.where(np.isnan(rates.rates), end, rates.rates) for end in (np.inf, -np.inf))
    pair_draws = np.stack([lowest.argmin(axis=0), highest.argmax(axis=0)])
    different, times = np.unique(pair_draws, axis=1, return_counts=True)
    for first, second in different[:, np.argsort(-times)[:PAIRS_MAX]].T:
        pair = rates.pairs(np.array([first]), np.array([second]))
        yield from (pair.ratios, pair.differences)
