"""Metrics and logs say what was asked and refused, and nothing of the records: no count, true or noisy, no key."""

import csv
import json
import logging
import logging.config
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from io import StringIO
from pathlib import Path
from typing import Any, Final, NoReturn
from urllib.parse import urlsplit

import httpx
import psycopg
import pytest
from psycopg import sql

from holder_service.records import local_engine
from holder_service.records.counting import TrueCounts, count_cells
from holder_service.services.running.holder import initialise
from holder_service.settings.log_levels import Level
from holder_service.web.edge.logs import FIELDS, configuration
from testing.console_visitors import visitor
from testing.holders import OF_THE_TIME, Served, TestedHolder, running_holder, settings_in
from testing.ports import reserved_port
from testing.postgres import PostgresServer
from testing.registers import plan, register_csv
from testing.waits import wait_until

PASSWORD: Final = "correct-horse-battery"
PEOPLE: Final = 7_919


class Observer:
    """Stands for a provider of spans that the environment put in place; notes who asks for a tracer."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def get_tracer(self, name: str, *_: Any, **__: Any) -> NoReturn:
        """Note it, and have the request fail."""
        self.asked.append(name)
        raise RuntimeError("a span would begin")


def test_the_framework_observes_nothing_whatever_the_environment_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spans would say how long a draw took."""
    observer = Observer()
    monkeypatch.setattr("opentelemetry.trace._TRACER_PROVIDER", observer)
    monkeypatch.setenv("FASTAPI_OTEL_AUTO_CONFIGURE", "true")

    with running_holder(tmp_path) as holder:
        assert holder.release(plan()).status_code == 201

    assert observer.asked == []


def series(text: str) -> dict[str, float]:
    """Every series of an exposition with its value."""
    lines = (line.rpartition(" ") for line in text.splitlines() if not line.startswith("#"))
    return {name: float(value) for name, _, value in lines}


def asked_much(holder: TestedHolder) -> list[int]:
    """Releases, again and refused, quotes, bad requests, loads, a broken one; gives the statuses."""
    answers = [
        *(holder.release(plan(epsilon="0.5", draw=draw, age=120)) for draw in range(1, 6)),
        holder.release(plan(epsilon="0.5", draw=1, age=120)),
        holder.release(plan(epsilon="9.9")),
        holder.release(plan(epsilon="1e400")),
        holder.release(plan(), dataset="nope"),
        holder.release(plan(), key=holder.auditor_key[:-1] + "x"),
        holder.auditor("POST", "/datasets/register/quotes", json=plan()),
        holder.admin("GET", "/auditors"),
        holder.admin("POST", "/auditors", json={"name": "ADR"}),
        holder.admin("POST", "/ledger/verify"),
        holder.load(b"id,age\nperson-4711,17\n"),
        holder.client.get(f"/{holder.admin_key}"),
        holder.client.get("/console/log-in"),
    ]
    return [answer.status_code for answer in answers]


# Metrics


def test_metrics_are_for_administrators(lasting_holder: TestedHolder) -> None:
    assert lasting_holder.client.get("/metrics").status_code == 401
    assert lasting_holder.metrics(key=lasting_holder.auditor_key).status_code == 403
    answer = lasting_holder.metrics()
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/plain; version=")


def test_a_key_for_metrics_opens_nothing_else(sqlite_holder: TestedHolder) -> None:
    """Every operation of the contract under /v1 but the public ones refuses it, and so does the console."""
    made = sqlite_holder.admin("POST", "/auditors", json={"name": "prometheus", "role": "metrics"})
    key = made.json()["key"]
    headers = {"Authorization": f"Bearer {key}"}
    operations = [
        (method, re.sub(r"\{[a-z_]+\}", "1", path))
        for path, methods in sqlite_holder.client.get("/openapi.json").json()["paths"].items()
        for method in methods
        if path.startswith("/v1") and path not in ("/v1/keys", "/v1/sign-in") and not path.startswith("/v1/log/")
    ]
    before = len(sqlite_holder.entries())

    answers = {each: sqlite_holder.client.request(*each, headers=headers) for each in operations}
    granted = sqlite_holder.grant("1", auditor="prometheus")

    assert len(operations) > 25
    assert {each: answer.text for each, answer in answers.items() if answer.status_code != 403} == {}
    assert all("Use an auditor's or an administrator's key" in answer.text for answer in answers.values())
    assert granted.status_code >= 400
    assert len(sqlite_holder.entries()) == before
    with visitor(sqlite_holder, logged_in=False) as somebody:
        assert somebody.log_in(key).status == 403
    assert "holder_requests_total" in sqlite_holder.metrics(key=key).text
    assert sqlite_holder.client.get("/metrics/", headers=headers).status_code == 404


