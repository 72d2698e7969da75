"""Warnings that follow from how a model was read: perhaps it is not the model in use."""

from collections.abc import Iterator
from typing import Final

from auditor_client.estimation.estimates import Estimate
from auditor_client.estimation.results import ParityEstimate
from auditor_client.findings.finding import Finding
from auditor_client.report.formats import group_words
from auditor_client.report.subject import subject
from shared.wire.wording import joined, listed, said

ALIKE: Final = 0.005
"""A rate is nearly 0 if it is below this, and its interval begins below a fifth of this; likewise nearly 1."""


def model_warnings(finding: Finding) -> Iterator[str]:
    """The warnings about a model; none about decisions that somebody made already."""
    question = finding.question
    if subject(question).made_already:
        return
    alike = [
        said("“{group}”", group=joined(group_words(question, group.group), ", "))
        for estimate in finding.estimates.values()
        if isinstance(estimate, ParityEstimate)
        for group in estimate.groups
        if _alike(group.rate)
    ]
    if alike:
        yield said(
            "The model makes the same decision for nearly everybody in {groups}. Check that it reads the dataset’s "
            "own values. If the model in use has a scaler or an encoder before it, these figures are not about "
            "that model.",
            groups=listed(dict.fromkeys(alike)),
        )
    read = question.source.provenance
    if read is not None and read.fractional:
        yield said(
            "The model splits {columns} at fractions, as a model of scaled numbers does, but the dataset has whole "
            "numbers there. Check that the model reads the dataset’s own values.",
            columns=listed(question.words.columns(read.fractional)),
        )


def _alike(rate: Estimate) -> bool:
    nobody = rate.value < ALIKE and rate.low < ALIKE / 5
    everybody = rate.value > 1 - ALIKE and rate.high > 1 - ALIKE / 5
    return nobody or everybody
