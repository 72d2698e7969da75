"""The holder's command line: what it prints and how it ends, as a process and against a running holder."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any, ClassVar, Final

import httpx
import pytest
from typer.testing import CliRunner, Result

from holder_service.cli import app
from holder_service.services.running.holder import initialise
from holder_service.settings.holder import Settings
from testing.holders import TestedHolder, running_holder
from testing.http_servers import serving_http
from testing.ports import reserved_port
from testing.registers import DECLARATION, linked_column, linked_values, plan, register_csv
from testing.tampering import lose_the_anchored_entry
from testing.waits import wait_until

HOLDER: Final = (sys.executable, "-c", "from holder_service.cli import app; app()")
QUANTUM_MS: Final = 800


def environment(home: Path, **changes: str) -> dict[str, str]:
    """The settings of a holder in a folder of its own, and nothing else that concerns one."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("HOLDER_")}
    return {**clean, "HOLDER_HOME": str(home), "HOLDER_RELEASE_QUANTUM_MS": "0", **changes}


def run(arguments: Sequence[str], env: Mapping[str, str], *, typed: str | None = None) -> Result:
    """Run a command within this process; without anybody to ask unless something is typed."""
    outside = {name: None for name in os.environ if name.startswith("HOLDER_")}
    return CliRunner().invoke(app, list(arguments), env={**outside, **env}, input=typed)


def failed(result: Result) -> str:
    """What a command that could not do its work says: one line, and it ends with 2."""
    assert result.exit_code == 2, result.output
    assert isinstance(result.exception, SystemExit)
    assert result.stdout == ""
    lines = result.stderr.strip().splitlines()
    assert len(lines) == 1, result.stderr
    return lines[0]


def done(result: Result) -> str:
    """What a command that did its work prints."""
    assert result.exit_code == 0, result.output
    return result.stdout


@contextmanager
def serving(env: Mapping[str, str]) -> Iterator[tuple["subprocess.Popen[str]", str]]:
    """`holder serve` as a process, once it answers; and its URL."""
    with reserved_port() as port:
        process = subprocess.Popen(
            [*HOLDER, "serve", "--port", str(port)],
            env=dict(env),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        url = f"http://127.0.0.1:{port}"
        try:
            deadline = time.monotonic() + 60
            while process.poll() is None and time.monotonic() < deadline:
                try:
                    httpx.get(f"{url}/healthz")
                    break
                except httpx.TransportError:
                    time.sleep(0.05)
            yield process, url
        finally:
            process.kill()
            process.communicate()


@pytest.mark.slow
def test_set_up_serve_ask_and_stop_gracefully(tmp_path: Path) -> None:
    """A release that is being answered when the holder gets SIGTERM still leaves, and is charged."""
    env = environment(tmp_path / "home", HOLDER_RELEASE_QUANTUM_MS=str(QUANTUM_MS))

    first = subprocess.run([*HOLDER, "init"], env=env, capture_output=True, text=True, check=True)
    again = subprocess.run([*HOLDER, "init", "--json"], env=env, capture_output=True, text=True, check=False)

    key = first.stdout.splitlines()[-1]
    assert re.fullmatch("pafer_[0-9a-f]{12}_[A-Za-z0-9_-]{43}", key)
    assert (again.returncode, again.stdout) == (2, "")
    assert len(again.stderr.splitlines()) == 1
    with serving(env) as (process, url), httpx.Client(base_url=url, timeout=30) as client:
        admin = {"Authorization": f"Bearer {key}"}
        client.put("/v1/admin/datasets/register", json=DECLARATION, headers=admin)
        csv = {**admin, "Content-Type": "text/csv"}
        client.put("/v1/admin/datasets/register/records", content=register_csv(), headers=csv)
        asking = client.post("/v1/admin/auditors", json={"name": "ADR"}, headers=admin).json()["key"]
        client.put("/v1/admin/datasets/register/budgets/ADR", json={"epsilon": "1"}, headers=admin)
        with ThreadPoolExecutor(1) as pool:
            headers = {"Authorization": f"Bearer {asking}"}
            answer = pool.submit(client.post, "/v1/datasets/register/releases", json=plan(), headers=headers)
            budget = "/v1/datasets/register/budget"
            wait_until(lambda: client.get(budget, headers=headers).json()["spent"]["epsilon"] == "0.1")
            process.send_signal(signal.SIGTERM)
            output, _ = process.communicate(timeout=60)

        assert answer.result().status_code == 201
    assert process.returncode == 0
    assert "Traceback" not in output
    assert key not in output
    assert asking not in output
    assert done(run(["ledger", "verify"], env)).startswith("Intact: ")


def test_init_prints_json_for_machines(tmp_path: Path) -> None:
    document = json.loads(done(run(["init", "--json"], environment(tmp_path))))

    assert list(document) == ["admin_key"]
    assert document["admin_key"].startswith("pafer_")


def test_a_home_without_the_key_of_its_database_is_asked_to_share_the_other_one(tmp_path: Path) -> None:
    shared = {
        "HOLDER_DATABASE_URL": f"sqlite:///{tmp_path / 'shared.sqlite'}",
        "HOLDER_ANCHOR": str(tmp_path / "anchor"),
    }
    done(run(["init"], environment(tmp_path / "one", **shared)))

    assert "share one HOLDER_HOME" in failed(run(["init"], environment(tmp_path / "two", **shared)))


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestedHolder]:
    """A running holder whose database a command on the same machine reaches too."""
    with running_holder(tmp_path_factory.mktemp("served")) as tested:
        yield tested


