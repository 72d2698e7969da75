"""Notices begin exactly at their thresholds, in ε, δ and ρ, and say since when; what is well is not looked through."""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

import pytest

from holder_service.domain.ledger import GENESIS, Balance, Entry, Event
from holder_service.domain.notices import EndingKey, OpenAccount, notices
from shared.contract.approvals import Approval
from shared.contract.notices import Notice, Thresholds
from shared.privacy.amounts import Loss

BEGAN: Final = datetime(2026, 1, 1, tzinfo=UTC)
NOW: Final = datetime(2026, 11, 23, 12, tzinfo=UTC)
CAP: Final = Loss(10_000_000_000, 1_000)


def entries(*balances: Balance, auditor: str | None = None) -> list[Entry]:
    """Entries a day apart with these balances, newest first."""
    found = []
    for day, balance in enumerate(balances):
        event = Event(
            "charge", "ADR", population="register", auditor=auditor, cap=Balance(CAP) if auditor else balance,
            account=balance if auditor else None,
        )  # fmt: skip
        at = (BEGAN + timedelta(days=day)).isoformat()
        found.append(Entry.chained(sequence=day + 1, at=at, event=event, nonce="", previous=GENESIS))
    return found[::-1]


@dataclass
class ListedHistory:
    """A history in memory, newest first, that counts what is looked at."""

    entries: list[Entry]
    looked_at: int = 0

    def back(self) -> Iterator[Entry]:
        for entry in self.entries:
            self.looked_at += 1
            yield entry

    def limits(self) -> Iterator[Entry]:
        def limit(entry: Entry) -> Loss:
            balance = entry.event.cap if entry.event.auditor is None else entry.event.account
            assert balance is not None
            return balance.limit

        for entry, before in zip(self.entries, [*self.entries[1:], None], strict=True):
            if before is None or limit(before) != limit(entry):
                self.looked_at += 1
                yield entry

    def upto(self, sequence: int) -> Entry | None:
        self.looked_at += 1
        return next((entry for entry in self.entries if entry.sequence <= sequence), None)


def of(*balances: Balance, auditor: str | None = None, now: datetime = NOW) -> tuple[Notice, ...]:
    found = entries(*balances, auditor=auditor)
    account = OpenAccount("register", auditor, found[0], ListedHistory(found))
    return notices([account], [], [], Thresholds(), now)


@pytest.mark.parametrize("auditor", [None, "ADR"])
@pytest.mark.parametrize(
    ("limit", "below", "reached", "percent"),
    [
        (Loss(10), Loss(7), Loss(8), 80),
        (Loss(10_000_000_000), Loss(7_999_999_999), Loss(8_000_000_000), 80),
        (Loss(10, 10), Loss(1, 7), Loss(1, 8), 80),
        (Loss(10, 3), Loss(7, 2), Loss(9, 1), 90),
        (Loss(10), Loss(1, 5), Loss(25), 250),
        (Loss.of_rho(5), Loss.of_rho(3), Loss.of_rho(4), 80),
        (Loss.of_rho(3), Loss.of_rho(2), Loss.of_rho(3), 100),
    ],
)
def test_a_notice_begins_exactly_at_the_threshold(
    limit: Loss, below: Loss, reached: Loss, percent: int, auditor: str | None
) -> None:
    [notice] = of(Balance(limit, below), Balance(limit, reached), auditor=auditor)

    assert not of(Balance(limit, reached), Balance(limit, below), auditor=auditor)
    assert (notice.kind, notice.spent_percent) == ("budget-spent" if auditor else "cap-spent", percent)
    assert (notice.limit, notice.left) == (limit, limit.left_after(reached))
    assert notice.since == BEGAN + timedelta(days=1)


def test_it_says_since_when_it_lasts_and_not_since_when_it_first_was() -> None:
    much, little = Balance(Loss(10), Loss(9)), Balance(Loss(20), Loss(9))

    [notice] = of(much, little, much, Balance(Loss(11), Loss(10)), much)

    assert notice.since == BEGAN + timedelta(days=2)
    assert notice.identity == of(much, little, much)[0].identity != of(much)[0].identity


def test_what_is_well_is_not_looked_through() -> None:
    """A ledger may have a million entries; a page looks at one of each account."""
    [newest] = entries(Balance(Loss(10), Loss(1)))
    history = ListedHistory([newest])

    assert not notices([OpenAccount("register", None, newest, history)], [], [], Thresholds(), NOW)
    assert history.looked_at == 0


