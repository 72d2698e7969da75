"""What each figure is called, in the words that users of fairness metrics know (1-method §3)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from auditor_client.asking.request import ODDS, OPPORTUNITY, PARITY, PREDICTIVE, STABILITY
from auditor_client.findings.answers import Rate


@dataclass(frozen=True, slots=True)
class MetricWords:
    """A metric: its name at the beginning of a sentence, the heading of its section, what else it is called, and
    what it asks.
    """

    title: str
    section: str
    other_names: str
    asks: str


@dataclass(frozen=True, slots=True)
class RateWords:
    """A rate that a metric compares.

    `predicate` is what happens at that rate, in the passive: "the group is … at 80 % of the rate of"; `counted` and
    `people` are the headings of the numerator and of the denominator.
    """

    name: str
    caption: str
    predicate: str
    counted: str
    people: str


METRIC_WORDS: Final[Mapping[str, MetricWords]] = {
    PARITY: MetricWords(
        "Statistical parity",
        "Who is accepted how often",
        "demographic parity, disparate impact",
        "Are all groups accepted at the same rate, whoever deserved it?",
    ),
    OPPORTUNITY: MetricWords(
        "Equal opportunity",
        "Who is accepted of those with a true label",
        "true-positive-rate parity",
        "Of the people whose label is true, is the same share accepted in every group?",
    ),
    ODDS: MetricWords(
        "Equalized odds",
        "Who is accepted, with a true and with a false label",
        "separation",
        "Are the rates equal both among people whose label is true and among those whose label is false? "
        "The figure is the worse of the two.",
    ),
    PREDICTIVE: MetricWords(
        "Predictive parity",
        "Whose label is true among the accepted",
        "sufficiency",
        "Of the people who are accepted, is the label true for the same share in every group?",
    ),
    STABILITY: MetricWords(
        "Stability",
        "Whose decision stays the same for people like them",
        "individual fairness, robustness",
        "In every group, does the same share keep the decision whatever changes within the stated distance?",
    ),
}

RATE_WORDS: Final[Mapping[Rate, RateWords]] = {
    Rate.ACCEPTANCE: RateWords("acceptance rate", "Acceptance rate of each group", "accepted", "Accepted", "People"),
    Rate.TRUE_POSITIVE: RateWords(
        "true-positive rate",
        "True-positive rate: the share that is accepted of each group’s people whose label is true",
        "accepted, of the people with a true label,",
        "Accepted",
        "With a true label",
    ),
    Rate.FALSE_POSITIVE: RateWords(
        "false-positive rate",
        "False-positive rate: the share that is accepted of each group’s people whose label is false",
        "accepted, of the people with a false label,",
        "Accepted",
        "With a false label",
    ),
    Rate.PRECISION: RateWords(
        "precision",
        "Precision: the share of each group’s accepted people whose label is true",
        "found to have a true label, of the accepted,",
        "With a true label",
        "Accepted",
    ),
    Rate.STABLE: RateWords(
        "stable rate",
        "The share of each group’s people whose decision stays the same within reach",
        "kept in its decision",
        "Stable",
        "People",
    ),
}
