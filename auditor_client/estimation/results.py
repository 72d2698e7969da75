"""The figures of an audit: rates, ratios and differences of groups, each an estimate (3-estimation §2)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from auditor_client.estimation.estimates import Estimate, Verdict
from auditor_client.estimation.size_rule import SizeRule
from auditor_client.estimation.unknown_figures import UnknownFigures
from shared.contract.schema import Group


class RatioKind(StrEnum):
    """The kind of ratio that compares the groups' rates.

    LOWEST divides the lowest rate by the highest and lies within [0, 1]. HIGHEST divides the highest by the lowest and
    lies within [1, ∞]: the adverse ratio, a relative risk. ODDS does so with the odds p/(1 − p) instead of the rates p.
    """

    LOWEST = "lowest to highest"
    HIGHEST = "highest to lowest"
    ODDS = "odds"

    @property
    def adverse(self) -> bool:
        """Whether the compared rates are of the adverse outcome, and the ratio is 1 or more."""
        return self is not RatioKind.LOWEST

    def reported(self, ratio: "Estimate") -> "Estimate":
        """The ratio of this kind, from that of the lowest rate (or odds) to the highest; and back again."""
        return ratio.reciprocal() if self.adverse else ratio


@dataclass(frozen=True, slots=True)
class GroupEstimate:
    """One group's acceptance rate (within [0, 1]), size and number of accepted people (both in people).

    `population_rate` is the rate of the population that they represent; None where the method gives none.
    """

    group: Group
    rate: Estimate
    population_rate: Estimate | None
    size: Estimate
    accepted: Estimate


@dataclass(frozen=True, slots=True)
class GroupComparison:
    """A group against the reference group: its rate divided by the reference's, and its rate minus the reference's."""

    group: Group
    ratio: Estimate
    difference: Estimate


@dataclass(frozen=True, slots=True)
class NamedPair:
    """The groups of the lowest and of the highest estimated rate, compared with each other.

    The intervals are about these two groups, and hold although the pair was chosen after the answers were seen
    (`named_pair`). The smallest ratio over all groups is another figure: another pair may be the extreme one.

    Attributes:
        lowest: The group of the lowest estimated rate.
        highest: That of the highest one.
        ratio: The lowest's rate divided by the highest's; its interval may reach above 1.
        difference: The highest's rate minus the lowest's; its interval may reach below 0.
    """

    lowest: Group
    highest: Group
    ratio: Estimate
    difference: Estimate


@dataclass(frozen=True, slots=True, kw_only=True)
class ParityFigures:
    """The ratio and difference of rates, among the people in the data and in the population that they represent.

    The intervals of the former hold the noise of privacy alone, those of the latter (`population_…`) that of sampling
    too; None where the method gives none.
    """

    ratio: Estimate
    difference: Estimate
    population_ratio: Estimate | None = None
    population_difference: Estimate | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedFigures(ParityFigures):
    """Figures with a verdict on the ratio, if there is a threshold.

    Attributes:
        threshold: What the verdict is about: 0.8 for the four-fifths rule; None if there is to be none.
        warnings: What the reader has to know of these figures, in sentences.
        rule: How large the groups are that these figures are about; None if they are about all of them.
        left_out: The groups that are not shown to be so large.
        ratio_kind: What `ratio` divides by what. The verdict is always about the lowest divided by the highest: of an
            adverse ratio it is 1/ratio that has to reach the threshold.
        other: The same figures of other groups, where these are others: of all if there is a rule, else of those that
            are large enough by `size_rule.TWO_PERCENT`.
        unknown: What holds over every way in which the people whose group is unknown may belong to the groups; None
            where nobody's is, or they are a group of their own. Else `ratio` and `difference` are about the people
            whose group is known, and the verdict is about all.
        as_recorded: The same figures of the groups as they are recorded, where all others are corrected by a study of
            how they are misreported; None without such a study.
    """

    threshold: float | None
    warnings: tuple[str, ...] = ()
    rule: SizeRule | None = None
    left_out: tuple[Group, ...] = ()
    ratio_kind: RatioKind = RatioKind.LOWEST
    other: "JudgedFigures | None" = None
    unknown: UnknownFigures | None = None
    as_recorded: "JudgedFigures | None" = None

    @property
    def verdict(self) -> Verdict:
        """Of the people in the data: *meets* or *fails* only if the whole interval is on one side of the threshold."""
        if self.unknown is not None:
            return self.unknown.verdict
        return self._against_threshold(self.ratio)

    @property
    def population_verdict(self) -> Verdict:
        """The verdict about the population that they represent; NONE also where the method gives no interval for it."""
        if self.unknown is not None:
            return Verdict.NONE
        return self._against_threshold(self.population_ratio)

    def _against_threshold(self, ratio: Estimate | None) -> Verdict:
        if self.threshold is None or ratio is None:
            return Verdict.NONE
        return self.ratio_kind.reported(ratio).against(self.threshold)


@dataclass(frozen=True, slots=True, kw_only=True)
class ParityEstimate(JudgedFigures):
    """The rates of K groups compared: min p_k / max p_k and max p_k − min p_k, both within [0, 1].

    A rate is what the measurement makes it: of acceptance (statistical parity), of acceptance among those
    with the label (equal opportunity), of the label among the accepted (predictive parity). Of adverse rates the ratio
    is max p_k / min p_k, within [1, ∞] (`ratio_kind`).

    Attributes:
        groups: One for each group, in the release's order.
        invalid_share: How many of the answers were impossible and had to be replaced, within [0, 1]; None for
            a method that replaces none.
        overall: The rate over all groups together; None where the method gives none.
        reference: The group that the others are compared with, if one was named.
        comparisons: Every other group against it, in the release's order; their ratio may be above 1.
        pair: The two groups that a sentence names; None of fewer than two, where their ratio is undefined, or by an
            edition of the estimator that has none.
    """

    groups: tuple[GroupEstimate, ...]
    invalid_share: float | None = None
    overall: Estimate | None = None
    reference: Group | None = None
    comparisons: tuple[GroupComparison, ...] = ()
    pair: NamedPair | None = None

    @property
    def judged(self) -> tuple[GroupEstimate, ...]:
        """The groups that ratio, difference and verdict are about."""
        return tuple(group for group in self.groups if group.group not in self.left_out)

    @property
    def extremes(self) -> tuple[GroupEstimate, GroupEstimate] | None:
        """The groups of the lowest and of the highest estimated rate; None if none of them has a rate."""
        return extremes_of(self.judged)

    @property
    def by_group(self) -> dict[Group, Estimate]:
        """Each group's rate, as Fairlearn's `MetricFrame.by_group` has it."""
        return {group.group: group.rate for group in self.groups}


@dataclass(frozen=True, slots=True, kw_only=True)
class OddsEstimate(JudgedFigures):
    """Equalized odds: the smaller ratio and the larger difference of two comparisons (1-method §3).

    They are of the groups' rates of acceptance among people with y = 1 (`true_positive`), and with y = 0.
    """

    true_positive: ParityEstimate
    false_positive: ParityEstimate

    @property
    def by_group(self) -> dict[Group, tuple[Estimate, Estimate]]:
        """Each group's true-positive and false-positive rate."""
        rates = zip(self.true_positive.groups, self.false_positive.groups, strict=True)
        return {positive.group: (positive.rate, negative.rate) for positive, negative in rates}

    @property
    def overall(self) -> tuple[Estimate | None, Estimate | None]:
        """The true-positive and the false-positive rate over all groups together."""
        return self.true_positive.overall, self.false_positive.overall


