"""Engines to compare: a local one and one of a Spark session, each with a home of its own."""

import os
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from holder_service.records.files import RecordFiles
from holder_service.records.local_engine import LocalEngine
from holder_service.records.person_keys import PersonSecret
from holder_service.records.spark.engine import SparkEngine
from holder_service.settings.holder import SparkSettings
from testing.encoded_records import record_files


@dataclass(frozen=True, slots=True)
class Pair:
    """Both engines, under one secret."""

    folder: Path
    local: LocalEngine
    local_files: RecordFiles
    spark: SparkEngine
    spark_files: RecordFiles


@contextmanager
def pair(settings: SparkSettings | None = None, **options: str) -> Iterator[Pair]:
    """Both engines in folders that go.

    Args:
        settings: Of the session; two threads of this machine by default.
        options: Settings of Spark's own, with underscores for dots, for a session that begins here.
    """
    warnings.filterwarnings("ignore", category=FutureWarning, module="pyspark")
    given = " ".join(f"--conf {name.replace('_', '.')}={value}" for name, value in options.items())
    os.environ["PYSPARK_SUBMIT_ARGS"] = f"{given} pyspark-shell"
    secret = PersonSecret.forgotten()
    with tempfile.TemporaryDirectory(prefix="pafer-spark-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        local, spark = record_files(folder / "local", secret), record_files(folder / "spark", secret)
        engine = SparkEngine(spark, settings or SparkSettings(master="local[2,4]"), folder / "spark")
        try:
            yield Pair(folder, LocalEngine(local), local, engine, spark)
        finally:
            engine.close()
