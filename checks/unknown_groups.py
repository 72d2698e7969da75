"""Bounds over people whose group is unknown: against brute force, and how often the intervals of the sets hold.

`python -m checks.unknown_groups [--people 8] [--runs 100] [--workers 2] [--only brute | coverage]`

*Brute force*: every register of at most so many people in two to five groups, up to the order of the groups. Both ends
of ratio, odds ratio and difference have to be those of the best and the worst of all allocations, one by one.

*Coverage*: of Adult, COMPAS and German credit, whose groups are all known. Groups are hidden for some people, at random
or more often for one group with one outcome. The noisy counts are read as an audit reads them. A line has how often
the interval holds the whole set of ratios and of differences, how often it holds the true ratio, how often the ratio of
the known alone would have held it, and the verdicts: how many are given, and how many of these are wrong. "Within Γ"
is about the interval under the factor in odds by which those hidden truly differ. The check fails if an interval holds
less often than 95 % by more than chance (p < 0.001, binomial), or a verdict is wrong more often than 5 %.
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

from auditor_client.estimation.drawing import Drawing
from auditor_client.estimation.estimates import Verdict
from auditor_client.estimation.measurements import Measurement, NoisyCounts
from auditor_client.estimation.posterior import estimate_parity
from auditor_client.estimation.results import RatioKind
from auditor_client.estimation.unknown_bounds import Bounds, Register, bounds
from auditor_client.estimation.unknown_figures import SetEstimate
from auditor_client.estimation.unknown_groups import unknown_people
from auditor_client.estimation.whole_people import DISTINCT_MAX, sharp_bounds
from pafer_demo.open_data import LOADERS
from shared.contract.schema import Group
from shared.privacy.noise import DiscreteLaplaceNoise

LEVEL: Final = 0.95
CHANCE: Final = 0.001
WRONG_MAX: Final = 0.05
THRESHOLD: Final = 0.8
EPSILONS: Final = (0.1, 1.0)
HIDDEN: Final = (0.03, 0.2)
"""Shares of people whose group is hidden."""
ODDS: Final = (1.0, 4.0)
"""By how much the odds of being hidden differ for the people of one group with one outcome; 1: at random."""
CLOSE: Final = 1e-9

Counts = NDArray[np.int64]
"""People by group and outcome, shape (K, 2): accepted and refused."""
SmallRegister = tuple[Counts, Counts, tuple[int, int]]
"""The accepted and the refused of each group, shape (K,) each, and the accepted and refused of unknown group."""


# Brute force


@cache
def allocations(people: int, groups: int) -> Counts:
    """Every way to divide people among groups, shape (N, K)."""
    if groups == 1:
        return np.array([[people]])
    parts = [
        np.column_stack([np.full(len(remaining), first), remaining])
        for first in range(people + 1)
        for remaining in (allocations(people - first, groups - 1),)
    ]
    return np.concatenate(parts)


def brute_force(accepted: Counts, refused: Counts, unknown: tuple[int, int]) -> tuple[float, ...]:
    """The worst and the best ratio, odds ratio and difference over all allocations; NaN where there is none."""
    groups = len(accepted)
    people = [counts + allocations(more, groups) for counts, more in zip((accepted, refused), unknown, strict=True)]
    first, second = people[0][:, None, :], people[1][None, :, :]
    with np.errstate(divide="ignore", invalid="ignore"):
        rates = first / (first + second)
        low, high = np.fmin.reduce(rates, axis=-1), np.fmax.reduce(rates, axis=-1)
        ratio = np.where(high > 0, low / high, np.nan)
        odds = np.where(high > 0, np.where(low == high, 1.0, low / (1 - low) * (1 - high) / high), np.nan)
        ends = [ratio, odds, high - low]
    worst = [np.fmin.reduce(ends[0], axis=None), np.fmin.reduce(ends[1], axis=None), np.fmax.reduce(ends[2], axis=None)]
    best = [np.fmax.reduce(ends[0], axis=None), np.fmax.reduce(ends[1], axis=None), np.fmin.reduce(ends[2], axis=None)]
    return tuple(map(float, (*worst, *best)))


def register_of(accepted: Counts, refused: Counts, unknown: tuple[int, int]) -> Register:
    """One block of groups that are all judged."""
    groups, (more, less) = len(accepted), (np.array([[float(people)]]) for people in unknown)
    known_people = accepted[:, None].astype(float), refused[:, None].astype(float)
    return Register(known_people[0], known_people[1], more, less, (0,) * groups, tuple(range(groups)))


def ends_of(limits: Bounds, index: int = 0) -> tuple[float, ...]:
    """The ends of one register in the order of `brute_force`."""
    worst = limits.ratio_worst, limits.odds_worst, limits.difference_worst
    return tuple(float(end[index]) for end in (*worst, limits.ratio_best, limits.odds_best, limits.difference_best))


def small_registers(groups: int, people: int) -> Iterator[SmallRegister]:
    """Every register of one to so many people, once for each order of its groups; somebody's group is unknown."""
    for size, unknown in itertools.product(range(1, people + 1), repeat=2):
        if unknown > size:
            continue
        for division in groups_in_order(groups, size - unknown):
            array = np.array(division)
            for accepted in range(unknown + 1):
                yield array[:, 0], array[:, 1], (accepted, unknown - accepted)


