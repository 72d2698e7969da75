"""Nothing that Spark says of its own work holds a count, even with its log of events and its pages turned on.

A register has cells whose numbers of people are rare numbers, all in one partition, so that a part's counts are the
whole's. After a count they are looked for, as digits and as the eight bytes that a count has here, in the log of
events, every page and every answer of Spark's interface, its metrics, what the session wrote to the terminal, and the
files that it left while it ran. The negative control answers with as many rows as people were counted, which Spark's
accumulator "number of output rows" then says.
"""

import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final
from urllib.parse import urljoin

import httpx
import pyarrow as pa
from pyspark.sql import SparkSession

from checks.spark.sessions import pair
from holder_service.records.engines import EncodedVersion
from holder_service.records.formats import RecordsUrl
from holder_service.records.spark import session, tasks
from holder_service.settings.holder import SparkSettings
from shared.contract.rules import Cell, Predicate, Rule
from shared.contract.schema import Column, Schema

RARE: Final = (12_347, 9_871, 7_489, 5_563)
"""People by age and sex: two ages, each first F and then M."""
AGES: Final = (30, 60)
SCHEMA: Final = Schema(
    person_key="id",
    columns=(
        Column(name="age", type="integer", minimum=0, maximum=120),
        Column(name="sex", type="category", categories=("F", "M"), sensitive=True),
    ),
)
CELLS: Final = tuple(
    Cell(id=f"age-{age}", any_of=(Rule(all_of=(Predicate(column="age", op="eq", value=age),)),)) for age in AGES
)
NAME: Final = "c" * 32
PAGES_MAX: Final = 500
ANSWERS: Final = ("jobs", "stages?details=true", "allexecutors", "sql?details=true", "storage/rdd", "environment")
NOT_ASKED: Final = "kill|[sS]ort|desc=|pageSize|static/"
"""Of links: what ends work, shows the same in another order, or is a picture or a style."""


def main(_: int) -> str:
    """Look for the counts of a count, then of one with a row for each person.

    Raises:
        AssertionError: One is somewhere, or the one that is planted is not found.
    """
    found = _found(planted=False)
    assert not found, found
    planted = _found(planted=True)
    assert planted, "the planted accumulator was not found"
    return f"no count anywhere; the planted one in {', '.join(sorted(planted))}"


def _found(*, planted: bool) -> dict[str, set[str]]:
    """Which counts are found, by the kind of place."""
    with tempfile.TemporaryDirectory() as name, _task(count_in_rows if planted else tasks.count_chunks):
        folder = Path(name)
        (folder / "events").mkdir()
        with (
            _terminal(folder / "terminal"),
            _with_events(folder / "events"),
            pair(SparkSettings(master="local[2,4]", ui=True)) as both,
        ):
            (lake := both.folder / "lake").mkdir()
            (lake / "people.csv").write_text("".join(_lines()))
            both.spark.load(RecordsUrl(lake.as_uri()), SCHEMA, records_max=10**6, name=NAME)
            both.spark.join(NAME, None)
            both.spark.forget(NAME)
            counts = both.spark.count(EncodedVersion(NAME, NAME, SCHEMA), CELLS, ((0, 1),), ("sex",))
            assert tuple(counts.reveal_to_mechanism().ravel().tolist()) == RARE
            running = SparkSession.getActiveSession() or SparkSession.builder.getOrCreate()
            looked_at = {"pages": list(_pages(str(running.sparkContext.uiWebUrl)))}
            looked_at["files"] = [path.read_bytes() for path in _files(both.folder / "spark" / "spark-scratch")]
        looked_at["events"] = [path.read_bytes() for path in _files(folder / "events")]
        looked_at["terminal"] = [(folder / "terminal").read_bytes()]
        assert all(looked_at[kind] for kind in ("pages", "events")), "there was nowhere to look"
        found = {kind: {one for text in texts for one in _counts_in(text)} for kind, texts in looked_at.items()}
    return {kind: counts for kind, counts in found.items() if counts}


def _lines() -> Iterator[str]:
    yield "id,age,sex\n"
    person = 0
    for number, size in enumerate(RARE):
        for _ in range(size):
            yield f"p{person},{AGES[number // 2]},{'FM'[number % 2]}\n"
            person += 1


def _counts_in(text: bytes) -> Iterator[str]:
    """The counts, and sums of counts over a cell, that stand in a text."""
    sums = {RARE[0] + RARE[1], RARE[2] + RARE[3]}
    for count in {*RARE, *sums}:
        written = f"(?<![0-9A-Za-z])({count}|{count:,})(?![0-9A-Za-z])".encode()
        if re.search(written, text) or count.to_bytes(8, "little") in text:
            yield str(count)


def _pages(start: str) -> Iterator[bytes]:
    """Every page that another links to, and every answer of the interface that one names."""
    waiting, seen = [start, urljoin(start, "/api/v1/applications"), urljoin(start, "/metrics/json/")], set[str]()
    with httpx.Client(timeout=30, follow_redirects=True) as client:
        while waiting and len(seen) < PAGES_MAX:
            url = waiting.pop()
            if url in seen:
                continue
            seen.add(url)
            answer = client.get(url)
            if not answer.is_success:
                continue
            yield answer.content
            links = re.findall(r'href="([^"#]+)"', answer.text)
            for application in re.findall(r'"id"\s*:\s*"((?:local|app)-[^"]+)"', answer.text):
                links += [f"/api/v1/applications/{application}/{what}" for what in ANSWERS]
            whole = (urljoin(url, link.replace("&amp;", "&")) for link in links)
            waiting += [link for link in whole if link.startswith(start) and not re.search(NOT_ASKED, link)]


def _files(folder: Path) -> Iterator[Path]:
    return (path for path in folder.rglob("*") if path.is_file())


def count_in_rows(batches: Iterable[pa.RecordBatch], *, question: tasks.ChunkCount) -> Iterator[pa.RecordBatch]:
    """Count, and answer with as many rows as the first cell has people of the first group."""
    rows = list(_COUNT(batches, question=question))
    yield from rows
    more = RARE[0] - len(rows) if rows[0]["chunks"][0].as_py() else 0
    yield pa.RecordBatch.from_pydict({"chunks": [0] * more, "counts": [None] * more}, schema=tasks.COUNTED)


_COUNT: Final = tasks.count_chunks


@contextmanager
def _task(task: Callable[..., Any]) -> Iterator[None]:
    setattr(tasks, _COUNT.__name__, task)
    try:
        yield
    finally:
        setattr(tasks, _COUNT.__name__, _COUNT)


@contextmanager
def _with_events(folder: Path) -> Iterator[None]:
    """Have the next session keep its log of events."""
    whole = dict(session.STATIC)
    kept = {"enabled": "true", "dir": folder.as_uri(), "compress": "false"}
    vars(session)["STATIC"] = whole | {f"spark.eventLog.{name}": value for name, value in kept.items()}
    try:
        yield
    finally:
        vars(session)["STATIC"] = whole


@contextmanager
def _terminal(path: Path) -> Iterator[None]:
    """What this process and those that it starts write to the terminal goes into a file."""
    sys.stderr.flush()
    kept = os.dup(2)
    with path.open("wb") as file:
        os.dup2(file.fileno(), 2)
        try:
            yield
        finally:
            sys.stderr.flush()
            os.dup2(kept, 2)
            os.close(kept)
