"""Rule-level insight from an answer that was asked rule by rule; no further budget (3-estimation §2).

Which rules cause the disparity of two groups, and what the figure would be if a rule decided otherwise.
"""

from typing import TYPE_CHECKING, Final

from auditor_client.asking.inquiry import group_named, leaf_of
from auditor_client.asking.request import PREDICTIVE
from auditor_client.errors import QuestionRefused
from auditor_client.estimation.results import OddsEstimate, ParityEstimate
from auditor_client.findings.answers import FIGURES, FigureCounts
from auditor_client.findings.finding import Finding, MetricEstimate
from shared.schema import Group

if TYPE_CHECKING:
    from auditor_client.estimation.results import Attribution

RULES_SHOWN_MAX: Final = 12
"""How many rules a report ranks and flips; `AuditResult.attribution` has all."""


def has_rules(finding: Finding, figure: str | None = None) -> bool:
    """Whether the answer tells rule from rule, with intervals, for a figure of `answers.FIGURES`."""
    figure = figure or FIGURES[finding.metrics[0]][0]
    counts = finding.counts[figure]
    whole = len(set(counts.favourable)) == len(counts.favourable)  # merged groups repeat their cell
    return whole and len(counts.favourable) > 1 and finding.reading.has_intervals and figure != "precision"


def attribution(
    finding: Finding, pair: tuple[Group | str, Group | str] | None = None, figure: str | None = None
) -> "Attribution":
    """Each favourable rule's share in the disparity of two groups.

    Args:
        finding: An audit that was asked rule by rule.
        pair: Two groups by their values or names; by default those of the lowest and the highest rate,
            or with a reference group the one farthest from it and that one.
        figure: Of `answers.FIGURES`; by default the first metric's.

    Raises:
        QuestionRefused: The audit does not tell rule from rule, or there is no such pair.
    """
    counts = _counts(finding, figure)
    groups = counts.measurement.groups
    named = None if pair is None else (group_named(pair[0], groups), group_named(pair[1], groups))
    from auditor_client.estimation import attribution as estimation  # noqa: PLC0415 - takes a second to import

    return estimation.attribute(
        counts.measurement, pair=named, reference=finding.question.reference, level=finding.ratio.level
    )


def flipped(finding: Finding, rule: str, figure: str | None = None) -> ParityEstimate:
    """The figure if one rule decided otherwise, about the same people.

    Args:
        finding: An audit that was asked rule by rule.
        rule: The name of a leaf; where its people were counted label by label, all of them change sides.
        figure: Of `answers.FIGURES`; by default the first metric's.

    Raises:
        QuestionRefused: The audit does not tell that rule from the others.
    """
    counts, leaves = _counts(finding, figure), leaf_names(finding, figure)
    if rule not in leaves:
        raise QuestionRefused(f"There is no rule {rule!r} in the answer: name one of {', '.join(leaves)}.")
    from auditor_client.estimation import attribution as estimation  # noqa: PLC0415 - takes a second to import
    from auditor_client.estimation.posterior import estimate_parity  # noqa: PLC0415

    question, accepted = finding.question, len(counts.favourable)
    names = (*counts.favourable, *counts.complement)
    rows = [row for row, name in enumerate(names) if leaf_of(name, question) == rule]
    if leaves[rule]:
        rows = [row for row in reversed(rows) if row < accepted]  # a reversed row leaves those before it where they are
    measurement = counts.measurement
    for row in rows:
        measurement = estimation.flipped(measurement, row)
    return estimate_parity(
        measurement,
        threshold=finding.threshold,
        level=finding.ratio.level,
        reference=finding.question.reference,
    )


def leaf_names(finding: Finding, figure: str | None = None) -> dict[str, bool]:
    """The leaves that the answer tells apart, and whether each is favourable; with "pafer" the favourable alone."""
    counts, question = _counts(finding, figure), finding.question
    refusing = counts.complement if counts.measurement.complement_is == "unfavourable" else ()
    leaves = {leaf_of(name, question): False for name in refusing}
    return {**{leaf_of(name, question): True for name in counts.favourable}, **leaves}


def parity_of(estimate: MetricEstimate, figure: str) -> ParityEstimate:
    """The comparison of one rate within a metric: equalized odds have two."""
    if isinstance(estimate, OddsEstimate):
        return estimate.false_positive if figure == "negative" else estimate.true_positive
    return estimate


def _counts(finding: Finding, figure: str | None) -> FigureCounts:
    metric, figure = _metric(finding, figure)
    if metric == PREDICTIVE or not has_rules(finding, figure):
        raise QuestionRefused(
            'This audit does not tell rule from rule: ask with strategy "rules" (or "pafer") and the posterior '
            "estimator, for a rate of acceptance."
        )
    return finding.counts[figure]


def _metric(finding: Finding, figure: str | None) -> tuple[str, str]:
    """The metric that a figure belongs to; by default the first of either."""
    for metric in finding.metrics:
        for name in FIGURES[metric]:
            if figure in (None, name):
                return metric, name
    raise QuestionRefused(f"The audit has no figure {figure!r}.")
