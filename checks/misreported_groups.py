"""Groups that are recorded wrongly: how often corrected intervals hold the truth, and those of records as they are.

`python -m checks.misreported_groups [--runs 60] [--workers 2] [--only coverage | identity] [--column sex,ethnicity]`

*Coverage*: of Adult, COMPAS and German credit, with two groups and, by two columns together, with four, for which a
quarter of the runs are made. Each person's group is recorded by a known matrix M, at random; a study
of so many people of each true group is drawn from M too. The noisy counts are read as an audit reads them. A line has
how often the corrected interval holds the true ratio and the true difference, how often the interval of the recorded
groups holds the true ratio, the mean width of both, and the verdicts: how many are given after correction, and how many
of these are wrong; and how many of the verdicts on recorded groups are wrong.

The check fails if a corrected interval holds less often than 95 % by more than chance (p < 0.001, binomial) or a
verdict is wrong more often than 5 %, or if fewer than 93 % hold over all cases of a line of the table by data.

*Identity*: with a study of 10⁷ people a group, none of them misreported, all ends are those of the uncorrected answer,
read by the same two priors, up to the error of the draws (0.002).
"""

import argparse
import itertools
import math
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import cache
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from auditor_client.estimation.confusion import ConfusionCounts
from auditor_client.estimation.drawing import EDITIONS, LATEST, Drawing
from auditor_client.estimation.estimates import Estimate, Verdict
from auditor_client.estimation.measurements import Measurement, NoisyCounts
from auditor_client.estimation.posterior import estimate_parity
from auditor_client.estimation.results import RatioKind
from checks.unknown_groups import CHANCE, CLOSE, LEVEL, THRESHOLD, WRONG_MAX, Counts
from pafer_demo.open_data import LOADERS
from shared.contract.schema import Group
from shared.privacy.noise import DiscreteLaplaceNoise

HOLDS_MIN: Final = 0.93
EPSILONS: Final = (0.1, 1.0)
STUDIES: Final = (500, 20_000)
"""People of each true group who were reinterviewed."""
ERRORS: Final = (0.05, 0.2)
"""Shares of people whose group is recorded wrongly; of the smallest group twice as many."""
IDENTITY_CLOSE: Final = 0.002

SEVERAL: Final = "sex,ethnicity"

Matrix = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Case:
    """One way to record groups of a public data set wrongly, a size of the study, and one ε."""

    data: str
    column: str
    kind: RatioKind
    error: float
    study: int
    epsilon: float
    seed: int

    def __str__(self) -> str:
        return (
            f"{self.data:7}{self.column:14}{self.kind.name:8}{self.error:5.0%} study {self.study:6} ε {self.epsilon:<5}"
        )


@dataclass(frozen=True, slots=True)
class Result:
    """How often something held in the runs of a case, and sums of widths."""

    case: Case
    runs: int
    ratio: int
    difference: int
    recorded: int
    given: int
    wrong: int
    wrong_as_recorded: int
    width: float
    recorded_width: float

    @property
    def fails(self) -> bool:
        """Whether an interval holds too seldom, or a verdict is wrong too often, by more than chance."""
        few = any(stats.binom.cdf(number, self.runs, LEVEL) < CHANCE for number in (self.ratio, self.difference))
        return few or bool(stats.binom.sf(self.wrong - 1, self.runs, WRONG_MAX) < CHANCE)

    def __str__(self) -> str:
        shares = (self.ratio, self.difference, self.recorded, self.given, self.wrong, self.wrong_as_recorded)
        line = "".join(f"{share / self.runs:9.1%}" for share in shares)
        widths = f"{self.width / self.runs:9.3f}{self.recorded_width / self.runs:9.3f}"
        return f"{self.case}{line}{widths}{'   FAILS' if self.fails else ''}"


