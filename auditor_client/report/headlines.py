"""The first sentences of a report: what was found, about which people, and why there is that verdict or none.

Sentences are whole, with names and figures to fill in, so that each can be read, changed and translated by itself.
"""

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from auditor_client.asking.request import ADVERSE, PARITY
from auditor_client.estimation.caveats import least_size
from auditor_client.estimation.estimates import Estimate, Verdict
from auditor_client.estimation.results import GroupEstimate, OddsEstimate, ParityEstimate, ParityFigures
from auditor_client.estimation.unknown_figures import OpenBecause
from auditor_client.findings.answers import OF_EVERYBODY, RATES, Rate
from auditor_client.findings.finding import Finding, MetricEstimate
from auditor_client.report.axes import interval_text, ratio_threshold
from auditor_client.report.formats import (
    both_ends,
    group_words,
    known,
    percent,
    points,
    ratio,
    scope_words,
    sensitive_words,
    threshold_percent,
)
from auditor_client.report.metric_names import METRIC_WORDS, rate_words
from auditor_client.report.misreported_data import misreported_sentences, open_reason
from auditor_client.report.outcome import outcome_of
from auditor_client.report.people import few_people
from auditor_client.report.prose import level_of, threshold_name
from auditor_client.report.subject import subject
from auditor_client.report.unknown_data import tipping_sentences, unknown_sentences
from shared.contract.schema import Group
from shared.wire.wording import joined, listed, said, sentence

_EVERYBODY: Final = said("the people in the register")
_WITHIN: Final = said("the people in the register within the scope")
_DECIDED: Final = said("the people with a decision in the register")
_DECIDED_WITHIN: Final = said("the people with a decision in the register within the scope")
_VERDICTS: Final[Mapping[Verdict, str]] = {
    Verdict.MEETS: sentence("Among {whom}, {name} meets {rule} for {columns}."),
    Verdict.FAILS: sentence("Among {whom}, {name} fails {rule} for {columns}."),
    Verdict.UNDECIDED: sentence("Among {whom}, it is undecided whether {name} meets {rule} for {columns}."),
}
_AFTER_VERDICT: Final[Mapping[Rate, str]] = {
    Rate.ACCEPTANCE: sentence(
        "The share with {outcome} is {low} in the group {lowest} and {high} in the group {highest}: a ratio of "
        "{ratio}{ratio_interval}."
    ),
    Rate.TRUE_POSITIVE: sentence(
        "Where the label “{label}” is true, the share with {outcome} is {low} in the group {lowest} and {high} in the "
        "group {highest}: a difference of {difference} percentage points{interval}, and a ratio of "
        "{ratio}{ratio_interval}."
    ),
    Rate.FALSE_POSITIVE: sentence(
        "Where the label “{label}” is false, the share with {outcome} is {low} in the group {lowest} and {high} in the "
        "group {highest}: a difference of {difference} percentage points{interval}, and a ratio of "
        "{ratio}{ratio_interval}."
    ),
    Rate.PRECISION: sentence(
        "Among those with {outcome}, the label “{label}” is true for {low} in the group {lowest} and {high} in the "
        "group {highest}: a difference of {difference} percentage points{interval}, and a ratio of "
        "{ratio}{ratio_interval}."
    ),
    Rate.STABLE: sentence(
        "The share that would keep its decision after any change within the stated distance is {low} in the group "
        "{lowest} and {high} in the group {highest}: a difference of {difference} percentage points{interval}, and a "
        "ratio of {ratio}{ratio_interval}."
    ),
}
"""How far the groups are apart, in a sentence after the verdict, which says about whom."""
_OF_ALL: Final = sentence("Over all groups, the lowest share is {ratio_of_all} of the highest{interval_of_all}.")
_OF_ALL_ALONE: Final = sentence(
    "Among {whom}, the lowest {rate} of all groups is {ratio_of_all} of the highest{interval_of_all}."
)
_ALONE: Final[Mapping[Rate, str]] = {
    Rate.ACCEPTANCE: sentence(
        "Among {whom}, the share with {outcome} is {low} in the group {lowest} and {high} in the group {highest}: a "
        "difference of {difference} percentage points{interval}, and a ratio of {ratio}{ratio_interval}."
    ),
    Rate.TRUE_POSITIVE: sentence(
        "Among {whom} whose label “{label}” is true, the share with {outcome} is {low} in the group {lowest} and "
        "{high} in the group {highest}: a difference of {difference} percentage points{interval}, and a ratio of "
        "{ratio}{ratio_interval}."
    ),
    Rate.FALSE_POSITIVE: sentence(
        "Among {whom} whose label “{label}” is false, the share with {outcome} is {low} in the group {lowest} and "
        "{high} in the group {highest}: a difference of {difference} percentage points{interval}, and a ratio of "
        "{ratio}{ratio_interval}."
    ),
    Rate.PRECISION: sentence(
        "Among {whom} with {outcome}, the label “{label}” is true for {low} of the group {lowest} and {high} of "
        "the group {highest}: a difference of {difference} percentage points{interval}, and a ratio of "
        "{ratio}{ratio_interval}."
    ),
    Rate.STABLE: sentence(
        "Among {whom}, {low} of the group {lowest} and {high} of the group {highest} would keep their decision "
        "after any change within the stated distance: a difference of {difference} percentage points{interval}, "
        "and a ratio of {ratio}{ratio_interval}."
    ),
}
"""The same where no verdict precedes: the sentence says about whom."""
_OPEN_RATIO: Final = sentence(
    "The lowest share with {outcome} lies between {ratio_ends} of the highest ({level} interval): the answers do not "
    "show the ratio more closely."
)
_OPEN: Final = sentence(
    "The highest {rate} is {difference_ends} percentage points above the lowest, and the lowest lies between "
    "{ratio_ends} of the highest ({level} intervals): the answers do not show the figures more closely."
)
_OPEN_ALONE: Final = sentence(
    "Among {whom}, the highest {rate} is {difference_ends} percentage points above the lowest, and the lowest lies "
    "between {ratio_ends} of the highest ({level} intervals): the answers do not show the figures more closely."
)
_LABEL: Final = sentence("The label is the column “{label}”.")
NO_RATE: Final = sentence("The answer does not show a rate above zero in any group, so the ratio is not defined.")
_WORSE_OF_TWO: Final = sentence(
    "Equalized odds compares the groups twice, for each value of the label. The larger difference and the smaller "
    "ratio count."
)
_NO_RATIO: Final = sentence(
    "Among {whom}, the {title} ratio of {name} cannot be computed for {columns}, so the audit does not give a verdict."
)

