"""The finding of an audit: the facts, whatever the way they are shown (3-estimation §6).

`report` makes pages and texts of a finding; `result.AuditResult` is a finding that shows itself.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from auditor_client.asking.inquiry import ModelDigest
from auditor_client.asking.question import Question
from auditor_client.asking.request import ODDS, PARITY
from auditor_client.errors import QuestionRefused
from auditor_client.estimation.estimates import Estimate, Verdict
from auditor_client.estimation.results import OddsEstimate, ParityEstimate
from auditor_client.estimation.unknown_figures import OpenBecause
from auditor_client.exchange.receipts import KeptAnswer
from auditor_client.exchange.two_holders import joined_release
from auditor_client.exchange.verification import require
from auditor_client.findings.about import NOTHING, About
from auditor_client.findings.answers import Rate, RateCounts
from auditor_client.findings.conditional import ConditionalParity
from auditor_client.findings.reading import Reading
from auditor_client.findings.verdicts import both_outcomes, combined_verdict
from auditor_client.models.tree import DecisionRule
from shared.contract.datasets import Budget
from shared.contract.metadata import Intervention
from shared.kinds.plans import Plan
from shared.kinds.releases import Release, SigningKey
from shared.privacy.amounts import NO_LOSS

if TYPE_CHECKING:  # importing the estimators takes a second
    from auditor_client.estimation.chain_figures import ChainFigures
    from auditor_client.estimation.score_bands import ScoreFigures

MetricEstimate = ParityEstimate | OddsEstimate


@dataclass(frozen=True, slots=True)
class StoredAnswer(KeptAnswer[Release]):
    """The kept answer to a plan, as figures rest on it.

    Attributes:
        reused: Whether it was made for another question, so that nothing was spent on this one.
        repeated: Whether the very question was asked again just now, which costs nothing; notes do not keep it.
        supports: By cell id, how many people the cell applies to in the auditor's own data, if it has any.
        others: Further answers about the same people, which the figures rest on too.
        second: The answer of a second holder, where each has a half: then `release` has the counts of both together.
    """

    reused: bool = False
    repeated: bool = False
    supports: Mapping[str, int] | None = field(default=None, repr=False)
    others: "tuple[StoredAnswer, ...]" = ()
    second: KeptAnswer[Release] | None = None

    @classmethod
    def of(cls, kept: KeptAnswer[Release], second: KeptAnswer[Release] | None = None) -> Self:
        """Return a kept answer by itself, or the two halves of one.

        Raises:
            HolderLied: It is a half, and the other half is missing or does not belong to it.
        """
        if second is None:
            require(kept.release.shares is None, "it is one of two halves, and the other holder's is not kept")
            return cls(kept.release, kept.document, kept.receipt, kept.key)
        release = joined_release(kept.release, second.release)
        return cls(release, kept.document, kept.receipt, kept.key, second=second)

    @property
    def answers(self) -> "tuple[StoredAnswer, ...]":
        """All answers that the figures rest on, this one first."""
        return (self, *self.others)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One audit: what was asked, what was answered, how it was read, what it means.

    Attributes:
        stored: The holder's verified answer; an earlier one where it was used again.
        counts: What was answered, as the estimators saw it, by rate.
        estimates: The figures of each metric that was asked for, in that order; behind them those of the other outcome
            where nobody said what kind of decision it is.
        scores: What bands of a score say beside that; None without bands, or without intervals.
        chain: What the stages of a chain say; None without a chain.
        by_stratum: What was found within each stratum and over them, by metric; empty without strata.
        holder_url: Who answered.
        budget: The auditor's account after the audit; None if the holder did not answer.
        versions: Names and versions of the programs that computed the figures.
        about: What the auditor wrote of model and audit.
        tables: The same answer by fewer of the sensitive columns, by their names; those by one column first, and empty
            where there is one column, or no intervals.
    """

    question: Question
    stored: StoredAnswer
    reading: Reading
    counts: Mapping[Rate, RateCounts] = field(repr=False)
    estimates: Mapping[str, MetricEstimate]
    holder_url: str
    budget: Budget | None
    versions: Mapping[str, str]
    scores: "ScoreFigures | None" = None
    chain: "ChainFigures | None" = None
    by_stratum: Mapping[str, ConditionalParity] = field(default_factory=dict, repr=False)
    about: About = NOTHING
    tables: "Mapping[tuple[str, ...], Finding]" = field(default_factory=dict, repr=False)

    @property
    def every_table(self) -> "tuple[Finding, ...]":
        """Return the finding by all columns, and behind it those by fewer."""
        return (self, *self.tables.values())

    @property
    def release(self) -> Release:
        """The holder's verified answer."""
        return self.stored.release

    @property
    def answer(self) -> Mapping[str, Any]:
        """The same as it came."""
        return self.stored.document

    @property
    def receipt(self) -> Path:
        """The file that keeps it."""
        return self.stored.receipt

    @property
    def key(self) -> SigningKey:
        """The public key that signed it."""
        return self.stored.key

    @property
    def reused(self) -> bool:
        """Whether an earlier release answered the question, so that nothing was spent."""
        return self.stored.reused

    @property
    def estimator(self) -> str:
        """The estimator of the figures: "posterior (edition 2)", or "plug-in (uniform, uniform)"."""
        return str(self.reading)

    @property
    def threshold(self) -> float | None:
        """The threshold of the first metric's verdict; None without one."""
        return self.first.threshold

    @property
    def plan(self) -> Plan:
        """The request, pinned to a version of the records; where a release was reused, what would have been."""
        return self.question.plan

    @property
    def rules(self) -> tuple[DecisionRule, ...]:
        """The tree's rules after merging siblings with one decision."""
        return self.question.rules

    @property
    def model(self) -> ModelDigest:
        """The model."""
        return self.question.model

    @property
    def strategy(self) -> str:
        """The strategy of the request: "verdict", "rules", "pafer"."""
        return self.question.strategy

    @property
    def metrics(self) -> tuple[str, ...]:
        """The metrics that were estimated: those that were asked for, and perhaps the other outcome's behind them."""
        return tuple(self.estimates)

    @property
    def first(self) -> MetricEstimate:
        """The estimate of the first metric that was asked for: what headline and verdict are about."""
        return next(iter(self.estimates.values()))

    @property
    def parity(self) -> ParityEstimate:
        """Statistical parity.

        Raises:
            QuestionRefused: It was not asked for.
        """
        if isinstance(estimate := self.estimates.get(PARITY), ParityEstimate):
            return estimate
        raise QuestionRefused(f"Statistical parity was not asked for, only {', '.join(self.metrics)}.")

    @property
    def odds(self) -> OddsEstimate:
        """Equalized odds.

        Raises:
            QuestionRefused: It was not asked for.
        """
        if isinstance(estimate := self.estimates.get(ODDS), OddsEstimate):
            return estimate
        raise QuestionRefused(f"Equalized odds were not asked for, only {', '.join(self.metrics)}.")

    @property
    def verdict(self) -> Verdict:
        """The verdict on the first metric's ratio, about the people in the data; "none" without a threshold.

        Where nobody said what kind of decision it is, of both outcomes: DEPENDS if their verdicts differ.
        """
        return combined_verdict(both) if (both := self.both_outcomes) else self.first.verdict

    @property
    def intervention(self) -> Intervention | None:
        """The kind of decision, as requested or declared; None if it was not stated."""
        return self.question.request.intervention

    @property
    def both_outcomes(self) -> tuple[tuple[str, ParityEstimate], ...]:
        """Favourable and adverse ratio by their metrics, the rarer outcome's first; empty if the kind is said."""
        return both_outcomes(self.estimates, self.intervention, self.reading.edition)

    @property
    def open(self) -> bool:
        """Whether it leaves open what was asked for: a verdict, else whether the groups differ.

        Where nobody said what kind of decision it is, both outcomes' ratios are followed: one that is undecided leaves
        it open, whatever the other one says. Else it is the first metric's. One that is undecided because of people
        whose group is unknown does not: more budget does not tell their group.
        """
        if self.first.verdict is Verdict.NONE:
            return not self.difference.low > 0
        followed = (self.first, *(estimate for _, estimate in self.both_outcomes))
        return any(_more_budget_may_decide(estimate) for estimate in followed)

    @property
    def look(self) -> int | None:
        """The number of the interim look, from 1; None for a single answer.

        Raises:
            QuestionRefused: None of them.
        """
        looks = self.reading.looks
        if looks is None:
            return None
        batches = (batch for answer in self.stored.answers for batch in answer.release.plan.batches)
        return looks.number(sum((batch.loss for batch in batches), NO_LOSS))

    @property
    def ratio(self) -> Estimate:
        """The first metric's ratio, about the people in the data."""
        return self.first.ratio

    @property
    def difference(self) -> Estimate:
        """The first metric's difference, about the people in the data."""
        return self.first.difference

    @property
    def overall(self) -> Estimate | tuple[Estimate | None, Estimate | None] | None:
        """The first metric's rate over all groups together."""
        return self.first.overall


def _more_budget_may_decide(estimate: MetricEstimate) -> bool:
    """Whether a verdict is open for noise."""
    of_unknown = estimate.unknown is not None and estimate.unknown.because is OpenBecause.UNKNOWN
    return estimate.verdict is Verdict.UNDECIDED and not of_unknown
