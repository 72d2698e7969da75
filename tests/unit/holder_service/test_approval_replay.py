"""What had to be approved and was not is found in the entries alone."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from holder_service.domain.approvals import ApprovalReplay, charge_document
from holder_service.domain.ledger import GENESIS, BrokenLedger, Entry, Event
from shared.privacy.amounts import Loss

NOW = datetime(2026, 1, 1, tzinfo=UTC)
PRICE = Loss(30)


def required(population: str = "p", days: int | None = 2) -> Event:
    return Event("approval-required", "officer", population=population, detail={"approval_days": days})


def requested(at_hour: int = 1) -> Event:
    expires = NOW + timedelta(hours=at_hour, days=2)
    detail = {"charge": charge_document(PRICE), "expires": expires.isoformat(), "purpose": "audit"}
    return Event("approval-requested", "a", population="p", dataset="d", auditor="a", subject="x", detail=detail)


def decided(*, approved: bool = True, by: str = "officer", of: int = 2) -> Event:
    detail = {"approved": approved, "requested": of}
    return Event("approval-decided", by, population="p", dataset="d", auditor="a", subject="x", detail=detail)


def charged(approval: int | None = 3, *, subject: str = "x", loss: Loss = PRICE, population: str = "p") -> Event:
    detail = {"purpose": "audit", **({} if approval is None else {"approval": approval})}
    return Event(
        "charge", "a", population=population, dataset="d", auditor="a", subject=subject, loss=loss, detail=detail
    )


def replay(*events: Event, hours: Callable[[int], int] = lambda sequence: sequence - 1) -> None:
    """Apply events, an hour apart."""
    found = ApprovalReplay()
    for sequence, event in enumerate(events, start=1):
        at = (NOW + timedelta(hours=hours(sequence))).isoformat()
        found.apply(Entry.chained(sequence=sequence, at=at, event=event, nonce="0" * 32, previous=GENESIS))


MERGED = Event("merge", "administrator", population="q", detail={"from": "p"})
WITHDRAWN = Event("approval-withdrawn", "a", population="p", dataset="d", auditor="a", subject="x", detail={})
ALLOWED: dict[str, list[Event]] = {
    "approved": [required(), requested(), decided(), charged()],
    "declined first": [required(), requested(), decided(approved=False), decided(), charged(4)],
    "never required": [charged(None)],
    "no longer required": [required(), required(days=None), charged(None)],
    "another population": [required(), charged(None, population="other")],
    "merged afterwards": [required(), requested(), decided(), MERGED, charged(population="q")],
    "a watch's answer": [required(), replace(charged(None), detail={"asked": "watch_answer"})],
    "asked anew": [required(), requested(), decided(), WITHDRAWN, requested(4), decided(of=5), charged(6)],
}
BROKEN: dict[str, list[Event]] = {
    "never asked": [required(), charged(None)],
    "never decided": [required(), requested(), charged(None)],
    "declined": [required(), requested(), decided(approved=False), charged()],
    "declined at last": [required(), requested(), decided(), decided(approved=False), charged()],
    "names no decision": [required(), requested(), decided(), charged(None)],
    "names another decision": [required(), requested(), decided(), charged(2)],
    "withdrawn": [required(), requested(), decided(), WITHDRAWN, charged()],
    "withdrawn by another": [required(), requested(), replace(WITHDRAWN, actor="b")],
    "another identity": [required(), requested(), decided(), charged(subject="y")],
    "another charge": [required(), requested(), decided(), charged(loss=Loss(31))],
    "another auditor": [required(), requested(), decided(), replace(charged(), auditor="b", actor="b")],
    "another dataset": [required(), requested(), decided(), replace(charged(), dataset="e")],
    "another purpose": [required(), requested(), decided(), replace(charged(), detail={"approval": 3})],
    "used twice": [required(), requested(), decided(), charged(), charged()],
    "decided by who asked": [required(), requested(), decided(by="a")],
    "another request decided": [required(), requested(), decided(of=1)],
    "asked in another's name": [required(), replace(requested(), actor="b")],
    "asked for longer": [required(), requested(2)],
    "asked where none is needed": [requested(0)],
    "a restore between": [required(), requested(), decided(), Event("restore", "officer"), charged()],
    "merged into": [required("q"), replace(MERGED, population="p", detail={"from": "q"}), charged(None)],
    "no longer required and again": [
        required(), requested(), decided(), required(days=None), required(), charged(),
    ],
}  # fmt: skip


@pytest.mark.parametrize("events", ALLOWED.values(), ids=ALLOWED)
def test_what_was_allowed_follows(events: list[Event]) -> None:
    replay(*events)


@pytest.mark.parametrize("events", BROKEN.values(), ids=BROKEN)
def test_what_was_not_allowed_is_found_where_it_is(events: list[Event]) -> None:
    replay(*events[:-1])

    with pytest.raises(BrokenLedger) as broken:
        replay(*events)

    assert broken.value.sequence == len(events)


@pytest.mark.parametrize("late", ["charge", "decision"])
def test_what_comes_after_the_end_is_found(late: str) -> None:
    first = 3 if late == "decision" else 4

    with pytest.raises(BrokenLedger) as broken:
        replay(
            required(), requested(), decided(), charged(),
            hours=lambda sequence: 49 if sequence >= first else sequence - 1,
        )  # fmt: skip

    assert broken.value.sequence == first
