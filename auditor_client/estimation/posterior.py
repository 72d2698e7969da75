"""The default estimator: posterior medians with intervals that rest on no single prior (3-estimation §2).

The true counts are drawn from their posterior under a flat and under a pooled prior. A value is the
median under the pooled prior; an interval is the hull of both priors' intervals. All figures are
about the people in the data (rates a/n), so the intervals hold the noise of privacy alone.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from auditor_client.estimation.draws import Draws, posterior_draws
from auditor_client.estimation.intervals import Range, RateDraws, quantile_range
from auditor_client.estimation.measurements import Measurement
from auditor_client.estimation.noise_sums import FloatArray
from auditor_client.estimation.results import Estimate, GroupEstimate, ParityEstimate
from auditor_client.estimation.totals import BoolArray, NoisyTotals
from shared.schema import Group

METHOD: Final = "posterior"
DRAWS: Final = 4096
WIDE_RATE: Final = 0.5
"""A rate whose interval is wider than this is one that the answers leave open."""


@dataclass(frozen=True, slots=True)
class ParityRange:
    """The ratio and the difference of one release, each with its hull interval."""

    ratio: Range
    difference: Range


def estimate_parity(
    measurement: Measurement, *, threshold: float = 0.8, level: float = 0.95, seed: int = 0
) -> ParityEstimate:
    """Estimate statistical parity and every group's rate, with honest intervals.

    Post-processing: spends no budget. The same measurement and seed give the same figures.

    Args:
        measurement: Noisy counts of K groups.
        threshold: What the verdict on the ratio is about, within (0, 1].
        level: Of every single interval, within (0, 1).
        seed: Of the draws.

    Returns:
        Estimates of method "posterior"; NaN where nothing is defined (an empty group's rate; the ratio, if
        nobody at all is accepted). An empty group has no part in the ratio, draw by draw.

    Raises:
        ValueError: Threshold or level out of range.
    """
    if not (0 < threshold <= 1 and 0 < level < 1):
        raise ValueError("The threshold lies within (0, 1], the level within (0, 1).")
    totals = NoisyTotals.of(measurement)
    both = posterior_draws(totals, number=DRAWS, seed=seed)
    none, everyone = (possible[0] for possible in totals.boundaries(level))
    groups = tuple(
        _group(group, k, both, none_possible=bool(none[k]), all_possible=bool(everyone[k]), level=level)
        for k, group in enumerate(measurement.groups)
    )
    parity = _parity([draws.rates()[0] for draws in both], none, everyone, level)
    ratio = _estimate(parity.ratio, level)
    return ParityEstimate(
        groups=groups,
        ratio=ratio,
        difference=_estimate(parity.difference, level),
        threshold=threshold,
        verdict=ratio.against(threshold),
        warnings=tuple(_warnings(groups, ratio, totals)),
    )


def parity_ranges(totals: NoisyTotals, *, level: float, draws: int, seed: int = 0) -> list[ParityRange]:
    """Ratio and difference of many releases at once, for simulations: the same estimator.

    Args:
        totals: T releases of K groups.
        level: Of each interval.
        draws: How many from each posterior; a power of two.
        seed: Of the draws.
    """
    rates = [draws.rates() for draws in posterior_draws(totals, number=draws, seed=seed)]
    none, everyone = totals.boundaries(level)
    return [
        _parity([prior[release] for prior in rates], none[release], everyone[release], level)
        for release in range(len(none))
    ]


def _parity(rates: Sequence[FloatArray], none: BoolArray, everyone: BoolArray, level: float) -> ParityRange:
    """Hull intervals from rates under the flat and the pooled prior, shape (K, M) each; values of the pooled."""
    flat, pooled = (RateDraws(prior, none, everyone).parity(level) for prior in rates)
    return ParityRange(pooled[0].hull(flat[0]), pooled[1].hull(flat[1]))
