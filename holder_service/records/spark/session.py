"""The Spark session of a process: one for as long as it runs, begun anew if it was lost (6-engines).

What Spark knows of its own work is kept from others: its pages and its log of events are off, no accumulator is used,
and an error's text is dropped, for Spark puts into it whatever a worker said. Rows are chunks of up to 32,767 people,
so Spark reads and hands on a few of them at once.
"""

import logging
import os
import secrets
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, Final, TypeVar

from pyspark.sql import SparkSession

from holder_service.domain.errors import Unavailable
from holder_service.settings.holder import SparkSettings

T = TypeVar("T")

ROWS_AT_ONCE: Final = "8"
ASKED_AGAIN_S: Final = 5.0
BEATS_WITHIN_S: Final = 20.0
FOLLOWED_EVERY_S: float = 1.0
"""A check of it looks more often."""
JOB_GROUP: Final = "spark.jobGroup.id"
POOL: Final = "spark.scheduler.pool"
POOLS: Final = 16
"""Jobs of different threads take turns by their pools: within one Spark does the first first."""
STATIC: Final[Mapping[str, str]] = {
    "spark.app.name": "pafer-holder",
    "spark.eventLog.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.scheduler.mode": "FAIR",
}
RUNTIME: Final[Mapping[str, str]] = {
    "spark.sql.execution.arrow.maxRecordsPerBatch": ROWS_AT_ONCE,
    "spark.sql.parquet.columnarReaderBatchSize": ROWS_AT_ONCE,
    "spark.sql.parquet.compression.codec": "uncompressed",
    # A broadcast would bring records to the driver.
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    "spark.sql.adaptive.autoBroadcastJoinThreshold": "-1",
}
_log = logging.getLogger(__name__)


class SparkConnection:
    """Does work in a Spark session, which begins with the first work or with `start`.

    Whether a worker answers is asked in the background, at times that follow from nothing but when the last one
    answered. A caller gets the last answer at once: anybody may call, without a key, so a call must neither run a job
    nor wait for one that counts.
    """

    def __init__(self, settings: SparkSettings, *, scratch: Path) -> None:
        self._settings = settings
        self._scratch = scratch
        self._guard = threading.Lock()
        self._spark: SparkSession | None = None
        self._answered = False
        self._closed = threading.Event()
        self._asking = threading.Thread(target=self._ask_again_and_again, name="spark-ready", daemon=True)

    def start(self) -> None:
        """Begin the session in a thread of its own, which then asks now and then whether a worker answers."""
        self._asking.start()

    def _ask_again_and_again(self) -> None:
        while not self._closed.is_set():
            try:
                self.run(lambda spark: spark.range(1, numPartitions=1).count(), within_s=BEATS_WITHIN_S)
                self._answered = True
            except Unavailable:
                self._answered = False
            self._closed.wait(ASKED_AGAIN_S)

    def close(self) -> None:
        """Break off all work, and end the session."""
        self._closed.set()
        spark, self._spark = self._spark, None
        if spark is not None:
            try:
                spark.interruptAll()
                spark.stop()
            except Exception as error:  # noqa: BLE001 - it ends with the process
                _log.warning("spark session could not be ended", extra={"error": type(error).__name__})

    def is_ready(self) -> bool:
        """Whether a worker answered when it was asked last."""
        return self._answered

    def run(
        self,
        work: Callable[[SparkSession], T],
        *,
        within_s: float | None = None,
        follow: Callable[[int, int], None] | None = None,
    ) -> T:
        """Do some work, and break it off if it takes too long.

        Args:
            work: What is done.
            within_s: How long it may take.
            follow: Is called now and then with how many tasks of the work's last stage are done, and how many it has. A
                session by Spark Connect does not tell.

        Raises:
            Unavailable: Spark failed, or did not answer in time. It says nothing of why.
        """
        spark = self._session()
        tag = secrets.token_hex(8)
        late = threading.Timer(within_s or 0, _interrupt, (spark, tag)) if within_s else None
        stack = ExitStack()
        try:
            spark.addTag(tag)
            if self._settings.remote is None:
                spark.sparkContext.setLocalProperty(POOL, f"pool-{threading.get_ident() % POOLS}")
                if follow is not None:
                    stack.enter_context(_followed(spark, tag, follow))
            if late:
                late.daemon = True
                late.start()
            return work(spark)
        except Exception as error:  # noqa: BLE001 - Spark's text might quote a record
            kind = type(error).__name__
        finally:
            if late:
                late.cancel()
            stack.close()
            _untag(spark, tag)
        self._forget_if_lost(spark)
        _log.error("spark could not do its work", extra={"error": kind})
        raise Unavailable("The cluster that has the records does not answer now: nothing was changed. Ask again.")

    def _session(self) -> SparkSession:
        with self._guard:
            if self._closed.is_set():
                raise Unavailable("The holder is being stopped: nothing was changed. Ask again.")
            if self._spark is None:
                try:
                    self._spark = _begun(self._settings, self._scratch)
                except Exception as error:  # noqa: BLE001 - its text names machines
                    _log.error("spark session could not begin", extra={"error": type(error).__name__})
                    raise Unavailable(
                        "The cluster that has the records cannot be reached now: nothing was changed. Ask again."
                    ) from None
            return self._spark

    def _forget_if_lost(self, spark: SparkSession) -> None:
        try:
            lost = _is_stopped(spark)
        except Exception:  # noqa: BLE001 - who does not answer is lost
            lost = True
        if lost:
            with self._guard:
                if self._spark is spark:
                    self._spark = None