@pytest.fixture(params=["a running holder", "this machine's own"])
def env(request: pytest.FixtureRequest, served: TestedHolder) -> dict[str, str]:
    """How a command reaches the holder: over the network, or within its own process."""
    found = environment(
        served.settings.home,
        HOLDER_DATABASE_URL=served.settings.database_url,
        HOLDER_ANCHOR=str(served.settings.anchor),
        HOLDER_ADMIN_KEY=served.admin_key,
    )
    return {**found, "HOLDER_URL": served.url} if request.param == "a running holder" else found


def list_and_delete_a_column(env: dict[str, str], served: TestedHolder) -> None:
    """Call what administrators may do with an auditor's derived columns."""

    def admin(*arguments: str) -> Any:
        printed = done(run(["admin", *arguments], env))
        return json.loads(printed) if "--json" in arguments else printed

    served.derive(linked_column(b"id,value\n"), "register")
    (column,) = admin("columns", "register", "--json")["columns"]
    assert (column["auditor"], column["column"]["name"], column["state"]) == ("ADR", "decision", "awaiting-values")
    assert "decision" in admin("columns", "register")
    assert "0 derived columns" in failed(run(["admin", "delete-column", "register", "no"], env))
    admin("delete-column", "register", column["id"].removeprefix("sha256:")[:12])
    assert admin("columns", "register", "--json") == {"columns": []}


def decide_requests(env: dict[str, str], served: TestedHolder) -> None:
    """Call what officers may do with requests that need an approval."""

    def admin(*arguments: str) -> Any:
        printed = done(run(["admin", *arguments], {**env, "COLUMNS": "200"}))
        return json.loads(printed) if "--json" in arguments else printed

    admin("cap", "register", "50")  # the walk before closed it by a restore
    admin("require-approval", "register", "--days", "3")
    draws = (71, 72) if "HOLDER_URL" in env else (73, 74)
    turned = plan(draw=draws[0])
    turned["batches"][0]["cells"][0]["id"] = "young\u202e"
    asked = (turned, plan(draw=draws[1]))
    first, second = (served.release(one).json()["id"].removeprefix("sha256:") for one in asked)
    assert [one["state"] for one in admin("approvals", "--json")["approvals"]] == ["waiting", "waiting"]
    assert first[:12] in admin("approvals")
    assert "young\\u202e: age ≤ 40" in admin("approval", first[:12])
    assert f"Draw: {draws[0]}, with noise of its own" in admin("approval", first[:12])
    assert "Mechanism: Laplace" in admin("approval", first[:12])
    shown = admin("approval", first, "--json")
    assert shown["plan"]["sensitive"] == ["sex"]
    assert "0 requests have" in failed(run(["admin", "approve", "none"], env))
    assert "after you saw it" in failed(run(["admin", "approve", first, "--entry", "1"], env))
    admin("approve", first[:12], "--reason", "As agreed", "--entry", str(shown["entry"]))
    for typed in (None, "n\n"):
        undecided = run(["admin", "decline", second, "Too fine"], env, typed=typed)
        assert (undecided.exit_code, undecided.stderr.split(".")[0]) == (2, "Nothing was decided")
    assert f"Draw: {draws[1]}" in done(run(["admin", "decline", second, "Too fine"], env, typed="y\n"))
    states = {one["id"][7:]: one["state"] for one in admin("approvals", "--state", "all", "--json")["approvals"]}
    assert (states[first], states[second]) == ("approved", "declined")
    assert served.release(turned).status_code == 201
    assert admin("approval", first, "--json")["plan"] == shown["plan"], "what was answered is still seen"
    assert "young\\u202e: age ≤ 40" in admin("approval", first)
    save_the_document_of_a_column(env, served)
    admin("require-approval", "register", "--off")
    assert served.release(plan(draw=draws[1])).status_code == 201


