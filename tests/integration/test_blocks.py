"""Blocks of people, through the real service on both stores: new people bring new budget (spec 10 §4)."""

import io
import sqlite3
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from auditor_client import Auditor
from auditor_client.errors import BudgetExhausted, QuestionRefused
from auditor_client.tables import budget_table
from holder_service.services.running.backup import back_up
from shared.contract.rules import Predicate
from testing.console_visitors import visitor
from testing.holders import TestedHolder

pytestmark = pytest.mark.usefixtures("coarse_chances")

MONTHS = [f"{year}-{month:02}" for year in (2026, 2027, 2028) for month in range(1, 13)]
DECLARATION: dict[str, Any] = {
    "person_key": "id",
    "cap": {"epsilon": "1", "delta": "0"},
    "records_max": 1000,
    "columns": [
        {"name": "month", "type": "category", "categories": MONTHS},
        {"name": "granted", "type": "boolean"},
        {"name": "sex", "type": "category", "categories": ["Female", "Male"], "sensitive": True},
    ],
    "blocks": {"column": "month"},
}


def loans(*months: int, people: int = 5, again: str = "") -> bytes:
    """Some applicants of each of some months; `again` is another record's key and month, as CSV."""
    lines = io.StringIO()
    lines.write("id,month,granted,sex\n")
    for month in months:
        for person in range(people):
            lines.write(f"p{month}-{person},{MONTHS[month]},{str(person % 2 == 0).lower()},Female\n")
    lines.write(again)
    return lines.getvalue().encode()


def audit(*months: int, epsilon: str = "0.5") -> dict[str, Any]:
    """Who was granted a loan and who was not, in some months or in all."""
    where = [{"column": "month", "op": "in", "values": [MONTHS[month] for month in months]}] if months else []
    cells = [
        {"id": str(granted), "all_of": [*where, {"column": "granted", "op": "eq", "value": granted}]}
        for granted in (True, False)
    ]
    return {
        "sensitive": ["sex"],
        "batches": [{"name": "loans", "mechanism": {"name": "laplace"}, "epsilon": epsilon, "cells": cells}],
    }


def opened(
    holder: TestedHolder, *, limit: dict[str, str] | None = None, load: bool = True, **changes: Any
) -> TestedHolder:
    for answer in (
        holder.admin("PUT", "/datasets/loans", json={**DECLARATION, **changes}),
        *([holder.load(loans(*range(36)), "loans")] if load else []),
        holder.admin("PUT", "/datasets/loans/budgets/ADR", json=limit or {"epsilon": "1"}),
    ):
        assert answer.status_code == 200, answer.text
    return holder


def test_36_monthly_audits_fit_under_one_cap(holder: TestedHolder) -> None:
    """Each month's audit takes half of that month's cap, so every month has room for two; the third is refused."""
    opened(holder)

    answers = [holder.release(audit(month), dataset="loans") for month in range(36)]

    assert [answer.status_code for answer in answers] == [201] * 36
    assert holder.release(audit(), dataset="loans").status_code == 201  # everybody, the second half of each month
    refused = holder.release(audit(7, epsilon="0.001"), dataset="loans")
    assert refused.status_code == 403
    assert refused.json()["blocks"] == "month 2026-08"
    assert holder.spent(dataset="loans") == "1"
    assert holder.admin("POST", "/ledger/verify").json()["intact"]


def test_unrestricted_cells_are_charged_to_every_declared_block(sqlite_holder: TestedHolder) -> None:
    """A quote lists ranges of blocks; batches about different months cost one person the largest of them."""
    opened(sqlite_holder)
    both = audit(3)
    both["batches"].append({**audit(4, 5, epsilon="0.25")["batches"][0], "name": "later"})

    quoted = sqlite_holder.auditor("POST", "/datasets/loans/quotes", json=both).json()
    everybody = sqlite_holder.auditor("POST", "/datasets/loans/quotes", json=audit()).json()

    assert quoted["charge"]["epsilon"] == "0.5"
    assert [(one["first"], one["last"], one["loss"]["epsilon"]) for one in quoted["blocks"]["charged"]] == [
        ("2026-04", "2026-04", "0.5"), ("2026-05", "2026-06", "0.25"),
    ]  # fmt: skip
    assert [(one["first"], one["last"], one["blocks"]) for one in everybody["blocks"]["charged"]] == [
        ("2026-01", "2028-12", 36)
    ]


