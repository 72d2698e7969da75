"""The index of audits, one audit with its report, two of them compared, and what was trained and watched."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import Annotated, Any, ClassVar, Final

from fastapi import APIRouter, Query, Response

from auditor_client.audits.comparing import compare_results
from auditor_client.audits.history import stored_history
from auditor_client.audits.mending import mend
from auditor_client.audits.result import AuditResult
from auditor_client.audits.watching import watchable_parity
from auditor_client.desk.approvals import answer_or_wait, path_of
from auditor_client.desk.desk import Desk, KeepFile, RequestDraft, SentForm
from auditor_client.desk.drafts import begin
from auditor_client.desk.fields import field_of, in_labels, ratio_of, require_purpose
from auditor_client.desk.pages import Sent, TheDesk, go, page
from auditor_client.desk.waiting import AskedWatch
from auditor_client.errors import EstimationRefused, QuestionRefused
from auditor_client.findings.mending import counts_to_mend
from auditor_client.findings.reading import FOUR_FIFTHS
from auditor_client.findings.rehearsals import of_dataset
from auditor_client.report.audit_data import AuditData
from auditor_client.report.history_data import HistoryData, HistoryRow, history_data
from auditor_client.report.languages import LANGUAGES
from auditor_client.report.view import Shown
from auditor_client.text import readable
from shared.contract.datasets import DatasetDescription

router = APIRouter()
PageNumber = Annotated[int, Query(alias="page", ge=1, le=1_000_000)]
NOTHING_TYPED: Final[Mapping[str, str]] = {}
REPORT_POLICY: Final = (
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "sandbox"
)
"""Of a report: a page without origin, scripts or forms, that loads nothing."""
REFRESH_S: Final = 2


@dataclass(frozen=True, slots=True)
class IndexLine:
    """One metric of an audit in the index, with the name of the audit's note; `first` of the audit's on its page."""

    name: str
    row: HistoryRow
    first: bool
    cost: tuple[int, int]


PAGE_LINES: Final = 100
ORDERS: Final[Mapping[str, Callable[[IndexLine], Any]]] = {
    "answered": lambda line: line.row.when,
    "audited": lambda line: line.row.audited.casefold(),
    "about": lambda line: (line.row.dataset.casefold(), int(line.row.version), line.row.by),
    "figure": lambda line: line.row.metric,
    "ratio": lambda line: -1.0 if line.row.mark.value is None else line.row.mark.value,
    "verdict": lambda line: line.row.verdict,
    "cost": lambda line: line.cost,
}
"""What the index can be sorted by; among equals the newest is first."""


@router.get("")
def show_index(
    desk: TheDesk, dataset: str = "", sort: str = "answered", down: bool = True, page_number: PageNumber = 1
) -> Response:
    """The kept audits, the newest first or sorted by another column, a hundred lines on a page."""
    return index(desk, dataset, sort, down=down, page_number=page_number)


def index(
    desk: Desk, dataset: str = "", sort: str = "answered", *, down: bool = True, page_number: int = 1, fault: str = ""
) -> Response:
    """The same, or why nothing was done with what was chosen there."""
    audits, faults, missing = desk.kept.computed()
    datasets = sorted({audit.release.dataset for audit in audits.values()})
    shown = {name: audit for name, audit in audits.items() if of_dataset(audit.question.dataset, dataset or None)}
    about = next((audit.question.dataset for audit in shown.values() if dataset), None)
    data = history_data(list(shown.values()))
    waiting, unreadable = desk.waiting.every()
    lines = sorted(_lines(shown, data), key=ORDERS.get(sort, ORDERS["answered"]), reverse=down)
    response = page(
        desk, "audits.html.j2", section="Audits", about=about, facts=data.facts, sort=sort, down=down, fault=fault,
        status=422 if fault else 200,
        lines=_on_page(lines, page_number), page_number=page_number, pages=-(-len(lines) // PAGE_LINES),
        missing=missing, faults=sorted({*faults.values(), *unreadable}), datasets=datasets, dataset=dataset,
        waiting=[(one, path_of(one.approval)) for one in waiting],
    )  # fmt: skip
    if missing:
        response.headers["Refresh"] = str(REFRESH_S)
    return response


def _lines(audits: dict[str, AuditResult], data: HistoryData) -> list[IndexLine]:
    tables = ((name, table) for name, audit in audits.items() for table in audit.every_table)
    names = [name for name, table in tables for _ in table.estimates]
    costs = {name: (one.release.price.rho_nano or 0, one.release.price.epsilon_nano) for name, one in audits.items()}
    lines = [IndexLine(name, row, False, costs[name]) for name, row in zip(names, data.rows, strict=True)]
    of_audits = {name: [line for line in lines if line.name == name] for name in audits}
    return [line for name in reversed(audits) for line in of_audits[name]]


def _on_page(lines: list[IndexLine], number: int) -> list[IndexLine]:
    """The lines of one page; each audit can be chosen once."""
    found, known = list[IndexLine](), set[str]()
    for line in lines[(number - 1) * PAGE_LINES : number * PAGE_LINES]:
        found.append(replace(line, first=line.name not in known))
        known.add(line.name)
    return found


@router.get("/audits/{name}")
def show_audit(desk: TheDesk, name: str) -> Response:
    """One audit: what was found, and what can be done with it; once, why a watch over it was refused."""
    refused = next((one for one in desk.drafts.values() if one.path == f"/audits/{name}" and one.fault), None)
    if refused is None:
        return _audit(desk, name)
    desk.drop(refused)
    return _audit(desk, name, refused.typed, refused.fault)


def _audit(desk: Desk, name: str, typed: Mapping[str, str] = NOTHING_TYPED, fault: str = "") -> Response:
    audit = desk.kept.audit(name)
    data: AuditData = audit.view.data
    row = history_data([audit]).rows[0]
    return page(
        desk, "audit.html.j2", section="Audits", about=audit.question.dataset, name=name, audit=audit,
        data=data, row=row, unmended=_why_not(counts_to_mend, audit),
        unwatched=_why_not(watchable_parity, audit), typed=typed,
        asked_for=typed.get("asked_for", desk.settings.asked_for or ""),
        fault=in_labels(fault), named=field_of(fault, ("epsilon", "margin", "asked_for", "ratio")),
        status=422 if fault else 200,
    )  # fmt: skip


def _why_not(required: Callable[[AuditResult], object], audit: AuditResult) -> str:
    """Why something cannot follow from an audit, as what is required for it says; empty where it can."""
    try:
        required(audit)
    except (QuestionRefused, EstimationRefused) as error:
        return in_labels(str(error))
    return ""


@router.get("/audits/{name}/report")
def show_report(desk: TheDesk, name: str, language: str = LANGUAGES[0]) -> Response:
    """The report itself."""
    return report(desk.kept.audit(name), language)


@router.get("/audits/{name}/report.json")
def show_document(desk: TheDesk, name: str) -> Response:
    """The report as JSON."""
    return attachment(desk.kept.audit(name).to_json().encode(), "application/json", f"audit-{name[:12]}.json")


@router.get("/audits/{name}/mending")
def show_mending(desk: TheDesk, name: str, ratio: str = f"{FOUR_FIFTHS}") -> Response:
    """Which leaves would have to decide otherwise; asks nobody and spends nothing."""
    audit = desk.kept.audit(name)
    try:
        return report(mend(audit, ratio_of(ratio)), LANGUAGES[0])
    except (QuestionRefused, EstimationRefused) as error:
        return _audit(desk, name, {"ratio": ratio}, str(error))


@dataclass(slots=True)
class WatchDraft(RequestDraft):
    """A watch over the verdict of a kept audit, as far as it was typed: its price is the ε that was typed.

    Attributes:
        audit: The name of the audit's note.
    """

    asking: ClassVar[str] = "Setting the watch"

    audit: str = ""

    @property
    def path(self) -> str:
        """The path of the audit's page, which has its form."""
        return f"/audits/{self.audit}"

    def take(self, dataset: DatasetDescription, sent: SentForm, _: KeepFile) -> None:
        """Take what was typed."""
        self.typed = dict(sent.typed)
        require_purpose(dataset, self.asked_for)
        if not self._margin.removeprefix("-").isdecimal():
            raise QuestionRefused(f"`margin`: {self._margin!r} is not a whole number of people. Write one, such as 0.")

    @property
    def _margin(self) -> str:
        return self.typed.get("margin", "0").strip()

    def asked(self, _: Mapping[str, str]) -> AskedWatch:
        """The watch."""
        epsilon, margin = self.typed.get("epsilon", "").strip(), int(self._margin)
        return AskedWatch(audit=self.audit, epsilon=epsilon, margin=margin, asked_for=self.asked_for)


@router.post("/audits/{name}/watch")
def watch(desk: TheDesk, name: str, sent: Sent) -> Response:
    """Have the verdict watched; spends ε, once."""
    dataset = desk.kept.audit(name).question.dataset
    draft = desk.draft(WatchDraft, dataset.name)
    draft.audit = name
    try:
        draft.take(dataset, sent, desk.keep_file)
    except QuestionRefused as error:
        return _audit(desk, name, sent.typed, str(error))
    asked = draft.asked(sent.typed)
    return begin(desk, draft, draft.asking, lambda step: answer_or_wait(desk, asked, step))


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
        return index(desk, fault=f"Choose two audits to compare them; {len(chosen)} were chosen.")
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
