"""What changes from one model to another: one question about both, beside two audits at half of ε each.

`python -m benchmarks.comparisons [--runs 200] [--cases "adult sex:"]`

The models are the paper's trees on the open data (`benchmarks.published_trees`), each beside the same tree with one
leaf's decision reversed, leaf by leaf, and beside its first test alone; by every grouping of the paper. The cells are
counted by the holder's own code and released by its Laplace mechanism. A row has the true change of the ratio; how
often the 95 % intervals hold it, their mean width and the mean absolute error of their values, of one question and of
two audits whose changes are compared by variance recovery (`estimation.comparison`). Below the rows stand, for every
analysis, data set and all of them, geometric means of the width and the error over those of two audits, and the least
and the mean coverage of one question.
"""

import argparse
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from auditor_client.asking.crossing import crossed_rules
from auditor_client.estimation.comparison import change_of
from auditor_client.estimation.drawing import Drawing
from auditor_client.estimation.estimates import Estimate
from auditor_client.estimation.many_releases import parity_ranges
from auditor_client.estimation.measurements import IntArray
from auditor_client.models.tree import Branch, Leaf, Node, Tree
from benchmarks.published_trees import PUBLISHED_TREES, PublishedTree
from holder_service.domain.disjointness import disjoint_classes
from holder_service.mechanisms.laplace import LaplaceMechanism
from holder_service.records.counting import count_cells
from shared.contract.rules import Cell
from shared.privacy.amounts import parse_nano
from testing.invented.pairs import DECISIONS, PairRegister
from testing.many_releases import released_changes, released_totals
from testing.truths import holds

EPSILONS: Final = ("0.1", "0.25", "0.5")
NARROW: Final = 0.3
REVERSED: Final = "reversed"
LEVEL: Final = 0.95
DRAWS: Final = 1024


@dataclass(frozen=True, slots=True, eq=False)
class Measured:
    """One way's intervals of one case at one ε."""

    coverage: float
    width: float
    error: float

    @classmethod
    def of(cls, changes: Sequence[Estimate], truth: float) -> "Measured":
        """Of every run's change."""
        errors, widths = np.array([(abs(one.value - truth), one.width) for one in changes]).T
        held = sum(holds(one, truth) for one in changes) / len(changes)
        return cls(held, float(np.nanmean(widths)), float(np.nanmean(errors)))


@dataclass(frozen=True, slots=True, eq=False)
class Row:
    """One case at one ε, asked either way: of a data set and grouping, beside another model."""

    analysis: str
    other: str
    together: Measured
    apart: Measured


def cases() -> Iterator[tuple[str, str, IntArray]]:
    """Analysis, what its tree is compared with, and true counts of both decisions, shape (4, K)."""
    with tempfile.TemporaryDirectory() as folder:
        for published in PUBLISHED_TREES:
            yield from _counted(published, Path(folder))


def together(register: PairRegister, runs: int) -> list[Estimate]:
    """The change of the ratio by one question at the whole of ε."""
    mechanism = LaplaceMechanism.calibrated(epsilon_nano=parse_nano(register.epsilon), sensitivity=1)
    return [one.ratio for one in released_changes(register, mechanism, runs, level=LEVEL, draws=DRAWS)]


