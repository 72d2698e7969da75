"""`python -m benchmarks.reproduction [PART] [--quick]`: the paper's experiments, and one page about them.

Part `training` compares private and fair learners, ours, the published ones and others'; `all` is the paper's own.

What is done is kept in the output folder, and what is kept is not done again: an interrupted run goes on where it
was. The page shows all results that are there, whichever part was asked for.
"""

import argparse
import os
import sys
import time
from pathlib import Path
from typing import Final

import pandas as pd
from rich.console import Console
from rich.table import Table as RichTable

from benchmarks.reproduction import experiment_1, experiment_2, pandas_procedure, sections
from benchmarks.reproduction.chunks import Chunk, results, run_chunks
from benchmarks.reproduction.data_sets import further_names
from benchmarks.reproduction.fair_models import runs as fair_models
from benchmarks.reproduction.fair_models.peers import PeersMissing, require_peers
from benchmarks.reproduction.fair_models.section import training_section
from benchmarks.reproduction.page import Section, write_page
from benchmarks.reproduction.published import TABLE_3
from benchmarks.reproduction.tables import Table
from pafer_demo.open_data import OpenDataMissing

PARTS: Final = ("experiment-1", "experiment-2", "experiment-2.1", "tables", "training", "all")
NEEDS: Final = {
    "experiment-1": ("table-5", "experiment-1"),
    "experiment-2": ("experiment-2",),
    "experiment-2.1": ("experiment-2",),
    "tables": ("table-5", "experiment-2"),
    "training": ("training",),
    "all": ("table-5", "experiment-1", "experiment-2"),
}
"""Which results each part of the command makes."""
SHOWN: Final = 3
"""Of the comparison of learners: the tables that the terminal shows; the page and the files have all."""
OUTPUT: Final = Path(__file__).parents[1] / "results" / "reproduction"


def main() -> int:
    """Run what is asked for and is not there yet; then write tables, figures and the page."""
    given = _arguments()
    console = Console()
    output = sections.Output(given.output / ("quick" if given.quick else "full"))
    try:
        found = experiment_1.analyses()
        work = _work(found, quick=given.quick, seeds=given.seeds)
        if given.part == "training":
            require_peers()
    except (OpenDataMissing, PeersMissing) as missing:
        console.print(str(missing), style="red", markup=False)
        return 2
    for name in NEEDS[given.part]:
        progressed = run_chunks(
            work[name], output.folder / "runs" / name, what=name, workers=given.workers, console=console
        )
        console.print(f"{name}: {progressed}", highlight=False)
    done = {name: results(chunks, output.folder / "runs" / name) for name, chunks in work.items()}
    there = {name: rows for name, rows in done.items() if rows is not None}
    for name, rows in there.items():
        output.csv(rows, f"{name}-estimates")
    plain = {name: pandas_procedure.speeds(name) for name in TABLE_3}
    experiments = {name: rows for name, rows in there.items() if name != "training"}
    speeds = output.table(sections.speed_table(experiments, plain))
    parts = _sections(output, found, there)
    if given.part == "training":
        for table in parts[-1].tables[:SHOWN]:
            console.print(_shown(table))
    else:
        console.print(_shown(speeds))
    page = output.folder / "index.html"
    write_page(page, sections=[*parts, Section("Speed", tables=(speeds,))], subtitle=_size(there))
    console.print(f"The page: {page}", soft_wrap=True, highlight=False)
    return 0


def _work(found: list[experiment_1.Analysis], *, quick: bool, seeds: int | None) -> dict[str, list[Chunk]]:
    """The chunks of every experiment."""
    runs = experiment_1.QUICK_RUNS if quick else experiment_1.RUNS
    return {
        "table-5": [*experiment_1.table_5_chunks(found, runs=runs)],
        "experiment-1": [*experiment_1.figure_1_chunks(found, runs=runs)],
        "experiment-2": [*experiment_2.chunks((*experiment_2.DATASETS, *further_names()), quick=quick)],
        "training": [*fair_models.chunks(seeds=seeds or fair_models.seeds_of(quick=quick), quick=quick)],
    }


def _sections(
    output: sections.Output, found: list[experiment_1.Analysis], there: dict[str, pd.DataFrame]
) -> list[Section]:
    """All that the results allow."""
    parts = sections.data_sections(output, found)
    if "table-5" in there:
        parts.append(sections.table_5_section(output, there["table-5"], found[0]))
    if "experiment-1" in there:
        parts += sections.experiment_1_sections(output, there["experiment-1"])
    if "experiment-2" in there:
        parts += sections.experiment_2_sections(output, there["experiment-2"])
        parts += sections.experiment_2_1_sections(output, there["experiment-2"])
    if "training" in there:
        parts.append(training_section(output, there["training"]))
    return parts


def _shown(table: Table) -> RichTable:
    shown = RichTable(*table.columns, title=table.title, title_justify="left")
    for row in table.rows:
        shown.add_row(*row)
    return shown


def _size(there: dict[str, pd.DataFrame]) -> str:
    """How large the run was, in a sentence."""
    parts = [f"{len(rows):,} rows of {name}" for name, rows in there.items()]
    return (
        "Van der Steen, Vink, Kaya: Applied Intelligence 55:308 (2025), arXiv 2312.08413. "
        f"On this page: {', '.join(parts) or 'the data alone'}. Made {time.strftime('%Y-%m-%d')}."
    )


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="./run reproduce", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("part", nargs="?", choices=PARTS, default="all", help="what to run; by default all")
    parser.add_argument("--quick", action="store_true", help="fewer runs and leaf fractions: minutes")
    parser.add_argument("--seeds", type=_positive, help="runs of each learner in part training (default: 50, quick 3)")
    parser.add_argument("--output", type=Path, default=OUTPUT, help="the folder of results (default: %(default)s)")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="processes (default: all cores)")
    return parser.parse_args()


def _positive(text: str) -> int:
    """A whole number from 2 on: one run has no standard error."""
    number = int(text)
    if number < 2:
        raise argparse.ArgumentTypeError("Name at least 2 runs: one has no standard error.")
    return number


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit("Interrupted. What is finished is kept; the same command goes on from there.")
