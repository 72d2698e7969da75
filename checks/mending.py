"""How often a tree that is said to be mended is so on the true counts (7-training §2, `relabel`).

`python -m checks.mending [--registers 40] [--runs 50] [--first 0] [--workers 2]`

Trees are invented: 3 to 16 leaves, 2 to 4 groups of 100 to 20 000 people, a wanted ratio of .7 to .9. Each is released
`--runs` times by the holder's own mechanism, Laplace or Gaussian, at an ε of .1 to 1, and mended by what was released.
*said* is how often the wanted ratio was said to be met, *true* how often that was so, *least* that of the worst tree of
which it was said ten times or more, *wrong* the most of one tree's releases in which it was said and was not so. The
intervals of ratio and accuracy after mending are held to the truth of the decisions that were picked.

Two faults are planted. *by the counts alone*: decisions are taken for enough if the noisy counts say so. *as for one
choice*: by a bound of 1.96 standard deviations, which would do for decisions that were fixed beforehand. The first has
to be caught. The check fails if the statement is true in less than 95 % by more than chance (p < 10⁻⁶, binomial), in
all releases or, as wrong statements, in more than 5 % of a single tree's; or if the planted fault is not seen.
"""

import argparse
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np
from scipy import stats

from auditor_client.estimation.leaf_choices import ChoiceBounds, LeafCounts
from auditor_client.estimation.mending import cheapest
from shared.privacy.amounts import parse_nano
from testing.invented.leaves import InventedLeaves
from testing.many_releases import additive, released
from testing.truths import ROUNDING, holds

LEVEL: Final = 0.95
CHANCE: Final = 1e-6
SAID_MIN: Final = 10
CHOICES: Final = ("for all choices", "as for one choice", "by the counts alone")
ONE_CHOICE: Final = 1.96


@dataclass(frozen=True, slots=True)
class Kept:
    """Of one tree's releases, by what a set was taken for enough: how often it was said to be, and how often it was.

    `ratio` and `accuracy` are how many intervals held the truth, of the bound for all choices.
    """

    seed: int
    runs: int
    said: tuple[int, ...]
    true: tuple[int, ...]
    ratio: int
    accuracy: int


def kept(seed: int, runs: int) -> Kept:
    """All that is measured of one tree."""
    tree = InventedLeaves.invented(seed)
    mechanism = additive(seed, parse_nano(tree.epsilon))
    answers = released(mechanism, tree.people.reshape(-1, tree.people.shape[2]), runs)
    said, true = np.zeros(len(CHOICES), int), np.zeros(len(CHOICES), int)
    held = [0, 0]
    for answer in answers:
        counts = LeafCounts(answer.reshape(tree.people.shape)[:, None], mechanism.noise)
        bounds = ChoiceBounds(counts, list(range(tree.people.shape[2])), tree.wanted, LEVEL)
        for index, noise in enumerate((1.0, ONE_CHOICE / bounds.margin, 0.0)):
            found = cheapest(bounds, tree.decisions, noise=noise)
            if found is None:
                continue
            said[index] += 1
            true[index] += tree.ratio(found) >= tree.wanted - ROUNDING
            if index == 0:
                low, high = bounds.ratio_ends(found)
                held[0] += low - ROUNDING <= tree.ratio(found) <= high + ROUNDING
                held[1] += holds(bounds.accuracy(found), tree.accuracy(found))
    return Kept(seed, runs, tuple(said.tolist()), tuple(true.tolist()), held[0], held[1])


def too_few(true: int, said: int) -> bool:
    """Whether statements are true in less than the level, by more than chance."""
    return bool(stats.binom.cdf(true, said, LEVEL) < CHANCE)


def lines(found: Sequence[Kept]) -> Iterator[str]:
    """A line for each way of taking a set for enough, and one of the intervals."""
    runs = sum(one.runs for one in found)
    yield f"{'bound':<20} {'said':>7} {'true':>7} {'least':>7} {'wrong':>7}"
    for index, name in enumerate(CHOICES):
        said, true = (sum(getattr(one, part)[index] for one in found) for part in ("said", "true"))
        shares = [one.true[index] / one.said[index] for one in found if one.said[index] >= SAID_MIN]
        wrong = max((one.said[index] - one.true[index]) / one.runs for one in found)
        yield f"{name:<20} {said / runs:7.1%} {true / max(said, 1):7.2%} {min(shares, default=1):7.1%} {wrong:7.1%}"
    said = max(sum(one.said[0] for one in found), 1)
    ratio, accuracy = (sum(getattr(one, part) for one in found) / said for part in ("ratio", "accuracy"))
    yield f"intervals of the picked decisions that hold: ratio {ratio:.2%}, accuracy {accuracy:.2%}, of {said}"


def faults(found: Sequence[Kept]) -> list[str]:
    """What is beyond a bar by more than chance."""
    said, true = (
        tuple(sum(one) for one in zip(*(getattr(k, part) for k in found), strict=True)) for part in ("said", "true")
    )
    wrong = [f"tree {one.seed}" for one in found if too_few(one.runs - one.said[0] + one.true[0], one.runs)]
    wrong += ["the statement over all trees"] if too_few(true[0], said[0]) else []
    return wrong + ([] if too_few(true[2], said[2]) else ["the planted fault, which was not seen"])


def main(given: Sequence[str] | None = None) -> None:
    """Print the table.

    Raises:
        SystemExit: A statement is true too seldom, or the planted fault is not seen.
    """
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--registers", type=int, default=40, help="how many trees")
    parser.add_argument("--runs", type=int, default=50, help="releases of each")
    parser.add_argument("--first", type=int, default=0, help="the number of the first tree")
    parser.add_argument("--workers", type=int, default=2, help="processes")
    arguments = parser.parse_args(given)
    with ProcessPoolExecutor(arguments.workers) as processes:
        seeds = range(arguments.first, arguments.first + arguments.registers)
        found = list(processes.map(partial(kept, runs=arguments.runs), seeds))
    for line in lines(found):
        print(line)
    beyond = faults(found)
    if beyond:
        raise SystemExit(f"Beyond a bar by more than chance: {', '.join(beyond)}.")


if __name__ == "__main__":
    main()
