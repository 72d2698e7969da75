"""Rule-level insight from an answer that was asked rule by rule; no further budget (3-estimation §2).

Which rules cause the disparity of two groups, and what the figure would be if a rule decided the other way.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from auditor_client.asking.inquiry import group_named, leaf_of
from auditor_client.asking.question import Question
from auditor_client.asking.request import PARITY
from auditor_client.errors import QuestionRefused
from auditor_client.estimation.drawing import DRAWS
from auditor_client.estimation.estimates import Estimate
from auditor_client.estimation.results import Attribution, OddsEstimate, ParityEstimate, RatioKind
from auditor_client.findings.answers import RATES, Rate, RateCounts
from auditor_client.findings.finding import Finding, MetricEstimate
from auditor_client.findings.reading import Reading
from auditor_client.text import no_such
from shared.contract.schema import Group

if TYPE_CHECKING:
    from auditor_client.estimation.impact import ImpactRatio

RULES_SHOWN_MAX: Final = 12
"""How many rules a report ranks and flips; `AuditResult.attribution` has all."""
_OF_ONE_DECISION: Final = (Rate.PRECISION, Rate.FALSE_DISCOVERY, Rate.FALSE_OMISSION)
"""Rates of the label among people of one decision, in which a rule has no share."""


def has_rules(finding: Finding, rate: str | None = None) -> bool:
    """Whether the answer counts rule by rule, with intervals, what a rate needs; by default the first metric's."""
    return _distinguishes_rules(finding.question, finding.counts, finding.reading, _rate(finding, rate))


def rule_counts(question: Question, counts: Mapping[Rate, RateCounts], reading: Reading) -> RateCounts | None:
    """The counts whose rules a report gives shares, those of the first metric; None if they do not distinguish any."""
    rate = RATES[question.metrics[0]][0]
    return favourable_counts(counts[rate]) if _distinguishes_rules(question, counts, reading, rate) else None


def favourable_counts(counts: RateCounts) -> RateCounts:
    """The same counts as those of the favourable outcome: shares of favourable rules add up to its difference."""
    return replace(counts, measurement=replace(counts.measurement, ratio_kind=RatioKind.LOWEST))


def _distinguishes_rules(question: Question, counts: Mapping[Rate, RateCounts], reading: Reading, rate: Rate) -> bool:
    request = question.request
    if request.edges is not None or request.chain is not None or request.group_study is not None or question.against:
        # Bands of a score or stages of a chain, of which `Finding` says more; or another model's decisions. Or the
        # groups of the people whom a rule counts are recorded wrongly.
        return False
    cells = counts[rate].favourable
    whole = len(set(cells)) == len(cells)  # merged groups repeat their cell
    leaves = {leaf_of(name, question) for name in cells}
    return whole and len(leaves) > 1 and reading.has_intervals and rate not in _OF_ONE_DECISION


def impact_ratios(finding: Finding) -> "dict[tuple[str, ...], tuple[ImpactRatio, ...]]":
    """Each group's acceptance rate over the highest: by each sensitive column, and by all of them together.

    No further budget. Empty where acceptance was not asked for, or the estimator makes no intervals.
    """
    if PARITY not in finding.metrics or not finding.reading.has_intervals:
        return {}
    from auditor_client.estimation import impact  # noqa: PLC0415 - takes a second to import

    tables: dict[tuple[str, ...], Finding] = {finding.question.request.sensitive: finding}
    tables.update((columns, table) for columns, table in finding.tables.items() if len(columns) == 1)
    measured = {columns: table.counts[Rate.ACCEPTANCE].measurement for columns, table in tables.items()}
    reading = finding.reading
    return {
        columns: impact.impact_ratios(one, level=reading.level, drawing=reading.drawing(DRAWS), rule=reading.rule)
        for columns, one in measured.items()
    }


def attribution(
    finding: Finding, pair: tuple[Group | str, Group | str] | None = None, rate: str | None = None
) -> "Attribution":
    """Each favourable rule's share in the disparity of two groups, of an audit that was asked rule by rule.

    The pair is named by values or names; by default it is that of the lowest and the highest rate, or with a reference
    group the one farthest from it and that one, among the groups that are judged. `rate` names a `Rate`; by default the
    first metric's. In a joint reading the shares that these defaults give hold together with its other figures, all
    others each by itself.

    Raises:
        QuestionRefused: The answer does not distinguish rules, or has no such pair.
    """
    counts = favourable_counts(_counts(finding, rate))
    groups = counts.measurement.groups
    named = None if pair is None else (group_named(pair[0], groups), group_named(pair[1], groups))
    from auditor_client.estimation import attribution as estimation  # noqa: PLC0415 - takes a second to import

    measured, reference, but = counts.measurement, finding.question.reference, finding.first.left_out
    level, draws = finding.reading.level, estimation.DRAWS
    if finding.reading.joint and pair is None and rate in (None, RATES[finding.metrics[0]][0]):
        estimation.require_joint(measured, level)
        level, draws = finding.ratio.level, estimation.JOINT_DRAWS
    drawing = finding.reading.drawing(draws)
    return estimation.attribute(measured, pair=named, reference=reference, but=but, level=level, drawing=drawing)


