"""What auditors and officers call about approvals: requests that wait, decisions, and where one is required."""

import logging
from typing import Annotated

from fastapi import APIRouter, Path, Query, Response
from starlette.concurrency import run_in_threadpool

from holder_service.services.releases import approvals
from holder_service.services.releases.approvals import ApprovalInFull
from holder_service.web.edge.bodies import StrictRoute
from holder_service.web.edge.column_files import column_file
from holder_service.web.edge.dependencies import PathColumn, PathDataset, PathPopulation, TheHolder
from holder_service.web.edge.roles import Auditor, Officer, Reader
from holder_service.web.rest.contract import refusals
from holder_service.web.rest.kinds import PageSize
from shared.contract.approvals import Approval, ApprovalDecision, ApprovalList, ApprovalSetting, ApprovalState
from shared.wire import limits

router = APIRouter(prefix="/v1", route_class=StrictRoute)
ApprovalId = Annotated[
    str,
    Path(
        pattern="^sha256:[0-9a-f]{64}$", description="The id of what is asked: that its release gets.",
        examples=["sha256:" + "0" * 64],
    ),
]  # fmt: skip
After = Annotated[
    int, Query(ge=0, le=limits.INTEGER_MAX, description="Only requests whose ledger entry is behind this number.")
]
State = Annotated[ApprovalState | None, Query(description="Only requests in this state.")]
_log = logging.getLogger(__name__)


@router.get("/datasets/{dataset}/approvals", tags=["auditor"], openapi_extra=refusals("not-found"))
async def list_own_approvals(
    holder: TheHolder, caller: Auditor, dataset: PathDataset, after: After = 0, limit: PageSize = 100
) -> ApprovalList:
    """The caller's own requests about a dataset that needed an approval, in the order of their ledger entries."""
    found, following = await run_in_threadpool(
        approvals.page, holder.store, auditor=caller.name, dataset=dataset, after=after, limit=limit
    )
    return ApprovalList(approvals=tuple(found), next=following)


@router.get("/datasets/{dataset}/approvals/{approval_id}", tags=["auditor"], openapi_extra=refusals("not-found"))
async def show_own_approval(
    holder: TheHolder, caller: Auditor, dataset: PathDataset, approval_id: ApprovalId
) -> Approval:
    """One of the caller's requests, and what became of it."""
    return await run_in_threadpool(
        approvals.own, holder.store, auditor=caller.name, dataset=dataset, identity=approval_id
    )


@router.delete(
    "/datasets/{dataset}/approvals/{approval_id}",
    tags=["auditor"],
    status_code=204,
    openapi_extra=refusals("not-found", "conflict", "restore-unrecorded"),
)
def withdraw_approval(holder: TheHolder, caller: Auditor, dataset: PathDataset, approval_id: ApprovalId) -> None:
    """Take a request back that waits or was approved. Nothing was charged for it; the same may be asked anew."""
    approvals.withdraw(holder.store, auditor=caller.name, dataset=dataset, identity=approval_id)


@router.get("/admin/approvals", tags=["administrator"])
def list_approvals(
    holder: TheHolder, _: Reader, state: State = None, after: After = 0, limit: PageSize = 100
) -> ApprovalList:
    """Every auditor's requests, in the order of their ledger entries; a page of one state may be short, or empty."""
    found, following = approvals.every(holder.store, state=state, after=after, limit=limit)
    return ApprovalList(approvals=tuple(found), next=following)


@router.get("/admin/approvals/{approval_id}", tags=["administrator"], openapi_extra=refusals("not-found"))
def show_approval(holder: TheHolder, _: Reader, approval_id: ApprovalId) -> ApprovalInFull:
    """One request with all that is asked, and with what is left of the auditor's budget and of the cap."""
    return approvals.in_full(holder.store, approval_id, apart=holder.reading)


@router.get(
    "/admin/approvals/{approval_id}/columns/{column}",
    tags=["administrator"],
    response_class=Response,
    responses={200: {"content": {"application/json": {"schema": {"type": "object"}}}}},
    openapi_extra=refusals("not-found"),
)
def show_approval_column(holder: TheHolder, _: Reader, approval_id: ApprovalId, column: PathColumn) -> Response:
    """The whole document of a derived column that a request names; its SHA-256 is in the entry of the request."""
    return column_file(approvals.column_document(holder.store, approval_id, column), column)


@router.put(
    "/admin/approvals/{approval_id}/decision",
    tags=["administrator"],
    openapi_extra=refusals("not-found", "conflict", "restore-unrecorded"),
)
def decide_approval(
    holder: TheHolder, caller: Officer, approval_id: ApprovalId, decision: ApprovalDecision
) -> Approval:
    """Approve a request or decline it, with a reason; the decision may be changed until it is answered or expires."""
    decided = approvals.decide(holder.store, actor=caller.name, identity=approval_id, decision=decision)
    _log.info("approval decided", extra={"actor": caller.name})
    return decided


@router.put(
    "/admin/populations/{population}/approval",
    tags=["administrator"],
    openapi_extra=refusals("not-found", "conflict", "restore-unrecorded"),
)
def require_approval(
    holder: TheHolder, caller: Officer, population: PathPopulation, setting: ApprovalSetting
) -> ApprovalSetting:
    """Have whatever is asked about a population approved first, or no longer; no rehearsal ever needs it."""
    return approvals.set_required(holder.store, actor=caller.name, population=population, setting=setting)
