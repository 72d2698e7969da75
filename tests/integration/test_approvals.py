"""Four eyes: what is asked waits, is decided, and is answered once; nothing is asked around it (docs/approvals.md)."""

import json
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import httpx
import pytest
from sqlalchemy import event
from typer.testing import CliRunner

from holder_service.cli import app
from holder_service.domain.approvals import ApprovalReplay
from holder_service.domain.errors import ApprovalDeclined, Conflict
from holder_service.domain.ledger import BrokenLedger
from holder_service.domain.table_facts import TableFacts
from holder_service.services.accounts.access import Proof
from holder_service.services.releases import approvals, releases
from holder_service.services.releases.asked import AskedRelease
from holder_service.storage import ledger_views
from holder_service.storage.ledger_views import EntryFilter
from shared.kinds.plans import Plan
from shared.wire import limits
from shared.wire.canonical import sha256_name
from testing.console_visitors import visitor
from testing.holders import TestedHolder, running_holder
from testing.postgres import PostgresServer
from testing.refusals import refused
from testing.registers import (
    DECLARATION,
    LEARNABLE,
    learnable_csv,
    linked_column,
    linked_values,
    plan,
    register_csv,
    training,
    watch,
)
from testing.tampering import lose_the_anchored_entry

YES: Final = {"approved": True, "reason": "As agreed in October"}
COLUMNS: Final = "/datasets/register/columns"
NO: Final = {"approved": False, "reason": "Too fine for so few people"}


@pytest.fixture
def strict(sqlite_holder: TestedHolder) -> TestedHolder:
    """A holder whose register requires approvals."""
    require(sqlite_holder)
    return sqlite_holder


def require(holder: TestedHolder, population: str = "register", *, required: bool = True, days: int = 14) -> None:
    answer = holder.admin("PUT", f"/populations/{population}/approval", json={"required": required, "days": days})
    assert answer.status_code == 200, answer.text


def decide(holder: TestedHolder, identity: str, decision: dict[str, Any]) -> httpx.Response:
    """Decide about what is asked now, unless the decision says what was seen."""
    seen = {} if "entry" in decision else {"entry": entry(holder, identity)}
    return holder.admin("PUT", f"/approvals/{identity}/decision", json=seen | decision)


def entry(holder: TestedHolder, identity: str) -> int:
    """The newest entry about a request, as an officer sees it; one that there is, where nothing was asked."""
    return int(holder.admin("GET", f"/approvals/{identity}").json().get("entry", 1))


def waits(answer: httpx.Response) -> str:
    """The id of what waits."""
    assert answer.status_code == 202, answer.text
    document = answer.json()
    assert document["state"] == "waiting"
    return str(document["id"])


def state(holder: TestedHolder, identity: str, dataset: str = "register") -> str:
    return str(holder.auditor("GET", f"/datasets/{dataset}/approvals/{identity}").json()["state"])


def verified(holder: TestedHolder) -> None:
    found = holder.admin("POST", "/ledger/verify").json()
    assert found["intact"], found


def test_a_plan_waits_is_approved_and_answered_once(strict: TestedHolder) -> None:
    described = strict.auditor("GET", "/datasets/register").json()
    asked = strict.auditor("POST", "/datasets/register/releases", json=plan(), params={"purpose": "Yearly audit"})
    identity = waits(asked)
    entries = len(strict.entries())
    again = strict.release(plan())
    full = strict.admin("GET", f"/approvals/{identity}").json()
    decided = decide(strict, identity, YES).json()
    answer = strict.release(plan())
    charge = strict.entries()[-1]

    assert described["approval"] == {"required": True, "days": 14}
    document = asked.json()
    assert again.json() == document
    assert len(strict.entries()) == entries + 2, "asked twice is one request; then a decision and a charge"
    assert (document["charge"], document["purpose"]) == ({"epsilon": "0.1", "delta": "0"}, "Yearly audit")
    stands = datetime.fromisoformat(document["expires"]) - datetime.fromisoformat(document["requested"])
    assert stands == timedelta(days=14)
    assert full["plan"]["batches"][0]["epsilon"] == "0.1"
    assert (full["budget"]["remaining"]["epsilon"], full["cap"]["remaining"]["epsilon"]) == ("10", "100")
    assert (decided["state"], decided["decided_by"], decided["reason"]) == ("approved", "administrator", YES["reason"])
    assert answer.status_code == 201
    assert answer.json()["id"] == identity
    assert charge["detail"] == {"approval": charge["sequence"] - 1, "purpose": "Yearly audit"}
    assert strict.spent() == "0.1"
    assert state(strict, identity) == "answered"
    assert strict.release(plan()).status_code == 200
    refused(decide(strict, identity, NO), "conflict", holder=strict)
    assert strict.admin("GET", f"/approvals/{identity}").json()["plan"] == full["plan"], "its release keeps it"
    verified(strict)


