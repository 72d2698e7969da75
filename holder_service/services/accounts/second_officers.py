"""A second officer agrees before more is allowed about a population that requires it (docs/approvals.md)."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from holder_service.domain.errors import Conflict
from holder_service.domain.ledger import Entry, Event
from holder_service.domain.second_officers import ENDS_PROPOSALS, STANDS, Setting, setting_of
from holder_service.services.ledger.store import Transaction
from holder_service.storage import ledger, ledger_views
from holder_service.storage.database import Connection
from holder_service.storage.ledger_views import EntryFilter


@dataclass(frozen=True, slots=True)
class Proposal:
    """A change that waits for a second officer; nothing was changed."""

    entry: int

    def refusal(self) -> Conflict:
        """Return what whoever proposed it is told."""
        return Conflict(
            "Nothing was changed yet: this population requires a second officer. Your change is proposed in ledger "
            f"entry {self.entry}. It takes effect when another officer makes the same change within {STANDS.days} "
            "days. To withdraw it, set the cap or the approvals to what they are now.",
            proposed=self.entry,
        )


def setting_in_force(connection: Connection, population: str) -> Setting:
    """Return what a population requires, as its newest entry says."""
    which = EntryFilter(kind="approval-required", population=population)
    newest = ledger_views.newest(connection, which, before=None, limit=1)
    return setting_of(newest[0].event.detail) if newest else {}


def open_proposals(connection: Connection, population: str | None = None, *, now: datetime) -> list[Entry]:
    """The proposals about a population, or about any, that a second officer may still confirm, oldest first.

    Notices look for them after each charge: it takes one statement while nothing is proposed.
    """
    proposed = EntryFilter(kind="change-proposed", population=population, since=now - STANDS)
    found = [
        entry
        for entry in ledger_views.in_order(connection, proposed, upto=None)
        if now < datetime.fromisoformat(entry.at) + STANDS
    ]
    if not found:
        return []
    ends = [
        entry
        for kind in ENDS_PROPOSALS
        for entry in ledger_views.in_order(
            connection, EntryFilter(kind=kind, population=population), after=found[0].sequence, upto=None
        )
    ]
    return [
        entry
        for entry in found
        if not any(end.event.population == entry.event.population and end.sequence > entry.sequence for end in ends)
    ]


def agreed(
    transaction: Transaction, *, actor: str, population: str, change: Mapping[str, Any]
) -> dict[str, int] | Proposal:
    """Return what the entry of a change says about its proposal, or the proposal that waits.

    Args:
        change: The change that allows more, as `domain.second_officers` states it.

    Returns:
        Nothing to say where no second officer is required; the entry of a proposal that another officer made; or the
        caller's own proposal, which is entered unless it stands already.
    """
    connection = transaction.connection
    if not setting_in_force(connection, population).get("second_officer"):
        return {}
    same = [
        entry
        for entry in open_proposals(connection, population, now=transaction.now)
        if entry.event.detail["change"] == change
    ]
    others = [entry for entry in same if entry.event.actor != actor]
    if others:
        return {"proposed": others[0].sequence}
    if same:
        transaction.rest_on(same[0].sequence)
        return Proposal(same[0].sequence)
    cap = ledger.population_balance(connection, population)
    event = Event("change-proposed", actor, population=population, cap=cap, detail={"change": dict(change)})
    return Proposal(transaction.append(event).sequence)
