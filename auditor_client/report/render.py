"""Findings drawn: HTML pages that need nothing else, and texts for the terminal.

A page loads nothing and runs nothing, and its own policy forbids both. Every text is escaped: names of
categories and columns come from the other party.
"""

import html
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Any, Final

from jinja2 import Environment, FunctionLoader, StrictUndefined, Template
from markupsafe import Markup

from auditor_client.asking.question import Question
from auditor_client.estimation.results import Comparison
from auditor_client.findings.finding import Finding
from auditor_client.planning.forecasts import Forecast, Outlook
from auditor_client.report.comparison_data import comparison_data
from auditor_client.report.data import report_data
from auditor_client.report.history_data import history_rows
from auditor_client.report.plan_data import plan_data
from auditor_client.report.text import comparison_lines, history_lines, plan_lines, summary_lines
from auditor_client.text import readable
from shared.datasets import Budget
from shared.plans import Quote

_DIRECTION_CONTROLS: Final = dict.fromkeys(
    (*range(0x202A, 0x202F), *range(0x2066, 0x206A)), "\N{REPLACEMENT CHARACTER}"
)
"""Characters that turn the direction of what follows: in a name they could turn a figure round."""


def audit_page(finding: Finding, outlook: Outlook | None = None) -> str:
    """An audit as a whole HTML page, UTF-8."""
    return _page("audit.html.j2", report=report_data(finding, outlook))


def audit_frame(finding: Finding) -> str:
    """The page in a frame, for a notebook: its styles stay inside, and nothing in it can run."""
    return _frame(audit_page(finding), "Fairness audit", "60rem")


def audit_summary(finding: Finding) -> str:
    """An audit in a few lines for a terminal."""
    return _lines(summary_lines(report_data(finding)))


def plan_page(question: Question, quote: Quote, forecast: Forecast, budget: Budget) -> str:
    """A planned audit as a whole HTML page."""
    return _page("plan.html.j2", plan=plan_data(question, quote, forecast, budget))


def plan_frame(question: Question, quote: Quote, forecast: Forecast, budget: Budget) -> str:
    """The same in a frame, for a notebook."""
    return _frame(plan_page(question, quote, forecast, budget), "Planned audit", "44rem")


def plan_summary(question: Question, quote: Quote, forecast: Forecast, budget: Budget) -> str:
    """A planned audit in a few lines for a terminal."""
    return _lines(plan_lines(plan_data(question, quote, forecast, budget)))


def comparison_page(first: Finding, second: Finding, metric: str, change: Comparison) -> str:
    """Two audits side by side as a whole HTML page."""
    return _page("comparison.html.j2", comparison=comparison_data(first, second, metric, change))


def comparison_frame(first: Finding, second: Finding, metric: str, change: Comparison) -> str:
    """The same in a frame, for a notebook."""
    return _frame(comparison_page(first, second, metric, change), "Comparison of two audits", "36rem")


def comparison_summary(first: Finding, second: Finding, metric: str, change: Comparison) -> str:
    """Two audits side by side in a few lines for a terminal."""
    return _lines(comparison_lines(comparison_data(first, second, metric, change)))


def history_page(findings: Sequence[Finding]) -> str:
    """Audits over time as a whole HTML page."""
    return _page("history.html.j2", rows=history_rows(findings))


def history_frame(findings: Sequence[Finding]) -> str:
    """The same in a frame, for a notebook."""
    return _frame(history_page(findings), "Audits over time", "30rem")


def history_summary(findings: Sequence[Finding]) -> str:
    """Audits over time, one line each, for a terminal."""
    return _lines(history_lines(history_rows(findings)))


def _page(template: str, **data: Any) -> str:
    return _template(template).render(**data, css=Markup(_resource("report.css")))  # noqa: S704 - our own file


def _frame(page: str, title: str, height: str) -> str:
    return (
        f'<iframe sandbox="" srcdoc="{html.escape(page, quote=True)}" title="{title}" '
        f'style="width: 100%; height: {height}; border: 1px solid #ccc"></iframe>'
    )


def _lines(lines: Sequence[str]) -> str:
    return "\n".join(map(readable, lines))


@cache
def _template(name: str) -> Template:
    environment = Environment(
        loader=FunctionLoader(_resource),
        autoescape=True,
        finalize=_without_direction,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(name)


def _without_direction(value: Any) -> Any:
    return value.translate(_DIRECTION_CONTROLS) if isinstance(value, str) else value


def _resource(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")
