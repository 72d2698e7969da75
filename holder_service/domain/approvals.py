"""Whether every charge that needed an approval had one, as the ledger's entries say (docs/approvals.md).

Nobody has to be believed: who asked, what was to be charged, who decided and until when are entries of the chain, and
a charge names the entry of the decision that allowed it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from holder_service.domain.ledger import BrokenLedger, Entry, loss_columns
from shared.kinds.registry import kind_of_entry
from shared.privacy.amounts import Loss


def charge_document(charge: Loss) -> dict[str, int]:
    """A charge as the entry of a request says it, in units of 10⁻⁹."""
    return {name: nano for name, nano in loss_columns(charge).items() if nano is not None}


@dataclass(frozen=True, slots=True)
class _Request:
    """A request that is not over, but perhaps for the time.

    Attributes:
        asked_at: The sequence of its entry.
        says: What a charge has to say too: auditor, dataset, purpose and charge.
        allowed_by: The sequence of the decision that allows it; `None` as long as none does.
    """

    asked_at: int
    population: str | None
    expires: datetime
    says: Mapping[str, Any]
    allowed_by: int | None = None


class ApprovalReplay:
    """Takes entry by entry of a chain that follows, and raises at the first that was not allowed."""

    def __init__(self) -> None:
        self._days: dict[str | None, int | None] = {}
        self._in_full: set[str | None] = set()
        self._requests: dict[str | None, _Request] = {}

    def apply(self, entry: Entry) -> None:
        """Take the next entry.

        Raises:
            BrokenLedger: It charges what had to be approved and was not, or asks or decides what may not be.
        """
        event, detail = entry.event, entry.event.detail
        match event.kind:
            case "approval-required":
                self._days[event.population] = detail["approval_days"]
                (self._in_full.add if detail.get("in_full") else self._in_full.discard)(event.population)
                if detail["approval_days"] is None:
                    self._end(event.population)
            case "approval-requested":
                self._requested(entry)
            case "approval-decided":
                self._decided(entry)
            case "approval-withdrawn":
                if self._in_force(entry).says["auditor"] != event.actor:
                    raise BrokenLedger(entry.sequence, "withdraws what somebody else asked")
                del self._requests[event.subject]
            case "merge" if event.auditor is None:
                self._merged(event.population, str(detail["from"]))
            case "restore":
                self._requests.clear()
            case "charge" if kind_of_entry(detail).request is not None:
                self._charged(entry)

    def _requested(self, entry: Entry) -> None:
        event, detail = entry.event, entry.event.detail
        days, expires = self._days.get(event.population), datetime.fromisoformat(detail["expires"])
        if days is None or expires != datetime.fromisoformat(entry.at) + timedelta(days=days):
            raise BrokenLedger(entry.sequence, "asks for an approval where none is needed, or for another time")
        if event.population in self._in_full and detail.get("columns") and not detail.get("in_full"):
            raise BrokenLedger(entry.sequence, "asks for an approval of columns that were not checked to be readable")
        if event.actor != event.auditor:
            raise BrokenLedger(entry.sequence, "asks for an approval in another's name")
        says = {
            "auditor": event.auditor, "dataset": event.dataset, "purpose": detail.get("purpose"),
            "charge": detail["charge"],
        }  # fmt: skip
        self._requests[event.subject] = _Request(entry.sequence, event.population, expires, says)

    def _decided(self, entry: Entry) -> None:
        event, detail = entry.event, entry.event.detail
        request = self._in_force(entry)
        if event.actor == request.says["auditor"]:
            raise BrokenLedger(entry.sequence, "is decided by who asked")
        if detail["requested"] != request.asked_at or event.auditor != request.says["auditor"]:
            raise BrokenLedger(entry.sequence, "decides about another request than there is")
        allowed_by = entry.sequence if detail["approved"] else None
        self._requests[event.subject] = replace(request, allowed_by=allowed_by)

    def _charged(self, entry: Entry) -> None:
        event = entry.event
        request = self._requests.pop(event.subject, None)
        if self._days.get(event.population) is None:
            return
        if request is None or request.allowed_by is None or entry.event.detail.get("approval") != request.allowed_by:
            raise BrokenLedger(entry.sequence, "charges a request that needed an approval and did not have one")
        says = {
            "auditor": event.auditor, "dataset": event.dataset, "purpose": event.detail.get("purpose"),
            "charge": charge_document(event.loss),
        }  # fmt: skip
        if says != request.says or not datetime.fromisoformat(entry.at) < request.expires:
            raise BrokenLedger(entry.sequence, "charges something else than was approved, or later")

    def _in_force(self, entry: Entry) -> _Request:
        """The request that an entry is about, which is not over."""
        request = self._requests.get(entry.event.subject)
        if request is None or not datetime.fromisoformat(entry.at) < request.expires:
            raise BrokenLedger(entry.sequence, "is about a request that does not exist or has ended")
        return request

    def _merged(self, into: str | None, source: str) -> None:
        days = [found for name in (into, source) if (found := self._days.get(name)) is not None]
        self._days[into] = min(days, default=None)
        if source in self._in_full:
            self._in_full.add(into)
        for identity, request in self._requests.items():
            if request.population == source:
                self._requests[identity] = replace(request, population=into)

    def _end(self, population: str | None) -> None:
        """What is asked about a population needs no approval any more."""
        ended = [identity for identity, request in self._requests.items() if request.population == population]
        for identity in ended:
            del self._requests[identity]
