"""The default estimator: posterior medians with intervals that rest on no single prior (3-estimation §2).

The true counts are drawn from their posterior under a flat and under a pooled prior. A value is the
median under the pooled prior; an interval is the hull of both priors' intervals. All figures are
about the people in the data (rates a/n), so the intervals hold the noise of privacy alone.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from auditor_client.estimation.draws import posterior_draws
from auditor_client.estimation.intervals import Range, RateDraws, quantile_range
from auditor_client.estimation.measurements import Measurement
from auditor_client.estimation.noise_sums import FloatArray
from auditor_client.estimation.results import Estimate, GroupEstimate, ParityEstimate
from auditor_client.estimation.totals import BoolArray, NoisyTotals
from shared.schema import Group

METHOD: Final = "posterior"
DRAWS: Final = 4096
OPEN_RATE_WIDTH: Final = 0.5
"""A rate whose interval is wider than this is one that the answers leave open."""


@dataclass(frozen=True, slots=True)
class ParityRange:
    """The ratio and the difference of one release, each with its interval."""

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
        level: Of each single interval, within (0, 1).
        seed: Of the draws.

    Returns:
        Estimates of method "posterior". An empty group has no rate (NaN) and, draw by draw, no part in ratio
        and difference; the ratio is NaN where nobody at all is accepted.

    Raises:
        ValueError: Threshold or level out of range.
    """
    if not (0 < threshold <= 1 and 0 < level < 1):
        raise ValueError("The threshold lies within (0, 1], the level within (0, 1).")
    totals = NoisyTotals.of(measurement)
    priors = posterior_draws(totals, number=DRAWS, seed=seed)
    none, everyone = (possible[0] for possible in totals.boundaries(level))
    rates = [draws.rates()[0] for draws in priors]
    parity = _parity(rates, none, everyone, level)
    groups = tuple(
        _group(
            group,
            [
                (of_rates[k], draws.size[0, k], draws.accepted[0, k])
                for of_rates, draws in zip(rates, priors, strict=True)
            ],
            none_possible=bool(none[k]),
            all_possible=bool(everyone[k]),
            level=level,
        )
        for k, group in enumerate(measurement.groups)
    )
    ratio = _estimate(parity.ratio, level)
    return ParityEstimate(
        groups=groups,
        ratio=ratio,
        difference=_estimate(parity.difference, level),
        threshold=threshold,
        verdict=ratio.against(threshold),
        warnings=tuple(_warnings(groups, ratio)),
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
    """Values under the pooled prior in the hull of both priors' intervals; rates flat, pooled, shape (K, M) each."""
    flat, pooled = (RateDraws(prior, none, everyone).parity(level) for prior in rates)
    return ParityRange(pooled[0].hull(flat[0]), pooled[1].hull(flat[1]))


def _group(
    group: Group, priors: Sequence[Sequence[FloatArray]], *, none_possible: bool, all_possible: bool, level: float
) -> GroupEstimate:
    """One group's rate, size and accepted people, from draws of these under the flat and the pooled prior."""
    flat, pooled = ([quantile_range(draws, level) for draws in prior] for prior in priors)
    rate, size, accepted = (of_pooled.hull(of_flat) for of_pooled, of_flat in zip(pooled, flat, strict=True))
    return GroupEstimate(
        group=group,
        rate=_estimate(rate.reaching(0.0, none_possible).reaching(1.0, all_possible), level),
        size=_estimate(size.reaching(0.0, none_possible and all_possible), level),
        accepted=_estimate(accepted.reaching(0.0, none_possible), level),
    )


def _estimate(figure: Range, level: float) -> Estimate:
    return Estimate(figure.value, figure.low, figure.high, level, METHOD)


def _warnings(groups: Sequence[GroupEstimate], ratio: Estimate) -> Iterator[str]:
    """What the reader has to know of these figures, in sentences."""
    empty = [group for group in groups if not group.rate.defined]
    if empty:
        yield f"{_names(empty)}: nobody is there as far as the answers show, so there is no acceptance rate to compare."
    if not ratio.defined:
        yield (
            "The answers do not show anybody who is accepted, so the ratio is undefined. A larger epsilon may show "
            "somebody."
        )
    if len(groups) - len(empty) < 2:
        yield "Fewer than two groups have people, so there is nothing to compare."
    wide = [group for group in groups if group.rate.defined and group.rate.width > OPEN_RATE_WIDTH]
    if wide:
        sizes = ", ".join(f"{_name(group)} has {group.size.low:.0f} to {group.size.high:.0f} people" for group in wide)
        yield (
            f"Too small for this epsilon: {sizes}. The noise is as large as such a group, so the data cannot tell "
            "its acceptance rate. A larger epsilon or coarser groups would."
        )


def _names(groups: Sequence[GroupEstimate]) -> str:
    return ", ".join(map(_name, groups))


def _name(group: GroupEstimate) -> str:
    return " and ".join("missing" if value is None else str(value) for value in group.group)
