"""What an administrator sends by mistake: refused whole, with the path of the fault, and nothing changes."""

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

import pytest

from holder_service.domain.errors import Conflict
from holder_service.services import releases
from holder_service.services.priced import AskedPlan
from shared.plans import Plan
from testing.holders import TestedHolder
from testing.refusals import refused
from testing.registers import DECLARATION, plan, register_csv
from testing.tampering import lose_the_anchored_entry

SEX: Final = {"name": "sex", "type": "category", "categories": ["F", "M"], "sensitive": True}
JSON: Final = {"Content-Type": "application/json"}
CSV: Final = register_csv(people=3)


def columns(*others: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """A declaration of the sex column, changed, and some others."""
    return {"columns": [{**SEX, **changes}, *others]}


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"cap": None}, "invalid-request"),
        ({"cap": "10"}, "invalid-request"),
        ({"cap": {}}, "invalid-request"),
        ({"cap": {"epsilon": 10}}, "invalid-amount"),
        ({"cap": {"epsilon": "-1"}}, "invalid-amount"),
        ({"cap": {"epsilon": "1000"}}, "invalid-amount"),
        ({"cap": {"epsilon": "1", "delta": "1e-9"}}, "invalid-amount"),
        ({"cap": {"epsilon": "1", "delta": "1"}}, "invalid-amount"),
        ({"cap": {"epsilon": "1", "delta": "999"}}, "invalid-amount"),
        ({"cap": {"epsilon": "1", "gamma": "1"}}, "invalid-request"),
        ({"records_max": 0}, "invalid-request"),
        ({"records_max": 10**9 + 1}, "invalid-request"),
        ({"records_max": 10**30}, "invalid-request"),
        ({"records_max": "5"}, "invalid-request"),
        ({"records_max": 5.0}, "invalid-request"),
        ({"records_max": True}, "invalid-request"),
        ({"relation": "bounded"}, "invalid-request"),
        ({"relation": None}, "invalid-request"),
        ({"population": "two words"}, "invalid-request"),
        ({"population": ".."}, "invalid-request"),
        ({"population": "x" * 65}, "invalid-request"),
        ({"population": "register", "relation": "replace"}, "conflict"),
        ({"population": "register", "person_key": "key"}, "conflict"),
        ({"person_key": None}, "invalid-request"),
        ({"person_key": "age"}, "invalid-request"),
        ({"person_key": "a\u0000"}, "invalid-request"),
        ({"person_key": "\u0958" * 200}, "invalid-request"),
        ({"columns": []}, "invalid-request"),
        ({"columns": {}}, "invalid-request"),
        ({"columns": [SEX, SEX]}, "invalid-request"),
        ({"columns": [{**SEX, "name": "\u00e9"}, {**SEX, "name": "e\u0301"}]}, "invalid-request"),
        ({"columns": [{**SEX, "name": str(number)} for number in range(1001)]}, "too-large"),
        ({"rows": 5}, "invalid-request"),
        (columns(sensitive=False), "invalid-request"),
        (columns(sensitive="yes"), "invalid-request"),
        (columns(type="text"), "invalid-request"),
        (columns(categories=None), "invalid-request"),
        (columns(categories=[]), "invalid-request"),
        (columns(categories=["a", "a"]), "invalid-request"),
        (columns(categories=["\u00e9", "e\u0301"]), "invalid-request"),
        (columns(categories=["", "a"]), "invalid-request"),
        (columns(categories=[1, 2]), "invalid-request"),
        (columns(categories=[str(number) for number in range(10_001)]), "too-large"),
        (columns(minimum=0), "invalid-request"),
        (columns(unit="years"), "invalid-request"),
        (columns({"name": "x", "type": "integer", "minimum": 5, "maximum": 4}), "invalid-request"),
        (columns({"name": "x", "type": "integer", "minimum": 0.5}), "invalid-request"),
        (columns({"name": "x", "type": "integer", "minimum": 1e300}), "invalid-request"),
        (columns({"name": "x", "type": "integer", "minimum": -(2**53) - 1}), "invalid-request"),
        (columns({"name": "x", "type": "number", "maximum": 10**400}), "invalid-request"),
        (columns({"name": "x", "type": "number", "maximum": "NaN"}), "invalid-request"),
        (columns({"name": "x", "type": "integer", "minimum": True}), "invalid-request"),
        (columns({"name": "x", "type": "boolean", "minimum": 0}), "invalid-request"),
        (columns({"name": "x", "type": "boolean", "categories": ["a"]}), "invalid-request"),
        (columns({"name": "x", "type": "category", "categories": ["a"], "label": True}), "invalid-request"),
        (columns({"name": "x", "type": "boolean", "label": True, "sensitive": True}), "invalid-request"),
        (columns(*({"name": name, "type": "boolean", "label": True} for name in "xy")), "invalid-request"),
    ],
    ids=lambda value: repr(value)[:60],
)
def test_a_declaration_that_contradicts_itself_is_refused(
    unmoved_holder: TestedHolder, changes: dict[str, Any], code: str
) -> None:
    refused(unmoved_holder.declare("fresh", **changes), code, holder=unmoved_holder)
    assert unmoved_holder.auditor("GET", "/datasets/fresh").status_code == 404