def test_requests_refusals_and_releases_are_counted(sqlite_holder: TestedHolder) -> None:
    statuses = asked_much(sqlite_holder)
    sqlite_holder.client.request("PROPFIND", "/made-up")

    found = series(sqlite_holder.metrics().text)

    assert statuses == [201] * 5 + [200, 403, 422, 404, 401, 200, 200, 409, 200, 422, 404, 200]
    releases = 'holder_requests_total{{method="POST",route="/v1/datasets/{{dataset}}/releases",status="{}"}}'
    assert [found[releases.format(status)] for status in (201, 200, 403, 404, 422)] == [5, 1, 1, 1, 1]
    assert found['holder_releases_total{answer="new"}'] == 5
    assert found['holder_releases_total{answer="again"}'] == 1
    assert found["holder_release_deadline_seconds_count"] == 5
    codes = ("budget-exhausted", "invalid-amount", "not-found", "unauthenticated", "conflict", "invalid-records")
    assert [found[f'holder_refusals_total{{code="{code}"}}'] for code in codes] == [1, 1, 3, 1, 1, 1]
    assert found['holder_requests_total{method="OTHER",route="none",status="404"}'] == 1
    assert found["holder_release_overruns_total"] == found["holder_store_faults_total"] == 0


def test_metrics_show_the_present_ledger(sqlite_holder: TestedHolder) -> None:
    sqlite_holder.release(plan(epsilon="0.3"))

    found = series(sqlite_holder.metrics().text)

    assert found["holder_ledger_sequence"] == len(sqlite_holder.entries())
    assert found['holder_population_spent_epsilon{population="register"}'] == 0.3
    assert found['holder_population_cap_epsilon{population="register"}'] == 100
    assert found["holder_may_release"] == 1


def test_an_overrun_is_counted_and_nothing_else_of_a_releases_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def count(*given: Any) -> TrueCounts:
        time.sleep(2)
        return count_cells(*given)

    monkeypatch.setattr(local_engine, "count_cells", count)
    with running_holder(tmp_path, quantum_ms=50) as holder:
        holder.release(plan())

        found = series(holder.metrics().text)

        assert found["holder_release_overruns_total"] == 1
        assert found["holder_release_deadline_seconds_sum"] == 0.05
        timed = {
            re.sub(r'.*method="(\w+)",route="([^"]+)".*', r"\1 \2", one) for one in found if "answer_seconds" in one
        }
        assert all(one.startswith("GET ") for one in timed)


def test_a_store_fault_is_counted(sqlite_holder: TestedHolder) -> None:
    kept = sqlite_holder.settings.anchor.read_bytes()
    sqlite_holder.settings.anchor.unlink()
    sqlite_holder.settings.anchor.mkdir()
    sqlite_holder.release(plan())
    sqlite_holder.settings.anchor.rmdir()
    sqlite_holder.settings.anchor.write_bytes(kept)

    found = series(sqlite_holder.metrics().text)

    assert found["holder_store_faults_total"] == 1
    assert found['holder_refusals_total{code="unavailable"}'] == 1


def test_metrics_do_not_depend_on_records(tmp_path_factory: pytest.TempPathFactory) -> None:
    """The same calls of a register of 300 and one of 7 919 people: the same exposition, but for times of look-ups."""
    shown = []
    for people in (300, PEOPLE):
        home = tmp_path_factory.mktemp("home")
        with running_holder(home, people=people) as holder:
            asked_much(holder)
            found = series(holder.metrics().text)
            shown.append({name: value for name, value in found.items() if not name.startswith(OF_THE_TIME)})

    assert shown[0] == shown[1]
    assert len(shown[0]) > 40


