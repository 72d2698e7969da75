"""A real holder for tests: set up on an empty database, with a small register, an auditor and a budget."""

import asyncio
import multiprocessing
import multiprocessing.context
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import httpx
import uvicorn
from fastapi import FastAPI

from holder_service.app import create_app
from holder_service.services.columns import preparation
from holder_service.services.running.holder import Holder, initialise
from holder_service.services.work.apart import READING
from holder_service.settings.holder import Settings
from holder_service.web.edge.connections import SERVER_OPTIONS
from shared.kinds.releases import SigningKeys
from testing.http_clients import AUTHORITIES
from testing.ports import reserved_port
from testing.registers import DECLARATION, register_csv

OF_THE_TIME = ("holder_answer_seconds", "holder_clock_timestamp_seconds")
"""How series of metrics begin that say how long it took, or what time it is."""
FORKING = multiprocessing.get_context("forkserver")
FORKING.set_forkserver_preload(["testing.holders"])


@dataclass
class TestedHolder:
    """A holder served on loopback by a thread of this process, and its callers' keys."""

    __test__ = False

    settings: Settings
    client: httpx.Client
    holder: Holder
    admin_key: str
    auditor_key: str = ""

    @property
    def url(self) -> str:
        """Where it is called."""
        return str(self.client.base_url)

    @property
    def auditor_key_id(self) -> str:
        """The id that finds the auditor's key."""
        return self.auditor_key.split("_")[1]

    def admin(self, method: str, path: str, **request: Any) -> httpx.Response:
        """Call as the administrator."""
        return self._call(self.admin_key, method, f"/v1/admin{path}", request)

    def auditor(self, method: str, path: str, *, key: str | None = None, **request: Any) -> httpx.Response:
        """Call as the auditor."""
        return self._call(key or self.auditor_key, method, f"/v1{path}", request)

    def release(self, body: dict[str, Any], *, dataset: str = "register", key: str | None = None) -> httpx.Response:
        """Ask a plan."""
        return self.auditor("POST", f"/datasets/{dataset}/releases", key=key, json=body)

    def spent(self, *, dataset: str = "register") -> str:
        """What the auditor has spent, ε."""
        epsilon: str = self.auditor("GET", f"/datasets/{dataset}/budget").json()["spent"]["epsilon"]
        return epsilon

    def entries(self) -> list[dict[str, Any]]:
        """The whole ledger."""
        found: list[dict[str, Any]] = []
        after: int | None = 0
        while after is not None:
            page = self.admin("GET", f"/ledger?limit=1000&after={after}").json()
            found += page["entries"]
            after = page["next"]
        return found

    def declare(self, name: str = "register", **changes: Any) -> httpx.Response:
        """Declare the small register, or a changed one."""
        return self.admin("PUT", f"/datasets/{name}", json={**DECLARATION, **changes})

    def load(self, content: bytes, name: str = "register", media_type: str = "text/csv") -> httpx.Response:
        """Load records."""
        return self.admin("PUT", f"/datasets/{name}/records", content=content, headers={"Content-Type": media_type})

    def derive(self, column: dict[str, Any], name: str = "register", *, key: str | None = None) -> httpx.Response:
        """Make a derived column."""
        return self.auditor("POST", f"/datasets/{name}/columns", key=key, json=column)

    def link(self, content: bytes, column: str, name: str = "register", *, key: str | None = None) -> httpx.Response:
        """Send the values of a linked column."""
        headers = {"Content-Type": "text/csv"}
        return self.auditor(
            "PUT", f"/datasets/{name}/columns/{column}/values", key=key, content=content, headers=headers
        )

    def await_columns(self, name: str = "register", *, timeout_s: float = 300) -> None:
        """Wait until all of the auditor's derived columns are ready.

        Raises:
            RuntimeError: They are not in time.
        """
        until_s = time.monotonic() + timeout_s
        while time.monotonic() < until_s:
            found = self.auditor("GET", f"/datasets/{name}/columns").json()["columns"]
            if all(column["state"] == "ready" for column in found):
                return
            time.sleep(0.1)
        raise RuntimeError("the derived columns did not become ready")

    def open_auditor(self, name: str, *, epsilon: str = "0", dataset: str = "register") -> str:
        """Open an auditor's account with a budget, and give its key."""
        key: str = self.admin("POST", "/auditors", json={"name": name}).json()["key"]
        self.grant(epsilon, dataset=dataset, auditor=name)
        return key

    def grant(
        self, epsilon: str, *, delta: str = "0", dataset: str = "register", auditor: str = "ADR"
    ) -> httpx.Response:
        """Give an auditor a budget."""
        return self.admin("PUT", f"/datasets/{dataset}/budgets/{auditor}", json={"epsilon": epsilon, "delta": delta})

    def offer(self, name: str, content: bytes, *, epsilon: str = "1", **changes: Any) -> None:
        """Declare a dataset, load its records and give the auditor a budget."""
        for answer in (
            self.declare(name, **changes), self.load(content, name), self.grant(epsilon, dataset=name)
        ):  # fmt: skip
            assert answer.status_code == 200, answer.text

    def decide(self, approval: str, *, approved: bool = True, reason: str = "As agreed") -> httpx.Response:
        """Approve or decline, as the administrator, what a request asks now."""
        entry = self.admin("GET", f"/approvals/{approval}").json()["entry"]
        decision = {"approved": approved, "reason": reason, "entry": entry}
        return self.admin("PUT", f"/approvals/{approval}/decision", json=decision)

    def metrics(self, *, key: str | None = None) -> httpx.Response:
        """The metrics, for the administrator unless another key is given."""
        return self._call(key or self.admin_key, "GET", "/metrics", {})

    def published_keys(self) -> SigningKeys:
        """The signing keys that it publishes."""
        return SigningKeys.model_validate_json(self.client.get("/v1/keys").content)

    def end_background_work(self) -> None:
        """End the threads that ask the database whenever their turn comes: for tests that count its statements."""
        for rounds in self.holder.rounds:
            rounds.close()
        self.holder.preparation.close()
        self.holder.notices.close()
        if self.holder.publisher is not None:
            self.holder.publisher.close()

    def is_intact(self) -> bool:
        """Whether the holder finds its ledger intact."""
        return bool(self.admin("POST", "/ledger/verify").json()["intact"])

    @contextmanager
    def reopened(self) -> Iterator["TestedHolder"]:
        """The same holder, started again in this process."""
        with opened(self.settings, self.admin_key, self.auditor_key) as again:
            yield again

    @contextmanager
    def copied(
        self, home: Path, database_url: str = "", *, quantum_ms: int = 0, **settings_changed: Any
    ) -> Iterator["TestedHolder"]:
        """A copy of this stopped holder in another folder: sooner there than a new one.

        Its database is the SQLite file in the folder, or a copy of this one's on PostgreSQL.
        """
        shutil.copytree(self.settings.home.parent, home, dirs_exist_ok=True)
        settings = replace(settings_in(home, database_url, quantum_ms=quantum_ms), **settings_changed)
        with opened(settings, self.admin_key, self.auditor_key) as copy:
            yield copy

    @contextmanager
    def at(self, url: str) -> Iterator["TestedHolder"]:
        """The same holder where other processes serve it, on a connection of its own."""
        with httpx.Client(base_url=url, timeout=120, verify=AUTHORITIES) as client:
            yield replace(self, client=client)

    def _call(self, key: str, method: str, path: str, request: dict[str, Any]) -> httpx.Response:
        headers = {"Authorization": f"Bearer {key}", **request.pop("headers", {})}
        return self.client.request(method, path, headers=headers, **request)


