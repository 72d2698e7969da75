"""Errors, coverage and verdicts of our estimates and of the paper's own procedure, in the same run (3-estimation §4).

`python -m benchmarks.accuracy [--runs 2000] [--part published|grid] [--judged 2%] [--workers 2]`

The cases are the nine analyses of the published trees on the open data, counted by the holder's own
code, and a grid of small groups that are treated unfairly among thousands of other people. Each case at each ε
is released `--runs` times by the holder's mechanism: once for strategy `verdict` and the posterior, once
for strategy `pafer` and the paper's procedure (`uniform` policies, exact supports). A run costs some one
to two milliseconds, so 2 000 of each take about five minutes on two idle cores; the default takes one.

Errors are mean absolute errors of the SP ratio over the runs (AASPE). *Wrong* is the share of all runs whose verdict
on the four-fifths rule contradicts the truth, *wrong of given* their share of the verdicts other than undecided.
With `--judged` ours are about the groups that are shown to be so large, and so is the truth, release by release; a
ratio of fewer than two groups does not exist, and is undecided. The paper's procedure has no such rule.
"""

import argparse
import math
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from auditor_client.asking.inquiry import EVERYBODY
from auditor_client.estimation.drawing import EDITIONS, LATEST, Drawing
from auditor_client.estimation.estimates import Verdict
from auditor_client.estimation.many_releases import ParityRange, parity_ranges
from auditor_client.estimation.measurements import IntArray, Supports
from auditor_client.estimation.plug_in import Policy, plug_in_counts
from auditor_client.estimation.size_rule import SizeRule
from benchmarks.published_trees import PUBLISHED_TREES, PublishedTree
from holder_service.domain.disjointness import disjoint_classes
from holder_service.mechanisms.laplace import LaplaceMechanism
from holder_service.records.counting import count_cells
from shared.contract.rules import Cell
from shared.privacy.amounts import parse_nano
from testing.many_releases import released, released_totals
from testing.truths import holds, is_wrong, true_parity

EPSILONS: Final = ("0.05", "0.1", "0.15", "0.25", "0.5")
THRESHOLD: Final = 0.8
LEVEL: Final = 0.95
DRAWS: Final = 512

GRID_SMALL_GROUPS: Final = (12, 20, 40, 60)
GRID_PARITIES: Final = (0.3, 0.5, 0.7)
GRID_OTHER_GROUPS: Final[dict[int, tuple[tuple[int, float], ...]]] = {
    2: ((5000, 0.5),),
    4: ((1500, 0.48), (2500, 0.46), (4000, 0.5)),
}
"""Sizes and acceptance rates of the groups other than the small one, by K."""


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """A tree and people, and so a true SP.

    Attributes:
        name: Of the analysis.
        favourable: True histograms of the favourable rules, shape (R, K), in people.
        sizes: True sizes of the groups, shape (K,), in people.
    """

    name: str
    favourable: IntArray
    sizes: IntArray

    @property
    def accepted(self) -> IntArray:
        """True numbers of accepted people, shape (K,)."""
        accepted: IntArray = self.favourable.sum(axis=0)
        return accepted

    @property
    def ratio(self) -> float:
        """The true SP."""
        return true_parity(self._rates)[0]

    @property
    def difference(self) -> float:
        """The true difference of the largest and the smallest rate."""
        return true_parity(self._rates)[1]

    def truth(self, groups: Sequence[int]) -> tuple[float, float]:
        """The true ratio and difference of some groups; NaN of fewer than two."""
        return true_parity(self._rates[list(groups)]) if len(groups) > 1 else (math.nan, math.nan)

    @property
    def _rates(self) -> NDArray[np.float64]:
        rates: NDArray[np.float64] = self.accepted / self.sizes
        return rates