@dataclass(frozen=True, slots=True)
class StandardisedRate:
    """One group's rate if it had everybody's mix of strata, within [0, 1]."""

    group: Group
    rate: Estimate


@dataclass(frozen=True, slots=True, kw_only=True)
class StandardisedFigures(JudgedFigures):
    """The groups' rates with the same mix of strata in every group, compared; among the people in the data.

    Attributes:
        groups: One for each group, in the release's order.
        weights: Of each stratum that is not left out, its share of everybody in those; they add up to 1.
        strata_left_out: The indices of strata in which the answers do not show people of every group: such a group has
            no rate there. The rates are of the other strata alone.
        comparisons: Every other group against the reference group, if one was named.
    """

    groups: tuple[StandardisedRate, ...]
    weights: tuple[Estimate, ...]
    strata_left_out: tuple[int, ...]
    comparisons: tuple[GroupComparison, ...] = ()


@dataclass(frozen=True, slots=True)
class StrataFigures:
    """The figures over all strata of a metric.

    Attributes:
        together: Ratio and difference of each stratum; their intervals hold together.
        every: The smallest ratio and the largest difference over the strata: the ratio of *every* stratum is at least
            the lower end of the former.
        standardised: Of each of the metric's rates: one, or two for equalized odds.
    """

    together: tuple[JudgedFigures, ...]
    every: JudgedFigures
    standardised: tuple[StandardisedFigures, ...]


