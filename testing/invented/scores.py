"""Invented scores of people with a label, as true histograms of bands: small and large groups, near and far apart."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from auditor_client.estimation.measurements import IntArray
from testing.invented.registers import EPSILONS


@dataclass(frozen=True, slots=True, eq=False)
class ScoredRegister:
    """True histograms of a score's bands.

    Attributes:
        edges: Between the bands, ascending.
        positive: People with y = 1, shape (B, K).
        negative: People with y = 0, shape (B, K).
        labelled: Whether the release counts them apart.
        epsilon: What a release costs.
    """

    edges: tuple[float, ...]
    positive: IntArray
    negative: IntArray
    labelled: bool
    epsilon: str

    @classmethod
    def invented(cls, seed: int) -> "ScoredRegister":
        """A register of its own for each seed: 2 to 6 groups of 20 to 20 000 people, 4 to 12 bands."""
        rng = np.random.default_rng(seed)
        groups, bands = int(rng.integers(2, 7)), int(rng.integers(4, 13))
        edges = np.round(np.linspace(-1.5, 1.5, bands - 1), 3)
        positive, negative = np.zeros((2, bands, groups), dtype=np.int64)
        apart, slope = float(rng.choice([0.05, 0.8])), float(rng.uniform(0, 2))
        for group, size in enumerate(np.exp(rng.uniform(np.log(20), np.log(20_000), groups)).astype(int)):
            scores = rng.normal(apart * rng.standard_normal(), 1, size)
            label = rng.random(size) < 1 / (1 + np.exp(-slope * scores))
            for counts, of in ((positive, label), (negative, ~label)):
                counts[:, group] = np.bincount(np.searchsorted(edges, scores[of]), minlength=bands)
        return cls(tuple(edges.tolist()), positive, negative, bool(rng.random() < 0.6), str(rng.choice(EPSILONS)))

    @property
    def groups(self) -> tuple[tuple[str], ...]:
        """Their names."""
        return tuple((f"group {group}",) for group in range(self.positive.shape[1]))

    @property
    def everybody(self) -> IntArray:
        """Shape (B, K), in people."""
        everybody: IntArray = self.positive + self.negative
        return everybody

    def shares(self, of: IntArray) -> NDArray[np.float64]:
        """The share of each group's people of `of` above each edge, shape (B − 1, K); NaN for a group without any."""
        with np.errstate(invalid="ignore"):
            above: NDArray[np.float64] = of[::-1].cumsum(axis=0)[::-1][1:] / of.sum(axis=0)
        return above

    def auc(self) -> NDArray[np.float64]:
        """Of each group, shape (K,); NaN without positive or without negative people."""
        below = self.negative.cumsum(axis=0) - self.negative / 2
        with np.errstate(invalid="ignore"):
            auc: NDArray[np.float64] = (self.positive * below).sum(axis=0) / (
                self.positive.sum(axis=0) * self.negative.sum(axis=0)
            )
        return auc
