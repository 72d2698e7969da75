"""What watches promise, from outside: whole sequences of answers lose no more than was charged; the distance is exact.

`python -m checks.watches` draws sequences of answers about two sequences of distances that one person can tell apart,
by the real mechanism, and bounds the loss of a few events from below: of each event, which was fixed beforehand,
Clopper and Pearson's limits. The published variants of the sparse vector technique that are broken (Lyu, Su, Li 2017,
figure 1: algorithms 3 to 6) are planted in the source by `./run planted-bugs`, and so are faults of our own, such as
noise on the other side. Both kinds of noise are drawn: that of new watches, and of those set before. Then the
distance is compared with a search over all records of a grid.
"""

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
from rich.console import Console
from rich.table import Table

from holder_service.domain.verdict_distance import GroupCounts, verdict_distance
from holder_service.mechanisms.sparse_vector import SparseVectorMechanism, UsedUp
from holder_service.privacy_audit.clopper_pearson import lower_limit, upper_limit
from shared.privacy.amounts import NANO_PER_UNIT

Answers = tuple[bool, ...]
_Grid = npt.NDArray[np.int64]
EPSILON: Final = 2.0
RUNS: Final = 20_000
CONSTRUCTIONS: Final = {"one side": SparseVectorMechanism.calibrated, "both sides": SparseVectorMechanism.two_sided}
"""The noise of new watches, and of those that were set before."""
THRESHOLDS: Final = (1, 333_333_333, 500_000_000, 800_000_000, 900_000_000, 950_000_000, NANO_PER_UNIT)


@dataclass(frozen=True, slots=True)
class AnswerSequence:
    """Distances in version after version, with a person and without, and an event that tells them apart.

    Attributes:
        here, there: The distances; each pair of them differs by 1 at most.
        happened: Whether a sequence of answers is the event.
    """

    name: str
    here: tuple[int, ...]
    there: tuple[int, ...]
    happened: Callable[[Answers], bool]


SEQUENCES: Final = (
    AnswerSequence(
        "changed in the seventh version", (1,) * 6 + (-1,), (0,) * 7,
        lambda answers: answers == (False,) * 6 + (True,),
    ),
    AnswerSequence(
        "changed in the third version", (1, 1, -1), (0,) * 3, lambda answers: answers == (False, False, True)
    ),
    AnswerSequence("unchanged in fifteen", (2,) * 15, (1,) * 15, lambda answers: not any(answers)),
    AnswerSequence(
        "changed rather in every other version", (0, 1) * 20, (1, 0) * 20,
        lambda answers: sum(answers[::2]) - sum(answers[1::2]) >= 3,
    ),
)  # fmt: skip


def answers_to(mechanism: SparseVectorMechanism, distances: Sequence[int]) -> Answers:
    """Draw a threshold, and ask until all are answered or nothing may be asked any more."""
    state = mechanism.begun(0)
    answers = []
    for distance in distances:
        try:
            state = mechanism.answered(state, distance)
        except UsedUp:
            break
        answers.append(state.is_changed)
    return tuple(answers)


def loss_at_least(
    sequence: AnswerSequence, construction: str = "one side", *, runs: int = RUNS, alpha: float = 1e-7
) -> float:
    """A lower bound of the loss of a sequence's event, wrong with a probability of at most α."""
    mechanism = CONSTRUCTIONS[construction](epsilon_nano=round(EPSILON * NANO_PER_UNIT), sensitivity=1)
    hits = [
        sum(sequence.happened(answers_to(mechanism, distances)) for _ in range(runs))
        for distances in (sequence.here, sequence.there)
    ]
    least = lower_limit(hits[0], runs, alpha / 2)
    return math.log(least / upper_limit(hits[1], runs, alpha / 2)) if least > 0 else -math.inf


def searched_distances(most: int, groups: int, threshold_nano: int) -> _Grid:
    """The same of all records of some groups with at most so many people each, by steps from records to records.

    Returns:
        Signed distances of pairs, or to the other verdict for more groups, shape (most + 1, …), an axis for the
        accepted and one for the refused of each group.
    """
    wide = 2 * most + 3
    axes = np.indices((wide,) * (2 * groups)).astype(np.int64)
    meets = np.ones((wide,) * (2 * groups), dtype=bool)
    pairs = [(0, 1)] if groups == 2 else [(j, k) for j in range(groups) for k in range(groups) if j != k]
    for j, k in pairs:
        (a_j, r_j), (a_k, r_k) = axes[2 * j : 2 * j + 2], axes[2 * k : 2 * k + 2]
        meets &= NANO_PER_UNIT * a_j * (a_k + r_k) >= threshold_nano * a_k * (a_j + r_j)
    signed = np.where(meets, _steps_to(~meets), 1 - _steps_to(meets))
    small: _Grid = signed[(slice(most + 1),) * (2 * groups)]
    return small


def _steps_to(records: npt.NDArray[np.bool_]) -> _Grid:
    """The least number of people who come or go until one of some records is reached: axis by axis, exactly."""
    steps = np.where(records, 0, np.int64(1) << 40)
    for axis in range(steps.ndim):
        along = np.moveaxis(steps, axis, 0)
        for order in (along, along[::-1]):
            for here in range(1, len(order)):
                np.minimum(order[here], order[here - 1] + 1, out=order[here])
    return steps


def distances_of_two(most: int, threshold_nano: int) -> _Grid:
    """What the holder computes of the same records of two groups, of the first group against the second."""
    found = np.empty((most + 1,) * 4, dtype=np.int64)
    for counts in np.ndindex(*found.shape):
        found[counts] = distance_of((counts[:2], counts[2:]), threshold_nano, people_max=4 * most)
    return found


def distance_of(counts: Sequence[Sequence[int]], threshold_nano: int, *, people_max: int) -> int:
    """The holder's distance of some accepted and refused people by group."""
    groups = [GroupCounts(*map(int, one)) for one in counts]
    return verdict_distance(groups, threshold_nano=threshold_nano, people_max=people_max)


def both_ways(searched: _Grid) -> _Grid:
    """The smaller of the signed distances of two ordered pairs, of which one was searched."""
    smaller: _Grid = np.minimum(searched, searched.transpose(2, 3, 0, 1))
    return smaller


def main() -> None:
    """Bound, compare, and print; the exit status is 1 if a bound exceeds the charge or a distance is another."""
    table = Table("event", "noise", "charge", "loss is at least", title=f"{RUNS} sequences of answers on either side")
    bounds = []
    for sequence, construction in itertools.product(SEQUENCES, CONSTRUCTIONS):
        bounds.append(loss_at_least(sequence, construction))
        table.add_row(sequence.name, construction, f"{EPSILON:g}", f"{bounds[-1]:.2f}")
    console = Console()
    console.print(table)
    most, wrong, moved = 10, 0, 0
    for threshold in THRESHOLDS:
        found, searched = distances_of_two(most, threshold), both_ways(searched_distances(most, 2, threshold))
        wrong += int((found != searched).sum())
        moved = max(moved, *(int(np.abs(np.diff(found, axis=axis)).max()) for axis in range(4)))
    registers = len(THRESHOLDS) * (most + 1) ** 4
    console.print(
        f"{registers} registers: {wrong} distances are others than searched, one person moves {moved} at most."
    )
    raise SystemExit(wrong > 0 or moved > 1 or max(bounds) > EPSILON)


if __name__ == "__main__":
    main()