def groups_in_order(groups: int, people: int, last: tuple[int, int] | None = None) -> Iterator[list[tuple[int, int]]]:
    """People divided among groups and outcomes, each group no later in the order of pairs than the one before."""
    if groups == 0:
        if people == 0:
            yield []
        return
    for accepted, refused in itertools.product(range(people + 1), repeat=2):
        pair = accepted, refused
        if sum(pair) <= people and (last is None or pair <= last):
            yield from ([pair, *following] for following in groups_in_order(groups - 1, people - sum(pair), pair))


def differing(groups: int, people: int, workers: int = 1) -> tuple[int, list[str]]:
    """How many small registers there are, and those whose bounds differ from brute force."""
    batches = list(in_batches(small_registers(groups, people)))
    if workers == 1:
        found = list(map(differences, batches))
    else:
        with ProcessPoolExecutor(workers) as pool:
            found = list(pool.map(differences, batches))
    return sum(map(len, batches)), list(itertools.chain(*found))


def in_batches(registers: Iterator[SmallRegister]) -> Iterator[list[SmallRegister]]:
    """Yield as many registers together as bounds are made for at once."""
    while batch := list(itertools.islice(registers, DISTINCT_MAX)):
        yield batch


def differences(batch: Sequence[SmallRegister]) -> list[str]:
    """The registers of a batch whose bounds differ from brute force."""
    parts = [register_of(*register) for register in batch]
    accepted, refused, more, less = (
        np.hstack([getattr(part, name) for part in parts])
        for name in ("accepted", "refused", "unknown_accepted", "unknown_refused")
    )
    limits = sharp_bounds(Register(accepted, refused, more, less, parts[0].block, parts[0].judged))
    differ = []
    for index, register in enumerate(batch):
        expected, ends = brute_force(*register), ends_of(limits, index)
        if not np.allclose(ends, expected, rtol=0, atol=CLOSE, equal_nan=True):
            differ.append(f"{register}: {ends}, not {expected}")
    return differ


# Coverage


@dataclass(frozen=True, slots=True)
class Case:
    """One way to hide groups of a public data set, and one ε."""

    data: str
    column: str
    kind: RatioKind
    hidden: float
    odds: float
    epsilon: float
    seed: int

    def __str__(self) -> str:
        how = "at random" if self.odds == 1 else f"odds x {self.odds:g}"
        return f"{self.data:7}{self.column:11}{self.kind.name:8}{self.hidden:5.0%} {how:11} ε {self.epsilon:<5}"


