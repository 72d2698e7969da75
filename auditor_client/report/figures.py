"""The figures of a report as data: tables of rates, marks on axes, and rows, before anything is drawn."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from auditor_client.asking.inquiry import Inquiry
from auditor_client.asking.request import ODDS
from auditor_client.estimation.results import (
    GroupComparison,
    GroupEstimate,
    OddsEstimate,
    ParityEstimate,
    ParityFigures,
    RatioKind,
)
from auditor_client.findings.answers import RATES, Rate
from auditor_client.findings.finding import Finding, MetricEstimate
from auditor_client.findings.insight import parity_of
from auditor_client.findings.verdicts import BOTH
from auditor_client.report import headlines
from auditor_client.report.axes import LinearAxis, Mark, Tick, interval_text, ratio_axis, ratio_threshold
from auditor_client.report.formats import (
    group_words,
    known,
    per_thousand,
    percent,
    points,
    ratio,
    sensitive_words,
    threshold_percent,
    whole,
)
from auditor_client.report.judged_words import judged_sentences
from auditor_client.report.metric_names import (
    MetricWords,
    RateWords,
    difference_title,
    metric_words,
    rate_words,
    ratio_title,
)
from auditor_client.report.misreported_data import MisreportedSection, misreported_section
from auditor_client.report.outcome import Outcome, outcome_of
from auditor_client.report.unknown_data import UnknownSection, unknown_section
from shared.wire.wording import joined, listed, plain, said, sentence

_PARTS: Final = {0.05: 5, 0.1: 5, 0.2: 4, 0.3: 3, 0.4: 4, 0.5: 5, 0.6: 6, 0.8: 4, 1.0: 5}
"""The ends that the axis of the rates may have, and into how many equal parts each is divided."""
_RATIOS_WORDS: Final = {
    RatioKind.LOWEST: said("lowest rate divided by highest"),
    RatioKind.HIGHEST: said("highest rate divided by lowest"),
    RatioKind.ODDS: said("highest odds divided by lowest"),
}
_LOWEST: Final = said("lowest")
_HIGHEST: Final = said("highest")
_REFERENCE: Final = said("reference")
_NOT_JUDGED: Final = said("not judged")
_EQUAL: Final = sentence("{ratio}. 1 means that the rates of all groups are the same.")
_EQUAL_AMONG_KNOWN: Final = sentence(
    "{ratio}, among the people whose group is known. 1 means that the rates of all groups are the same."
)


@dataclass(frozen=True, slots=True)
class GroupRow:
    """One group; `note` says whether its rate is the lowest, the highest or the reference, and if it is not judged."""

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
    """The ratio on an axis from 0 to 1, or from 1 to ∞, and the threshold there, if there is one.

    An `adverse` ratio fails above its threshold, any other below.
    """

    value: str
    mark: Mark
    ticks: tuple[Tick, ...]
    threshold: float | None
    threshold_text: str
    adverse: bool
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
class ComparedRow:
    """One group against the reference group."""

    group: tuple[str, ...]
    ratio: str
    ratio_interval: str
    difference: str
    difference_interval: str


@dataclass(frozen=True, slots=True)
class MetricSection:
    """One metric: its rates, its ratio, its figures, whom they are about, and comparisons with a reference group."""

    key: str
    words: MetricWords
    rates: tuple[RateTable, ...]
    ratio: RatioPicture
    figures: tuple[FigureRow, ...]
    judged: tuple[str, ...]
    unknown: UnknownSection | None
    misreported: MisreportedSection | None
    reference: tuple[str, ...]
    comparisons: tuple[ComparedRow, ...]


def metric_section(finding: Finding, metric: str) -> MetricSection:
    """Everything that a report shows of one metric."""
    outcome = outcome_of(finding)
    estimate, words = finding.estimates[metric], metric_words(metric, outcome)
    reference = finding.question.reference
    parities = [(rate, parity_of(estimate, rate)) for rate in RATES[metric]]
    return MetricSection(
        key=metric,
        words=words,
        rates=tuple(rate_table(finding.question, outcome, rate, parity) for rate, parity in parities),
        ratio=_ratio_picture(finding, ratio_title(metric), estimate),
        figures=_figures(metric, estimate),
        judged=judged_sentences(finding, metric),
        unknown=unknown_section(finding, metric),
        misreported=misreported_section(finding, metric),
        reference=() if reference is None else group_words(finding.question, reference),
        comparisons=tuple(
            _compared_row(group_words(finding.question, comparison.group), comparison)
            for comparison in (parities[0][1].comparisons if metric != ODDS else ())
        ),
    )


def _compared_row(group: tuple[str, ...], comparison: GroupComparison) -> ComparedRow:
    of_ratio, of_difference = interval_text(comparison.ratio, ratio), interval_text(comparison.difference, points)
    ratio_text, difference_text = known(comparison.ratio, ratio), known(comparison.difference, points)
    return ComparedRow(group, ratio_text, of_ratio, difference_text, of_difference)


def rate_table(question: Inquiry, outcome: Outcome, rate: Rate, parity: ParityEstimate) -> RateTable:
    """The groups' rates of one comparison."""
    ends = [end for group in parity.groups for end in _ends(group) if math.isfinite(end)]
    upper = next((end for end in _PARTS if max(ends, default=1.0) <= end), 1.0)
    axis = LinearAxis(0.0, upper, _PARTS[upper], lambda value: plain(100 * value, 3))
    lowest, highest = _named_extremes(parity)
    rows = []
    for group in sorted(parity.groups, key=lambda group: -group.rate.value if group.rate.defined else math.inf):
        notes = [word for word, extreme in ((_LOWEST, lowest), (_HIGHEST, highest)) if group is extreme]
        notes += [_REFERENCE] if group.group == question.reference else []
        of_unknown = parity.unknown is not None and group.group in parity.unknown.groups
        notes += [_NOT_JUDGED] if group.group in parity.left_out and not of_unknown else []
        rows.append(_group_row(group_words(question, group.group), group, axis, listed(notes)))
    bar, limit = parity.threshold, threshold_rate(parity)
    return RateTable(
        words=rate_words(rate, outcome),
        overall="" if parity.overall is None else known(parity.overall, percent),
        columns=sensitive_words(question),
        rows=tuple(rows),
        ticks=axis.ticks,
        reference=None if limit is None else axis.position(limit),
        reference_text="" if bar is None else said("{threshold} of the highest rate", threshold=threshold_percent(bar)),
        has_intervals=any(row.interval for row in rows),
        has_population=any(row.population for row in rows),
    )


