"""How wide our intervals for the ratio are, beside the narrowest that any interval of their level can be.

`python -m benchmarks.narrowest_intervals [--runs 60] [--editions 1,2] [--cases K=2] [--workers 2]`

Rows are the grid of small groups of `benchmarks.accuracy`: strategy `verdict`, Laplace noise, people in the data. All
editions of the estimator read the same releases.

**The bound.** An interval that holds the truth in 95 % of releases, whoever the people are, accepts a value ρ' by a
test of level 5 % of every hypothesis with that ratio. So with the true people it holds ρ' at least as often as the most
powerful such test fails to reject one hypothesis; the integral of that over ρ' bounds its expected width (Pratt 1961,
*Journal of the American Statistical Association* 56). Hypotheses are all whole numbers of accepted and refused people
of the small group within some scales of the noise. The other groups are left as they are, so of four groups there is
no hypothesis with a ratio above .92, and those values add nothing. Of hypotheses with one ratio the largest bound
counts. Fewer hypotheses make the bound smaller, never wrong.

**Between the ratios of hypotheses.** Let x < y ≤ truth be two of these ratios. An interval that holds x holds all of
[x, y], or ends between them. Of all such pairs side by side it can end between one only, and then misses the truth: at
most 5 % of releases, which cost at most the widest pair. So each stretch counts with the bound of its end that is
farther from the truth, and 5 % of the widest stretch is taken off; pairs are chosen so that bounds grow towards the
truth.

Each bound is computed as if the interval had been made for that truth, so no interval reaches all of them at once.
"""

import argparse
import math
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Final

import numpy as np
from numpy.typing import NDArray

from auditor_client.estimation.drawing import EDITIONS, Drawing
from auditor_client.estimation.many_releases import ParityRange, parity_ranges
from auditor_client.estimation.measurements import IntArray
from auditor_client.estimation.noise_sums import FloatArray, noise_sum
from benchmarks.accuracy import DRAWS, EPSILONS, LEVEL, Case, grid_cases
from holder_service.mechanisms.laplace import LaplaceMechanism
from shared.privacy.amounts import parse_nano
from shared.privacy.noise import DiscreteLaplaceNoise
from testing.many_releases import released_totals

SIZE: Final = 1 - LEVEL
"""How often a test of a hypothesis that is true may reject it."""
REACH_SCALES: Final = 12
"""Hypotheses farther off than so many scales of the noise are told from the truth nearly always."""
SMALL: Final = 0
"""The index of the group that hypotheses are about."""


@dataclass(frozen=True, slots=True)
class Row:
    """Of one case at one ε our mean width by each edition, and the least that any could have, in units of the ratio."""

    name: str
    epsilon: str
    widths: tuple[float, ...]
    bound: float

    @property
    def excesses(self) -> tuple[float, ...]:
        """How many times wider ours are than the bound."""
        return tuple(width / self.bound for width in self.widths)

    def __str__(self) -> str:
        figures = [*self.widths, self.bound, *self.excesses]
        return f"{self.name:<20} {self.epsilon:>5} " + " ".join(f"{figure:9.4f}" for figure in figures)


def power(shifts: Sequence[int], noise: DiscreteLaplaceNoise, size: float = SIZE) -> float:
    """How often the most powerful randomised test rejects counts that are each so far from the true ones.

    With noise of scale s the logarithm of the likelihood ratio of an answer is t/s, where t is one of the whole numbers
    −d, −d + 2, …, d for a shift of d. Its mass under the hypothesis is the reverse of that under the truth, and so is
    the mass of the sum over the counts.

    Args:
        shifts: Of each count, in people.
        noise: On each count, independently.
        size: How often the test may reject a hypothesis that is true.
    """
    true_mass = np.ones(1)
    for shift in shifts:
        true_mass = np.convolve(true_mass, _log_ratio_mass(abs(shift), noise))
    rejected_if_false, rejected_if_true = (np.cumsum([0.0, *mass]) for mass in (true_mass[::-1], true_mass))
    return float(np.interp(size, rejected_if_true, rejected_if_false))


def narrowest_width(case: Case, noise: DiscreteLaplaceNoise) -> float:
    """The smallest expected width, at a case's truth, of any interval for the ratio that has the level."""
    held = _least_held(noise)
    reach = len(held) - 1
    true_accepted = int(case.accepted[SMALL])
    true_refused = int(case.sizes[SMALL]) - true_accepted
    accepted, refused = np.meshgrid(
        *(np.arange(max(true - reach, 0), true + reach + 1) for true in (true_accepted, true_refused)), indexing="ij"
    )
    somebody = accepted + refused > 0
    accepted, refused = accepted[somebody], refused[somebody]
    rates, others = accepted / (accepted + refused), np.delete(case.accepted / case.sizes, SMALL)
    ratios = np.minimum(rates, others.min()) / np.maximum(rates, others.max())
    return expected_width(ratios, held[abs(accepted - true_accepted), abs(refused - true_refused)], case.ratio)


def expected_width(ratios: FloatArray, held: FloatArray, truth: float) -> float:
    """What the expected width of an interval within 0 to 1 is at least.

    Args:
        ratios: Of hypotheses, the truth among them, shape (H,).
        held: How often the interval holds each at least, at the truth, shape (H,).
        truth: The true ratio.
    """
    below, widest_below = _side(ratios, held, truth)
    above, widest_above = _side(-ratios, held, -truth)
    return below + above - SIZE * max(widest_below, widest_above)


