"""Every problem code: it has a status and a page, and here is what brings it about, for real."""

import sqlite3
from collections.abc import Callable
from html import escape
from typing import Final
from urllib.parse import urlsplit

import httpx
import psycopg
import pytest
from psycopg import sql

from holder_service.domain.errors import HolderError
from holder_service.storage.anchor import Anchor
from holder_service.web.edge.problems import STATUS_BY_CODE
from shared.kinds.releases import LedgerPosition
from shared.wire.problems import TITLES, PlanRefused
from testing.holders import TestedHolder, running_holder
from testing.postgres import PostgresServer
from testing.refusals import refused
from testing.registers import plan

ELSEWHERE: Final = {"rate-limited", "too-slow", "column-not-ready", "approval-declined"}
"""What takes a crowd or patience to bring about, in test_request_limits.py and test_columns.py; or a second person, in
test_approvals.py."""


def edit(holder: TestedHolder, statement: str, *values: object) -> None:
    """Change the database behind the holder's back."""
    with sqlite3.connect(holder.settings.database_url.removeprefix("sqlite:///")) as connection:
        connection.execute(statement, values)
    connection.close()


def asked_of(column: str) -> dict[str, object]:
    body = plan()
    body["batches"][0]["cells"][0]["all_of"][0]["column"] = column
    return body


def no_records(holder: TestedHolder) -> httpx.Response:
    holder.declare("empty")
    return holder.release(plan(), dataset="empty")


def cap_exhausted(holder: TestedHolder) -> httpx.Response:
    holder.declare(cap={"epsilon": "0.01", "delta": "0"})
    return holder.release(plan())


def version_gone(holder: TestedHolder) -> httpx.Response:
    holder.load(b"id,age,hours,education,citizen,sex,origin\n")
    return holder.release(plan(version=1))


def already_charged(holder: TestedHolder) -> httpx.Response:
    holder.release(plan())
    return holder.declare(relation="replace")


def restore_unrecorded(holder: TestedHolder) -> httpx.Response:
    Anchor(holder.settings.anchor).create(LedgerPosition(sequence=999, hash="sha256:" + "f" * 64))
    return holder.release(plan())


def unavailable(holder: TestedHolder) -> httpx.Response:
    holder.settings.anchor.unlink()
    holder.settings.anchor.mkdir()
    return holder.release(plan())


def internal(holder: TestedHolder) -> httpx.Response:
    edit(holder, 'UPDATE datasets SET schema = \'{"person_key": "secret-7"\'')
    return holder.auditor("GET", "/datasets")


Trigger = Callable[[TestedHolder], httpx.Response]
HARMLESS: Final[dict[str, Trigger]] = {
    "unauthenticated": lambda holder: holder.auditor("GET", "/datasets", key="none"),
    "forbidden": lambda holder: holder.auditor("GET", "/admin/auditors"),
    "not-found": lambda holder: holder.auditor("GET", "/datasets/nope"),
    "method-not-allowed": lambda holder: holder.auditor("DELETE", "/datasets"),
    "unsupported-media-type": lambda holder: holder.auditor("POST", "/datasets/register/quotes", content=b"{}"),
    "invalid-request": lambda holder: holder.auditor("GET", "/datasets/register/releases?limit=0"),
    "invalid-amount": lambda holder: holder.release(plan(epsilon="1e400")),
    "invalid-plan": lambda holder: holder.release(plan(seed=1)),
    "unknown-column": lambda holder: holder.release(asked_of("income")),
    "sensitive-column": lambda holder: holder.release(asked_of("sex")),
    "too-large": lambda holder: holder.release({**plan(), "batches": plan()["batches"] * 17}),
    "budget-exhausted": lambda holder: holder.release(
        {**plan(), "batches": [{**plan(epsilon="10")["batches"][0], "name": name} for name in ("one", "two")]}
    ),
    "conflict": lambda holder: holder.admin("POST", "/auditors", json={"name": "ADR"}),
    "invalid-records": lambda holder: holder.load(b""),
}
HARMFUL: Final[dict[str, Trigger]] = {
    "cap-exhausted": cap_exhausted,
    "version-gone": version_gone,
    "no-records": no_records,
    "already-charged": already_charged,
    "restore-unrecorded": restore_unrecorded,
    "unavailable": unavailable,
    "internal": internal,
}


@pytest.mark.parametrize("code", HARMLESS)
def test_a_call_brings_a_code_about(unmoved_holder: TestedHolder, code: str) -> None:
    answer = HARMLESS[code](unmoved_holder)

    refused(answer, code, holder=unmoved_holder)
    assert "retry-after" not in answer.headers


@pytest.mark.parametrize("code", HARMFUL)
def test_what_happened_to_the_holder_brings_a_code_about(
    sqlite_holder: TestedHolder, code: str, caplog: pytest.LogCaptureFixture
) -> None:
    answer = HARMFUL[code](sqlite_holder)

    refused(answer, code, holder=sqlite_holder)
    assert ("retry-after" in answer.headers) == (answer.status_code == 503)
    assert "secret-7" not in answer.text + caplog.text


def test_no_code_is_without_title_status_and_trigger() -> None:
    assert set(TITLES) == set(STATUS_BY_CODE) == {*HARMLESS, *HARMFUL} | ELSEWHERE


