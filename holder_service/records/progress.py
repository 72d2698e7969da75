"""How far loads are: what the work on a file reports, and small files by which every process of a holder knows of it.

A load has a file among the incoming ones, of one size, which its owner alone may read. The process that loads holds a
lock on it for as long as it loads. The lock goes with the process, so a file that nobody holds a lock on is a load that
broke off, and is not shown. What is reported is a phase and a share in whole per cent: no number of bytes, records or
people. Administrators alone are shown it (2-privacy §7).
"""

import fcntl
import json
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Final, Literal, Protocol, get_args

Phase = Literal["receiving", "reading", "comparing-keys", "encoding", "joining-keys"]
"""What a load does, in this order: the file comes in; it is read, checked, and its keys are hashed; equal keys are
looked for; the records are encoded and written; their keys are joined to those of earlier loads, and the version is
entered."""
PHASES: Final[tuple[Phase, ...]] = get_args(Phase)

_BYTES: Final = 1024
_ENDING: Final = "-load"


class Report(Protocol):
    """Takes how far some work is."""

    def __call__(self, phase: Phase, done: int = 0, of: int = 0) -> None:
        """Say what is being done, and how much of it is done, in any unit; of 0 means that nobody knows."""


def unseen(phase: Phase, done: int = 0, of: int = 0) -> None:
    """Where nobody follows the work."""


@dataclass(frozen=True, slots=True)
class LoadState:
    """A load that is under way.

    Attributes:
        dataset: Whose records it loads.
        actor: The administrator who loads.
        began: When, ISO 8601 in UTC.
        phase: What it does.
        percent: How much of the phase is done; `None` if nobody knows.
    """

    dataset: str
    actor: str
    began: str
    phase: Phase
    percent: int | None


@contextmanager
def followed(folder: Path, *, dataset: str, actor: str, began: datetime) -> Iterator[Report]:
    """What a load reports to for as long as it is under way; the caller holds `RecordFiles.in_use`.

    Args:
        folder: Of the incoming files; made if it is not there.
        dataset: Whose records are loaded.
        actor: Who loads.
        began: Now.

    Raises:
        OSError: There is no room for the file.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{secrets.token_hex(16)}{_ENDING}"
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield _Followed(descriptor, LoadState(dataset, actor, began.isoformat(), "receiving", None))
    finally:
        path.unlink(missing_ok=True)
        os.close(descriptor)


def under_way(folder: Path, dataset: str) -> tuple[LoadState, ...]:
    """The loads of a dataset that are under way, in whatever process, in the order in which they began."""
    states = [_read(path) for path in folder.glob(f"*{_ENDING}")]
    return tuple(sorted((one for one in states if one and one.dataset == dataset), key=lambda one: one.began))


class _Followed:
    """Keeps a load's file; it is written when a whole per cent more is done, so a report costs next to nothing."""

    def __init__(self, descriptor: int, state: LoadState) -> None:
        self._descriptor = descriptor
        self._state = state
        self._write()

    def __call__(self, phase: Phase, done: int = 0, of: int = 0) -> None:
        percent = min(100 * done // of, 100) if of else None
        if (phase, percent) != (self._state.phase, self._state.percent):
            self._state = LoadState(self._state.dataset, self._state.actor, self._state.began, phase, percent)
            with suppress(OSError):  # a load does not fail because nobody can see how far it is
                self._write()

    def _write(self) -> None:
        os.pwrite(self._descriptor, json.dumps(asdict(self._state)).encode().ljust(_BYTES), 0)


def _read(path: Path) -> LoadState | None:
    """The state in a load's file; `None` if the load has ended, or broke off."""
    try:
        with path.open("rb") as file:
            if not _is_held(file.fileno()):
                return None
            return LoadState(**json.loads(file.read(_BYTES)))
    except (FileNotFoundError, TypeError, ValueError):  # it has just begun or ended
        return None


def _is_held(descriptor: int) -> bool:
    """Whether another holds the lock on a file."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    return False
