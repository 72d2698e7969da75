"""Any dataset, plan, derived columns and division of files: the counts are those of the local engine, one by one."""

import itertools
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyspark
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from checks.spark.examples import CSV, Example, counted_by, examples, write_csv
from checks.spark.sessions import Pair, pair
from holder_service.domain.errors import InvalidRecords
from holder_service.records.formats import RecordsUrl, Upload
from holder_service.settings.holder import SparkSettings
from shared.contract.schema import Column, Schema

CONNECT_STARTS_S: Final = 120


def main(number: int) -> str:
    """Compare so many invented examples."""
    with pair() as both:
        return compare(both, number)


def compare(both: Pair, number: int, *, before: Callable[[], object] = lambda: None) -> str:
    """Compare examples; each is loaded from files that workers read, every fourth is sent as one file instead.

    Raises:
        AssertionError: A count differs, or something is left behind.
    """
    numbers, people, nonzero = itertools.count(), [0], [0]

    @settings(
        max_examples=number, deadline=None, database=None, derandomize=True, phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(example=examples(), sent=st.sampled_from((False, False, False, True)))
    def alike(example: Example, sent: bool) -> None:
        before()
        name = f"{next(numbers):032x}"
        folder = both.folder / name
        (folder / "files").mkdir(parents=True)
        piece = example.write(folder / "files")
        write_csv(pa.concat_tables(example.tables()), folder / "whole.csv")
        whole = Upload(folder / "whole.csv", CSV)
        locally = counted_by(both.local, both.local_files, example, whole, name)
        both.spark.split_bytes = piece
        source = whole if sent else RecordsUrl((folder / "files").as_uri())
        on_cluster = counted_by(both.spark, both.spark_files, example, source, name)
        assert np.array_equal(locally, on_cluster), (locally, on_cluster)
        both.spark.sweep()
        people[0] += example.number
        nonzero[0] += int(locally.any())
        shutil.rmtree(folder)

    alike()
    left = [path.name for path in (both.folder / "spark" / "spark").glob("*/*")]
    assert not left, left
    return f"{next(numbers)} examples with {people[0]} people counted alike, {nonzero[0]} of them with somebody counted"


SMALL: Final = Schema(
    person_key="id",
    columns=(
        Column(name="age", type="integer", minimum=0, maximum=120),
        Column(name="sex", type="category", categories=("F", "M"), sensitive=True),
    ),
)


def refused(_: int) -> str:
    """A load of which one file of many is not as it should be leaves nothing, and says where, never what.

    Raises:
        AssertionError: It does otherwise.
    """
    with pair() as both:
        (folder := both.folder / "files").mkdir()
        for part in range(3):
            lines = (f"p{part}-{person},{person % 100},F\n" for person in range(50))
            (folder / f"{part}.csv").write_text(f"id,age,sex\n{''.join(lines)}")
        for content, where in (("q,Zebedee,F\n", "column 'age'"), ("p0-7,5,M\n", "column 'id'")):
            with (bad := folder / "2.csv").open("a") as file:
                file.write(content)
            try:
                both.spark.load(RecordsUrl(folder.as_uri()), SMALL, records_max=1000, name="a" * 32)
            except InvalidRecords as error:
                found = error.fields["errors"]
                assert [one["field"] for one in found] == [f"2.csv, line 52, {where}"], found
                assert "Zebedee" not in repr(found)
            else:
                raise AssertionError("it was loaded")
            bad.write_text(bad.read_text().removesuffix(content))
            assert not [*both.spark_files.records.iterdir()], "something is left in the home"
            assert not [*(both.folder / "spark" / "spark").glob("*/*")], "something is left in the store"
    return "two faulty loads left nothing"


def connected(number: int) -> str:
    """The same by Spark Connect, with a server of this machine.

    Raises:
        RuntimeError: The server does not start.
    """
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    home = Path(pyspark.__file__).parent
    server = subprocess.Popen(
        [
            home / "bin" / "spark-submit", "--master", "local[2,4]", "--conf", "spark.ui.enabled=false",
            "--conf", f"spark.connect.grpc.binding.port={port}",
            "--class", "org.apache.spark.sql.connect.service.SparkConnectServer", "spark-internal",
        ],
        env={**os.environ, "PYSPARK_PYTHON": sys.executable}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        await_port(port)
        with pair(SparkSettings(remote=f"sc://127.0.0.1:{port}")) as both:
            return compare(both, max(number // 5, 3))
    finally:
        server.terminate()
        server.wait(30)


def await_port(port: int) -> None:
    """Wait until a server of this machine listens.

    Raises:
        RuntimeError: It does not in time.
    """
    until_s = time.monotonic() + CONNECT_STARTS_S
    while time.monotonic() < until_s:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.5)
        else:
            return
    raise RuntimeError("a server of Spark's did not start")