@pytest.mark.parametrize("auditor", [None, "ADR"])
@pytest.mark.parametrize("seed", range(20))
def test_the_beginning_is_found_in_few_looks_and_is_that_of_a_walk(auditor: str | None, seed: int) -> None:
    chance = random.Random(seed)
    balances, limit, spent = [], 1000, 0
    for _ in range(300):
        if chance.random() < 0.02:
            limit = chance.randrange(1, 1200)
        else:
            spent += chance.randrange(7)
        balances.append(Balance(Loss(limit), Loss(spent)))
    balances.append(Balance(Loss(spent), Loss(spent)))
    found = entries(*balances, auditor=auditor)
    history = ListedHistory(found)
    reached = [Thresholds().reached(balance.spent, balance.limit) is not None for balance in balances[::-1]]
    expected = found[reached.index(False) - 1]

    [notice] = notices([OpenAccount("register", auditor, found[0], history)], [], [], Thresholds(), NOW)

    assert notice.since == datetime.fromisoformat(expected.at)
    assert history.looked_at <= 2 * 20 + 10


def test_which_amount_is_spent_is_said() -> None:
    [in_delta] = of(Balance(Loss(10, 10), Loss(1, 9)))
    [spent] = of(Balance(Loss.of_rho(5), Loss.of_rho(7)))

    assert in_delta.what == "90 % of the δ that the cap of population register admits is spent."
    assert spent.what == "All of the ρ that the cap of population register admits is spent."


def test_a_cap_of_zero_waits_for_one_and_a_budget_of_zero_is_revoked() -> None:
    nothing = Balance(Loss(0), Loss(5))

    [notice] = of(Balance(Loss(9), Loss(5)), nothing, nothing)

    assert (notice.kind, notice.since) == ("cap-missing", BEGAN + timedelta(days=1))
    assert "waits for a cap" in notice.what
    assert not of(Balance(Loss(5), Loss(5)), nothing, auditor="ADR")


@pytest.mark.parametrize(
    ("left", "noticed"),
    [
        (timedelta(days=14), True),
        (timedelta(days=14, seconds=1), False),
        (timedelta(seconds=1), True),
        (timedelta(0), False),
        (timedelta(days=-9), False),
    ],
)
def test_an_end_is_noticed_from_two_weeks_before_until_it_comes(left: timedelta, noticed: bool) -> None:
    end = NOW + left

    budgets = of(Balance(Loss(10), Loss(1), end.isoformat()), auditor="ADR")
    keys = notices([], [], [EndingKey("0123456789ab", "ADR", end)], Thresholds(), NOW)

    assert [one.kind for one in (*budgets, *keys)] == ["budget-expires", "key-expires"] * noticed
    assert all((one.since, one.until) == (end - timedelta(days=14), end) for one in (*budgets, *keys))


def test_a_budget_may_be_nearly_spent_and_end_soon_and_one_that_ended_is_neither() -> None:
    ending = Balance(Loss(10), Loss(9), (NOW + timedelta(days=1)).isoformat())

    both = of(ending, auditor="ADR")

    assert [one.kind for one in both] == ["budget-spent", "budget-expires"]
    assert not of(ending, auditor="ADR", now=NOW + timedelta(days=1))
    assert not of(Balance(Loss(10), Loss(9), "0001-01-01T00:00:00+00:00"), auditor="ADR")


def request(*, days: int, left: timedelta, identity: str = "sha256:" + "a" * 64) -> Approval:
    """One that waits for so many days in all, of which so much is left."""
    expires = NOW + left
    return Approval(
        id=identity, kind="plan", dataset="register", version=1, auditor="ADR", charge=Loss(1), state="waiting",
        requested=expires - timedelta(days=days), expires=expires,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("days", "left", "since"),
    [
        (60, timedelta(days=14), timedelta(days=14)),
        (60, timedelta(days=14, seconds=1), None),
        (14, timedelta(days=7), timedelta(days=7)),
        (14, timedelta(days=7, seconds=1), None),
        (2, timedelta(seconds=1), timedelta(days=1)),
        (2, timedelta(0), None),
    ],
)
def test_a_request_is_noticed_near_its_end_but_not_in_its_first_half(
    days: int, left: timedelta, since: timedelta | None
) -> None:
    waiting = request(days=days, left=left)

    found = notices([], [waiting], [], Thresholds(), NOW)

    assert [one.kind for one in found] == ["approval-expires"] * (since is not None)
    assert all((one.since, one.until) == (waiting.expires - (since or left), waiting.expires) for one in found)
    assert all((one.account, one.request) == ("ADR", waiting.id) and waiting.id in one.advice for one in found)


def test_two_requests_that_end_together_are_two_notices() -> None:
    both = [request(days=2, left=timedelta(hours=1), identity="sha256:" + name * 64) for name in "ab"]

    found = notices([], both, [], Thresholds(), NOW)

    assert len({one.identity for one in found}) == 2
