"""The chances that a watch says "changed" by mistake, or misses a change: the exact law of its noise.

A watch says "changed" if distance + ν ≤ margin + shift + ρ, with ρ drawn once and ν for each version
(`shared.kinds.watches.WatchNoise`). Given ρ the versions are independent: of V versions at a distance d all are
"unchanged" with probability Σ_ρ P(ρ) · P[ν > margin + shift + ρ − d]^V. Of the records it depends on d alone.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from auditor_client.estimation.noise_sums import FloatArray
from shared.kinds.watches import WatchedNoise, WatchNoise

_SCALES = 40
"""Noise beyond so many scales has less than 10⁻¹⁷ of all probability."""


@dataclass(frozen=True, eq=False)
class WatchRates:
    """The chances of a watch's answers at each distance, by its published noise and margin."""

    noise: WatchNoise
    margin: int = 0

    def false_alarm(self, distance: int, versions: int) -> float:
        """Return the chance of "changed" in one of so many versions that are all at a distance, in people."""
        return 1 - self._unchanged(distance, versions)

    def miss(self, distance: int, versions: int = 1) -> float:
        """Return the chance of "unchanged" in all of so many versions that are at a distance, in people."""
        return self._unchanged(distance, versions)

    def safe_distance(self, chance: float, versions: int) -> int:
        """Return the least distance at which false alarms in so many versions have at most a chance, in people."""
        return self._least(lambda distance: self.false_alarm(distance, versions) <= chance)

    def sure_distance(self, chance: float, versions: int = 1) -> int:
        """Return the largest distance at which misses have at most a chance, in people: below 0 for a margin of 0."""
        return self._least(lambda distance: self.miss(distance, versions) > chance) - 1

    def _least(self, holds: Callable[[int], bool]) -> int:
        """The least distance at which something holds that holds at all larger ones."""
        reach = len(self._threshold) + len(self._below)
        low, high = self.margin - reach, self.margin + reach
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if holds(middle) else (middle + 1, high)
        return low

    def _unchanged(self, distance: int, versions: int) -> float:
        reach = len(self._threshold) // 2
        limits = np.arange(-reach, reach + 1) + self.margin + self.noise.shift - distance
        changed = self._below[np.clip(limits + len(self._below) // 2, 0, len(self._below) - 1)]
        return float((self._threshold * (1 - changed) ** versions).sum())

    @cached_property
    def _threshold(self) -> FloatArray:
        """P(ρ), for ρ from −R to R."""
        return _mass(self.noise.threshold)

    @cached_property
    def _below(self) -> FloatArray:
        """P[ν ≤ x], for x from −R − 1 to R."""
        return np.concatenate([[0.0], np.cumsum(_mass(self.noise.number)), [1.0]])


def _mass(noise: WatchedNoise) -> FloatArray:
    """The probabilities of −R to R."""
    reach = int(np.ceil(_SCALES * noise.scale))
    return np.exp([noise.log_mass(k) for k in range(-reach, reach + 1)])
