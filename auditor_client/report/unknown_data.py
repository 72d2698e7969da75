"""The part of a report about people whose group is unknown: at worst, at best, and what would change the verdict.

Sentences are whole, as in `headlines`. Worst is what is farther from parity, for either kind of decision.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from auditor_client.asking.request import (
    ADVERSE,
    FALSE_DISCOVERY_RATE,
    FALSE_OMISSION_RATE,
    ODDS,
    ODDS_RATIO,
    OF_ADVERSE_LABELS,
    OPPORTUNITY,
    PARITY,
)
from auditor_client.estimation.estimates import Estimate, Verdict
from auditor_client.estimation.results import RatioKind
from auditor_client.estimation.unknown_figures import FactorPoint, SetEstimate, TippingPoint, UnknownFigures
from auditor_client.findings.answers import RATES
from auditor_client.findings.finding import Finding, MetricEstimate
from auditor_client.report.axes import Mark, Tick, interval_text, ratio_axis, ratio_threshold
from auditor_client.report.formats import group_words, percent, points, ratio
from auditor_client.report.metric_names import METRIC_WORDS, rate_words
from auditor_client.report.outcome import outcome_of
from auditor_client.report.prose import level_words, threshold_name
from auditor_client.report.subject import subject
from shared.wire.wording import figure, joined, plain, said, sentence

_OF_DECISIONS: Final = {
    *(PARITY, ADVERSE, ODDS_RATIO, OPPORTUNITY, ODDS),
    *(set(OF_ADVERSE_LABELS) - {FALSE_DISCOVERY_RATE, FALSE_OMISSION_RATE}),
}
"""The metrics whose rates are shares of people with one decision, so that the unknown with it can be named."""
_SHARE: Final = sentence("For {share} of the people the group is unknown ({level} interval {ends}).")
_SETS: Final[Mapping[RatioKind, Mapping[str, str]]] = {
    RatioKind.LOWEST: {
        "any": sentence(
            "Whatever groups they belong to, the {title} ratio, lowest rate to highest, is {worst} at worst and {best} "
            "at best ({level} interval of the whole range: {ends})."
        ),
        "sized": sentence(
            "As far as the known numbers of people in each group allow, the {title} ratio, lowest rate to highest, is "
            "{worst} at worst and {best} at best ({level} interval of the whole range: {ends})."
        ),
        "factor": sentence(
            "If they differ from the people whose group is known by at most a factor of {factor} in odds, the {title} "
            "ratio, lowest rate to highest, is {worst} at worst and {best} at best ({level} interval "
            "of the whole range: {ends})."
        ),
    },
    RatioKind.HIGHEST: {
        "any": sentence(
            "Whatever groups they belong to, the highest {rate} is {worst} times the lowest at worst and {best} times "
            "at best ({level} interval of the whole range: {ends})."
        ),
        "sized": sentence(
            "As far as the known numbers of people in each group allow, the highest {rate} is {worst} times the lowest "
            "at worst and {best} times at best ({level} interval of the whole range: {ends})."
        ),
        "factor": sentence(
            "If they differ from the people whose group is known by at most a factor of {factor} in odds, the highest "
            "{rate} is {worst} times the lowest at worst and {best} times at best ({level} interval "
            "of the whole range: {ends})."
        ),
    },
    RatioKind.ODDS: {
        "any": sentence(
            "Whatever groups they belong to, the highest odds of {rate} are {worst} times the lowest at worst and "
            "{best} times at best ({level} interval of the whole range: {ends})."
        ),
        "sized": sentence(
            "As far as the known numbers of people in each group allow, the highest odds of {rate} are {worst} times "
            "the lowest at worst and {best} times at best ({level} interval of the whole range: {ends})."
        ),
        "factor": sentence(
            "If they differ from the people whose group is known by at most a factor of {factor} in odds, the highest "
            "odds of {rate} are {worst} times the lowest at worst and {best} times at best ({level} interval "
            "of the whole range: {ends})."
        ),
    },
}
_IF_ALIKE: Final[Mapping[Verdict, str]] = {
    Verdict.MEETS: sentence(
        "If they are divided among the groups as the others with the same outcome are, {name} meets {rule}."
    ),
    Verdict.FAILS: sentence(
        "If they are divided among the groups as the others with the same outcome are, {name} fails {rule}."
    ),
}
_NEVER: Final = sentence("No division of them among the groups changes this.")
_FACTOR: Final = sentence(
    "It would take a factor of {factor} between their odds of belonging to a group and those of the others for this "
    "verdict to change."
)
_ANY_FACTOR: Final = sentence(
    "It would take a factor of more than {factor} between their odds of belonging to a group and those of the others "
    "for this verdict to change."
)
_SHARE_WITH: Final = sentence(
    "For example, {share} of the people of unknown group with {outcome} would have to belong to the group “{group}”; "
    "of those of known group with it, {known} do."
)
_OPEN_ANYWAY: Final = sentence(
    "Even if they are divided among the groups as the others with the same outcome are, the noise leaves the verdict "
    "open."
)
_DIFFERENCE: Final = sentence(
    "The difference is {worst} percentage points at worst and {best} at best ({level} interval {ends})."
)
_NOT_SIZED: Final = sentence("The table leaves the known numbers of people in each group out.")


@dataclass(frozen=True, slots=True)
class FactorRow:
    """The figure under one assumption about the unknown; `mark` has the set, and its interval drawn thinner."""

    factor: str
    worst: str
    best: str
    interval: str
    verdict: str
    mark: Mark
    alternative: str


@dataclass(frozen=True, slots=True)
class UnknownSection:
    """Sentences about the people of unknown group, and the ratio by how far they may differ from the others."""

    sentences: tuple[str, ...]
    rows: tuple[FactorRow, ...]
    ticks: tuple[Tick, ...]
    threshold: float | None
    threshold_text: str
    level: str
    note: str


def unknown_section(finding: Finding, metric: str) -> UnknownSection | None:
    """All that a report says of a metric's unknown people; None where figures are not bounded."""
    estimate = finding.estimates[metric]
    unknown = estimate.unknown
    if unknown is None:
        return None
    kind, threshold = estimate.ratio_kind, estimate.threshold
    bar, axis, words = (
        None if threshold is None else ratio_threshold(kind, threshold),
        ratio_axis(kind),
        _words(estimate),
    )
    level = level_words(estimate.ratio)
    return UnknownSection(
        sentences=(
            *unknown_sentences(finding, metric),
            *tipping_sentences(finding, metric),
            *_example(finding, metric, unknown.tipping),
            said(
                _DIFFERENCE,
                worst=points(unknown.difference.most),
                best=points(unknown.difference.least),
                ends=interval_text(unknown.difference.interval(), points),
                level=level,
            ),
        ),
        rows=tuple(_row(point, kind, words) for point in unknown.curve),
        ticks=axis.ticks,
        threshold=None if bar is None else axis.position(bar),
        threshold_text="" if bar is None else plain(float(f"{bar:.4g}")),
        level=level,
        note=said(_NOT_SIZED) if unknown.sized else "",
    )


