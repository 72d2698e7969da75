"""Noisy totals per group, which is all that the posterior looks at, and how likely they make true totals.

Exact numbers of people over all groups together (`people`), if they are known, bind the groups' totals to each
other: the sum over the rules of their supports. What each rule's own support adds to that is left unused; with
Gaussian noise it adds nothing.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from auditor_client.estimation.likelihoods import AdditiveAnswers, CountLikelihood, ExponentialAnswers
from auditor_client.estimation.measurements import ComplementKind, IntArray, Supports
from auditor_client.estimation.noise_sums import FloatArray, NoiseSum, noise_sum
from shared.noise import AdditiveNoise, DiscreteLaplaceNoise

BoolArray = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class TotalNoise:
    """The noise on each group's totals, where noise is added.

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
        accepted: AdditiveNoise,
        complement: AdditiveNoise,
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
class People:
    """Exact numbers of people over all groups together.

    Attributes:
        accepted: Of the accepted, shape (T,).
        complement: Of the complement, shape (T,).
        counted: How many groups' answers carry noise of their own: K, or 1 where the second of two groups' answers
            is what the first leaves of the people.
    """

    accepted: IntArray
    complement: IntArray
    counted: int

    @classmethod
    def of(cls, supports: Supports, *, counted: int) -> Self:
        """What supports say of one release."""
        accepted, complement = (np.array([sum(part)], np.int64) for part in (supports.favourable, supports.complement))
        return cls(accepted, complement, counted)


class Totals(ABC):
    """What was answered about T releases' K groups, whatever the mechanism."""

    __slots__ = ()

    @property
    @abstractmethod
    def estimates(self) -> tuple[FloatArray, FloatArray]:
        """Estimates of the accepted and of the refused that may be negative, shape (T, K) each, in people."""

    @property
    @abstractmethod
    def deviations(self) -> tuple[float, float]:
        """Their standard deviations, in people."""

    @property
    @abstractmethod
    def known_beside_accepted(self) -> ComplementKind | None:
        """What is known exactly over all groups together, beside the accepted; None if groups share no known number."""

    @abstractmethod
    def as_large(self) -> tuple[FloatArray, FloatArray]:
        """How likely the noise alone makes so many accepted, and so many refused, of nobody; shape (T, K) each."""

    def pooled_rates(self) -> FloatArray:
        """The acceptance rate over all groups, shape (T,), strictly within (0, 1).

        On either side as many people are added as noise may hide (one standard deviation of it), so that a
        total which noise swallowed does not make a prior that is sure of nobody.
        """
        accepted, refused = (
            np.maximum(of_groups.sum(axis=1), 0) + np.sqrt(of_groups.shape[1]) * deviation
            for of_groups, deviation in zip(self.estimates, self.deviations, strict=True)
        )
        rates: FloatArray = accepted / (accepted + refused)
        return rates

    def boundaries(self, level: float) -> tuple[BoolArray, BoolArray]:
        """Whether nobody of a group may be accepted, and whether nobody may be refused; shape (T, K) each.

        Possible means not rejected: with at least (1 − level)/2, noise alone reaches what was answered.
        """
        accepted, refused = self.as_large()
        return accepted >= (1 - level) / 2, refused >= (1 - level) / 2


class CountedTotals(Totals):
    """Totals of groups that the holder counted, so that each group's answer has its own likelihood."""

    __slots__ = ()

    @property
    @abstractmethod
    def likelihoods(self) -> tuple[CountLikelihood, CountLikelihood]:
        """Of the accepted, and of the complement."""

    @property
    @abstractmethod
    def complement_is(self) -> ComplementKind:
        """What the complement counts."""

    @property
    @abstractmethod
    def bound_by(self) -> People | None:
        """What binds the groups to each other, if it is known."""

    @property
    def known_beside_accepted(self) -> ComplementKind | None:
        """See `Totals`."""
        return None if self.bound_by is None else self.complement_is


