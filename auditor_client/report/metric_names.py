"""The names of figures, in the words that users of fairness metrics know (1-method §3)."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from auditor_client.asking.request import (
    ADVERSE,
    FALSE_DISCOVERY_RATE,
    FALSE_NEGATIVE_RATE,
    FALSE_OMISSION_RATE,
    FALSE_POSITIVE_RATE,
    ODDS,
    ODDS_RATIO,
    OPPORTUNITY,
    PARITY,
    PREDICTIVE,
    STABILITY,
)
from auditor_client.findings.answers import Rate
from auditor_client.report.outcome import Outcome
from shared.wire.wording import said, sentence


@dataclass(frozen=True, slots=True)
class MetricWords:
    """A metric: its name by itself and within a sentence, the heading of its section, what else it is called, and what
    it asks. Heading and question name the outcome: `metric_words` fills it in.
    """

    title: str
    within: str
    section: str
    other_names: str
    asks: str


@dataclass(frozen=True, slots=True)
class RateWords:
    """A rate that a metric compares.

    `counted` and `people` are the headings of the numerator and of the denominator. All name the outcome where they
    are about it: `rate_words` fills it in.
    """

    name: str
    caption: str
    counted: str
    people: str


def metric_words(metric: str, outcome: Outcome) -> MetricWords:
    """The words of a metric of one audit."""
    words, names = METRIC_WORDS[metric], _names(outcome)
    return replace(words, section=said(words.section, **names), asks=said(words.asks, **names))


def rate_words(rate: Rate, outcome: Outcome) -> RateWords:
    """The words of a rate of one audit."""
    words, names = _RATE_WORDS[rate], _names(outcome)
    return RateWords(*(said(text, **names) for text in (words.name, words.caption, words.counted, words.people)))


def _names(outcome: Outcome) -> dict[str, str]:
    return {"outcome": outcome.name, "adverse": outcome.adverse, "label": outcome.label}


METRIC_WORDS: Final[Mapping[str, MetricWords]] = {
    PARITY: MetricWords(
        said("Statistical parity"),
        said("statistical parity"),
        sentence("Share with {outcome} in each group"),
        said("demographic parity, disparate impact"),
        sentence("Is the share with {outcome} the same in all groups, whether or not people qualified?"),
    ),
    OPPORTUNITY: MetricWords(
        said("Equal opportunity"),
        said("equal opportunity"),
        sentence("Share with {outcome}, among people whose label “{label}” is true"),
        said("true-positive-rate parity"),
        sentence("Among people whose label “{label}” is true, is the share with {outcome} the same in every group?"),
    ),
    ODDS: MetricWords(
        said("Equalized odds"),
        said("equalized odds"),
        sentence(
            "Share with {outcome}, among people whose label “{label}” is true, and among people whose label is false"
        ),
        said("separation"),
        sentence(
            "Is the share with {outcome} the same in all groups, both among people whose label “{label}” is true "
            "and among people whose label is false? The figure is the worse of the two."
        ),
    ),
    PREDICTIVE: MetricWords(
        said("Predictive parity"),
        said("predictive parity"),
        sentence("Share whose label “{label}” is true, among people with {outcome}"),
        said("sufficiency"),
        sentence("Among people with {outcome}, is the label “{label}” true for the same share of every group?"),
    ),
    STABILITY: MetricWords(
        said("Stability"),
        said("stability"),
        sentence("People who would keep their decision after small changes"),
        said("individual fairness, robustness"),
        sentence("Would the same share of every group keep its decision after any change within the stated distance?"),
    ),
    ADVERSE: MetricWords(
        said("Adverse ratio"),
        said("adverse"),
        sentence("Who gets {adverse}, and how often"),
        said("relative risk"),
        sentence("How many times as often does one group get {adverse} as another group?"),
    ),
    ODDS_RATIO: MetricWords(
        said("Odds ratio"),
        said("odds"),
        sentence("The odds of {adverse}"),
        said("cross-product ratio"),
        sentence("How many times as high are one group’s odds of {adverse} as another group’s?"),
    ),
    FALSE_POSITIVE_RATE: MetricWords(
        said("False positive rate"),
        said("false positive rate"),
        sentence("People who are selected although their label “{label}” is false"),
        said("false positive parity of punitive decisions"),
        sentence(
            "Among people whose label “{label}” is false, is the same share of every group selected for the burden?"
        ),
    ),
    FALSE_DISCOVERY_RATE: MetricWords(
        said("False discovery rate"),
        said("false discovery rate"),
        sentence("Selected people whose label “{label}” is false"),
        said("false discovery parity of punitive decisions"),
        sentence(
            "Among people who are selected for the burden, is the label “{label}” false for the same share of "
            "every group?"
        ),
    ),
    FALSE_NEGATIVE_RATE: MetricWords(
        said("False negative rate"),
        said("false negative rate"),
        sentence("People who are refused although their label “{label}” is true"),
        said("false negative parity of assistive decisions"),
        sentence("Among people whose label “{label}” is true, is the same share of every group refused?"),
    ),
    FALSE_OMISSION_RATE: MetricWords(
        said("False omission rate"),
        said("false omission rate"),
        sentence("Refused people whose label “{label}” is true"),
        said("false omission parity of assistive decisions"),
        sentence("Among people who are refused, is the label “{label}” true for the same share of every group?"),
    ),
}


def ratio_title(metric: str) -> str:
    """Return what the ratio of a metric is called by itself."""
    title = METRIC_WORDS[metric].title
    return title if metric in (ADVERSE, ODDS_RATIO) else said("{metric} ratio", metric=title)


def difference_title(metric: str) -> str:
    """Return what the difference of a metric is called by itself."""
    if metric in (ADVERSE, ODDS_RATIO):
        return said("Difference of the adverse rates")
    return said("{metric} difference", metric=METRIC_WORDS[metric].title)


def compared_figure(metric: str) -> str:
    """Return what a comparison of two audits is of, within a sentence."""
    within = METRIC_WORDS[metric].within
    return said("the {metric} ratio", metric=within) if metric in (ADVERSE, ODDS_RATIO) else within


def equality(metric: str) -> str:
    """Return what a model is closer to, or farther from, where a metric's ratio is nearer to 1, or less near."""
    return said("equal adverse rates") if metric in (ADVERSE, ODDS_RATIO) else METRIC_WORDS[metric].within