def test_trainings_and_watches_wait_too_and_answers_of_a_watch_do_not(sqlite_holder: TestedHolder) -> None:
    holder = sqlite_holder
    holder.offer("loans", learnable_csv(), epsilon="5", columns=LEARNABLE["columns"])
    for population in ("register", "loans"):
        require(holder, population)

    trained = waits(holder.auditor("POST", "/datasets/loans/trainings", json=training()))
    watched = waits(holder.auditor("POST", "/datasets/register/watches", json=watch()))
    shown = [holder.admin("GET", f"/approvals/{one}").json() for one in (trained, watched)]
    for one in (trained, watched):
        assert decide(holder, one, YES).status_code == 200
    first = holder.auditor("POST", "/datasets/loans/trainings", json=training())
    second = holder.auditor("POST", "/datasets/register/watches", json=watch())
    holder.load(register_csv(seed=2))

    assert [one["kind"] for one in shown] == ["training", "watch"]
    assert shown[0]["training"]["features"][0]["column"] == "age"
    assert shown[1]["watch"]["threshold"] == "0.8"
    assert (first.status_code, second.status_code) == (201, 201)
    verified(holder)


def test_a_decline_stands_and_can_be_changed(strict: TestedHolder) -> None:
    identity = waits(strict.release(plan()))
    declined = decide(strict, identity, NO)
    refusal = refused(strict.release(plan()), "approval-declined", holder=strict)
    withdrawn = strict.auditor("DELETE", f"/datasets/register/approvals/{identity}")
    decide(strict, identity, YES)

    assert declined.json()["state"] == "declined"
    assert NO["reason"] in refusal["detail"]
    assert refusal["reason"] == NO["reason"]
    refused(withdrawn, "conflict", holder=strict)
    assert strict.release(plan()).status_code == 201
    verified(strict)


def test_what_is_taken_back_is_asked_anew(strict: TestedHolder) -> None:
    identity = waits(strict.release(plan()))
    decide(strict, identity, YES)

    gone = [strict.auditor("DELETE", f"/datasets/register/approvals/{identity}").status_code for _ in range(2)]

    assert gone == [204, 204]
    assert state(strict, identity) == "withdrawn"
    refused(decide(strict, identity, YES), "conflict", holder=strict)
    assert waits(strict.release(plan())) == identity
    verified(strict)


def test_a_request_ends_with_its_days_whatever_was_decided(strict: TestedHolder) -> None:
    store = strict.holder.store
    approved, declined, left = (waits(strict.release(plan(draw=draw))) for draw in (1, 2, 3))
    decide(strict, approved, YES)
    decide(strict, declined, NO)

    store.clock = lambda: datetime.now(UTC) + timedelta(days=14)
    states = [state(strict, one) for one in (approved, declined, left)]
    listed = strict.admin("GET", "/approvals?state=expired").json()["approvals"]
    late = decide(strict, left, YES)
    anew = [waits(strict.release(plan(draw=draw))) for draw in (1, 2, 3)]

    assert states == ["expired"] * 3
    assert [one["id"] for one in listed] == [approved, declined, left]
    refused(late, "conflict", holder=strict)
    assert anew == [approved, declined, left]
    assert strict.spent() == "0"
    verified(strict)


def test_what_waits_near_its_end_is_noticed_until_somebody_decides(strict: TestedHolder) -> None:
    """By list, metric and page; what was decided or taken back is not, nor what was only just asked."""
    store = strict.holder.store
    approved, declined, withdrawn, left = (waits(strict.release(plan(draw=draw))) for draw in (1, 2, 3, 4))
    decide(strict, approved, YES)
    decide(strict, declined, NO)
    strict.auditor("DELETE", f"/datasets/register/approvals/{withdrawn}").raise_for_status()

    at_first = strict.admin("GET", "/notices").json()["notices"]
    store.clock = lambda: datetime.now(UTC) + timedelta(days=8)
    later = strict.admin("GET", "/notices").json()["notices"]
    with visitor(strict) as visits:
        [lead] = [one["href"] for one in visits.get("/console").all("a") if "/approvals/" in one["href"]]
        led_to = visits.get(lead).text
    metrics = strict.metrics().text
    store.clock = lambda: datetime.now(UTC) + timedelta(days=14)
    over = strict.admin("GET", "/notices").json()["notices"]

    assert at_first == over == []
    assert [(one["kind"], one["account"], one["request"]) for one in later] == [("approval-expires", "ADR", left)]
    assert left.removeprefix("sha256:") in lead
    assert "age ≤ 40" in led_to
    assert 'holder_notices{kind="approval-expires",population=""} 1.0' in metrics


def other_version(holder: TestedHolder) -> httpx.Response:
    holder.load(register_csv(seed=5))
    return holder.release(plan())


def other_auditor(holder: TestedHolder) -> httpx.Response:
    return holder.release(plan(), key=holder.open_auditor("ELSE", epsilon="1"))


def other_dataset(holder: TestedHolder) -> httpx.Response:
    holder.declare("second", population="register")
    holder.load(register_csv(), "second")
    return holder.release(plan(), dataset="second")


def merged_population(holder: TestedHolder) -> httpx.Response:
    holder.offer("third", register_csv())
    holder.admin("POST", "/populations/third/merge", json={"population": "register"})
    return holder.release(plan(), dataset="third")


def other_charge(holder: TestedHolder) -> httpx.Response:
    return holder.release(plan(epsilon="0.2"))


AROUND: Final[dict[str, Callable[[TestedHolder], httpx.Response]]] = {
    found.__name__: found for found in (other_version, other_auditor, other_dataset, merged_population, other_charge)
}


