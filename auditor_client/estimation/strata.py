"""Figures of several strata, whose people are disjoint and whose noises are independent: conditional parity.

Three statements come from the same answers. *Of every stratum*: the smallest ratio and the largest difference over the
strata, as of the two comparisons of equalized odds; "in every stratum the ratio is at least …" is the lower end of one
figure, and needs no correction. *Of several strata together*: intervals of S strata hold together at a level if each
holds at its S-th root, because their noises are independent (Šidák 1967, *JASA* 62). *Standardised*: each group's rate
if it had everybody's mix of strata, Σ_s w_s·p_{k,s} with w_s = n_s/n (direct standardisation: Breslow and Day 1987,
*Statistical Methods in Cancer Research* II, ch. 2). Post-processing: no budget.

Axes: S strata, K groups, M draws.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from typing import Final

import numpy as np

from auditor_client.errors import EstimationRefused
from auditor_client.estimation.drawing import DRAWING, EDITIONS, Drawing
from auditor_client.estimation.draws import DrawsWithBoundaryCases
from auditor_client.estimation.estimates import Estimate
from auditor_client.estimation.intervals import RateDraws, quantile_estimate, undefined
from auditor_client.estimation.measurements import Measurement
from auditor_client.estimation.noise_sums import FloatArray
from auditor_client.estimation.outcomes import against_of_kind, worst_of_kind
from auditor_client.estimation.posterior import Posterior, check_question, worst_of
from auditor_client.estimation.results import (
    GroupComparison,
    JudgedFigures,
    StandardisedFigures,
    StandardisedRate,
    StrataFigures,
)
from auditor_client.estimation.simultaneous import draws_for, level_of_independent
from shared.contract.schema import Group

IN_TAIL: Final = 16
"""How many draws are to lie beyond either end of an interval that holds together with others."""


def estimate_strata(
    measured: Sequence[Sequence[Measurement]],
    *,
    threshold: float | None = 0.8,
    level: float = 0.95,
    drawing: Drawing = DRAWING,
    reference: Group | None = None,
) -> StrataFigures:
    """Return what holds over all strata: in every one of them, and with the same mix of them in every group.

    Args:
        measured: Of each stratum the comparisons of a metric: one, or two for equalized odds. All of the same groups.
        threshold: What the verdicts on ratios are about, within (0, 1]; None for no verdict.
        level: Of each interval, within (0, 1).
        drawing: How draws are made; those of several strata never depend on each other.
        reference: A group to compare every other's standardised rate with.

    Raises:
        EstimationRefused: There is no stratum, the groups differ, or the answers fit no mechanism or no supports.
        ValueError: Threshold or level out of range.
    """
    check_question(threshold, level)
    if not measured or len({measurement.groups for of_stratum in measured for measurement in of_stratum}) != 1:
        raise EstimationRefused("The strata describe different groups: they cannot be compared.")
    posteriors = _posteriors(measured, level, drawing)
    of_each = level_of_independent(level, len(measured))
    together = replace(drawing, number=draws_for(of_each, beyond=IN_TAIL, least=drawing.number))
    return StrataFigures(
        together=tuple(_worst(of_stratum, threshold) for of_stratum in _posteriors(measured, of_each, together)),
        every=_worst([posterior for of_stratum in posteriors for posterior in of_stratum], threshold),
        standardised=tuple(_standardised(of_rate, threshold, reference) for of_rate in zip(*posteriors, strict=True)),
    )


def _worst(posteriors: Sequence[Posterior], threshold: float | None) -> JudgedFigures:
    """The smallest ratio and the largest difference over independent comparisons, of all groups."""
    return worst_of(posteriors, range(len(posteriors[0].groups)), threshold=threshold)


def _posteriors(measured: Sequence[Sequence[Measurement]], level: float, drawing: Drawing) -> list[list[Posterior]]:
    """Return for every stratum the posteriors of its comparisons, all independent of each other."""
    shuffled = replace(drawing, edition=replace(drawing.edition, shuffled=True))
    return [
        [
            Posterior.of(measurement, level, shuffled.at(drawing.seed + len(of_stratum) * stratum + index))
            for index, measurement in enumerate(of_stratum)
        ]
        for stratum, of_stratum in enumerate(measured)
    ]


def _standardised(
    posteriors: Sequence[Posterior], threshold: float | None, reference: Group | None
) -> StandardisedFigures:
    """Each group's rate with everybody's mix of the strata in which the answers show people of every group."""
    first = posteriors[0]
    groups, level = first.groups, first.level
    usable = [posterior for posterior in posteriors if not _may_lack_a_group(posterior)]
    left_out = tuple(index for index, posterior in enumerate(posteriors) if _may_lack_a_group(posterior))
    if not usable:
        none = undefined(level)
        return StandardisedFigures(
            ratio=none, difference=none, threshold=threshold, strata_left_out=left_out, ratio_kind=first.ratio_kind,
            groups=tuple(StandardisedRate(group, none) for group in groups), weights=(),
        )  # fmt: skip
    weights = [_weights([posterior.draws_by_prior[prior] for posterior in usable]) for prior in range(2)]
    flat, pooled = (
        _mixed([posterior.rates[prior] for posterior in usable], of_prior) for prior, of_prior in enumerate(weights)
    )
    kind = first.ratio_kind
    ratio, difference = worst_of_kind(kind, [[flat], [pooled]], [], range(len(groups)), level)
    return StandardisedFigures(
        ratio=ratio,
        difference=difference,
        threshold=threshold,
        ratio_kind=kind,
        groups=tuple(
            StandardisedRate(group, _rate(pooled, k, level).hull(_rate(flat, k, level)))
            for k, group in enumerate(groups)
        ),
        weights=tuple(quantile_estimate(of_stratum, level) for of_stratum in weights[1]),
        strata_left_out=left_out,
        comparisons=() if reference is None else _comparisons(first, first.index(reference), (flat, pooled)),
    )


def _may_lack_a_group(posterior: Posterior) -> bool:
    """Whether noise alone may have answered what was answered of some group: there is perhaps nobody to compare."""
    flat = posterior.draws_by_prior[0]
    return bool((flat.none_possible[0] & flat.all_possible[0]).any())


def _weights(strata: Sequence[DrawsWithBoundaryCases]) -> FloatArray:
    """Each stratum's share of everybody, shape (S, M)."""
    sizes = np.stack([draws.draws.size[0].sum(axis=0) for draws in strata])
    weights: FloatArray = sizes / sizes.sum(axis=0)
    return weights