def test_budgets_are_shown_by_block(sqlite_holder: TestedHolder) -> None:
    """Newest blocks first; what is left in every block is said beside it."""
    opened(sqlite_holder)
    sqlite_holder.release(audit(7), dataset="loans")

    budget = sqlite_holder.auditor("GET", "/datasets/loans/budget").json()

    assert (budget["spent"]["epsilon"], budget["remaining"]["epsilon"]) == ("0.5", "0.5")
    assert [
        (one["first"], one["last"], one["spent"]["epsilon"], one["spendable"]["epsilon"])
        for one in budget["blocks"]["balances"]
    ] == [("2026-09", "2028-12", "0", "1"), ("2026-08", "2026-08", "0.5", "0.5"), ("2026-01", "2026-07", "0", "1")]


def test_a_person_stays_in_their_blocks_for_ever(sqlite_holder: TestedHolder) -> None:
    """Who was taken away cannot come back in another block, in any dataset of the population; lines stay at home."""
    holder = opened(sqlite_holder)
    elsewhere = {**DECLARATION, "population": "loans"}
    assert holder.admin("PUT", "/datasets/others", json=elsewhere).status_code == 200
    assert holder.load(loans(1, 2), "loans").status_code == 200  # those of the first month are taken away

    for dataset in ("loans", "others"):
        refused = holder.load(loans(1, 2, again="p0-3,2026-02,true,Male\n"), dataset)
        assert refused.status_code == 422
        assert "p0-3" not in refused.text
        assert "11" not in refused.text
    assert holder.load(loans(1, 2, again="p0-3,2026-01,true,Male\n"), "others").status_code == 200

    listed = sorted((holder.settings.home / "refused-loads").iterdir())
    assert len(listed) == 2
    assert [path.read_text().splitlines()[1:] for path in listed] == [["11"], ["11"]]
    assert all(path.stat().st_mode & 0o077 == 0 for path in listed)