# Logs


@contextmanager
def logged() -> Iterator[tuple[StringIO, StringIO]]:
    """All loggers at DEBUG: what `holder serve` writes, and what it would write as plain texts."""
    ours, plain, stderr = StringIO(), StringIO(), sys.stderr
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    sys.stderr = ours
    logging.config.dictConfig(configuration(Level.DEBUG))
    root.addHandler(logging.StreamHandler(plain))
    logging.getLogger("sqlalchemy.engine").setLevel(logging.DEBUG)
    try:
        yield ours, plain
    finally:
        sys.stderr = stderr
        logging.captureWarnings(capture=False)
        logging.getLogger("sqlalchemy.engine").setLevel(logging.NOTSET)
        root.handlers[:] = handlers
        root.setLevel(level)


def secrets_of(holder: TestedHolder, releases: list[dict[str, Any]]) -> set[str]:
    """What may be in no log: keys, the database's password, the true counts and the noisy ones, from four digits on."""
    people = list(csv.DictReader(StringIO(register_csv(people=PEOPLE).decode())))
    true = {len(people), *(sum(one["sex"] == sex for one in people) for sex in ("Female", "Male"))}
    noisy = {
        count for one in releases for batch in one["batches"] for cell in batch["cells"] for count in cell["counts"]
    }
    counts = {str(count) for count in true | noisy if abs(count) >= 1_000}
    assert len(counts) > 5
    return {holder.admin_key, holder.auditor_key, PASSWORD, *counts, "person-4711", "person_"}


def leaks(text: str, secrets: set[str]) -> set[str]:
    """Which of them stand in a text, as whole words."""
    return {secret for secret in secrets if re.search(rf"(?<![0-9A-Za-z.]){re.escape(secret)}(?![0-9A-Za-z])", text)}


def test_a_refused_caller_is_logged_with_address_and_key_id_and_nobody_else(sqlite_holder: TestedHolder) -> None:
    wrong = "pafer_0123456789ab_" + "x" * 43
    with logged() as (ours, _):
        sqlite_holder.client.get("/v1/datasets", headers={"Authorization": f"Bearer {wrong}"})
        sqlite_holder.client.get("/v1/datasets", headers={"Authorization": "Bearer something-else"})
        sqlite_holder.auditor("GET", "/datasets")

    lines = [json.loads(line) for line in ours.getvalue().splitlines()]
    unknown, other, known = [line for line in lines if line["event"] == "request"]
    assert (unknown["status"], unknown["client"], unknown["key_id"]) == (401, "127.0.0.1", "0123456789ab")
    assert (other["status"], other["client"], "key_id" in other) == (401, "127.0.0.1", False)
    assert not {"client", "key_id"} & known.keys()
    assert "xxxx" not in ours.getvalue()


@pytest.mark.postgres
def test_no_log_and_no_metric_holds_a_count_a_key_or_a_password(
    postgres_server: PostgresServer, tmp_path: Path
) -> None:
    """Many releases and errors at DEBUG, the store's own messages included, and the store going away at the end.

    Negative control: the same records as plain texts, where the same search does find counts.
    """
    with postgres_server.database() as url:
        parts = urlsplit(url)
        with_password = parts._replace(netloc=f"{parts.username}:{PASSWORD}@{parts.hostname or ''}").geturl()
        with running_holder(tmp_path, with_password, people=PEOPLE) as holder, logged() as (ours, plain):
            asked_much(holder)
            releases = [holder.release(plan(epsilon="0.3", age=120, draw=draw)).json() for draw in range(1, 11)]
            shown = holder.metrics().text
            name = sql.Identifier(parts.path.removeprefix("/"))
            with psycopg.connect(postgres_server.url, autocommit=True) as server:
                server.execute(sql.SQL("ALTER DATABASE {} ALLOW_CONNECTIONS false").format(name))
                server.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", [parts.path[1:]]
                )
                assert holder.release(plan(draw=99)).status_code == 503
                server.execute(sql.SQL("ALTER DATABASE {} ALLOW_CONNECTIONS true").format(name))
            secrets = secrets_of(holder, releases)

    lines = [json.loads(line) for line in ours.getvalue().splitlines()]
    # A process, a time, a line of code or a request's id may have the digits of a count.
    searched = [{**line, "process": 0, "time": "", "location": "", "frames": "", "request_id": ""} for line in lines]
    assert not leaks(json.dumps(searched), secrets)
    assert not leaks(shown, secrets)
    assert leaks(plain.getvalue(), secrets), "the search finds counts where they are"
    assert {key for line in lines for key in line} <= {
        *FIELDS,
        "time",
        "level",
        "event",
        "logger",
        "process",
        "location",
    }
    requests = [line for line in lines if line["event"] == "request"]
    assert [one["status"] for one in requests if one.get("actor") == "ADR" and one["status"] == 201] == [201] * 15
    assert {one["problem"] for one in requests if "problem" in one} >= {"budget-exhausted", "unavailable", "not-found"}
    assert any(line["event"] == "store unavailable" and line["error"] for line in lines)
    assert any(line["logger"].startswith("sqlalchemy.engine") for line in lines)


