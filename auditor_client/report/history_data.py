"""Audits over time, as data: one row for each audit and metric."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC
from functools import partial

from auditor_client.estimation.results import Verdict
from auditor_client.findings.finding import Finding
from auditor_client.report.axes import LinearAxis, Mark, Tick, interval_text
from auditor_client.report.formats import known, ratio, sensitive_words
from auditor_client.report.metric_names import METRIC_WORDS
from auditor_client.text import loss_words

_RATIOS = LinearAxis(0.0, 1.0, 2)


@dataclass(frozen=True, slots=True)
class HistoryRow:
    """One metric of one audit."""

    when: str
    dataset: str
    version: str
    by: str
    model: str
    metric: str
    ratio: str
    interval: str
    verdict: str
    cost: str
    mark: Mark
    ticks: tuple[Tick, ...]
    threshold: float | None


def history_rows(findings: Sequence[Finding]) -> tuple[HistoryRow, ...]:
    """A row for each audit and metric, in the audits' order."""
    return tuple(
        HistoryRow(
            when=f"{finding.release.created.astimezone(UTC):%Y-%m-%d %H:%M}",
            dataset=finding.question.words.title,
            version=str(finding.release.version),
            by=" × ".join(sensitive_words(finding.question)),
            model=finding.model.rules.removeprefix("sha256:")[:8],
            metric=METRIC_WORDS[metric].title,
            ratio=known(estimate.ratio, partial(ratio, apart_from=estimate.threshold)),
            interval=interval_text(estimate.ratio, ratio),
            verdict="no verdict" if estimate.verdict is Verdict.NONE else estimate.verdict.value,
            cost="reused" if finding.reused else loss_words(finding.release.charge),
            mark=_RATIOS.mark(estimate.ratio),
            ticks=_RATIOS.ticks,
            threshold=None if estimate.threshold is None else 100 * estimate.threshold,
        )
        for finding in findings
        for metric, estimate in finding.estimates.items()
    )