def test_a_range_beyond_a_double_is_refused(unmoved_holder: TestedHolder) -> None:
    declaration = {**DECLARATION, **columns({"name": "x", "type": "number", "maximum": 1})}
    body = json.dumps(declaration).replace('"maximum": 1', '"maximum": 1e400')

    answer = unmoved_holder.admin("PUT", "/datasets/fresh", content=body, headers=JSON)

    refused(answer, "invalid-request", holder=unmoved_holder)


@pytest.mark.parametrize(
    ("method", "path", "body", "code"),
    [
        ("POST", "/auditors", {}, "invalid-request"),
        ("POST", "/auditors", {"name": ""}, "invalid-request"),
        ("POST", "/auditors", {"name": "a b"}, "invalid-request"),
        ("POST", "/auditors", {"name": "../etc"}, "invalid-request"),
        ("POST", "/auditors", {"name": "a\n"}, "invalid-request"),
        ("POST", "/auditors", {"name": "ä"}, "invalid-request"),
        ("POST", "/auditors", {"name": "x" * 65}, "invalid-request"),
        ("POST", "/auditors", {"name": 1}, "invalid-request"),
        ("POST", "/auditors", {"name": "new", "role": "root"}, "invalid-request"),
        ("POST", "/auditors", {"name": "new", "key": "mine"}, "invalid-request"),
        ("POST", "/auditors", {"name": "new", "expires": "tomorrow"}, "invalid-request"),
        ("POST", "/auditors", {"name": "new", "expires": "2030-01-01T00:00:00"}, "invalid-request"),
        ("POST", "/auditors", {"name": "new", "expires": 10**30}, "invalid-request"),
        ("POST", "/auditors", {"name": "ADR"}, "conflict"),
        ("PATCH", "/auditors/nobody", {"disabled": True}, "not-found"),
        ("PATCH", "/auditors/ADR", {"disabled": "yes"}, "invalid-request"),
        ("PATCH", "/auditors/ADR", {"disabled": 1}, "invalid-request"),
        ("PATCH", "/auditors/ADR", {}, "invalid-request"),
        ("PATCH", "/auditors/ADR", {"role": "administrator"}, "invalid-request"),
        ("PATCH", "/auditors/administrator", {"disabled": True}, "conflict"),
        ("POST", "/auditors/nobody/keys", {}, "not-found"),
        ("POST", "/auditors/ADR/keys", {"expires": ""}, "invalid-request"),
        ("POST", "/auditors/ADR/keys", {"key": "mine"}, "invalid-request"),
        ("PUT", "/datasets/nope/budgets/ADR", {"epsilon": "1"}, "not-found"),
        ("PUT", "/datasets/register/budgets/nobody", {"epsilon": "1"}, "not-found"),
        ("PUT", "/datasets/register/budgets/administrator", {"epsilon": "1"}, "conflict"),
        ("PUT", "/datasets/register/budgets/ADR", {}, "invalid-request"),
        ("PUT", "/datasets/register/budgets/ADR", {"epsilon": 1}, "invalid-amount"),
        ("PUT", "/datasets/register/budgets/ADR", {"epsilon": "NaN"}, "invalid-amount"),
        ("PUT", "/datasets/register/budgets/ADR", {"epsilon": "1_0"}, "invalid-amount"),
        ("PUT", "/datasets/register/budgets/ADR", {"epsilon": "1", "delta": "-0"}, "invalid-amount"),
        ("PUT", "/datasets/register/budgets/ADR", {"epsilon": "1", "spent": "0"}, "invalid-request"),
        ("POST", "/populations/nope/merge", {"population": "register"}, "not-found"),
        ("POST", "/populations/register/merge", {"population": "nope"}, "not-found"),
        ("POST", "/populations/register/merge", {"population": "register"}, "conflict"),
        ("POST", "/populations/register/merge", {"population": "a b"}, "invalid-request"),
        ("POST", "/populations/register/merge", {}, "invalid-request"),
        ("POST", "/ledger/restore", {}, "invalid-request"),
        ("POST", "/ledger/restore", {"reason": ""}, "invalid-request"),
        ("POST", "/ledger/restore", {"reason": "a\u0000"}, "invalid-request"),
        ("POST", "/ledger/restore", {"reason": "x" * 201}, "invalid-request"),
        ("POST", "/ledger/restore", [], "invalid-request"),
    ],
    ids=lambda value: repr(value)[:40],
)
def test_an_administrators_mistake_is_refused(
    unmoved_holder: TestedHolder, method: str, path: str, body: Any, code: str
) -> None:
    refused(unmoved_holder.admin(method, path, json=body), code, holder=unmoved_holder)


