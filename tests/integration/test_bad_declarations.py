"""What an administrator sends by mistake: refused whole, with the path of the fault, and nothing changes."""

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

import pytest

from holder_service.domain.errors import Conflict
from holder_service.services.releases import releases
from holder_service.services.releases.asked import AskedRelease
from shared.kinds.plans import Plan
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


def with_x(**fields: Any) -> dict[str, Any]:
    """A declaration of the sex column and of a column "x"."""
    return columns({"name": "x", **fields})


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        *(({"cap": cap}, "invalid-request") for cap in (None, "10", {}, {"epsilon": "1", "gamma": "1"})),
        *(({"cap": {"epsilon": epsilon}}, "invalid-amount") for epsilon in (10, "-1", "1000")),
        *(({"cap": {"epsilon": "1", "delta": delta}}, "invalid-amount") for delta in ("1e-9", "1", "999")),
        *(({"records_max": most}, "invalid-request") for most in (0, 10**9 + 1, 10**30, "5", 5.0, True)),
        *(({"relation": relation}, "invalid-request") for relation in ("bounded", None)),
        *(({"population": name}, "invalid-request") for name in ("two words", "..", "x" * 65)),
        ({"population": "register", "relation": "replace"}, "conflict"),
        ({"population": "register", "person_key": "key"}, "conflict"),
        *(({"person_key": name}, "invalid-request") for name in (None, "age", "a\u0000", "\u0958" * 200)),
        ({"columns": []}, "invalid-request"),
        ({"columns": {}}, "invalid-request"),
        ({"columns": [SEX, SEX]}, "invalid-request"),
        ({"columns": [{**SEX, "name": "\u00e9"}, {**SEX, "name": "e\u0301"}]}, "invalid-request"),
        ({"columns": [{**SEX, "name": str(number)} for number in range(1001)]}, "too-large"),
        ({"rows": 5}, "invalid-request"),
        *((columns(sensitive=sensitive), "invalid-request") for sensitive in (False, "yes")),
        (columns(type="text"), "invalid-request"),
        *(
            (columns(categories=categories), "invalid-request")
            for categories in (None, [], ["a", "a"], ["\u00e9", "e\u0301"], ["", "a"], [1, 2])
        ),
        (columns(categories=[str(number) for number in range(10_001)]), "too-large"),
        (columns(minimum=0), "invalid-request"),
        (columns(unit="years"), "invalid-request"),
        (with_x(type="integer", minimum=5, maximum=4), "invalid-request"),
        *((with_x(type="integer", minimum=least), "invalid-request") for least in (0.5, 1e300, -(2**53) - 1, True)),
        *((with_x(type="number", maximum=most), "invalid-request") for most in (10**400, "NaN")),
        (with_x(type="boolean", minimum=0), "invalid-request"),
        (with_x(type="boolean", categories=["a"]), "invalid-request"),
        (with_x(type="category", categories=["a"], label=True), "invalid-request"),
        (with_x(type="boolean", label=True, sensitive=True), "invalid-request"),
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
        *(
            ("POST", "/auditors", {"name": name}, "invalid-request")
            for name in ("", "a b", "../etc", "a\n", "ä", "x" * 65, 1)
        ),
        ("POST", "/auditors", {"name": "new", "role": "root"}, "invalid-request"),
        ("POST", "/auditors", {"name": "new", "key": "mine"}, "invalid-request"),
        *(
            ("POST", "/auditors", {"name": "new", "expires": expires}, "invalid-request")
            for expires in ("tomorrow", "2030-01-01T00:00:00", 10**30)
        ),
        ("POST", "/auditors", {"name": "ADR"}, "conflict"),
        ("PATCH", "/auditors/nobody", {"disabled": True}, "not-found"),
        *(
            ("PATCH", "/auditors/ADR", changes, "invalid-request")
            for changes in ({"disabled": "yes"}, {"disabled": 1}, {}, {"role": "administrator"})
        ),
        ("PATCH", "/auditors/administrator", {"disabled": True}, "conflict"),
        ("POST", "/auditors/nobody/keys", {}, "not-found"),
        *(("POST", "/auditors/ADR/keys", body, "invalid-request") for body in ({"expires": ""}, {"key": "mine"})),
        ("PUT", "/datasets/nope/budgets/ADR", {"epsilon": "1"}, "not-found"),
        ("PUT", "/datasets/register/budgets/nobody", {"epsilon": "1"}, "not-found"),
        ("PUT", "/datasets/register/budgets/administrator", {"epsilon": "1"}, "conflict"),
        *(
            ("PUT", "/datasets/register/budgets/ADR", budget, "invalid-amount")
            for budget in ({"epsilon": 1}, {"epsilon": "NaN"}, {"epsilon": "1_0"}, {"epsilon": "1", "delta": "-0"})
        ),
        *(
            ("PUT", "/datasets/register/budgets/ADR", budget, "invalid-request")
            for budget in ({}, {"epsilon": "1", "spent": "0"}, {"epsilon": "1", "expires": "2020-01-01T00:00:00Z"})
        ),
        ("POST", "/populations/nope/merge", {"population": "register"}, "not-found"),
        ("POST", "/populations/register/merge", {"population": "nope"}, "not-found"),
        ("POST", "/populations/register/merge", {"population": "register"}, "conflict"),
        *(("POST", "/populations/register/merge", body, "invalid-request") for body in ({"population": "a b"}, {})),
        *(
            ("POST", "/ledger/restore", body, "invalid-request")
            for body in ({}, {"reason": ""}, {"reason": "a\u0000"}, {"reason": "x" * 201})
        ),
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
        *((CSV, media, "unsupported-media-type") for media in ("", "application/json", "application/x-parquet")),
        (b"", "text/csv", "invalid-records"),
        *(
            (CSV + line, "text/csv", "invalid-records")
            for line in (
                b"p9,1\n", b"p9,1,1,low,true,Female,here,more\n", b"p9,1,1,low,true,\xff,here\n",
                b"p9,1,1,low,true,Fe\0male,here\n", b'p9,1,1,"low,true,Female,here\n',
                b"p9,1,1,unheard-of,true,Female,here\n", b"p9,777,1,low,true,Female,here\n",
                b"p9,1,1e400,low,true,Female,here\n", CSV.splitlines(keepends=True)[1],
            )
        ),
        (CSV.replace(b"citizen", b"citizens"), "text/csv", "invalid-records"),
        (register_csv(people=10_001), "text/csv", "invalid-records"),
        (b"id," + b"x" * 20_000_000, "text/csv", "invalid-records"),
        (CSV, "application/vnd.apache.parquet", "invalid-records"),
        (b"PAR1xxxxxxxxPAR1", "application/vnd.apache.parquet", "invalid-records"),
    ],
    ids=lambda value: repr(value)[-40:],
)  # fmt: skip
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
    asked = releases.prepare(store, serving.files, auditor="ADR", dataset="register", asked=Plan.model_validate(plan()))
    assert isinstance(asked, AskedRelease)

    assert sqlite_holder.declare(relation="replace").status_code == 200
    drawn = releases.draw(asked, engine=serving.engine, seals=serving.seals)
    with pytest.raises(Conflict):
        releases.enter(
            store, drawn=drawn, proof=sqlite_holder.auditor_key_id, signing=serving.signing, pace=serving.pace
        ).result()

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


def test_all_faults_of_all_columns_are_reported_at_once(sqlite_holder: TestedHolder) -> None:
    """The planted fault tells the first column's alone."""
    document = {
        **DECLARATION,
        "records_max": 0,
        "columns": [
            {"name": "town", "type": "category", "categories": ["a", "a"]},
            {"name": "age", "type": "integer", "minimum": 5, "maximum": 1},
            {"name": "income", "type": "money"},
        ],
    }

    answer = sqlite_holder.admin("PUT", "/datasets/other", json=document)

    refused(answer, "invalid-request", holder=sqlite_holder)
    reported = {error["field"]: error["detail"] for error in answer.json()["errors"]}
    assert set(reported) == {"records_max", "columns[0]", "columns[1]", "columns[2].type", "body"}
    assert "lists a category twice" in reported["columns[0]"]
    assert "minimum is above maximum" in reported["columns[1]"]
    assert "at least one sensitive column" in reported["body"]