def _named_extremes(parity: ParityEstimate) -> tuple[GroupEstimate | None, GroupEstimate | None]:
    """The groups that are called lowest and highest; none if a rate is unknown or both are equal."""
    lowest, highest = parity.extremes or (None, None)
    if lowest is None or highest is None or not (lowest.rate.known and highest.rate.known):
        return None, None
    return (lowest, highest) if lowest.rate.value < highest.rate.value else (None, None)


def threshold_rate(parity: ParityEstimate) -> float | None:
    """The threshold times the highest rate of the groups that are judged; None without a threshold, ratio or rate."""
    if parity.threshold is None or parity.extremes is None or not parity.ratio.defined:
        return None
    rate = parity.extremes[1].rate
    return parity.threshold * rate.value if rate.known else None


def _ends(group: GroupEstimate) -> tuple[float, ...]:
    wide = group.population_rate
    return (group.rate.value, group.rate.high, *(() if wide is None else (wide.high,)))


def _group_row(values: tuple[str, ...], group: GroupEstimate, axis: LinearAxis, note: str) -> GroupRow:
    return GroupRow(
        values=values,
        rate=known(group.rate, percent),
        interval=interval_text(group.rate, percent),
        population=interval_text(group.population_rate, percent),
        accepted=whole(group.accepted.value),
        size=whole(group.size.value),
        mark=axis.mark(group.rate, group.population_rate),
        note=note,
    )


