"""Conditional parity as data: a ratio for each stratum, the rates in it, and the rates with the same mix of strata."""

import math
from dataclasses import dataclass
from functools import partial
from typing import Final

from auditor_client.asking.strata import Stratum
from auditor_client.estimation.estimates import Verdict
from auditor_client.estimation.results import JudgedFigures, StandardisedFigures
from auditor_client.findings.answers import RATES
from auditor_client.findings.conditional import ConditionalParity, StratumFigures
from auditor_client.findings.finding import Finding
from auditor_client.findings.insight import parity_of
from auditor_client.report import headlines, prose
from auditor_client.report.axes import LinearAxis, Mark, Tick, interval_text, ratio_axis, ratio_threshold
from auditor_client.report.figures import RateTable, rate_table
from auditor_client.report.formats import group_words, known, percent, points, ratio, sensitive_words
from auditor_client.report.metric_names import METRIC_WORDS, RateWords, rate_words
from auditor_client.report.outcome import outcome_of
from shared.wire.wording import listed, said, sentence

_RATES: Final = LinearAxis(0.0, 1.0, 5, lambda value: f"{100 * value:.3g}")
_EVERY: Final = {
    Verdict.MEETS: sentence(
        "Within every value of {column} the {metric} ratio is at least {low} (the smallest of them lies between {low} "
        "and {high}, {level} interval): each meets {rule}."
    ),
    Verdict.FAILS: sentence(
        "Within at least one value of {column} the {metric} ratio is at most {high} (the smallest of them lies between "
        "{low} and {high}, {level} interval): it fails {rule}."
    ),
    Verdict.UNDECIDED: sentence(
        "The smallest {metric} ratio within a value of {column} lies between {low} and {high} ({level} interval): it "
        "is undecided whether every value meets {rule}."
    ),
    Verdict.NONE: sentence(
        "The smallest {metric} ratio within a value of {column} lies between {low} and {high} ({level} interval), and "
        "the largest difference between {less} and {more} percentage points."
    ),
}
_EVERY_ADVERSE: Final = {
    Verdict.MEETS: sentence(
        "Within every value of {column} the {metric} ratio is at most {high} (the largest of them lies between {low} "
        "and {high}, {level} interval): each meets {rule}."
    ),
    Verdict.FAILS: sentence(
        "Within at least one value of {column} the {metric} ratio is at least {low} (the largest of them lies between "
        "{low} and {high}, {level} interval): it fails {rule}."
    ),
    Verdict.UNDECIDED: sentence(
        "The largest {metric} ratio within a value of {column} lies between {low} and {high} ({level} interval): it "
        "is undecided whether every value meets {rule}."
    ),
    Verdict.NONE: sentence(
        "The largest {metric} ratio within a value of {column} lies between {low} and {high} ({level} interval), and "
        "the largest difference between {less} and {more} percentage points."
    ),
}
_SAME_MIX: Final = sentence(
    "If every group had the mix of {column} that all people together have, the lowest {rate} would be {ratio} "
    "of the highest ({level} interval {interval}), and {difference} percentage points below it ({points})."
)
_SAME_MIX_OPEN: Final = sentence(
    "If every group had the mix of {column} that all people together have, the lowest {rate} would lie between {low} "
    "and {high} of the highest, and {points} percentage points below it ({level} intervals): the answers do not show "
    "the figures more closely."
)
_NO_MIX: Final = sentence(
    "Rates with the same mix of {column} cannot be computed: as far as the answers show, none of its values has "
    "people of every group."
)


@dataclass(frozen=True, slots=True)
class StratumRow:
    """One stratum: its ratio and difference, by themselves and together with all others, and the rates within it."""

    name: str
    ratio: str
    mark: Mark
    interval: str
    together: str
    difference: str
    differences_together: str
    verdict: str
    rates: tuple[RateTable, ...]


@dataclass(frozen=True, slots=True)
class StandardisedRow:
    """One group's standardised rate."""

    values: tuple[str, ...]
    rate: str
    interval: str
    mark: Mark


@dataclass(frozen=True, slots=True)
class StandardisedTable:
    """Rates with the same mix of strata in every group, highest first."""

    words: RateWords
    conclusion: str
    left_out: str
    rows: tuple[StandardisedRow, ...]


@dataclass(frozen=True, slots=True)
class StrataSection:
    """One metric by strata."""

    title: str
    within: str
    conclusion: str
    rows: tuple[StratumRow, ...]
    ticks: tuple[Tick, ...]
    threshold: float | None
    threshold_text: str
    standardised: tuple[StandardisedTable, ...]
    rate_ticks: tuple[Tick, ...]


@dataclass(frozen=True, slots=True)
class StrataData:
    """Everything that a report says within the values of a column."""

    column: str
    groups: tuple[str, ...]
    level: str
    sections: tuple[StrataSection, ...]


def strata_data(finding: Finding) -> StrataData | None:
    """The strata of an audit; None without any."""
    if not finding.by_stratum:
        return None
    return StrataData(
        column=strata_column(finding),
        groups=sensitive_words(finding.question),
        level=prose.level_words(finding.ratio),
        sections=tuple(_section(finding, metric, of_metric) for metric, of_metric in finding.by_stratum.items()),
    )


