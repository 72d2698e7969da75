"""Audits over time, as data: one row for each audit and metric."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC
from functools import partial

from auditor_client.findings.finding import Finding, MetricEstimate
from auditor_client.report.axes import LinearAxis, Mark, Tick, interval_text
from auditor_client.report.facts import Fact, model_digest
from auditor_client.report.formats import known, ratio, sensitive_words
from auditor_client.report.metric_names import METRIC_WORDS
from auditor_client.report.subject import subject
from auditor_client.text import loss_words
from shared.amounts import NO_LOSS
from shared.wording import joined, said

_RATIOS = LinearAxis(0.0, 1.0, 2)


@dataclass(frozen=True, slots=True)
class HistoryRow:
    """One metric of one audit; a model and the receipt by the beginnings of their digests."""

    when: str
    dataset: str
    version: str
    by: str
    audited: str
    receipt: str
    metric: str
    ratio: str
    interval: str
    verdict: str
    cost: str
    mark: Mark
    ticks: tuple[Tick, ...]
    threshold: float | None


@dataclass(frozen=True, slots=True)
class HistoryData:
    """Audits over time: what all of them are about, and a row for each audit and metric."""

    facts: tuple[Fact, ...]
    rows: tuple[HistoryRow, ...]


def history_data(findings: Sequence[Finding]) -> HistoryData:
    """Audits in their order; what an answer cost stands once, where it is read first."""
    releases = {finding.release.id: finding.release for finding in findings}
    keys = {finding.key.id: finding.key.public_key for finding in findings}
    rows: list[HistoryRow] = []
    listed_already: set[str] = set()
    for finding in findings:
        for metric, estimate in finding.estimates.items():
            again = finding.release.id in listed_already
            cost = said("the same answer") if again else loss_words(finding.release.charge)
            rows.append(_row(finding, metric, estimate, cost))
            listed_already.add(finding.release.id)
    if not rows:
        return HistoryData((), ())
    spent = sum((release.charge for release in releases.values()), NO_LOSS)
    return HistoryData(
        (
            Fact(said("Answers"), str(len(releases))),
            Fact(said("Spent on them"), loss_words(spent)),
            *(
                Fact(said("Signed by the holder’s key {name}", name=name), key, exact=True)
                for name, key in keys.items()
            ),
        ),
        tuple(rows),
    )


def _row(finding: Finding, metric: str, estimate: MetricEstimate, cost: str) -> HistoryRow:
    return HistoryRow(
        when=f"{finding.release.created.astimezone(UTC):%Y-%m-%d %H:%M}",
        dataset=finding.question.words.title,
        version=str(finding.release.version),
        by=" × ".join(sensitive_words(finding.question)),
        audited=_audited(finding),
        receipt=finding.receipt.stem[:12],
        metric=_metric(finding, metric, estimate),
        ratio=known(estimate.ratio, partial(ratio, apart_from=estimate.threshold)),
        interval=interval_text(estimate.ratio, ratio),
        verdict=estimate.verdict.value,
        cost=cost,
        mark=_RATIOS.mark(estimate.ratio),
        ticks=_RATIOS.ticks,
        threshold=None if estimate.threshold is None else 100 * estimate.threshold,
    )


def _audited(finding: Finding) -> str:
    """The column of decisions, or the digest that `history` takes; and before it the name, if the auditor gave one."""
    audited = subject(finding.question)
    exact = audited.name if audited.made_already else model_digest(finding.model)
    return joined([name for name in (finding.about.model_name, exact) if name], ", ")


def _metric(finding: Finding, metric: str, estimate: MetricEstimate) -> str:
    """A metric; of how many answers if of several, and how many groups its figures are about if not all of them."""
    title, number, answers = METRIC_WORDS[metric].title, len(finding.question.groups), len(finding.stored.answers)
    if answers > 1:
        title = said("{metric}, from {answers} answers", metric=title, answers=answers)
    if not estimate.left_out:
        return title
    judged = number - len(estimate.left_out)
    return said("{metric}, {judged} of {number} groups", metric=title, judged=judged, number=number)
