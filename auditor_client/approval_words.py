"""What people read of requests that a budget officer of the holder approves or declines before they are answered."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Final

from auditor_client.errors import QuestionRefused
from auditor_client.tables import Table
from auditor_client.text import loss_words, readable
from shared.contract.approvals import Approval, ApprovalState

_NEXT: Final[Mapping[ApprovalState, str]] = {
    "waiting": "A budget officer of the holder has to approve it before it is answered. Nothing was charged.",
    "approved": "It is approved: asked again, it is answered and charged.",
    "declined": "It was declined, and stays so until it expires. Nothing was charged.",
    "withdrawn": "It was withdrawn: asked again, it waits anew.",
    "expired": "It has expired: asked again, it waits anew.",
    "outdated": "What it is about has changed since, so it is asked anew, of the records as they are now.",
    "answered": "It was answered: asked again, it is answered alike, and charged once.",
}
"""What a state means for whoever asked."""


def approval_words(approval: Approval) -> str:
    """Return what was asked for what price, what became of it, and what to do."""
    reason = "" if approval.reason is None else f" The reason given: {readable(approval.reason)}"
    return f"{_asked(approval)}. {state_words(approval)}{reason}"


def state_words(approval: Approval) -> str:
    """Return what became of a request, and what to do."""
    return _NEXT[approval.state]


def since_words(approval: Approval) -> str:
    """When it was asked, and how long it waits, or waited."""
    return f"asked {minute(approval.requested)}, good until {minute(approval.expires)}"


def approval_table(approvals: Iterable[Approval]) -> Table:
    """Requests with their states."""
    return Table(
        (),
        ("Id", "Asked", "Cost", "State", "Since", "Until", "Reason"),
        tuple(
            (
                f"{_hex(one.id)[:12]}…",
                f"{one.kind}, version {one.version}",
                loss_words(one.charge),
                one.state,
                minute(one.requested),
                minute(one.expires),
                one.reason or "",
            )
            for one in approvals
        ),
    )


def one_of(approvals: Sequence[Approval], start: str) -> Approval:
    """Return the request whose id begins so.

    Raises:
        QuestionRefused: None does, or several do.
    """
    matches = (request for request in approvals if _hex(request.id).startswith(_hex(start).removesuffix("…")))
    by_id = {request.id: request for request in matches}  # two holders have a request under one id
    if len(by_id) == 1 and start:
        return next(iter(by_id.values()))
    if by_id:
        raise QuestionRefused(f"Several of your requests about that dataset begin with {start!r}: give more of the id.")
    raise QuestionRefused(
        f"No request of yours about that dataset begins with {start!r}; `Auditor.approvals` lists them."
    )


def _hex(name: str) -> str:
    return name.removeprefix("sha256:")


def minute(time: datetime) -> str:
    """A time for people."""
    return f"{time:%Y-%m-%d %H:%M} UTC"


def _asked(approval: Approval) -> str:
    return (
        f"This {approval.kind} about {readable(approval.dataset)}, version {approval.version}, for "
        f"{loss_words(approval.charge)}, was asked at {minute(approval.requested)} and is good until "
        f"{minute(approval.expires)}"
    )