def unknown_sentences(finding: Finding, metric: str) -> tuple[str, ...]:
    """Say how many are unknown, and the figure at worst and at best; nothing where it is not bounded."""
    estimate = finding.estimates[metric]
    unknown = estimate.unknown
    if unknown is None or not unknown.ratio.defined:
        return ()
    return (
        said(
            _SHARE,
            share=percent(unknown.share.value),
            ends=interval_text(unknown.share, percent),
            level=level_words(estimate.ratio),
        ),
        _set_sentence(finding, metric, estimate, unknown),
    )


def tipping_sentences(finding: Finding, metric: str) -> tuple[str, ...]:
    """Say what the verdict is if the unknown are as the others, and what would change it; else nothing."""
    estimate = finding.estimates[metric]
    unknown = estimate.unknown
    if unknown is None or not unknown.ratio.defined:
        return ()
    return tuple(_tipping(finding, metric, estimate, unknown.tipping))


def _set_sentence(finding: Finding, metric: str, estimate: MetricEstimate, unknown: UnknownFigures) -> str:
    kind, words = estimate.ratio_kind, _words(estimate)
    form = "sized" if unknown.sized else "any" if math.isinf(unknown.factor) else "factor"
    worst, best = _worst_and_best(unknown.ratio, kind)
    return said(
        _SETS[kind][form],
        title=METRIC_WORDS[metric].within,
        rate=rate_words(RATES[metric][0], outcome_of(finding)).name,
        worst=words(worst),
        best=words(best),
        factor=_factor(unknown.factor),
        ends=interval_text(unknown.ratio.interval(), words),
        level=level_words(estimate.ratio),
    )


