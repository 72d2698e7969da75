"""How often verdicts of ours are decided, beside how often those of any procedure can be.

`python -m benchmarks.most_decisions [--part grid|published|invented] [--runs 60] [--editions 1,2] [--cases K=2]`

Rows are those of `benchmarks.accuracy`, the grid of small groups or the paper's nine analyses; or forty invented
registers of 2 to 16 groups of 1 to 5 000 people. Strategy `verdict`, Laplace noise, people in the data, the ratio of
all groups against .8. All editions of the estimator read the same releases.

**The bound.** A procedure says of each release "below", "at least" or nothing. Let no more than a share α of its
verdicts be wrong, whoever the people are: intervals that hold the truth in 95 % of releases promise α = 5 %, since an
interval misses where its verdict is wrong; 2.5 % where they miss either side as often. Let the people be P, with a
ratio below .8, and Q any others, with .8 or more. To reject Q where the verdict is "below" is a test of Q of level α.
So of P's releases no larger share is rightly decided than the most powerful such test rejects (Neyman and Pearson 1933,
*Philosophical Transactions of the Royal Society A* 231), whoever Q are: the smallest of these powers counts. Of people
with .8 or more the same holds, with Q below. The other verdict is wrong for P, so at least 1 − power − α is undecided,
and 1 − power less what is decided wrongly.

**The others Q.** For P below .8: rates from .8·m to m are tried, where m or .8·m is a rate of P's groups. Groups
within these stay; every other gets the numbers of accepted and refused people that are hardest to tell from its own.
For P at .8 or more: one group's rate sinks or stays, one rises or stays, until one is below .8 of the other. Moves of
more people than some scales of the noise are not tried, nor groups without people. Fewer Q make the bound larger, never
wrong; where none is near it is 1. Groups' sizes are not known beforehand.

Each bound is as if the procedure had been made for P and one Q, so none reaches all of them at once.
"""

import argparse
import math
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Final

import numpy as np

from auditor_client.estimation.drawing import EDITIONS
from auditor_client.estimation.estimates import Verdict
from auditor_client.estimation.noise_sums import FloatArray
from benchmarks.accuracy import EPSILONS, LEVEL, THRESHOLD, Case, grid_cases, published_cases
from benchmarks.narrowest_intervals import REACH_SCALES, power, ranges_by_edition
from holder_service.mechanisms.laplace import LaplaceMechanism
from shared.privacy.amounts import parse_nano
from shared.privacy.noise import DiscreteLaplaceNoise
from testing.invented.registers import Register
from testing.truths import ROUNDING, is_wrong

SIZES: Final = (1 - LEVEL, (1 - LEVEL) / 2)
"""Largest shares of wrong verdicts: what 95 % intervals promise, and what they do if they miss either side as often."""
REGISTERS: Final = 40

Band = tuple[float, float]
"""The smallest and the largest rate that a group may have."""
Move = tuple[int, int]
"""How many more accepted and refused people one group has."""


@dataclass(frozen=True, slots=True)
class Row:
    """Of one case at one ε the shares of releases that are decided rightly and wrongly, by edition.

    `most` is what any procedure can decide rightly, for each of `SIZES`.
    """

    name: str
    epsilon: str
    truth: float
    right: tuple[float, ...]
    wrong: tuple[float, ...]
    most: tuple[float, ...]

    @property
    def shares(self) -> tuple[float, ...]:
        """All of them, as they are printed."""
        return (*self.right, *self.wrong, *self.most)

    def __str__(self) -> str:
        return f"{self.name:<24} {self.epsilon:>5} {self.truth:7.4f} " + _percentages(self.shares)


def invented_cases() -> list[Case]:
    """Of `testing.invented.registers`."""
    registers = (Register.invented(seed, groups_max=16, people_min=1) for seed in range(REGISTERS))
    return [Case(f"register {seed}", register.favourable, register.sizes) for seed, register in enumerate(registers)]


PARTS: Final = {"grid": grid_cases, "published": published_cases, "invented": invented_cases}


def most_decided(case: Case, noise: DiscreteLaplaceNoise, size: float, threshold: float = THRESHOLD) -> float:
    """The largest share of a case's releases in which any procedure's verdict can be right.

    Args:
        case: The people.
        noise: On the accepted and on the refused of each group.
        size: How often verdicts may be wrong, whoever the people are.
        threshold: Of the ratio.
    """
    return min((power(shifts, noise, size) for shifts in shifts_of_others(case, noise, size, threshold)), default=1.0)


def shifts_of_others(
    case: Case, noise: DiscreteLaplaceNoise, size: float, threshold: float = THRESHOLD
) -> Iterator[tuple[int, ...]]:
    """How many more people each count has of others for whom the case's right verdict would be wrong, shape (2·K,).

    The accepted and the refused of the first group come first.
    """
    rates = case.accepted / case.sizes
    bands = _bands_at_least if case.ratio < threshold else _bands_below
    for others in bands(rates, threshold):
        moves = [
            _hardest_move(int(accepted), int(size_of) - int(accepted), band, noise, size)
            for accepted, size_of, band in zip(case.accepted, case.sizes, others, strict=True)
        ]
        chosen = [move for move in moves if move is not None]
        if len(chosen) == len(moves):
            yield tuple(shift for move in chosen for shift in move)


