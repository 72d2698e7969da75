"""Invented trees on invented registers: true numbers of every leaf's people by label and group."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from auditor_client.estimation.measurements import IntArray

EPSILONS = ("0.1", "0.25", "0.5", "1")
RATIOS = (0.7, 0.8, 0.8, 0.9)


@dataclass(frozen=True, slots=True, eq=False)
class InventedLeaves:
    """True numbers of people with y = 1 and with y = 0, shape (2, L, K).

    Attributes:
        people: In people.
        decisions: Whether each leaf is favourable, shape (L,): where most have y = 1, as a tree learns it.
        epsilon: What a release of all of them costs.
        wanted: The ratio to which the tree is to be mended.
    """

    people: IntArray
    decisions: NDArray[np.bool_]
    epsilon: str
    wanted: float

    @classmethod
    def invented(cls, seed: int) -> Self:
        """A tree of its own for each seed: 3 to 16 leaves, 2 to 4 groups of 100 to 20 000 people.

        Most trees miss the wanted ratio, some by little: groups are spread differently over the leaves.
        """
        rng = np.random.default_rng((seed, 33))
        leaves, groups = int(rng.integers(3, 17)), int(rng.integers(2, 5))
        sizes = np.exp(rng.uniform(np.log(100), np.log(20_000), groups))
        common = rng.dirichlet(np.full(leaves, 2.0))
        shares = rng.dirichlet(common * np.exp(rng.uniform(np.log(5), np.log(200))) + 0.05, groups).T
        positive = np.sort(rng.beta(1.2, 1.2, (leaves, 1)), axis=0)
        people = np.stack([rng.poisson(sizes * shares * rate) for rate in (positive, 1 - positive)])
        people[0, -1] += 1  # nobody's group is empty
        decisions = people[0].sum(axis=1) > people[1].sum(axis=1)
        decisions[0], decisions[-1] = False, True
        return cls(people.astype(np.int64), decisions, str(rng.choice(EPSILONS)), float(rng.choice(RATIOS)))

    def ratio(self, decisions: NDArray[np.bool_]) -> float:
        """The true ratio of statistical parity under some decisions of the leaves; 0 where nobody is accepted."""
        of_leaf = self.people.sum(axis=0)
        rates = (decisions @ of_leaf) / of_leaf.sum(axis=0)
        return float(rates.min() / rates.max()) if rates.any() else 0.0

    def accuracy(self, decisions: NDArray[np.bool_]) -> float:
        """The true share of people whose decision is favourable just if y = 1."""
        positive, negative = self.people.sum(axis=2)
        return float(np.where(decisions, positive, negative).sum() / self.people.sum())
