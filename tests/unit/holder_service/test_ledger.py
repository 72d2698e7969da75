"""The chain and the balances: whatever is changed in an entry, replaying finds it."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from holder_service.domain.ledger import GENESIS, Balance, BrokenLedger, Entry, Event, Replay
from shared.privacy.amounts import NO_LOSS, Loss

NOW = datetime(2026, 1, 1, tzinfo=UTC)
CAP = Balance(Loss(100))
LIMIT = Balance(Loss(50))


def chain(*events: Event) -> list[Entry]:
    """Entries for some events, properly chained."""
    entries: list[Entry] = []
    previous = GENESIS
    for sequence, event in enumerate(events, start=1):
        entry = Entry.chained(
            sequence=sequence, at=NOW.isoformat(), event=event, nonce=f"{sequence:032x}", previous=previous
        )
        entries.append(entry)
        previous = entry.hash
    return entries


def good_events() -> list[Event]:
    charged = LIMIT.charged(Loss(30)), CAP.charged(Loss(30))
    return [
        Event("population", "admin", population="p", cap=CAP),
        Event("budget", "admin", population="p", auditor="a", cap=CAP, account=LIMIT),
        Event("charge", "a", population="p", auditor="a", subject="sha256:x", loss=Loss(30),
              account=charged[0], cap=charged[1]),
        Event("budget", "admin", population="p", auditor="a", cap=charged[1],
              account=charged[0].limited(Loss(20))),
        Event("key", "admin", subject="k"),
    ]  # fmt: skip


def replayed(entries: list[Entry]) -> Replay:
    replay = Replay()
    for entry in entries:
        replay.apply(entry)
    return replay


def test_a_proper_ledger_replays_to_its_balances() -> None:
    replay = replayed(chain(*good_events()))

    assert replay.sequence == 5
    assert replay.caps["p"].spent == Loss(30)
    assert replay.accounts["p", "a"] == Balance(Loss(20), Loss(30))
    assert replay.accounts["p", "a"].remaining(NOW) == NO_LOSS


def changed(entries: list[Entry], **fields: Any) -> list[Entry]:
    """The entries with the charge's event changed and its hash left alone."""
    return [*entries[:2], replace(entries[2], event=replace(entries[2].event, **fields)), *entries[3:]]


@pytest.mark.parametrize(
    "tamper",
    [
        lambda entries: entries[:1] + entries[2:],
        lambda entries: [entries[0], entries[2], entries[1], *entries[3:]],
        lambda entries: changed(entries, loss=Loss(3)),
        lambda entries: [*entries[:2], replace(entries[2], at=(NOW + timedelta(1)).isoformat()), *entries[3:]],
        lambda entries: [*entries[:2], replace(entries[2], nonce=""), *entries[3:]],
        lambda entries: changed(entries, actor="b"),
        lambda entries: changed(entries, subject="y"),
        lambda entries: [entries[0], entries[1], entries[1], *entries[2:]],
    ],
    ids=["deleted", "swapped", "amount", "time", "nonce", "actor", "subject", "inserted"],
)
def test_a_changed_ledger_is_found_out(tamper: Callable[[list[Entry]], list[Entry]]) -> None:
    with pytest.raises(BrokenLedger):
        replayed(tamper(chain(*good_events())))


@pytest.mark.parametrize(
    ("index", "change"),
    [
        (2, {"loss": Loss(29)}),
        (2, {"account": LIMIT}),
        (2, {"cap": CAP}),
        (2, {"loss": Loss(51), "account": LIMIT.charged(Loss(51)), "cap": CAP.charged(Loss(51))}),
        (1, {"account": None}),
        (1, {"account": LIMIT.charged(Loss(1))}),
        (3, {"account": Balance(Loss(20), Loss(0))}),
        (4, {"cap": CAP}),
    ],
)
def test_a_balance_that_does_not_follow_is_found_out_although_the_chain_is_whole(
    index: int, change: dict[str, Any]
) -> None:
    events = good_events()
    events[index] = replace(events[index], **change)

    with pytest.raises(BrokenLedger):
        replayed(chain(*events))


def test_a_charge_after_the_grant_expired_is_found_out() -> None:
    expired = replace(LIMIT, expires=(NOW - timedelta(1)).isoformat())
    events = [
        good_events()[0],
        Event("budget", "admin", population="p", auditor="a", cap=CAP, account=expired),
        Event("charge", "a", population="p", auditor="a", loss=Loss(1),
              account=expired.charged(Loss(1)), cap=CAP.charged(Loss(1))),
    ]  # fmt: skip

    with pytest.raises(BrokenLedger, match="budget"):
        replayed(chain(*events))


@pytest.mark.parametrize(
    ("loss", "spent"), [(CAP.limit + Loss(1), CAP.limit + Loss(1)), (Loss(10), NO_LOSS), (Loss(10), Loss(9))]
)
def test_a_look_that_its_cap_does_not_pay_for_is_found_out(loss: Loss, spent: Loss) -> None:
    def looked(loss: Loss, spent: Loss) -> list[Event]:
        cap = replace(CAP, spent=spent)
        look = Event("overlap-look", "admin", population="p", loss=loss, detail={"with": "q"}, cap=cap)
        return [good_events()[0], look]

    assert replayed(chain(*looked(Loss(10), Loss(10)))).caps["p"].spent == Loss(10)
    with pytest.raises(BrokenLedger):
        replayed(chain(*looked(loss, spent)))


def test_merged_spending_is_added_and_the_larger_limit_holds() -> None:
    other = Balance(Loss(70), Loss(60))

    assert Balance(Loss(50), Loss(30)).joined(other) == Balance(Loss(70), Loss(90))


def test_both_sides_of_the_limit() -> None:
    balance = Balance(Loss(50, 5), Loss(20, 5))

    assert balance.affords(Loss(30), NOW)
    assert not balance.affords(Loss(31), NOW)
    assert not balance.affords(Loss(1, 1), NOW)
