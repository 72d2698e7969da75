"""Releases that wait for the ledger share one transaction and one anchoring, and nothing else (docs/adr/0039)."""

import errno
import fcntl
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Final

import pytest
from sqlalchemy import event

from holder_service.domain.errors import BudgetExhausted, RestoreUnrecorded, Unauthenticated, Unavailable
from holder_service.domain.ledger import Event
from holder_service.services.ledger.store import Transaction
from holder_service.services.releases import releases
from holder_service.services.releases.asked import AskedRelease
from holder_service.services.releases.releases import EnteredRelease
from holder_service.storage.database import give_up
from shared.kinds.plans import Plan
from shared.kinds.releases import LedgerPosition
from testing.holders import TestedHolder
from testing.refusals import refused
from testing.registers import plan
from testing.tampering import lose_the_anchored_entry

WAIT_S: Final = 60


def ask(holder: TestedHolder, key: str | None = None, *, draw: int = 1, epsilon: str = "0.1") -> Future[EnteredRelease]:
    """A plan that is prepared and drawn, and waits for the ledger."""
    serving, asked = holder.holder, Plan.model_validate(plan(epsilon=epsilon, draw=draw))
    key_id = (key or holder.auditor_key).split("_")[1]
    auditor = "ADR" if key is None else "second"
    prepared = releases.prepare(serving.store, serving.files, auditor=auditor, dataset="register", asked=asked)
    assert isinstance(prepared, AskedRelease)
    drawn = releases.draw(prepared, engine=serving.engine, seals=serving.seals)
    return releases.enter(serving.store, drawn=drawn, proof=key_id, signing=serving.signing, pace=serving.pace)


@contextmanager
def lane_held(holder: TestedHolder) -> Iterator[list[str]]:
    """Let nothing be written meanwhile; gives what is committed, one word for each transaction, when it may go on."""
    go_on = threading.Event()
    committed: list[str] = []
    store = holder.holder.store
    event.listen(store.database._engine, "commit", lambda _: committed.append("commit"))
    held = store.database.in_lane(lambda: go_on.wait(WAIT_S))
    try:
        yield committed
    finally:
        go_on.set()
        held.result(WAIT_S)


def charges(holder: TestedHolder) -> list[str]:
    return [entry["subject"] for entry in holder.entries() if entry["kind"] == "charge"]


def test_what_waits_together_is_committed_together(holder: TestedHolder) -> None:
    """One transaction, one time; an entry, a receipt and a remaining budget for each."""
    with lane_held(holder) as committed:
        waiting = [ask(holder, draw=draw) for draw in range(1, 6)]
        assert not any(one.done() for one in waiting)
        committed.clear()

    entered = [one.result(WAIT_S) for one in waiting]
    assert committed == ["commit"]
    assert all(one.new for one in entered)
    sequences = [one.release.sequence for one in entered]
    assert sequences == list(range(sequences[0], sequences[0] + 5))
    assert len({one.release.created for one in entered}) == 1
    assert charges(holder) == [one.release.id for one in entered]
    left = [holder.release(plan(draw=draw)).json()["remaining"]["epsilon"] for draw in range(1, 6)]
    assert left == ["9.9", "9.8", "9.7", "9.6", "9.5"]
    assert holder.holder.store.anchored() is not None
    assert holder.auditor("GET", "/ledger/head").json()["sequence"] == sequences[-1]
    assert holder.is_intact()


def test_each_is_refused_by_itself(holder: TestedHolder) -> None:
    """Checked in order, on what those before it left: the first that fit are charged, not the smallest."""
    key = holder.open_auditor("second", epsilon="0.25")
    with lane_held(holder) as committed:
        fits, too_much, fits_too = (
            ask(holder, key, draw=draw, epsilon=epsilon) for draw, epsilon in ((1, "0.2"), (2, "0.1"), (3, "0.05"))
        )
        other, again = ask(holder, draw=1), ask(holder, draw=1)
        stranger = ask(holder, "pafer_000000000000_unknown", draw=9, epsilon="0.01")
        committed.clear()

    assert fits.result(WAIT_S).new
    assert isinstance(too_much.exception(WAIT_S), BudgetExhausted)
    assert fits_too.result(WAIT_S).new
    assert isinstance(stranger.exception(WAIT_S), Unauthenticated)
    assert other.result(WAIT_S).new
    assert not again.result(WAIT_S).new
    assert again.result().release == other.result().release
    assert committed == ["commit"]
    assert charges(holder) == [one.result().release.id for one in (fits, fits_too, other)]
    assert holder.is_intact()