@dataclass(frozen=True, slots=True, eq=False)
class NoisyTotals(CountedTotals):
    """Totals with noise added to them.

    Attributes:
        accepted: Answers about the accepted, shape (T, K), in people: T independent releases (a simulation has
            many), K groups.
        complement: Answers about the complement, the same shape.
        noise: On each of them.
        people: Exact numbers of people over all groups, if they are known.
    """

    accepted: IntArray
    complement: IntArray
    noise: TotalNoise
    people: People | None = None

    @property
    def likelihoods(self) -> tuple[CountLikelihood, CountLikelihood]:
        """See `CountedTotals`."""
        return AdditiveAnswers(self.accepted, self.noise.accepted), AdditiveAnswers(
            self.complement, self.noise.complement
        )

    @property
    def complement_is(self) -> ComplementKind:
        """See `CountedTotals`."""
        return self.noise.complement_is

    @property
    def bound_by(self) -> People | None:
        """See `CountedTotals`."""
        return self.people

    @property
    def refused(self) -> IntArray:
        """Answers about the refused, shape (T, K)."""
        return self.complement - self.accepted if self.complement_is == "everybody" else self.complement

    @property
    def sizes(self) -> IntArray:
        """Answers about everybody, shape (T, K)."""
        return self.complement if self.complement_is == "everybody" else self.accepted + self.complement

    @property
    def estimates(self) -> tuple[FloatArray, FloatArray]:
        """See `Totals`."""
        return self.accepted.astype(np.float64), self.refused.astype(np.float64)

    @property
    def deviations(self) -> tuple[float, float]:
        """See `Totals`."""
        return self.noise.accepted.deviation, self.noise.refused.deviation

    def as_large(self) -> tuple[FloatArray, FloatArray]:
        """See `Totals`."""
        return self.noise.accepted.at_least(self.accepted), self.noise.refused.at_least(self.refused)


@dataclass(frozen=True, slots=True, eq=False)
class ExponentialTotals(CountedTotals):
    """Totals of what the exponential mechanism answered.

    Attributes:
        accepted: About the accepted.
        complement: About the complement.
        kind: What that counts.
        people: Exact numbers of people over all groups, if they are known.
    """

    accepted: ExponentialAnswers
    complement: ExponentialAnswers
    kind: ComplementKind
    people: People | None = None

    @property
    def complement_is(self) -> ComplementKind:
        """See `CountedTotals`."""
        return self.kind

    @property
    def bound_by(self) -> People | None:
        """See `CountedTotals`."""
        return self.people

    @property
    def likelihoods(self) -> tuple[ExponentialAnswers, ExponentialAnswers]:
        """See `CountedTotals`."""
        return self.accepted, self.complement

    @property
    def estimates(self) -> tuple[FloatArray, FloatArray]:
        """See `Totals`."""
        accepted, complement = self.accepted.expected(), self.complement.expected()
        return accepted, np.maximum(complement - accepted, 0) if self.complement_is == "everybody" else complement

    @property
    def deviations(self) -> tuple[float, float]:
        """See `Totals`."""
        accepted, complement = self.accepted.deviation, self.complement.deviation
        return accepted, float(np.hypot(accepted, complement)) if self.complement_is == "everybody" else complement

    def as_large(self) -> tuple[FloatArray, FloatArray]:
        """See `Totals`. Of everybody less the accepted it is at most so likely.

        With q = exp(−1/scale), an answer is below its count by t less often than discrete Laplace noise is, and
        above it at most (1 + q) times as often, whatever the count is.
        """
        accepted, complement = (part.as_large() for part in self.likelihoods)
        if self.complement_is == "unfavourable":
            return accepted, complement
        scale = max(self.accepted.noise.scale, self.complement.noise.scale)
        noise = noise_sum(DiscreteLaplaceNoise(scale=scale), self.accepted.cells + self.complement.cells)
        likely = noise.at_least(self.complement.answers - self.accepted.answers)
        return accepted, np.minimum((1 + math.exp(-1 / scale)) ** self.complement.cells * likely, 1.0)
