"""Two audits side by side: before and after a mitigation, one model and another (3-estimation §6).

Where it can, one question asks about both models (docs/adr/0035-two-models.md); else each is asked about by itself.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Final

from auditor_client.asking.mechanisms import halves
from auditor_client.asking.question import Question, crossed_questions
from auditor_client.asking.request import AUTO, ODDS, STABILITY, VERDICT, AuditRequest
from auditor_client.audits.answering import Answering
from auditor_client.audits.asking import Asking
from auditor_client.audits.questioning import PosedQuestion
from auditor_client.audits.result import AuditResult
from auditor_client.audits.stored_answers import shares_cells
from auditor_client.errors import A_DATA_FRAME, QuestionRefused, needs
from auditor_client.estimation.results import Comparison, ParityEstimate
from auditor_client.findings.answers import RATES, read_crossed
from auditor_client.findings.finding import StoredAnswer
from auditor_client.findings.insight import parity_of
from auditor_client.findings.reading import Reading
from auditor_client.findings.rehearsals import require_alike
from auditor_client.report.comparison_data import ComparisonData, comparison_data
from auditor_client.report.json_document import comparison_document
from auditor_client.report.terminal import comparison_lines
from auditor_client.report.view import Shown, View
from shared.wire.wording import said, sentence

if TYPE_CHECKING:
    import pandas as pd

_OF_THE_KNOWN: Final = sentence(
    "The comparison is about the people whose group is known; who the others are is not taken into account."
)

CORRECTS_ONE: Final = (
    "A study of misreported groups (`misreported`) corrects the figures of one model: audit each by itself, or compare "
    "without it."
)


@dataclass(frozen=True, repr=False)
class ModelComparison(Shown):
    """What changed from one audit to another.

    `metric` is the first of both; `change` has the second's ratio and difference less those of the first.
    """

    first: AuditResult
    second: AuditResult
    metric: str
    change: Comparison

    @cached_property
    def tables(self) -> "tuple[ModelComparison, ...]":
        """The same comparison by fewer sensitive columns, those by one column first; empty where there is one."""
        return tuple(self.by(*columns) for columns in self.first.tables if columns in self.second.tables)

    @cached_property
    def view(self) -> View[ComparisonData]:
        """Both audits side by side; the document has both whole."""
        tables = [(table.first, table.second, table.change) for table in self.tables]
        compared = self.first, self.second, self.metric, self.change, tables
        data, document = partial(comparison_data, *compared), partial(comparison_document, *compared)
        about = self.first.question.dataset, self.second.question.dataset
        return View(about, "Comparison of two audits", "36rem", "comparison.html.j2", data, comparison_lines, document)

    def by(self, *columns: str) -> "ModelComparison":
        """The same comparison by some of the sensitive columns alone; no further budget.

        Raises:
            QuestionRefused: The audits do not have figures by these columns.
        """
        return compare_results(self.first.by(*columns), self.second.by(*columns))

    def to_frame(self) -> "pd.DataFrame":
        """Both audits' rates as a pandas DataFrame, with a further level "audit" on the index."""
        with needs(A_DATA_FRAME):
            from auditor_client.audits.frames import joined  # noqa: PLC0415 - takes a second to import

        return joined({"first": self.first.to_frame(), "second": self.second.to_frame()})


def require_comparable(request: AuditRequest, reading: Reading) -> None:
    """Refuse before anything is spent what could not be compared afterwards.

    Raises:
        QuestionRefused: The first metric is a pair of rates, there are strata, a chain or no intervals.
    """
    if request.by is not None:
        raise QuestionRefused("Figures within each value (`by`) are of one model: audit each by itself.")
    if request.chain is not None:
        raise QuestionRefused("A chain of decisions has one model at most: audit each `chain` by itself.")
    if request.metrics[0] == ODDS:
        raise QuestionRefused("Equalized odds are two figures: compare equal-opportunity instead.")
    if not reading.has_intervals:
        raise QuestionRefused("Only estimates with intervals can be compared: use the posterior estimator for both.")
    if request.group_study is not None:
        raise QuestionRefused(CORRECTS_ONE)
    if reading.unknown_mode == "bounds":
        raise QuestionRefused(
            "Bounds over the unknown (`unknown`, `unknown_odds`) are about one model: audit each by itself. A "
            "comparison is about the people whose group is known."
        )


def counting_nothing_else(asking: Asking) -> Asking:
    """The same by strategy verdict, the most exact, where the strategy was left open and there are no bands."""
    request = asking.request
    if request.strategy != AUTO or request.edges is not None or asking.own.bands is not None:
        return asking
    return replace(asking, request=request.changed(strategy=VERDICT))


def half_of(request: AuditRequest) -> dict[str, str | None]:
    """What a settled request spends, halved: the values that change."""
    half, _ = halves(request)
    return {"epsilon": half.epsilon, "delta": half.delta, "rho": half.rho}


def together(first: Question, second: Question) -> tuple[Question, Question] | str:
    """Both models' questions as one; or why each has to be asked by itself."""
    request = first.request
    if request.strategy != VERDICT or request.edges is not None or STABILITY in request.metrics:
        return said("the request counts the rules of each model separately")
    if request.mechanism not in ("laplace", "gaussian"):
        return said("the mechanism {mechanism} adds no noise", mechanism=str(request.mechanism))
    try:
        crossed = crossed_questions(first, second)
    except QuestionRefused:
        return said("the rules of both models together do not make a plan that a holder accepts")
    if any(question.counts_first_group_alone for question in crossed):
        return said("the holder counts only one of the two groups")
    return crossed


