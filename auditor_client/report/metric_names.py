"""What each figure is called, in the words that users of fairness metrics know (1-method §3)."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from auditor_client.asking.request import ODDS, OPPORTUNITY, PARITY, PREDICTIVE, STABILITY
from auditor_client.findings.answers import Rate
from auditor_client.report.outcome import Outcome
from shared.wording import said, sentence


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
    words = METRIC_WORDS[metric]
    return replace(
        words, section=said(words.section, outcome=outcome.name), asks=said(words.asks, outcome=outcome.name)
    )


def rate_words(rate: Rate, outcome: Outcome) -> RateWords:
    """The words of a rate of one audit."""
    words, name = _RATE_WORDS[rate], outcome.name
    return RateWords(*(said(text, outcome=name) for text in (words.name, words.caption, words.counted, words.people)))


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
        sentence("Share with {outcome} of those with a true label"),
        said("true-positive-rate parity"),
        sentence("Of the people whose label is true, is the share with {outcome} the same in every group?"),
    ),
    ODDS: MetricWords(
        said("Equalized odds"),
        said("equalized odds"),
        sentence("Share with {outcome} of those with a true label, and of those with a false label"),
        said("separation"),
        sentence(
            "Is the share with {outcome} the same in all groups, both among people whose label is true and among those "
            "whose label is false? The figure is the worse of the two."
        ),
    ),
    PREDICTIVE: MetricWords(
        said("Predictive parity"),
        said("predictive parity"),
        sentence("Share with a true label of those with {outcome}"),
        said("sufficiency"),
        sentence("Of the people with {outcome}, is the label true for the same share in every group?"),
    ),
    STABILITY: MetricWords(
        said("Stability"),
        said("stability"),
        sentence("Whose decision stays the same for people like them"),
        said("individual fairness, robustness"),
        sentence("In every group, does the same share keep the decision whatever changes within the stated distance?"),
    ),
}

_RATE_WORDS: Final[Mapping[Rate, RateWords]] = {
    Rate.ACCEPTANCE: RateWords(
        sentence("share with {outcome}"),
        sentence("Share with {outcome} in each group"),
        sentence("With {outcome}"),
        sentence("People"),
    ),
    Rate.TRUE_POSITIVE: RateWords(
        sentence("true-positive rate"),
        sentence("True-positive rate: the share with {outcome} of each group’s people whose label is true"),
        sentence("With {outcome}"),
        sentence("With a true label"),
    ),
    Rate.FALSE_POSITIVE: RateWords(
        sentence("false-positive rate"),
        sentence("False-positive rate: the share with {outcome} of each group’s people whose label is false"),
        sentence("With {outcome}"),
        sentence("With a false label"),
    ),
    Rate.PRECISION: RateWords(
        sentence("precision"),
        sentence("Precision: the share with a true label of each group’s people with {outcome}"),
        sentence("With a true label"),
        sentence("With {outcome}"),
    ),
    Rate.STABLE: RateWords(
        sentence("stable rate"),
        sentence("The share of each group’s people whose decision stays the same within reach"),
        sentence("Stable"),
        sentence("People"),
    ),
}