@dataclass(frozen=True, slots=True)
class Row:
    """The results of one case's runs at one ε; errors and widths in units of SP, the rest shares of runs."""

    name: str
    epsilon: str
    truth: float
    published_error: float
    error: float
    coverage: float
    difference_coverage: float
    width: float
    wrong: float
    undecided: float

    @property
    def gain(self) -> float:
        """How many times lower our error is."""
        return self.published_error / self.error

    def __str__(self) -> str:
        given = 1 - self.undecided
        return (
            f"{self.name:<28} {self.epsilon:>5} {self.truth:7.4f} {self.published_error:8.4f} {self.error:8.4f} "
            f"{self.gain:6.2f} {self.coverage:8.1%} {self.difference_coverage:8.1%} {self.width:7.4f} "
            f"{self.wrong:7.2%} {self.wrong / given if given else 0:7.2%} {self.undecided:9.1%}"
        )


HEADING: Final = (
    f"{'case':<28} {'ε':>5} {'SP':>7} {'paper':>8} {'ours':>8} {'times':>6} {'coverage':>8} {'of diff.':>8} "
    f"{'width':>7} {'wrong':>7} {'of giv.':>7} {'undecided':>9}"
)


def published_cases() -> list[Case]:
    """The nine analyses of the paper's experiment 1, on the test parts of the open data."""
    with tempfile.TemporaryDirectory() as folder:
        return [case for published in PUBLISHED_TREES for case in _counted(published, Path(folder))]


