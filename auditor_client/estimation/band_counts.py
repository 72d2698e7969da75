"""The measurement of a score by a release: noisy counts of disjoint bands, by group (5-decisions §4).

Axes: B bands in ascending order of the score, K groups.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from auditor_client.errors import EstimationRefused
from auditor_client.estimation.measurements import IntArray, Measurement, NoisyCounts
from shared.contract.schema import Group
from shared.privacy.noise import AdditiveNoise, DiscreteGaussianNoise, DiscreteLaplaceNoise

Population = Literal["everybody", "positive", "negative"]


def histograms(bands: Sequence[NoisyCounts]) -> tuple[NoisyCounts, ...]:
    """Answers band by band, of shape (parts, K) each, as the parts' histograms of all bands, of shape (B, K) each."""
    parts = zip(*(band.counts for band in bands), strict=True)
    return tuple(NoisyCounts(np.stack(part), bands[0].noise) for part in parts)


@dataclass(frozen=True, slots=True, eq=False)
class BandCounts:
    """Noisy counts of disjoint bands of a score.

    Attributes:
        groups: The K groups.
        edges: B − 1 ascending thresholds: a person of band b has `edges[b − 1] < score ≤ edges[b]`.
        unlabelled: People of each band without a value of the label, or where none was asked for: histograms of shape
            (B, K) that add up, with noises of their own. Empty without any.
        positive: People with y = 1, likewise.
        negative: People with y = 0, likewise.
        upward: Whether the favourable decisions are above a threshold; else they are at it and below.

    Raises:
        EstimationRefused: The parts differ in shape or noise, or did not get noise by adding it.
    """

    groups: tuple[Group, ...]
    edges: tuple[float, ...]
    unlabelled: tuple[NoisyCounts, ...] = ()
    positive: tuple[NoisyCounts, ...] = ()
    negative: tuple[NoisyCounts, ...] = ()
    upward: bool = True

    def __post_init__(self) -> None:
        parts = self._parts("everybody")
        if not parts or bool(self.positive) != bool(self.negative):
            raise EstimationRefused("Bands are counted of everybody, or by both values of the label.")
        if any(part.counts.shape != (len(self.edges) + 1, len(self.groups)) for part in parts):
            raise EstimationRefused("The answer's counts do not fit its bands and groups: do not use it.")
        if not self.edges or any(low >= high for low, high in itertools.pairwise(self.edges)):
            raise EstimationRefused("Edges ascend, and there is at least one.")
        if len({part.noise for part in parts}) != 1 or not isinstance(
            parts[0].noise, DiscreteLaplaceNoise | DiscreteGaussianNoise
        ):
            raise EstimationRefused("Bands need one mechanism that adds noise: laplace or gaussian.")

    @property
    def noise(self) -> AdditiveNoise:
        """On every count."""
        noise = self._parts("everybody")[0].noise
        if isinstance(noise, DiscreteLaplaceNoise | DiscreteGaussianNoise):
            return noise
        raise TypeError("Checked when it was made.")

    @property
    def labelled(self) -> bool:
        """Whether a label was asked for."""
        return bool(self.positive)

    def _parts(self, of: Population) -> tuple[NoisyCounts, ...]:
        if of == "everybody":
            return (*self.unlabelled, *self.positive, *self.negative)
        return self.positive if of == "positive" else self.negative

    def counts(self, of: Population) -> IntArray:
        """Return the counts of every band and group, shape (B, parts, K): the parts have noises of their own."""
        return np.stack([part.counts for part in self._parts(of)], axis=1)

    def split(self, of: Population, chosen: Sequence[bool]) -> Measurement:
        """People of some bands against those of the others."""
        counts, mask = self.counts(of), np.asarray(chosen)
        favourable, complement = (
            NoisyCounts(counts[rows].reshape(-1, len(self.groups)), self.noise) for rows in (mask, ~mask)
        )
        return Measurement(self.groups, favourable, complement, "unfavourable")

    def accepted(self, edge: int) -> list[bool]:
        """Whether each band is on the favourable side of an edge, by its index."""
        return [(band > edge) == self.upward for band in range(len(self.edges) + 1)]
