"""A real holder and a real witness, set up by the demonstration, run as processes of their own and ended with it."""

import contextlib
import os
import socket
import subprocess
import sysconfig
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

import httpx

from holder_service.domain.errors import HolderError
from holder_service.keys.signing import SigningKeyFolder
from holder_service.services.running import holder
from holder_service.settings.holder import Settings, Witness
from holder_service.witnessing.state import WitnessFolder

START_S_MAX: Final = 300.0
STOP_S_MAX: Final = 15.0
LOG_ORIGIN: Final = "demo.example/ledger"
WITNESS: Final = "demo.example/witness"
HOLDER: Final = Path(sysconfig.get_path("scripts")) / "holder"


class DemoFailed(Exception):
    """The demonstration cannot go on; the text says what to do."""


@dataclass(frozen=True, slots=True)
class HolderProcess:
    """A holder that answers at `url`."""

    url: str
    process: "subprocess.Popen[bytes]"


def initialise(environment: Mapping[str, str]) -> str:
    """Set a holder up, as `holder init` does.

    Args:
        environment: The holder's settings, and all of them.

    Returns:
        The administrator's key.

    Raises:
        DemoFailed: The home or the database is in use.
    """
    settings = Settings.from_environment(environment)
    try:
        issued = holder.initialise(settings)
    except HolderError as error:
        raise DemoFailed(error.detail) from error
    if issued is None:
        raise DemoFailed(
            f"Another holder uses {settings.home} or its database. Set HOLDER_HOME and "
            "HOLDER_DATABASE_URL to empty ones."
        )
    return issued.text


@contextlib.contextmanager
def running_holder(
    environment: Mapping[str, str],
    *,
    host: str = "127.0.0.1",
    port: int | None = None,
    log: IO[bytes] | None = None,
    program: Path = HOLDER,
) -> Iterator[HolderProcess]:
    """Run `holder serve` for as long as the context lasts.

    The holder gets a session of its own, so an interrupt at the terminal reaches this process alone,
    which then ends the holder in order.

    Args:
        environment: The holder's settings, in addition to those of this process.
        host: Address to listen on.
        port: Port to listen on; a free one if None.
        log: Where its output goes; by default to this process's own.
        program: The command `holder`; by default that of this process's environment.

    Raises:
        DemoFailed: It ends or does not get ready in time.
    """
    port = port or _free_port()
    command = [str(program), "serve", "--host", host, "--port", str(port)]
    with _running(command, port, ready="readyz", environment=environment, log=log) as started:
        yield started


@contextlib.contextmanager
def running_witness(home: Path, environment: Mapping[str, str], *, log: IO[bytes] | None = None) -> Iterator[Witness]:
    """Set a witness of a holder's log up, and run `holder witness serve` for as long as the context lasts.

    Args:
        home: The witness's folder, which does not exist yet.
        environment: The settings of the holder, which is set up; they have to name its log.
        log: Where the witness's output goes; by default to this process's own.

    Raises:
        DemoFailed: It ends or does not get ready in time.
    """
    settings = Settings.from_environment(environment)
    folder, keys = WitnessFolder(home), SigningKeyFolder(settings.signing_keys)
    key = folder.create(WITNESS).verifier
    origin = settings.log_origin or ""
    folder.add(origin, tuple(keys.load(key_id).note_key(origin).verifier for key_id in keys.ids()))
    port = _free_port()
    command = [str(HOLDER), "witness", "serve", "--home", str(home), "--port", str(port)]
    with _running(command, port, ready="", environment={}, log=log) as started:
        yield Witness(started.url, key)


@contextlib.contextmanager
def _running(
    command: list[str], port: int, *, ready: str, environment: Mapping[str, str], log: IO[bytes] | None
) -> Iterator[HolderProcess]:
    """Run a command that serves on a port, ready once a path of it is answered."""
    process = subprocess.Popen(
        command,
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=subprocess.STDOUT if log else None,
        start_new_session=True,
    )
    try:
        started = HolderProcess(f"http://127.0.0.1:{port}", process)
        _wait_until_ready(started, ready)
        yield started
    finally:
        _end(process)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _wait_until_ready(started: HolderProcess, path: str) -> None:
    deadline = time.monotonic() + START_S_MAX
    while time.monotonic() < deadline:
        if started.process.poll() is not None:
            raise DemoFailed("The holder or its witness stopped during its start. Read its log for the reason.")
        with contextlib.suppress(httpx.TransportError):
            if httpx.get(f"{started.url}/{path}", trust_env=False).is_success:
                return
        time.sleep(0.1)
    raise DemoFailed(f"The holder is not ready after {START_S_MAX:.0f} s. Read its log for the reason.")


def _end(process: "subprocess.Popen[bytes]") -> None:
    process.terminate()
    try:
        process.wait(STOP_S_MAX)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