def strata_column(finding: Finding) -> str:
    """The title of the column whose values are the strata."""
    return finding.question.words.column(finding.question.strata[0].column)


def stratum_name(finding: Finding, stratum: Stratum) -> str:
    """A stratum's value as people read it."""
    return finding.question.words.value(stratum.column, stratum.value)


def _section(finding: Finding, metric: str, parity: ConditionalParity) -> StrataSection:
    threshold, outcome = finding.reading.threshold_of(metric), outcome_of(finding)
    kind = RATES[metric][0].ratio_kind
    tables = zip(RATES[metric], parity.standardised, strict=False)
    return StrataSection(
        title=METRIC_WORDS[metric].title,
        within=METRIC_WORDS[metric].within,
        conclusion="" if parity.every is None else _conclusion(finding, metric, parity.every),
        rows=tuple(_row(finding, metric, stratum) for stratum in parity.strata),
        ticks=ratio_axis(kind, narrow=True).ticks,
        threshold=None if threshold is None else ratio_axis(kind).position(ratio_threshold(kind, threshold)),
        threshold_text="" if threshold is None else said("threshold"),
        standardised=tuple(_standardised(finding, parity, rate_words(rate, outcome), table) for rate, table in tables),
        rate_ticks=_RATES.ticks,
    )


def _conclusion(finding: Finding, metric: str, every: JudgedFigures) -> str:
    """Return what holds in every stratum."""
    if not every.ratio.defined:
        return said(headlines.NO_RATE)
    adverse, bar = every.ratio_kind.adverse, _bar(every)
    return said(
        _EVERY_ADVERSE[every.verdict] if adverse else _EVERY[every.verdict],
        column=said("“{column}”", column=strata_column(finding)),
        metric=METRIC_WORDS[metric].within,
        low=ratio(every.ratio.low, apart_from=bar),
        high=ratio(every.ratio.high, apart_from=bar),
        less=points(every.difference.low),
        more=points(every.difference.high),
        level=prose.level_words(every.ratio),
        rule="" if every.threshold is None else prose.threshold_name(every.threshold, metric),
    )


def _bar(figures: JudgedFigures) -> float | None:
    """Return where the ratio of some figures meets their threshold."""
    return None if figures.threshold is None else ratio_threshold(figures.ratio_kind, figures.threshold)


def _row(finding: Finding, metric: str, stratum_figures: StratumFigures) -> StratumRow:
    estimate, together, outcome = stratum_figures.estimate, stratum_figures.together, outcome_of(finding)

    axis = ratio_axis(estimate.ratio_kind)

    def ratio_words(number: float) -> str:
        return ratio(number, apart_from=_bar(estimate))

    return StratumRow(
        name=stratum_name(finding, stratum_figures.stratum),
        ratio=known(estimate.ratio, ratio_words),
        mark=axis.mark(estimate.ratio, None if together is None else together.ratio),
        interval=interval_text(estimate.ratio, ratio_words),
        together="" if together is None else interval_text(together.ratio, ratio_words),
        difference=known(estimate.difference, points),
        differences_together="" if together is None else interval_text(together.difference, points),
        verdict=stratum_figures.verdict.value if estimate.ratio.defined else "undefined",
        rates=tuple(rate_table(finding.question, outcome, rate, parity_of(estimate, rate)) for rate in RATES[metric]),
    )


def _standardised(
    finding: Finding, parity: ConditionalParity, words: RateWords, figures: StandardisedFigures
) -> StandardisedTable:
    ordered = sorted(figures.groups, key=lambda group: -group.rate.value if group.rate.defined else math.inf)
    left_out = [said("“{column}”", column=stratum_name(finding, stratum)) for stratum in parity.left_out(figures)]
    return StandardisedTable(
        words=words,
        conclusion=_same_mix(finding, words, figures),
        left_out=""
        if not left_out or not figures.weights
        else said(
            "That leaves out {values}: the answers do not show people of every group there. The shares of the "
            "other values are relative to each other.",
            values=listed(left_out),
        ),
        rows=tuple(
            StandardisedRow(
                values=group_words(finding.question, group_rate.group),
                rate=known(group_rate.rate, percent),
                interval=interval_text(group_rate.rate, percent),
                mark=_RATES.mark(group_rate.rate),
            )
            for group_rate in ordered
            if figures.weights
        ),
    )


def _same_mix(finding: Finding, words: RateWords, figures: StandardisedFigures) -> str:
    """Return how far standardised rates are apart; or why there are none, or no ratio of them."""
    column = said("“{column}”", column=strata_column(finding))
    if not figures.weights:
        return said(_NO_MIX, column=column)
    if not figures.ratio.defined:
        return said(headlines.NO_RATE)
    apart_from = partial(percent, apart_from=figures.threshold)
    lowest = figures.ratio_kind.reported(figures.ratio)
    return said(
        _SAME_MIX if lowest.known and figures.difference.known else _SAME_MIX_OPEN,
        column=column,
        rate=words.name,
        ratio=apart_from(lowest.value),
        low=apart_from(lowest.low),
        high=apart_from(lowest.high),
        level=prose.level_words(figures.ratio),
        interval=interval_text(lowest, apart_from),
        difference=points(figures.difference.value),
        points=interval_text(figures.difference, points),
    )