def save_the_document_of_a_column(env: dict[str, str], served: TestedHolder) -> None:
    """Save what officers see whole: the document of a derived column that a request names."""
    values = linked_values(register_csv(people=60))
    column = served.derive(linked_column(values), "register").json()
    assert served.link(values, column["id"]).status_code == 200
    served.await_columns()
    granted = {"id": "granted", "all_of": [{"column": "decision", "op": "eq", "value": "granted"}]}
    request = {**plan(draw=75 if "HOLDER_URL" in env else 76), "columns": {"decision": column["id"]}}
    request["batches"][0]["cells"] = [granted]
    waiting = served.release(request).json()["id"]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "column.json"
        done(run(["admin", "approval-column", waiting, column["id"], str(file)], env))
        document = json.loads(file.read_bytes())
    assert document["name"] == "decision"
    done(run(["admin", "decline", waiting, "Seen"], env, typed="y\n"))
    done(run(["admin", "delete-column", "register", column["id"]], env))


def walk_columns_and_requests(env: dict[str, str], served: TestedHolder) -> None:
    list_and_delete_a_column(env, served)
    decide_requests(env, served)


def look_back_at_a_charge(env: dict[str, str]) -> None:
    """What was asked, and the sums of all charges."""
    entries = json.loads(done(run(["admin", "ledger", "--kind", "charge", "--json"], env)))["entries"]
    assert "Counts by" in done(run(["admin", "question", str(entries[0]["sequence"])], env))
    assert "register" in done(run(["admin", "spent"], env))


def publish_a_rehearsal(env: dict[str, str], dataset: str) -> None:
    seed = "ab" * 16
    made = json.loads(done(run(["admin", "rehearsal", dataset, "--people", "50", "--seed", seed, "--json"], env)))
    assert (made["dataset"], made["rehearsal"]["seed"]) == (f"{dataset}-rehearsal", seed)
    assert "50 invented people" in done(run(["admin", "rehearsal", dataset, "--people", "50"], env))
    assert f"{dataset}-rehearsal (rehearsal)" in done(run(["admin", "datasets"], {**env, "COLUMNS": "200"}))


def load_from_no_folder_and_rehearse(env: dict[str, str], dataset: str) -> None:
    """This holder allows none; so nothing is being loaded."""
    publish_a_rehearsal(env, dataset)
    result = run(["admin", "records", "load", dataset, "file:///register.csv"], env)

    assert result.exit_code == 2
    assert "HOLDER_RECORDS_ROOTS is empty" in result.stderr
    assert json.loads(done(run(["admin", "records", "loads", dataset, "--json"], env))) == {"loads": []}


@pytest.mark.slow
def test_every_call_of_the_administrator_has_a_command(
    env: dict[str, str], served: TestedHolder, tmp_path: Path
) -> None:
    walk_columns_and_requests(env, served)
    here = "a" if "HOLDER_URL" in env else "b"  # names are never given out again
    auditor, one, two = f"{here}-auditor", f"{here}-one", f"{here}-two"
    (tmp_path / "declaration.json").write_text(json.dumps(DECLARATION))
    (tmp_path / "register.csv").write_bytes(register_csv())

    def admin(*arguments: str) -> Any:
        printed = done(run(["admin", *arguments], env))
        return json.loads(printed) if "--json" in arguments else printed

    opened = admin("add-auditor", auditor, "--expires", "2999-01-01T00:00:00Z", "--json")
    assert opened["auditor"] == auditor
    further, _ = admin("add-key", auditor, "--json"), admin("withdraw-key", auditor, opened["key_id"])
    for name in (one, two):
        admin("declare", name, str(tmp_path / "declaration.json"))
        loaded = admin("load", name, str(tmp_path / "register.csv"), "--json")
        assert loaded == {"dataset": name, "version": 1}
        admin("grant", name, auditor, "2.5", "--json")
    assert {one, two} <= {found["name"] for found in admin("datasets", "--json")["datasets"]}
    load_from_no_folder_and_rehearse(env, one)
    capped = admin("cap", one, "50", "--json")["cap"]["epsilon"]
    assert (capped, admin("overlaps", one, two, "--json")["people_from"]) == ("50", 100)
    admin("merge", one, two)
    (tmp_path / "words.json").write_text(json.dumps({"title": "Anträge"}), encoding="utf-8")
    admin("metadata", one, str(tmp_path / "words.json"))
    admin("disable-auditor", auditor)
    accounts = {one["auditor"]: one for one in admin("auditors", "--json")["auditors"]}
    assert accounts[auditor] == admin("auditors", auditor, "--json") | {"disabled": True}
    assert [key["withdrawn"] is None for key in accounts[auditor]["keys"]] in ([False, True], [True, False])
    budgets, *_ = (
        admin("budgets", "--population", one, "--auditor", auditor, "--json")["budgets"],
        admin("enable-auditor", auditor),
        admin("notices"),
    )
    assert [(found["auditor"], found["population"]) for found in budgets] == [(auditor, one)]
    look_back_at_a_charge(env)
    admin("retire", two, "--yes")
    assert "no restore has to be recorded" in failed(run(["admin", "record-restore", "a drill"], env))
    lose_the_anchored_entry(served.settings)
    recorded = admin("record-restore", "a drill", "--json")
    assert {one, "register"} <= set(recorded["closed"])
    entries = admin("ledger", "--limit", "1000", "--json")["entries"]
    assert entries[recorded["sequence"] - 1]["kind"] == "restore"
    assert [entry["kind"] for entry in entries[recorded["sequence"] :]] == ["cap"] * len(recorded["closed"])
    lose_the_anchored_entry(served.settings)
    assert f"{one}," in admin("record-restore", "a drill in words")
    assert {entry["kind"] for entry in admin("ledger", "--kind", "restore", "--json")["entries"]} == {"restore"}
    admin("export-ledger", str(tmp_path / "ledger.csv"))
    admin("report", one, str(tmp_path / "report.html"))
    rotated = admin("rotate-signing-key", "--json")
    assert admin("signing-keys", "--json")["keys"][-1] == rotated
    if "HOLDER_URL" in env:
        calls = httpx.get(f"{env['HOLDER_URL']}/openapi.json", timeout=60).json()["paths"]
        made = {(method, route) for method, route in re.findall('method="([A-Z]+)",route="([^"]+)"', admin("metrics"))}
        assert {
            (method.upper(), path)
            for path, methods in calls.items()
            for method in methods
            if path.startswith("/v1/admin")
        } <= {*made, ("POST", "/v1/admin/ledger/verify")}
    assert admin("verify-ledger", "--json")["intact"]
    assert json.loads(done(run(["ledger", "verify", "--json"], env)))["intact"]
    for table in ("auditors", "budgets", "notices", "datasets", "ledger", "signing-keys", "verify-ledger"):
        assert further["key"] not in admin(table)


