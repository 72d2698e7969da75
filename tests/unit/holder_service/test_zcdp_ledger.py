"""An account that adds up ρ: its balances, its entries, and questions chosen in view of all answers (8-time §1)."""

from dataclasses import replace
from datetime import UTC, datetime
from fractions import Fraction

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from holder_service.domain.ledger import GENESIS, Balance, BrokenLedger, Entry, Event, Replay
from shared.privacy.amounts import NANO_PER_UNIT, NO_LOSS, Loss, MixedAccounts
from shared.privacy.charges import SUM, AccountTerms, Charge

NOW = datetime(2026, 1, 1, tzinfo=UTC)
DELTA = 1000
CAP = Balance(Loss.of_rho(100, DELTA))
LIMIT = Balance(Loss.of_rho(50, DELTA))


def chain(*events: Event) -> list[Entry]:
    """Entries for some events, properly chained."""
    entries: list[Entry] = []
    for sequence, event in enumerate(events, start=1):
        previous = entries[-1].hash if entries else GENESIS
        entries.append(
            Entry.chained(
                sequence=sequence, at=NOW.isoformat(), event=event, nonce=f"{sequence:032x}", previous=previous
            )
        )
    return entries


def replayed(*events: Event) -> Replay:
    replay = Replay()
    for entry in chain(*events):
        replay.apply(entry)
    return replay


def opened(cap: Balance = CAP, account: Balance = LIMIT) -> tuple[Event, Event]:
    return (
        Event("population", "admin", population="p", cap=cap),
        Event("budget", "admin", population="p", auditor="a", cap=cap, account=account),
    )


def charge(loss: Loss, cap: Balance, account: Balance) -> Event:
    return Event("charge", "a", population="p", auditor="a", loss=loss, cap=cap, account=account)


def test_a_charge_in_rho_replays_and_keeps_no_epsilon() -> None:
    loss = Loss.of_rho(30, DELTA)
    cap, account = CAP.charged(loss), LIMIT.charged(loss)

    replay = replayed(*opened(), charge(loss, cap, account))

    assert replay.caps["p"].spent == Loss.of_rho(30, DELTA)
    assert replay.accounts["p", "a"].remaining(NOW) == Loss.of_rho(20, DELTA)
    document = chain(*opened(), charge(loss, cap, account))[-1].document()
    assert (document["epsilon_nano"], document["delta_nano"], document["rho_nano"]) == (0, DELTA, 30)
    assert document["cap"] == {
        "limit_epsilon_nano": 0, "limit_delta_nano": DELTA, "spent_epsilon_nano": 0, "spent_delta_nano": 0,
        "limit_rho_nano": 100, "spent_rho_nano": 30, "expires": None,
    }  # fmt: skip
    assert Balance.of_document(document["cap"]) == cap


def test_an_entry_in_epsilon_has_no_member_more_than_before() -> None:
    entry = chain(Event("population", "admin", population="p", cap=Balance(Loss(100, 5))))[0].document()

    assert "rho_nano" not in entry
    assert set(entry["cap"]) == {
        "limit_epsilon_nano", "limit_delta_nano", "spent_epsilon_nano", "spent_delta_nano", "expires"
    }  # fmt: skip


@pytest.mark.parametrize(
    ("loss", "cap", "account"),
    [
        (Loss.of_rho(51, DELTA), CAP.charged(Loss.of_rho(51, DELTA)), LIMIT.charged(Loss.of_rho(51, DELTA))),
        (Loss.of_rho(30, DELTA), CAP.charged(Loss.of_rho(29, DELTA)), LIMIT.charged(Loss.of_rho(30, DELTA))),
        (Loss.of_rho(30, DELTA), CAP.charged(Loss.of_rho(30, DELTA)), LIMIT),
        (Loss(30), CAP.charged(Loss.of_rho(30, DELTA)), LIMIT.charged(Loss.of_rho(30, DELTA))),
        (NO_LOSS, CAP.charged(Loss.of_rho(30, DELTA)), LIMIT.charged(Loss.of_rho(30, DELTA))),
    ],
    ids=["above the budget", "too little", "not at all", "in epsilon", "nothing"],
)
def test_a_charge_that_does_not_follow_is_found_out(loss: Loss, cap: Balance, account: Balance) -> None:
    with pytest.raises(BrokenLedger):
        replayed(*opened(), charge(loss, cap, account))


def test_a_charge_in_rho_to_an_account_in_epsilon_is_found_out() -> None:
    cap, account = Balance(Loss(10**12)), Balance(Loss(10**12))
    loss = Loss.of_rho(1, DELTA)

    with pytest.raises(MixedAccounts):
        cap.charged(Loss(1)).charged(loss)
    with pytest.raises(BrokenLedger):
        replayed(*opened(cap, account), charge(loss, Balance(cap.limit), Balance(account.limit)))


