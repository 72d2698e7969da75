"""Approvals: where a second person has to say yes before something is answered.

Asking stays asking. What is asked about a population that requires approval is written down and answered 202 with an
`Approval`; nothing is charged, nothing is kept back of the budget, and no record is touched. Once a budget officer
approved it, the same request is answered as before. An approval covers one identity (`shared.kinds.plans.identity`) at
one charge: any other request is another identity and needs its own approval.
"""

from typing import Annotated, Final, Literal, Self

from pydantic import Field, StrictBool, StrictInt, model_validator

from shared.privacy.amounts import Loss
from shared.wire import limits
from shared.wire.identities import RequestKind
from shared.wire.request_model import ContractModel, RequestModel
from shared.wire.text import ReleaseId, Words
from shared.wire.timestamps import Timestamp

ApprovalState = Literal["waiting", "approved", "declined", "withdrawn", "expired", "outdated", "answered"]
OPEN: Final[tuple[ApprovalState, ...]] = ("waiting", "approved")
"""The states in which something may still come of it without being asked anew."""


class ApprovalSetting(RequestModel):
    """Whether what is asked about a population has to be approved by a budget officer."""

    required: StrictBool
    """Whether it has to be. What was answered before is answered again in any case."""
    days: Annotated[StrictInt, Field(ge=1, le=limits.APPROVAL_DAYS_MAX)] = limits.APPROVAL_DAYS_DEFAULT
    """How many days a request stands, from when it was asked: waiting, approved or declined. Then it is over."""
    in_full: StrictBool | None = Field(default=None, exclude_if=lambda setting: setting is None)
    """Whether a request is refused whose derived columns officers cannot be shown whole in words, such as a network's
    weights; null leaves it as it is, which is at first not."""
    second_officer: StrictBool | None = Field(default=None, exclude_if=lambda setting: setting is None)
    """Whether another account has to make the same change before approvals end, a condition is dropped, or the cap is
    raised; null leaves it as it is, which is at first not."""


class ApprovalDecision(RequestModel):
    """A budget officer's decision about a request. It may be changed until it is answered or has expired."""

    approved: StrictBool
    """Whether it may be answered."""
    entry: Annotated[StrictInt, Field(ge=1, le=limits.INTEGER_MAX)]
    """The newest ledger entry about it that whoever decides has seen: where there is a newer one, nothing is decided.
    The same may have been asked anew for another purpose, at the same id."""
    reason: Words | None = None
    """Why, in one line: shown to the auditor who asked, and kept in the ledger. Whoever declines has to give one."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if not self.approved and self.reason is None:
            raise ValueError("Give a reason to decline: the auditor who asked is shown it.")
        return self


class Approval(ContractModel):
    """A request that needs an approval, and what became of it. Fields that this version does not know are ignored."""

    id: ReleaseId
    """The identity of what is asked: the id that its release gets."""
    kind: RequestKind
    """What is asked: a plan, a training or a watch."""
    dataset: str
    """The dataset that is asked about."""
    version: int
    """The version of the records that is to be counted; of a watch the first one."""
    auditor: str
    """Who asks."""
    purpose: Words | None = Field(default=None, exclude_if=lambda purpose: purpose is None)
    """What for, in the auditor's words; left out where nothing was said."""
    charge: Loss
    """What it is to be charged, once: nothing is, before it is answered."""
    state: ApprovalState
    """`waiting`; `approved`: ask the same again, and it is answered; `declined`; `withdrawn` by who asked; `expired`;
    `outdated`: records, price or terms changed, or a restore came between; `answered`."""
    requested: Timestamp
    """When it was asked, in UTC."""
    expires: Timestamp
    """When the request ends, in UTC, whatever was decided: from then on it has to be asked anew."""
    decided: Timestamp | None = Field(default=None, exclude_if=lambda decided: decided is None)
    """When it was last decided, in UTC; left out where nobody decided."""
    decided_by: str | None = Field(default=None, exclude_if=lambda name: name is None)
    """Who decided; left out where nobody did."""
    reason: Words | None = Field(default=None, exclude_if=lambda reason: reason is None)
    """Why it was decided so; left out where no reason was given."""


class ApprovalList(ContractModel):
    """A page of requests that need an approval."""

    approvals: tuple[Approval, ...]
    """The requests, in the order of their ledger entries."""
    next: int | None
    """What to send as `after` for the next page; null on the last one."""