def test_a_code_has_a_page_that_says_what_it_means_and_what_to_do(lasting_holder: TestedHolder) -> None:
    listed = {one["code"]: one for one in lasting_holder.client.get("/problems").json()["problems"]}

    for code, status in STATUS_BY_CODE.items():
        document = lasting_holder.client.get(f"/problems/{code}").json()
        page = lasting_holder.client.get(f"/problems/{code}", headers={"Accept": "text/html,*/*;q=0.8"})

        assert document == listed.pop(code)
        assert (document["code"], document["title"], document["status"]) == (code, TITLES[code], status)
        assert len(document["meaning"]) >= 40
        assert len(document["remedy"]) > 30
        assert page.headers["content-type"].startswith("text/html")
        assert page.headers["content-security-policy"].startswith("default-src 'none'")
        assert escape(document["meaning"].split("`")[0]) in page.text
        assert "`" not in page.text
    assert not listed
    refused(lasting_holder.client.get("/problems/nope"), "not-found", holder=lasting_holder)


def every_kind(kind: type[Exception]) -> set[type[Exception]]:
    return {kind}.union(*(every_kind(child) for child in kind.__subclasses__()))


def test_every_refusal_of_holder_and_contract_has_a_code_with_a_status() -> None:
    for kind in every_kind(HolderError) | every_kind(PlanRefused):
        assert getattr(kind, "code", None) in STATUS_BY_CODE, kind


def test_an_exhausted_budget_says_what_was_asked_and_what_is_left(unmoved_holder: TestedHolder) -> None:
    document = refused(HARMLESS["budget-exhausted"](unmoved_holder), "budget-exhausted", holder=unmoved_holder)

    assert document["requested"] == {"epsilon": "20", "delta": "0"}
    assert document["remaining"] == {"epsilon": "10", "delta": "0"}


def test_a_database_that_is_away_comes_back_and_nothing_was_charged(
    postgres_server: PostgresServer, tmp_path_factory: pytest.TempPathFactory
) -> None:
    with (
        postgres_server.database() as url,
        running_holder(tmp_path_factory.mktemp("away"), url) as holder,
        psycopg.connect(postgres_server.url, autocommit=True) as server,
    ):
        name = urlsplit(url).path.removeprefix("/")
        here, away = sql.Identifier(name), sql.Identifier(f"{name}_away")
        server.execute(sql.SQL("ALTER DATABASE {} ALLOW_CONNECTIONS false").format(here))
        server.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", [name])
        server.execute(sql.SQL("ALTER DATABASE {} RENAME TO {}").format(here, away))

        answers = [
            holder.release(plan()),
            holder.auditor("GET", "/datasets"),
            holder.admin("POST", "/auditors", json={"name": "new"}),
            holder.admin("POST", "/ledger/verify"),
            holder.client.get("/readyz"),
            holder.client.get("/v1/keys"),
        ]

        for answer in answers:
            refused(answer, "unavailable", holder=holder)
            assert answer.headers["retry-after"] == "1"
        assert holder.client.get("/healthz").status_code == 200
        server.execute(sql.SQL("ALTER DATABASE {} RENAME TO {}").format(away, here))
        server.execute(sql.SQL("ALTER DATABASE {} ALLOW_CONNECTIONS true").format(here))
        assert holder.client.get("/readyz").status_code == 200
        assert holder.spent() == "0"
        assert holder.release(plan()).status_code == 201


def test_a_release_whose_entry_could_not_be_anchored_does_not_leave(sqlite_holder: TestedHolder) -> None:
    """The charge is committed and the anchor is gone: no answer, until the same plan can be anchored."""
    anchor = sqlite_holder.settings.anchor
    kept = anchor.read_bytes()
    sqlite_holder.release(plan())
    anchor.write_bytes(kept)  # as if the process had died between commit and anchor

    again = sqlite_holder.release(plan())

    assert again.status_code == 200
    anchored = Anchor(anchor).read()
    assert anchored is not None
    assert anchored.sequence == again.json()["ledger"]["sequence"]


def test_a_stored_answer_does_not_move_an_anchor_that_says_the_database_is_another(sqlite_holder: TestedHolder) -> None:
    """Else a replay would hide that the database was replaced by one that grew from an old copy."""
    release = sqlite_holder.release(plan()).json()
    Anchor(sqlite_holder.settings.anchor).create(
        LedgerPosition(sequence=release["ledger"]["sequence"] - 1, hash="sha256:" + "f" * 64)
    )

    answers = [
        sqlite_holder.release(plan()),
        sqlite_holder.auditor("GET", f"/datasets/register/releases/{release['id']}"),
        sqlite_holder.release(plan(draw=2)),
        sqlite_holder.client.get("/readyz"),
    ]

    for answer in answers:
        refused(answer, "restore-unrecorded", holder=sqlite_holder)


def test_a_restart_does_not_forget_that_a_restore_is_to_be_recorded(sqlite_holder: TestedHolder) -> None:
    restore_unrecorded(sqlite_holder)

    with sqlite_holder.reopened() as again:
        refused(again.release(plan()), "restore-unrecorded", holder=again)
