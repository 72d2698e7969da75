"""The part of a report about groups that are recorded wrongly: the figures with and without the correction.

Sentences are whole, as in `headlines`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final

from auditor_client.asking.question import Question
from auditor_client.estimation.confusion import ConfusionCounts
from auditor_client.estimation.estimates import Verdict
from auditor_client.estimation.results import JudgedFigures, RatioKind
from auditor_client.findings.answers import RATES
from auditor_client.findings.finding import Finding, MetricEstimate
from auditor_client.report.axes import Mark, Tick, interval_text, ratio_axis, ratio_threshold
from auditor_client.report.formats import group_words, known, percent, points, ratio, whole
from auditor_client.report.metric_names import METRIC_WORDS, rate_words
from auditor_client.report.outcome import outcome_of
from auditor_client.report.prose import level_words, threshold_name
from auditor_client.report.subject import subject
from shared.wire.wording import plain, said, sentence

_AS_RECORDED: Final[Mapping[RatioKind, str]] = {
    RatioKind.LOWEST: sentence(
        "These figures are corrected for wrongly recorded groups, with a study of {people} people. With the groups as "
        "recorded, the {title} ratio, lowest rate to highest, would be {ratio} ({level} interval {ends})."
    ),
    RatioKind.HIGHEST: sentence(
        "These figures are corrected for wrongly recorded groups, with a study of {people} people. With the groups as "
        "recorded, the highest {rate} would be {ratio} times the lowest ({level} interval {ends})."
    ),
    RatioKind.ODDS: sentence(
        "These figures are corrected for wrongly recorded groups, with a study of {people} people. With the groups as "
        "recorded, the highest odds of {rate} would be {ratio} times the lowest ({level} interval {ends})."
    ),
}
_WOULD: Final[Mapping[Verdict, str]] = {
    Verdict.MEETS: sentence("With the groups as recorded, {name} would meet {rule}."),
    Verdict.FAILS: sentence("With the groups as recorded, {name} would fail {rule}."),
    Verdict.UNDECIDED: sentence("With the groups as recorded, it would be undecided whether {name} meets {rule}."),
}
_DIFFERENCE: Final = sentence(
    "The difference is {difference} percentage points ({level} interval {ends}); with the groups as recorded it would "
    "be {recorded} ({recorded_ends})."
)
_ASSUMES: Final = sentence(
    "The correction assumes two things. Among people of the same true group, the group is recorded wrongly equally "
    "often, whatever the decision. And the people of the study are recorded as those of the register are."
)
_SOURCE: Final = sentence("Source of the study: {source}.")
_OPEN: Final = sentence(
    "The interval reaches across {limit}: the noise and the wrongly recorded groups together are too large for a "
    "verdict. A larger ε narrows the noise alone."
)


@dataclass(frozen=True, slots=True)
class ReadingRow:
    """The ratio of one way to read the groups, as recorded or corrected."""

    name: str
    ratio: str
    interval: str
    verdict: str
    mark: Mark
    alternative: str


@dataclass(frozen=True, slots=True)
class StudyRow:
    """The people of one true group in the study, and how many of them are recorded rightly."""

    group: tuple[str, ...]
    people: str
    right: str
    interval: str


@dataclass(frozen=True, slots=True)
class MisreportedSection:
    """Sentences about groups that are recorded wrongly, the ratio read both ways, and the study."""

    sentences: tuple[str, ...]
    rows: tuple[ReadingRow, ...]
    study: tuple[StudyRow, ...]
    ticks: tuple[Tick, ...]
    threshold: float | None
    threshold_text: str
    level: str


def misreported_section(finding: Finding, metric: str) -> MisreportedSection | None:
    """All that a report says of a metric's misreported groups; None without a study."""
    estimate, study = finding.estimates[metric], finding.question.request.group_study
    recorded = estimate.as_recorded
    if recorded is None or study is None:
        return None
    threshold, axis = _bar(estimate), ratio_axis(estimate.ratio_kind)
    level = level_words(estimate.ratio)
    source = () if study.source is None else (said(_SOURCE, source=study.source),)
    difference = said(
        _DIFFERENCE,
        difference=known(estimate.difference, points),
        ends=interval_text(estimate.difference, points),
        recorded=known(recorded.difference, points),
        recorded_ends=interval_text(recorded.difference, points),
        level=level,
    )
    return MisreportedSection(
        sentences=(*misreported_sentences(finding, metric), difference, said(_ASSUMES), *source),
        rows=(_row(said("As recorded"), recorded), _row(said("Corrected"), estimate)),
        study=tuple(_study_rows(finding.question, study.counts, estimate.ratio.level)),
        ticks=axis.ticks,
        threshold=None if threshold is None else axis.position(threshold),
        threshold_text="" if threshold is None else plain(float(f"{threshold:.4g}")),
        level=level,
    )


def misreported_sentences(finding: Finding, metric: str) -> tuple[str, ...]:
    """Say that figures are corrected, and what they would be without; nothing without a study."""
    estimate, study = finding.estimates[metric], finding.question.request.group_study
    recorded = estimate.as_recorded
    if recorded is None or study is None or not recorded.ratio.defined:
        return ()
    words = partial(ratio, apart_from=_bar(estimate))
    sentences = [
        said(
            _AS_RECORDED[estimate.ratio_kind],
            people=whole(sum(map(sum, study.people))),
            title=METRIC_WORDS[metric].within,
            rate=rate_words(RATES[metric][0], outcome_of(finding)).name,
            ratio=known(recorded.ratio, words),
            ends=interval_text(recorded.ratio, words),
            level=level_words(recorded.ratio),
        )
    ]
    if recorded.verdict is not estimate.verdict and recorded.threshold is not None:
        rule = threshold_name(recorded.threshold, metric)
        sentences.append(said(_WOULD[recorded.verdict], name=subject(finding.question).name, rule=rule))
    return tuple(sentences)


def open_reason(estimate: MetricEstimate, limit: str) -> tuple[str, ...]:
    """Say why a corrected verdict is open; nothing where it is not, or nothing is corrected."""
    if estimate.as_recorded is None or estimate.verdict is not Verdict.UNDECIDED:
        return ()
    return (said(_OPEN, limit=limit),)


def _bar(figures: JudgedFigures) -> float | None:
    return None if figures.threshold is None else ratio_threshold(figures.ratio_kind, figures.threshold)


def _row(name: str, figures: JudgedFigures) -> ReadingRow:
    words = partial(ratio, apart_from=_bar(figures))
    value, interval = known(figures.ratio, words), interval_text(figures.ratio, words)
    return ReadingRow(
        name=name,
        ratio=value,
        interval=interval,
        verdict=figures.verdict.value if figures.ratio.defined else "undefined",
        mark=ratio_axis(figures.ratio_kind).mark(figures.ratio),
        alternative=said("{name}: ratio {ratio}, interval {interval}", name=name, ratio=value, interval=interval),
    )


def _study_rows(question: Question, study: ConfusionCounts, level: float) -> list[StudyRow]:
    """Return a row of each true group, with the share who are recorded rightly."""
    return [
        StudyRow(group_words(question, group), whole(sum(people)), percent(share.value), interval_text(share, percent))
        for group, people, share in zip(question.groups, study.people, study.recorded_rightly(level), strict=True)
    ]