@dataclass(frozen=True, slots=True)
class Result:
    """How often something held in the runs of a case; `given` verdicts, of which some are `wrong`."""

    case: Case
    runs: int
    ratio: int
    difference: int
    truth: int
    known_alone: int
    within: int
    given: int
    wrong: int
    open_for_unknown: int

    @property
    def fails(self) -> bool:
        """Whether an interval holds too seldom, or a verdict is wrong too often, by more than chance."""
        few = any(
            stats.binom.cdf(number, self.runs, LEVEL) < CHANCE
            for number in (self.ratio, self.difference, self.truth, self.within)
        )
        return few or bool(stats.binom.sf(self.wrong - 1, self.runs, WRONG_MAX) < CHANCE)

    def __str__(self) -> str:
        shares = (self.ratio, self.difference, self.truth, self.within, self.known_alone, self.given, self.wrong)
        line = "".join(f"{share / self.runs:8.1%}" for share in (*shares, self.open_for_unknown))
        return f"{self.case}{line}{'   FAILS' if self.fails else ''}"


@cache
def true_counts(data: str, column: str) -> tuple[tuple[Group, ...], Counts]:
    """The groups of a public data set by one column, and its people by group and label, taken as the decision."""
    loaded = LOADERS[data](None)
    values = loaded.test[column].to_pylist()
    label = np.array(loaded.test[loaded.label].to_pylist(), dtype=bool)
    names = sorted(set(values), key=str)
    masks = [np.array([value == name for value in values]) for name in names]
    counts = np.array([[int((mask & label).sum()), int((mask & ~label).sum())] for mask in masks])
    return tuple((name,) for name in names), counts


def hide(counts: Counts, case: Case, rng: np.random.Generator) -> Counts:
    """How many people of each group and outcome have their group hidden, shape (K, 2)."""
    chance = np.full(counts.shape, case.hidden)
    odds = case.odds * case.hidden / (1 - case.hidden)
    smallest = int(counts.sum(axis=1).argmin())
    chance[smallest, int(rng.integers(2))] = odds / (1 + odds)
    hidden: Counts = rng.binomial(counts, chance)
    return hidden


def true_factor(known_people: Counts, hidden: Counts) -> float:
    """The smallest factor in odds by which the hidden differ from the known; infinite where no factor says it."""
    factors = [1.0]
    for outcome, group in itertools.product(range(2), range(len(known_people))):
        of_known, of_hidden = known_people[:, outcome], hidden[:, outcome]
        parts = of_hidden[group], of_hidden.sum() - of_hidden[group], of_known[group], of_known.sum() - of_known[group]
        if of_hidden.sum() == 0:
            continue
        if parts[2] == 0 or parts[3] == 0:
            factors += [math.inf] if parts[0] * parts[3] != parts[1] * parts[2] else []
            continue
        odds = parts[0] * parts[3] / (parts[1] * parts[2]) if parts[1] else math.inf
        factors.append(max(odds, 1 / odds) if odds > 0 else math.inf)
    return max(factors)


def measured(case: Case, run: int) -> tuple[Measurement, Counts, Counts]:
    """The noisy answer of one run, and the true counts of the people who are known and who are hidden."""
    rng = np.random.default_rng((case.seed, run))
    groups, counts = true_counts(case.data, case.column)
    hidden = hide(counts, case, rng)
    answered = np.concatenate([counts - hidden, hidden.sum(axis=0)[None]])
    scale = 1 / case.epsilon
    tail = 1 - math.exp(-case.epsilon)
    noisy = answered + rng.geometric(tail, answered.shape) - rng.geometric(tail, answered.shape)
    noise = DiscreteLaplaceNoise(scale=scale)
    accepted, refused = (NoisyCounts.of([noisy[:, outcome].tolist()], noise) for outcome in range(2))
    answer = Measurement((*groups, (None,)), accepted, refused, "unfavourable", ratio_kind=case.kind)
    return answer, counts - hidden, hidden