@pytest.mark.parametrize(
    ("content", "media_type", "code"),
    [
        (CSV, "", "invalid-request"),
        (CSV, "application/json", "invalid-request"),
        (CSV, "application/x-parquet", "invalid-request"),
        (b"", "text/csv", "invalid-records"),
        (CSV + b"p9,1\n", "text/csv", "invalid-records"),
        (CSV + b"p9,1,1,low,true,Female,here,more\n", "text/csv", "invalid-records"),
        (CSV + b"p9,1,1,low,true,\xff,here\n", "text/csv", "invalid-records"),
        (CSV + b"p9,1,1,low,true,Fe\0male,here\n", "text/csv", "invalid-records"),
        (CSV + b'p9,1,1,"low,true,Female,here\n', "text/csv", "invalid-records"),
        (CSV + b"p9,1,1,unheard-of,true,Female,here\n", "text/csv", "invalid-records"),
        (CSV + b"p9,777,1,low,true,Female,here\n", "text/csv", "invalid-records"),
        (CSV + b"p9,1,1e400,low,true,Female,here\n", "text/csv", "invalid-records"),
        (CSV + CSV.splitlines(keepends=True)[1], "text/csv", "invalid-records"),
        (CSV.replace(b"citizen", b"citizens"), "text/csv", "invalid-records"),
        (register_csv(people=10_001), "text/csv", "invalid-records"),
        (b"id," + b"x" * 20_000_000, "text/csv", "invalid-records"),
        (CSV, "application/vnd.apache.parquet", "invalid-records"),
        (b"PAR1xxxxxxxxPAR1", "application/vnd.apache.parquet", "invalid-records"),
    ],
    ids=lambda value: repr(value)[-40:],
)
def test_records_that_do_not_fit_change_nothing_and_show_nothing(
    unmoved_holder: TestedHolder, content: bytes, media_type: str, code: str
) -> None:
    document = refused(unmoved_holder.load(content, media_type=media_type), code, holder=unmoved_holder)

    assert not any(value in document["detail"] for value in ("unheard-of", "777", "p0", "p9"))
    assert unmoved_holder.auditor("GET", "/datasets/register").json()["version"] == 1
    assert len(list(unmoved_holder.settings.records.iterdir())) == 1
    assert not list(unmoved_holder.settings.incoming.iterdir())


