"""Administrators see how far a load is while it is under way: in every process, in the console, in a terminal."""

import os
import pty
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from typer.testing import CliRunner

from holder_service.cli import app
from holder_service.records.progress import under_way
from holder_service.services.running.holder import initialise
from testing.console_visitors import visitor
from testing.holders import TestedHolder, forked, opened, settings_in, stopped_holder
from testing.registers import register_csv
from testing.waits import wait_until

WHERE = "/datasets/register/records"
LOADS = f"{WHERE}/loads"
JOINING = ("joining-keys", None)


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    (folder := tmp_path / "lake").mkdir()
    (folder / "register.csv").write_bytes(register_csv())
    return folder


@pytest.fixture
def holder(tmp_path: Path, lake: Path) -> Iterator[TestedHolder]:
    settings = replace(settings_in(tmp_path), records_roots=(lake.as_uri(),))
    issued = initialise(settings)
    assert issued is not None
    with opened(settings, issued.text) as serving_here:
        assert serving_here.declare().status_code == 200
        assert serving_here.load(register_csv()).status_code == 200
        yield serving_here


def seen(holder: TestedHolder, **request: Any) -> list[tuple[str, int | None]]:
    """What the interface lists of the register's loads."""
    answer = holder.admin("GET", LOADS, **request)
    assert answer.status_code == 200, answer.text
    return [(load["phase"], load["percent"]) for load in answer.json()["loads"]]


@contextmanager
def held(holder: TestedHolder, **request: Any) -> Iterator[Future[httpx.Response]]:
    """A load that goes on until its keys are joined, and there until the context ends: somebody else joins."""
    method = "POST" if "json" in request else "PUT"
    with ThreadPoolExecutor(1) as pool, httpx.Client(base_url=holder.url, timeout=60) as client:
        with holder.holder.files.joining():
            loading = pool.submit(replace(holder, client=client).admin, method, WHERE, **request)
            wait_until(lambda: loading.done() or seen(holder) == [JOINING])
            yield loading
        loading.result()


def test_a_load_is_seen_while_it_is_under_way_and_no_longer(holder: TestedHolder, lake: Path) -> None:
    before = seen(holder)
    with held(holder, json={"url": lake.as_uri()}) as loading:
        (load,) = holder.admin("GET", LOADS).json()["loads"]

    assert before == []
    assert (load["actor"], load["phase"], load["percent"]) == ("administrator", "joining-keys", None)
    assert loading.result().json()["version"] == 2
    assert seen(holder) == []
    assert not list(holder.settings.incoming.iterdir())


def test_a_file_that_comes_in_is_seen_with_its_share_of_what_was_announced(holder: TestedHolder) -> None:
    content = register_csv()
    shares: list[list[tuple[str, int | None]]] = []

    def body() -> Iterator[bytes]:
        middle = len(content) // 2
        yield content[:middle]
        half = [("receiving", 49)], [("receiving", 50)]  # whatever pieces it comes in
        wait_until(lambda: seen(holder) in half)
        shares.append(seen(holder))
        yield content[middle:]

    headers = {"Content-Type": "text/csv", "Content-Length": str(len(content))}
    with httpx.Client(base_url=holder.url, timeout=60) as client:
        loaded = replace(holder, client=client).admin("PUT", WHERE, content=body(), headers=headers)

    assert loaded.status_code == 200
    assert shares in ([[("receiving", 49)]], [[("receiving", 50)]])


@pytest.mark.parametrize("check", [False, True])
def test_a_load_that_is_refused_leaves_nothing_to_be_seen(holder: TestedHolder, lake: Path, check: bool) -> None:
    (lake / "register.csv").write_bytes(register_csv() + b"no record\n")

    refused = [
        holder.load((lake / "register.csv").read_bytes()),
        holder.admin("POST", WHERE, json={"url": lake.as_uri(), "check": check}),
        holder.admin("POST", WHERE, json={"url": (lake / "none.csv").as_uri(), "check": check}),
    ]

    assert [answer.status_code for answer in refused] == [422] * 3
    assert seen(holder) == []
    assert not list(holder.settings.incoming.iterdir())


def test_every_administrator_sees_a_load_and_nobody_else_does(holder: TestedHolder, lake: Path) -> None:
    new = {"name": "other", "role": "administrator"}
    keys = {
        200: holder.admin("POST", "/auditors", json=new).json()["key"],
        403: holder.open_auditor("ADR"),
        401: "none",
    }
    reader = holder.admin("POST", "/auditors", json={"name": "scraper", "role": "metrics"}).json()["key"]

    def ask(key: str, dataset: str = "register") -> httpx.Response:
        path = f"/v1/admin/datasets/{dataset}/records/loads"
        return holder.client.get(path, headers={"Authorization": f"Bearer {key}"})

    with held(holder, json={"url": lake.as_uri()}):
        answers = {status: ask(key) for status, key in keys.items()}
        scraped = ask(reader)
        unknown = {key: ask(key, "nothing").status_code for key in keys.values()}
        looked = [holder.auditor("GET", path, key=keys[403]).text for path in ("/datasets", "/datasets/register")]
        public = [holder.client.get(path).text for path in ("/readyz", "/healthz")] + [holder.metrics().text]

    assert {status: answer.status_code for status, answer in answers.items()} == {one: one for one in keys}
    assert [load["actor"] for load in answers[200].json()["loads"]] == ["administrator"]
    assert scraped.status_code == 403
    assert unknown == {keys[200]: 404, keys[403]: 403, keys[401]: 401}
    assert not any("joining" in text for text in (*looked, *public, answers[403].text))


