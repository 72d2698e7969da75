"""A recorded restore: only after one, never an anchor back, and no cap is open that the ledger cannot vouch for."""

from collections.abc import Callable
from contextlib import closing

import pytest

from holder_service.domain.errors import Conflict
from holder_service.services.accounts import access
from holder_service.services.ledger import reading as ledger_reading
from holder_service.services.running.holder import Holder
from holder_service.storage.anchor import Anchor
from shared.contract.datasets import NewAuditor
from shared.kinds.releases import LedgerPosition
from testing.holders import TestedHolder
from testing.refusals import refused
from testing.registers import plan, register_csv
from testing.tampering import lose_the_anchored_entry


def test_a_restore_is_refused_when_nothing_was_restored(holder: TestedHolder) -> None:
    before = holder.entries()

    refused(holder.admin("POST", "/ledger/restore", json={"reason": "a drill"}), "conflict", holder=holder)

    assert holder.entries() == before
    assert holder.release(plan()).status_code == 201


def test_a_restore_closes_every_cap_until_it_is_declared_again(holder: TestedHolder) -> None:
    """Opened again by another declaration of the cap, and by nothing else; answers that were given before are free."""
    holder.declare("apart", cap={"epsilon": "3", "delta": "0.1"})
    holder.load(register_csv(), "apart")
    holder.declare("joined", cap={"epsilon": "1", "delta": "0"})
    holder.admin("POST", "/populations/apart/merge", json={"population": "joined"})
    given = holder.release(plan(draw=1))
    lose_the_anchored_entry(holder.settings)

    recorded = holder.admin("POST", "/ledger/restore", json={"reason": "the disk failed"})

    assert recorded.status_code == 201
    assert recorded.json()["closed"] == ["apart", "register"]
    assert holder.release(plan(draw=1)).content == given.content
    refused(holder.release(plan(draw=2)), "cap-exhausted", holder=holder)
    holder.open_auditor("second", epsilon="5", dataset="apart")
    holder.declare(cap=None, records_max=20_000)
    refused(holder.release(plan(draw=2)), "cap-exhausted", holder=holder)
    assert holder.admin("POST", "/ledger/verify").json()["reason"] is None
    holder.declare(cap={"epsilon": "0.2", "delta": "0"}, records_max=20_000)
    assert holder.release(plan(draw=2)).status_code == 201
    refused(holder.release(plan(draw=3)), "cap-exhausted", holder=holder)
    assert holder.admin("POST", "/ledger/verify").json()["reason"] is None


def test_counts_that_cost_nothing_are_closed_too(sqlite_holder: TestedHolder) -> None:
    """A cap of which nothing was spent, too: what the ledger lost may have been anything."""
    columns = [
        {"name": "age", "type": "integer", "minimum": 0, "maximum": 120},
        {"name": "report", "type": "category", "categories": ["a", "b"], "sensitive": True,
         "randomised_response": {"kept": "0.7"}},
    ]  # fmt: skip
    sqlite_holder.declare("local", columns=columns, relation="sensitive_attribute")
    sqlite_holder.load(b"id,age,report\np1,3,a\np2,4,b\n", "local")
    key = sqlite_holder.open_auditor("second", epsilon="5", dataset="local")
    asked = plan(mechanism={"name": "randomised_response"}, sensitive=["report"])
    assert sqlite_holder.release({**asked, "draw": 1}, dataset="local", key=key).status_code == 201
    lose_the_anchored_entry(sqlite_holder.settings)

    sqlite_holder.admin("POST", "/ledger/restore", json={"reason": "the disk failed"})

    again = sqlite_holder.release({**asked, "draw": 2}, dataset="local", key=key)
    refused(again, "cap-exhausted", holder=sqlite_holder)


def test_after_a_restore_nobody_can_say_that_nothing_was_charged(holder: TestedHolder) -> None:
    """A copy from before the first charge: relation and sensitive columns are bound all the same, also by a merge."""
    holder.declare("apart")
    holder.load(register_csv(), "apart")
    lose_the_anchored_entry(holder.settings)
    holder.admin("POST", "/ledger/restore", json={"reason": "the disk failed"})
    holder.declare("later")

    refused(holder.declare(relation="replace"), "already-charged", holder=holder)
    assert holder.admin("POST", "/populations/later/merge", json={"population": "apart"}).status_code == 204
    holder.admin("DELETE", "/datasets/apart")
    refused(holder.declare("later", relation="replace"), "already-charged", holder=holder)
    assert holder.declare("new", relation="replace").status_code == 200
    assert holder.declare("new", relation="sensitive_attribute").status_code == 200


def test_a_restore_never_takes_the_anchor_behind_an_answer_that_left(sqlite_holder: TestedHolder) -> None:
    """Another process commits, anchors and answers between the restore's commit and its anchor."""
    lose_the_anchored_entry(sqlite_holder.settings)
    one, two = sqlite_holder.holder, Holder.open(sqlite_holder.settings)
    restore = one.store.anchor.restore
    left: list[LedgerPosition] = []

    def late(head: LedgerPosition, *, has: Callable[[LedgerPosition], bool]) -> None:
        # What the other process would find if its own record of the restore came between.
        Anchor(sqlite_holder.settings.anchor).create(head)
        access.open_account(two.store, actor="administrator", new=NewAuditor(name="later"))
        left.append(ledger_reading.head(two.store))
        restore(head, has=has)

    one.store.anchor.restore = late  # type: ignore[method-assign]
    with closing(two):
        ledger_reading.record_restore(one.store, actor="administrator", reason="the disk failed")

    assert [one.store.anchored()] == left
    with pytest.raises(Conflict):
        ledger_reading.record_restore(one.store, actor="administrator", reason="again")


def test_nobody_is_named_as_the_command_line_is_in_the_ledger(sqlite_holder: TestedHolder) -> None:
    by_the_command_line = {entry["actor"] for entry in sqlite_holder.entries()[:2]}
    assert by_the_command_line == {"holder"}

    for name in ("holder", "Holder", "HOLDER"):
        for role in ("auditor", "administrator"):
            opened = sqlite_holder.admin("POST", "/auditors", json={"name": name, "role": role})
            refused(opened, "invalid-request", holder=sqlite_holder)
    assert sqlite_holder.admin("POST", "/auditors", json={"name": "holder-2"}).status_code == 201
