"""Which data, lines, template and document make the view of each result."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from auditor_client.asking.question import Question
from auditor_client.estimation.results import Comparison
from auditor_client.findings.finding import Finding
from auditor_client.planning.forecasts import Forecast, Outlook
from auditor_client.report.audit_data import AuditData, audit_data, with_outlook
from auditor_client.report.comparison_data import ComparisonData, comparison_data
from auditor_client.report.history_data import HistoryRow, history_rows
from auditor_client.report.json_document import (
    audit_document,
    comparison_document,
    history_document,
    plan_document,
)
from auditor_client.report.plan_data import PlanData, plan_data
from auditor_client.report.terminal import audit_lines, comparison_lines, history_lines, plan_lines
from auditor_client.report.view import View
from shared.datasets import Budget
from shared.plans import Quote


def audit_view(finding: Finding) -> View[AuditData]:
    """An audit."""
    return View(
        "Fairness audit",
        "60rem",
        "audit.html.j2",
        partial(audit_data, finding),
        audit_lines,
        partial(audit_document, finding),
    )


def outlook_view(view: View[AuditData], outlook: Outlook | None) -> View[AuditData]:
    """An audit with what more budget would buy."""
    return replace(view, make_data=partial(with_outlook, view.data, outlook))


def plan_view(
    question: Question, quote: Quote, forecast: Forecast, budget: Budget, target_width: float | None
) -> View[PlanData]:
    """A planned audit."""
    return View(
        "Planned audit",
        "44rem",
        "plan.html.j2",
        partial(plan_data, question, quote, forecast, budget),
        plan_lines,
        partial(plan_document, question, quote, forecast, budget, target_width),
    )


def comparison_view(first: Finding, second: Finding, metric: str, change: Comparison) -> View[ComparisonData]:
    """Two audits side by side."""
    return View(
        "Comparison of two audits",
        "36rem",
        "comparison.html.j2",
        partial(comparison_data, first, second, metric, change),
        comparison_lines,
        partial(comparison_document, first, second, metric, change),
    )


def history_view(findings: Sequence[Finding], unreadable: int) -> View[tuple[HistoryRow, ...]]:
    """Audits over time."""
    return View(
        "Audits over time",
        "30rem",
        "history.html.j2",
        partial(history_rows, findings),
        history_lines,
        partial(history_document, findings, unreadable),
    )