def _tipping(finding: Finding, metric: str, estimate: MetricEstimate, tipping: TippingPoint | None) -> Iterator[str]:
    if estimate.threshold is None:
        return
    if tipping is None:
        yield said(_OPEN_ANYWAY)
        return
    name, rule = subject(finding.question).name, threshold_name(estimate.threshold, metric)
    yield said(_IF_ALIKE[tipping.verdict], name=name, rule=rule)
    if tipping.factor is None:
        yield said(_NEVER)
        return
    beyond = math.isinf(tipping.factor)
    yield said(_ANY_FACTOR if beyond else _FACTOR, factor=_factor(1000.0 if beyond else tipping.factor))


def _example(finding: Finding, metric: str, tipping: TippingPoint | None) -> tuple[str, ...]:
    """The group, and the share of the unknown in it, that would give another verdict; nothing where none would."""
    share = None if tipping is None else tipping.share
    if share is None or metric not in _OF_DECISIONS:
        return ()
    outcome = outcome_of(finding)
    favourable = share.accepted != finding.estimates[metric].ratio_kind.adverse
    text = said(
        _SHARE_WITH,
        share=percent(share.share),
        known=percent(share.known),
        outcome=outcome.name if favourable else outcome.adverse,
        group=joined(group_words(finding.question, share.group), ", "),
    )
    return (text,)


def _row(point: FactorPoint, kind: RatioKind, words: Callable[[float], str]) -> FactorRow:
    axis, estimate = ratio_axis(kind), point.ratio
    worst, best = (words(end) for end in _worst_and_best(estimate, kind))
    interval = interval_text(estimate.interval(), words)
    within = Estimate(math.nan, estimate.least, estimate.most, estimate.level, "posterior")
    factor = said("in any way") if math.isinf(point.factor) else _factor(point.factor)
    return FactorRow(
        factor=factor,
        worst=worst,
        best=best,
        interval=interval,
        verdict=point.verdict.value if estimate.defined else "undefined",
        mark=axis.mark(within, estimate.interval()),
        alternative=said("{worst} at worst, {best} at best; {interval}", worst=worst, best=best, interval=interval),
    )


def _worst_and_best(estimate: SetEstimate, kind: RatioKind) -> tuple[float, float]:
    return (estimate.most, estimate.least) if kind.adverse else (estimate.least, estimate.most)


def _words(estimate: MetricEstimate) -> Callable[[float], str]:
    bar = None if estimate.threshold is None else ratio_threshold(estimate.ratio_kind, estimate.threshold)

    def words(number: float) -> str:
        return ratio(number, apart_from=bar)

    return words


def _factor(factor: float) -> str:
    """A factor, rounded up: at the rounded one the verdict is another too."""
    if math.isinf(factor):
        return "∞"
    return figure(
        math.ceil(factor) if factor >= 100 else math.ceil(100 * factor - 1e-6) / 100,
        0 if factor >= 100 else 2,
        "decimal",
    )