@cache
def true_counts(data: str, columns: str) -> tuple[tuple[Group, ...], Counts]:
    """The groups of a public data set by some columns, and its people by group and label, taken as the decision."""
    loaded = LOADERS[data](None)
    names = list(zip(*(loaded.test[column].to_pylist() for column in columns.split(",")), strict=True))
    label = np.array(loaded.test[loaded.label].to_pylist(), dtype=bool)
    groups = sorted(set(names), key=str)
    masks = [np.array([name == group for name in names]) for group in groups]
    return tuple(groups), np.array([[int((mask & label).sum()), int((mask & ~label).sum())] for mask in masks])


def matrix_of(groups: int, error: float, smallest: int) -> Matrix:
    """The probability that a person of group k is recorded as of group j; errors go to all other groups alike."""
    errors = np.full(groups, error)
    errors[smallest] = 2 * error
    matrix = np.tile((errors / (groups - 1))[:, None], (1, groups))
    matrix[np.diag_indices(groups)] = 1 - errors
    return matrix


def record(counts: Counts, matrix: Matrix, rng: np.random.Generator) -> Counts:
    """The people of each recorded group and outcome, shape (K, 2)."""
    return np.stack([rng.multinomial(counts[:, outcome], matrix).sum(axis=0) for outcome in range(2)], axis=1)


def study_of(matrix: Matrix, people: int, rng: np.random.Generator) -> ConfusionCounts:
    """A reinterview study of so many people of each true group."""
    return ConfusionCounts(tuple(map(tuple, rng.multinomial(people, matrix).tolist())))


def measured(case: Case, recorded: Counts, rng: np.random.Generator) -> Measurement:
    """The noisy answer about recorded groups."""
    groups, _ = true_counts(case.data, case.column)
    tail = 1 - math.exp(-case.epsilon)
    noisy = recorded + rng.geometric(tail, recorded.shape) - rng.geometric(tail, recorded.shape)
    noise = DiscreteLaplaceNoise(scale=1 / case.epsilon)
    accepted, refused = (NoisyCounts.of([noisy[:, outcome].tolist()], noise) for outcome in range(2))
    return Measurement(groups, accepted, refused, "unfavourable", ratio_kind=case.kind)


def checked(task: tuple[Case, int]) -> Result:
    """Return what held in the runs of a case."""
    case, runs = task
    sums = np.sum([_held(case, run) for run in range(runs)], axis=0)
    return Result(case, runs, *map(int, sums[:6]), *map(float, sums[6:]))


def _held(case: Case, run: int) -> NDArray[np.float64]:
    rng = np.random.default_rng((case.seed, run))
    _, counts = true_counts(case.data, case.column)
    matrix = matrix_of(len(counts), case.error, int(counts.sum(axis=1).argmin()))
    measurement = measured(case, record(counts, matrix, rng), rng)
    drawing = Drawing(number=1024, seed=run)
    study = study_of(matrix, case.study, rng)
    recorded = estimate_parity(measurement, level=LEVEL, drawing=drawing)
    corrected = estimate_parity(replace(measurement, confusion=study), level=LEVEL, drawing=drawing)
    ratio, difference = true_figures(counts, case.kind)
    of_corrected, of_recorded = (case.kind.reported(estimate.ratio) for estimate in (corrected, recorded))
    true_verdict = Verdict.MEETS if ratio >= THRESHOLD else Verdict.FAILS
    is_decided = corrected.verdict is not Verdict.UNDECIDED
    return np.array(
        [
            _holds(of_corrected, ratio),
            _holds(corrected.difference, difference),
            _holds(of_recorded, ratio),
            is_decided,
            is_decided and corrected.verdict is not true_verdict,
            recorded.verdict not in (Verdict.UNDECIDED, true_verdict),
            of_corrected.width,
            of_recorded.width,
        ],
        dtype=np.float64,
    )


def true_figures(counts: Counts, kind: RatioKind) -> tuple[float, float]:
    """The lowest rate divided by the highest of the outcome that a kind of ratio is about, and the difference."""
    rates = counts[:, 1 if kind.adverse else 0] / counts.sum(axis=1)
    return float(rates.min() / rates.max()), float(rates.max() - rates.min())


