"""Sentences about the groups that are judged, those that are left out, and the figures of the others."""

from collections.abc import Iterator, Mapping
from typing import Final

from auditor_client.asking.inquiry import Inquiry
from auditor_client.estimation.caveats import least_size
from auditor_client.estimation.estimates import Verdict
from auditor_client.estimation.results import GroupEstimate, JudgedFigures, ParityEstimate
from auditor_client.estimation.size_rule import SizeRule
from auditor_client.findings.answers import RATES
from auditor_client.findings.finding import Finding, MetricEstimate
from auditor_client.findings.insight import parity_of
from auditor_client.report.axes import interval_text, ratio_threshold
from auditor_client.report.formats import group_words, ratio, whole
from auditor_client.report.prose import level_of, threshold_name
from shared.contract.schema import Group
from shared.wire.wording import joined, listed, said, sentence

_OTHERS: Final[Mapping[Verdict, str]] = {
    Verdict.MEETS: sentence(
        "For {groups} the ratio lies between {low} and {high} ({level} interval): it meets {rule}."
    ),
    Verdict.FAILS: sentence(
        "For {groups} the ratio lies between {low} and {high} ({level} interval): it fails {rule}."
    ),
    Verdict.UNDECIDED: sentence(
        "For {groups} the ratio lies between {low} and {high} ({level} interval): it is undecided whether it meets "
        "{rule}."
    ),
    Verdict.NONE: sentence("For {groups} the ratio lies between {low} and {high} ({level} interval)."),
}


def judged_sentences(finding: Finding, metric: str) -> tuple[str, ...]:
    """All that is said of a metric; nothing where its figures are about all groups, and the others would be too."""
    estimate = finding.estimates[metric]
    judged = estimate if estimate.rule is not None else estimate.other
    if judged is None or judged.rule is None:
        return ()
    return tuple(_sentences(finding, metric, estimate, judged, judged.rule))


def judged_fact(rule: SizeRule) -> str:
    """Return which groups are judged, in a few words."""
    return said("those that are shown to have at least {least}", least=least_size(rule))


def _sentences(
    finding: Finding, metric: str, estimate: MetricEstimate, named: JudgedFigures, rule: SizeRule
) -> Iterator[str]:
    number, least = len(finding.question.groups), least_size(rule)
    unknown = () if estimate.unknown is None else estimate.unknown.groups
    number, left_out = number - len(unknown), [group for group in named.left_out if group not in unknown]
    judged = number - len(left_out)
    large = said(
        "the {judged} of {number} groups that are shown to have at least {least}",
        judged=judged, number=number, least=least,
    )  # fmt: skip
    if estimate is named:
        yield said("The verdict and the figures are about {groups}.", groups=large)
    if estimate.other is not None and estimate.other.ratio.defined:
        groups = said("all {number} groups", number=number) if estimate is named else large
        yield _of_others(finding, estimate.other, metric, groups)
    if left_out:
        words = (_left_out(finding.question, metric, estimate, group) for group in left_out)
        yield said("Not shown to be large enough: {groups}.", groups=listed(words))


def _of_others(finding: Finding, other: JudgedFigures, metric: str, groups: str) -> str:
    bar = None if other.threshold is None else ratio_threshold(other.ratio_kind, other.threshold)
    return said(
        _OTHERS[other.verdict],
        groups=groups,
        low=ratio(other.ratio.low, apart_from=bar),
        high=ratio(other.ratio.high, apart_from=bar),
        level=level_of(finding),
        rule="" if other.threshold is None else threshold_name(other.threshold, metric),
    )


def _left_out(question: Inquiry, metric: str, estimate: MetricEstimate, group: Group) -> str:
    """A group that is left out, and how large it may be: of two comparisons in the one that has fewer of its people."""
    sizes = [_of_group(parity_of(estimate, rate), group).size for rate in RATES[metric]]
    size = min(sizes, key=lambda size: size.value)
    return said(
        "{group} ({people} people)",
        group=joined(group_words(question, group), ", "),
        people=interval_text(size, whole),
    )


def _of_group(parity: ParityEstimate, group: Group) -> GroupEstimate:
    return next(figures for figures in parity.groups if figures.group == group)
