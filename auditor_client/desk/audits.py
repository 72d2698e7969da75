"""The index of audits, one audit with its report, two of them compared, and what was trained and watched."""

from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

from fastapi import APIRouter, Response

from auditor_client.audits.comparing import compare_results
from auditor_client.audits.history import stored_history
from auditor_client.audits.mending import mend
from auditor_client.audits.result import AuditResult
from auditor_client.desk.pages import Sent, TheDesk, go, page
from auditor_client.desk.tasks import Step
from auditor_client.errors import QuestionRefused
from auditor_client.findings.reading import FOUR_FIFTHS
from auditor_client.findings.rehearsals import of_dataset
from auditor_client.report.audit_data import AuditData
from auditor_client.report.history_data import HistoryData, HistoryRow, history_data
from auditor_client.report.languages import LANGUAGES
from auditor_client.report.view import Shown
from auditor_client.text import readable

router = APIRouter()
REPORT_POLICY: Final = (
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "sandbox"
)
"""Of a report: a page without origin, scripts or forms, that loads nothing."""
REFRESH_S: Final = 2


@dataclass(frozen=True, slots=True)
class IndexLine:
    """One metric of an audit in the index, with the name of the audit's note; `first` of the audit's metrics."""

    name: str
    row: HistoryRow
    first: bool


@router.get("")
def show_index(desk: TheDesk, dataset: str = "") -> Response:
    """All kept audits, the newest first."""
    audits, faults, missing = desk.kept.computed()
    datasets = sorted({audit.release.dataset for audit in audits.values()})
    shown = {name: audit for name, audit in audits.items() if of_dataset(audit.question.dataset, dataset or None)}
    about = next((audit.question.dataset for audit in shown.values() if dataset), None)
    data = history_data(list(shown.values()))
    response = page(
        desk, "audits.html.j2", section="Audits", about=about, lines=_lines(shown, data), facts=data.facts,
        missing=missing, faults=sorted(set(faults.values())), datasets=datasets, dataset=dataset,
    )  # fmt: skip
    if missing:
        response.headers["Refresh"] = str(REFRESH_S)
    return response


def _lines(audits: dict[str, AuditResult], data: HistoryData) -> list[IndexLine]:
    names = [(name, number == 0) for name, audit in audits.items() for number in range(len(audit.metrics))]
    lines = [IndexLine(name, row, first) for (name, first), row in zip(names, data.rows, strict=True)]
    of_audits = {name: [line for line in lines if line.name == name] for name in audits}
    return [line for name in reversed(audits) for line in of_audits[name]]


@router.get("/audits/{name}")
def show_audit(desk: TheDesk, name: str) -> Response:
    """One audit: what was found, and what can be done with it."""
    audit = desk.kept.audit(name)
    data: AuditData = audit.view.data
    row = history_data([audit]).rows[0]
    return page(
        desk, "audit.html.j2", section="Audits", about=audit.question.dataset, name=name, audit=audit,
        data=data, row=row, languages=LANGUAGES,
    )  # fmt: skip


@router.get("/audits/{name}/report")
def show_report(desk: TheDesk, name: str, language: str = LANGUAGES[0]) -> Response:
    """The report itself."""
    return report(desk.kept.audit(name), language)


@router.get("/audits/{name}/report.json")
def show_document(desk: TheDesk, name: str) -> Response:
    """The report as JSON."""
    return attachment(desk.kept.audit(name).to_json().encode(), "application/json", f"audit-{name[:12]}.json")


@router.get("/audits/{name}/mending")
def show_mending(desk: TheDesk, name: str, ratio: float = FOUR_FIFTHS) -> Response:
    """Which leaves would have to decide otherwise; asks nobody and spends nothing."""
    return report(mend(desk.kept.audit(name), ratio), LANGUAGES[0])


@router.post("/audits/{name}/watch")
def watch(desk: TheDesk, name: str, sent: Sent) -> Response:
    """Have the verdict watched; spends ε, once."""
    audit, back = desk.kept.audit(name), f"/audits/{name}"
    epsilon, margin = sent.typed.get("epsilon", "").strip(), sent.typed.get("margin", "0").strip()
    if not margin.removeprefix("-").isdecimal():
        raise QuestionRefused("The number of people is a whole number. Go back and try again.")

    def act(step: Step) -> str:
        with desk.auditor(step) as auditor:
            auditor.watch(audit, epsilon, margin=int(margin))
        return f"/watches/{audit.release.dataset}"

    return go(desk, f"/tasks/{desk.tasks.begin('Setting the watch', back, act).id}")


@router.get("/watches/{dataset}")
def show_watches(desk: TheDesk, dataset: str) -> Response:
    """What the holder's watches about a dataset say now; costs nothing."""
    with desk.auditor() as auditor:
        watches, about = auditor.watches(dataset), auditor.dataset(dataset)
    texts = [[*map(readable, one.view.make_lines(one.view.data))] for one in watches]
    return page(desk, "watches.html.j2", section="Audits", about=about, dataset=dataset, watches=texts)


@router.get("/over-time")
def show_history(desk: TheDesk, dataset: str = "", language: str = LANGUAGES[0]) -> Response:
    """The report of all kept audits, trainings and watches over time."""
    return report(stored_history(desk.kept.receipts, dataset=dataset or None), language)


@router.post("/compare")
def choose_two(desk: TheDesk, sent: Sent) -> Response:
    """Compare two audits that were chosen, the earlier with the later one."""
    chosen = sent.chosen.get("audit", ())
    if len(chosen) != 2:
        raise QuestionRefused(f"Choose two audits to compare them; {len(chosen)} were chosen. Go back and try again.")
    audits = sorted(((desk.kept.audit(name), name) for name in chosen), key=lambda pair: pair[0].release.created)
    return go(desk, "/compare/" + "/".join(name for _, name in audits))


@router.get("/compare/{first}/{second}")
def show_comparison(desk: TheDesk, first: str, second: str, language: str = LANGUAGES[0]) -> Response:
    """Two kept audits side by side; asks nobody and spends nothing."""
    return report(compare_results(desk.kept.audit(first), desk.kept.audit(second)), language)


def report(shown: Shown, language: str) -> Response:
    """A report's own page, on its own."""
    return Response(
        shown.report.page_in(language), HTTPStatus.OK, {"Content-Security-Policy": REPORT_POLICY}, "text/html"
    )


def attachment(content: bytes, media_type: str, name: str) -> Response:
    """A file to keep."""
    return Response(content, HTTPStatus.OK, {"Content-Disposition": f'attachment; filename="{name}"'}, media_type)
