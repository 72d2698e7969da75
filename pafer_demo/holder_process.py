"""A real holder as a process of its own, set up and ended by the demonstration."""

import contextlib
import json
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

START_S_MAX: Final = 60.0
STOP_S_MAX: Final = 15.0
_HOLDER: Final = Path(sysconfig.get_path("scripts")) / "holder"


class DemoFailed(Exception):
    """The demonstration cannot go on; the text says what to do."""


@dataclass(frozen=True, slots=True)
class HolderProcess:
    """A holder that answers at `url`."""

    url: str
    process: "subprocess.Popen[bytes]"


def initialise(environment: Mapping[str, str]) -> str | None:
    """Run `holder init`.

    Args:
        environment: The holder's settings, beside what this process has.

    Returns:
        The administrator's key; None if the database has an administrator already.

    Raises:
        DemoFailed: The holder's own words.
    """
    done = subprocess.run(
        [_HOLDER, "init", "--json"], env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise DemoFailed(f"holder init: {done.stderr.strip()}")
    key: str | None = json.loads(done.stdout)["admin_key"]
    return key


@contextlib.contextmanager
def running_holder(
    environment: Mapping[str, str], *, host: str = "127.0.0.1", port: int | None = None, log: IO[bytes] | None = None
) -> Iterator[HolderProcess]:
    """Run `holder serve` for as long as the context lasts.

    The holder gets a session of its own, so an interrupt at the terminal reaches this process alone,
    which then ends the holder in order.

    Args:
        environment: The holder's settings, beside what this process has.
        host: Address to listen on.
        port: Port to listen on; a free one if None.
        log: Where its output goes; by default to this process's own.

    Raises:
        DemoFailed: It ends or does not get ready in time.
    """
    port = port or _free_port()
    process = subprocess.Popen(
        [_HOLDER, "serve", "--host", host, "--port", str(port)],
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=subprocess.STDOUT if log else None,
        start_new_session=True,
    )
    try:
        holder = HolderProcess(f"http://127.0.0.1:{port}", process)
        _wait_until_ready(holder)
        yield holder
    finally:
        _end(process)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _wait_until_ready(holder: HolderProcess) -> None:
    deadline = time.monotonic() + START_S_MAX
    while time.monotonic() < deadline:
        if holder.process.poll() is not None:
            raise DemoFailed("The holder ended while it started; its log says why.")
        with contextlib.suppress(httpx.TransportError):
            if httpx.get(f"{holder.url}/readyz", trust_env=False).is_success:
                return
        time.sleep(0.1)
    raise DemoFailed(f"The holder is not ready after {START_S_MAX:.0f} s; its log says why.")


def _end(process: "subprocess.Popen[bytes]") -> None:
    process.terminate()
    try:
        process.wait(STOP_S_MAX)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