@pytest.mark.parametrize("way", AROUND)
def test_an_approval_is_for_one_identity_and_nothing_is_asked_around_it(strict: TestedHolder, way: str) -> None:
    identity = waits(strict.release(plan()))
    decide(strict, identity, YES)
    spent = strict.spent()

    around = AROUND[way](strict)

    assert waits(around) != identity
    assert strict.spent() == spent
    verified(strict)


def test_a_refinement_needs_an_approval_of_its_own(sqlite_holder: TestedHolder) -> None:
    first = sqlite_holder.release(plan()).json()
    require(sqlite_holder)
    finer = {**first["plan"], "refines": first["id"]}
    finer["batches"] = [{**batch, "epsilon": "0.2"} for batch in finer["batches"]]

    identity = waits(sqlite_holder.release(finer))

    assert sqlite_holder.release(plan()).status_code == 200, "what was answered before needs none"
    decide(sqlite_holder, identity, YES)
    assert sqlite_holder.release(finer).status_code == 201
    verified(sqlite_holder)


def test_an_approval_is_outdated_when_records_are_replaced(strict: TestedHolder) -> None:
    identity = waits(strict.release(plan()))
    decide(strict, identity, YES)
    strict.load(register_csv(seed=9))

    assert state(strict, identity) == "outdated"
    refused(decide(strict, identity, YES), "conflict", holder=strict)
    refused(strict.release(plan(version=1)), "version-gone", holder=strict)
    verified(strict)


def test_another_price_of_the_same_is_another_request(sqlite_holder: TestedHolder) -> None:
    """An account in ρ that is read at another δ, and another relation before anything was charged."""
    holder = sqlite_holder
    holder.declare("rho", cap={"rho": "0.5", "delta": "0.000001"})
    holder.load(register_csv(), "rho")
    holder.admin("PUT", "/datasets/rho/budgets/ADR", json={"rho": "0.4"})
    for population in ("register", "rho"):
        require(holder, population)
    read, related = waits(holder.release(plan(), dataset="rho")), waits(holder.release(plan()))
    for identity in (read, related):
        decide(holder, identity, YES)

    cap = holder.admin("PUT", "/populations/rho/cap", json={"cap": {"rho": "0.5", "delta": "0.00001"}})
    declared = holder.declare(relation="replace")

    assert (cap.status_code, declared.status_code) == (200, 200)
    assert [state(holder, read, "rho"), state(holder, related)] == ["outdated", "outdated"]
    assert waits(holder.release(plan(), dataset="rho")) == read
    assert waits(holder.release(plan())) == related
    verified(holder)


def test_a_recorded_restore_ends_what_was_approved(strict: TestedHolder) -> None:
    identity = waits(strict.release(plan()))
    decide(strict, identity, YES)
    lose_the_anchored_entry(strict.settings)
    strict.admin("POST", "/ledger/restore", json={"reason": "the disk failed"})
    strict.admin("PUT", "/populations/register/cap", json={"cap": {"epsilon": "20", "delta": "0"}})

    assert state(strict, identity) == "outdated"
    assert waits(strict.release(plan())) == identity
    verified(strict)


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        ("UPDATE approvals SET state = 'approved'", "state"),
        ("UPDATE approvals SET epsilon_nano = 1", "epsilon_nano"),
        ("UPDATE approvals SET document = X'7B7D'", "id"),
        ("UPDATE populations SET approval_days = NULL", "approval_days"),
        ("DELETE FROM approvals", "lacks"),
    ],
)
def test_a_row_that_was_changed_behind_the_ledgers_back_is_found(
    strict: TestedHolder, statement: str, reason: str
) -> None:
    waits(strict.release(plan()))
    with closing(sqlite3.connect(strict.settings.database_url.removeprefix("sqlite:///"))) as connection:
        connection.execute(statement)
        connection.commit()

    found = strict.admin("POST", "/ledger/verify").json()

    assert not found["intact"]
    assert reason in found["reason"]


def test_an_approval_is_for_one_purpose(strict: TestedHolder) -> None:
    def asked(**params: str) -> httpx.Response:
        return strict.auditor("POST", "/datasets/register/releases", json=plan(), params=params)

    identity = waits(asked(purpose="Yearly audit"))
    decide(strict, identity, YES)

    refused(asked(purpose="Marketing"), "conflict", holder=strict)
    assert asked().status_code == 201
    assert strict.entries()[-1]["detail"]["purpose"] == "Yearly audit"
    verified(strict)


def test_who_decides_decides_what_they_have_seen(strict: TestedHolder) -> None:
    """The same plan asked anew for another purpose has the same id, and is another request."""

    def asked(purpose: str) -> httpx.Response:
        return strict.auditor("POST", "/datasets/register/releases", json=plan(), params={"purpose": purpose})

    identity = waits(asked("Yearly audit"))
    seen = entry(strict, identity)
    strict.auditor("DELETE", f"/datasets/register/approvals/{identity}").raise_for_status()
    waits(asked("Marketing"))

    refused(decide(strict, identity, {**YES, "entry": seen}), "conflict", holder=strict)
    assert state(strict, identity) == "waiting"
    seen = entry(strict, identity)
    assert decide(strict, identity, {**YES, "entry": seen}).json()["purpose"] == "Marketing"


