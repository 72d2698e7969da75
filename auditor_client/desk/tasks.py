"""What takes longer than a page may: done in threads of this process, and shown while it lasts."""

import secrets
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from auditor_client.errors import AuditorError, SignInNeeded

Step = Callable[[str], None]
TASKS_MAX: Final = 100
"""How many are remembered; the oldest are forgotten first."""


@dataclass(slots=True)
class Task:
    """One piece of work: what it has done so far, and in the end where its result is, or why there is none.

    Attributes:
        title: What it does.
        back: Where it was begun.
        steps: What was done, in order.
        result: Where to go on.
        fault: Why it was not done.
        needs_sign_in: Whether nobody is signed in any more.
    """

    title: str
    back: str
    id: str = field(default_factory=lambda: secrets.token_urlsafe(9))
    steps: list[str] = field(default_factory=list)
    result: str | None = None
    fault: str | None = None
    needs_sign_in: bool = False

    @property
    def ended(self) -> bool:
        """Whether there is nothing more to wait for."""
        return self.result is not None or self.fault is not None


class Tasks:
    """The work that was begun since the desk was started; it is lost with the process, and no charged answer is."""

    def __init__(self) -> None:
        self._tasks: dict[str, Task] = {}
        self._lock = threading.Lock()

    def begin(self, title: str, back: str, act: Callable[[Step], str]) -> Task:
        """Begin something that ends with the path to go to, and calls its argument before each step."""
        task = Task(title, back)
        with self._lock:
            self._tasks[task.id] = task
            for id_ in list(self._tasks)[:-TASKS_MAX]:
                del self._tasks[id_]
        threading.Thread(target=_run, args=(task, act), daemon=True).start()
        return task

    def find(self, id_: str) -> Task | None:
        """A task by its id; None if there is none, or no longer."""
        return self._tasks.get(id_)


def _run(task: Task, act: Callable[[Step], str]) -> None:
    try:
        task.result = act(task.steps.append)
    except (AuditorError, OSError) as error:
        task.needs_sign_in = isinstance(error, SignInNeeded)
        task.fault = str(error)
    except Exception as error:  # noqa: BLE001 - last: a text instead of a page that waits for ever
        task.fault = failed_words(error)


def failed_words(error: Exception) -> str:
    """What is said of an error that nobody expected."""
    return (
        f"The client failed: {type(error).__name__}: {error}. This is a bug: please report it. Repeat the request "
        "to get an answer that was already charged, at no further cost."
    )