def _holds(estimate: Estimate, truth: float) -> bool:
    return bool(estimate.low - CLOSE <= truth <= estimate.high + CLOSE)


def cases() -> Iterator[Case]:
    """Every case: incomes and credit are given, and risk scores are a burden."""
    columns = (
        ("adult", "sex", RatioKind.LOWEST),
        ("adult", "ethnicity", RatioKind.LOWEST),
        ("adult", SEVERAL, RatioKind.LOWEST),
        ("compas", "sex", RatioKind.HIGHEST),
        ("compas", "ethnicity", RatioKind.HIGHEST),
        ("compas", SEVERAL, RatioKind.HIGHEST),
        ("german", "sex", RatioKind.LOWEST),
    )
    for column, error, study, epsilon in itertools.product(columns, ERRORS, STUDIES, EPSILONS):
        yield Case(*column, error, study, epsilon, 0)


def identity_differences() -> Iterator[tuple[str, float]]:
    """By how much the ends of ratio and difference differ where nobody is misreported, of each column."""
    by_priors = Drawing(number=4096, edition=replace(EDITIONS[LATEST], inverted=False))
    for case in cases():
        if (case.error, case.study, case.epsilon) != (ERRORS[0], STUDIES[0], 1.0):
            continue
        _, counts = true_counts(case.data, case.column)
        measurement = measured(case, counts, np.random.default_rng(case.seed))
        nobody = ConfusionCounts(tuple(map(tuple, (10**7 * np.eye(len(counts), dtype=int)).tolist())))
        one, other = (
            estimate_parity(replace(measurement, confusion=study), level=LEVEL, drawing=by_priors)
            for study in (nobody, None)
        )
        ends = [
            abs(getattr(getattr(one, figure), end) - getattr(getattr(other, figure), end))
            for figure, end in itertools.product(("ratio", "difference"), ("value", "low", "high"))
        ]
        yield f"{case.data} {case.column}", max(ends)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the check; 1 if it fails."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=60)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--only", choices=("coverage", "identity"))
    parser.add_argument("--column", help="those cases alone")
    options = parser.parse_args(arguments)
    failed = False
    if options.only != "coverage":
        for name, difference in identity_differences():
            failed |= difference > IDENTITY_CLOSE
            print(f"nobody misreported, {name:18} largest difference of an end {difference:.4f}", flush=True)
    if options.only != "identity":
        chosen = [case for case in cases() if options.column in (None, case.column)]
        failed |= _coverage(chosen, options.runs, options.workers)
    return int(failed)


def _coverage(chosen: Sequence[Case], runs: int, workers: int) -> bool:
    heads = ("ratio", "differ.", "recorded", "given", "wrong", "rec.wrong", "width", "rec.width")
    print(f"{'':55}{''.join(f'{head:>9}' for head in heads)}")
    results: list[Result] = []
    with ProcessPoolExecutor(workers) as pool:
        tasks = [
            (replace(case, seed=number), max(runs // 4, 1) if case.column == SEVERAL else runs)
            for number, case in enumerate(chosen)
        ]
        for result in pool.map(checked, tasks):
            print(result, flush=True)
            results.append(result)
    failed = any(result.fails for result in results)
    for (data, column), group in itertools.groupby(results, lambda result: (result.case.data, result.case.column)):
        lines = list(group)
        number = sum(result.runs for result in lines)
        names = ("ratio", "difference", "recorded", "wrong", "wrong_as_recorded")
        shares = {name: sum(getattr(result, name) for result in lines) / number for name in names}
        least = min(result.ratio / result.runs for result in lines)
        print(
            f"{data} {column}: " + ", ".join(f"{name} {share:.1%}" for name, share in shares.items()) + f", {least:.1%}"
        )
        failed |= min(shares["ratio"], shares["difference"]) < HOLDS_MIN
    return failed


if __name__ == "__main__":
    sys.exit(main())
