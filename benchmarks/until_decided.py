"""What a decision costs by looking until it is decided, beside independent answers and one planned beforehand.

`PAFER_DATA=… python -m benchmarks.until_decided [--runs 40] [--most 1.6] [--first 0.0125]`

The cases are the paper's nine analyses on open data and six invented registers of 2 to 8 groups, with strategy
`verdict` and the four-fifths rule. Each run draws a chain of answers, at looks that double from the first to the most,
by the holder's own mechanisms: discrete Laplace noise, and each finer noise from its law given the one before. Each
look is read as the client reads it, at its share of the error; the run ends where the verdict is decided, or at the
most.

*Refined* is the ε spent by that, on average. *Independent* is what answers at the same looks cost that are asked anew
and paid in full, read at the same shares. *Planned* is one answer, at 95 %, at the least look at which nine of ten
decide: for whoever knows beforehand which that is; "–" where none does. *Jointly* is how often the intervals of all
looks hold the truth, and *control* the same where each look takes the whole error.
"""

import argparse
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from auditor_client.estimation.drawing import Drawing
from auditor_client.estimation.estimates import Estimate, Verdict
from auditor_client.estimation.many_releases import parity_ranges
from auditor_client.estimation.measurements import IntArray
from auditor_client.estimation.totals import CountedTotals
from auditor_client.findings.looks import Looks
from benchmarks.accuracy import Case, published_cases
from holder_service.mechanisms.laplace import LaplaceMechanism
from holder_service.mechanisms.refining import FineNoise
from shared.privacy.amounts import NANO_PER_UNIT, Loss, parse_nano
from testing.truths import holds, is_wrong

LEVEL: Final = 0.95
THRESHOLD: Final = 0.8
DRAWS: Final = 2048
"""More than other benchmarks take: levels are higher here."""
GROUPS: Final = (2, 2, 3, 4, 6, 8)
"""Of the invented registers."""
PLANNED: Final = 0.9
"""How often the answer that is planned beforehand is to decide."""

Ranges = list[list[Estimate]]
"""Of each look the ratio in each run."""


@dataclass(frozen=True, slots=True)
class Row:
    """One case: ε on average over the runs, and shares of the runs."""

    name: str
    truth: float
    refined: float
    independent: float
    planned: float
    decided: float
    wrong: float
    joint: float
    control: float

    def __str__(self) -> str:
        planned = "–" if np.isnan(self.planned) else f"{self.planned:g}"
        return (
            f"| {self.name} | {self.truth:.3f} | {self.refined:.3f} | {self.independent:.3f} | "
            f"{self.refined / self.independent:.2f} | {planned} | {self.decided:.0%} | {self.wrong:.1%} | "
            f"{self.joint:.1%} | {self.control:.1%} |"
        )


HEADING: Final = (
    "| people | ratio | ε refined | ε independent | of it | ε planned | decided | wrong | jointly | control |\n"
    "|---|---|---|---|---|---|---|---|---|---|"
)


def invented_cases() -> list[Case]:
    """Registers of a few hundred to some thousands in each group, whose ratio is anywhere."""
    rng = np.random.default_rng(1)
    cases = []
    for number, groups in enumerate(GROUPS, start=1):
        sizes = np.exp(rng.uniform(np.log(300), np.log(5_000), groups)).astype(np.int64)
        accepted = rng.binomial(sizes, rng.uniform(0.3, 0.6, groups))
        cases.append(Case(f"invented {number}, {groups} groups", accepted[None], sizes))
    return cases


def mechanisms(looks: Looks) -> list[LaplaceMechanism]:
    """What answers each look."""
    return [LaplaceMechanism.calibrated(epsilon_nano=amount, sensitivity=1) for amount in looks.amounts]


def chained(counts: IntArray, looks: Looks, runs: int) -> list[IntArray]:
    """Answers that refine each other, one array of shape (runs, 2, K) for each look."""
    by = mechanisms(looks)
    noise = [np.array(by[0].release([0] * runs * counts.size)).reshape(runs, *counts.shape)]
    for coarse, fine in pairwise(by):
        law = FineNoise.between(coarse, fine)
        noise.append(np.array([law.draw(int(first)) for first in noise[-1].ravel()]).reshape(noise[-1].shape))
    return [counts + of_look for of_look in noise]


def independent(counts: IntArray, looks: Looks, runs: int) -> list[IntArray]:
    """Answers of the same noise that have nothing to do with each other."""
    noise = (np.array(by.release([0] * runs * counts.size)) for by in mechanisms(looks))
    return [counts + of_look.reshape(runs, *counts.shape) for of_look in noise]


