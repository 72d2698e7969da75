"""The report drawn: one HTML page that needs nothing else, and a text for the terminal.

The page loads nothing and runs nothing, and its own policy forbids both. Every text is escaped:
names of categories and columns come from the other party.
"""

import html
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final

from jinja2 import Environment, StrictUndefined, Template
from markupsafe import Markup

from auditor_client.report.data import ReportData, report_data
from auditor_client.text import readable

if TYPE_CHECKING:  # the result shows itself through this package
    from auditor_client.result import AuditResult

_DIRECTION_CONTROLS: Final = dict.fromkeys(
    (*range(0x202A, 0x202F), *range(0x2066, 0x206A)), "\N{REPLACEMENT CHARACTER}"
)
"""Characters that turn the direction of what follows: in a name they could turn a figure round."""


def audit_page(result: "AuditResult") -> str:
    """An audit as a whole HTML page, UTF-8."""
    return _template().render(report=report_data(result), css=Markup(_resource("report.css")))  # noqa: S704 - our own file


def audit_frame(result: "AuditResult") -> str:
    """The page in a frame, for a notebook: its styles stay inside, and nothing in it can run."""
    page = html.escape(audit_page(result), quote=True)
    return (
        f'<iframe sandbox="" srcdoc="{page}" title="Fairness audit" '
        'style="width: 100%; height: 60rem; border: 1px solid #ccc"></iframe>'
    )


def audit_summary(result: "AuditResult") -> str:
    """An audit in a few lines for a terminal."""
    return "\n".join(readable(line) for line in _summary_lines(report_data(result)))


def _summary_lines(report: ReportData) -> list[str]:
    lines = [report.headline, report.explanation, ""]
    names = [", ".join(row.values) for row in report.rates.rows]
    width = max(map(len, names), default=0)
    for name, row in zip(names, report.rates.rows, strict=True):
        interval = f"  ({report.level}: {row.interval})" if row.interval else ""
        lines.append(f"  {name:<{width}}  {row.rate:>8}{interval}{f'  {row.note}' if row.note else ''}")
    lines.append("")
    for figure in report.figures:
        interval = f"  ({report.level}: {figure.interval})" if figure.interval else ""
        lines.append(f"  {figure.name}, {figure.definition}: {figure.value}{interval}")
    lines += ["", *(f"{fact.term}: {fact.text}" for fact in report.cost[:2])]
    lines += [f"Warning: {warning}" for warning in report.warnings]
    return lines


@cache
def _template() -> Template:
    environment = Environment(
        autoescape=True, finalize=_without_direction, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    return environment.from_string(_resource("template.html.j2"))


def _without_direction(value: Any) -> Any:
    return value.translate(_DIRECTION_CONTROLS) if isinstance(value, str) else value


def _resource(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")
