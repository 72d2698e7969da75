"""Verdicts about the groups that are large enough: how often right, and how many more than about all groups (ADR 0032).

`python -m checks.verdicts_of_judged [--runs 2000] [--registers 200] [--first 0] [--workers 2]`

Registers are invented: 2 to 16 groups of 1 to 5 000 people, rates from nobody to everybody, one ε of .05 to .5, one
strategy. Rules are by turns 2 %; the true size of one of the groups, which so lies right at the cut; that of half of
the groups, which are alike; and 30 people, where there are three large groups and thirteen of one person. The truth is
that of the groups that are judged in the same release. A line is about all groups or about those judged. It has the
least and the mean coverage of the ratio, how many releases end undecided about the threshold of .8, in how many the
verdict is wrong, in the mean and at most, and in which register intervals hold least. A ratio that does not exist is
undecided. The check fails if a register's coverage is below 93 %, or its share of wrong verdicts above 5 %, by more
than chance (p < 0.001, binomial).
"""

import argparse
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from auditor_client.estimation.drawing import LATEST
from auditor_client.estimation.estimates import Verdict
from auditor_client.estimation.many_releases import ParityRange, parity_ranges
from checks.coverage import BAR, CHANCE, LEVEL, Task, totals_of_releases
from testing.invented.registers import Register, judged_register
from testing.truths import holds, is_wrong

THRESHOLD: Final = 0.8
WRONG_MAX: Final = 0.05
KINDS: Final = ("2 %", "one at the cut", "half at the cut", "single people")


@dataclass(frozen=True, slots=True)
class Verdicts:
    """Shares of one register's releases, with all groups and with those that are large enough, shape (2,) each.

    `holding` are the intervals that hold the truth; `judged` is how many of the groups are judged.
    """

    seed: int
    runs: int
    groups: int
    rule: str
    holding: NDArray[np.float64]
    undecided: NDArray[np.float64]
    wrong: NDArray[np.float64]
    judged: float

    @property
    def fails(self) -> bool:
        """Whether too few intervals hold or too many verdicts are wrong, by more than chance, over any groups."""
        holding, wrong = (np.rint(self.runs * share) for share in (self.holding, self.wrong))
        few = stats.binom.cdf(holding, self.runs, BAR) < CHANCE
        many = stats.binom.sf(wrong - 1, self.runs, WRONG_MAX) < CHANCE
        return bool((few | many).any())


def verdicts(task: Task) -> Verdicts:
    """All that is measured of one register."""
    register, rule = judged_register(task.seed)
    found: list[list[tuple[bool, bool, bool]]] = [[], []]
    judged = []
    for totals in totals_of_releases(register, task):
        over_all, among = (
            parity_ranges(totals, level=LEVEL, drawing=task.drawing(), rule=asked) for asked in (None, rule)
        )
        for outcomes, ranges in zip(found, (over_all, among), strict=True):
            outcomes.extend(_outcome(register, one) for one in ranges)
        judged += [len(one.groups) for one in among]
    holding, undecided, wrong = np.array(found).mean(axis=1).T
    kind = KINDS[task.seed % len(KINDS)]
    return Verdicts(task.seed, task.runs, len(register.sizes), kind, holding, undecided, wrong, float(np.mean(judged)))


def _outcome(register: Register, judged: ParityRange) -> tuple[bool, bool, bool]:
    """Whether one release's interval holds the truth, its verdict is undecided, and it is wrong."""
    ratio, truth = judged.ratio, register.truth(judged.groups)[0]
    verdict = ratio.against(THRESHOLD)
    return holds(ratio, truth), verdict is Verdict.UNDECIDED, is_wrong(verdict, truth, THRESHOLD)


def lines(found: list[Verdicts]) -> Iterator[str]:
    """Two of every kind of rule, and of all registers: over all groups, and over those that are large enough."""
    names = ("least", "mean", "undecided", "wrong", "most", "worst")
    yield f"{'rule':<16} {'over':<6} {'of':>4} {'groups':>6} {'{:>7} {:>7} {:>9} {:>6} {:>6} {:>6}'.format(*names)}"
    for rule in (*dict.fromkeys(one.rule for one in found), "any"):
        of_rule = [one for one in found if rule in (one.rule, "any")]
        for index, over in enumerate(("all", "judged")):
            holding, undecided, wrong = (
                np.array([getattr(one, name)[index] for one in of_rule]) for name in ("holding", "undecided", "wrong")
            )
            groups = np.mean([one.judged if index else one.groups for one in of_rule])
            yield (
                f"{rule:<16} {over:<6} {len(of_rule):>4} {groups:6.1f} {holding.min():7.1%} {holding.mean():7.1%} "
                f"{undecided.mean():9.1%} {wrong.mean():6.2%} {wrong.max():6.2%} {of_rule[holding.argmin()].seed:>6}"
            )


def main(given: Sequence[str] | None = None) -> None:
    """Print the table.

    Raises:
        SystemExit: Some register is beyond a bar by more than chance.
    """
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--runs", type=int, default=200, help="releases of each register; the bars are for 2 000")
    parser.add_argument("--registers", type=int, default=200, help="how many registers")
    parser.add_argument("--first", type=int, default=0, help="the number of the first register")
    parser.add_argument("--edition", type=int, default=LATEST, help="of the estimator")
    parser.add_argument("--workers", type=int, default=2, help="processes")
    arguments = parser.parse_args(given)
    with ProcessPoolExecutor(arguments.workers) as processes:
        seeds = range(arguments.first, arguments.first + arguments.registers)
        tasks = [Task(seed, arguments.runs, edition=arguments.edition) for seed in seeds]
        found = list(processes.map(verdicts, tasks, chunksize=2))
    for line in lines(found):
        print(line)
    failing = [str(one.seed) for one in found if one.fails]
    if failing:
        raise SystemExit(f"Beyond a bar by more than chance: registers {', '.join(failing)}.")


if __name__ == "__main__":
    main()
