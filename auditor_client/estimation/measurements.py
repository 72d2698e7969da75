"""The measurement of a release, without its request: noisy counts per group, and the noise on them.

Estimators see only this, so they depend neither on strategies nor on how an answer travelled.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, Self

import numpy as np
from numpy.typing import NDArray

from auditor_client.errors import EstimationRefused
from auditor_client.estimation.confusion import ConfusionCounts
from auditor_client.estimation.results import RatioKind
from shared.contract.schema import Group
from shared.privacy.noise import AdditiveNoise, ExponentialNoise, Noise, RandomisedResponseNoise

IntArray = NDArray[np.int64]
Members = tuple[tuple[int, ...], ...]
"""Of each coarser group the indices of the finer groups that it has; all have as many."""
ComplementKind = Literal["unfavourable", "everybody"]
"""What was counted to find the refused: them, or everybody, of whom the accepted are a part."""

COUNT_MAX: Final = 10**14
"""More people than there are: a larger answer is a mistake or an attack, and its sums could overflow."""

ONLY_ADDED_NOISE: Final = (
    "Only answers to which noise was added are joined: those of the mechanisms laplace and gaussian. Read this one by "
    "itself (without `join`)."
)


@dataclass(frozen=True, slots=True, eq=False)
class NoisyCounts:
    """Histograms of disjoint cells that were answered together, each count with its own independent noise.

    The counts are numbers of people, shape (R, K'): R cells; K' = K groups, or only the first of K = 2 where the others
    follow from supports. Noise may make them negative.
    """

    counts: IntArray
    noise: Noise

    @classmethod
    def of(cls, counts: Sequence[Sequence[int]], noise: Noise) -> Self:
        """Build from nested integers.

        Raises:
            EstimationRefused: The rows differ in length, or a count is beyond all people: no holder answers so.
        """
        try:
            array = np.array(counts, dtype=np.int64)
        except (ValueError, OverflowError) as error:
            raise EstimationRefused("The answer's counts are not a table of 64-bit integers. Do not use it.") from error
        if not (np.abs(array) <= COUNT_MAX).all():
            raise EstimationRefused(f"The answer counts more than {COUNT_MAX} people: do not use it.")
        return cls(array, noise)

    @property
    def cells(self) -> int:
        """The number of counted cells: R."""
        return int(self.counts.shape[0])

    @property
    def added_noise(self) -> AdditiveNoise:
        """The noise, which was added.

        Raises:
            EstimationRefused: The mechanism adds none.
        """
        if isinstance(self.noise, AdditiveNoise):
            return self.noise
        raise EstimationRefused(ONLY_ADDED_NOISE)

    def added_up(self, members: Members, columns: Sequence[str]) -> Self:
        """The counts of coarser groups; a cell has as many rows as a group has members, which are to be added up.

        Of reported groups only the perturbation of the coarser groups' `columns` is left.
        """
        rows = self.counts[:, np.array(members).T].reshape(-1, len(members))
        noise = self.noise
        if isinstance(noise, RandomisedResponseNoise):
            perturbed = tuple(value for value in noise.kept if value.column in columns)
            noise = noise.model_copy(update={"kept": perturbed})
        return type(self)(rows, noise)

    @property
    def totals(self) -> IntArray:
        """The sum over the cells, shape (K',), in people; its noise is the sum of R independent noises."""
        totals: IntArray = self.counts.sum(axis=0)
        return totals


@dataclass(frozen=True, slots=True)
class Supports:
    """The number of people of each cell, whatever their group: exact, from the auditor's own data.

    One number for each favourable cell of a measurement and for each cell of its complement, in their order; for
    everybody that is N.
    """

    favourable: tuple[int, ...]
    complement: tuple[int, ...]

    def check(self, measurement: "Measurement") -> None:
        """Refuse supports that cannot be of a measurement's cells.

        Raises:
            EstimationRefused: They are negative, of another number of cells, or more people accepted than there are.
        """
        fitting = (len(self.favourable), len(self.complement)) == (
            measurement.favourable.cells,
            measurement.complement.cells,
        )
        if not (fitting and all(0 <= support <= COUNT_MAX for support in (*self.favourable, *self.complement))):
            raise EstimationRefused("Give one support of zero or more for each cell that was asked about.")
        if measurement.complement_is == "everybody" and not sum(self.favourable) <= sum(self.complement):
            raise EstimationRefused("The supports accept more people than there are.")


@dataclass(frozen=True, slots=True)
class SizeBounds:
    """The least and largest number of people of each of K groups, known from outside; both inclusive.

    Of a group of which nothing is known they are zero and `COUNT_MAX`.

    Raises:
        EstimationRefused: They are negative, or more at least than at most.
    """

    least: tuple[int, ...]
    most: tuple[int, ...]

    def __post_init__(self) -> None:
        pairs = zip(self.least, self.most, strict=True)
        if not all(0 <= smallest <= largest <= COUNT_MAX for smallest, largest in pairs):
            raise EstimationRefused("A group's size must be zero or more, and its lower bound at most its upper bound")

    @property
    def open(self) -> bool:
        """Whether nothing is known of any group."""
        return not any(self.least) and all(largest == COUNT_MAX for largest in self.most)

    @property
    def exact(self) -> bool:
        """Whether every group's number of people is known exactly."""
        return self.least == self.most

    def arrays(self) -> tuple[IntArray, IntArray]:
        """Least and most as arrays, shape (K,) each."""
        return np.array(self.least, dtype=np.int64), np.array(self.most, dtype=np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class Measurement:
    """Noisy acceptance counts of K groups: of the accepted, and of the refused or everybody.

    Attributes:
        groups: In the release's order.
        favourable: Histograms of the favourable cells, shape (R, K'); K' is K, or 1 where the holder counted only
            the first of two groups.
        complement: Histograms of the unfavourable cells, shape (R', K'), or of everybody, shape (1, K').
        supports: Exact numbers of people of each cell, if the auditor knows them; needed where K' is 1.
        bounds: How many people each group has, if that is known beforehand, exactly or within bounds.
        sizes: How many people truly belong to each group whose values are all known, in order, where some people's
            group is unknown; None if that is not known beforehand.
        finer: The measurement of finer groups whose counts these add up, where the same answer has those: figures of
            these groups then add up its draws.
        draws: Further, independent answers about the very same cells, row by row.
        others: Further, independent answers about the same people, by other cells: they say something of totals alone.
        ratio_kind: Which ratio compares the groups. If it is an adverse one, the rates that are compared are those of
            the complement: estimators turn the draws of the accepted round, so both outcomes' figures agree.
        confusion: How groups are misreported, if figures are to be of the true ones; None to take records as they are.
    """

    groups: tuple[Group, ...]
    favourable: NoisyCounts
    complement: NoisyCounts
    complement_is: ComplementKind
    supports: Supports | None = None
    bounds: SizeBounds | None = None
    draws: "tuple[Measurement, ...]" = ()
    others: "tuple[Measurement, ...]" = ()
    ratio_kind: RatioKind = RatioKind.LOWEST
    sizes: tuple[int, ...] | None = None
    confusion: ConfusionCounts | None = None
    finer: "Finer | None" = None

    def __post_init__(self) -> None:
        if len(self.groups) < 2:
            raise EstimationRefused("Parity compares groups: name a sensitive column with at least two values.")
        for part in (self.favourable, self.complement):
            if not (part.counts.ndim == 2 and part.cells >= 1 and part.counts.shape[1] == self.counted):
                raise EstimationRefused("The answer's counts do not fit its groups: do not use it.")
            if not _possible(part):
                raise EstimationRefused("The answer has counts that its mechanism never answers: do not use it.")
        if self.counted < len(self.groups) and self.supports is None:
            raise EstimationRefused(
                "The holder counted one of two groups; the other follows from the supports of the rules. Give the "
                "supports: how many people of your own copy of the records each rule applies to."
            )
        if self.supports is not None:
            self.supports.check(self)
        if self.bounds is not None and len(self.bounds.least) != len(self.groups):
            raise EstimationRefused("Give the known number of people of each group, in the groups' order.")
        if self.is_local != isinstance(self.complement.noise, RandomisedResponseNoise):
            raise EstimationRefused("The answer mixes reported and true groups: do not use it.")
        if self.confusion is not None:
            self.confusion.check(self.groups, local=self.is_local, sized=self.bounds is not None)
        self._check_joined()

    def _check_joined(self) -> None:
        """Refuse further answers that are not about the same people."""
        for answer in (*self.draws, *self.others):
            if (answer.groups, answer.complement_is, answer.counted) != (self.groups, self.complement_is, self.counted):
                raise EstimationRefused("The answers count other groups or other people: they cannot be joined.")
            if answer.draws or answer.others:
                raise EstimationRefused("Joined answers are joined once: name each of them by itself.")
        if any((answer.favourable.cells, answer.complement.cells) != self._cells for answer in self.draws):
            raise EstimationRefused("The answers are not about the same cells, so they are not draws of one request.")

    @property
    def _cells(self) -> tuple[int, int]:
        return self.favourable.cells, self.complement.cells

    @property
    def answers(self) -> "tuple[Measurement, ...]":
        """Every independent answer about these people, this one first."""
        return (self, *self.draws, *self.others)

    @property
    def counted(self) -> int:
        """K': how many groups were counted: all, or the first of two."""
        first_alone = all(part.counts.shape[1:] == (1,) for part in (self.favourable, self.complement))
        return 1 if first_alone and len(self.groups) == 2 else len(self.groups)

    @property
    def is_local(self) -> bool:
        """Whether the counts are exact and of reported groups (randomised response)."""
        return isinstance(self.favourable.noise, RandomisedResponseNoise)

    def completed(self) -> tuple[NoisyCounts, NoisyCounts]:
        """Favourable and complement with a column for each group, shape (R, K).

        Where the holder counted the first of two groups, the second has what it leaves of the supports. Its
        noise is the first's with the sign changed, so it says nothing of its own.
        """
        if self.counted == len(self.groups) or self.supports is None:
            return self.favourable, self.complement
        parts = zip(
            (self.favourable, self.complement), (self.supports.favourable, self.supports.complement), strict=True
        )
        favourable, complement = (
            NoisyCounts(np.hstack([part.counts, np.array(totals, dtype=np.int64)[:, None] - part.counts]), part.noise)
            for part, totals in parts
        )
        return favourable, complement

    def added_up(self, groups: tuple[Group, ...], members: Members, columns: Sequence[str]) -> "Measurement":
        """The same answer by coarser groups, whose people are those of some of these groups together.

        What is known beforehand of the groups' sizes is left out; supports and draws are those of the finer groups.

        Args:
            groups: The K' coarser groups.
            members: Of each the indices of its groups; all have as many.
            columns: The sensitive columns that make the coarser groups.

        Raises:
            EstimationRefused: The holder counted the first of two groups alone.
        """
        if self.counted < len(self.groups):
            raise EstimationRefused("The holder counted one of two groups, so coarser groups do not exist.")
        favourable, complement = (part.added_up(members, columns) for part in (self.favourable, self.complement))
        return replace(
            self,
            groups=groups,
            favourable=favourable,
            complement=complement,
            supports=None,
            bounds=None,
            sizes=None,
            draws=tuple(replace(draw.added_up(groups, members, columns), finer=None) for draw in self.draws),
            others=tuple(replace(other.added_up(groups, members, columns), finer=None) for other in self.others),
            finer=Finer(self, members),
        )

    def response_probabilities(self) -> NDArray[np.float64]:
        """The probability that group k is reported as group j, shape (K, K).

        Raises:
            EstimationRefused: The counts are no randomised responses, or their description does not fit the groups.
        """
        noise = self.favourable.noise
        if not isinstance(noise, RandomisedResponseNoise):
            raise EstimationRefused("The answer's counts are not of reported groups.")
        return response_matrix(self.groups, [probability.column for probability in noise.kept], noise)


@dataclass(frozen=True, slots=True, eq=False)
class Finer:
    """A measurement of finer groups, and which of them each coarser group has."""

    measurement: Measurement
    members: Members


def _possible(part: NoisyCounts) -> bool:
    """Whether a mechanism that does not add noise can have answered so."""
    if isinstance(part.noise, ExponentialNoise):
        return bool(((part.counts >= 0) & (part.counts <= part.noise.upper)).all())
    return not isinstance(part.noise, RandomisedResponseNoise) or bool((part.counts >= 0).all())


def response_matrix(
    groups: Sequence[Group], sensitive: Sequence[str], noise: RandomisedResponseNoise
) -> NDArray[np.float64]:
    """The probability that a person of group k is reported as of group j: a Kronecker product over the columns.

    Args:
        groups: The K groups: every combination of the columns' values, the last fastest.
        sensitive: The columns' names, in the groups' order. One that the noise does not list is reported as it is.
        noise: How likely each column's value was kept.

    Returns:
        Shape (K, K); every row adds up to 1.

    Raises:
        EstimationRefused: The groups are no combinations of so many columns, or a column's reports say nothing of it.
    """
    keep_probability = {value.column: float(value.probability) for value in noise.kept}
    if any(len(group) != len(sensitive) for group in groups):
        raise EstimationRefused("The answer's response probabilities do not fit its groups: do not use it.")
    matrix = np.ones((1, 1))
    for index, column in enumerate(sensitive):
        values = len({group[index] for group in groups})
        probability = keep_probability.get(column, 1.0)
        if not (0 < probability <= 1 and values >= 1) or (values > 1 and np.isclose(probability, 1 / values)):
            raise EstimationRefused(f"The reports of column {column!r} do not depend on the true value.")
        other = (1 - probability) / (values - 1) if values > 1 else 0.0
        of_column = np.full((values, values), other)
        np.fill_diagonal(of_column, probability if values > 1 else 1.0)
        matrix = np.kron(matrix, of_column)
    if len(matrix) != len(groups):
        raise EstimationRefused("The answer's response probabilities do not fit its groups: do not use it.")
    return matrix
