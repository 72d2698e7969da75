"""Whether a cluster is ready is answered from what was found out in the background."""

import threading
from pathlib import Path
from typing import Any

import pytest

from holder_service.settings.holder import SparkSettings

pytest.importorskip("pyspark")


def test_who_asks_for_readiness_runs_no_job_and_waits_for_none(tmp_path: Path) -> None:
    from holder_service.records.spark.session import SparkConnection

    jobs, go_on = [], threading.Event()

    class Busy(SparkConnection):
        def run(self, work: Any, **_: Any) -> Any:
            jobs.append(work)
            go_on.wait(timeout=60)

    connection = Busy(SparkSettings(), scratch=tmp_path)
    connection.start()
    while not jobs:
        pass

    assert [connection.is_ready() for _ in range(1000)] == [False] * 1000
    assert len(jobs) == 1
    go_on.set()
    while not connection.is_ready():
        pass
    assert len(jobs) == 1
    connection.close()
