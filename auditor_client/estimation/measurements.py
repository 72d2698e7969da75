"""What a release measured, without what it asked: noisy counts per group, and the noise on them.

Estimators see only this, so they depend neither on strategies nor on how an answer travelled.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, Self

import numpy as np
from numpy.typing import NDArray

from auditor_client.errors import EstimationRefused
from shared.noise import DiscreteLaplaceNoise
from shared.schema import Group

IntArray = NDArray[np.int64]
ComplementKind = Literal["unfavourable", "everybody"]
"""What stands beside the accepted: the refused, or everybody."""

COUNT_MAX: Final = 10**14
"""More people than there are: a larger answer is a mistake or an attack, and its sums could overflow."""


@dataclass(frozen=True, slots=True, eq=False)
class NoisyCounts:
    """Histograms of disjoint cells that were answered together, each count with its own noise.

    Attributes:
        counts: Noisy numbers of people, shape (R, K): R cells, K groups; noise may make them negative.
        noise: The distribution of the independent noise on every count.
    """

    counts: IntArray
    noise: DiscreteLaplaceNoise

    @classmethod
    def of(cls, counts: Sequence[Sequence[int]], noise: DiscreteLaplaceNoise) -> Self:
        """Build from nested integers.

        Raises:
            EstimationRefused: The rows differ in length, or a count is beyond all people: no holder answers so.
        """
        try:
            array = np.array(counts, dtype=np.int64)
        except (ValueError, OverflowError) as error:
            raise EstimationRefused("The answer's counts are no table of 64-bit integers: do not use it.") from error
        if not (np.abs(array) <= COUNT_MAX).all():
            raise EstimationRefused(f"The answer counts more than {COUNT_MAX} people: do not use it.")
        return cls(array, noise)

    @property
    def cells(self) -> int:
        """How many cells were counted: R."""
        return int(self.counts.shape[0])

    @property
    def totals(self) -> IntArray:
        """The sum over the cells, shape (K,), in people; its noise is the sum of R independent noises."""
        totals: IntArray = self.counts.sum(axis=0)
        return totals


@dataclass(frozen=True, slots=True, eq=False)
class Measurement:
    """Noisy acceptance counts of K groups: the accepted, and beside them the refused or everybody.

    Attributes:
        groups: The K groups, in the release's order.
        favourable: Histograms of the favourable cells, shape (R, K).
        complement: Histograms of the unfavourable cells, shape (R', K), or of everybody, shape (1, K).
        complement_is: Which of the two.
    """

    groups: tuple[Group, ...]
    favourable: NoisyCounts
    complement: NoisyCounts
    complement_is: ComplementKind

    def __post_init__(self) -> None:
        if len(self.groups) < 2:
            raise EstimationRefused("Parity compares groups: name a sensitive column with at least two values.")
        for part in (self.favourable, self.complement):
            if not (part.counts.ndim == 2 and part.cells >= 1 and part.counts.shape[1] == len(self.groups)):
                raise EstimationRefused("The answer's counts do not fit its groups: do not use it.")


@dataclass(frozen=True, slots=True)
class Supports:
    """How many people each cell applies to, whatever their group: exact, from the auditor's own data.

    Attributes:
        favourable: One number for each favourable cell of a measurement, in its order.
        complement: One number for each cell of its complement; for everybody that is N.
    """

    favourable: tuple[int, ...]
    complement: tuple[int, ...]

    def check(self, measurement: Measurement) -> None:
        """Refuse supports that cannot be of a measurement's cells.

        Raises:
            EstimationRefused: They are negative, of another number of cells, or more people accepted than there are.
        """
        fitting = (len(self.favourable), len(self.complement)) == (
            measurement.favourable.cells,
            measurement.complement.cells,
        )
        if not (fitting and min(*self.favourable, *self.complement) >= 0):
            raise EstimationRefused("Give one support of zero or more for each cell that was asked about.")
        if measurement.complement_is == "everybody" and not sum(self.favourable) <= sum(self.complement):
            raise EstimationRefused("The supports accept more people than there are.")