_NO_INTERVAL: Final = sentence(
    "This estimator does not give an interval. The figure may be noise, so the audit does not give a verdict."
)
_ADVERSE: Final = sentence(
    "The highest {rate} is {ratio} times the lowest{ratio_interval}: the highest estimate is {high}, for the group "
    "{highest}; the lowest is {low}, for the group {lowest}."
)
_ADVERSE_ALONE: Final = sentence(
    "Among {whom}, the highest {rate} is {ratio} times the lowest{ratio_interval}: the highest estimate is {high}, for "
    "the group {highest}; the lowest is {low}, for the group {lowest}."
)
_ADVERSE_AT_LEAST: Final = sentence(
    "The highest {rate} is at least {least} times the lowest ({level} interval); the answers do not show it more "
    "closely."
)
_ADVERSE_AT_LEAST_ALONE: Final = sentence(
    "Among {whom}, the highest {rate} is at least {least} times the lowest ({level} interval); the answers do not show "
    "it more closely."
)
_ADVERSE_OPEN: Final = sentence(
    "The answers do not show how many times as high the highest {rate} is as the lowest: so few people have the "
    "outcome that the noise is as large as their number."
)
_ADVERSE_OPEN_ALONE: Final = sentence(
    "Among {whom}, the answers do not show how many times as high the highest {rate} is as the lowest: so few people "
    "have the outcome that the noise is as large as their number."
)
_IF: Final[Mapping[str, Mapping[Verdict, str]]] = {
    PARITY: {
        Verdict.MEETS: sentence("If being selected is good, {name} meets {rule}."),
        Verdict.FAILS: sentence("If being selected is good, {name} fails {rule}."),
        Verdict.UNDECIDED: sentence("If being selected is good, it is undecided whether {name} meets {rule}."),
    },
    ADVERSE: {
        Verdict.MEETS: sentence("If being selected is a burden, {name} meets {rule}."),
        Verdict.FAILS: sentence("If being selected is a burden, {name} fails {rule}."),
        Verdict.UNDECIDED: sentence("If being selected is a burden, it is undecided whether {name} meets {rule}."),
    },
}
_BOTH: Final[Mapping[Verdict, str]] = {
    Verdict.DEPENDS: sentence("Among {whom}, the verdict on {name} for {columns} depends on the kind of decision."),
    Verdict.MEETS: sentence("Among {whom}, {name} meets the limit for {columns}, for either kind of decision."),
    Verdict.FAILS: sentence("Among {whom}, {name} fails the limit for {columns}, for either kind of decision."),
    Verdict.UNDECIDED: sentence(
        "Among {whom}, it is undecided whether {name} meets the limit for {columns}, for either kind of decision."
    ),
}
_WHICH: Final = sentence(
    "Which of the two applies? The auditor did not state whether being selected is good (assistive) or a burden "
    "(punitive). State it in the request (--intervention)."
)
_REASONS_ADVERSE: Final[Mapping[Verdict, str]] = {
    Verdict.MEETS: sentence("The whole interval of the adverse ratio lies at or below {limit}."),
    Verdict.FAILS: sentence("The whole interval of the adverse ratio lies above {limit}."),
    Verdict.UNDECIDED: sentence(
        "The interval of the adverse ratio reaches across {limit}: the noise is too large for a verdict. A larger ε "
        "would narrow it."
    ),
    Verdict.NONE: sentence("The audit does not give a verdict, because the request did not name a threshold."),
}
_REASONS: Final[Mapping[Verdict, str]] = {
    Verdict.MEETS: sentence("The whole interval lies at or above {threshold}."),
    Verdict.FAILS: sentence("The whole interval lies below {threshold}."),
    Verdict.UNDECIDED: sentence(
        "The interval reaches across {threshold}: the noise is too large for a verdict. A larger ε would narrow it."
    ),
    Verdict.NONE: sentence(
        "The audit does not give a verdict: the four-fifths rule is about selection rates, and the request did not "
        "name another threshold."
    ),
}
_REASONS_UNKNOWN: Final[Mapping[OpenBecause, str]] = {
    OpenBecause.UNKNOWN: sentence(
        "It is undecided because of the people whose group is unknown: by who they are, either verdict is possible. A "
        "larger ε would not tell their group."
    ),
    OpenBecause.NOISE: sentence(
        "The interval over all that the people of unknown group may be reaches across {limit}: the noise is too large "
        "for a verdict. A larger ε would narrow it."
    ),
}
_WHOEVER: Final = sentence("This holds whatever groups the people of unknown group belong to.")
_SIZED: Final = sentence(
    "This holds for every division of the people of unknown group that the known numbers of people in each group allow."
)
_ASSUMED: Final = sentence("This holds if the people of unknown group differ from the others by at most that factor.")
_FEW: Final = sentence("The figures are about few people: {people}.")
_REASON_FEW: Final = sentence(
    "The noise is too large for a verdict: the answer shows a linked decision for hardly anybody. Check the form "
    "of the person keys before you ask again with a larger ε."
)
_POPULATION: Final[Mapping[Verdict, str]] = {
    Verdict.MEETS: sentence(
        "In the population that the register is a sample of, the ratio lies between {low} and {high} "
        "({level} interval): {name} meets {rule} there too."
    ),
    Verdict.FAILS: sentence(
        "In the population that the register is a sample of, the ratio lies between {low} and {high} "
        "({level} interval): {name} fails {rule} there."
    ),
    Verdict.UNDECIDED: sentence(
        "In the population that the register is a sample of, the ratio lies between {low} and {high} "
        "({level} interval): it is undecided whether {name} meets {rule} there."
    ),
    Verdict.NONE: sentence(
        "In the population that the register is a sample of, the difference lies between {low} and {high} "
        "percentage points ({level} interval)."
    ),
}


