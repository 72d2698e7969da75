"""The console's pages of approvals: what waits, one request with all that is asked, and the decision."""

from typing import Annotated

from fastapi import APIRouter, Path, Response

from holder_service.domain.errors import HolderError
from holder_service.services.accounts import access
from holder_service.services.datasets import datasets
from holder_service.services.releases import approvals, releases
from holder_service.services.releases.approvals import ApprovalInFull
from holder_service.storage.approvals import IN_FORCE
from holder_service.web.console.pages import ROOT
from holder_service.web.console.session import CheckedForm, ConsoleRoute, OfficerVisit, Visit, Visitor, or_again
from holder_service.web.console.words import loss, summary_facts
from holder_service.web.edge.column_files import column_file
from holder_service.web.edge.dependencies import PathColumn
from shared.contract.approvals import OPEN, ApprovalDecision
from shared.kinds.summaries import RequestSummary
from shared.wire.problems import PlanRefused

SHOWN_MAX = 200
router = APIRouter(prefix=ROOT, route_class=ConsoleRoute, include_in_schema=False)
Request = Annotated[str, Path(pattern="^sha256:[0-9a-f]{64}$")]


@router.get("/approvals")
def list_requests(visit: Visitor) -> Response:
    """What waits for a decision, and what became of the latest others."""
    return visit.page(
        "approvals.html.j2", section="approvals", waiting=approvals.waiting(visit.store),
        others=approvals.latest(visit.store, limit=SHOWN_MAX), names=access.display_names(visit.store),
    )  # fmt: skip


@router.get("/approvals/{request}")
def show_request(visit: Visitor, request: Request) -> Response:
    """One request: who asks what, what for, at what price, and what would be left."""
    found = approvals.in_full(visit.store, request, apart=visit.holder.reading)
    words = datasets.metadata_of(visit.store, found.dataset)
    summary = _summary(visit, found)
    return visit.page(
        "approval.html.j2", section="approvals", one=found, words=words, summary=summary,
        facts=[] if summary is None else summary_facts(summary, words),
        is_open=found.state in OPEN, may_be_decided=found.state in IN_FORCE,
        names=access.display_names(visit.store),
    )  # fmt: skip


@router.get("/approvals/{request}/columns/{column}")
def show_column(visit: Visitor, request: Request, column: PathColumn) -> Response:
    """The whole document of a derived column that a request names, as a file."""
    return column_file(approvals.column_document(visit.store, request, column), column)


@router.post("/approvals/{request}")
@or_again(show_request)
def decide(visit: OfficerVisit, request: Request, form: CheckedForm) -> Response:
    """Approve or decline."""
    decision = ApprovalDecision.model_validate(
        {
            "approved": form.text("decision") == "approve",
            "reason": form.text("reason") or None,
            "entry": form.whole_number("entry"),
        }
    )
    done = approvals.decide(visit.store, actor=visit.actor, identity=request, decision=decision)
    said = f"{done.state.capitalize()}: what {done.auditor} asks about {done.dataset}, for {loss(done.charge)}."
    return visit.done(f"{ROOT}/approvals", said)


def _summary(visit: Visit, one: ApprovalInFull) -> RequestSummary | None:
    """What is asked, with what the holder quotes for it now, if it can still be asked; `None` once it is deleted."""
    if one.request is None:
        return None
    summary = one.request.summary()
    if one.state not in OPEN:
        return summary
    try:
        quoted = releases.quote(visit.store, auditor=one.auditor, dataset=one.dataset, asked=one.request)
    except (HolderError, PlanRefused):
        return summary
    return summary.quoted(quoted.part_facts)
