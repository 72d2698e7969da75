"""What a release measured, without what it asked: noisy counts per group, and the noise on them.

Estimators see only this, so they depend neither on strategies nor on how an answer travelled.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Self

import numpy as np
from numpy.typing import NDArray

from auditor_client.errors import EstimationRefused
from shared.noise import DiscreteLaplaceNoise
from shared.schema import Group

IntArray = NDArray[np.int64]


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
            EstimationRefused: A count does not fit 64 bits, or the rows differ in length: no holder answers so.
        """
        try:
            array = np.array(counts, dtype=np.int64)
        except (ValueError, OverflowError) as error:
            raise EstimationRefused("The answer's counts are no table of 64-bit integers: do not use it.") from error
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
    complement_is: Literal["unfavourable", "everybody"]

    def __post_init__(self) -> None:
        if len(self.groups) < 2:
            raise EstimationRefused("Parity compares groups: name a sensitive column with at least two values.")
        for part in (self.favourable, self.complement):
            if not (part.counts.ndim == 2 and part.cells >= 1 and part.counts.shape[1] == len(self.groups)):
                raise EstimationRefused("The answer's counts do not fit its groups: do not use it.")