def test_an_internal_error_is_logged_by_type_and_location(sqlite_holder: TestedHolder) -> None:
    with sqlite_holder.holder.store.database.read() as connection:
        connection.exec_driver_sql('UPDATE datasets SET schema = \'{"person_key": "person-4711"\'')
        connection.commit()

    with logged() as (ours, _):
        answer = sqlite_holder.auditor("GET", "/datasets")
        # A request's line is written when its answer has left.
        wait_until(lambda: '"event": "request"' in ours.getvalue())

    lines = [json.loads(line) for line in ours.getvalue().splitlines()]
    (error,) = [line for line in lines if line["event"] == "internal error"]
    (request,) = [line for line in lines if line["event"] == "request"]
    assert error["error"] == "ValidationError"
    assert re.search(r"_schema \(datasets\.py:[0-9]+\)", error["frames"])
    assert (request["status"], request["problem"]) == (500, "internal")
    assert request["request_id"] == answer.headers["x-request-id"]
    assert "person-4711" not in ours.getvalue()


@pytest.mark.slow
def test_workers_add_up_and_log_lines_of_json(tmp_path: Path) -> None:
    """`holder serve --workers 2`: whichever is asked shows what both did; every line of its log is one JSON object."""
    settings = settings_in(tmp_path)
    issued = initialise(settings)
    assert issued is not None
    with reserved_port() as port, (tmp_path / "log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "holder_service.cli", "serve", "--port", str(port), "--workers", "2"],
            env={**os.environ, "HOLDER_HOME": str(settings.home), "HOLDER_DATABASE_URL": settings.database_url,
                 "HOLDER_ANCHOR": str(settings.anchor), "HOLDER_LOG_LEVEL": "debug"},
            start_new_session=True, stdout=log, stderr=log,
        )  # fmt: skip
        served = Served(f"http://127.0.0.1:{port}", process)
        try:
            served.wait_until_ready()
            sent, until_s = 0, time.monotonic() + 60
            while sent < 20 or (len(processes(tmp_path / "log")) < 2 and time.monotonic() < until_s):
                httpx.get(f"{served.url}/healthz", timeout=60)
                sent += 1
            with httpx.Client(headers={"Authorization": f"Bearer {issued.text}"}, timeout=60) as client:
                shown = [series(client.get(f"{served.url}/metrics").text) for _ in range(6)]
            process.terminate()
            process.wait(timeout=30)
        finally:
            served.kill()

    assert {one['holder_requests_total{method="GET",route="/healthz",status="200"}'] for one in shown} == {sent}
    assert len(processes(tmp_path / "log")) == 2
    lines = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
    assert {"listening", "started", "request", "stopped"} <= {line["event"] for line in lines}
    assert issued.text not in (tmp_path / "log").read_text()


def processes(log: Path) -> set[int]:
    """Which processes have answered so far; the last line may still be written."""
    whole = log.read_text().rpartition("\n")[0].splitlines()
    return {line["process"] for line in map(json.loads, whole) if line.get("route") == "/healthz"}
