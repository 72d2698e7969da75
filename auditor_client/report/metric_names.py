"""What each figure is called, in the words that users of fairness metrics know (1-method §3)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from auditor_client.asking.request import ODDS, OPPORTUNITY, PARITY, PREDICTIVE, STABILITY
from auditor_client.findings.answers import Rate
from shared.wording import said


@dataclass(frozen=True, slots=True)
class MetricWords:
    """A metric: its name by itself and within a sentence, the heading of its section, what else it is called, and what
    it asks.
    """

    title: str
    within: str
    section: str
    other_names: str
    asks: str


@dataclass(frozen=True, slots=True)
class RateWords:
    """A rate that a metric compares.

    `counted` and `people` are the headings of the numerator and of the denominator.
    """

    name: str
    caption: str
    counted: str
    people: str


METRIC_WORDS: Final[Mapping[str, MetricWords]] = {
    PARITY: MetricWords(
        said("Statistical parity"),
        said("statistical parity"),
        said("Who is accepted how often"),
        said("demographic parity, disparate impact"),
        said("Are all groups accepted at the same rate, whoever deserved it?"),
    ),
    OPPORTUNITY: MetricWords(
        said("Equal opportunity"),
        said("equal opportunity"),
        said("Who is accepted of those with a true label"),
        said("true-positive-rate parity"),
        said("Of the people whose label is true, is the same share accepted in every group?"),
    ),
    ODDS: MetricWords(
        said("Equalized odds"),
        said("equalized odds"),
        said("Who is accepted, with a true and with a false label"),
        said("separation"),
        said(
            "Are the rates equal both among people whose label is true and among those whose label is false? "
            "The figure is the worse of the two."
        ),
    ),
    PREDICTIVE: MetricWords(
        said("Predictive parity"),
        said("predictive parity"),
        said("Whose label is true among the accepted"),
        said("sufficiency"),
        said("Of the people who are accepted, is the label true for the same share in every group?"),
    ),
    STABILITY: MetricWords(
        said("Stability"),
        said("stability"),
        said("Whose decision stays the same for people like them"),
        said("individual fairness, robustness"),
        said("In every group, does the same share keep the decision whatever changes within the stated distance?"),
    ),
}

RATE_WORDS: Final[Mapping[Rate, RateWords]] = {
    Rate.ACCEPTANCE: RateWords(
        said("acceptance rate"),
        said("Acceptance rate of each group"),
        said("Accepted"),
        said("People"),
    ),
    Rate.TRUE_POSITIVE: RateWords(
        said("true-positive rate"),
        said("True-positive rate: the share that is accepted of each group’s people whose label is true"),
        said("Accepted"),
        said("With a true label"),
    ),
    Rate.FALSE_POSITIVE: RateWords(
        said("false-positive rate"),
        said("False-positive rate: the share that is accepted of each group’s people whose label is false"),
        said("Accepted"),
        said("With a false label"),
    ),
    Rate.PRECISION: RateWords(
        said("precision"),
        said("Precision: the share of each group’s accepted people whose label is true"),
        said("With a true label"),
        said("Accepted"),
    ),
    Rate.STABLE: RateWords(
        said("stable rate"),
        said("The share of each group’s people whose decision stays the same within reach"),
        said("Stable"),
        said("People"),
    ),
}
