"""Noisy totals per group, which is all that the posterior looks at, and the noise on them."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from auditor_client.estimation.measurements import ComplementKind, IntArray, Measurement
from auditor_client.estimation.noise_sums import FloatArray, NoiseSum, noise_sum
from shared.noise import DiscreteLaplaceNoise

BoolArray = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class TotalNoise:
    """The noise on each group's totals.

    Attributes:
        accepted: Of the accepted.
        complement: Of what stands beside them.
        refused: Of the refused; another one than `complement` where that counts everybody.
        complement_is: What stands beside the accepted.
    """

    accepted: NoiseSum
    complement: NoiseSum
    refused: NoiseSum
    complement_is: ComplementKind

    @classmethod
    def of(
        cls,
        accepted: DiscreteLaplaceNoise,
        complement: DiscreteLaplaceNoise,
        *,
        cells: tuple[int, int],
        complement_is: ComplementKind,
    ) -> Self:
        """Sum the noise over the cells of either part.

        Args:
            accepted: On each count of a favourable cell.
            complement: On each count of the complement's cells.
            cells: How many cells either part has.
            complement_is: What the complement counts.
        """
        rest = noise_sum(complement, cells[1])
        if complement_is == "unfavourable":
            return cls(noise_sum(accepted, cells[0]), rest, rest, complement_is)
        # Everybody less the accepted carries both noises. A plan's two halves differ in scale by an odd nano at most.
        wider = max(accepted, complement, key=lambda noise: noise.scale)
        return cls(noise_sum(accepted, cells[0]), rest, noise_sum(wider, cells[0] + cells[1]), complement_is)


@dataclass(frozen=True, slots=True, eq=False)
class NoisyTotals:
    """Each group's noisy total of accepted people and, beside it, of refused people or of everybody.

    Attributes:
        accepted: Shape (T, K), in people: T independent releases (a simulation has many), K groups.
        complement: The same shape.
        noise: On each of them.
    """

    accepted: IntArray
    complement: IntArray
    noise: TotalNoise

    @classmethod
    def of(cls, measurement: Measurement) -> Self:
        """A measurement's totals over its cells, as one release."""
        favourable, complement = measurement.favourable, measurement.complement
        noise = TotalNoise.of(
            favourable.noise,
            complement.noise,
            cells=(favourable.cells, complement.cells),
            complement_is=measurement.complement_is,
        )
        return cls(favourable.totals[None, :], complement.totals[None, :], noise)

    @property
    def refused(self) -> IntArray:
        """Noisy totals of the refused, the same shape."""
        return self.complement - self.accepted if self.noise.complement_is == "everybody" else self.complement

    @property
    def sizes(self) -> IntArray:
        """Noisy totals of everybody, the same shape."""
        return self.complement if self.noise.complement_is == "everybody" else self.accepted + self.complement

    def pooled_rates(self) -> FloatArray:
        """The acceptance rate over all groups, shape (T,), strictly within (0, 1).

        On either side as many people are added as noise may hide (one standard deviation of it), so that a
        total which noise swallowed does not make a prior that is sure of nobody.
        """
        per_group = np.sqrt(self.accepted.shape[1])
        accepted = np.maximum(self.accepted.sum(axis=1), 0) + per_group * self.noise.accepted.deviation
        refused = np.maximum(self.refused.sum(axis=1), 0) + per_group * self.noise.refused.deviation
        rates: FloatArray = accepted / (accepted + refused)
        return rates

    def boundaries(self, level: float) -> tuple[BoolArray, BoolArray]:
        """Whether nobody of a group may be accepted, and whether nobody may be refused; shape (T, K) each.

        Possible means not rejected: with at least (1 − level)/2, noise alone reaches what was answered.
        """
        tail = (1 - level) / 2
        return self.noise.accepted.at_least(self.accepted) >= tail, self.noise.refused.at_least(self.refused) >= tail