def _mixed(strata: Sequence[RateDraws], weights: FloatArray) -> RateDraws:
    """Rates with the same mix of strata in every group, in every draw; `weights` has shape (S, M)."""

    def of(rows: str, if_empty: float | None) -> FloatArray:
        parts = [_filled(getattr(stratum, rows), if_empty) for stratum in strata]
        mixed: FloatArray = np.einsum("sm,skm->km", weights, np.stack(parts))
        return mixed

    # Before the third edition mixed rates were compared as the second has it, whatever the note names.
    edition = strata[0].edition if strata[0].edition.leave_one_out else EDITIONS[2]
    return RateDraws(of("rates", None), of("lower", 0.0), of("upper", 1.0), edition)


def _filled(rates: FloatArray, value: float | None) -> FloatArray:
    """Rates of shape (K, M), in whose few draws without people another rate stands: a value, or the group's median."""
    filled: FloatArray = np.where(
        np.isnan(rates), np.nanmedian(rates, axis=1, keepdims=True) if value is None else value, rates
    )
    return filled


def _rate(draws: RateDraws, k: int, level: float) -> Estimate:
    """One group's rate, in the hull of what boundary cases make of it."""
    return reduce(
        Estimate.hull, (quantile_estimate(rows[k], level) for rows in (draws.rates, draws.lower, draws.upper))
    )


def _comparisons(
    posterior: Posterior, reference: int, draws: tuple[RateDraws, RateDraws]
) -> tuple[GroupComparison, ...]:
    """Every other group against the reference."""
    kind, groups = posterior.ratio_kind, posterior.groups
    flat, pooled = (against_of_kind(kind, of_prior, reference, posterior.level) for of_prior in draws)
    return tuple(
        GroupComparison(group, pooled[0][k].hull(flat[0][k]), pooled[1][k].hull(flat[1][k]))
        for k, group in enumerate(groups)
        if k != reference
    )
