"""Notices: what somebody should act on before it stops an audit (8-time §2, docs/operations.md).

The holder makes them of its ledger (`holder_service.domain.notices`); an auditor's client of what its own account says.
Both by the same thresholds.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Literal

from pydantic import Field

from shared.privacy.amounts import Loss
from shared.wire.request_model import ContractModel
from shared.wire.text import ReleaseId

PERCENT_DEFAULT: Final = 80
DAYS_DEFAULT: Final = 14

NoticeKind = Literal[
    "cap-missing", "cap-spent", "budget-spent", "budget-expires", "approval-expires", "key-expires",
    "cap-raised", "approvals-off", "change-proposed",
]  # fmt: skip


class Notice(ContractModel):
    """Something to act on, from what the ledger says; members that it is not about are absent."""

    kind: NoticeKind
    """A population waits for a cap; much of a cap, or of an auditor's budget, is spent; a budget or a key ends soon, or
    a request that nobody has approved or declined; a cap was raised, approvals are no longer required, or
    a change waits for a second officer."""
    population: str | None = Field(default=None, exclude_if=lambda name: name is None)
    """The population that it is about."""
    account: str | None = Field(default=None, exclude_if=lambda name: name is None)
    """The account that it is about."""
    key_id: str | None = Field(default=None, exclude_if=lambda key: key is None)
    """The key that ends, by what it is withdrawn by; no secret."""
    request: ReleaseId | None = Field(default=None, exclude_if=lambda request: request is None)
    """The request that ends, by the id of its approval."""
    spent_percent: int | None = Field(default=None, exclude_if=lambda percent: percent is None)
    """How much of the limit is spent, in whole per cent, rounded down; above 100 where the limit was lowered."""
    limit: Loss | None = Field(default=None, exclude_if=lambda limit: limit is None)
    """The cap, or the budget."""
    left: Loss | None = Field(default=None, exclude_if=lambda left: left is None)
    """What is left of it."""
    since: datetime
    """From when on there is something to say: when the entry was made that crossed the threshold, or so many days
    before the end."""
    until: datetime | None = Field(default=None, exclude_if=lambda until: until is None)
    """When the budget, the key, the request or the proposal ends."""
    what: str
    """What is so, in a sentence."""
    advice: str
    """What to do."""

    @property
    def is_of_a_change(self) -> bool:
        """Whether it is about something that an officer loosened."""
        return self.kind in ("cap-raised", "approvals-off")

    @property
    def is_of_an_end(self) -> bool:
        """Whether it is about something that ends at a time."""
        return self.kind in ("budget-expires", "approval-expires", "key-expires")

    @property
    def identity(self) -> str:
        """What makes it the same notice as long as it lasts, and another one when it begins anew."""
        return " ".join(
            str(part)
            for part in (
                self.kind,
                self.population,
                self.account,
                self.key_id,
                self.request,
                self.since,
                self.until,
            )
        )


@dataclass(frozen=True, slots=True)
class Thresholds:
    """The thresholds of notices: the share of a limit that is spent, the days before an end."""

    percent: int = PERCENT_DEFAULT
    days: int = DAYS_DEFAULT

    def reached(self, spent: Loss, limit: Loss) -> tuple[int, str] | None:
        """How much of a limit is spent and of which amount, where that is much; of a limit of nothing, nothing is."""
        if not limit.admits_any:
            return None
        percent, amount = spent.share_of(limit)
        return (percent, amount) if percent >= self.percent else None

    def since(self, end: datetime, now: datetime) -> datetime | None:
        """From when on there is a notice of an end, if there is one now; what has ended ends no more."""
        return end - timedelta(days=self.days) if now < end <= now + timedelta(days=self.days) else None
