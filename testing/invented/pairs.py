"""Invented registers that two models decide about: whom both accept, only one of them, or neither."""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from auditor_client.estimation.crossed_measurements import Sides
from auditor_client.estimation.measurements import IntArray
from testing.truths import true_parity

EPSILONS: Final = ("0.05", "0.1", "0.25", "0.5", "1")
DECISIONS: Final = (Sides((0, 1), (2, 3)), Sides((0, 2), (1, 3)))
"""What the first and the second model decide about the cells of a register."""
KINDS: Final = ("small changes", "one group helped", "unrelated models", "no change", "groups alike")


@dataclass(frozen=True, slots=True, eq=False)
class PairRegister:
    """True histograms of both decisions.

    Attributes:
        cells: Whom both models accept, only the first, only the second, and neither: shape (4, K), in people.
        epsilon: What a release costs.
        kind: Of `KINDS`.
    """

    cells: IntArray
    epsilon: str
    kind: str

    @classmethod
    def invented(cls, seed: int) -> "PairRegister":
        """A register of its own for each seed: 2 to 16 groups of 1 to 5 000 people."""
        rng = np.random.default_rng((seed, 18))
        kind = KINDS[seed % len(KINDS)]
        groups = int(rng.integers(2, 17))
        sizes = np.exp(rng.uniform(0, np.log(5_000), groups)).astype(np.int64)
        sizes[rng.integers(groups)] = rng.integers(500, 5_000)
        if kind == "groups alike":
            sizes[:] = rng.integers(1, 50) * 20
        spread = rng.choice([0.4, 20.0])
        middle = rng.uniform(0.1, 0.9)
        rates = rng.beta(spread * middle, spread * (1 - middle), groups)
        flips = np.exp(rng.uniform(np.log(0.002), np.log(0.3), 2))
        if kind == "groups alike":
            shares = np.array([middle * (1 - flips[0]), middle * flips[0], (1 - middle) * flips[1]])
            accepted = np.round(shares[:, None] * sizes).astype(np.int64)
            cells = np.vstack([accepted, sizes - accepted.sum(axis=0)])
        else:
            lost, won = np.full(groups, flips[0]), np.full(groups, flips[1])
            if kind == "no change":
                lost, won = np.zeros(groups), np.zeros(groups)
            elif kind == "one group helped":
                lost, won = np.zeros(groups), np.zeros(groups)
                won[rates.argmin()] = rng.uniform(0.05, 0.5)
            elif kind == "unrelated models":
                other = rng.beta(spread * middle, spread * (1 - middle), groups)
                lost, won = 1 - other, other
            shares = np.stack([rates * (1 - lost), rates * lost, (1 - rates) * won, (1 - rates) * (1 - won)])
            cells = np.stack([rng.multinomial(size, of) for size, of in zip(sizes, shares.T, strict=True)], axis=1)
        largest = sizes.argmax()
        if not cells[0].any():  # somebody is accepted by either model
            moved = cells[3, largest] // 2 + 1
            cells[0, largest] += moved
            cells[3, largest] = max(cells[3, largest] - moved, 0)
        return cls(cells.astype(np.int64), str(rng.choice(EPSILONS)), kind)

    @property
    def rates(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Either model's acceptance rates, shape (K,)."""
        sizes = self.cells.sum(axis=0)
        return (self.cells[0] + self.cells[1]) / sizes, (self.cells[0] + self.cells[2]) / sizes

    def change(self) -> tuple[float, float]:
        """The second model's true ratio and difference, less those of the first."""
        (first, less), (second, more) = map(true_parity, self.rates)
        return second - first, more - less