def headline(finding: Finding) -> str:
    """The first metric's finding: the verdict, if there is one, and how far the groups are apart."""
    if finding.both_outcomes:
        return joined([heading(finding), *outcomes(finding)])
    metric, estimate = finding.metrics[0], finding.first
    words = _audit_words(finding, metric)
    if not estimate.ratio.defined:
        return joined([said(_NO_RATIO, **words), *few_sentence(finding)])
    verdict = [] if estimate.verdict is Verdict.NONE else [said(_VERDICTS[estimate.verdict], **words)]
    unknown = unknown_sentences(finding, metric)
    figures = _figures(finding, metric, estimate, alone=not verdict or bool(unknown))
    corrected = misreported_sentences(finding, metric)
    return joined([*verdict, *unknown, *figures, *corrected, *few_sentence(finding)])


def few_sentence(finding: Finding) -> tuple[str, ...]:
    """Say that the figures are about few people, where they are (`people.few_people`); nothing elsewhere."""
    people = few_people(finding)
    return (said(_FEW, people=people),) if people else ()


def _audit_words(finding: Finding, metric: str) -> dict[str, str]:
    """Return what a verdict is about: people, audited, groups, and the rule for a metric's ratio."""
    threshold = finding.estimates[metric].threshold
    return {
        "whom": whom(finding),
        "name": subject(finding.question).name,
        "columns": listed(sensitive_words(finding.question)),
        "rule": "" if threshold is None else threshold_name(threshold, metric),
        "title": METRIC_WORDS[metric].within,
        "outcome": outcome_of(finding).full,
    }


