"""The drawing from a posterior: how many, from which seed, and by which edition of the estimator.

Kept answers are read again for ever (`findings.notes`), so what changes a figure comes as an edition of its own: a note
names the one that its figures were made by, and new audits are read by the latest (docs/adr/0037-editions.md).
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

DRAWS: Final = 4096


@dataclass(frozen=True, slots=True)
class Edition:
    """The differences of one edition of the estimator from the others.

    Attributes:
        contender_probability: Divided by K: a group contends for the smallest (largest) rate if it is beyond the
            apparent one so often.
        pairs_max: Beyond so many contending pairs their ends are bounded group by group: wider, and much cheaper.
        shuffled: Whether every posterior's draws are in an order of their own. Quasi-random points of two seeds depend
            on each other by their index, which two comparisons that are combined draw by draw may not.
        level_of_sizes: How sure a group's size is to be for a size rule to leave it in; None: as sure as an interval,
            whose level differs from figure to figure where intervals are to hold together.
        inverted: Whether ratio and difference have intervals without a prior where the answers allow it (`inversion`),
            instead of the hull of two priors'.
        both_outcomes: Whether an audit that does not say its kind of decision has the figures of both outcomes, and its
            verdict only where both agree (docs/adr/0064-kind-of-decision.md); else that of its first figure.
        leave_one_out: Whether ends that hold for many pairs of groups together are judged by draws that did not make
            them (`joint_ends`). Such an edition also gives the pair of the lowest and the highest group an interval of
            its own.
        bounds_unknown: Whether figures are bounded over who the people of unknown group are (`unknown_groups`); else
            these are a group of their own.
        in_range: Whether both ends of an impact ratio are brought into [0, 1]; else the lower one may be above 1.
    """

    contender_probability: float
    pairs_max: int
    shuffled: bool
    level_of_sizes: float | None
    inverted: bool
    both_outcomes: bool = False
    leave_one_out: bool = False
    in_range: bool = False
    bounds_unknown: bool = False


EDITIONS: Final[Mapping[int, Edition]] = {
    1: Edition(contender_probability=0.04, pairs_max=64, shuffled=False, level_of_sizes=None, inverted=False),
    2: Edition(contender_probability=0.004, pairs_max=256, shuffled=True, level_of_sizes=0.95, inverted=True),
    3: Edition(
        contender_probability=0.004,
        pairs_max=256,
        shuffled=True,
        level_of_sizes=0.95,
        inverted=True,
        leave_one_out=True,
        in_range=True,
        bounds_unknown=True,
        both_outcomes=True,
    ),
}
LATEST: Final = max(EDITIONS)


@dataclass(frozen=True, slots=True)
class Drawing:
    """Attributes:
    number: How many draws, a power of two.
    seed: The same answers, seed and edition give the same figures.
    edition: Of the estimator.
    """

    number: int = DRAWS
    seed: int = 0
    edition: Edition = EDITIONS[LATEST]

    def at(self, seed: int) -> "Drawing":
        """The same from another seed."""
        return replace(self, seed=seed)


DRAWING: Final = Drawing()
"""As audits draw unless they say otherwise."""
