"""What the report says in sentences: the finding, and what the figures mean and do not mean."""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from auditor_client.estimation.results import Estimate, GroupEstimate, ParityEstimate, Verdict
from auditor_client.report.words import group_words, listed, loss, percent, threshold_percent, whole
from shared.amounts import NANO_PER_UNIT

if TYPE_CHECKING:  # the result shows itself through this package
    from auditor_client.result import AuditResult

_RELATIONS: Final = {
    "add_remove": "any one person’s record were absent, or one more were present",
    "replace": "any one person’s record were another",
    "sensitive_attribute": "any one person belonged to another group",
}


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A term and what the reader has to know about it."""

    term: str
    text: str


def threshold_name(threshold: float) -> str:
    """What a threshold of the ratio is called."""
    return "the four-fifths rule" if threshold == 0.8 else f"the threshold of {threshold_percent(threshold)}"


def relation_words(relation: str) -> str:
    """A neighbouring relation as the change of the records that it is about."""
    return _RELATIONS.get(relation, f"the records changed as the relation {relation} has it")


def extremes(parity: ParityEstimate) -> tuple[GroupEstimate, GroupEstimate] | None:
    """The groups of the lowest and of the highest estimated rate; None if no group has a rate."""
    rated = [group for group in parity.groups if group.rate.defined]
    if not rated:
        return None
    # Of equal rates the first is the lowest and the last the highest, so that two groups are named.
    return min(rated, key=_rate), max(reversed(rated), key=_rate)


def headline(result: "AuditResult") -> str:
    """The verdict in one sentence."""
    parity = result.parity
    start = f"At {loss(result.release.charge)}"
    by = listed(result.plan.sensitive)
    ends = extremes(parity)
    if ends is None or not parity.ratio.defined:
        return f"{start}, the tree has no statistical parity ratio for {by}: there is no verdict."
    lowest, highest = (f"“{', '.join(group_words(group.group))}”" for group in ends)
    share = percent(parity.ratio.value, apart_from=parity.threshold)
    compared = f"the group {lowest} is accepted at {share} of the rate of the group {highest}"
    interval = f" ({interval_words(parity)})" if interval_words(parity) else ""
    rule = f"{threshold_name(parity.threshold)} for {by}"
    if parity.verdict is Verdict.UNDECIDED:
        return f"{start}, it is undecided whether the tree meets {rule}: {compared}{interval}."
    return f"{start}, the tree {parity.verdict.value} {rule}: {compared}{interval}."


def explanation(parity: ParityEstimate) -> str:
    """Why the verdict is what it is."""
    bar = threshold_percent(parity.threshold)
    if not parity.ratio.defined:
        return "As far as can be told, nobody is accepted in any group, so there is nothing to divide."
    if not interval_words(parity):
        return (
            "This estimator gives no interval, so nobody can tell the figure from its noise, and no verdict is given."
        )
    if parity.verdict is Verdict.MEETS:
        return f"The whole interval lies at or above {bar}."
    if parity.verdict is Verdict.FAILS:
        return f"The whole interval lies below {bar}."
    return f"The interval reaches across {bar}: the noise is too large to tell. A larger ε would narrow it."


def interval_words(parity: ParityEstimate) -> str:
    """The ratio's interval in words; empty if there is none."""
    estimate = parity.ratio
    if math.isnan(estimate.low):
        return ""
    low, high = (percent(end, apart_from=parity.threshold) for end in (estimate.low, estimate.high))
    return f"{level_words(estimate)} interval {low} to {high}"


def level_words(estimate: Estimate) -> str:
    """The level of an interval: "95 %"."""
    return f"{100 * estimate.level:.3g}\N{NARROW NO-BREAK SPACE}%"