def grid_cases() -> list[Case]:
    """Small groups that are accepted at .3, .5 and .7 of the others' rate; a tree of three favourable rules."""
    cases = []
    for groups, others in GRID_OTHER_GROUPS.items():
        for size in GRID_SMALL_GROUPS:
            for parity in GRID_PARITIES:
                sizes = np.array([size, *(people for people, _ in others)])
                rates = np.array([parity * max(rate for _, rate in others), *(rate for _, rate in others)])
                accepted = np.round(sizes * rates).astype(np.int64)
                favourable = np.stack([accepted // 3, accepted // 3, accepted - 2 * (accepted // 3)])
                cases.append(Case(f"grid K={groups} n={size} {parity}", favourable, sizes))
    return cases


def measure(case: Case, epsilon: str, runs: int, edition: int = LATEST, rule: SizeRule | None = None) -> Row:
    """Release a case many times either way, and estimate each; ours of the groups that a rule leaves in."""
    found = list(_posterior_ranges(case, parse_nano(epsilon), runs, edition, rule))
    ratios = [of.ratio for of in found]
    verdicts = [ratio.against(THRESHOLD) for ratio in ratios]
    truths = [case.truth(of.groups) for of in found]
    judged = list(zip(found, verdicts, truths, strict=True))
    published = _published_ratios(case, parse_nano(epsilon), runs)
    return Row(
        name=case.name,
        epsilon=epsilon,
        truth=case.ratio,
        # An undefined ratio (nobody accepted, or fewer than two groups) is no estimate, so it is no error either.
        published_error=_mean([abs(ratio - case.ratio) for ratio in published]),
        error=_mean([abs(of.ratio.value - ratio) for of, _, (ratio, _) in judged]),
        coverage=sum(holds(of.ratio, ratio) for of, _, (ratio, _) in judged) / runs,
        difference_coverage=sum(holds(of.difference, difference) for of, _, (_, difference) in judged) / runs,
        width=_mean([ratio.width for ratio in ratios]),
        wrong=sum(is_wrong(verdict, ratio, THRESHOLD) for _, verdict, (ratio, _) in judged) / runs,
        undecided=verdicts.count(Verdict.UNDECIDED) / runs,
    )


def _mean(values: Sequence[float]) -> float:
    """Of those that there are; NaN of none."""
    there = [value for value in values if not math.isnan(value)]
    return sum(there) / len(there) if there else math.nan


def _posterior_ranges(
    case: Case, epsilon_nano: int, runs: int, edition: int, rule: SizeRule | None
) -> Iterator[ParityRange]:
    """What the posterior makes of strategy `verdict`."""
    mechanism = LaplaceMechanism.calibrated(epsilon_nano=epsilon_nano, sensitivity=1)
    parts = case.accepted[None], (case.sizes - case.accepted)[None]
    for totals in released_totals(parts, mechanism, runs):
        yield from parity_ranges(totals, level=LEVEL, drawing=Drawing(DRAWS, edition=EDITIONS[edition]), rule=rule)


def _published_ratios(case: Case, epsilon_nano: int, runs: int) -> NDArray[np.float64]:
    """The paper's procedure on its own strategy `pafer`, shape (runs,)."""
    halves = epsilon_nano // 2, epsilon_nano - epsilon_nano // 2
    everybody, favourable = (
        released(LaplaceMechanism.calibrated(epsilon_nano=half, sensitivity=1), counts, runs)
        for half, counts in zip(halves, (case.sizes[None, :], case.favourable), strict=True)
    )
    supports = Supports(tuple(case.favourable.sum(axis=1).tolist()), (int(case.sizes.sum()),))
    policy = Policy("uniform", "uniform")
    return plug_in_counts(favourable, everybody, "everybody", supports=supports, policy=policy).ratio()


def _counted(published: PublishedTree, folder: Path) -> Iterator[Case]:
    records, schema = published.opened(folder)
    rules = [rule.rule for rule in published.tree.merged().rules() if rule.favourable]
    cells = [EVERYBODY, *(Cell(id=f"rule-{number}", any_of=(rule,)) for number, rule in enumerate(rules))]
    for sensitive in published.parity:
        counts = count_cells(records, cells, disjoint_classes(cells, schema), sensitive).reveal_to_mechanism()
        yield Case(f"{published.dataset} {'-'.join(sensitive)}", counts[1:], counts[0])


def _summary(rows: Sequence[Row], *, gain_least: float, gain_mean: float) -> Iterator[str]:
    gains = [row.gain for row in rows if not math.isnan(row.gain)]
    mean = math.exp(float(np.log(gains).mean()))
    covered = [row for row in rows if row.name.startswith(("adult", "compas")) and float(row.epsilon) >= 0.15]
    yield f"error: {mean:.2f} times lower in the geometric mean (bar {gain_mean}), {min(gains):.2f} at worst" + (
        f" (bar {gain_least})" if gain_least else ""
    )
    least = min(row.coverage for row in rows), min(row.difference_coverage for row in rows)
    yield f"coverage: at least {least[0]:.1%}, of the difference {least[1]:.1%} (bar 93 %)" + (
        f"; Adult and COMPAS at ε ≥ .15 at most {max(row.coverage for row in covered):.1%} (bar 98.5 %)"
        if covered
        else ""
    )
    yield f"wrong verdicts: at most {max(row.wrong for row in rows):.2%} of all runs (bar 5 %)"
    undecided, wrong = (np.mean([getattr(row, share) for row in rows]) for share in ("undecided", "wrong"))
    yield f"mean of the rows: {undecided:.1%} undecided, {wrong:.2%} wrong"


def main() -> None:
    """Print a row for each case and ε, and compare them with the bars."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--runs", type=int, default=300, help="releases of each case at each ε; the bars are for 2 000")
    parser.add_argument("--part", choices=("published", "grid"), help="one of the two parts; by default both")
    parser.add_argument("--edition", type=int, default=LATEST, help="of the estimator")
    parser.add_argument("--judged", type=SizeRule.of, help="how large a group is to be that ours judge, such as 2%%")
    parser.add_argument("--workers", type=int, default=2, help="processes")
    arguments = parser.parse_args()
    parts = {"published": (published_cases, 1.5, 6.0), "grid": (grid_cases, 0.0, 2.0)}
    with ProcessPoolExecutor(arguments.workers) as processes:
        for name, (cases, gain_least, gain_mean) in parts.items():
            if arguments.part not in (None, name):
                continue
            print(f"\n{name}: {arguments.runs} runs of each row\n{HEADING}")
            settings = [(case, epsilon) for case in cases() for epsilon in EPSILONS]
            rows = []
            measured = partial(measure, runs=arguments.runs, edition=arguments.edition, rule=arguments.judged)
            for row in processes.map(measured, *zip(*settings, strict=True)):
                rows.append(row)
                print(row, flush=True)
            print(*_summary(rows, gain_least=gain_least, gain_mean=gain_mean), sep="\n")


if __name__ == "__main__":
    main()
