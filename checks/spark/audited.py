"""An audit through a holder whose records a Spark session has: calibrated, loaded by URL, asked, verified, reported,
rehearsed.
"""

import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import httpx

from holder_service.learning.learners import LEARNERS
from testing.registers import LEARNABLE, learnable_csv, linked_column, linked_values, plan, training

STARTS_S: Final = 180
HOLDER: Final = "http://127.0.0.1:{port}"
CALIBRATED: Final = 20_000
JOB_MS: Final = 50
"""No job of Spark's takes less."""
INVENTED: Final = 400
"""People of the rehearsal."""
DRAWS: Final = 8
"""So many more releases of each plan are watched: how many come after their public deadline is reported, not judged,
because a machine that does other things too may be late with any of them."""


def main(_: int) -> str:
    """Serve a holder with the Spark engine, and go through its whole interface once.

    Raises:
        AssertionError: Something else is answered than the local engine's holder answers.
    """
    with tempfile.TemporaryDirectory(prefix="pafer-spark-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        (lake := folder / "lake").mkdir()
        records = learnable_csv(people=300)
        header, *lines = records.decode().splitlines(keepends=True)
        for number in range(3):
            (lake / f"part-{number}.csv").write_text(header + "".join(lines[number::3]))
        environment = {
            **os.environ, "HOLDER_HOME": str(folder / "home"), "HOLDER_ENGINE": "spark",
            "HOLDER_SPARK_MASTER": "local[2,4]", "HOLDER_RECORDS_ROOTS": lake.as_uri(),
        }  # fmt: skip
        with _served(environment) as (url, key):
            return _walk(url, key, environment, lake, records)


def _walk(url: str, key: str, environment: dict[str, str], lake: Path, records: bytes) -> str:
    admin = httpx.Client(base_url=url, headers={"Authorization": f"Bearer {key}"}, timeout=300)
    assert admin.put("/v1/admin/datasets/register", json=LEARNABLE).status_code == 200
    load = ["admin", "records", "load", "register"]
    refused = _holder(environment, url, key, *load, "file:///etc")
    assert refused.returncode == 2, refused.stderr
    assert "HOLDER_RECORDS_ROOTS" not in refused.stderr
    loaded = _holder(environment, url, key, *load, lake.as_uri())
    assert loaded.returncode == 0, loaded.stderr
    auditor_key = admin.post("/v1/admin/auditors", json={"name": "ADR"}).json()["key"]
    limit = {"epsilon": "900", "delta": "0"}
    admin.put("/v1/admin/datasets/register", json={**LEARNABLE, "cap": limit})
    assert admin.put("/v1/admin/datasets/register/budgets/ADR", json=limit).status_code == 200
    auditor = httpx.Client(base_url=url, headers={"Authorization": f"Bearer {auditor_key}"}, timeout=300)
    first = auditor.post("/v1/datasets/register/releases", json=plan(epsilon="10"))
    assert first.status_code == 201, first.text
    again = auditor.post("/v1/datasets/register/releases", json=plan(epsilon="10"))
    assert (again.status_code, again.content) == (200, first.content)
    report = _audited(environment, url, auditor_key)
    models = _learned(auditor)
    values = linked_values(records)
    made = auditor.post("/v1/datasets/register/columns", json=linked_column(values))
    assert made.status_code == 201, made.text
    where = f"/v1/datasets/register/columns/{made.json()['id']}"
    sent = auditor.put(f"{where}/values", content=values, headers={"Content-Type": "text/csv"})
    assert sent.status_code == 200, sent.text
    _await(lambda: auditor.get(where).json()["state"] == "ready")
    people = sum(sum(cell["counts"]) for batch in first.json()["batches"] for cell in batch["cells"])
    asked = plan(epsilon="10")
    asked["columns"] = {"decision": made.json()["id"]}
    for cell in (cells := asked["batches"][0]["cells"]):
        cell.pop("all_of", None)
        cell["any_of"] = [{"all_of": [{"column": "decision", "op": "not_missing"}]}]
    asked["batches"][0]["cells"] = cells[:1]
    linked = auditor.post("/v1/datasets/register/releases", json=asked)
    assert linked.status_code == 201, linked.text
    late = [_overruns(admin, auditor, one) for one in (plan(epsilon="10"), asked)]
    assert abs(sum(linked.json()["batches"][0]["cells"][0]["counts"]) - 300) < 10, linked.text
    _rehearsed(admin, auditor)
    assert admin.delete("/v1/admin/datasets/register").status_code == 204
    home = Path(environment["HOLDER_HOME"])
    # Whose keys they were is kept for overlaps, as with the local engine; all else goes.
    _await(
        lambda: {one.name for one in (home / "spark").glob("*/*")} == {one.name for one in (home / "people").iterdir()}
    )
    return (
        f"calibrated, loaded, released ({people} noisy people; {late} of {DRAWS} draws late), audited ({report}), "
        f"{models} models learned, "
        f"linked, rehearsed with {INVENTED} invented people, retired; hashes alone are left"
    )


def _rehearsed(admin: httpx.Client, auditor: httpx.Client) -> None:
    """A rehearsal, published twice: its people are on the cluster, are asked freely, and their dataset's go on."""
    before = auditor.get("/v1/datasets/register/budget").json()["spent"]
    for version in (1, 2):
        published = admin.post("/v1/admin/datasets/register/rehearsal", json={"people": INVENTED})
        assert (published.status_code, published.json().get("version")) == (201, version), published.text
        answer = auditor.post("/v1/datasets/register-rehearsal/releases", json=plan(epsilon="10"))
        assert answer.status_code == 201, answer.text
        assert answer.json()["rehearsal"]["of"] == "register", answer.text
        counts = [count for cell in answer.json()["batches"][0]["cells"] for count in cell["counts"]]
        assert abs(sum(counts) - INVENTED) < 20, counts
    assert auditor.get("/v1/datasets/register/budget").json()["spent"] == before


def _learned(auditor: httpx.Client) -> int:
    """A training by every algorithm, each asked twice; at ε 10 a tree's leaves have nearly everybody."""
    path = "/v1/datasets/register/trainings"
    for name in LEARNERS:
        asked = training(epsilon="10", algorithm={"name": name})
        first, again = auditor.post(path, json=asked), auditor.post(path, json=asked)
        assert first.status_code == 201, first.text
        assert (again.status_code, again.content) == (200, first.content)
    tree = auditor.post(path, json=training(epsilon="10", depth=1)).json()
    people = sum(sum(leaf["positive"]) + sum(leaf["negative"]) for leaf in tree["counts"]["leaves"])
    assert abs(people - 300) < 20, people
    return len(LEARNERS)


def _overruns(admin: httpx.Client, auditor: httpx.Client, asked: dict[str, Any]) -> int:
    """How many further draws of a plan miss their public deadline."""

    def counted() -> int:
        [line] = (
            line for line in admin.get("/metrics").text.splitlines() if line.startswith("holder_release_overruns_total")
        )
        return int(float(line.rpartition(" ")[2]))

    before = counted()
    for draw in range(2, DRAWS + 2):
        answer = auditor.post("/v1/datasets/register/releases", json={**asked, "draw": draw})
        assert answer.status_code == 201, answer.text
    return counted() - before


def _audited(environment: dict[str, str], url: str, key: str) -> str:
    """A whole audit by the auditor's command line, with its report."""
    report = Path(environment["HOLDER_HOME"]).parent / "report.html"
    command = "audit --dataset register --decision citizen --favourable true --sensitive sex --epsilon 1".split()
    caller = {"AUDITOR_HOLDER_URL": url, "AUDITOR_API_KEY": key, "AUDITOR_RECEIPTS": str(report.parent / "receipts")}
    done = subprocess.run(
        [Path(sys.executable).with_name("auditor"), *command, "--report", str(report)],
        env={**environment, **caller},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return f"a report of {len(report.read_bytes()) // 1024} KB"


def _holder(environment: dict[str, str], url: str, key: str, *command: str) -> "subprocess.CompletedProcess[str]":
    """A command of the holder's."""
    return subprocess.run(
        [sys.executable, "-m", "holder_service.cli", *command],
        env={**environment, "HOLDER_URL": url, "HOLDER_ADMIN_KEY": key}, capture_output=True, text=True, check=False,
    )  # fmt: skip


@contextmanager
def _served(environment: dict[str, str]) -> Iterator[tuple[str, str]]:
    """A holder that is ready, and its administrator's key; its log has to be without Spark's own words on people."""
    made = subprocess.run(
        [sys.executable, "-m", "holder_service.cli", "init", "--json"],
        env=environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    key = json.loads(made.stdout)["admin_key"]
    calibrated = _holder(environment, "", "", *f"calibrate --records {CALIBRATED} --runs 3 --json".split())
    assert calibrated.returncode == 0, calibrated.stderr
    factors = json.loads(calibrated.stdout)
    assert factors["starting"] > JOB_MS, f"the start of a job is taken for counting: {factors}"
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    log = Path(environment["HOLDER_HOME"]).parent / "log"
    with log.open("w") as file:
        server = subprocess.Popen(
            [sys.executable, "-m", "holder_service.cli", "serve", "--port", str(port)],
            env=environment, stdout=file, stderr=file,
        )  # fmt: skip
    try:
        _await(lambda: _is_ready(HOLDER.format(port=port)))
        yield HOLDER.format(port=port), key
    except BaseException:
        sys.stderr.write(log.read_text()[-4000:])
        raise
    finally:
        server.terminate()
        server.wait(60)


def _is_ready(url: str) -> bool:
    try:
        return httpx.get(f"{url}/readyz", timeout=30).status_code == 200
    except httpx.HTTPError:
        return False


def _await(happened: Any) -> None:
    until_s = time.monotonic() + STARTS_S
    while not happened():
        if time.monotonic() > until_s:
            raise RuntimeError("it did not happen in time")
        time.sleep(0.5)
