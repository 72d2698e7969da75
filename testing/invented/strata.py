"""Invented registers in strata: true counts of groups within each, small and large ones and some that are missing."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from auditor_client.estimation.measurements import IntArray
from testing.invented.registers import EPSILONS


@dataclass(frozen=True, slots=True, eq=False)
class StratifiedRegister:
    """True counts of the accepted and the refused, shape (S, K) each, in people; `epsilon` is what a release costs."""

    accepted: IntArray
    refused: IntArray
    epsilon: str

    @classmethod
    def invented(cls, seed: int) -> Self:
        """A register of its own for each seed: 2 to 16 groups and 2 to 16 strata of 1 to 5 000 people of a group.

        Half of them have few accepted or few refused people. In every fifth some groups are missing in some strata.
        """
        rng = np.random.default_rng((seed, 18))
        strata, groups = (int(number) for number in np.exp(rng.uniform(np.log(2), np.log(16.99), 2)))
        sizes = np.exp(rng.uniform(np.log(1), np.log(5_000), (strata, groups))).astype(np.int64)
        if seed % 2:  # as large as each other, as registers of one country are
            sizes = np.maximum(sizes.max(axis=1, keepdims=True) * rng.uniform(0.2, 1, sizes.shape), 1).astype(np.int64)
        if seed % 5 == 0:
            sizes[rng.random(sizes.shape) < 0.1] = 0
            sizes[0] = np.maximum(sizes[0], 50)
        middle = rng.uniform(0.005, 0.05) if seed % 4 < 2 else rng.uniform(0.1, 0.9)
        middle = 1 - middle if seed % 8 == 1 else middle
        rates = rng.beta(20 * middle, 20 * (1 - middle), (strata, groups))
        accepted = rng.binomial(sizes, rates)
        accepted[0, sizes[0].argmax()] += 0 if accepted.any() else 1
        return cls(accepted, np.maximum(sizes - accepted, 0), str(rng.choice(EPSILONS)))

    @property
    def sizes(self) -> IntArray:
        """Shape (S, K), in people."""
        sizes: IntArray = self.accepted + self.refused
        return sizes

    @property
    def rates(self) -> NDArray[np.float64]:
        """Shape (S, K); NaN where a stratum lacks a group."""
        with np.errstate(invalid="ignore"):
            rates: NDArray[np.float64] = self.accepted / self.sizes
        return rates

    def standardised(self, left_out: tuple[int, ...]) -> NDArray[np.float64]:
        """Each group's rate with everybody's mix of the strata that are not left out, shape (K,)."""
        kept = [stratum for stratum in range(len(self.sizes)) if stratum not in left_out]
        weights = self.sizes[kept].sum(axis=1) / max(self.sizes[kept].sum(), 1)
        rates: NDArray[np.float64] = weights @ self.rates[kept]
        return rates