def test_a_load_is_checked_for_all_its_faults_and_keeps_nothing(
    env: dict[str, str], served: TestedHolder, tmp_path: Path
) -> None:
    name = f"checked-{tmp_path.name}"
    served.declare(name)
    written = register_csv(people=9).decode().replace("true", "1").replace("false", "0").replace(",", ";")
    records = tmp_path / "records.csv"
    records.write_text("".join(f"{number};{line}" for number, line in enumerate(written.splitlines(keepends=True))))
    load = ["admin", "load", name, str(records)]
    declared = ["--delimiter", ";", "--only-declared", "--true", "1", "--false", "0", "--missing", " "]

    def version() -> Any:
        return served.auditor("GET", f"/datasets/{name}").json()["version"]

    checked = done(run([*load, *declared, "--check"], env))
    assert "nothing was kept. Earlier loads were not compared" in " ".join(checked.split())
    assert json.loads(done(run([*load, *declared, "--check", "--json"], env))) == {"dataset": name, "version": None}
    assert version() is None
    for check in ([], ["--check"]):
        result = run([*load, "--delimiter", ";", "--only-declared", *check], env)
        assert result.exit_code == 2
        named = re.findall(r"^  (line \d+, column '\w+'): expected", result.stderr, re.MULTILINE)
        assert named == [f"line {line}, column 'citizen'" for line in range(2, 11)]
    assert version() is None
    assert "--delimiter" in failed(run([*load, "--delimiter", "x"], env))
    assert "A word means one thing" in failed(run([*load, "--true", "1", "--false", "1"], env))
    assert done(run([*load, *declared], env)) == f"Version 1 of {name} is loaded.\n"
    assert version() == 1


def test_a_grant_beyond_the_cap_is_named(env: dict[str, str], served: TestedHolder, tmp_path: Path) -> None:
    name = f"capped-{tmp_path.name}"
    served.declare(name, cap={"epsilon": "2", "delta": "0"})

    beyond = run(["admin", "grant", name, "ADR", "20", "--json"], env)
    within = run(["admin", "grant", name, "ADR", "1", "--json"], env)

    assert "only ε 2 and δ 0 can be spent" in beyond.stderr
    granted = json.loads(done(beyond))["budgets"][0]
    assert granted["remaining"] == {"epsilon": "20", "delta": "0"}
    assert granted["spendable"] == {"epsilon": "2", "delta": "0"}
    assert within.stderr == ""


def test_the_front_page_leads_to_the_contract(served: TestedHolder) -> None:
    answer = httpx.get(served.url, follow_redirects=True, timeout=60)

    assert answer.status_code == 200
    assert answer.url.path == "/docs"
    assert 'href="/console"' in answer.text


