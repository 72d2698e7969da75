"""What waits for a budget officer's approval: its state, and the way on to the answer."""

from typing import Final
from urllib.parse import quote as quoted

from fastapi import APIRouter, Response

from auditor_client.approval_words import since_words, state_words
from auditor_client.desk.desk import Desk
from auditor_client.desk.pages import Sent, TheDesk, go, page
from auditor_client.desk.tasks import Step
from auditor_client.desk.waiting import Asked
from auditor_client.errors import ApprovalAwaited, ReceiptsDamaged
from shared.contract.approvals import OPEN, Approval

router = APIRouter()
REFRESH_S: Final = 15


def answer_or_wait(desk: Desk, asked: Asked, step: Step, before: str | None = None) -> str:
    """Ask; gives the path of the result, or of the request that waits, which is kept.

    Args:
        desk: Whose settings and receipts it is asked with.
        asked: What is asked.
        step: Takes what is being done.
        before: The request under which it was kept until now; it is kept no more.
    """
    with desk.auditor(step, asked.asked_for) as auditor:
        try:
            path, now = asked.answered(auditor, desk.kept), None
        except ApprovalAwaited as error:
            desk.waiting.keep(error.approval, asked)
            path, now = path_of(error.approval), error.approval.id
    if before is not None and before != now:
        desk.waiting.forget(before)
    return path


def path_of(approval: Approval) -> str:
    """The path of a request's page."""
    return f"/approvals/{quoted(approval.dataset, safe='')}/{approval.id.removeprefix('sha256:')}"


@router.get("/approvals/{dataset}")
def show_approvals(desk: TheDesk, dataset: str) -> Response:
    """All requests about a dataset, the newest first; costs nothing."""
    with desk.auditor() as auditor:
        found = auditor.approvals(dataset)
    return page(
        desk, "approvals.html.j2", section="Budgets", dataset=dataset,
        approvals=[(one, path_of(one), since_words(one)) for one in reversed(found)],
    )  # fmt: skip


@router.get("/approvals/{dataset}/{name}")
def show_approval(desk: TheDesk, dataset: str, name: str) -> Response:
    """One request: whether it waits, until when, what was decided, and what can be done."""
    with desk.auditor() as auditor:
        approval = auditor.approval(dataset, f"sha256:{name}")
    waiting = desk.waiting.find(approval.id)
    if waiting is not None:
        desk.waiting.keep(approval, waiting.asked)
    response = page(
        desk, "approval.html.j2", section="Audits", approval=approval, words=state_words(approval),
        path=path_of(approval), subject=None if waiting is None else waiting.asked.subject, refresh_s=REFRESH_S,
    )  # fmt: skip
    if approval.state == "waiting":
        response.headers["Refresh"] = str(REFRESH_S)
    return response


@router.post("/approvals/{dataset}/{name}/ask")
def ask_again(desk: TheDesk, dataset: str, name: str, _: Sent) -> Response:
    """Ask the same again: it is answered and charged once it is approved."""
    waiting = desk.waiting.find(f"sha256:{name}")
    if waiting is None:
        raise ReceiptsDamaged("This request was not sent from this desk. Repeat the command that sent it.")
    asked, before = waiting.asked, waiting.approval.id
    if waiting.approval.state not in OPEN and waiting.approval.state != "answered":
        asked = asked.anew()  # the page said that it is over, and of what records it is asked

    def act(step: Step) -> str:
        return answer_or_wait(desk, asked, step, before)

    return go(desk, f"/tasks/{desk.tasks.begin('Asking', f'/approvals/{dataset}/{name}', act).id}")


@router.post("/approvals/{dataset}/{name}/withdraw")
def withdraw(desk: TheDesk, dataset: str, name: str, _: Sent) -> Response:
    """Take a request back; nothing was charged for it."""
    with desk.auditor() as auditor:
        approval = auditor.withdraw(dataset, f"sha256:{name}")
    desk.waiting.forget(approval.id)
    return go(desk, path_of(approval))


@router.post("/approvals/{dataset}/{name}/forget")
def forget(desk: TheDesk, dataset: str, name: str, _: Sent) -> Response:
    """Remove what was kept to ask it again."""
    desk.waiting.forget(f"sha256:{name}")
    return go(desk, f"/approvals/{dataset}")
