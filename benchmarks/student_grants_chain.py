"""The chain of the student grants, step by step, as an audit would show it and as the published table has it.

`PAFER_DATA=… python -m benchmarks.student_grants_chain [--epsilon 0.05] [--runs 60]`

The counts are those of `duo-2014.csv`: students who were selected for a control, of those whose house visit took place,
and of those whom it found living elsewhere than registered (*unduly*), by origin. The source rounds them to ten. The
holder's mechanism answers so many times; each answer is read as the client reads it. For every step and group the
published rate stands beside the median of what audits show, and of the ends of their intervals. Below are the ratios to
students of Dutch origin, the share of audits of which all intervals hold together, and the steps that are said to make
the difference.
"""

import argparse
import csv
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

import numpy as np
from scipy import stats

from auditor_client.estimation.chain_counts import ChainCounts
from auditor_client.estimation.chain_figures import ChainFigures, chain_figures
from auditor_client.estimation.estimates import Estimate
from auditor_client.estimation.measurements import IntArray, NoisyCounts
from benchmarks.student_grants_draws import COVERAGE_MIN, FALSE_ALARM
from holder_service.mechanisms.laplace import LaplaceMechanism
from pafer_demo.open_data import data_directory
from shared.privacy.amounts import parse_nano
from testing.invented.chains import ChainRegister, claims
from testing.many_releases import released
from testing.truths import all_hold

ORIGINS: Final = {"Dutch": "origin_nl", "European": "origin_europe", "outside Europe": "origin_outside_europe"}
STAGES: Final = ("selected", "visited", "unduly")
RUNS: Final = 60
_STOPPED: Final = (
    "Selected for control: no",
    "Outcome house visit: could not take place",
    "Outcome house visit: duly",
    "Outcome house visit: unduly",
)
"""The published categories of those who reached none of the stages, one, two, and all three."""


def published(path: Path) -> IntArray:
    """The people of each origin who reached so many stages and no more, shape (4, 3)."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = {row["category"]: row for row in csv.DictReader(file)}
    return np.array([[int(rows[name][column]) for column in ORIGINS.values()] for name in _STOPPED], dtype=np.int64)


def audits(register: ChainRegister, runs: int) -> list[ChainFigures]:
    """What so many independent answers show."""
    mechanism = LaplaceMechanism.calibrated(epsilon_nano=parse_nano(register.epsilon), sensitivity=1)
    groups = tuple((name,) for name in ORIGINS)
    return [
        chain_figures(ChainCounts(groups, STAGES, (NoisyCounts(answer, mechanism.noise),)), reference=groups[0])
        for answer in released(mechanism, register.counts, runs)
    ]


def lines(register: ChainRegister, found: Sequence[ChainFigures]) -> Iterable[str]:
    """The table."""
    reached = register.reached
    yield f"{'step':<10} {'origin':<15} {'published':>10} {'audit':>9} {'interval':>20}"
    for number, stage in enumerate(STAGES):
        for group, origin in enumerate(ORIGINS):
            rate = float(reached[number + 1, group] / reached[number, group])
            shown = [figures.steps[number].rates[group] for figures in found]
            yield f"{stage:<10} {origin:<15} {rate:10.4f} {_median(shown)}"
    rates, shares = reached[1:] / reached[:-1], reached[1:] / reached[:1]
    for index, origin in enumerate(list(ORIGINS)[1:]):
        for number, stage in enumerate(STAGES):
            steps = [figures.comparisons[index].steps[number] for figures in found]
            for name, truth, one in (
                ("step", rates[number], [step.ratio for step in steps]),
                ("chain", shares[number], [step.chain for step in steps]),
            ):
                ratio = float(truth[index + 1] / truth[0])
                yield f"{stage:<10} {origin + ' ' + name:<22} {ratio:3.2f} {_median(one)}"
        decisive = Counter(
            "none" if (step := figures.comparisons[index].decisive) is None else STAGES[step] for figures in found
        )
        yield f"{origin}: the step that makes the difference: {dict(decisive)}"
    held = sum(all_hold(claims(register, figures)) for figures in found)
    yield f"all intervals hold together in {held} of {len(found)} audits"


def _median(estimates: Sequence[Estimate]) -> str:
    """The median of values and ends over the audits that have them."""
    known = [one for one in estimates if one.defined]
    if len(known) < len(estimates) / 2:
        return f"{'–':>9} {'–':>20}"
    value, low, high = (float(np.median([getattr(one, name) for one in known])) for name in ("value", "low", "high"))
    return f"{value:9.4f} {f'{low:.4f} to {high:.4f}':>20}"


def faults(path: Path, epsilon: str, runs: int = RUNS) -> Iterator[str]:
    """Print the table; gives what contradicts the published counts by more than chance."""
    register = ChainRegister(published(path), epsilon)
    found = audits(register, runs)
    print(f"\nThe chain {' → '.join(STAGES)} at ε = {epsilon}, over {runs} draws of the noise:")
    print("\n".join(lines(register, found)))
    held = sum(all_hold(claims(register, figures)) for figures in found)
    if stats.binom.cdf(held, runs, COVERAGE_MIN) < FALSE_ALARM:
        yield f"chain: all intervals hold together in {held} of {runs} audits"


def main() -> int:
    """Print the table; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epsilon", default="0.05")
    parser.add_argument("--runs", type=int, default=RUNS)
    given = parser.parse_args()
    folder = data_directory()
    if folder is None or not (path := folder / "duo-2014.csv").is_file():
        print("There is no duo-2014.csv in the data directory: set PAFER_DATA to its folder.")
        return 1
    found = list(faults(path, given.epsilon, given.runs))
    print("\n".join(found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
