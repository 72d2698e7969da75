"""Executors that are killed in the middle of their work, and late tasks that are done twice: counts stay equal.

This happens on clusters of this machine with two executors, processes of their own, inside the very tasks that encode,
compare keys, make derived columns and count.
"""

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyspark
from pyspark import TaskContext

from checks.spark.compared import await_port, compare
from checks.spark.sessions import pair
from holder_service.records.spark import tasks
from holder_service.settings.holder import SparkSettings

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


@contextmanager
def _standalone() -> Iterator[str]:
    """A master and two workers that go by different names, because nothing is speculated on a host twice; its URL."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    script, url = Path(pyspark.__file__).parent / "bin" / "spark-class", f"spark://127.0.0.1:{port}"
    deploy = "org.apache.spark.deploy"
    with tempfile.TemporaryDirectory(prefix="pafer-spark-", ignore_cleanup_errors=True) as folder:
        environment = {**os.environ, "PYSPARK_PYTHON": sys.executable, "SPARK_DAEMON_MEMORY": "512m"}

        def start(*command: str) -> "subprocess.Popen[bytes]":
            return subprocess.Popen(
                [script, *command], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )

        programs = [start(f"{deploy}.master.Master", "--host", "127.0.0.1", "--port", str(port), "--webui-port", "0")]
        try:
            await_port(port)
            for host in ("127.0.0.1", "127.0.0.2"):
                options = ("--host", host, "--webui-port", "0", "--cores", "1", "--memory", "1g", "--work-dir", folder)
                programs.append(start(f"{deploy}.worker.Worker", *options, url))
            yield url
        finally:
            for program in reversed(programs):
                program.terminate()
                program.wait(30)


def speculated(number: int) -> str:
    """Examples of which one task is late again and again, so that Spark does it a second time on the other worker.

    Raises:
        AssertionError: A count differs, or no task was done a second time.
    """
    options = {
        "spark_speculation": "true", "spark_speculation_interval": "100ms", "spark_speculation_quantile": "0.1",
        "spark_speculation_task_duration_threshold": "1s", "spark_executor_memory": "512m",
        "spark_driver_host": "127.0.0.1",
    }  # fmt: skip
    with _all_disturbed(killed=False) as (marks, arm), _standalone() as url:
        with pair(SparkSettings(master=url), **options) as both:
            found = compare(both, max(number // 5, 3), before=arm)
        late, again = ({one.name.split("-", 1)[1] for one in marks.glob(f"{kind}-*")} for kind in ("first", "again"))
    tasks_of = [{name.rpartition("-")[0] for name in some} for some in (late, again)]
    twice = len(tasks_of[0] & tasks_of[1])
    assert twice, f"no task was done a second time: {late}, {again}"
    return f"{found}; {len(late)} tasks were late and {twice} of them done a second time"


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
