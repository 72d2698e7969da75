"""Texts about numbers of people that were known beforehand: in audits what they were, in plans what they buy."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from auditor_client.asking.group_totals import UNKNOWN, Range
from auditor_client.asking.question import Question
from auditor_client.asking.request import PARITY, STABILITY
from auditor_client.planning.forecasts import Expectation, Knowledge
from auditor_client.report.formats import group_words, whole
from auditor_client.report.metric_names import METRIC_WORDS
from shared.wire.wording import joined, listed, said

LISTED_MAX: Final = 12
"""Totals of more groups are only counted."""
KNOWING: Final[Mapping[Knowledge, str]] = {
    Knowledge(supports=False, totals=False): said("nothing"),
    Knowledge(supports=False, totals=True): said("how many people each group has"),
    Knowledge(supports=True, totals=False): said("how many people each rule applies to"),
    Knowledge(supports=True, totals=True): said("both"),
}


@dataclass(frozen=True, slots=True)
class KnowingRow:
    """The forecast with one kind of knowledge; `given` is what this plan has."""

    words: str
    expected: Expectation
    given: bool


def totals_words(question: Question) -> str:
    """Return how many people each group was known to have, and from where; empty if that was not known."""
    totals = question.request.known_totals
    if totals is None:
        return ""
    known = [
        _group_total(joined(group_words(question, group), ", "), people)
        for group, people in zip(question.groups, totals.people, strict=True)
        if people != UNKNOWN
    ]
    numbers = joined(known, "; ") if len(known) <= LISTED_MAX else said("of {number} groups", number=len(known))
    source = said("not said") if totals.source is None else totals.source
    sentences = [said("{numbers}. Source: {source}.", numbers=numbers, source=source)]
    of_everybody = [metric for metric in question.metrics if metric in (PARITY, STABILITY)]
    if len(of_everybody) < len(question.metrics):
        figures = listed([METRIC_WORDS[metric].title for metric in of_everybody])
        sentences.append(said("Only these figures use them: {figures}.", figures=figures))
    return joined(sentences)


def _group_total(group: str, people: Range) -> str:
    low, high = people
    if low == high:
        return said("{group} {people}", group=group, people=whole(low))
    if high is None:
        return said("{group} {least} or more", group=group, least=whole(low))
    return said("{group} {least} to {most}", group=group, least=whole(low), most=whole(high))


def trusted_totals(question: Question) -> tuple[str, ...]:
    """Return what is taken on trust of known totals."""
    if question.request.known_totals is None:
        return ()
    return (
        said(
            "This report also relies on the group totals that the auditor knew beforehand, as numbers of exactly "
            "the people whom the figures describe. Totals that contradict the answers are refused. Wrong totals "
            "that the noise hides make figures wrong."
        ),
    )


def knowing_rows(
    knowing: Mapping[Knowledge, Expectation], question: Question, *, supported: bool
) -> tuple[KnowingRow, ...]:
    """A row for each kind of knowledge, the least first."""
    own = Knowledge(supports=supported, totals=question.request.known_totals is not None)
    return tuple(KnowingRow(KNOWING[knowledge], expected, knowledge == own) for knowledge, expected in knowing.items())
