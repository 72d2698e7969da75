"""The figures of a report as data: tables of rates, marks on axes, and rows, before anything is drawn.

Texts and positions only, in per cent of an axis; the page adds no fact of its own.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from auditor_client.asking.request import ODDS
from auditor_client.estimation.results import Estimate, GroupComparison, GroupEstimate, OddsEstimate, ParityEstimate
from auditor_client.findings.answers import RATES, Rate
from auditor_client.findings.finding import Finding, MetricEstimate
from auditor_client.findings.insight import parity_of
from auditor_client.report import prose
from auditor_client.report.formats import group_words, percent, points, ratio, threshold_percent, whole
from auditor_client.report.metric_names import METRIC_WORDS, RATE_WORDS, RateWords
from shared.schema import Group

_AXES: Final = {0.05: 5, 0.1: 5, 0.2: 4, 0.3: 3, 0.4: 4, 0.5: 5, 0.6: 6, 0.8: 4, 1.0: 5}
"""The ends that the axis of the rates may have, and into how many equal parts each is divided."""


@dataclass(frozen=True, slots=True)
class Tick:
    """A mark of an axis, in per cent of its length, and what it says."""

    position: float
    label: str


@dataclass(frozen=True, slots=True)
class Mark:
    """An estimate on an axis, in per cent of its length; None where there is no value, or no interval.

    `wide_low` and `wide_high` are the ends of a second interval, drawn thinner: of the population.
    """

    value: float | None
    low: float | None
    high: float | None
    wide_low: float | None = None
    wide_high: float | None = None


@dataclass(frozen=True, slots=True)
class GroupRow:
    """One group; `note` says whether its rate is the lowest, the highest or the reference."""

    values: tuple[str, ...]
    rate: str
    interval: str
    population: str
    accepted: str
    size: str
    mark: Mark
    note: str


@dataclass(frozen=True, slots=True)
class RateTable:
    """Rates, highest first; `reference` is where the threshold times the highest rate lies."""

    key: str
    words: RateWords
    overall: str
    columns: tuple[str, ...]
    rows: tuple[GroupRow, ...]
    ticks: tuple[Tick, ...]
    reference: float | None
    reference_text: str
    has_intervals: bool
    has_population: bool


@dataclass(frozen=True, slots=True)
class RatioPicture:
    """The ratio on an axis from 0 to 1, and the threshold there."""

    mark: Mark
    ticks: tuple[Tick, ...]
    threshold: float
    threshold_text: str
    verdict: str
    alternative: str
    caption: str


@dataclass(frozen=True, slots=True)
class FigureRow:
    """One figure over all groups; `equal` is its value if all groups were treated the same."""

    name: str
    definition: str
    value: str
    interval: str
    population: str
    equal: str


@dataclass(frozen=True, slots=True)
class ComparisonRow:
    """One group against the reference group."""

    values: tuple[str, ...]
    ratio: str
    ratio_interval: str
    difference: str
    difference_interval: str


@dataclass(frozen=True, slots=True)
class MetricSection:
    """One metric: its rates, its ratio, its figures."""

    key: str
    title: str
    heading: str
    asks: str
    other_names: str
    rates: tuple[RateTable, ...]
    ratio: RatioPicture
    figures: tuple[FigureRow, ...]
    reference: tuple[str, ...]
    comparisons: tuple[ComparisonRow, ...]


def metric_section(finding: Finding, metric: str) -> MetricSection:
    """Everything that a report shows of one metric."""
    estimate, words = finding.estimates[metric], METRIC_WORDS[metric]
    reference = finding.question.reference
    parities = [(rate, parity_of(estimate, rate)) for rate in RATES[metric]]
    return MetricSection(
        key=metric,
        title=words.title,
        heading=words.section,
        asks=words.asks,
        other_names=words.other_names,
        rates=tuple(_rates(finding.plan.sensitive, rate, parity, reference) for rate, parity in parities),
        ratio=_ratio_picture(words.title, estimate),
        figures=_figures(metric, words.title, estimate),
        reference=() if reference is None else group_words(reference),
        comparisons=tuple(_comparison(row) for row in parities[0][1].comparisons) if metric != ODDS else (),
    )


def _rates(columns: tuple[str, ...], rate: Rate, parity: ParityEstimate, reference: Group | None) -> RateTable:
    ends = [end for group in parity.groups for end in _ends(group) if math.isfinite(end)]
    upper = next((end for end in _AXES if max(ends, default=1.0) <= end), 1.0)
    parts = _AXES[upper]
    lowest, highest = prose.extremes(parity) or (None, None)
    rows = []
    for group in sorted(parity.groups, key=lambda group: -group.rate.value if group.rate.defined else math.inf):
        notes = [word for word, extreme in (("lowest", lowest), ("highest", highest)) if group is extreme]
        notes += ["reference"] if group.group == reference else []
        rows.append(_group_row(group, upper, " and ".join(notes)))
    return RateTable(
        key=rate.value,
        words=RATE_WORDS[rate],
        overall="" if parity.overall is None else percent(parity.overall.value),
        columns=columns,
        rows=tuple(rows),
        ticks=tuple(Tick(100 * part / parts, f"{100 * upper * part / parts:.3g}") for part in range(parts + 1)),
        reference=None
        if highest is None or not parity.ratio.defined
        else position(parity.threshold * highest.rate.value, 0.0, upper),
        reference_text=f"{threshold_percent(parity.threshold)} of the highest rate",
        has_intervals=any(row.interval for row in rows),
        has_population=any(row.population for row in rows),
    )


def _ends(group: GroupEstimate) -> tuple[float, ...]:
    wide = group.population_rate
    return (group.rate.value, group.rate.high, *(() if wide is None else (wide.high,)))


def _group_row(group: GroupEstimate, upper: float, note: str) -> GroupRow:
    return GroupRow(
        values=group_words(group.group),
        rate=percent(group.rate.value),
        interval=interval_text(group.rate, percent),
        population=interval_text(group.population_rate, percent),
        accepted=whole(group.accepted.value),
        size=whole(group.size.value),
        mark=mark(group.rate, group.population_rate, 0.0, upper),
        note=note,
    )


def _ratio_picture(title: str, estimate: MetricEstimate) -> RatioPicture:
    shown = ratio(estimate.ratio.value, apart_from=estimate.threshold)
    interval = prose.interval_words(estimate)
    return RatioPicture(
        mark=mark(estimate.ratio, estimate.population_ratio, 0.0, 1.0),
        ticks=tuple(Tick(20.0 * part, f"{0.2 * part:.1g}") for part in range(6)),
        threshold=100 * estimate.threshold,
        threshold_text=f"{estimate.threshold:g}",
        verdict=estimate.verdict.value if estimate.ratio.defined else "undefined",
        alternative=(
            f"The ratio on a line from 0 to 1: {shown}{f', {interval}' if interval else ''}. "
            f"The threshold is at {estimate.threshold:g}."
        ),
        caption=f"The {title.lower()} ratio. 1 means that the rates of all groups are the same.",
    )


def _figures(metric: str, title: str, estimate: MetricEstimate) -> tuple[FigureRow, ...]:
    def ratio_words(number: float) -> str:
        return ratio(number, apart_from=estimate.threshold)

    worse = metric == ODDS
    rows = [
        _figure(
            f"{title} ratio",
            "the smaller of the two ratios" if worse else "lowest rate divided by highest",
            (estimate.ratio, estimate.population_ratio),
            ratio_words,
            "1",
        ),
        _figure(
            f"{title} difference",
            "the larger of the two differences, in percentage points"
            if worse
            else "highest rate less lowest, in percentage points",
            (estimate.difference, estimate.population_difference),
            points,
            "0",
        ),
    ]
    if isinstance(estimate, OddsEstimate):
        for name, part in (("True-positive", estimate.true_positive), ("False-positive", estimate.false_positive)):
            pair = (part.ratio, part.population_ratio)
            rows.append(_figure(f"{name} rates, ratio", "lowest rate divided by highest", pair, ratio_words, "1"))
    return tuple(rows)


def _figure(
    name: str,
    definition: str,
    estimates: tuple[Estimate, Estimate | None],
    words: Callable[[float], str],
    equal: str,
) -> FigureRow:
    estimate, population = estimates
    return FigureRow(
        name, definition, words(estimate.value), interval_text(estimate, words), interval_text(population, words), equal
    )


def _comparison(row: GroupComparison) -> ComparisonRow:
    return ComparisonRow(
        group_words(row.group),
        ratio(row.ratio.value),
        interval_text(row.ratio, ratio),
        points(row.difference.value),
        interval_text(row.difference, points),
    )


def interval_text(estimate: Estimate | None, words: Callable[[float], str]) -> str:
    """An interval as "low to high"; empty if there is none."""
    return "" if estimate is None or math.isnan(estimate.low) else f"{words(estimate.low)} to {words(estimate.high)}"


def mark(estimate: Estimate, population: Estimate | None, lower: float, upper: float) -> Mark:
    """An estimate on an axis, with the interval about the people and the one about the population."""
    wide = (None, None) if population is None else (population.low, population.high)
    return Mark(
        *(position(end, lower, upper) for end in (estimate.value, estimate.low, estimate.high)),
        *(None if end is None else position(end, lower, upper) for end in wide),
    )


def position(value: float, lower: float, upper: float) -> float | None:
    """Where a value lies on an axis, in per cent of its length, within it."""
    if not math.isfinite(value):
        return None
    return round(min(max(100 * (value - lower) / (upper - lower), 0.0), 100.0), 3)


def symmetric_axis(values: Sequence[float]) -> tuple[float, tuple[Tick, ...]]:
    """The end of an axis around zero that holds some values, and its ticks; the values' unit."""
    largest = max((abs(value) for value in values if math.isfinite(value)), default=1.0) or 1.0
    step = 10.0 ** math.floor(math.log10(largest))
    end = next(step * factor for factor in (1, 1.5, 2, 3, 4, 5, 6, 8, 10) if largest <= step * factor * (1 + 1e-9))
    return end, tuple(
        Tick(25.0 * part, f"{end * (part - 2) / 2:+.3g}".replace("-", "−") if part != 2 else "0") for part in range(5)
    )