def test_a_draft_is_finished_declared_and_loaded(env: dict[str, str], tmp_path: Path) -> None:
    records, drafted = tmp_path / "register.csv", tmp_path / "drafted.json"
    records.write_bytes(register_csv(people=60))
    name = f"drafted-{tmp_path.name}"

    result = run(["draft", str(records), "--people-min", "1", "--output", str(drafted)], env)

    assert done(result) == ""
    assert "nothing was sent" in result.stderr
    assert 'Say which columns are sensitive ("sensitive": true)' in result.stderr
    assert drafted.stat().st_mode & 0o077 == 0
    assert "sensitive" in failed(run(["admin", "declare", name, str(drafted)], env))
    document = json.loads(drafted.read_text())
    document["cap"] = {"epsilon": "1"}
    for column in document["columns"]:
        column["sensitive"] = column["name"] == "sex"
    drafted.write_text(json.dumps(document))
    done(run(["admin", "declare", name, str(drafted)], env))
    assert done(run(["admin", "load", name, str(records)], env)) == f"Version 1 of {name} is loaded.\n"
    assert "is there already" in failed(run(["draft", str(records), "--output", str(drafted)], env))


def test_a_draft_says_of_ranges_what_it_has(tmp_path: Path) -> None:
    """Days have none, even where ranges were asked for."""
    lines = [f"p{number},1970-01-{number % 28 + 1:02},{number}" for number in range(60)]
    (tmp_path / "days.csv").write_text("\n".join(["id,born,points", *lines]))
    (tmp_path / "only.csv").write_text("\n".join(["id,born", *(line.rpartition(",")[0] for line in lines)]))

    both, days = (
        run(["draft", str(tmp_path / name), "--ranges", "--dates", "born"], {}) for name in ("days.csv", "only.csv")
    )

    assert ["round numbers" in result.stderr for result in (both, days)] == [True, False]
    assert all("columns of numbers a range" in result.stderr for result in (both, days))


def test_a_draft_is_made_without_a_holder(tmp_path: Path) -> None:
    (tmp_path / "register.csv").write_bytes(register_csv(people=60))

    printed = run(["draft", str(tmp_path / "register.csv")], {"HOLDER_HOME": str(tmp_path / "none")})

    assert json.loads(done(printed))["person_key"]
    assert [path.name for path in tmp_path.iterdir()] == ["register.csv"]
    assert "No such file" in failed(run(["draft", str(tmp_path / "none.csv")], {}))


def test_the_example_of_a_declaration_is_declared(env: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "example.json").write_text(done(run(["admin", "declare", "--example"], {})))

    schema = done(run(["admin", "declare", "--schema"], {}))
    shown = run(["admin", "declare", f"example-{tmp_path.name}", str(tmp_path / "example.json"), "--json"], env)

    assert json.loads(schema)["required"] == ["columns"]
    assert schema.endswith("}\n")
    assert json.loads(done(shown))["warnings"] == []
    assert "holder admin declare NAME FILE" in failed(run(["admin", "declare", "nameless"], env))


def test_all_faults_of_a_declaration_are_printed(env: dict[str, str], tmp_path: Path) -> None:
    declaration = tmp_path / "declaration.json"
    declaration.write_text('{"cap": "10",\n "columns": [],\n\n "schema": 1}')

    result = run(["admin", "declare", "faulty", str(declaration)], env)

    assert result.exit_code == 2
    assert [line.split(":")[0] for line in result.stderr.splitlines()[1:]] == [
        "  people", "  line 1, cap", "  line 2, columns", "  line 4, schema", "  Declare at least one sensitive column",
    ]  # fmt: skip


def test_a_fault_that_is_on_no_line_names_none(env: dict[str, str], tmp_path: Path) -> None:
    declaration, twice = tmp_path / "declaration.json", tmp_path / "twice.json"
    declaration.write_text(json.dumps(DECLARATION))
    twice.write_text(json.dumps({**DECLARATION, "columns": [*DECLARATION["columns"], DECLARATION["columns"][0]]}))

    named = failed(run(["admin", "declare", "my data", str(declaration)], env))
    doubled = failed(run(["admin", "declare", "doubled", str(twice)], env))

    assert named.startswith("path.dataset: ")
    assert "letters" in named
    assert doubled.startswith("Two columns")


