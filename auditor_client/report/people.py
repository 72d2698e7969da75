"""About how many people the figures are: as the answer itself counts them, beside the holder's public number.

The public number is of everybody in the register. Where decisions were linked, or a scope restricts the audit, the
figures are about fewer people, and only the noisy counts say about how many.
"""

import math
from dataclasses import dataclass
from typing import Final

from auditor_client.findings.answers import OF_EVERYBODY, RATES, Rate
from auditor_client.findings.finding import Finding
from auditor_client.findings.insight import parity_of
from auditor_client.report.facts import Fact
from auditor_client.report.formats import scope_words, whole
from auditor_client.report.metric_names import rate_words
from auditor_client.report.outcome import outcome_of
from auditor_client.report.prose import level_by_itself
from shared.contract.metadata import DatasetMetadata
from shared.wire.wording import said, sentence

FEW: Final = 0.05
"""Decisions about a smaller share of the people in the register are warned of: perhaps most keys are not known."""
_CHECK_KEYS: Final = sentence(
    "The answer shows a linked decision for hardly anybody in the register: {people}. If you linked decisions "
    "about more people, check the form of the person keys before you spend more. Values with unknown keys are left "
    "out, and the holder does not say how many."
)


def people_facts(finding: Finding) -> tuple[Fact, ...]:
    """How many people are counted, as far as the noise tells, and how many the register is about if that is public."""
    counted, declared = _people(finding), (finding.question.dataset.metadata or DatasetMetadata()).people
    public = said("about {people}, the holder’s own number", people=whole(declared or 0))
    return (
        *([] if counted is None else [Fact(_term(finding, counted.rate), _people_words(finding, counted))]),
        *([] if declared is None else [Fact(said("People in the register"), public)]),
    )


def few_people(finding: Finding) -> str:
    """Return how many people have a linked decision, where hardly anybody has: perhaps the keys have another form.

    The holder never says how many keys it knows. So only the noisy counts and the holder's public number tell it: no
    group is shown to have anybody, or all groups together have less than a twentieth of the people in the register.
    """
    counted, question = _people(finding), finding.question
    linked = {derived.column.name for derived in question.source.columns if derived.score is None}
    if counted is None or not linked & {predicate.column for predicate in question.source.decided}:
        return ""
    public = (question.dataset.metadata or DatasetMetadata()).people
    bound = 0.0 if public is None or scope_words(question) else FEW * public
    if not (counted.nobody_shown or counted.most < bound):
        return ""
    return _people_words(finding, counted)


def few_warning(finding: Finding) -> tuple[str, ...]:
    """Return what to check where hardly anybody has a linked decision; nothing elsewhere."""
    people = few_people(finding)
    return (said(_CHECK_KEYS, people=people),) if people else ()


@dataclass(frozen=True, slots=True)
class _People:
    """The people of all groups together; the ends are NaN without intervals."""

    rate: Rate
    total: float
    low: float
    high: float
    nobody_shown: bool

    @property
    def most(self) -> float:
        """The upper end; without intervals the total."""
        return self.total if math.isnan(self.high) else self.high


def _people(finding: Finding) -> _People | None:
    """The people of all groups together; None where the answers do not tell it of every group."""
    rates = [rate for metric in finding.metrics for rate in RATES[metric]]
    rate = next((candidate for candidate in rates if candidate in OF_EVERYBODY), rates[0])
    metric = next(candidate for candidate in finding.metrics if rate in RATES[candidate])
    sizes = [group.size for group in parity_of(finding.estimates[metric], rate).groups]
    total = sum(size.value for size in sizes)
    if not math.isfinite(total):
        return None
    # The groups' noises are independent, so the squares of the intervals' halves add up.
    below, above = (
        math.sqrt(sum((size.value - end) ** 2 for size, end in zip(sizes, ends, strict=True)))
        for ends in ([size.low for size in sizes], [size.high for size in sizes])
    )
    nobody_shown = all(size.low < 1 for size in sizes)
    if not math.isfinite(below + above):
        return _People(rate, total, math.nan, math.nan, nobody_shown)
    return _People(rate, total, max(total - below, 0), total + above, nobody_shown)


def _people_words(finding: Finding, counted: _People) -> str:
    if math.isnan(counted.high):
        return said("about {people}", people=whole(counted.total))
    return said(
        "about {people} ({level} interval {low} to {high})",
        people=whole(counted.total),
        level=level_by_itself(finding),
        low=whole(counted.low),
        high=whole(counted.high),
    )


def _term(finding: Finding, rate: Rate) -> str:
    if rate not in OF_EVERYBODY:
        return said("People counted: {whom}", whom=rate_words(rate, outcome_of(finding)).people)
    return said("People with a decision") if finding.question.source.decided else said("People counted")
