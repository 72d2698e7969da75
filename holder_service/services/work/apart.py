"""Work apart: in a process of its own, at a low priority, so that no answer waits for it (5-decisions §1).

Reading a document of many megabytes, or computing a score for every record, would keep the interpreter from everything
else. So such work is sent to a child, which does one thing after the other on one processor, and yields that to
whatever else has something to do. The child ends with its parent, and is started when there is work for it. What an
auditor's file or document unfolds to takes no more memory than the child has, and breaks nothing but the child.
"""

import os
import pickle
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar

from holder_service.domain.errors import HolderError, Unavailable
from holder_service.domain.turns import RoundRobin
from holder_service.files.core_dumps import forbid_core_dumps
from holder_service.files.private import keep_new_files_private
from shared.wire.problems import PlanRefused

T = TypeVar("T")

READING: Final = 5
"""How much a child that reads gives way: somebody waits for its answer, and it is done in seconds."""
MAKING: Final = 19
"""How much a child that makes columns does: as much as there is."""
DATA_BYTES_MAX: Final = 3 * 1024**3
"""Of a child's memory, mapped files left out: three times what twenty million linked values take. Linux keeps to it."""
PARENT_LOOKED_FOR_S: Final = 1.0
_ONE_THREAD: Final = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


class WorkFailed(RuntimeError):
    """What was done apart failed in a way that nobody expected; names the kind of error alone."""


class TurnLock:
    """A lock whose holders take turns by name (`domain.turns`)."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._taken = False
        self._waiting: RoundRobin[threading.Event] = RoundRobin()

    @contextmanager
    def taken(self, name: str) -> Iterator[None]:
        """Wait for a turn and have it."""
        begins = threading.Event()
        with self._guard:
            self._waiting.add(name, begins)
            self._next()
        begins.wait()
        try:
            yield
        finally:
            with self._guard:
                self._taken = False
                self._next()

    def waiting(self, name: str) -> tuple[threading.Event, ...]:
        """Return what a name waits for."""
        with self._guard:
            return self._waiting.of(name)

    def _next(self) -> None:
        if not self._taken and self._waiting:
            self._taken = True
            self._waiting.take().set()


class Apart:
    """A child that does work for this process, one piece after the other; those whom it is done for take turns."""

    def __init__(self, *, niceness: int = READING) -> None:
        self._niceness = niceness
        self._turns = TurnLock()
        self._child: subprocess.Popen[bytes] | None = None
        self._closed = False

    def for_account(self, account: str) -> "ApartFor":
        """The same child, with the turns of an account."""
        return ApartFor(self, account)

    def run(self, work: Callable[..., T], *arguments: Any, **named: Any) -> T:
        """Do some work apart that nobody waits for by name."""
        return self.run_for("", partial(work, *arguments, **named))

    def run_for(self, account: str, work: Callable[[], T]) -> T:
        """Do some work apart in an account's turn, and wait for it.

        Args:
            account: Whom it is done for.
            work: A function of a module, which raises what it refuses; any other error is `WorkFailed`. Its
                arguments are picklable, as what it returns is.

        Raises:
            Unavailable: The child was ended, or could not be started.
            WorkFailed: The work failed.
        """
        with self._turns.taken(account):
            try:
                answers, questions = self._pipes()
                pickle.dump(work, questions)
                questions.flush()
                done, outcome = pickle.load(answers)  # noqa: S301 - of our own child
            except (OSError, EOFError, pickle.UnpicklingError):
                self._end()
                raise Unavailable(
                    "The holder's work on this request was interrupted. Nothing was changed. Send the request again."
                ) from None
        if done:
            return outcome  # type: ignore[no-any-return]  # what the function returned
        raise outcome

    def rest(self) -> None:
        """End the child until there is work again."""
        with self._turns.taken(""):
            self._end()

    def close(self) -> None:
        """End the child for good; work that is under way is broken off."""
        self._closed = True
        if child := self._child:
            child.kill()
        self.rest()

    def _pipes(self) -> tuple[Any, Any]:
        if self._closed:
            raise OSError("closed")
        if self._child is None or self._child.poll() is not None:
            self._end()
            kept = {name: value for name, value in os.environ.items() if not name.startswith("HOLDER_")}
            self._child = subprocess.Popen(  # noqa: S603 - our own code
                [
                    sys.executable,
                    "-c",
                    f"from {__name__} import serve_parent; serve_parent({os.getpid()}, {self._niceness})",
                ],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={**kept, **_ONE_THREAD},
                cwd=Path(__file__).parents[3],
            )
        return self._child.stdout, self._child.stdin

    def _end(self) -> None:
        child, self._child = self._child, None
        if child is not None:
            child.kill()
            child.wait()
            for pipe in (child.stdin, child.stdout):
                with suppress(OSError):  # what was not written yet cannot be
                    if pipe is not None:
                        pipe.close()


@dataclass(frozen=True, slots=True)
class ApartFor:
    """A child with the turns of one account, for what calls `run`."""

    apart: Apart
    account: str

    def run(self, work: Callable[..., T], *arguments: Any, **named: Any) -> T:
        """As `Apart.run_for`."""
        return self.apart.run_for(self.account, partial(work, *arguments, **named))


def serve_parent(parent: int, niceness: int) -> None:
    """Do what the parent sends, until it ends; in a process of its own."""
    forbid_core_dumps()
    keep_new_files_private()
    os.nice(niceness)
    resource.setrlimit(resource.RLIMIT_DATA, (DATA_BYTES_MAX, DATA_BYTES_MAX))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends it to the parent too, which ends this process
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    questions, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever prints would break the answers
    while True:
        try:
            work = pickle.load(questions)  # noqa: S301 - of our own parent
        except EOFError:
            return
        answers.write(_outcome(work))
        answers.flush()


def _outcome(work: Callable[[], Any]) -> bytes:
    try:
        return pickle.dumps((True, work()))
    except (HolderError, PlanRefused) as refusal:
        return pickle.dumps((False, refusal))
    except Exception as error:  # noqa: BLE001 - whatever it is, the parent has to be informed
        return pickle.dumps((False, WorkFailed(type(error).__name__)))


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(PARENT_LOOKED_FOR_S)
    os._exit(0)
