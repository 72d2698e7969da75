"""A public reinterview study: people by their true and by their recorded group (spec 11, section 2).

Axes: K groups, M draws.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from auditor_client.errors import EstimationRefused
from auditor_client.estimation.drawing import DRAWS
from auditor_client.estimation.estimates import Estimate
from shared.contract.schema import Group

GROUPS_MAX: Final = 6
"""More groups have more pairs than a report should wait for."""


@dataclass(frozen=True, slots=True)
class ConfusionCounts:
    """The people of a reinterview study by true and by recorded group: `people[k][j]`, shape (K, K).

    Raises:
        EstimationRefused: The table is not square, has a negative number, too many groups, or one of which nobody was
            reinterviewed.
    """

    people: tuple[tuple[int, ...], ...]

    def __post_init__(self) -> None:
        groups = len(self.people)
        if not all(len(row) == groups and all(number >= 0 for number in row) for row in self.people):
            raise EstimationRefused(
                "The study of misreported groups must have a number of people, 0 or more, for each true group with "
                "each recorded one: correct its table."
            )
        if not all(any(row) for row in self.people):
            raise EstimationRefused(
                "The study of misreported groups must have somebody of each true group. Without them nothing is known "
                "of how they are recorded: use a study with people of every group."
            )
        if groups > GROUPS_MAX:
            raise EstimationRefused(
                f"Misreported groups are corrected for at most {GROUPS_MAX} groups, not {groups}: leave the study out."
            )

    def check(self, groups: Sequence[Group], *, local: bool, sized: bool) -> None:
        """Refuse what a measurement does not combine with it.

        Raises:
            EstimationRefused: Its groups are others or can be missing, were perturbed at their source, or have known
                sizes, which are of true groups while the answers are of recorded ones.
        """
        if len(groups) != len(self.people) or any(None in group for group in groups):
            raise EstimationRefused(
                "The study of misreported groups must be about the groups of the answer, all of them declared: "
                "read the answer without it."
            )
        if local or sized:
            raise EstimationRefused(
                "The study of misreported groups does not combine with groups that were perturbed at their source, or "
                "whose sizes are known: leave one of them out."
            )

    @property
    def weights(self) -> NDArray[np.float64]:
        """The parameters of the Dirichlet posterior of each true group's probabilities, shape (K, K)."""
        return np.array(self.people, dtype=np.float64) + 0.5

    @property
    def mean(self) -> NDArray[np.float64]:
        """The expected probability that a person of group k is recorded as of group j, shape (K, K)."""
        mean: NDArray[np.float64] = self.weights / self.weights.sum(axis=1, keepdims=True)
        return mean

    def matrices(self, number: int) -> NDArray[np.float64]:
        """Draws of these probabilities, shape (M, K, K): the same for every figure, so that their errors agree."""
        rng = np.random.default_rng((number, 12))
        weight = rng.standard_gamma(self.weights, (number, *self.weights.shape))
        matrices: NDArray[np.float64] = weight / weight.sum(axis=-1, keepdims=True)
        return matrices

    def recorded_rightly(self, level: float) -> tuple[Estimate, ...]:
        """Estimate which share of each true group is recorded in it, with an interval; K of them."""
        right = np.diagonal(self.matrices(DRAWS), axis1=1, axis2=2)
        ends = np.quantile(right, [(1 - level) / 2, (1 + level) / 2], axis=0)
        values = np.diagonal(self.mean)
        return tuple(
            Estimate(float(value), float(low), float(high), level, "posterior")
            for value, low, high in zip(values, *ends, strict=True)
        )

    def recorded(self, people: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
        """Draw how many people are recorded as each group, of so many of each true one; shape (K,) each."""
        recorded: NDArray[np.int64] = rng.multinomial(people, self.mean).sum(axis=0)
        return recorded