def heading(finding: Finding) -> str:
    """The headline; where nobody said which kind of decision it is, without both outcomes' sentences."""
    if not finding.both_outcomes:
        return headline(finding)
    return joined([said(_BOTH[finding.verdict], **_audit_words(finding, finding.metrics[0])), *few_sentence(finding)])


def outcomes(finding: Finding) -> tuple[str, ...]:
    """Both outcomes' verdicts and figures, of equal weight; empty where the kind of decision is named."""
    texts = []
    for metric, estimate in finding.both_outcomes:
        words = _audit_words(finding, metric)
        verdict = said(_IF[metric][estimate.verdict], **words)
        if estimate.ratio.defined:
            unknown = unknown_sentences(finding, metric)
            figures = _figures(finding, metric, estimate, alone=bool(unknown))
            corrected = misreported_sentences(finding, metric)
            texts.append(joined([verdict, *_why_open(estimate), *unknown, *figures, *corrected]))
        else:
            texts.append(joined([said(_NO_RATIO, **words)]))
    return tuple(texts)


def _figures(finding: Finding, metric: str, estimate: MetricEstimate, *, alone: bool) -> tuple[str, ...]:
    """Say how far a metric's groups are apart: the two groups that are named, and all where that is another figure.

    `alone` says that no verdict precedes, so that the sentences have to say about whom they are.
    """
    outcome = outcome_of(finding)
    if estimate.ratio_kind.adverse and isinstance(estimate, ParityEstimate):
        label = (said(_LABEL, label=outcome.label),) if RATES[metric][0].counted not in OF_EVERYBODY else ()
        return (adverse_sentence(finding, metric, estimate, alone=alone), *label)
    compared, rate = _worse(estimate, RATES[metric][0])
    if compared.extremes is None:
        return (said(_NO_RATIO, **_audit_words(finding, metric)),)
    lowest, highest = compared.extremes
    pair, as_percent = _named_figures(compared, compared.extremes), _percent_apart_from(estimate.threshold)
    of_pair = as_percent(pair.ratio.value), _in_brackets(_interval(finding, pair.ratio, as_percent))
    of_all = as_percent(estimate.ratio.value), _in_brackets(ratio_interval(finding, estimate))
    words = {
        "whom": _compared(finding, estimate),
        "outcome": outcome.full,
        "label": outcome.label,
        "rate": rate_words(rate, outcome).name,
        "lowest": _quoted(finding, lowest.group),
        "highest": _quoted(finding, highest.group),
        "low": percent(lowest.rate.value),
        "high": percent(highest.rate.value),
        "difference": points(pair.difference.value),
        "interval": _in_brackets(_interval(finding, pair.difference, points)),
        "ratio": of_pair[0],
        "ratio_interval": of_pair[1],
        "ratio_of_all": of_all[0],
        "interval_of_all": of_all[1],
        "level": level_of(finding),
        "ratio_ends": _ends(estimate.ratio, as_percent),
        "difference_ends": interval_text(estimate.difference, points),
    }
    pair_known = all(figure.known for figure in (pair.ratio, pair.difference, lowest.rate, highest.rate))
    if estimate.unknown is not None and not (estimate.ratio.known and pair_known):
        sentences = []
    elif not estimate.ratio.known:
        sentences = [_OPEN_ALONE if alone else _OPEN_RATIO if metric == PARITY else _OPEN]
    elif not pair_known:
        sentences = [_OF_ALL_ALONE if alone else _OF_ALL]
    else:
        sentences = [(_ALONE if alone else _AFTER_VERDICT)[rate], *([] if of_pair == of_all else [_OF_ALL])]
    sentences += [_WORSE_OF_TWO] if isinstance(estimate, OddsEstimate) else []
    return tuple(said(text, **words) for text in sentences)