def _begun(settings: SparkSettings, scratch: Path) -> SparkSession:
    builder: Any = SparkSession.builder
    if settings.remote is not None:
        spark: SparkSession = builder.remote(settings.remote).getOrCreate()
    else:
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        static = {**STATIC, "spark.ui.enabled": str(settings.ui).lower()}
        if settings.master.startswith("local"):
            scratch.mkdir(parents=True, exist_ok=True)
            static |= {"spark.local.dir": str(scratch), "spark.driver.host": "127.0.0.1"}
        for name, value in static.items():
            builder = builder.config(name, value)
        spark = builder.master(settings.master).getOrCreate()
        spark.sparkContext.setLogLevel("ERROR")
    for name, value in RUNTIME.items():
        spark.conf.set(name, value)
    return spark


def _is_stopped(spark: SparkSession) -> bool:
    if hasattr(spark, "is_stopped"):
        return bool(spark.is_stopped)
    return bool(spark.sparkContext._jsc.sc().isStopped())  # noqa: SLF001 - no other way


def _interrupt(spark: SparkSession, tag: str) -> None:
    try:
        spark.interruptTag(tag)
    except Exception as error:  # noqa: BLE001 - then the work fails by itself, or not at all
        _log.warning("spark could not be interrupted", extra={"error": type(error).__name__})


@contextmanager
def _followed(spark: SparkSession, group: str, follow: Callable[[int, int], None]) -> Iterator[None]:
    """Have the jobs that this thread begins followed by another."""
    context, over = spark.sparkContext, threading.Event()

    def look() -> None:
        tracker = context.statusTracker()
        while not over.wait(FOLLOWED_EVERY_S):
            try:
                jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(group)]
                stages = [tracker.getStageInfo(stage) for job in jobs if job for stage in job.stageIds]
            except Exception:  # noqa: BLE001 - the session is lost; whoever works in it says so
                return
            begun = [stage for stage in stages if stage and stage.numTasks]
            if begun:
                last = max(begun, key=lambda stage: stage.stageId)
                follow(last.numCompletedTasks, last.numTasks)

    context.setLocalProperty(JOB_GROUP, group)
    following = threading.Thread(target=look, name="spark-follow", daemon=True)
    following.start()
    try:
        yield
    finally:
        over.set()
        following.join()
        with suppress(Exception):  # the session is lost
            context.setLocalProperty(JOB_GROUP, None)


def _untag(spark: SparkSession, tag: str) -> None:
    try:
        spark.removeTag(tag)
    except Exception:  # noqa: BLE001 - the session is lost
        return
