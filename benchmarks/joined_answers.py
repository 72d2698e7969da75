"""Several answers joined, beside one at the whole of ε and beside the best of them alone (docs/estimates.md).

`python -m benchmarks.joined_answers [--runs 400] [--registers 40] [--part invented|open]`

A row is one way of spending ε on the ratio of statistical parity, strategy `verdict`: one answer at all of it; two and
four draws at a half and a quarter, joined; one of these alone, which is what was read before answers were joined; and
an answer of each mechanism at a half, joined. Errors and widths are means over so many invented registers (2 to 16
groups of 1 to 5 000 people, ε as they have it), or over the paper's nine analyses of open data at three ε, each
released `--runs` times by the holder's own mechanisms; coverage is the least of them and the mean, at 95 %.
"""

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from auditor_client.estimation.drawing import Drawing
from auditor_client.estimation.estimates import Verdict
from auditor_client.estimation.many_releases import ParityRange, parity_ranges
from auditor_client.estimation.measurements import IntArray
from benchmarks.accuracy import published_cases
from shared.privacy.amounts import parse_nano
from testing.invented.registers import Register
from testing.many_releases import additive, released_totals
from testing.truths import holds, is_wrong, true_parity

EPSILONS: Final = ("0.1", "0.25", "0.5")
THRESHOLD: Final = 0.8
LEVEL: Final = 0.95
DRAWS: Final = 512
LAPLACE: Final = 0
GAUSSIAN: Final = 1
"""What `testing.many_releases.additive` makes of a number."""
WAYS: Final[dict[str, tuple[tuple[int, int], ...]]] = {
    "one at ε": ((LAPLACE, 1),),
    "two at ε/2, joined": ((LAPLACE, 2),) * 2,
    "four at ε/4, joined": ((LAPLACE, 4),) * 4,
    "one of two at ε/2": ((LAPLACE, 2),),
    "one of four at ε/4": ((LAPLACE, 4),),
    "Gaussian: one at ε": ((GAUSSIAN, 1),),
    "Gaussian: two at ε/2, joined": ((GAUSSIAN, 2),) * 2,
    "Gaussian: four at ε/4, joined": ((GAUSSIAN, 4),) * 4,
    "one of each at ε/2, joined": ((LAPLACE, 2), (GAUSSIAN, 2)),
}
"""The kind of noise of each answer, and which part of ε it spends."""


@dataclass(frozen=True, slots=True)
class Measured:
    """One way's figures of one case: means over its releases, and shares of them."""

    error: float
    width: float
    coverage: float
    undecided: float
    wrong: float

    @classmethod
    def of(cls, found: Sequence[ParityRange], truth: float) -> "Measured":
        """Of every release's ratio; one that is undefined claims all of [0, 1]."""
        ratios = [one.ratio for one in found]
        claims = np.array([(one.value, one.low, one.high) if one.defined else (0.5, 0, 1) for one in ratios])
        verdicts = [one.against(THRESHOLD) for one in ratios]
        return cls(
            error=float(np.abs(claims[:, 0] - truth).mean()),
            width=float((claims[:, 2] - claims[:, 1]).mean()),
            coverage=float(np.mean([holds(one, truth) for one in ratios])),
            undecided=float(np.mean([verdict is Verdict.UNDECIDED for verdict in verdicts])),
            wrong=float(np.mean([is_wrong(verdict, truth, THRESHOLD) for verdict in verdicts])),
        )


def measured(accepted: IntArray, sizes: IntArray, epsilon: str, runs: int) -> dict[str, Measured]:
    """Every way's figures of one case, of people of shape (K,)."""
    truth, _ = true_parity(accepted / sizes)
    parts = accepted[None], (sizes - accepted)[None]
    found: dict[str, Measured] = {}
    for way, asked in WAYS.items():
        answers = (released_totals(parts, additive(kind, parse_nano(epsilon) // part), runs) for kind, part in asked)
        ranges: list[ParityRange] = []
        for first, *others in zip(*answers, strict=True):
            joined = first.joined(others) if others else first
            ranges += parity_ranges(joined, level=LEVEL, drawing=Drawing(DRAWS))
        found[way] = Measured.of(ranges, truth)
    return found


def _invented(registers: int, runs: int) -> Iterator[dict[str, Measured]]:
    for seed in range(registers):
        register = Register.invented(seed, groups_max=16, people_min=1)
        yield measured(register.accepted, register.sizes, register.epsilon, runs)


def _open_data(runs: int) -> Iterator[dict[str, Measured]]:
    for case in published_cases():
        for epsilon in EPSILONS:
            yield measured(case.accepted, case.sizes, epsilon, runs)


def _table(title: str, cases: Sequence[dict[str, Measured]]) -> Iterator[str]:
    yield f"{title:<30} {'error':>7} {'width':>7} {'least':>7} {'mean':>7} {'undec.':>7} {'wrong':>7} {'at most':>7}"
    for way in WAYS:
        rows = [case[way] for case in cases]
        error, width, coverage, undecided, wrong = (
            float(np.nanmean([getattr(row, name) for row in rows]))
            for name in ("error", "width", "coverage", "undecided", "wrong")
        )
        least, most = min(row.coverage for row in rows), max(row.wrong for row in rows)
        figures = f"{error:7.4f} {width:7.4f} {least:7.1%} {coverage:7.1%} {undecided:7.1%} {wrong:7.2%} {most:7.2%}"
        yield f"{way:<30} {figures}"


def main() -> None:
    """Print a table for the invented registers and one for the open data."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--runs", type=int, default=400, help="releases of each case, each way")
    parser.add_argument("--registers", type=int, default=40, help="how many invented registers")
    parser.add_argument("--part", choices=("invented", "open"), help="one table alone")
    given = parser.parse_args()
    if given.part != "open":
        cases = list(_invented(given.registers, given.runs))
        print(*_table(f"{len(cases)} invented registers", cases), sep="\n", flush=True)
    if given.part != "invented":
        cases = list(_open_data(given.runs))
        print(*_table(f"{len(cases)} cases of open data", cases), sep="\n", flush=True)


if __name__ == "__main__":
    main()