def adverse_sentence(finding: Finding, metric: str, estimate: ParityEstimate, *, alone: bool = True) -> str:
    """Say how many times as often one group gets the adverse outcome as another; no number that is not known."""
    figure, rate = estimate.ratio, rate_words(RATES[metric][0], outcome_of(finding)).name
    lowest, highest = estimate.extremes or (None, None)
    if lowest is None or highest is None or not figure.known:
        at_least = _ADVERSE_AT_LEAST_ALONE if alone else _ADVERSE_AT_LEAST
        text = at_least if figure.low > 1 else _ADVERSE_OPEN_ALONE if alone else _ADVERSE_OPEN
        least = ratio(figure.low, apart_from=_bar(estimate))
        return said(text, whom=_compared(finding, estimate), rate=rate, least=least, level=level_of(finding))
    return said(
        _ADVERSE_ALONE if alone else _ADVERSE,
        whom=_compared(finding, estimate),
        rate=rate,
        ratio=known(figure, _ratio_words(estimate)),
        ratio_interval=_in_brackets(ratio_interval(finding, estimate)),
        lowest=_quoted(finding, lowest.group),
        highest=_quoted(finding, highest.group),
        low=known(lowest.rate, percent),
        high=known(highest.rate, percent),
    )


def _bar(estimate: MetricEstimate) -> float | None:
    """Return where the ratio meets the threshold."""
    return None if estimate.threshold is None else ratio_threshold(estimate.ratio_kind, estimate.threshold)


def _ratio_words(estimate: MetricEstimate) -> Callable[[float], str]:
    """Return how a ratio is written: a share of the highest rate as a percentage, an adverse one as a number."""
    if estimate.ratio_kind.adverse:
        return partial(ratio, apart_from=_bar(estimate))
    return _percent_apart_from(estimate.threshold)


def _named_figures(compared: ParityEstimate, ends: tuple[GroupEstimate, GroupEstimate]) -> ParityFigures:
    """Ratio and difference of the two groups that are named: without intervals where only those over all are known."""
    if compared.pair is not None:
        return ParityFigures(ratio=compared.pair.ratio, difference=compared.pair.difference)
    low, high = (group.rate.value for group in ends)
    ratio, difference = (
        Estimate(value, math.nan, math.nan, compared.ratio.level, compared.ratio.method)
        for value in (low / high if high > 0 else math.nan, high - low)
    )
    return ParityFigures(ratio=ratio, difference=difference)


def explanation(finding: Finding) -> str:
    """Why the verdict is what it is, and what holds in the population that the people in the data represent."""
    estimate = finding.first
    if not estimate.ratio.defined:
        return _no_ratio(finding)
    if finding.both_outcomes:
        return said(_WHICH)
    adverse = estimate.ratio_kind.adverse
    reason = _REASONS_ADVERSE[estimate.verdict] if adverse else _REASONS[estimate.verdict]
    if estimate.verdict is not Verdict.NONE and not ratio_interval(finding, estimate):
        reason = _NO_INTERVAL
    elif estimate.verdict is Verdict.UNDECIDED and few_people(finding):
        reason = _REASON_FEW
    threshold = "" if estimate.threshold is None else threshold_percent(estimate.threshold)
    bar = _bar(estimate)
    limit = "" if bar is None else ratio(bar)
    reasons = _why_open(estimate) or (said(reason, threshold=threshold, limit=limit),)
    tipping = tipping_sentences(finding, finding.metrics[0])
    return joined([*reasons, *_whoever(estimate), *tipping, *_of_population(finding)])


def _why_open(estimate: MetricEstimate) -> tuple[str, ...]:
    """Say why a verdict is open for more than noise: groups are unknown or recorded wrongly. Nothing elsewhere."""
    bar = _bar(estimate)
    limit = "" if bar is None else ratio(bar)
    if not estimate.ratio_kind.adverse and estimate.threshold is not None:
        limit = threshold_percent(estimate.threshold)
    if estimate.unknown is not None and estimate.unknown.because is not None:
        return (said(_REASONS_UNKNOWN[estimate.unknown.because], limit=limit),)
    return open_reason(estimate, limit)


