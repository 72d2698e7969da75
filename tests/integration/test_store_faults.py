"""A store that fails: 503 with Retry-After or the release; one entry, one noise, no repair (2-privacy §5)."""

import resource
import sqlite3
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final, Literal

import httpx
import psycopg
import pytest

from holder_service.domain.errors import Unavailable
from holder_service.storage import accounts
from holder_service.storage.database import LOCK_WAIT_S, SILENCE_S_MAX, Database
from testing.holders import Served, TestedHolder, forked, running_holder, stopped_holder
from testing.postgres_proxy import CuttingProxy, cutting_proxy
from testing.refusals import refused
from testing.registers import plan
from testing.waits import wait_until

FAULT_S: Final = 5.0
PLANS: Final = 8
LOCKED: Final = "SELECT sequence FROM ledger_head WHERE id = 1 FOR UPDATE"
OTHER_SESSIONS: Final = "FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
FAILING_UNTIL: Final = """
    CREATE OR REPLACE FUNCTION fail_for_a_while() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        IF clock_timestamp() < '{until}' THEN
            RAISE EXCEPTION USING ERRCODE = 'serialization_failure';
        END IF;
        RETURN new;
    END $$
"""
FAILING: Final = "CREATE TRIGGER fails BEFORE UPDATE ON ledger_head FOR EACH ROW EXECUTE FUNCTION fail_for_a_while()"


def ask(client: httpx.Client, key: str, body: dict[str, Any]) -> httpx.Response:
    """Ask a plan; check that the answer is a release or says when to ask again."""
    answer = client.post(
        "/v1/datasets/register/releases", json=body, headers={"Authorization": f"Bearer {key}"}, timeout=60
    )
    assert answer.status_code in (200, 201, 503), answer.text
    if answer.status_code == 503:
        assert answer.json()["type"] == "/problems/unavailable"
        assert int(answer.headers["Retry-After"]) > 0
    return answer


def ask_until_answered(client: httpx.Client, key: str, body: dict[str, Any]) -> bytes:
    """Ask a plan again and again, as `Retry-After` says but more eagerly."""
    while (answer := ask(client, key, body)).status_code == 503:
        time.sleep(0.1)
    return answer.content


def bodies() -> list[dict[str, Any]]:
    return [plan(draw=draw) for draw in range(1, PLANS + 1)]


def assert_charged_once(holder: TestedHolder, answers: list[bytes]) -> None:
    """Every plan has one entry and the answer that left first; chain and anchor are in order."""
    charges = [entry["subject"] for entry in holder.entries() if entry["kind"] == "charge"]
    assert len(charges) == len(set(charges)) == len(answers)
    assert [holder.release(body).content for body in bodies()[: len(answers)]] == answers
    assert holder.admin("POST", "/ledger/verify").json()["intact"]
    assert holder.client.get("/readyz").status_code == 200


@pytest.fixture
def proxied(tmp_path: Path, postgres_url: str) -> Iterator[tuple[TestedHolder, CuttingProxy]]:
    """A holder that reaches its database through a proxy."""
    with cutting_proxy(postgres_url) as proxy, running_holder(tmp_path, proxy.url) as holder:
        yield holder, proxy


@pytest.mark.postgres
@pytest.mark.parametrize(("cut", "then"), [("before", 201), ("after", 200)])
def test_a_connection_cut_at_the_commit_costs_one_charge(
    proxied: tuple[TestedHolder, CuttingProxy], cut: Literal["before", "after"], then: int
) -> None:
    """If the COMMIT arrived, its answer is there for the asking; if it did not, nothing happened."""
    holder, proxy = proxied
    proxy.cut = cut

    lost = ask(holder.client, holder.auditor_key, plan(draw=1))
    again = ask(holder.client, holder.auditor_key, plan(draw=1))

    refused(lost, "unavailable", holder=holder)
    assert again.status_code == then
    assert_charged_once(holder, [again.content])


@pytest.mark.postgres
def test_a_server_that_cuts_all_connections_is_found_again(tmp_path: Path, postgres_url: str) -> None:
    with running_holder(tmp_path, postgres_url) as holder:
        first = ask_until_answered(holder.client, holder.auditor_key, plan(draw=1))
        with psycopg.connect(postgres_url, autocommit=True) as connection:
            connection.execute(f"SELECT pg_terminate_backend(pid) {OTHER_SESSIONS}")

        second = ask_until_answered(holder.client, holder.auditor_key, plan(draw=2))

        assert_charged_once(holder, [first, second])


