"""How often each star of the journal's Table 7 appears: leaf fraction .01, fifty trees, again and again.

`python -m benchmarks.reproduction.significance` repeats that part of Experiment 2 with other trees, noise and guesses,
and prints in how many of the repetitions PAFER errs significantly less than the random baseline (p < .05). One run of
the experiment is one draw of this.
"""

import argparse
import itertools
from concurrent.futures import ProcessPoolExecutor
from typing import Final

import pandas as pd
from rich.console import Console
from rich.progress import track
from rich.table import Table as RichTable

from benchmarks.reproduction.experiment_2 import DATASETS, TREES, LeafRuns
from benchmarks.reproduction.published import SENSITIVE, title
from benchmarks.reproduction.summaries import SIGNIFICANT, baseline_tests

LEAF: Final = 0.01


def repetition(dataset: str, number: int) -> pd.DataFrame:
    """One repetition's t-tests, as `baseline_tests` gives them."""
    return baseline_tests(LeafRuns(dataset, LEAF, TREES, first=number * TREES).rows())


def main() -> None:
    """Print the table."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--repeats", type=int, default=20, help="how often (default: %(default)s)")
    repeats = options.parse_args().repeats
    datasets, numbers = zip(*itertools.product(DATASETS, range(repeats)), strict=True)
    with ProcessPoolExecutor() as pool:
        found = track(pool.map(repetition, datasets, numbers), "repetitions", total=len(numbers))
        tests = pd.concat(found)
    stars = tests[tests["p"] < SIGNIFICANT].value_counts(["dataset", "sensitive", "epsilon"])
    epsilons = sorted(set(tests["epsilon"]))
    table = RichTable("", *(f"ε = {epsilon:g}" for epsilon in epsilons), title=f"Significant, of {repeats}")
    for dataset, sensitive in itertools.product(DATASETS, map("-".join, SENSITIVE)):
        counts = (stars.get((dataset, sensitive, epsilon), 0) for epsilon in epsilons)
        table.add_row(title(dataset, sensitive), *map(str, counts))
    Console().print(table)


if __name__ == "__main__":
    main()
