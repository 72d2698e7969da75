"""What knowing numbers of people beforehand buys: error and width of the ratio, with and without (docs/estimates.md).

`python -m benchmarks.known_totals [--runs 400] [--registers 20]`

Each row is one register, or the mean over so many invented ones (2 to 16 groups of 1 to 5 000 people); each is released
`--runs` times by the holder's own mechanism with Laplace noise, strategy `verdict`, and every release is estimated with
the same answers and: nothing known; the groups' sizes within bounds of a tenth; exactly; the auditor's own supports;
supports and exact sizes.
"""

import argparse
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from auditor_client.estimation.drawing import Drawing
from auditor_client.estimation.many_releases import parity_ranges
from auditor_client.estimation.measurements import IntArray, SizeBounds
from auditor_client.estimation.totals import KnownTotals
from holder_service.mechanisms.laplace import LaplaceMechanism
from shared.privacy.amounts import parse_nano
from testing.invented.registers import Register
from testing.many_releases import released_totals
from testing.truths import holds, true_parity

CASES: Final = {
    "two of 250, ε = 0.1": ([125, 100], [250, 250], "0.1"),
    "two of 2 500, ε = 0.1": ([1_250, 1_000], [2_500, 2_500], "0.1"),
    "60 among 2 000, ε = 0.1": ([20, 1_000], [60, 2_000], "0.1"),
    "60 among 2 000, ε = 0.5": ([20, 1_000], [60, 2_000], "0.5"),
    "eight of 200, ε = 0.25": ([100] * 7 + [70], [200] * 8, "0.25"),
}
DRAWS: Final = 512


@dataclass(frozen=True, slots=True)
class Row:
    """Mean absolute error and width of the ratio, and the share of intervals that hold it."""

    known: str
    error: float
    width: float
    coverage: float


def measured(accepted: IntArray, sizes: IntArray, epsilon: str, runs: int) -> Iterator[Row]:
    """A row for each way of knowing, from the same answers about people of shape (K,)."""
    mechanism = LaplaceMechanism.calibrated(epsilon_nano=parse_nano(epsilon), sensitivity=1)
    refused, (true, _) = sizes - accepted, true_parity(accepted / sizes)
    answered = list(released_totals((accepted[None], refused[None]), mechanism, runs))
    tenth = np.ceil(sizes / 10).astype(np.int64) // 2
    exact, about = (
        SizeBounds(tuple(np.maximum(sizes - off, 0).tolist()), tuple((sizes + off).tolist()))
        for off in (0 * tenth, tenth)
    )
    known: dict[str, tuple[bool, SizeBounds | None]] = {
        "nothing": (False, None),
        "totals, 10 %": (False, about),
        "totals": (False, exact),
        "supports": (True, None),
        "supports, totals": (True, exact),
    }
    for name, (supported, bounds) in known.items():
        found = []
        for totals in answered:
            releases = len(totals.estimates[0])
            margins = KnownTotals(np.full(releases, accepted.sum()), np.full(releases, refused.sum()), len(sizes))
            known_here = replace(totals, known=margins if supported else None, bounds=bounds)
            found += [one.ratio for one in parity_ranges(known_here, level=0.95, drawing=Drawing(DRAWS))]
        errors, widths = np.array([(abs(one.value - true), one.width) for one in found]).T
        held = sum(holds(one, true) for one in found) / runs
        yield Row(name, float(np.nanmean(errors)), float(np.nanmean(widths)), held)


def invented(registers: int, runs: int) -> Iterator[Row]:
    """The mean over invented registers."""
    people = [Register.invented(seed, groups_max=16, people_min=1) for seed in range(registers)]
    rows = [list(measured(one.accepted, one.sizes, one.epsilon, runs)) for one in people]
    for of_known in zip(*rows, strict=True):
        means = (np.mean([getattr(row, name) for row in of_known]) for name in ("error", "width", "coverage"))
        yield Row(of_known[0].known, *map(float, means))


def main() -> None:
    """Print a table for each case."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--runs", type=int, default=400, help="releases of each register")
    parser.add_argument("--registers", type=int, default=20, help="how many invented registers")
    given = parser.parse_args()
    print(f"{'people':<28} {'known':<18} {'error':>7} {'width':>7} {'coverage':>8}")
    for name, (accepted, sizes, epsilon) in CASES.items():
        for row in measured(np.array(accepted), np.array(sizes), epsilon, given.runs):
            print(_line(name, row), flush=True)
    for row in invented(given.registers, given.runs):
        print(_line(f"{given.registers} invented registers", row), flush=True)


def _line(name: str, row: Row) -> str:
    return f"{name:<28} {row.known:<18} {row.error:>7.4f} {row.width:>7.4f} {row.coverage:>8.1%}"


if __name__ == "__main__":
    main()