@dataclass
class Served:
    """A holder's processes and its URL."""

    url: str
    process: "subprocess.Popen[bytes] | multiprocessing.context.ForkServerProcess"

    def wait_until_ready(self, timeout_s: float = 180) -> None:
        """Wait until it answers that it may release.

        Raises:
            RuntimeError: It ended, or did not become ready in time.
        """
        until_s = time.monotonic() + timeout_s
        with httpx.Client(base_url=self.url, timeout=5, verify=AUTHORITIES) as client:
            while time.monotonic() < until_s and self.alive:
                try:
                    if client.get("/readyz").status_code == 200:
                        return
                except httpx.TransportError:
                    time.sleep(0.02)
        raise RuntimeError("the holder did not become ready")

    @property
    def alive(self) -> bool:
        """Whether it still runs."""
        if isinstance(self.process, subprocess.Popen):
            return self.process.poll() is None
        return self.process.is_alive()

    def kill(self) -> None:
        """End the processes as a power cut would."""
        if isinstance(self.process, subprocess.Popen):
            if self.alive:
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait(timeout=30)
        else:
            self.process.kill()
            self.process.join(timeout=30)


@contextmanager
def serving(settings: Settings, *, workers: int = 1, environment: dict[str, str] | None = None) -> Iterator[Served]:
    """`holder serve` as processes of its own, ready; killed at the end if it still runs."""
    with reserved_port() as port:
        served = Served(f"http://127.0.0.1:{port}", _start(settings, port, workers, environment or {}))
        try:
            served.wait_until_ready()
            yield served
        finally:
            served.kill()


@contextmanager
def forked(settings: Settings, *, first: Callable[[], None] | None = None) -> Iterator[Served]:
    """The same application in a process forked from one that has imported it: up at once, to be killed.

    The process calls `first`, if it is given, before it does anything; it has to be picklable.
    """
    listener = socket.create_server(("127.0.0.1", 0))
    process = FORKING.Process(target=_serve, args=(settings, listener, first), daemon=True)
    process.start()
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    listener.close()
    served = Served(url, process)
    try:
        served.wait_until_ready()
        yield served
    finally:
        served.kill()