def test_all_faults_of_metadata_are_printed(env: dict[str, str], tmp_path: Path) -> None:
    words = tmp_path / "words.json"
    words.write_text('{"title": "Register",\n "columns": {\n  "sex": {"unit": "kg"},\n  "nose": {}}}')

    inside = tmp_path / "declaration.json"
    inside.write_text(json.dumps(DECLARATION)[:-1] + ',\n "metadata": ' + words.read_text() + "}")

    alone = run(["admin", "metadata", "register", str(words)], env)
    declared = run(["admin", "declare", "worded", str(inside)], env)

    for result, line, path in ((alone, 1, ""), (declared, 2, "metadata.")):
        assert result.exit_code == 2
        assert [said.split(":")[0] for said in result.stderr.splitlines()[1:]] == [
            f"  line {line + 3}, {path}columns.nose", f"  line {line + 2}, {path}columns.sex.unit",
        ]  # fmt: skip


def test_overlaps_are_exact_on_the_own_machine_and_rough_over_the_network(
    env: dict[str, str], served: TestedHolder
) -> None:
    one, two = ("c-one", "c-two") if "HOLDER_URL" in env else ("d-one", "d-two")
    for name in (one, two):
        served.declare(name)
    served.load(register_csv(), one)

    rough = done(run(["admin", "overlaps", one, two], {**env, "COLUMNS": "200"}))
    served.load(register_csv(), two)
    found = json.loads(done(run(["overlaps", "--json"], env)))["overlaps"]
    shown = done(run(["overlaps"], {**env, "COLUMNS": "200"}))

    assert "few or none" in rough
    assert [pair["people"] for pair in found if set(pair["populations"]) == {one, two}] == [300]
    assert re.search(rf"{one}\b.*\b{two}\b.*\b300\b", shown)