def _whoever(estimate: MetricEstimate) -> tuple[str, ...]:
    """Say for which people of unknown group a verdict holds; nothing without a verdict, or if nobody is unknown."""
    unknown = estimate.unknown
    if unknown is None or unknown.verdict not in (Verdict.MEETS, Verdict.FAILS):
        return ()
    if unknown.sized:
        return (said(_SIZED),)
    return (said(_WHOEVER if math.isinf(unknown.factor) else _ASSUMED),)


def _no_ratio(finding: Finding) -> str:
    rule = finding.reading.rule
    if rule is not None and len(finding.question.groups) - len(finding.first.left_out) < 2:
        return said("Fewer than two groups are shown to have at least {least}.", least=least_size(rule))
    return said(NO_RATE)


def whom(finding: Finding) -> str:
    """The people whom the figures are about."""
    question, rule = finding.question, finding.reading.rule
    if question.source.decided:
        of_all = _DECIDED_WITHIN if scope_words(question) else _DECIDED
    else:
        of_all = _WITHIN if scope_words(question) else _EVERYBODY
    return (
        of_all if rule is None else said("{whom}, in groups of at least {least}", whom=of_all, least=least_size(rule))
    )


def _compared(finding: Finding, estimate: MetricEstimate) -> str:
    """The people whose groups are compared: those whose group is known, where figures are bounded over the others."""
    of_all = whom(finding)
    return of_all if estimate.unknown is None else said("{whom} whose group is known", whom=of_all)


def ratio_interval(finding: Finding, estimate: MetricEstimate) -> str:
    """The ratio's interval in words; empty without one."""
    return _interval(finding, estimate.ratio, _ratio_words(estimate))


def difference_interval(finding: Finding, estimate: MetricEstimate) -> str:
    """The difference's interval in words, in percentage points; empty without one."""
    return _interval(finding, estimate.difference, points)


def _interval(finding: Finding, figure: Estimate, words: Callable[[float], str]) -> str:
    ends = interval_text(figure, words)
    return said("{level} interval {ends}", level=level_of(finding), ends=ends) if ends else ""


def _ends(figure: Estimate, words: Callable[[float], str]) -> str:
    """Both ends of an interval, for a sentence that says what lies between them."""
    if math.isnan(figure.low):
        return ""
    low, high = both_ends(figure, words)
    return said("{low} and {high}", low=low, high=high)


def _in_brackets(text: str) -> str:
    return joined([" (", text, ")"], "") if text else ""


def _quoted(finding: Finding, group: Group) -> str:
    return said("“{group}”", group=joined(group_words(finding.question, group), ", "))


def _percent_apart_from(threshold: float | None) -> Callable[[float], str]:
    return partial(percent, apart_from=threshold)


def _of_population(finding: Finding) -> tuple[str, ...]:
    estimate = finding.first
    judged = estimate.verdict is not Verdict.NONE
    figure = estimate.population_ratio if judged else estimate.population_difference
    if figure is None or estimate.unknown is not None or not figure.low <= figure.high:
        return ()
    low, high = both_ends(figure, _ratio_words(estimate) if judged else points)
    return (
        said(
            _POPULATION[estimate.population_verdict],
            low=low,
            high=high,
            level=level_of(finding),
            name=subject(finding.question).name,
            rule=_rule(finding),
        ),
    )


def _rule(finding: Finding) -> str:
    """Return what a verdict on the first metric is about."""
    threshold, metric = finding.first.threshold, finding.metrics[0]
    return "" if threshold is None else threshold_name(threshold, metric)


def _worse(estimate: MetricEstimate, rate: Rate) -> tuple[ParityEstimate, Rate]:
    """The comparison that a metric's difference comes from: of equalized odds, the one of the larger difference."""
    if not isinstance(estimate, OddsEstimate):
        return estimate, rate
    positive, negative = estimate.true_positive, estimate.false_positive
    # A difference that is undefined is the larger one only if both are.
    if negative.difference.defined and not negative.difference.value <= positive.difference.value:
        return negative, Rate.FALSE_POSITIVE
    return positive, Rate.TRUE_POSITIVE