def _serve(settings: Settings, listener: socket.socket, first: Callable[[], None] | None) -> None:
    if first is not None:
        first()
    uvicorn.Server(uvicorn.Config(_application(settings), log_level="critical", access_log=False)).run([listener])


def _start(settings: Settings, port: int, workers: int, environment: dict[str, str]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "holder_service.cli", "serve", "--port", str(port), "--workers", str(workers)],
        env={
            **os.environ,
            "HOLDER_HOME": str(settings.home),
            "HOLDER_DATABASE_URL": settings.database_url,
            "HOLDER_ANCHOR": str(settings.anchor),
            "HOLDER_RELEASE_QUANTUM_MS": str(settings.release_quantum_ms),
            "HOLDER_REQUESTS_PER_S": str(settings.requests_per_s),
            **environment,
        },
        start_new_session=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def settings_in(home: Path, database_url: str = "", *, quantum_ms: int = 0) -> Settings:
    """Settings of a holder in a folder of its own, on SQLite unless said otherwise; one key may ask without a limit."""
    return Settings(
        home / "home",
        database_url or f"sqlite:///{home / 'holder.sqlite'}",
        home / "anchor",
        quantum_ms,
        requests_per_s=0,
    )


def _application(settings: Settings) -> FastAPI:
    """The service; what makes columns gives way no more than what reads does.

    At the lowest priority a child gets next to nothing of a machine that others keep busy, and each test that waits
    for a column would wait minutes for a second of work.
    """
    with patch.object(preparation, "MAKING", READING):
        return create_app(settings)


@contextmanager
def opened(settings: Settings, admin_key: str, auditor_key: str = "", *, port: int = 0) -> Iterator[TestedHolder]:
    """A holder that was set up before, serving in this process; on a free port unless another is given."""
    app = _application(settings)
    with served(app, port=port) as url, httpx.Client(base_url=url, timeout=60, verify=AUTHORITIES) as client:
        yield TestedHolder(settings, client, app.state.holder, admin_key, auditor_key)


@contextmanager
def served(app: FastAPI, *, port: int = 0) -> Iterator[str]:
    """Serve an application on a free port of loopback, as `holder serve` does; gives its URL."""
    with listening(uvicorn.Config(app, log_level="warning", access_log=False, **SERVER_OPTIONS), port=port) as url:
        yield url


class _QuickServer(uvicorn.Server):
    """Stops within some milliseconds: uvicorn's own looks every 0.1 s whether it should, and then waits as long."""

    async def main_loop(self) -> None:
        """Serve until `should_exit`."""
        while not await self.on_tick(0):  # noqa: ASYNC110 - `should_exit` is a plain attribute
            await asyncio.sleep(0.005)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Close what listens and what is open, wait for answers under way, and end the application."""
        for listener in self.servers:
            listener.close()
        for each in sockets or []:
            each.close()
        for connection in list(self.server_state.connections):
            connection.shutdown()
        while (self.server_state.connections or self.server_state.tasks) and not self.force_exit:  # noqa: ASYNC110
            await asyncio.sleep(0.005)
        if not self.force_exit:
            await self.lifespan.shutdown()


@contextmanager
def listening(config: uvicorn.Config, *, port: int = 0, listener: socket.socket | None = None) -> Iterator[str]:
    """A server in a thread of this process, on a free port of loopback unless one is given; gives its URL."""
    listener = listener or socket.create_server(("127.0.0.1", port))
    server = _QuickServer(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    while not server.started and thread.is_alive():
        time.sleep(0.005)
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(timeout=30)
        listener.close()


@contextmanager
def running_holder(
    home: Path,
    database_url: str = "",
    *,
    quantum_ms: int = 0,
    epsilon: str = "10",
    people: int = 300,
    records_roots: tuple[str, ...] = (),
) -> Iterator[TestedHolder]:
    """A new holder with the small register loaded and one auditor, "ADR", who has a budget."""
    settings = replace(settings_in(home, database_url, quantum_ms=quantum_ms), records_roots=records_roots)
    issued = initialise(settings)
    assert issued is not None
    with opened(settings, issued.text) as tested:
        assert tested.declare().status_code == 200
        assert tested.load(register_csv(people=people)).status_code == 200
        tested.auditor_key = tested.open_auditor("ADR", epsilon=epsilon)
        yield tested


def stopped_holder(home: Path, database_url: str = "", *, epsilon: str = "10") -> TestedHolder:
    """The same, set up and not running."""
    with running_holder(home, database_url, epsilon=epsilon) as tested:
        return tested