def test_only_officers_decide_and_nobody_asked_can(strict: TestedHolder) -> None:
    identity = waits(strict.release(plan()))
    roles = ("auditor", "viewer", "data-steward", "budget-officer", "metrics")
    keys = {
        role: strict.admin("POST", "/auditors", json={"name": f"a-{role}", "role": role}).json()["key"]
        for role in roles
    }
    before, yes = strict.entries(), {**YES, "entry": entry(strict, identity)}

    for role in ("auditor", "viewer", "data-steward", "metrics"):
        path = f"/admin/approvals/{identity}/decision"
        refused(strict.auditor("PUT", path, key=keys[role], json=yes), "forbidden", holder=strict)
        setting = strict.auditor(
            "PUT", "/admin/populations/register/approval", key=keys[role], json={"required": False}
        )
        refused(setting, "forbidden", holder=strict)
    refused(strict.auditor("PUT", f"/admin/approvals/{identity}/decision", json=yes), "forbidden", holder=strict)
    own = strict.auditor("GET", f"/datasets/register/approvals/{identity}", key=keys["auditor"])
    refused(own, "not-found", holder=strict)
    assert strict.entries() == before
    decided = strict.auditor("PUT", f"/admin/approvals/{identity}/decision", key=keys["budget-officer"], json=yes)
    assert decided.json()["decided_by"] == "a-budget-officer"
    seen = strict.auditor("GET", "/admin/approvals", key=keys["viewer"]).json()["approvals"]
    assert [one["state"] for one in seen] == ["approved"]


def test_a_merged_population_requires_it_if_either_did(sqlite_holder: TestedHolder) -> None:
    holder = sqlite_holder
    holder.offer("second", register_csv())
    holder.offer("third", register_csv())
    require(holder, "second", days=30)
    waiting = waits(holder.release(plan(), dataset="second"))
    for source in ("second", "third"):
        answer = holder.admin("POST", "/populations/register/merge", json={"population": source})
        assert answer.status_code == 204, answer.text

    described = holder.auditor("GET", "/datasets/register").json()

    assert described["approval"] == {"required": True, "days": 30}
    waits(holder.release(plan()))
    decide(holder, waiting, YES)
    assert holder.release(plan(), dataset="second").status_code == 201
    verified(holder)


def test_rehearsals_need_none(strict: TestedHolder) -> None:
    strict.admin("POST", "/datasets/register/rehearsal", json={"people": 100})

    assert strict.release(plan(), dataset="register-rehearsal").status_code == 201
    assert "approval" not in strict.auditor("GET", "/datasets/register-rehearsal").json()
    setting = strict.admin("PUT", "/populations/register-rehearsal/approval", json={"required": True})
    refused(setting, "conflict", holder=strict)
    verified(strict)


def test_where_it_is_no_longer_required_requests_are_over(strict: TestedHolder) -> None:
    identity = waits(strict.release(plan()))
    decide(strict, identity, YES)
    require(strict, required=False)
    require(strict)

    assert state(strict, identity) == "outdated"
    waits(strict.release(plan()))
    require(strict, required=False)
    assert strict.release(plan()).status_code == 201
    assert "approval" not in strict.entries()[-1]["detail"]
    verified(strict)


def test_an_auditor_has_only_so_many_open_requests(strict: TestedHolder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "APPROVALS_OPEN_MAX", 2)
    first, _ = (waits(strict.release(plan(draw=draw))) for draw in (1, 2))

    refused(strict.release(plan(draw=3)), "conflict", holder=strict)
    waits(strict.release(plan(draw=1)))
    strict.auditor("DELETE", f"/datasets/register/approvals/{first}")
    waits(strict.release(plan(draw=3)))
    monkeypatch.setattr(limits, "APPROVALS_OPEN_MAX", 9)
    monkeypatch.setattr(limits, "APPROVAL_BYTES_MAX", 900)
    refused(strict.release(plan(draw=4)), "conflict", holder=strict)


