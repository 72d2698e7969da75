"""Executors that are killed in the middle of their work: counts stay equal.

This happens on a cluster of this machine with two executors, processes of their own, inside the very tasks that encode,
compare keys, make derived columns and count.
"""

import os
import signal
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
from pyspark import TaskContext

from checks.spark.compared import compare
from checks.spark.sessions import pair
from holder_service.records.spark import tasks
from holder_service.settings import SparkSettings

CLUSTER: Final = SparkSettings(master="local-cluster[2,1,1024]")
DISTURBED: Final = ("encode_splits", "join_keys", "derive", "count_chunks")
LATE_S: Final = 4.0


@dataclass(frozen=True, slots=True)
class Disturbed:
    """A task that goes wrong once in an example, after its first batch.

    Attributes:
        task: Of the engine.
        killed: Whether its executor is killed; else it is late, so that Spark runs it a second time.
        marks: A folder with a file for each task that is to go wrong; it is given another name when it has.
    """

    task: Callable[..., Iterator[pa.RecordBatch]]
    killed: bool
    marks: Path

    def arm(self) -> None:
        """Have it go wrong once more."""
        self._armed.touch()

    @property
    def _armed(self) -> Path:
        return self.marks / self.task.__name__

    def __call__(self, batches: Iterable[pa.RecordBatch], **named: Any) -> Iterator[pa.RecordBatch]:
        """Do the task."""
        yield from self.task(self._watched(batches), **named)

    def _watched(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        context = TaskContext.get()
        assert context is not None
        for index, batch in enumerate(batches):
            yield batch
            if index:
                continue
            number = f"{context.stageId()}-{context.partitionId()}-{context.taskAttemptId()}"
            late = self.marks / f"first-{number}"
            try:
                self._armed.rename(late)
            except FileNotFoundError:
                if context.attemptNumber() > 0:
                    (self.marks / f"again-{number}").touch()
                continue
            if self.killed:
                os.kill(_executor(), signal.SIGKILL)
            time.sleep(LATE_S)


def _executor() -> int:
    """The process of Java's that this worker of Python's works for."""
    process = os.getpid()
    while "java" not in Path(f"/proc/{process}/cmdline").read_text().partition("\0")[0]:
        process = int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])
    return process


@contextmanager
def _all_disturbed(*, killed: bool) -> Iterator[tuple[Path, Callable[[], None]]]:
    """The folder of marks, and what has every task go wrong once more."""
    whole = {name: getattr(tasks, name) for name in DISTURBED}
    with tempfile.TemporaryDirectory() as name:
        disturbed = {task: Disturbed(function, killed, Path(name)) for task, function in whole.items()}
        for task, wrong in disturbed.items():
            setattr(tasks, task, wrong)

        def arm() -> None:
            for wrong in disturbed.values():
                wrong.arm()

        try:
            yield Path(name), arm
        finally:
            for task, function in whole.items():
                setattr(tasks, task, function)


def killed(number: int) -> str:
    """Examples with executors that are killed in the middle of loads, derived columns and counts.

    Raises:
        AssertionError: A count differs, or none was killed.
    """
    options = {"spark_deploy_maxExecutorRetries": "-1", "spark_task_maxFailures": "8"}
    with _all_disturbed(killed=True) as (marks, arm), pair(CLUSTER, **options) as both:
        found = compare(both, max(number // 10, 2), before=arm)
        times = len([*marks.glob("first-*")])
        assert times, "no executor was killed"
    return f"{found}; {times} executors killed in the middle of a task"