def noise_words(scale: float) -> str:
    """How far the noise of a count reaches: a bound that 95 % of the counts keep.

    The chance of noise beyond ±t is 2·q^(t+1)/(1 + q), with q = exp(−1/scale); see `shared.noise`.
    """
    q = math.exp(-1 / scale)
    reach = max(math.ceil(scale * math.log(2 / (0.05 * (1 + q)))) - 1, 0)
    return f"discrete Laplace of scale {scale:.4g}: 95 in 100 counts are off by at most {whole(reach)} people"


def paragraphs(result: "AuditResult") -> tuple[Paragraph, ...]:
    """What the figures mean and do not mean, for this audit."""
    level = level_words(result.parity.ratio)
    return (
        Paragraph(
            "The ratio",
            "The acceptance rate of the group with the lowest rate, divided by that of the group with the highest. 1 "
            "means that all groups are accepted at the same rate; 0.5, that one is accepted half as often as another.",
        ),
        _interval_paragraph(result, level),
        Paragraph(
            "Meets, fails, undecided",
            f"The tree meets or fails {threshold_name(result.parity.threshold)} only if the whole {level} interval is "
            "on one side of it. Otherwise the audit says undecided: the privacy noise is too large to tell. That is "
            "neither a pass nor a suspicion. Asking the same again returns the same answer; only a larger ε, or a "
            "second draw that is paid for, tells more.",
        ),
        _threshold_paragraph(result.parity.threshold),
        Paragraph(
            "Whom the figures are about",
            f"The people in version {result.release.version} of the holder’s records, each counted once: "
            "survey weights are not supported. The intervals do not cover how well these people stand for others. "
            "And the figures are about the decisions of the tree as it was read, not about what was decided in "
            "practice.",
        ),
        Paragraph(
            "What they do not say",
            "Why the groups differ. A difference is not a cause, and no proof of discrimination; equal rates do not "
            "prove that a tree is fair. Statistical parity does not ask who deserved to be accepted.",
        ),
        _privacy_paragraph(result),
        Paragraph(
            "What is taken on trust",
            "That the holder’s records are right and that it counted them truly: its signature shows who answered, "
            "not that the answer is true.",
        ),
    )


def _interval_paragraph(result: "AuditResult", level: str) -> Paragraph:
    if math.isnan(result.parity.ratio.low):
        return Paragraph(
            "No intervals",
            f"The estimator {result.estimator} follows the published method and gives none: its figures may be far off "
            "where groups are small, and do not show it. The posterior estimator gives intervals from the same answer.",
        )
    return Paragraph(
        "The intervals",
        f"The holder adds random noise to every count, to protect each person. A {level} interval is made so that in "
        f"{level} of audits like this one it holds the true figure. It covers that noise and nothing else. Each "
        "interval is for one figure: that all of them hold at once is less certain.",
    )


def _threshold_paragraph(threshold: float) -> Paragraph:
    if threshold != 0.8:
        return Paragraph(
            "The threshold", f"{threshold_percent(threshold)} was chosen by the auditor; it is no rule of law."
        )
    return Paragraph(
        "The four-fifths rule",
        "A rule of thumb of the agencies that enforce equal employment law in the United States (Uniform Guidelines on "
        "Employee Selection Procedures, 1978, 29 CFR 1607.4 D): a ratio below 80\N{NARROW NO-BREAK SPACE}% is "
        "generally regarded as evidence of adverse impact. It is not a definition of discrimination, smaller "
        "differences may matter too, and the law of other countries asks other questions.",
    )


def _privacy_paragraph(result: "AuditResult") -> Paragraph:
    factor = math.exp(result.release.charge.epsilon / NANO_PER_UNIT)
    return Paragraph(
        "Privacy",
        "The holder’s answer would have been nearly as likely if "
        f"{relation_words(result.release.relation)}: whatever anybody concludes from it about one person, the odds "
        f"change by a factor of at most e^ε = {factor:.3g}. Several audits of the same people add up; the holder’s "
        "ledger keeps the sum.",
    )


def _rate(group: GroupEstimate) -> float:
    return group.rate.value