def flipped(finding: Finding, rule: str, rate: str | None = None) -> ParityEstimate:
    """The figure if one rule decided the other way, for the same people, of an audit that was asked rule by rule.

    The rule is the name of a leaf; where its people were counted label by label, all of them change sides. `rate` names
    a `Rate`; by default the first metric's.

    Raises:
        QuestionRefused: The answer does not distinguish that rule from the others.
    """
    counts, leaves = _counts(finding, rate), leaf_names(finding, rate)
    if rule not in leaves:
        raise QuestionRefused(no_such("rule in the answer", rule, leaves))
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
        threshold=_threshold(finding, _rate(finding, rate)),
        level=finding.reading.level,
        drawing=finding.reading.drawing(DRAWS),
        reference=finding.question.reference,
        rule=finding.reading.rule,
        but=() if finding.first.unknown is None else finding.first.unknown.groups,
    )


def leaf_names(finding: Finding, rate: str | None = None) -> dict[str, bool]:
    """The leaves that are counted by themselves, and whether each is favourable; with "pafer" the favourable alone."""
    counts, question = _counts(finding, rate), finding.question
    refusing = counts.complement if counts.measurement.complement_is == "unfavourable" else ()
    leaves = {leaf_of(name, question): False for name in refusing}
    return {**{leaf_of(name, question): True for name in counts.favourable}, **leaves}


def leaf_shares(finding: Finding) -> "dict[str, tuple[Estimate, ...]]":
    """Of each leaf that was counted by itself, the share of each group's people in it; the groups as `finding.parity`.

    Empty where the answer does not count rule by rule, counts a leaf in parts (labels, strata), or a count has no
    interval by itself. No further budget.
    """
    if PARITY not in finding.metrics or not has_rules(finding, Rate.ACCEPTANCE):
        return {}
    from auditor_client.estimation.cell_shares import cell_shares  # noqa: PLC0415 - takes a second to import

    counts, sizes = finding.counts[Rate.ACCEPTANCE], [group.size for group in finding.parity.groups]
    parts = [(counts.favourable, counts.measurement.favourable)]
    if counts.measurement.complement_is == "unfavourable":
        parts.append((counts.complement, counts.measurement.complement))
    found: dict[str, tuple[Estimate, ...]] = {}
    for names, counted in parts:
        shares = cell_shares(counted, sizes)
        found |= zip(names, shares, strict=True) if shares is not None else ()
    shares_of = {leaf_of(name, finding.question): of_leaf for name, of_leaf in found.items()}
    return shares_of if len(shares_of) == len(found) else {}


def parity_of(estimate: MetricEstimate, rate: Rate) -> ParityEstimate:
    """The comparison of one rate within a metric: equalized odds have two."""
    if isinstance(estimate, OddsEstimate):
        return estimate.false_positive if rate is Rate.FALSE_POSITIVE else estimate.true_positive
    return estimate


def _threshold(finding: Finding, rate: Rate) -> float | None:
    """Return what a verdict on one rate is about."""
    metric = next(metric for metric in finding.metrics if rate in RATES[metric])
    return finding.reading.threshold_of(metric)


def _counts(finding: Finding, rate: str | None) -> RateCounts:
    compared = _rate(finding, rate)
    if not has_rules(finding, compared):
        raise QuestionRefused(
            'This audit does not distinguish rules: ask with strategy "rules" (or "pafer") and the posterior '
            "estimator, for a rate of acceptance."
        )
    return finding.counts[compared]


def _rate(finding: Finding, name: str | None) -> Rate:
    """A rate that the audit compares, by its name; by default the first metric's first."""
    rates = [rate for metric in finding.metrics for rate in RATES[metric]]
    for rate in rates:
        if name in (None, rate):
            return rate
    raise QuestionRefused(f"The audit does not compare the rate {name!r}, only {', '.join(dict.fromkeys(rates))}.")
