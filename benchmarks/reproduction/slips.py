"""How well the two slips of scale explain the paper's Table 5: the finding, for anybody to check.

`python -m benchmarks.reproduction.slips` prints, for mechanisms with and without a slip, how far the published
figures lie from what the mechanism gives: the sum of squared distances in standard errors (χ²). A mechanism that
made the n published figures has a χ² of about n, give or take the root of 2n. The true counts are the holder's, the
estimator is the paper's, and only the noise is another one each time.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np
from rich.console import Console
from rich.table import Table as RichTable

from auditor_client.estimation.measurements import IntArray
from benchmarks.accuracy import Case
from benchmarks.reproduction import as_published, experiment_1
from benchmarks.reproduction.as_published import SlippedMechanism
from benchmarks.reproduction.estimates import by_the_paper
from benchmarks.reproduction.published import TABLE_5

PAPER_RUNS: Final = 50
"""As the paper's text has it for Experiment 1; taken for the preliminary Table 5 too."""
OUR_RUNS: Final = 2000
DIVISORS: Final = (1, 10, 50, 75, 100, 150, 200)
DELTAS: Final = (0.1, 0.01, 0.005, 0.001, 0.0001, 0.00001, 0.000001)


@dataclass(frozen=True, slots=True)
class Fit:
    """How far some published figures lie from a mechanism's.

    Attributes:
        mechanism: Which, in words.
        figure: Which column of Table 5.
        figures: How many published figures there are.
        chi_squared: The sum of their squared distances in standard errors.
        furthest: The largest single distance.
    """

    mechanism: str
    figure: str
    figures: int
    chi_squared: float
    furthest: float


def classical_gaussian(
    counts: IntArray, _: IntArray, epsilon: float, runs: int, generator: np.random.Generator, *, delta: float
) -> IntArray:
    """The Gaussian mechanism of the textbook: normal noise, rounded, with the bound's variance as its variance."""
    variance = 2 * as_published.GAUSSIAN_SENSITIVITY**2 * math.log(1.25 / delta) / epsilon**2
    return np.rint(counts + generator.normal(0, math.sqrt(variance), (runs, *counts.shape))).astype(np.int64)


def distances(case: Case, mechanism: SlippedMechanism, figure: str) -> list[float]:
    """How far each published figure lies from a mechanism's own, in standard errors of a mean of the paper's runs.

    Args:
        case: Adult by ethnicity.
        mechanism: Gets half of ε for the root and half for the rules.
        figure: A column of `TABLE_5`.
    """
    found = []
    for epsilon, row in TABLE_5.items():
        paper = getattr(row, figure)
        if paper is not None:
            generator = np.random.default_rng(0)
            everybody, favourable = (
                mechanism(counts, counts.sum(axis=1), float(epsilon) / 2, OUR_RUNS, generator)
                for counts in (case.sizes[None, :], case.favourable)
            )
            estimates = by_the_paper(everybody, favourable, case)
            ours = estimates.invalid if figure == "gaussian_invalid" else np.abs(estimates.value - case.ratio)
            error = np.nanstd(ours) * math.sqrt(1 / PAPER_RUNS + 1 / OUR_RUNS)
            found.append(float(abs(paper - np.nanmean(ours)) / error))
    return found


def fits(case: Case) -> Iterator[Fit]:
    """Every mechanism that is considered, compared with the published figures that it might have made."""
    for divisor in DIVISORS:
        mechanism = partial(as_published.exponential, divisor=divisor)
        yield _fit(
            f"exponential, utility divided by {divisor}", "exponential", distances(case, mechanism, "exponential")
        )
    for figure in ("gaussian", "gaussian_invalid"):
        for delta in DELTAS:
            for words, sampler in (
                ("variance as deviation", as_published.gaussian),
                ("calibrated as in the textbook", classical_gaussian),
            ):
                of_delta = distances(case, partial(sampler, delta=delta), figure)
                yield _fit(f"Gaussian, {words}, δ = {delta:g}", figure, of_delta)


def main() -> None:
    """Print the table."""
    table = RichTable("mechanism", "figures of Table 5", "figures", "χ²", "furthest", title="What made Table 5?")
    for fit in fits(experiment_1.analyses()[0].case):
        table.add_row(fit.mechanism, fit.figure, str(fit.figures), f"{fit.chi_squared:.1f}", f"{fit.furthest:.1f}")
    Console().print(table)


def _fit(mechanism: str, figure: str, found: list[float]) -> Fit:
    return Fit(mechanism, figure, len(found), sum(one**2 for one in found), max(found))


if __name__ == "__main__":
    main()