def test_few_loads_are_refused_within_a_day(sqlite_holder: TestedHolder, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of one record asks in which block one person was: after five refusals nothing is compared for a day."""
    holder = opened(sqlite_holder)
    assert holder.admin("PUT", "/datasets/others", json={**DECLARATION, "population": "loans"}).status_code == 200
    assert holder.admin("PUT", "/datasets/apart", json=DECLARATION).status_code == 200

    def guessed(month: int, dataset: str = "others", person: str = "p7-0") -> int:
        content = f"id,month,granted,sex\n{person},{MONTHS[month]},true,Male\n".encode()
        return holder.load(content, dataset).status_code

    answers = [guessed(month) for month in range(5)]
    afterwards = [guessed(5), guessed(7), guessed(0, "loans"), guessed(0, person="new")]
    elsewhere = guessed(0, "apart")
    later = holder.holder.store.clock() + timedelta(days=1, seconds=1)
    monkeypatch.setattr(holder.holder.store, "clock", lambda: later)

    assert answers == [422] * 5
    assert afterwards == [409] * 4  # the same for who was in that block, in another, or never there
    assert elsewhere == 200
    assert guessed(7) == 200


@pytest.mark.parametrize("left", [0.0, 0.5])
def test_a_cut_file_of_blocks_stops_loads(left: float, sqlite_holder: TestedHolder) -> None:
    """A file of people's blocks that lost some of them would let these people come back in another block."""
    holder = opened(sqlite_holder)
    [path] = holder.settings.people.glob("*.blocks")
    whole = path.read_bytes()
    path.chmod(0o600)
    path.write_bytes(whole[: int(left * len(whole))])

    cut = holder.load(loans(again="p0-0,2026-02,true,Male\n"), "loans")
    path.write_bytes(whole)

    assert cut.status_code == 409
    assert "back-up" in cut.json()["detail"]
    assert holder.load(loans(0), "loans").status_code == 200


def test_two_blocks_for_one_person(sqlite_holder: TestedHolder) -> None:
    """Where a person may be in two blocks, a changed record's old block and new block both count."""
    holder = opened(sqlite_holder, blocks={"column": "month", "per_person_max": 2}, relation="replace")

    assert holder.load(b"id,month,granted,sex\np0-0,2026-05,true,Male\n", "loans").status_code == 200
    assert holder.load(b"id,month,granted,sex\np0-0,2026-06,true,Male\n", "loans").status_code == 422


def test_blocks_can_only_grow(sqlite_holder: TestedHolder) -> None:
    """New values come behind the others; nothing else about blocks changes once there are records."""
    holder = opened(sqlite_holder)

    def declared(**changes: Any) -> int:
        return holder.admin("PUT", "/datasets/loans", json={**DECLARATION, **changes}).status_code

    def with_months(*months: str) -> list[dict[str, Any]]:
        return [{**DECLARATION["columns"][0], "categories": list(months)}, *DECLARATION["columns"][1:]]

    assert declared(blocks={"column": "month", "per_person_max": 2}) == 409
    assert declared(blocks=None) == 409
    assert declared(cap={"epsilon": "999"}) == 200  # for one block
    assert holder.admin(
        "PUT", "/datasets/many", json={**DECLARATION, "blocks": {"column": "month", "per_person_max": 1000}}
    ).is_error
    assert declared(columns=with_months(*MONTHS[1:])) == 409
    assert declared(columns=with_months("2025-12", *MONTHS)) == 409
    assert declared(columns=with_months(*MONTHS, "2029-01")) == 200
    assert holder.release(audit(), dataset="loans").status_code == 409  # until records of the new declaration are there
    assert holder.load(loans(0), "loans").status_code == 200
    assert holder.admin("PUT", "/datasets/others", json={**DECLARATION, "population": "loans", "blocks": None}).is_error


def test_what_is_about_future_blocks_is_refused(sqlite_holder: TestedHolder) -> None:
    """No watch, merge or look at overlaps where losses are added up by block."""
    holder = opened(sqlite_holder)
    watch = {
        "sensitive": ["sex"], "verdict": "meets", "threshold": "0.8", "epsilon": "0.5", "margin": 10,
        "favourable": {"id": "yes", "all_of": [{"column": "granted", "op": "eq", "value": True}]},
        "unfavourable": {"id": "no", "all_of": [{"column": "granted", "op": "eq", "value": False}]},
    }  # fmt: skip

    refused = holder.auditor("POST", "/datasets/loans/watches", json=watch)

    assert refused.status_code == 422
    assert "block" in refused.text
    for path, body in (
        ("/populations/register/merge", {"population": "loans"}),
        ("/populations/overlaps", {"population": "register", "other": "loans"}),
    ):  # fmt: skip
        answer = holder.admin("POST", path, json=body)
        assert answer.status_code == 409
        assert "block" in answer.text


def test_changed_sums_are_found(sqlite_holder: TestedHolder) -> None:
    """Sums by block that do not follow from the charges break verification, as balances do."""
    holder = opened(sqlite_holder)
    holder.release(audit(3), dataset="loans")
    with closing(sqlite3.connect(holder.settings.database_url.removeprefix("sqlite:///"))) as connection:
        connection.execute("UPDATE block_losses SET highest_epsilon_nano = 0 WHERE level = 0")
        connection.commit()

    found = holder.admin("POST", "/ledger/verify").json()

    assert not found["intact"]
    assert "by block" in found["reason"]


def test_racing_requests_overspend_no_block(holder: TestedHolder) -> None:
    """Many requests at once about overlapping months: no block is charged more than the cap."""
    opened(holder)
    bodies = [audit(first, first + 1, epsilon="0.2") for first in range(4) for _ in range(6)]
    bodies = [{**body, "draw": number + 1} for number, body in enumerate(bodies)]

    with ThreadPoolExecutor(12) as threads:
        answers = list(threads.map(lambda body: holder.release(body, dataset="loans"), bodies))

    spent: defaultdict[str, int] = defaultdict(int)
    for body, answer in zip(bodies, answers, strict=True):
        assert answer.status_code in (201, 403)
        for month in body["batches"][0]["cells"][0]["all_of"][0]["values"]:
            spent[month] += answer.status_code == 201
    assert max(spent.values()) == 5
    assert holder.admin("POST", "/ledger/verify").json()["intact"]


def test_accounts_in_rho_have_blocks_too(sqlite_holder: TestedHolder) -> None:
    """ρ is added up by block, and Gaussian noise of one month costs the others nothing."""
    holder = opened(sqlite_holder, limit={"rho": "0.01"}, cap={"rho": "0.01", "delta": "0.000001"})
    months = [audit(month) for month in range(3)]
    for body in months:
        body["batches"][0] |= {"mechanism": {"name": "gaussian"}, "rho": "0.01"}
        del body["batches"][0]["epsilon"]

    assert [holder.release(body, dataset="loans").status_code for body in months] == [201] * 3
    assert holder.release({**months[1], "draw": 2}, dataset="loans").status_code == 403
    balances = holder.auditor("GET", "/datasets/loans/budget").json()["blocks"]["balances"]
    assert [(one["first"], one["spent"]["rho"]) for one in balances] == [("2026-04", "0"), ("2026-01", "0.01")]
    assert holder.admin("POST", "/ledger/verify").json()["intact"]


def test_rehearsals_cost_no_block_anything(sqlite_holder: TestedHolder) -> None:
    """A rehearsal says what the same would cost, and neither keeps people's blocks nor charges them."""
    holder = opened(sqlite_holder)
    assert holder.admin("POST", "/datasets/loans/rehearsal", json={}).status_code in (200, 201)

    answers = [holder.release({**audit(3), "draw": draw}, dataset="loans-rehearsal") for draw in (1, 2, 3)]

    assert [answer.status_code for answer in answers] == [201] * 3, answers[0].text
    assert answers[0].json()["rehearsal"]["would_cost"]["epsilon"] == "0.5"
    assert "blocks" not in answers[0].json()
    assert holder.spent(dataset="loans") == "0"
    assert holder.admin("POST", "/ledger/verify").json()["intact"]


def test_a_refinement_is_charged_to_the_same_blocks(sqlite_holder: TestedHolder) -> None:
    """The difference is charged to the blocks of the first answer."""
    holder = opened(sqlite_holder)
    first = holder.release(audit(3, epsilon="0.25"), dataset="loans").json()

    finer = holder.release({**audit(3, epsilon="1"), "refines": first["id"]}, dataset="loans")

    assert finer.status_code == 201, finer.text
    [charged] = finer.json()["blocks"]["charged"]
    assert (charged["first"], charged["last"], charged["loss"]["epsilon"]) == ("2026-04", "2026-04", "0.75")
    assert holder.admin("POST", "/ledger/verify").json()["intact"]


def test_a_training_is_charged_to_every_declared_block(sqlite_holder: TestedHolder) -> None:
    """A learner sees everybody."""
    columns = [*DECLARATION["columns"], {"name": "repaid", "type": "boolean", "label": True}]
    holder = opened(sqlite_holder, load=False, columns=columns)
    records = b"id,month,granted,sex,repaid\n" + b"".join(
        f"{person},2026-01,{str(person % 2 == 0).lower()},Male,true\n".encode() for person in range(40)
    )
    assert holder.load(records, "loans").status_code == 200
    asked = {
        "algorithm": {"name": "fair_tree", "depth": 1}, "epsilon": "0.5", "features": [{"column": "granted"}],
        "label": "repaid", "sensitive": ["sex"],
    }  # fmt: skip

    trained = holder.auditor("POST", "/datasets/loans/trainings", json=asked)

    assert trained.status_code == 201, trained.text
    [charged] = trained.json()["blocks"]["charged"]
    assert (charged["blocks"], charged["loss"]["epsilon"]) == (36, "0.5")
    assert holder.admin("POST", "/ledger/verify").json()["intact"]


def test_a_back_up_has_the_blocks_of_people(sqlite_holder: TestedHolder, tmp_path: Path) -> None:
    """Whoever restores it goes on comparing; without that file nothing is loaded."""
    holder = opened(sqlite_holder)
    back_up(holder.holder, tmp_path / "copy")
    [kept] = (tmp_path / "copy" / "people").glob("*.blocks")
    [current] = holder.settings.people.glob("*.blocks")
    assert kept.read_bytes() == current.read_bytes()

    current.unlink()

    refused = holder.load(loans(0), "loans")
    assert refused.status_code == 409
    assert "back-up" in refused.text


def test_a_client_asks_about_one_month_after_the_other(sqlite_holder: TestedHolder, tmp_path: Path) -> None:
    """What is left is that of the months that are asked about; batches of several months cost the largest of them."""
    holder = opened(sqlite_holder)
    asked: dict[str, Any] = {"favourable": "true", "sensitive": ["sex"], "decision": "granted"}
    with Auditor(holder.url, holder.auditor_key, receipts=tmp_path / "receipts") as auditor:
        first = auditor.audit(None, "loans", epsilon="1", where="month = 2026-01", **asked)
        planned = auditor.plan(None, "loans", epsilon="1", where="month = 2026-02", people=100, **asked)
        nobody = auditor.plan(
            None, "loans", epsilon="1", where="month = 2026-01 and month = 2026-02", people=100, **asked
        )
        second = auditor.audit(None, "loans", epsilon="1", where="month = 2026-02", **asked)
        with pytest.raises(BudgetExhausted):
            auditor.audit(None, "loans", epsilon="0.1", where="month = 2026-02", draw=2, **asked)

    assert first.release.blocks is not None
    assert [one.first for one in first.release.blocks.charged] == ["2026-01"]
    assert planned.budget.left.epsilon_nano == 10**9
    assert second.release.charge.epsilon_nano == 10**9
    assert "at most ε = 1 about people of month 2026-02; ε = 1 is left there" in planned.view.text
    assert "about people of month" not in nobody.view.text


def test_a_block_restricts_every_cell_and_saves_the_others(sqlite_holder: TestedHolder, tmp_path: Path) -> None:
    holder = opened(sqlite_holder)
    asked: dict[str, Any] = {"favourable": "true", "sensitive": ["sex"], "decision": "granted", "epsilon": "0.4"}
    with Auditor(holder.url, holder.auditor_key, receipts=tmp_path / "receipts") as auditor:
        planned = auditor.plan(None, "loans", block="2026-02", people=100, **asked)
        everybody = auditor.plan(None, "loans", people=100, **asked)
        result = auditor.audit(None, "loans", block="2026-02", **asked)
        same = auditor.audit(None, "loans", where="month = 2026-02", **asked)
        with pytest.raises(QuestionRefused, match="'2025-12' is no block of column 'month'") as unknown:
            auditor.audit(None, "loans", block="2025-12", **asked)

    month = Predicate(column="month", op="eq", value="2026-02")
    assert all(month in rule.all_of for batch in result.plan.batches for cell in batch.cells for rule in cell.any_of)
    assert result.release.blocks is not None
    assert [(one.first, one.last) for one in result.release.blocks.charged] == [("2026-02", "2026-02")]
    assert same.release.id == result.release.id
    assert "2026-01" in str(unknown.value)
    assert "Charged to 1 of 36 blocks. The budget of the other blocks stays whole" in planned.view.text
    assert "Charged to all 36 blocks. An audit of one block (--block)" in everybody.view.text


def test_an_integer_block_is_named_by_its_number(sqlite_holder: TestedHolder, tmp_path: Path) -> None:
    month = {"name": "month", "type": "integer", "minimum": 1, "maximum": 12}
    people = b"id,month,granted,sex\n" + b"".join(b"p%d,%d,true,Female\n" % (one, one) for one in range(1, 13))
    holder = opened(sqlite_holder, load=False, columns=[month, *DECLARATION["columns"][1:]])
    assert holder.load(people, "loans").status_code == 200
    asked: dict[str, Any] = {"favourable": "true", "sensitive": ["sex"], "decision": "granted", "epsilon": "0.4"}
    with Auditor(holder.url, holder.auditor_key, receipts=tmp_path / "receipts") as auditor:
        result = auditor.audit(None, "loans", block=3, **asked)
        for block in ("13", "0", "-3", "march", "3.0"):
            with pytest.raises(QuestionRefused, match="only 1 to 12"):
                auditor.plan(None, "loans", block=block, people=100, **asked)

    assert result.release.blocks is not None
    assert [one.first for one in result.release.blocks.charged] == [3]


def test_a_dataset_without_blocks_refuses_one(sqlite_holder: TestedHolder, tmp_path: Path) -> None:
    holder = opened(sqlite_holder, blocks=None)
    with (
        Auditor(holder.url, holder.auditor_key, receipts=tmp_path / "receipts") as auditor,
        pytest.raises(QuestionRefused, match="does not declare blocks of people"),
    ):
        auditor.audit(None, "loans", ["sex"], "0.4", decision="granted", favourable="true", block="2026-02")


def test_aggregate_tables_have_blocks_by_the_administrators_word(sqlite_holder: TestedHolder) -> None:
    """Nobody has a key there: one block for each person has to be declared, and losses are added up by block."""
    table = {**DECLARATION, "people": "number", "blocks": {"column": "month", "per_person_max": 2}}
    del table["person_key"]
    assert sqlite_holder.admin("PUT", "/datasets/loans", json=table).status_code == 422
    opened(sqlite_holder, load=False, person_key=None, people="number")
    rows = b"number,month,granted,sex\n20,2026-01,true,Male\n30,2026-02,true,Female\n"

    assert sqlite_holder.load(rows, "loans").status_code == 200
    assert sqlite_holder.load(rows, "loans").status_code == 200

    assert [sqlite_holder.release(audit(month, epsilon="1"), dataset="loans").status_code for month in (0, 1)] == [
        201
    ] * 2


def test_a_table_may_get_keys_before_any_charge(sqlite_holder: TestedHolder) -> None:
    """Aggregate records leave no blocks of people, so keyed ones after them are compared with keyed ones alone."""
    holder = opened(sqlite_holder, load=False, person_key=None, people="number")
    assert holder.load(b"number,month,granted,sex\n20,2026-01,true,Male\n", "loans").status_code == 200
    assert holder.admin("PUT", "/datasets/loans", json=DECLARATION).status_code == 200

    assert holder.load(loans(0), "loans").status_code == 200
    assert holder.load(loans(0, again="p1-0,2026-03,true,Male\n"), "loans").status_code == 200
    assert holder.load(loans(0, again="p1-0,2026-04,true,Male\n"), "loans").status_code == 422


def test_people_read_that_losses_are_by_block(sqlite_holder: TestedHolder, tmp_path: Path) -> None:
    """The console, the transparency report and the auditor's table say whose losses they are."""
    holder = opened(sqlite_holder, blocks={"column": "month", "per_person_max": 2})
    holder.release(audit(3, epsilon="1"), dataset="loans")
    with visitor(holder) as visits:
        budgets = " ".join(visits.get("/console/budgets").text.split())
        declared = visits.get("/console/datasets/loans").text
    report = holder.admin("GET", "/datasets/loans/report")
    page = holder.admin("GET", "/datasets/loans/report?format=html")
    with Auditor(holder.url, holder.auditor_key, receipts=tmp_path / "receipts") as auditor:
        table = budget_table([auditor.budget("loans")])

    assert "loses at most 2 times the cap" in budgets
    assert '"per_person_max": 2' in declared
    assert "what one person lost at most" in " ".join(page.text.split())
    assert report.json()["spent_on_population"]["epsilon"] == "2"
    assert not table.sentences
    assert [(row[1], row[3], row[4]) for row in table.rows] == [
        ("loans, month 2026-05 – 2028-12", "ε = 0", "ε = 1"), ("loans, month 2026-04", "ε = 1", "ε = 0"),
        ("loans, month 2026-01 – 2026-03", "ε = 0", "ε = 1"),
    ]  # fmt: skip
