"""An audited tree mended: the changes of its leaves that make groups' rates alike enough (7-training §2, `relabel`).

Rests on the kept answer alone and spends nothing: what is made of released counts is post-processing.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from auditor_client.asking.inquiry import LeafRules
from auditor_client.asking.question import Question, rules_digest
from auditor_client.asking.request import PARITY, STABILITY
from auditor_client.errors import QuestionRefused
from auditor_client.estimation.estimates import Estimate
from auditor_client.findings.answers import Rate, size_bounds
from auditor_client.findings.finding import Finding
from auditor_client.findings.leaf_counts import epsilon_needed, leaves_of, ratio_if, read_leaves
from auditor_client.models.tree import DecisionRule
from shared.contract.rules import Rule

if TYPE_CHECKING:  # importing the estimators takes a second
    from auditor_client.estimation.leaf_choices import LeafCounts


@dataclass(frozen=True, slots=True)
class LeafChange:
    """A leaf that is to decide otherwise.

    Attributes:
        leaf: Its name.
        rules: What leads to it.
        before, after: What it decides.
        favourable: Whether that is favourable afterwards.
        people: How many people of each group it reaches, in the order of the groups, each by itself.
        cost: How many more people of all groups it decides wrongly afterwards; below 0 if fewer.
    """

    leaf: str
    rules: tuple[Rule, ...]
    before: str
    after: str
    favourable: bool
    people: tuple[Estimate, ...]
    cost: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Mended:
    """An audit's tree with other decisions in some leaves, and what is known of it.

    Attributes:
        finding: The audit.
        wanted: The smallest ratio of the groups' acceptance rates that is wanted.
        met: Whether that ratio is shown to be met, at the level of the audit's reading. If not, the changes are those
            that come nearest to it.
        changes: Of the leaves; none if none is needed.
        rules: All rules of the relabelled tree, in their order before.
        ratio_before, ratio: The statistical parity ratio before and after.
        accuracy_before, accuracy: The share of people with a label whose decision is favourable just if the label is
            true. Intervals of what is afterwards, and of both accuracies, hold for all sets of changes together.
        accuracy_of_none: The same if everybody were decided alike, the better way.
        epsilon_needed: About what a new question would have to cost for the ratio to be shown to be met; None if
            it is met, or if nothing that was found reaches it.
    """

    finding: Finding
    wanted: float
    met: bool
    changes: tuple[LeafChange, ...]
    rules: tuple[DecisionRule, ...]
    ratio_before: Estimate
    ratio: Estimate
    accuracy_before: Estimate
    accuracy: Estimate
    accuracy_of_none: Estimate
    epsilon_needed: float | None

    @property
    def level(self) -> float:
        """The level of all intervals."""
        return self.ratio.level

    @property
    def digest(self) -> str:
        """The digest of the mended rules, by which audits name a model."""
        return rules_digest(self.rules)


def mended(finding: Finding, ratio: float = 0.8) -> Mended:
    """Find the cheapest changes of leaves that are shown to meet a ratio of statistical parity.

    Args:
        finding: An audit of a tree whose answer counts every leaf by the label.
        ratio: The wanted one, within (0, 1].

    Raises:
        QuestionRefused: The ratio is none, or the audit is of no such tree or has no such counts.
    """
    if not 0 < ratio <= 1:
        raise QuestionRefused("The wanted `ratio` of the groups' rates is a number above 0 and at most 1.")
    if finding.question.request.group_study is not None:
        raise QuestionRefused(
            "This audit is corrected for misreported groups, and leaves are relabelled by the people who are counted "
            "in them, by the groups as they are recorded: audit without `misreported` to relabel them."
        )
    question, counts = finding.question, counts_to_mend(finding)
    left_out = finding.first.left_out
    judged = [index for index, group in enumerate(question.groups) if group not in left_out]
    if len(judged) < 2:
        raise QuestionRefused("Fewer than two groups are large enough to be compared: leave `judged` out.")
    from auditor_client.estimation import mending  # noqa: PLC0415 - takes a second to import

    leaves, level = leaves_of(question), finding.reading.level
    sizes = size_bounds(question, Rate.ACCEPTANCE)
    leaf_of_rule = {str(rule.rule.id): rule.leaf for rule in question.rules}
    before = [leaf_of_rule[str(leaf.rules[0].id)].favourable for leaf in leaves]
    found = mending.mend_leaves(counts, before, groups=judged, ratio=ratio, level=level)
    changed = [index for index, leaf in enumerate(leaves) if found.decisions[index] != before[index]]

    def ratio_under(decisions: Sequence[bool]) -> Estimate:
        return ratio_if(counts, decisions, question.groups, finding.reading, bounds=sizes, but=left_out)

    now = ratio_under(before)
    if PARITY in finding.metrics and finding.reading.has_intervals:
        now = finding.parity.ratio
    after, (low, high) = ratio_under(found.decisions), found.ratio_ends
    usual = _usual_decisions(question, leaves, counts)
    changes = tuple(
        LeafChange(
            leaf.name,
            leaf.rules,
            leaf_of_rule[str(leaf.rules[0].id)].decision,
            usual[found.decisions[index]],
            found.decisions[index],
            counts.people_of(index, level),
            found.costs[index],
        )
        for index, leaf in enumerate(leaves)
        if index in changed
    )
    return Mended(
        finding=finding,
        wanted=ratio,
        met=found.sure,
        changes=changes,
        rules=_changed_rules(question, changes),
        ratio_before=now,
        ratio=replace(after, low=low, high=high).stretched_to(after.value) if changes else now,
        accuracy_before=found.accuracy_before,
        accuracy=found.accuracy,
        accuracy_of_none=found.accuracy_of_none,
        epsilon_needed=epsilon_needed(
            finding.release.loss.epsilon_nano
            if finding.release.charge.kind == "sum"
            else question.request.noise_epsilon_nano,
            found.bearable,
        ),
    )


def counts_to_mend(finding: Finding) -> "LeafCounts":
    """The counts of every leaf that changes are found by.

    Raises:
        QuestionRefused: The audit is of no tree, of a punitive decision, or its answer does not count every leaf by the
            label.
    """
    _require_tree(finding.question)
    if finding.intervention == "punitive":
        raise QuestionRefused(
            "This audit is about a punitive decision. Relabelling raises the ratio of favourable rates, and "
            "counts a favourable decision as right if the label is true, which is the wrong direction for a "
            "burden. Relabel a tree from the audit of an assistive decision, "
            "whose label is true for the people who qualify."
        )
    return read_leaves(finding.release, finding.question)


def _require_tree(question: Question) -> None:
    """Refuse what has no leaves of a tree over declared columns."""
    source = question.source
    if question.request.decision is not None:
        raise QuestionRefused("These decisions were made already, so a model to relabel does not exist.")
    if question.request.chain is not None:
        raise QuestionRefused(
            "The rules of this answer are the stages of a chain. Audit the model alone to relabel it."
        )
    if source.columns or source.score is not None or source.decided or question.request.edges is not None:
        raise QuestionRefused(
            "Only trees and rule lists over the dataset's own columns can be relabelled leaf by leaf. Audit a score "
            "with bands (`edges`) instead: the report then has the ratio at every threshold to choose from."
        )
    if question.against or STABILITY in question.metrics:
        raise QuestionRefused("The rules of this answer are not the leaves of one model. Audit the model alone.")


def _usual_decisions(question: Question, leaves: Sequence[LeafRules], counts: "LeafCounts") -> dict[bool, str]:
    """What most people are told of the favourable decisions, and of the others: what a leaf that changes decides."""
    leaf_of_rule = {str(rule.rule.id): rule.leaf for rule in question.rules}
    numbers: dict[bool, dict[str, float]] = {True: {}, False: {}}
    for leaf, number in zip(leaves, counts.people.sum(axis=1).tolist(), strict=True):
        one = leaf_of_rule[str(leaf.rules[0].id)]
        of_kind = numbers[one.favourable]
        of_kind[one.decision] = of_kind.get(one.decision, 0.0) + number
    return {favourable: max(of_kind.items(), key=lambda item: item[1])[0] for favourable, of_kind in numbers.items()}


def _changed_rules(question: Question, changes: Sequence[LeafChange]) -> tuple[DecisionRule, ...]:
    """All rules of the model, with the changes of its leaves."""
    changed = {str(rule.id): change for change in changes for rule in change.rules}
    return tuple(
        rule
        if (change := changed.get(str(rule.rule.id))) is None
        else DecisionRule(rule.rule, replace(rule.leaf, decision=change.after, favourable=change.favourable))
        for rule in question.rules
    )
