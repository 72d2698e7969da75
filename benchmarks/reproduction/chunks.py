"""Work in chunks on all cores; finished work is kept, so an interrupted run continues where it stopped.

A chunk is a configuration with all its runs. Its rows are a CSV file named after the configuration and the seed,
written whole or not at all; a chunk whose file exists is not run again. Each row says how long its estimate took, so
speeds survive an interruption as well.
"""

import multiprocessing
import os
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import pandas as pd
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from auditor_client.errors import AuditorError


class Chunk(Protocol):
    """A configuration that can be run by itself, in any process."""

    @property
    def name(self) -> str:
        """Of the file: says the configuration, the number of runs and the seed."""

    @property
    def estimates(self) -> int:
        """How many estimates it makes, for the progress bar."""

    def rows(self) -> pd.DataFrame:
        """Run it."""


class Clock:
    """How long some estimates take, from when it is made."""

    def __init__(self) -> None:
        self._started = time.perf_counter(), time.process_time()

    def columns(self, estimates: int) -> dict[str, float]:
        """Wall-clock and processor seconds of each of them, for a table of results."""
        wall, processor = self._started
        return {
            "seconds": (time.perf_counter() - wall) / estimates,
            "cpu_seconds": (time.process_time() - processor) / estimates,
        }


@dataclass(frozen=True, slots=True)
class Progressed:
    """What one call did: estimates made by it, and the wall-clock time that they took, in seconds."""

    estimates: int
    seconds: float

    def __str__(self) -> str:
        if not self.estimates:
            return "everything was there already"
        return f"{self.estimates:,} estimates in {self.seconds:.0f} s: {self.estimates / self.seconds:,.0f} a second"


def results(chunks: Sequence[Chunk], folder: Path) -> pd.DataFrame | None:
    """The rows of all chunks; None while some are missing."""
    files = [folder / f"{chunk.name}.csv" for chunk in chunks]
    if not files or not all(file.exists() for file in files):
        return None
    tables = [table for table in map(pd.read_csv, files) if len(table)]
    return pd.concat(tables, ignore_index=True)


def run_chunks(chunks: Sequence[Chunk], folder: Path, *, what: str, workers: int, console: Console) -> Progressed:
    """Run the chunks whose results are not there yet.

    Args:
        chunks: The whole of an experiment.
        folder: Where the chunks' files are.
        what: Beside the progress bar.
        workers: Processes.
        console: For the progress bar.
    """
    folder.mkdir(parents=True, exist_ok=True)
    started = time.perf_counter()
    missing = [chunk for chunk in chunks if not (folder / f"{chunk.name}.csv").exists()]
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("estimates"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console) as progress:
        total = sum(chunk.estimates for chunk in chunks)
        task = progress.add_task(what, total=total, completed=total - sum(chunk.estimates for chunk in missing))
        for chunk in _done(missing, folder, workers):
            progress.advance(task, chunk.estimates)
    return Progressed(sum(chunk.estimates for chunk in missing), time.perf_counter() - started)


def _done(chunks: Sequence[Chunk], folder: Path, workers: int) -> Iterator[Chunk]:
    """Run some chunks, and give each when it is done; one worker is this process."""
    if min(workers, len(chunks)) <= 1:
        for chunk in chunks:
            _run(chunk, folder)
            yield chunk
        return
    # Spawned, because the progress bar's thread must not be forked.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(min(workers, len(chunks)), mp_context=context) as processes:
        running = {processes.submit(_run, chunk, folder): chunk for chunk in chunks}
        try:
            for done in as_completed(running):
                done.result()
                yield running[done]
        except BaseException:
            processes.shutdown(wait=False, cancel_futures=True)
            raise


def _run(chunk: Chunk, folder: Path) -> None:
    unfinished = folder / f".{chunk.name}.{os.getpid()}"
    try:
        chunk.rows().to_csv(unfinished, index=False)
        unfinished.replace(folder / f"{chunk.name}.csv")
    except AuditorError as error:
        error.add_note(f"In {chunk.name}.")
        raise
    finally:
        unfinished.unlink(missing_ok=True)