def measured(
    case: Case, epsilon: str, runs: int, editions: Sequence[int], noise: DiscreteLaplaceNoise | None = None
) -> Row:
    """Release a case many times, and estimate each release by every edition.

    The noise is what the estimator supposes; by default what is added.
    """
    mechanism = LaplaceMechanism.calibrated(epsilon_nano=parse_nano(epsilon), sensitivity=1)
    widths = [[found.ratio.width for found in of] for of in ranges_by_edition(case, mechanism, runs, editions, noise)]
    means = tuple(float(np.mean(of_edition)) for of_edition in widths)
    return Row(case.name, epsilon, means, narrowest_width(case, mechanism.noise))


def ranges_by_edition(
    case: Case,
    mechanism: LaplaceMechanism,
    runs: int,
    editions: Sequence[int],
    noise: DiscreteLaplaceNoise | None = None,
) -> list[list[ParityRange]]:
    """What each edition makes of the same releases of a case; the noise is what it supposes."""
    parts = case.accepted[None], (case.sizes - case.accepted)[None]
    found: list[list[ParityRange]] = [[] for _ in editions]
    for totals in released_totals(parts, mechanism, runs, noise=noise):
        for edition, of_edition in zip(editions, found, strict=True):
            of_edition.extend(parity_ranges(totals, level=LEVEL, drawing=Drawing(DRAWS, edition=EDITIONS[edition])))
    return found


@lru_cache(maxsize=8)
def _least_held(noise: DiscreteLaplaceNoise) -> FloatArray:
    """How often a hypothesis is held at least whose two counts are i and j off, shape (reach + 1, reach + 1)."""
    reach = math.ceil(REACH_SCALES * noise.scale)
    held = np.empty((reach + 1, reach + 1))
    for first in range(reach + 1):
        for second in range(first + 1):
            held[first, second] = held[second, first] = 1 - power((first, second), noise)
    return held


@lru_cache(maxsize=1024)
def _log_ratio_mass(shift: int, noise: DiscreteLaplaceNoise) -> FloatArray:
    """The mass of (t + d)/2 under the truth, for t as `power` has it and a shift of d ≥ 0, shape (d + 1,)."""
    table = noise_sum(noise, 1)
    noises: IntArray = np.arange(-table.reach, table.reach + 1)
    steps = (abs(noises - shift) - abs(noises) + shift) // 2
    return np.bincount(steps, weights=np.exp(table.log_mass), minlength=shift + 1).astype(np.float64)


def _side(ratios: FloatArray, held: FloatArray, truth: float) -> tuple[float, float]:
    """What hypotheses up to the truth add to the expected width, and the widest stretch between two of them."""
    up_to_truth = ratios <= truth
    order = np.argsort(ratios[up_to_truth])
    ascending, largest = ratios[up_to_truth][order], np.maximum.accumulate(held[up_to_truth][order])
    chosen: NDArray[np.bool_] = np.diff(largest, prepend=0.0) > 0
    stretches = np.diff(ascending[chosen], append=truth)
    return float(stretches @ largest[chosen]), float(stretches.max())


def _summary(rows: Sequence[Row], editions: Sequence[int]) -> Iterator[str]:
    """Geometric means of how many times wider than the bound, by ε and of all rows."""
    for epsilon in (*EPSILONS, None):
        excesses = np.array([row.excesses for row in rows if epsilon in (None, row.epsilon)])
        means, least = np.exp(np.log(excesses).mean(axis=0)), excesses.min(axis=0)
        which = "all rows" if epsilon is None else f"ε = {epsilon}"
        yield f"{which + ':':<10} times the bound, geometric mean (least): " + ", ".join(
            f"edition {edition} {mean:.3f} ({low:.3f})"
            for edition, mean, low in zip(editions, means, least, strict=True)
        )


def main() -> None:
    """Print a row for each case and ε, and geometric means."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--runs", type=int, default=60, help="releases of each case at each ε")
    parser.add_argument("--editions", default=",".join(map(str, EDITIONS)), help="of the estimator, with commas")
    parser.add_argument("--cases", default="", help="only cases whose name has this in it")
    parser.add_argument("--workers", type=int, default=2, help="processes")
    arguments = parser.parse_args()
    editions = [int(edition) for edition in arguments.editions.split(",")]
    settings = [(case, epsilon) for epsilon in EPSILONS for case in grid_cases() if arguments.cases in case.name]
    headings = [
        *(f"edition {edition}" for edition in editions),
        "bound",
        *(f"{edition} / bound" for edition in editions),
    ]
    print(f"{'case':<20} {'ε':>5} " + " ".join(f"{heading:>9}" for heading in headings))
    rows = []
    with ProcessPoolExecutor(arguments.workers) as processes:
        for row in processes.map(
            partial(measured, runs=arguments.runs, editions=editions), *zip(*settings, strict=True)
        ):
            rows.append(row)
            print(row, flush=True)
    print("", *_summary(rows, editions), sep="\n")


if __name__ == "__main__":
    main()