def read(answers: Sequence[IntArray], looks: Looks, level: float, *, draws: int = DRAWS) -> Ranges:
    """Every look's ratios, as the client makes them."""
    found = []
    for answer, by in zip(answers, mechanisms(looks), strict=True):
        totals = CountedTotals.with_noise(
            answer[:, 0], answer[:, 1], (by.noise, by.noise), cells=(1, 1), complement_is="unfavourable"
        )
        found.append([one.ratio for one in parity_ranges(totals, level=level, drawing=Drawing(draws))])
    return found


def joint_share(ranges: Ranges, truth: float) -> float:
    """How often the intervals of all looks hold the truth."""
    return float(np.mean([all(holds(ratio, truth) for ratio in of_run) for of_run in zip(*ranges, strict=True)]))


def stops(ranges: Ranges) -> tuple[NDArray[np.intp], list[Verdict]]:
    """Of each run at which look it ends, and with which verdict."""
    verdicts = [[ratio.against(THRESHOLD) for ratio in of_run] for of_run in zip(*ranges, strict=True)]
    last = [
        next((look for look, one in enumerate(of_run) if one is not Verdict.UNDECIDED), len(of_run) - 1)
        for of_run in verdicts
    ]
    return np.array(last), [of_run[look] for of_run, look in zip(verdicts, last, strict=True)]


def measure(case: Case, looks: Looks, runs: int) -> Row:
    """One case's row."""
    counts = np.stack([case.accepted, case.sizes - case.accepted])
    epsilons = np.array(looks.amounts) / NANO_PER_UNIT
    answers = chained(counts, looks, runs)
    refined, alone = read(answers, looks, looks.each), read(answers, looks, LEVEL)
    last, verdicts = stops(refined)
    anew, _ = stops(read(independent(counts, looks, runs), looks, looks.each))
    deciding = [np.mean([one.against(THRESHOLD) is not Verdict.UNDECIDED for one in of_look]) for of_look in alone]
    planned = next((epsilon for epsilon, share in zip(epsilons, deciding, strict=True) if share >= PLANNED), np.nan)
    return Row(
        name=case.name,
        truth=case.ratio,
        refined=float(epsilons[last].mean()),
        independent=float(np.cumsum(epsilons)[anew].mean()),
        planned=float(planned),
        decided=float(np.mean([one is not Verdict.UNDECIDED for one in verdicts])),
        wrong=float(np.mean([is_wrong(one, case.ratio, THRESHOLD) for one in verdicts])),
        joint=joint_share(refined, case.ratio),
        control=joint_share(alone, case.ratio),
    )


def summary(rows: Sequence[Row]) -> str:
    """What holds of all cases."""

    def mean(name: str) -> float:
        return float(np.mean([getattr(row, name) for row in rows]))

    known = [row for row in rows if not np.isnan(row.planned)]
    beside = np.mean([row.refined for row in known]) / np.mean([row.planned for row in known])
    return (
        f"refined for {mean('refined') / mean('independent'):.2f} of the ε of independent answers (bar .6), "
        f"{max(row.refined / row.independent for row in rows):.2f} at most; {beside:.2f} times one planned answer's, "
        f"of {len(known)} cases; jointly {mean('joint'):.1%} (bar 93 %), at least "
        f"{min(row.joint for row in rows):.1%}; control {mean('control'):.1%}; wrong {mean('wrong'):.2%}"
    )


def main() -> None:
    """Print a row for each case, and what holds of all."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--runs", type=int, default=40, help="chains of each case")
    parser.add_argument("--most", default="1.6", help="the most ε")
    parser.add_argument("--first", help="the first look's ε; by default that of --until-decided")
    parser.add_argument("--workers", type=int, default=2, help="processes")
    given = parser.parse_args()
    first = None if given.first is None else parse_nano(given.first)
    looks = Looks.of(first, Loss(parse_nano(given.most)), LEVEL)
    print(
        f"{given.runs} runs, looks at ε = {', '.join(f'{nano / NANO_PER_UNIT:g}' for nano in looks.amounts)}\n{HEADING}"
    )
    rows = []
    with ProcessPoolExecutor(given.workers) as processes:
        for row in processes.map(
            partial(measure, looks=looks, runs=given.runs), [*published_cases(), *invented_cases()]
        ):
            rows.append(row)
            print(row, flush=True)
    print(summary(rows))


if __name__ == "__main__":
    main()