@pytest.mark.postgres
def test_a_lost_connection_is_refused_once_and_one_that_rested_never(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those that were used just now are used without a ping, but no longer once one of them was found lost.

    What is "just now" is set, so that it makes no difference how busy the machine is.
    """

    def end_all_sessions() -> None:
        with psycopg.connect(postgres_url, autocommit=True) as connection:
            connection.execute(f"SELECT pg_terminate_backend(pid) {OTHER_SESSIONS}")
            wait_until(lambda: connection.execute(f"SELECT pid {OTHER_SESSIONS}").fetchone() is None)

    def trust_what_was_used_within(seconds: float) -> None:
        monkeypatch.setattr("holder_service.storage.database.TRUSTED_S", seconds)

    def looked_up(times: int) -> list[bool]:
        found = []
        for _ in range(times):
            try:
                with database.read() as connection:
                    found.append(accounts.find_key(connection, "nobody's") is None)
            except Unavailable:
                found.append(False)
        return found

    with closing(Database(postgres_url)) as database:
        database.migrate()
        trust_what_was_used_within(3600)
        with database.read(), database.read(), database.read():
            pass
        end_all_sessions()

        at_once = looked_up(4)
        trust_what_was_used_within(0)
        end_all_sessions()

        assert at_once == [False, True, True, True]
        assert looked_up(1) == [True]


@pytest.mark.postgres
def test_a_holder_that_went_silent_gives_the_lock_back(tmp_path: Path, postgres_url: str) -> None:
    """A machine without power closes no connection: PostgreSQL has to end the session itself."""
    with running_holder(tmp_path, postgres_url) as holder, holder.holder.store.database.read() as connection:
        shown = connection.exec_driver_sql("SHOW idle_in_transaction_session_timeout").scalar()

    assert shown == f"{SILENCE_S_MAX}s"


def test_an_anchor_that_cannot_be_used_stops_releases_until_it_can(sqlite_holder: TestedHolder) -> None:
    holder, anchor = sqlite_holder, sqlite_holder.settings.anchor
    first = ask(holder.client, holder.auditor_key, plan(draw=1)).content
    anchor.rename(anchor.with_name("aside"))
    anchor.mkdir()

    refused(ask(holder.client, holder.auditor_key, plan(draw=2)), "unavailable", holder=holder)
    refused(ask(holder.client, holder.auditor_key, plan(draw=1)), "unavailable", holder=holder)
    anchor.rmdir()
    anchor.with_name("aside").rename(anchor)

    assert_charged_once(holder, [first, ask(holder.client, holder.auditor_key, plan(draw=2)).content])


@pytest.mark.postgres
@pytest.mark.slow
def test_serialisation_failures_for_a_while_are_survived(tmp_path: Path, postgres_url: str) -> None:
    with running_holder(tmp_path, postgres_url) as holder:
        with psycopg.connect(postgres_url, autocommit=True) as connection:
            connection.execute(FAILING_UNTIL.format(until="infinity"))
            connection.execute(FAILING)
            refused(ask(holder.client, holder.auditor_key, plan(draw=1)), "unavailable", holder=holder)
            [until] = connection.execute(f"SELECT clock_timestamp() + '{FAULT_S} s'").fetchone() or [None]
            connection.execute(FAILING_UNTIL.format(until=until))

        with ThreadPoolExecutor(PLANS) as pool:
            asked = [pool.submit(ask_until_answered, holder.client, holder.auditor_key, body) for body in bodies()]

            assert_charged_once(holder, [each.result() for each in asked])


@contextmanager
def held_on_sqlite(url: str) -> Iterator[None]:
    with closing(sqlite3.connect(url.removeprefix("sqlite:///"), isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        yield
        connection.execute("ROLLBACK")


@contextmanager
def held_on_postgresql(url: str) -> Iterator[None]:
    with psycopg.connect(url) as connection:
        connection.execute(LOCKED)
        yield
        connection.rollback()


def held(url: str) -> AbstractContextManager[None]:
    """Hold the lock that every write needs, as somebody else's transaction."""
    return held_on_sqlite(url) if url.startswith("sqlite") else held_on_postgresql(url)


@pytest.mark.slow
def test_a_lock_that_somebody_holds_for_a_while_is_waited_for(holder: TestedHolder) -> None:
    with ThreadPoolExecutor(PLANS) as pool:
        with held(holder.settings.database_url):
            asked = [pool.submit(ask, holder.client, holder.auditor_key, body) for body in bodies()]
            time.sleep(FAULT_S)
        answers = [each.result() for each in asked]

    assert {answer.status_code for answer in answers} == {201}
    assert_charged_once(holder, [answer.content for answer in answers])


@pytest.mark.statistical
def test_a_lock_that_somebody_holds_for_too_long_is_not_waited_for(holder: TestedHolder) -> None:
    """All who wait give up at about the same time, and not one after the other."""
    with ThreadPoolExecutor(PLANS) as pool:
        with held(holder.settings.database_url):
            began = time.monotonic()
            asked = list(pool.map(lambda body: ask(holder.client, holder.auditor_key, body), bodies()))
            waited_s = time.monotonic() - began
        answers = list(pool.map(lambda body: ask_until_answered(holder.client, holder.auditor_key, body), bodies()))

    assert {answer.status_code for answer in asked} == {503}
    assert waited_s < 3 * LOCK_WAIT_S
    assert_charged_once(holder, answers)


@contextmanager
def full_disk(served: Served, size_bytes: int) -> Iterator[None]:
    """No file that the holder's process writes may grow beyond a size."""
    pid = served.process.pid
    assert pid is not None
    soft, hard = resource.prlimit(pid, resource.RLIMIT_FSIZE)
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (size_bytes, hard))
    try:
        yield
    finally:
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (soft, hard))


def test_a_full_disk_charges_nothing_and_is_recovered_from_without_repair(tmp_path: Path) -> None:
    database = tmp_path / "holder.sqlite"
    holder = stopped_holder(tmp_path, f"sqlite:///{database}")

    with forked(holder.settings) as served, httpx.Client(base_url=served.url, timeout=60) as client:
        ask_it = partial(ask, client, holder.auditor_key)
        before = [ask_it(body) for body in bodies()[:2]]
        with full_disk(served, database.with_name("holder.sqlite-wal").stat().st_size):
            during = [ask_it(body) for body in bodies()[2:]]
        after = [ask_it(body) for body in bodies()[2:]]

    assert {answer.status_code for answer in before} == {201}
    assert 503 in {answer.status_code for answer in during}
    assert [answer.status_code for answer in after] == [201 if each.status_code == 503 else 200 for each in during]
    with holder.reopened() as again:
        assert_charged_once(again, [answer.content for answer in before + after])