def test_risks_are_shown_here_alone_and_nothing_of_them_is_kept(
    env: dict[str, str], served: TestedHolder, tmp_path: Path
) -> None:
    name = f"risky-{tmp_path.name}"[:40].replace("_", "-")
    served.declare(name)
    served.load(register_csv(), name)
    records, declaration = tmp_path / "register.csv", tmp_path / "declaration.json"
    records.write_bytes(register_csv())
    declaration.write_text(json.dumps(DECLARATION))
    home = served.holder.settings.home

    def files() -> set[Path]:
        return {path for path in home.rglob("*") if "-wal" not in path.name and "-shm" not in path.name}

    before, head = files(), served.entries()[-1]["sequence"]
    loaded = json.loads(done(run(["risk", name, "--json"], env)))
    from_file = json.loads(done(run(["risk", name, "--records", str(records), "--json"], env)))
    undeclared = ["risk", "--declaration", str(declaration), "--records", str(records)]
    unpublished = json.loads(done(run([*undeclared, "--json"], env)))
    shown = run([*undeclared, "--people-min", "200"], {**env, "COLUMNS": "200"})

    assert loaded == from_file == unpublished
    assert loaded["people"] == 300
    assert "What could single out some of 300 people" in done(shown)
    assert "for you alone" in shown.stderr
    assert served.entries()[-1]["sequence"] == head
    assert files() == before
    declaration.write_text('{"person_key": 3}')
    assert "is not a valid declaration" in run(undeclared, env).stderr
    for arguments in (["risk"], ["risk", name, "--declaration", str(declaration)]):
        assert "and not both" in failed(run(arguments, env))
    assert "--records" in failed(run(["risk", "--declaration", str(declaration)], env))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["retire", "nope", "--yes"], "does not exist"),
        *((["retire", name, "--yes"], "does not exist") for name in ("..", "../auditors", "")),
        (["retire", "nope?x=1", "--yes"], "letters"),
        *((["grant", "register", "ADR", amount], "decimal string") for amount in ("1e400", "1_0")),
        (
            ["grant", "register", "ADR", "1", "--expires", "tomorrow"],
            "expires: This value is not a date and time with a time zone",
        ),
        (
            ["grant", "register", "ADR", "1", "--expires", "2020-01-01T00:00:00Z"],
            "revoke the budget immediately, grant 0",
        ),
        (["grant", "register", "nobody", "1"], "nobody"),
        (["add-auditor", "ADR"], "already"),
        (["add-auditor", "a b"], "letters"),
        (["add-auditor", "new", "--role", "root"], "role"),
        (["withdraw-key", "ADR", "none"], "does not have the key"),
        (["disable-auditor", "administrator"], "no administrator"),
        (["merge", "register", "register"], "itself"),
        (["ledger", "--limit", "0"], "limit"),
        (["ledger", "--after", "-1"], "after"),
        (["record-restore", ""], "reason"),
        *(([*command, "/nowhere"], "No such file") for command in (["declare", "new"], ["load", "register"])),
        *(([*command, "/etc"], "directory") for command in (["declare", "new"], ["load", "register"])),
        (["declare", "new", "/etc/hostname"], "JSON"),
        (["load", "nope", "/etc/hostname"], "does not exist"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_refusal_is_one_line_that_says_what_is_wrong(env: dict[str, str], arguments: list[str], said: str) -> None:
    assert said in failed(run(["admin", *arguments], env))


def test_a_warning_goes_to_standard_error(env: dict[str, str], tmp_path: Path) -> None:
    declaration = {**DECLARATION, "cap": {"epsilon": "1", "delta": "0.5"}}
    (tmp_path / "declaration.json").write_text(json.dumps(declaration))
    name = "doubtful-a" if "HOLDER_URL" in env else "doubtful-b"

    shown = run(["admin", "declare", name, str(tmp_path / "declaration.json")], env)
    machine = run(["admin", "declare", name, str(tmp_path / "declaration.json"), "--json"], env)

    assert "Warning: The cap's delta, 0.5," in shown.stderr
    assert "delta" not in shown.stdout
    assert len(json.loads(machine.stdout)["warnings"]) == 1


def test_tables_are_whole_on_a_small_terminal(env: dict[str, str], served: TestedHolder, tmp_path: Path) -> None:
    """On 80 columns a table of whole cells; where there is no room for it, a line for each cell."""
    name = f"a-dataset-with-a-long-name-{tmp_path.name}"[:60]
    served.declare(name)
    entry = served.entries()[-1]

    def shown(*arguments: str, columns: str = "80") -> list[str]:
        return done(run(["admin", *arguments], {**env, "COLUMNS": columns})).splitlines()

    for arguments in (["ledger", "--limit", "8"], ["signing-keys"], ["auditors"], ["budgets"]):
        lines = shown(*arguments)
        assert max(map(len, lines)) <= 80
        assert "…" not in "".join(lines)
        if arguments[0] == "signing-keys":  # others may be too wide, by what other tests left there
            assert any("───" in line for line in lines), arguments
    after = ["ledger", "--after", str(entry["sequence"] - 1)]
    narrow = shown(*after, columns="60")
    assert any(name in line for line in narrow), "a name is not broken"
    assert [line.split("  ")[0] for line in narrow[:2]] == ["#", "at (UTC)"]


def test_what_has_nothing_to_list_says_so(env: dict[str, str]) -> None:
    assert done(run(["admin", "ledger", "--after", "100000"], env)) == "There is nothing to list.\n"


@pytest.mark.parametrize("command", [["report"], ["admin", "report"]])
def test_a_report_is_what_its_name_says(env: dict[str, str], tmp_path: Path, command: list[str]) -> None:
    page, document = tmp_path / "report.html", tmp_path / "report.json"

    done(run([*command, "register", str(page)], env))
    done(run([*command, "register", str(document)], env))

    assert page.read_text().startswith("<!DOCTYPE html>")
    assert json.loads(document.read_text())["dataset"] == "register"
    assert "A PDF is printed" in failed(run([*command, "register", str(tmp_path / "report.pdf")], env))
    assert "is there already" in failed(run([*command, "register", str(page)], env))
    assert len(list(tmp_path.iterdir())) == 2


def test_a_report_that_is_refused_leaves_no_file(env: dict[str, str], tmp_path: Path) -> None:
    assert "never was" in failed(run(["admin", "report", "nope", str(tmp_path / "report.html")], env))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        *(({"HOLDER_ADMIN_KEY": key}, "HOLDER_ADMIN_KEY") for key in ("", "schlüssel", "two\nlines")),
        ({"HOLDER_ADMIN_KEY": "wrong"}, "valid key"),
        *(
            ({"HOLDER_URL": url}, "such as http://")
            for url in ("127.0.0.1:8080", "ftp://127.0.0.1", "http://127.0.0.1:port")
        ),
        ({"HOLDER_URL": "http://127.0.0.1:1"}, "does not answer"),
        ({"HOLDER_URL": "http://holder.example"}, "unencrypted"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_a_call_that_cannot_be_made_is_one_line(env: dict[str, str], changes: dict[str, str], said: str) -> None:
    assert said in failed(run(["admin", "auditors"], {**env, **changes}))


def test_what_is_no_holder_is_reported(env: dict[str, str]) -> None:
    with serving_http() as url:
        assert "is not a holder" in failed(run(["admin", "auditors"], {**env, "HOLDER_URL": url}))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, "holder init"),
        *(
            ({"HOLDER_DATABASE_URL": url}, "HOLDER_DATABASE_URL")
            for url in ("mysql://x", "sqlite:///", "postgresql://u:secret@host:port/x")
        ),
        ({"HOLDER_RELEASE_QUANTUM_MS": "-1"}, "HOLDER_RELEASE_QUANTUM_MS"),
        ({"HOLDER_HOME": "/etc/hostname"}, "directory"),
    ],
    ids=lambda value: str(value)[:40],
)
@pytest.mark.parametrize("arguments", [["serve"], ["ledger", "verify"], ["admin", "auditors"]], ids=" ".join)
def test_what_is_not_set_up_is_one_line(
    tmp_path: Path, changes: dict[str, str], said: str, arguments: list[str]
) -> None:
    line = failed(run(arguments, environment(tmp_path, HOLDER_ADMIN_KEY="any", **changes)))

    assert said in line
    assert "secret" not in line


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A holder that was set up and never served."""
    initialise(Settings.from_environment(environment(tmp_path)))
    return tmp_path


def test_a_taken_port_is_one_line(home: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        arguments = ["serve", "--port", str(taken.getsockname()[1])]

        assert "in use" in failed(run(arguments, environment(home)))


@pytest.mark.parametrize("level", [{}, *({"HOLDER_LOG_LEVEL": level} for level in ("debug", "DEBUG", "Warning"))])
def test_an_address_of_nobody_is_one_line_at_a_log_level_in_any_case(home: Path, level: dict[str, str]) -> None:
    """The program comes as far as the address: a level that it does not know ends it before."""
    assert "listen" in failed(run(["serve", "--host", "203.0.113.7"], environment(home, **level)))


@pytest.mark.parametrize(
    "content", [b"", b"\xff\xfe", b"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"]
)
def test_a_broken_signing_key_is_one_line(home: Path, content: bytes) -> None:
    (file,) = (home / "signing-keys").iterdir()
    file.write_bytes(content)

    for arguments in (["serve"], ["init"], ["ledger", "verify"]):
        assert "signing key" in failed(run(arguments, environment(home)))


def test_a_broken_database_is_one_line(home: Path) -> None:
    (home / "holder.sqlite").write_bytes(b"not a database" * 1000)

    for arguments in (["serve"], ["init"], ["ledger", "verify"]):
        assert "store" in failed(run(arguments, environment(home)))


def test_a_ledger_that_does_not_follow_ends_with_one(home: Path) -> None:
    import sqlite3

    with sqlite3.connect(home / "holder.sqlite") as connection:
        connection.execute("UPDATE entries SET actor = 'other' WHERE sequence = 2")
    connection.close()

    result = run(["ledger", "verify"], environment(home))
    printed = run(["ledger", "verify", "--json"], environment(home))

    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith("Broken at entry 2: ")
    assert (printed.exit_code, json.loads(printed.stdout)["broken_at"]) == (1, 2)


@pytest.mark.parametrize(
    "arguments", [["--help"], ["admin", "--help"], ["admin", "grant", "--help"], ["serve", "--help"]]
)
def test_help_is_there(arguments: list[str], tmp_path: Path) -> None:
    assert "Usage" in done(run(arguments, environment(tmp_path)))


class Refusing(BaseHTTPRequestHandler):
    """A holder that refuses whatever is asked, and would not read what is sent."""

    asked: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        self.asked.append(self.command)
        refusal = json.dumps({"title": "Forbidden", "detail": "Only a data steward may do this."}).encode()
        self.send_response(403)
        self.send_header("Content-Length", str(len(refusal)))
        self.end_headers()
        self.wfile.write(refusal)

    def do_PUT(self) -> None:
        self.do_GET()

    def log_message(self, *_: object) -> None:
        """It goes to standard error, where the command's own line is looked for."""