def measured(
    case: Case, epsilon: str, runs: int, editions: Sequence[int], noise: DiscreteLaplaceNoise | None = None
) -> Row:
    """Release a case many times, and judge each release by every edition.

    The noise is what the estimator supposes; by default what is added.
    """
    mechanism = LaplaceMechanism.calibrated(epsilon_nano=parse_nano(epsilon), sensitivity=1)
    right, wrong = [], []
    for found in ranges_by_edition(case, mechanism, runs, editions, noise):
        verdicts = [one.ratio.against(THRESHOLD) for one in found]
        contradicting = sum(is_wrong(verdict, case.ratio, THRESHOLD) for verdict in verdicts)
        right.append((runs - verdicts.count(Verdict.UNDECIDED) - contradicting) / runs)
        wrong.append(contradicting / runs)
    most = tuple(most_decided(case, mechanism.noise, size) for size in SIZES)
    return Row(case.name, epsilon, case.ratio, tuple(right), tuple(wrong), most)


def _bands_at_least(rates: FloatArray, threshold: float) -> Iterator[list[Band]]:
    """Rates of K groups that are all within the threshold of each other, with one group's own at an end of them."""
    for largest in (*rates[rates > 0], *np.minimum(rates[rates > 0] / threshold, 1.0)):
        yield [(threshold * largest - ROUNDING, largest + ROUNDING)] * len(rates)


def _bands_below(rates: FloatArray, threshold: float) -> Iterator[list[Band]]:
    """Rates of which one is below the threshold of another, and one of these two may stay; the rest stays."""
    for small in range(len(rates)):
        for large in range(len(rates)):
            if small == large:
                continue
            for cut in (rates[large], rates[small] / threshold + 2 * ROUNDING):
                bands = [(0.0, 1.0)] * len(rates)
                bands[small], bands[large] = (0.0, threshold * cut - ROUNDING), (cut, 1.0)
                yield bands


@lru_cache(maxsize=4096)
def _hardest_move(accepted: int, refused: int, band: Band, noise: DiscreteLaplaceNoise, size: float) -> Move | None:
    """How a group gets into a band so that this is seen least often; None where that takes too many people."""
    low, high = band
    rate = accepted / (accepted + refused)
    if low <= rate <= high:
        return 0, 0
    up = rate < low
    growing, other = (accepted, refused) if up else (refused, accepted)
    reach = math.ceil(REACH_SCALES * noise.scale)
    more = np.arange(reach + 1)[:, None]
    found: list[Move] = []  # the one count grows, the other sinks or grows; of moves that are farther in both, none
    for sign in (-1, 1):
        change = sign * np.arange(reach + 1 if sign > 0 else min(reach, other) + 1)
        people = growing + more + other + change
        grown = (growing + more) / np.maximum(people, 1)
        rates = grown if up else 1 - grown
        fits = (low <= rates) & (rates <= high) & (people > 0)
        least = fits.argmax(axis=1)
        nearest = np.minimum.accumulate(np.where(fits.any(axis=1), least, len(change)))
        added = np.flatnonzero(np.diff(nearest, prepend=len(change)))
        found += list(zip(added.tolist(), change[least[added]].tolist(), strict=True))
    move = min(found, key=lambda one: _power_of_move(abs(one[0]), abs(one[1]), noise, size), default=None)
    return move if up or move is None else move[::-1]


@lru_cache(maxsize=65_536)
def _power_of_move(accepted: int, refused: int, noise: DiscreteLaplaceNoise, size: float) -> float:
    return power((accepted, refused), noise, size)


def _percentages(shares: Sequence[float]) -> str:
    return " ".join(f"{share:9.2%}" for share in shares)


def _summary(rows: Sequence[Row]) -> Iterator[str]:
    """Means, by ε and of all rows."""
    for epsilon in (*EPSILONS, None):
        shares = np.array([row.shares for row in rows if epsilon in (None, row.epsilon)]).mean(axis=0)
        yield f"{'mean':<24} {epsilon or 'all':>5} {'':>7} " + _percentages(shares.tolist())


def main() -> None:
    """Print a row for each case and ε, and their means."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--runs", type=int, default=60, help="releases of each case at each ε")
    parser.add_argument("--part", choices=tuple(PARTS), default="grid", help="of the cases")
    parser.add_argument("--editions", default=",".join(map(str, EDITIONS)), help="of the estimator, with commas")
    parser.add_argument("--cases", default="", help="only cases whose name has this in it")
    parser.add_argument("--workers", type=int, default=2, help="processes")
    arguments = parser.parse_args()
    editions = [int(edition) for edition in arguments.editions.split(",")]
    cases = [case for case in PARTS[arguments.part]() if arguments.cases in case.name]
    settings = [(case, epsilon) for case in cases for epsilon in EPSILONS]
    headings = [f"{what} {edition}" for what in ("right", "wrong") for edition in editions]
    headings += [f"most {size:.1%}" for size in SIZES]
    print(f"{'case':<24} {'ε':>5} {'SP':>7} " + " ".join(f"{heading:>9}" for heading in headings))
    rows = []
    with ProcessPoolExecutor(arguments.workers) as processes:
        for row in processes.map(
            partial(measured, runs=arguments.runs, editions=editions), *zip(*settings, strict=True)
        ):
            rows.append(row)
            print(row, flush=True)
    print("", *_summary(rows), sep="\n")


if __name__ == "__main__":
    main()