def _ratio_picture(finding: Finding, title: str, estimate: MetricEstimate) -> RatioPicture:
    kind, threshold = estimate.ratio_kind, estimate.threshold
    bar, axis = None if threshold is None else ratio_threshold(kind, threshold), ratio_axis(kind)
    value, interval = known(estimate.ratio, partial(ratio, apart_from=bar)), headlines.ratio_interval(finding, estimate)
    line = said("from 1 to infinity") if kind.adverse else said("from 0 to 1")
    return RatioPicture(
        value=value,
        mark=axis.mark(estimate.ratio, estimate.population_ratio),
        ticks=axis.ticks,
        threshold=None if bar is None else axis.position(bar),
        threshold_text="" if bar is None else plain(bar),
        adverse=kind.adverse,
        verdict=_shown_verdict(estimate),
        alternative=joined(
            [
                said("The ratio on a line {line}: {ratio}, {interval}.", line=line, ratio=value, interval=interval)
                if interval
                else said("The ratio on a line {line}: {ratio}.", line=line, ratio=value),
                *([] if bar is None else [said("The threshold is at {threshold}.", threshold=plain(bar))]),
            ]
        ),
        caption=said(_EQUAL if estimate.unknown is None else _EQUAL_AMONG_KNOWN, ratio=title),
    )


def _shown_verdict(estimate: MetricEstimate) -> str:
    """Return the verdict on the ratio that is drawn; without one if the ratio is of the people of known group."""
    if estimate.unknown is not None:
        return "none"
    return estimate.verdict.value if estimate.ratio.defined else "undefined"


def _figures(metric: str, estimate: MetricEstimate) -> tuple[FigureRow, ...]:
    def ratio_words(number: float) -> str:
        bar = estimate.threshold
        return ratio(number, apart_from=None if bar is None else ratio_threshold(estimate.ratio_kind, bar))

    of_ratio = _RATIOS_WORDS[estimate.ratio_kind]
    of_difference = said("highest rate minus lowest, in percentage points")
    parts = []
    if isinstance(estimate, OddsEstimate):
        parts = [
            _ratio_row(said("True-positive rates, ratio"), of_ratio, estimate.true_positive, ratio_words),
            _ratio_row(said("False-positive rates, ratio"), of_ratio, estimate.false_positive, ratio_words),
        ]
        of_ratio = said("the smaller of the two ratios")
        of_difference = said("the larger of the two differences, in percentage points")
    difference = FigureRow(
        difference_title(metric),
        of_difference,
        known(estimate.difference, points),
        interval_text(estimate.difference, points),
        interval_text(estimate.population_difference, points),
        equal="0",
    )
    of_all = _ratio_row(ratio_title(metric), of_ratio, estimate, ratio_words), difference
    if estimate.ratio_kind.adverse:
        parts = [_per_thousand_row(estimate)]
    # Where the ratio is no selection rates', a low rate makes it alarming by itself: the difference is read first.
    rows = *(of_all if metric in BOTH else reversed(of_all)), *parts
    return rows if estimate.unknown is None else tuple(map(_among_known, rows))


def _among_known(row: FigureRow) -> FigureRow:
    """Say of a figure that people of unknown group are not in it."""
    return replace(row, definition=said("{definition}; people whose group is known", definition=row.definition))


def _per_thousand_row(estimate: MetricEstimate) -> FigureRow:
    """The difference in people: rates of few per cent are read more easily so."""
    return FigureRow(
        said("Difference in people per 1 000"),
        said("highest rate minus lowest, per 1 000 people whom the rate is about"),
        known(estimate.difference, per_thousand),
        interval_text(estimate.difference, per_thousand),
        interval_text(estimate.population_difference, per_thousand),
        equal="0",
    )


def _ratio_row(name: str, definition: str, figures: ParityFigures, words: Callable[[float], str]) -> FigureRow:
    return FigureRow(
        name,
        definition,
        known(figures.ratio, words),
        interval_text(figures.ratio, words),
        interval_text(figures.population_ratio, words),
        equal="1",
    )
