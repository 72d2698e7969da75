"""About how many people the figures are: as the answer itself counts them, beside the holder's public number.

The public number is of everybody in the register. Where decisions were linked, or a scope restricts the audit, the
figures are about fewer people, and only the noisy counts say about how many.
"""

import math

from auditor_client.findings.answers import OF_EVERYBODY, RATES, Rate
from auditor_client.findings.finding import Finding
from auditor_client.findings.insight import parity_of
from auditor_client.report.facts import Fact
from auditor_client.report.formats import whole
from auditor_client.report.metric_names import rate_words
from auditor_client.report.outcome import outcome_of
from auditor_client.report.prose import level_by_itself
from shared.contract.metadata import DatasetMetadata
from shared.wire.wording import said


def people_facts(finding: Finding) -> tuple[Fact, ...]:
    """How many people are counted, as far as the noise tells, and how many the register is about if that is public."""
    declared = (finding.question.dataset.metadata or DatasetMetadata()).people
    public = said("about {people}, the holder’s own number", people=whole(declared or 0))
    return (
        *_counted(finding),
        *([] if declared is None else [Fact(said("People in the register"), public)]),
    )


def _counted(finding: Finding) -> tuple[Fact, ...]:
    """The people of all groups together; nothing where the answers do not tell it of every group."""
    rates = [rate for metric in finding.metrics for rate in RATES[metric]]
    rate = next((one for one in rates if one in OF_EVERYBODY), rates[0])
    metric = next(one for one in finding.metrics if rate in RATES[one])
    sizes = [group.size for group in parity_of(finding.estimates[metric], rate).groups]
    total = sum(size.value for size in sizes)
    if not math.isfinite(total):
        return ()
    # The groups' noises are independent, so the squares of the intervals' halves add up.
    below, above = (
        math.sqrt(sum((size.value - end) ** 2 for size, end in zip(sizes, ends, strict=True)))
        for ends in ([size.low for size in sizes], [size.high for size in sizes])
    )
    if not math.isfinite(below + above):
        return (Fact(_term(finding, rate), said("about {people}", people=whole(total))),)
    return (
        Fact(
            _term(finding, rate),
            said(
                "about {people} ({level} interval {low} to {high})",
                people=whole(total),
                level=level_by_itself(finding),
                low=whole(max(total - below, 0)),
                high=whole(total + above),
            ),
        ),
    )


def _term(finding: Finding, rate: Rate) -> str:
    if rate not in OF_EVERYBODY:
        return said("People counted: {whom}", whom=rate_words(rate, outcome_of(finding)).people)
    return said("People with a decision") if finding.question.source.decided else said("People counted")