@dataclass(frozen=True, slots=True)
class RuleShare:
    """The contribution of one favourable rule to the disparity of two groups.

    Attributes:
        rule: Its index among the measurement's favourable cells, from 0.
        share: h_i/n_i − h_j/n_j in percentage points. All rules' shares add up to p_i − p_j.
        ratio_share: The same divided by p_j, dimensionless. They add up to p_i/p_j − 1.
    """

    rule: int
    share: Estimate
    ratio_share: Estimate


@dataclass(frozen=True, slots=True)
class Attribution:
    """The rules' shares in the disparity of two groups (1-method §6.6).

    The values are posterior means, because medians would not add up.

    Attributes:
        first: Group i.
        second: Group j.
        difference: p_i − p_j in percentage points: the sum of the shares.
        ratio: p_i / p_j: 1 and the sum of the ratio shares.
        shares: One for each favourable rule, in the measurement's order.
        warnings: What the reader has to know of these figures, in sentences.
    """

    first: Group
    second: Group
    difference: Estimate
    ratio: Estimate
    shares: tuple[RuleShare, ...]
    warnings: tuple[str, ...] = ()

    @property
    def ranking(self) -> tuple[RuleShare, ...]:
        """The rules from the largest share to the smallest, whatever its sign; those that are undefined last."""
        size = {share.rule: abs(share.share.value) for share in self.shares}
        return tuple(sorted(self.shares, key=lambda share: (math.isnan(size[share.rule]), -size[share.rule])))


class Change(StrEnum):
    """The finding of a comparison about the ratio: it rose, fell, did not change, or the data do not show which."""

    CLOSER = "closer to parity"
    FARTHER = "farther from parity"
    NONE = "no change"
    UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison(ParityFigures):
    """Two audits side by side: each figure of the second minus that of the first.

    Differences lie within [−1, 1], but for those of adverse ratios.

    `notes` are what the reader has to know of these figures, in sentences.
    """

    first: ParityEstimate
    second: ParityEstimate
    population_ratio: Estimate
    population_difference: Estimate
    notes: tuple[str, ...] = ()

    @property
    def change(self) -> Change:
        """*Closer* or *farther* only if the ratio's interval lies wholly on one side of zero, *no change* if at 0."""
        if self.ratio.low == 0 == self.ratio.high:
            return Change.NONE
        rose, fell = (
            (Change.FARTHER, Change.CLOSER) if self.first.ratio_kind.adverse else (Change.CLOSER, Change.FARTHER)
        )
        if self.ratio.low > 0:
            return rose
        return fell if self.ratio.high < 0 else Change.UNDECIDED


def extremes_of(groups: Sequence[GroupEstimate]) -> tuple[GroupEstimate, GroupEstimate] | None:
    """The groups of the lowest and of the highest estimated rate; None if none has a rate."""
    rated = [group for group in groups if group.rate.defined]
    if not rated:
        return None
    # Of equal rates the first is the lowest and the last the highest, so that two groups are named.
    return min(rated, key=_rate), max(reversed(rated), key=_rate)


def _rate(group: GroupEstimate) -> float:
    return group.rate.value