def checked(task: tuple[Case, int]) -> Result:
    """What held in the runs of a case."""
    case, runs = task
    numbers = np.zeros(8, dtype=int)
    for run in range(runs):
        numbers += _held(case, run)
    return Result(case, runs, *numbers.tolist())


def _held(case: Case, run: int) -> NDArray[np.int64]:
    measurement, known_people, hidden = measured(case, run)
    # Draws of an order of their own for each run: else all runs would share the errors of one order.
    drawing = Drawing(number=1024, seed=run)
    people = unknown_people([measurement], "bounds", LEVEL, drawing)
    if people is None:
        raise AssertionError("Bounds that are asked for are made.")
    alone = estimate_parity(measurement, level=LEVEL, drawing=drawing, but=people.groups)
    sets_of_people = people.sets()
    ratio, difference = sets_of_people.estimates(math.inf)
    within, _ = sets_of_people.estimates(true_factor(known_people, hidden))
    verdict, adverse = ratio.against(THRESHOLD), case.kind.adverse
    side = slice(None, None, -1) if adverse else slice(None)
    (accepted, refused), (more, less) = known_people[:, side].T, hidden[:, side].sum(axis=0).tolist()
    register = register_of(accepted, refused, (more, less))
    sets, truth = bounds(register), _true_ratio(known_people[:, side] + hidden[:, side])
    true_verdict = Verdict.MEETS if truth >= THRESHOLD else Verdict.FAILS
    is_decided = verdict is not Verdict.UNDECIDED
    of_known = alone.ratio.reciprocal() if adverse else alone.ratio
    return np.array(
        [
            _holds_set(ratio, float(sets.ratio_worst[0]), float(sets.ratio_best[0])),
            _holds_set(difference, float(sets.difference_best[0]), float(sets.difference_worst[0])),
            _holds_set(ratio, truth, truth),
            of_known.low - CLOSE <= truth <= of_known.high + CLOSE,
            _holds_set(within, truth, truth),
            is_decided,
            is_decided and verdict is not true_verdict,
            not is_decided and ratio.reaches_across(THRESHOLD),
        ],
        dtype=np.int64,
    )


def _true_ratio(counts: Counts) -> float:
    rates = counts[:, 0] / counts.sum(axis=1)
    return float(rates.min() / rates.max())


def _holds_set(estimate: SetEstimate, low: float, high: float) -> bool:
    return bool(estimate.low <= low + CLOSE and high - CLOSE <= estimate.high)


def cases() -> Iterator[Case]:
    """Every case: incomes and credit are given, and risk scores are a burden."""
    columns = (
        ("adult", "sex", RatioKind.LOWEST),
        ("adult", "ethnicity", RatioKind.LOWEST),
        ("compas", "sex", RatioKind.HIGHEST),
        ("compas", "ethnicity", RatioKind.HIGHEST),
        ("german", "sex", RatioKind.LOWEST),
    )
    for column, hidden, odds, epsilon in itertools.product(columns, HIDDEN, ODDS, EPSILONS):
        yield Case(*column, hidden, odds, epsilon, 0)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the check; 1 if it fails."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--people", type=int, default=8)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--only", choices=("brute", "coverage"))
    options = parser.parse_args(arguments)
    failed = False
    if options.only != "coverage":
        for groups in range(2, 6):
            number, differ = differing(groups, options.people, options.workers)
            print(
                f"{groups} groups, at most {options.people} people: {number} registers, {len(differ)} differ",
                flush=True,
            )
            print(*differ[:5], sep="\n", end="\n" if differ else "")
            failed |= bool(differ)
    if options.only != "brute":
        heads = ("ratio", "differ.", "truth", "within Γ", "known", "given", "wrong", "unknown")
        print(f"{'':52}{''.join(f'{head:>8}' for head in heads)}")
        with ProcessPoolExecutor(options.workers) as pool:
            tasks = [(replace(case, seed=number), options.runs) for number, case in enumerate(cases())]
            for result in pool.map(checked, tasks):
                print(result, flush=True)
                failed |= result.fails
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