def test_every_process_knows_of_a_load_and_a_killed_one_is_not_shown(tmp_path: Path) -> None:
    stopped = stopped_holder(tmp_path)
    with forked(stopped.settings) as one, forked(stopped.settings) as other, stopped.at(other.url) as beside:
        with stopped.at(one.url) as holder, ThreadPoolExecutor(1) as pool, holder.holder.files.joining():
            loading = pool.submit(holder.load, register_csv())
            wait_until(lambda: seen(beside) == [JOINING])
            with stopped.at(one.url) as asked_anew:
                found = seen(asked_anew)
            one.kill()
            with pytest.raises(httpx.TransportError):
                loading.result()
        left = list(stopped.settings.incoming.glob("*-load"))
        after_the_kill = under_way(stopped.settings.incoming, "register")
        other.kill()
    with stopped.reopened() as holder:
        after_the_start = seen(holder)

    assert found == [JOINING], "whichever process answers"
    assert len(left) == 1
    assert after_the_kill == ()
    assert after_the_start == []
    assert not list(stopped.settings.incoming.iterdir())


# The console


def test_the_console_shows_a_load_and_follows_it_until_it_has_ended(holder: TestedHolder, lake: Path) -> None:
    page = "/console/datasets/register"

    def refreshes(attributes: list[dict[str, str]]) -> list[str]:
        return [one["content"] for one in attributes if one.get("http-equiv") == "refresh"]

    with visitor(holder) as administrator:
        before = administrator.get(page)
        with held(holder, json={"url": lake.as_uri()}):
            during, followed = administrator.get(page), administrator.get(f"{page}/loads")
        after = administrator.get(f"{page}/loads")
        unknown = administrator.get("/console/datasets/nothing/loads")

    assert "Records are being loaded" not in before.text
    assert "Records are being loaded" in during.text
    assert f"{page}/loads" in {link["href"] for link in during.all("a")}
    assert refreshes(during.all("meta")) == [], "somebody may be filling in its forms"
    for shown in (during, followed):
        assert "The keys are joined to those of earlier loads administrator, since" in shown.text
    assert refreshes(followed.all("meta")) == ["2"]
    assert followed.actions == {"/console/log-out"}
    assert refreshes(after.all("meta")) == []
    assert "No records of register are being loaded. Its version is 2." in after.text
    assert unknown.status == 404


# The terminal


@contextmanager
def terminal() -> Iterator[tuple[int, bytearray]]:
    """A terminal's end for a command, and what came out of it so far."""
    mine, its = pty.openpty()
    shown = bytearray()

    def read() -> None:
        try:
            while content := os.read(mine, 65536):
                shown.extend(content)
        except OSError:  # nobody has the other end any more
            return

    with ThreadPoolExecutor(1) as pool:
        pool.submit(read)
        try:
            yield its, shown
        finally:
            os.close(its)
    os.close(mine)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "own"), [("load", False), ("records load", True)], ids=["a running holder", "this machine's own"]
)
def test_a_terminal_shows_how_far_a_load_is(holder: TestedHolder, lake: Path, command: str, own: bool) -> None:
    what = str(lake / "register.csv") if command == "load" else lake.as_uri()
    with terminal() as (screen, shown):
        with holder.holder.files.joining():
            running = _command(holder, [*command.split(), "register", what], screen, own=own)
            wait_until(lambda: b"Joining keys" in shown or running.poll() is not None)
        output, _ = running.communicate(timeout=60)

    assert running.returncode == 0, shown.decode()
    assert b"Joining keys" in shown
    assert output == "Version 2 of register is loaded.\n"


@pytest.mark.slow
def test_a_refusal_stands_whole_in_a_terminal(holder: TestedHolder, lake: Path) -> None:
    (lake / "register.csv").write_bytes(register_csv() + b"no record\n")
    with terminal() as (screen, shown):
        running = _command(holder, ["load", "register", str(lake / "register.csv")], screen, own=False)
        running.communicate(timeout=60)
        wait_until(lambda: b"fields" in shown)

    assert running.returncode == 2
    assert b"line 302: does not have 7 fields" in shown.replace(b"\r\n", b" ")


def test_without_a_terminal_there_is_no_bar(holder: TestedHolder, lake: Path) -> None:
    command = ["admin", "load", "register", str(lake / "register.csv")]
    ran = CliRunner().invoke(app, command, env=_environment(holder, own=False))

    assert (ran.exit_code, ran.stdout, ran.stderr) == (0, "Version 2 of register is loaded.\n", "")


def _environment(holder: TestedHolder, *, own: bool) -> dict[str, str]:
    settings = holder.settings
    return {
        "HOLDER_HOME": str(settings.home), "HOLDER_DATABASE_URL": settings.database_url,
        "HOLDER_ANCHOR": str(settings.anchor), "HOLDER_RECORDS_ROOTS": " ".join(settings.records_roots),
        "HOLDER_ADMIN_KEY": holder.admin_key, "HOLDER_URL": "" if own else holder.url, "TERM": "xterm",
        "COLUMNS": "120",
    }  # fmt: skip


def _command(holder: TestedHolder, arguments: list[str], screen: int, *, own: bool) -> "subprocess.Popen[str]":
    """`holder admin …`, whose standard error is a terminal, or is kept."""
    return subprocess.Popen(
        [sys.executable, "-m", "holder_service.cli", "admin", *arguments],
        env={**os.environ, **_environment(holder, own=own)}, stdout=subprocess.PIPE, stderr=screen, text=True,
    )  # fmt: skip