_RATE_WORDS: Final[Mapping[Rate, RateWords]] = {
    Rate.ACCEPTANCE: RateWords(
        sentence("share with {outcome}"),
        sentence("Share with {outcome} in each group"),
        sentence("With {outcome}"),
        sentence("People"),
    ),
    Rate.TRUE_POSITIVE: RateWords(
        sentence("true-positive rate"),
        sentence(
            "True-positive rate: the share with {outcome}, among each group’s people whose label “{label}” is true"
        ),
        sentence("With {outcome}"),
        sentence("With a true label"),
    ),
    Rate.FALSE_POSITIVE: RateWords(
        sentence("false-positive rate"),
        sentence(
            "False-positive rate: the share with {outcome}, among each group’s people whose label “{label}” is false"
        ),
        sentence("With {outcome}"),
        sentence("With a false label"),
    ),
    Rate.PRECISION: RateWords(
        sentence("precision"),
        sentence("Precision: the share whose label “{label}” is true, among each group’s people with {outcome}"),
        sentence("With a true label"),
        sentence("With {outcome}"),
    ),
    Rate.STABLE: RateWords(
        sentence("stable rate"),
        sentence(
            "Stable rate: the share of each group’s people whose decision stays the same after any change within "
            "the stated distance"
        ),
        sentence("Stable"),
        sentence("People"),
    ),
    Rate.ADVERSE: RateWords(
        sentence("adverse rate (share with {adverse})"),
        sentence("Adverse rate: the share of each group’s people with {adverse}"),
        sentence("With {adverse}"),
        sentence("People"),
    ),
    Rate.ADVERSE_ODDS: RateWords(
        sentence("odds of the adverse decision"),
        sentence("Adverse rate: the share of each group’s people with {adverse}"),
        sentence("With {adverse}"),
        sentence("People"),
    ),
    Rate.ADVERSE_NEGATIVE: RateWords(
        sentence("false positive rate"),
        sentence(
            "False positive rate: the share with {adverse}, among each group’s people whose label “{label}” is false"
        ),
        sentence("With {adverse}"),
        sentence("With a false label"),
    ),
    Rate.ADVERSE_POSITIVE: RateWords(
        sentence("false negative rate"),
        sentence(
            "False negative rate: the share with {adverse}, among each group’s people whose label “{label}” is true"
        ),
        sentence("With {adverse}"),
        sentence("With a true label"),
    ),
    Rate.FALSE_DISCOVERY: RateWords(
        sentence("false discovery rate"),
        sentence(
            "False discovery rate: the share whose label “{label}” is false, among each group’s people with {adverse}"
        ),
        sentence("With a false label"),
        sentence("With {adverse}"),
    ),
    Rate.FALSE_OMISSION: RateWords(
        sentence("false omission rate"),
        sentence(
            "False omission rate: the share whose label “{label}” is true, among each group’s people with {adverse}"
        ),
        sentence("With a true label"),
        sentence("With {adverse}"),
    ),
}
