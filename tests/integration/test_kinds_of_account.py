"""An account of nothing is of its population's kind: in ε and δ, or in ρ (8-time §1)."""

import httpx

from testing.console_visitors import visitor
from testing.holders import TestedHolder
from testing.refusals import refused
from testing.registers import plan, register_csv

IN_RHO = {"rho": "0.05", "delta": "0.000001"}
NOTHING_IN_RHO = {"rho": "0", "delta": "0.000001"}
NOTHING = {"epsilon": "0"}


def cap_of(holder: TestedHolder, name: str, cap: dict[str, str]) -> httpx.Response:
    return holder.declare(name, cap=cap)


def limit(holder: TestedHolder, name: str, **amounts: str) -> httpx.Response:
    return holder.admin("PUT", f"/datasets/{name}/budgets/ADR", json=amounts)


def restored(holder: TestedHolder) -> None:
    holder.settings.anchor.unlink()
    assert holder.admin("POST", "/ledger/restore", json={"reason": "lost"}).is_success


def test_a_cap_of_nothing_holds_budgets_to_its_kind(sqlite_holder: TestedHolder) -> None:
    holder = sqlite_holder
    for name, nothing, granted, other in (
        ("sums", NOTHING, {"epsilon": "1"}, IN_RHO),
        ("rhos", NOTHING_IN_RHO, {"rho": "0.01"}, {"epsilon": "1"}),
    ):
        assert cap_of(holder, name, nothing).is_success
        assert limit(holder, name, **granted).is_success

        refused(cap_of(holder, name, other), "conflict", holder=holder)

        assert limit(holder, name, epsilon="0").is_success
        assert cap_of(holder, name, other).is_success
    assert holder.is_intact()


def test_a_cap_that_a_restore_closed_keeps_its_kind_although_no_charge_is_left(sqlite_holder: TestedHolder) -> None:
    holder = sqlite_holder
    for name, cap in (("sums", {"epsilon": "1"}), ("rhos", IN_RHO), ("closed", NOTHING_IN_RHO)):
        assert cap_of(holder, name, cap).is_success
    restored(holder)

    refused(cap_of(holder, "sums", IN_RHO), "already-charged", holder=holder)
    refused(cap_of(holder, "rhos", {"epsilon": "1"}), "already-charged", holder=holder)
    refused(cap_of(holder, "closed", NOTHING), "already-charged", holder=holder)

    kinds = {name: "account" in holder.auditor("GET", f"/datasets/{name}").json() for name in ("sums", "rhos")}
    assert kinds == {"sums": False, "rhos": True}
    with visitor(holder) as visits:
        page = visits.get("/console/datasets/rhos").text
        again = {"epsilon": "", "rho": "0.05", "delta": "0.000001"}
        assert "ρ 0.05" in visits.send("/console/datasets/rhos", again, to="cap").text
    assert '"rho": "0"' in page
    assert holder.is_intact()


def test_who_was_granted_nothing_has_nothing_of_the_kind_of_the_account(sqlite_holder: TestedHolder) -> None:
    holder = sqlite_holder
    cap_of(holder, "rhos", IN_RHO)
    assert holder.load(register_csv(people=5), "rhos").is_success

    budget = holder.auditor("GET", "/datasets/rhos/budget").json()
    problem = refused(holder.release(plan(epsilon="0.1"), dataset="rhos"), "budget-exhausted", holder=holder)

    assert {budget[name]["rho"] for name in ("limit", "spent", "remaining", "spendable")} == {"0"}
    assert problem["remaining"]["rho"] == "0"


def test_budgets_that_were_revoked_in_other_terms_are_merged(sqlite_holder: TestedHolder) -> None:
    holder = sqlite_holder
    for name, before, after in (("one", IN_RHO, {"epsilon": "1"}), ("two", {"epsilon": "1"}, IN_RHO)):
        cap_of(holder, name, before)
        limit(holder, name, epsilon="0")
        assert cap_of(holder, name, after).is_success
        assert cap_of(holder, f"other-{name}", after).is_success
        granted = {amount: text for amount, text in after.items() if amount != "delta"}
        assert limit(holder, f"other-{name}", **granted).is_success

        merged = holder.admin("POST", f"/populations/{name}/merge", json={"population": f"other-{name}"})

        assert merged.is_success, merged.text
        found = holder.auditor("GET", f"/datasets/{name}/budget").json()["limit"]
        assert (found.get("rho"), found["epsilon"]) == ((None, "1") if name == "one" else ("0.05", "1.471595"))
    assert holder.is_intact()