def test_who_asks_and_withdraws_all_day_comes_to_an_end(strict: TestedHolder, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is withdrawn is open no more, and its entries stay: nothing else would bound how many there are."""
    monkeypatch.setattr(limits, "FREE_ENTRIES_PER_DAY_MAX", 3)
    for _ in range(3):
        strict.auditor("DELETE", f"/datasets/register/approvals/{waits(strict.release(plan()))}").raise_for_status()
    before = strict.entries()

    refused(strict.release(plan()), "conflict", holder=strict)
    assert strict.entries() == before
    waits(strict.release(plan(), key=strict.open_auditor("ELSE", epsilon="1")))
    strict.holder.store.clock = lambda: datetime.now(UTC) + timedelta(days=1)
    waits(strict.release(plan()))


def test_what_is_over_costs_no_page_of_what_waits_anything(strict: TestedHolder) -> None:
    """Expired or outdated, a row says still that it waits, and there are more of those with every day."""
    store = strict.holder.store
    strict.end_background_work()
    statements: list[str] = []

    def looked() -> int:
        statements.clear()
        assert len(approvals.waiting(store)) == 1
        return len(statements)

    waits(strict.release(plan()))
    event.listen(store.database._engine, "checkout", lambda raw, *_: raw.set_trace_callback(statements.append))
    one_waits = looked()
    strict.load(register_csv(seed=3))
    waits(strict.release(plan()))
    assert looked() == one_waits
    store.clock = lambda: datetime.now(UTC) + timedelta(days=14)
    waits(strict.release(plan(draw=2)))

    assert looked() == one_waits


def test_the_console_lists_what_became_of_the_newest(strict: TestedHolder) -> None:
    for draw in range(1, 9):
        waits(strict.release(plan(draw=draw)))
    for one in approvals.waiting(strict.holder.store)[::2]:
        decide(strict, one.id, NO)

    newest = approvals.latest(strict.holder.store, limit=3)

    assert [one.state for one in newest] == ["declined"] * 3
    assert [one.requested for one in newest] == sorted((one.requested for one in newest), reverse=True)


def test_a_page_goes_on_where_the_last_one_ended(strict: TestedHolder) -> None:
    asked = [waits(strict.release(plan(draw=draw))) for draw in range(1, 6)]

    found: list[str] = []
    after: int | None = 0
    while after is not None:
        page = strict.auditor("GET", f"/datasets/register/approvals?limit=2&after={after}").json()
        found += [one["id"] for one in page["approvals"]]
        after = page["next"]

    assert found == asked


def priced(holder: TestedHolder, asked: Plan) -> AskedRelease:
    found = releases.prepare(holder.holder.store, holder.holder.files, auditor="ADR", dataset="register", asked=asked)
    assert isinstance(found, AskedRelease)
    return found


def enter(holder: TestedHolder, asked: AskedRelease, proof: Proof) -> Any:
    """Draw and charge what was priced before."""
    serving = holder.holder
    drawn = releases.draw(asked, engine=serving.engine, seals=serving.seals)
    charged = releases.enter(serving.store, drawn=drawn, proof=proof, signing=serving.signing, pace=serving.pace)
    return charged.result()


@pytest.mark.parametrize("meanwhile", ["withdrawn", "declined", "expired", "required"])
def test_an_approval_is_looked_at_again_under_the_lock(sqlite_holder: TestedHolder, meanwhile: str) -> None:
    """Between the price and the charge lies the draw: what changed meanwhile holds."""
    holder = sqlite_holder
    if meanwhile != "required":
        require(holder)
        identity = waits(holder.release(plan()))
        decide(holder, identity, YES)
    asked = priced(holder, Plan.model_validate(plan()))

    if meanwhile == "withdrawn":
        holder.auditor("DELETE", f"/datasets/register/approvals/{identity}")
    elif meanwhile == "declined":
        decide(holder, identity, NO)
    elif meanwhile == "expired":
        holder.holder.store.clock = lambda: datetime.now(UTC) + timedelta(days=14)
    else:
        require(holder)

    with pytest.raises((Conflict, ApprovalDeclined)):
        enter(holder, asked, holder.auditor_key_id)
    assert holder.spent() == "0"
    verified(holder)


def test_a_request_with_an_old_key_is_not_written_down(strict: TestedHolder) -> None:
    found = releases.prepare(
        strict.holder.store, strict.holder.files, auditor="ADR", dataset="register", asked=Plan.model_validate(plan())
    )
    assert isinstance(found, approvals.Unapproved)
    strict.admin("DELETE", f"/auditors/ADR/keys/{strict.auditor_key_id}")
    before = strict.entries()

    written = releases.request_approval(
        strict.holder.store, unapproved=found, proof=strict.auditor_key_id, in_full=False
    )

    with pytest.raises(Exception, match="valid key"):
        written.result()
    assert strict.entries() == before


def test_of_two_decisions_at_once_about_one_request_one_holds(strict: TestedHolder) -> None:
    """Whoever comes second has seen another request than there is, and the charge names what was decided."""
    identity = waits(strict.release(plan()))
    seen = {"entry": entry(strict, identity)}
    with ThreadPoolExecutor(2) as officers:
        both = list(officers.map(lambda decision: decide(strict, identity, decision | seen), (YES, NO)))

    [last] = [one for one in strict.entries() if one["kind"] == "approval-decided"]
    answer = strict.release(plan())

    assert sorted(one.status_code for one in both) == [200, 409]
    assert state(strict, identity) == ("answered" if last["detail"]["approved"] else "declined")
    assert answer.status_code == (201 if last["detail"]["approved"] else 403)
    verified(strict)


def test_the_same_decision_again_is_no_entry(strict: TestedHolder) -> None:
    identity = waits(strict.release(plan()))
    first, before = decide(strict, identity, YES), strict.entries()

    assert decide(strict, identity, YES).json() == first.json()
    assert strict.entries() == before
    refused(decide(strict, identity, {"approved": False}), "invalid-request", holder=strict)
    refused(decide(strict, "sha256:" + "0" * 64, YES), "not-found", holder=strict)


def test_on_postgresql_it_is_the_same(
    postgres_server: PostgresServer, tmp_path_factory: pytest.TempPathFactory
) -> None:
    with (
        postgres_server.database() as url,
        running_holder(tmp_path_factory.mktemp("four-eyes"), url) as holder,
    ):
        require(holder)
        identity = waits(holder.release(plan()))
        waits(holder.release(plan(draw=2)))
        decide(holder, identity, YES)

        assert holder.release(plan()).status_code == 201
        assert len(holder.admin("GET", "/approvals?state=waiting").json()["approvals"]) == 1
        verified(holder)


def test_the_ledger_is_verified_with_one_document_in_memory_at_a_time(
    postgres_server: PostgresServer, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Of one auditor there may be 64 MiB, and the driver fetches all that a statement finds."""
    fetched: list[int] = []

    def count(connection: Any, cursor: Any, *_: Any) -> None:
        if any(column.name == "document" for column in cursor.description or ()):
            fetched.append(cursor.rowcount)

    with (
        postgres_server.database() as url,
        running_holder(tmp_path_factory.mktemp("documents"), url) as holder,
    ):
        require(holder)
        for draw in range(1, 6):
            waits(holder.release(plan(draw=draw)))
        event.listen(holder.holder.store.database._engine, "after_cursor_execute", count)

        verified(holder)

    assert fetched == [1] * 5


def test_nothing_of_a_202_depends_on_a_record(sqlite_holder: TestedHolder, tmp_path_factory: Any) -> None:
    """Two holders with other people answer alike, and no record is read: their files can be away."""
    answers = []
    for seed in (0, 1):
        with running_holder(tmp_path_factory.mktemp("people")) as holder:
            holder.load(register_csv(people=10 + 200 * seed, seed=seed))
            require(holder)
            for path in holder.settings.records.iterdir():
                path.unlink()
            answers.append(holder.release(plan()))

    first, second = (
        {name: value for name, value in json.loads(one.content).items() if name not in ("requested", "expires")}
        for one in answers
    )
    assert [one.status_code for one in answers] == [202, 202]
    assert first == second
    assert len(answers[0].content) == len(answers[1].content)


def test_an_officer_decides_in_the_console(strict: TestedHolder) -> None:
    asked = strict.auditor("POST", "/datasets/register/releases", json=plan(), params={"purpose": "Yearly <audit>"})
    first, second = waits(asked), waits(strict.release(plan(draw=2)))
    with visitor(strict) as visits:
        listed = visits.get("/console/approvals").text
        path = f"/console/approvals/{first}"
        page = visits.get(path)
        fields = {"reason": "", "decision": "decline", "entry": page.values["entry"]}
        refusal = visits.send(path, fields)
        visits.send(path, {**fields, "decision": "approve", "reason": "As agreed"})
        late = visits.post(path, {**fields, "form_token": page.values["form_token"], "reason": "No"})

    assert "2 wait" in listed
    assert "age ≤ 40" in page.text
    assert "Yearly <audit>" in page.text
    assert refusal.status == 422
    assert late.status == 409, "somebody decided since this page was made"
    assert (state(strict, first), state(strict, second)) == ("approved", "waiting")


@pytest.mark.slow
def test_an_officer_sees_what_derived_columns_compute(strict: TestedHolder) -> None:
    """On the page, by the command and by the call alike; of linked values none, nor how many there are."""
    old = {"rule": {"all_of": [{"column": "age", "op": "ge", "value": 65}]}, "value": "old"}
    score = {"kind": "list", "cases": [old], "otherwise": "\u202enot old"}
    names = ["old", "\u202enot old"]
    strict.derive({"name": "old", "type": "category", "categories": names, "from": {"score": score}})
    values = linked_values(register_csv())
    strict.link(values, strict.derive(linked_column(values)).json()["id"])
    strict.await_columns()
    columns = {one["column"]["name"]: one["id"] for one in strict.auditor("GET", COLUMNS).json()["columns"]}
    cells = [
        {"id": name, "all_of": [{"column": name, "op": "eq", "value": value}]}
        for name, value in (("old", "old"), ("decision", "granted"))
    ]
    identity = waits(strict.release(plan(cells=cells, columns=columns)))
    given = {"HOLDER_URL": strict.url, "HOLDER_ADMIN_KEY": strict.admin_key}

    called = strict.admin("GET", f"/approvals/{identity}").json()
    printed = CliRunner().invoke(app, ["admin", "approve", identity], env=given, input="n\n").stdout
    with visitor(strict) as visits:
        page = visits.get(f"/console/approvals/{identity}").text
        strict.auditor("DELETE", f"{COLUMNS}/{columns['old']}").raise_for_status()
        afterwards = visits.get(f"/console/approvals/{identity}").text

    said = {one["name"]: one["says"] for one in called["columns"]}
    assert {one["name"]: one["id"] for one in called["columns"]} == columns
    assert said["old"] == [
        "A score, which the holder computes from each record's age",
        "The value of the first rule that matches:",
        "old: age ≥ 65",
        "\u202enot old: everybody else",
    ]
    assert said["decision"] == [
        "Linked values, which the auditor sent for each person by the person's key",
        "Each is one of: granted, refused",
    ]
    for line in (line for lines in said.values() for line in lines):
        assert line in page
        assert line.replace("\u202e", "\\u202e") in printed
    assert "It was deleted" in afterwards
    assert "columns" not in strict.admin("GET", f"/approvals/{waits(strict.release(plan()))}").json()


def hidden_behind(harmless: int) -> dict[str, Any]:
    """A score that singles somebody out by one heavy term behind many that do next to nothing."""
    rules = [{"all_of": [{"column": "age", "op": "gt", "value": number + 0.5}]} for number in range(harmless)]
    person = [
        {"column": "age", "op": "eq", "value": 47},
        {"column": "hours", "op": "ge", "value": 31.8},
        {"column": "hours", "op": "le", "value": 31.9},
    ]
    terms = [*({"rule": rule, "value": 1e-9} for rule in rules), {"rule": {"all_of": person}, "value": 1000}]
    score = {"kind": "terms", "precision": "float64", "base": 0, "terms": terms}
    return {"name": "score", "type": "number", "from": {"score": score}}


HIGH: Final = {"id": "high", "all_of": [{"column": "score", "op": "gt", "value": 500}]}


@pytest.mark.slow
def test_an_officer_sees_the_heaviest_terms_first_and_gets_all_of_them(strict: TestedHolder, tmp_path: Path) -> None:
    column = strict.derive(hidden_behind(60)).json()["id"]
    strict.await_columns()
    identity = waits(strict.release(plan(cells=[HIGH], columns={"score": column})))
    given = {"HOLDER_URL": strict.url, "HOLDER_ADMIN_KEY": strict.admin_key}

    [called] = strict.admin("GET", f"/approvals/{identity}").json()["columns"]
    whole = strict.admin("GET", f"/approvals/{identity}/columns/{column}")
    saved = CliRunner().invoke(app, ["admin", "approval-column", identity, column, str(tmp_path / "it")], env=given)
    printed = CliRunner().invoke(app, ["admin", "approval", identity], env=given).stdout
    with visitor(strict) as visits:
        page = visits.get(f"/console/approvals/{identity}")
        downloaded = visits.get(f"/console/approvals/{identity}/columns/{column}")
    requested = next(one for one in strict.entries() if one["kind"] == "approval-requested")

    assert called["says"][2] == "1000 where age = 47 and hours ≥ 31.8 and hours ≤ 31.9"
    assert called["not_shown"] == ["3 of 61 terms"]
    assert "3 of 61 terms" in page.text
    assert "3 of 61 terms" in printed
    assert f"/console/approvals/{identity}/columns/{column}" in {link["href"] for link in page.all("a")}
    assert saved.exit_code == 0, saved.output
    assert len(whole.json()["from"]["score"]["terms"]) == 61
    assert whole.content == (tmp_path / "it").read_bytes() == downloaded.answer.content
    assert requested["detail"]["columns"] == {column: called["digest"]}
    assert called["digest"] == sha256_name(whole.content)
    verified(strict)
    refused(strict.admin("GET", f"/approvals/{identity}/columns/sha256:{'0' * 64}"), "not-found", holder=strict)


@pytest.mark.slow
def test_what_was_asked_is_seen_after_it_was_answered(strict: TestedHolder) -> None:
    column = strict.derive(hidden_behind(1)).json()["id"]
    strict.await_columns()
    asked = plan(cells=[HIGH], columns={"score": column})
    identity = waits(strict.release(asked))
    before = strict.admin("GET", f"/approvals/{identity}").json()
    decide(strict, identity, YES)
    assert strict.release(asked).status_code == 201

    after = strict.admin("GET", f"/approvals/{identity}").json()
    with visitor(strict) as visits:
        page = visits.get(f"/console/approvals/{identity}").text

    assert after["state"] == "answered"
    assert (after["plan"], after["columns"]) == (before["plan"], before["columns"])
    assert "score > 500" in page
    assert "deleted" not in page
    assert strict.admin("GET", f"/approvals/{identity}/columns/{column}").status_code == 200


@pytest.mark.slow
def test_a_population_refuses_what_officers_cannot_read_in_full(strict: TestedHolder) -> None:
    whole, hidden = (strict.derive(hidden_behind(number)).json()["id"] for number in (1, 60))
    strict.await_columns()
    setting = {"required": True, "days": 14, "in_full": True}
    answered = strict.admin("PUT", "/populations/register/approval", json=setting)
    again = strict.admin("PUT", "/populations/register/approval", json={"required": True, "days": 7})

    refusal = strict.release(plan(cells=[HIGH], columns={"score": hidden}))
    admitted = strict.release(plan(cells=[HIGH], columns={"score": whole}))
    entries = [one["detail"] for one in strict.entries() if one["kind"] == "approval-required"]

    assert answered.json()["in_full"] is again.json()["in_full"] is True, "what is not named stays as it is"
    assert entries[1:] == [{"approval_days": 14, "in_full": True}, {"approval_days": 7, "in_full": True}]
    refused(refusal, "conflict", holder=strict)
    assert "3 of 61 terms" in refusal.json()["detail"]
    waits(admitted)
    verified(strict)
    strict.admin("PUT", "/populations/register/approval", json={**setting, "in_full": False})
    waits(strict.release(plan(cells=[HIGH], columns={"score": hidden})))


@pytest.mark.slow
def test_a_request_that_was_not_checked_is_refused_under_the_lock(strict: TestedHolder) -> None:
    column = strict.derive(hidden_behind(60)).json()["id"]
    strict.await_columns()
    asked = Plan.model_validate(plan(cells=[HIGH], columns={"score": column}))
    store, reading = strict.holder.store, strict.holder.reading
    found = releases.prepare(
        store, strict.holder.files, auditor="ADR", dataset="register", asked=asked, purpose=None
    )  # fmt: skip
    assert isinstance(found, approvals.Unapproved)
    checked = approvals.require_shown(store, found, apart=reading)
    strict.admin("PUT", "/populations/register/approval", json={"required": True, "days": 14, "in_full": True})

    written = releases.request_approval(store, unapproved=found, proof=strict.auditor_key_id, in_full=checked)

    with pytest.raises(Conflict, match="was not checked"):
        written.result(timeout=60)


@pytest.mark.slow
def test_the_replay_finds_a_request_that_officers_cannot_read_in_full(strict: TestedHolder) -> None:
    column = strict.derive(hidden_behind(1)).json()["id"]
    strict.await_columns()
    strict.admin("PUT", "/populations/register/approval", json={"required": True, "days": 14, "in_full": True})
    waits(strict.release(plan(cells=[HIGH], columns={"score": column})))
    *earlier, requested = strict.holder.store.look_up(ledger_views.in_order, EntryFilter(), upto=None)
    unchecked = {name: value for name, value in requested.event.detail.items() if name != "in_full"}
    replay = ApprovalReplay()
    for one in earlier:
        replay.apply(one)

    with pytest.raises(BrokenLedger, match="not checked"):
        replay.apply(replace(requested, event=replace(requested.event, detail=unchecked)))
    replay.apply(requested)


def test_a_merged_population_shows_in_full_if_either_did(sqlite_holder: TestedHolder) -> None:
    other = {**DECLARATION, "population": "other"}
    assert sqlite_holder.admin("PUT", "/datasets/other", json=other).status_code == 200
    setting = {"required": True, "days": 14, "in_full": True}
    assert sqlite_holder.admin("PUT", "/populations/other/approval", json=setting).status_code == 200

    merged = sqlite_holder.admin("POST", "/populations/register/merge", json={"population": "other"})

    assert merged.status_code == 204, merged.text
    assert sqlite_holder.entries()[-1]["detail"] == {"approval_days": 14, "in_full": True}
    verified(sqlite_holder)


def test_what_an_officer_loosens_is_noticed(strict: TestedHolder) -> None:
    def noticed() -> list[tuple[str, str]]:
        found = strict.admin("GET", "/notices").json()["notices"]
        return [(one["kind"], one["account"]) for one in found if one["kind"] in ("cap-raised", "approvals-off")]

    cap = next(one for one in reversed(strict.entries()) if one.get("cap"))["cap"]["limit_epsilon_nano"] / 1e9
    strict.admin("PUT", "/populations/register/cap", json={"cap": {"epsilon": str(cap / 2)}}).raise_for_status()
    lowered = noticed()
    strict.admin("PUT", "/populations/register/cap", json={"cap": {"epsilon": str(cap)}}).raise_for_status()
    require(strict, required=False)

    assert lowered == []
    assert noticed() == [("cap-raised", "administrator"), ("approvals-off", "administrator")]
    strict.holder.store.clock = lambda: datetime.now(UTC) + timedelta(days=15)
    assert noticed() == []


@pytest.mark.slow
def test_a_request_that_names_another_document_than_was_declared_is_found(strict: TestedHolder) -> None:
    column = strict.derive(hidden_behind(1)).json()["id"]
    strict.await_columns()
    waits(strict.release(plan(cells=[HIGH], columns={"score": column})))
    entries = strict.holder.store.look_up(ledger_views.in_order, EntryFilter(), upto=None)
    requested, facts = entries[-1], TableFacts()
    for one in entries[:-1]:
        facts.apply(one)
    detail = {**requested.event.detail, "columns": {column: sha256_name(b"a harmless score")}}

    with pytest.raises(BrokenLedger, match="another document"):
        facts.apply(replace(requested, event=replace(requested.event, detail=detail)))


def test_an_officer_sees_all_that_is_asked_and_what_would_be_left(strict: TestedHolder) -> None:
    strict.admin("PATCH", "/auditors/ADR", json={"display_name": "The ombudsman"}).raise_for_status()
    identity = waits(strict.release(plan(epsilon="2.5")))
    too_much = waits(strict.release(plan(epsilon="9", draw=2)))
    strict.grant("3")
    with visitor(strict) as visits:
        page, other = (visits.get(f"/console/approvals/{one}").text for one in (identity, too_much))

    assert "The ombudsman (ADR) asks a plan waiting" in page
    assert "Sensitive columns sex" in page
    assert "Mechanism Laplace Privacy loss ε 2.5 for each class of disjoint cells" in page
    assert "standard deviation 0.4 people" in page
    assert "ε 3 ε 3 ε 2.5 ε 0.5" in page
    assert "ε 100 ε 100 ε 2.5 ε 97.5" in page
    assert "too little is left" in other


def test_approvals_are_required_in_the_console(sqlite_holder: TestedHolder) -> None:
    fields = {"population": "register", "required": "required", "days": "5"}
    with visitor(sqlite_holder) as visits:
        refusal = visits.send("/console/budgets", {**fields, "days": "91"}, to="approval")
        nobody = visits.send("/console/budgets", {**fields, "population": ""}, to="approval")
        done = visits.send("/console/budgets", fields, to="approval")
        waits(sqlite_holder.release(plan()))
        listed = visits.get("/console/budgets?population=register")
        off = visits.send("/console/budgets", {**fields, "required": "not required"}, to="approval")

    assert (refusal.status, nobody.status) == (422, 422)
    assert "No population is chosen." in nobody.text
    assert "about population register need an approval; a request expires after 5 days." in done.text
    assert "approved first , within 5 days." in listed.text
    assert "Approvals 1 waits" in listed.text
    assert listed.values["days"] == "5"
    assert "Approvals are not required for population register." in off.text
    assert "1 waits" not in off.text
    assert sqlite_holder.release(plan()).status_code == 201