def test_the_kind_is_fixed_by_the_first_charge() -> None:
    other = Balance(Loss(10**9))
    loss = Loss.of_rho(30, DELTA)
    charged = CAP.charged(loss), LIMIT.charged(loss)

    assert replayed(opened()[0], Event("cap", "admin", population="p", cap=other)).caps["p"].terms == SUM
    with pytest.raises(BrokenLedger):
        replayed(*opened(), charge(loss, *charged), Event("cap", "admin", population="p", cap=other))
    with pytest.raises(MixedAccounts):
        charged[0].limited(Loss(10**9))


def test_a_closed_account_is_of_its_kind_and_pays_nothing() -> None:
    closed = CAP.closed()

    assert closed.terms == AccountTerms("zcdp", DELTA)
    assert closed.document()["limit_rho_nano"] == 0
    assert not closed.affords(Loss.of_rho(0, DELTA), NOW)
    assert Balance(Loss(7)).closed() == Balance()


def test_spending_is_read_at_the_delta_of_the_limit() -> None:
    spent = CAP.charged(Loss.of_rho(30, DELTA)).limited(Loss.of_rho(100, 10 * DELTA)).spent

    assert spent == Loss.of_rho(30, 10 * DELTA)


def test_a_merge_adds_what_was_spent_in_rho() -> None:
    one, other = (replace(LIMIT, spent=Loss.of_rho(spent, DELTA)) for spent in (20, 30))

    assert one.joined(other).spent == Loss.of_rho(50, DELTA)
    with pytest.raises(MixedAccounts):
        one.joined(Balance(Loss(5), Loss(1)))


class AdaptiveQuestions(RuleBasedStateMachine):
    """An auditor who chooses each question in view of the balance; a running sum in exact fractions beside the ledger.

    A charge that was taken never brings the sum of the exact losses above the cap, nor is one refused that fits.
    """

    @initialize(rho_nano=st.integers(1, 10**8))
    def open(self, rho_nano: int) -> None:
        self.replay, self.sequence = Replay(), 0
        self.limit = Fraction(rho_nano, NANO_PER_UNIT)
        self.exact, self.entered = Fraction(0), 0
        self.balance = Balance(Loss.of_rho(rho_nano, DELTA))
        self.apply(Event("population", "admin", population="p", cap=self.balance))
        self.apply(Event("budget", "admin", population="p", auditor="a", cap=self.balance, account=self.balance))

    def apply(self, event: Event) -> None:
        self.sequence += 1
        entry = Entry.chained(
            sequence=self.sequence, at=NOW.isoformat(), event=event, nonce="0" * 32, previous=self.replay.hash
        )
        self.replay.apply(entry)

    def ask(self, charge: Charge, exact: Fraction) -> None:
        loss = charge.entered(self.balance.terms)
        fits = self.entered + charge.rho_nano <= self.limit * NANO_PER_UNIT
        assert self.balance.affords(loss, NOW) == fits
        after = self.balance.charged(loss)
        event = Event("charge", "a", population="p", auditor="a", loss=loss, cap=after, account=after)
        if not fits:
            with pytest.raises(BrokenLedger):
                self.apply(event)
            self.sequence -= 1
            return
        self.apply(event)
        self.balance, self.exact, self.entered = after, self.exact + exact, self.entered + charge.rho_nano

    @rule(epsilon_nano=st.integers(10**6, 10**8), classes=st.integers(1, 5))
    def ask_in_epsilon(self, epsilon_nano: int, classes: int) -> None:
        epsilon = Fraction(epsilon_nano, NANO_PER_UNIT)
        self.ask(Charge.pure(epsilon_nano) * classes, classes * epsilon**2 / 2)

    @rule(part=st.fractions(0, 2))
    def ask_for_a_part_of_what_is_left(self, part: Fraction) -> None:
        left = self.balance.remaining(NOW).rho_nano or 0
        rho_nano = int(left * part)
        self.ask(Charge(None, rho_nano), Fraction(rho_nano, NANO_PER_UNIT))

    @rule(over=st.integers(0, 1))
    def ask_for_all_that_is_left(self, over: int) -> None:
        rho_nano = (self.balance.remaining(NOW).rho_nano or 0) + over
        self.ask(Charge(None, rho_nano), Fraction(rho_nano, NANO_PER_UNIT))

    @invariant()
    def the_cap_holds(self) -> None:
        if self.sequence:
            assert self.exact <= Fraction(self.entered, NANO_PER_UNIT) <= self.limit
            assert self.replay.caps["p"] == self.balance
            assert self.balance.spent.rho_nano == self.entered


TestAdaptiveQuestions = AdaptiveQuestions.TestCase
TestAdaptiveQuestions.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