def test_a_load_that_is_refused_is_refused_before_the_file_is_sent(tmp_path: Path) -> None:
    """A proxy that still sends the file to a holder that answered and closed may lose the answer."""
    (tmp_path / "people.csv").write_text("id\n1\n")
    with serving_http(Refusing) as url:
        holder = {"HOLDER_URL": url, "HOLDER_ADMIN_KEY": "pafer_some"}
        refused = failed(run(["admin", "load", "register", str(tmp_path / "people.csv")], holder))

    assert "Only a data steward may do this." in refused
    assert Refusing.asked == ["GET"]


def test_an_export_is_a_table_or_lines_of_json(tmp_path: Path) -> None:
    said = failed(run(["admin", "export-ledger", str(tmp_path / "ledger.txt")], {"HOLDER_HOME": str(tmp_path / "h")}))

    assert "Name an export's file .csv or .jsonl, not .txt." in said


def test_retiring_asks_first(env: dict[str, str]) -> None:
    """The planted fault removes records because somebody typed a name."""
    refused = run(["admin", "retire", "register"], env, typed="no\n")
    silent = run(["admin", "retire", "register"], env)

    assert "Remove register with its records" in refused.stdout
    for result in (refused, silent):
        assert result.exit_code == 2
        assert "Nothing was removed" in result.stderr
    assert "register" in done(run(["admin", "datasets"], env))