def compare_models(
    first: PosedQuestion, second: PosedQuestion, answering: Answering, askings: tuple[Asking, Asking]
) -> ModelComparison:
    """Have two models' questions answered at the price of one, and compare.

    What is asked of both differs in what is written of each model alone.

    By kept answers where both have one; else by one answer about both; else one by one, each at half of the loss.

    Raises:
        QuestionRefused: They cannot be asked; nothing is spent.
    """
    posed, asking = (first, second), askings[0]
    kept = [answering.kept(each, asking) for each in posed]
    if all(answering.is_free(each, asking, stored) for each, stored in zip(posed, kept, strict=True)):
        return _one_by_one(posed, kept, answering, askings)
    one, other = first.question, second.question
    pair = together(one, other)
    if isinstance(pair, str):
        if not shares_cells(one, other):
            halved = [each.asking(each.question.changed(**half_of(each.question.request))) for each in posed]
            kept = [answering.kept(each, asking) for each in halved]
            return _one_by_one(halved, kept, answering, askings, apart=None if one.request.loss.is_nothing else pair)
        pair = one, other
    both = first.asking(pair[0])
    before = answering.answered(answering.prepared(both, asking, answering.kept(both, asking, pair[1])), asking)
    return compare_results(before, answering.found(pair[1], replace(before.stored, reused=True), askings[1]))


def _one_by_one(
    posed: Sequence[PosedQuestion],
    kept: Sequence[StoredAnswer | None],
    answering: Answering,
    askings: tuple[Asking, Asking],
    *,
    apart: str | None = None,
) -> ModelComparison:
    """Two questions, of which both are checked before the first is asked, by their kept answers or by new ones."""
    of_each = zip(posed, kept, askings, strict=True)
    prepared = [answering.prepared(each, asking, stored) for each, stored, asking in of_each]
    first, second = (answering.answered(each, asking) for each, asking in zip(prepared, askings, strict=True))
    return compare_results(first, second, apart=apart)


def compare_results(first: AuditResult, second: AuditResult, *, apart: str | None = None) -> ModelComparison:
    """Compare the first metric of two audits of the same groups; spends nothing.

    `apart` says why each model was asked about by itself, if they could not be asked about together.

    Raises:
        QuestionRefused: They are about other metrics, groups, least sizes or thresholds, or about a pair of rates.
    """
    require_alike(first.question.dataset, second.question.dataset, "Two audits are compared")
    metric = first.metrics[0]
    if second.metrics[0] != metric or first.plan.sensitive != second.plan.sensitive:
        raise QuestionRefused("Compare audits of the same metric by the same sensitive columns.")
    for audit in (first, second):
        require_comparable(audit.question.request, audit.reading)
    if first.reading.rule != second.reading.rule:
        raise QuestionRefused("Compare audits that judge groups of the same least size (`judged`).")
    one, other = _of_the_same_groups(first, second)
    from auditor_client.estimation import comparison, crossed_counts  # noqa: PLC0415 - takes a second to import

    same = first.release.id == second.release.id
    if same and first.question.rules == second.question.rules:
        change = comparison.unchanged(one, other)
    elif same and _crossed(first, second) and not one.ratio_kind.adverse:
        rate = RATES[metric][0]
        crossed = read_crossed(first.release, first.question, rate)
        measured = [audit.counts[rate].measurement for audit in (first, second)]
        known = any(counts.supports is not None or counts.bounds is not None for counts in measured)
        change = crossed_counts.compare_crossed(one, other, crossed, more_known=known)
    else:
        change = comparison.compare_estimates(one, other, same_answer=same, apart=apart)
    if one.unknown is not None or other.unknown is not None:
        change = replace(change, notes=(*change.notes, said(_OF_THE_KNOWN)))
    return ModelComparison(first, second, metric, change)


def _crossed(first: AuditResult, second: AuditResult) -> bool:
    """Whether one question asked about both models."""
    one, other = first.question, second.question
    return one.against == other.rules and other.against == one.rules


def _by_itself(reading: Reading) -> Reading:
    """The reading whose intervals hold one by one, about the same groups."""
    return reading.model_copy(update={"joint": False, "unknown": "group"}) if reading.joint else reading


def _of_the_same_groups(first: AuditResult, second: AuditResult) -> tuple[ParityEstimate, ParityEstimate]:
    """The first metric of both, without the groups that either of them leaves out for their size.

    Each interval is for one figure, as those of the change are: also of audits whose own hold together. There the
    people whose group is unknown are a group, as in these audits.
    """
    metric, rate = first.metrics[0], RATES[first.metrics[0]][0]
    but = {*first.first.left_out, *second.first.left_out}
    estimates = (
        audit.first
        if but == set(audit.first.left_out) and not audit.reading.joint
        else _by_itself(audit.reading).estimate(metric, audit.counts, audit.question.reference, but)
        for audit in (first, second)
    )
    one, other = (parity_of(estimate, rate) for estimate in estimates)
    return one, other