def test_records_of_an_unknown_dataset_are_refused_before_they_are_read(unmoved_holder: TestedHolder) -> None:
    refused(unmoved_holder.load(CSV, "nope"), "not-found", holder=unmoved_holder)


def test_more_bytes_than_the_declared_records_can_take_are_refused(sqlite_holder: TestedHolder) -> None:
    sqlite_holder.declare("one", records_max=1)

    refused(sqlite_holder.load(b" " * 70_000, "one"), "too-large", holder=sqlite_holder)


def test_texts_as_long_as_they_may_be_are_kept(lasting_holders: TestedHolder) -> None:
    """PostgreSQL minds the length of a column and SQLite does not: neither may fail."""
    name, text, key = "n" * 64, "\U0001f600" * 200, "é" * 200
    holder = lasting_holders

    assert holder.declare(name, population="p" * 64, person_key=key).status_code == 200
    assert holder.admin("POST", "/auditors", json={"name": name}).status_code == 201
    assert holder.admin("PUT", f"/datasets/{name}/budgets/{name}", json={"epsilon": "999.999999999"}).status_code == 200
    lose_the_anchored_entry(holder.settings)
    assert holder.admin("POST", "/ledger/restore", json={"reason": text}).status_code == 201
    assert holder.admin("POST", "/ledger/verify").json()["intact"]


def test_a_plan_over_more_groups_than_fit_into_memory_is_refused_at_once(sqlite_holder: TestedHolder) -> None:
    wide = [{**SEX, "name": f"s{number}", "categories": [str(one) for one in range(1000)]} for number in range(8)]
    sqlite_holder.declare("wide", columns=wide)
    body = {**plan(), "sensitive": [column["name"] for column in wide]}

    refused(sqlite_holder.auditor("POST", "/datasets/wide/quotes", json=body), "too-large", holder=sqlite_holder)


def test_a_relation_that_changes_while_a_plan_is_answered_refuses_it(sqlite_holder: TestedHolder) -> None:
    """The noise was for `add_remove`: under `replace` the same release would have cost twice what the ledger says."""
    store, serving = sqlite_holder.holder.store, sqlite_holder.holder
    asked = releases.prepare(store, serving.files, auditor="ADR", dataset="register", plan=Plan.model_validate(plan()))
    assert isinstance(asked, AskedPlan)

    assert sqlite_holder.declare(relation="replace").status_code == 200
    drawn = releases.draw(asked, records=serving.records)
    with pytest.raises(Conflict):
        releases.enter(store, drawn=drawn, key_id=sqlite_holder.auditor_key_id, signing=serving.signing)

    assert sqlite_holder.spent() == "0"


def test_loads_while_releases_run_leave_one_file_and_no_failure(holder: TestedHolder) -> None:
    def load(seed: int) -> int:
        return holder.load(register_csv(seed=seed)).status_code

    def ask(draw: int) -> int:
        return holder.release(plan(epsilon="0.001", draw=draw)).status_code

    with ThreadPoolExecutor(6) as pool:
        loads = pool.map(load, range(8))
        asks = pool.map(ask, range(1, 33))

        assert set(loads) == {200}
        assert set(asks) <= {201, 409}
    assert holder.auditor("GET", "/datasets/register").json()["version"] == 9
    assert holder.declare(columns=DECLARATION["columns"][1:]).json()["version"] is None
    assert holder.declare().json()["version"] is None
    assert holder.load(register_csv()).json()["version"] == 10
    assert len(list(holder.settings.records.iterdir())) == 1
    assert holder.release(plan(epsilon="0.001", draw=99)).status_code == 201
    assert holder.admin("POST", "/ledger/verify").json()["intact"]