def test_a_fault_of_one_is_its_own(holder: TestedHolder) -> None:
    """Whatever it wrote is gone, and those that shared its transaction are charged, each once."""

    def half_done(transaction: Transaction) -> None:
        transaction.append(Event("account", "holder", subject="nobody"))
        raise KeyError("a bug")

    def refused_too_late(transaction: Transaction) -> None:
        transaction.append(Event("account", "holder", subject="nobody"))
        raise Unauthenticated

    before = len(holder.entries())
    with lane_held(holder):
        first = ask(holder, draw=1)
        faults = [holder.holder.store.commit_shared(work) for work in (half_done, refused_too_late)]
        second = ask(holder, draw=2)

    assert [type(one.exception(WAIT_S)) for one in faults] == [KeyError, RuntimeError]
    assert [one.result(WAIT_S).new for one in (first, second)] == [True, True]
    assert len(holder.entries()) == before + 2
    assert holder.is_intact()


def test_a_failure_of_the_transaction_is_everybodys_and_charges_nobody(holder: TestedHolder) -> None:
    with lane_held(holder):
        waiting = [ask(holder, draw=draw) for draw in (1, 2)]
        asked_in_vain = ask(holder, draw=3, epsilon="9.9")
        lose_the_anchored_entry(holder.settings)

    assert [type(one.exception(WAIT_S)) for one in (*waiting, asked_in_vain)] == [RestoreUnrecorded] * 3
    refused(holder.release(plan()), "restore-unrecorded", holder=holder)
    assert charges(holder) == []


def test_nothing_is_answered_before_the_anchor_and_what_was_committed_is_kept(sqlite_holder: TestedHolder) -> None:
    """Neither a release nor a refusal that follows from one; a failure of the anchor is everybody's."""
    holder = sqlite_holder
    anchor = holder.settings.anchor
    head = holder.auditor("GET", "/ledger/head").json()["sequence"]
    with anchor.open("r+b") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with lane_held(holder):
            waiting = [ask(holder, draw=1, epsilon="6"), ask(holder, draw=2, epsilon="6")]
        until_s = time.monotonic() + WAIT_S
        while holder.auditor("GET", "/ledger/head").json()["sequence"] == head and time.monotonic() < until_s:
            time.sleep(0.01)
        assert holder.auditor("GET", "/ledger/head").json()["sequence"] == head + 1, "it is committed"
        time.sleep(0.2)
        assert not any(one.done() for one in waiting)

    assert waiting[0].result(WAIT_S).new
    assert isinstance(waiting[1].exception(WAIT_S), BudgetExhausted)


def test_a_failure_of_the_anchor_is_everybodys_and_what_was_committed_is_kept(
    sqlite_holder: TestedHolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    holder = sqlite_holder

    def fail(_: LedgerPosition) -> None:
        raise OSError(errno.ENOSPC, "no space left")

    with monkeypatch.context() as failing:
        failing.setattr(holder.holder.store.anchor, "advance", fail)
        with lane_held(holder):
            waiting = [ask(holder, draw=draw, epsilon="6") for draw in (1, 2)]
        assert all(isinstance(one.exception(WAIT_S), Unavailable) for one in waiting)

    again = [holder.release(plan(draw=draw, epsilon="6")) for draw in (1, 2)]

    assert [answer.status_code for answer in again] == [200, 403], "the first was committed, and is charged once"
    assert len(charges(holder)) == 1
    assert holder.is_intact()


def test_who_waits_too_long_takes_it_back_and_is_not_charged(holder: TestedHolder) -> None:
    with lane_held(holder):
        impatient, patient = ask(holder, draw=1), ask(holder, draw=2)
        with pytest.raises(Unavailable):
            give_up(impatient)

    assert patient.result(WAIT_S).new
    give_up(patient)
    assert charges(holder) == [patient.result().release.id]