def apart(register: PairRegister, runs: int) -> list[Estimate]:
    """The change of the ratio by two audits, each at half of ε."""
    mechanism = LaplaceMechanism.calibrated(epsilon_nano=parse_nano(register.epsilon) // 2, sensitivity=1)
    audits = []
    for sides in DECISIONS:
        accepted, refused = (register.cells[list(part)].sum(axis=0) for part in (sides.accepted, sides.refused))
        answered = released_totals((accepted[None], refused[None]), mechanism, runs)
        audits.append(
            [one for totals in answered for one in parity_ranges(totals, level=LEVEL, drawing=Drawing(DRAWS))]
        )
    return [change_of(after.ratio, before.ratio) for before, after in zip(*audits, strict=True)]


def _counted(published: PublishedTree, folder: Path) -> Iterator[tuple[str, str, IntArray]]:
    records, schema = published.opened(folder)
    for name, other in _others(published.tree):
        crossed = crossed_rules(published.tree.merged().rules(), other.merged().rules(), schema)
        asked = {decisions: rules for decisions, rules in crossed.items() if rules}
        cells = [Cell(id=str(decisions), any_of=rules) for decisions, rules in asked.items()]
        for sensitive in published.parity:
            counts = count_cells(records, cells, disjoint_classes(cells, schema), sensitive).reveal_to_mechanism()
            found = dict(zip(asked, counts, strict=True))
            none = np.zeros_like(counts[0])
            cells_of_both = np.stack([found.get(one, none) for one in crossed])
            yield f"{published.dataset} {'-'.join(sensitive)}", name, cells_of_both


def _others(tree: Tree) -> Iterator[tuple[str, Tree]]:
    """The same tree with one leaf's decision reversed; and its first test alone."""
    for rule in tree.rules():
        yield f"{rule.leaf.id} {REVERSED}", Tree(_reversed(tree.root, rule.leaf))
    if not isinstance(tree.root, Leaf):
        leaves = [Leaf("yes", "accepted", favourable=True), Leaf("no", "refused", favourable=False)]
        branches = zip(tree.root.branches, leaves, strict=True)
        stump = tuple(Branch(branch.predicates, leaf) for branch, leaf in branches)
        yield "first test alone", Tree(type(tree.root)(tree.root.id, stump))


def _reversed(node: Node, leaf: Leaf) -> Node:
    if isinstance(node, Leaf):
        return Leaf(node.id, node.decision, not node.favourable) if node is leaf else node
    branches = tuple(Branch(branch.predicates, _reversed(branch.child, leaf)) for branch in node.branches)
    return type(node)(node.id, branches)


def _mean(values: Sequence[float]) -> float:
    positive: NDArray[np.float64] = np.array([value for value in values if 0 < value < np.inf])
    return float(np.exp(np.log(positive).mean()))


def summary(rows: Sequence[Row]) -> Iterator[str]:
    """A line for every analysis, every data set, some of them together, and all rows."""
    by_name: dict[str, list[Row]] = {}
    for row in rows:
        by_name.setdefault(row.analysis, []).append(row)
    for row in rows:
        by_name.setdefault(row.analysis.split()[0], []).append(row)
    by_name["adult and compas"] = [row for row in rows if row.analysis.startswith(("adult", "compas"))]
    by_name[f"one leaf {REVERSED}, two audits' interval below {NARROW}"] = [
        row for row in rows if row.other.endswith(REVERSED) and row.apart.width < NARROW
    ]
    by_name["all"] = list(rows)
    yield f"{'rows':<58} {'of':>5} {'width':>7} {'error':>7} {'least':>8} {'mean':>8}"
    for name, of_name in ((name, of_name) for name, of_name in by_name.items() if of_name):
        width = _mean([row.together.width / row.apart.width for row in of_name])
        error = _mean([row.together.error / row.apart.error for row in of_name])
        held = [row.together.coverage for row in of_name]
        yield f"{name:<58} {len(held):>5} {width:>7.2f} {error:>7.2f} {min(held):>8.1%} {np.mean(held):>8.1%}"


def main() -> None:
    """Print a row for each case and ε, and the geometric means."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--runs", type=int, default=200, help="releases of each case at each ε, either way")
    parser.add_argument("--cases", default="", help="only rows whose name has this in it")
    arguments = parser.parse_args()
    print(f"{'case':<58} {'ε':>5} {'change':>7}  {'one question':>21}  {'two audits':>21}")
    rows: list[Row] = []
    chosen = (
        (analysis, other, counts) for analysis, other, counts in cases() if arguments.cases in f"{analysis}: {other}"
    )
    for analysis, other, counts in chosen:
        for epsilon in EPSILONS:
            register = PairRegister(counts, epsilon, "")
            truth, _ = register.change()
            if np.isnan(truth):
                continue
            answers = together(register, arguments.runs), apart(register, arguments.runs)
            row = Row(analysis, other, *(Measured.of(changes, truth) for changes in answers))
            rows.append(row)
            either = "  ".join(
                f"{one.coverage:7.1%} {one.width:6.3f} {one.error:6.3f}" for one in (row.together, row.apart)
            )
            print(f"{f'{analysis}: {other}':<58} {epsilon:>5} {truth:7.3f}  {either}", flush=True)
    print(*summary(rows), sep="\n")


if __name__ == "__main__":
    main()
