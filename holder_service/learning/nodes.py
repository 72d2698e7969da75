"""Nodes of a tree that grows: who is in one, and how its people can still be parted; public given the path."""

from collections.abc import Sequence
from dataclasses import dataclass

from holder_service.learning.features import BinnedFeature, Path


@dataclass(frozen=True, slots=True)
class GrowingNode:
    """A node that may still be split.

    Attributes:
        path: Who is in it.
        left: Of each feature the bins that are left.
    """

    path: Path
    left: tuple[frozenset[int], ...]

    @classmethod
    def root(cls, features: Sequence[BinnedFeature]) -> "GrowingNode":
        """Everybody."""
        return cls((), tuple(frozenset(range(len(feature.bins))) for feature in features))

    def candidates(self, features: Sequence[BinnedFeature]) -> list[tuple[int, int]]:
        """Indices of features and of splits of them that leave bins on both sides; of those that part alike, one."""
        candidates = []
        for index, (feature, bins) in enumerate(zip(features, self.left, strict=True)):
            parts = {frozenset[int](), bins}
            for number, split in enumerate(feature.splits):
                part = bins.intersection(split.left_bins)
                if part not in parts:
                    parts |= {part, bins - part}
                    candidates.append((index, number))
        return candidates

    def split(self, features: Sequence[BinnedFeature], chosen: tuple[int, int]) -> tuple["GrowingNode", "GrowingNode"]:
        """The nodes on both sides."""
        index, number = chosen
        split = features[index].splits[number]
        bins = self.left[index]
        return (
            GrowingNode((*self.path, split.left), _replaced(self.left, index, bins.intersection(split.left_bins))),
            GrowingNode((*self.path, split.right), _replaced(self.left, index, bins.difference(split.left_bins))),
        )


def _replaced(left: tuple[frozenset[int], ...], index: int, bins: frozenset[int]) -> tuple[frozenset[int], ...]:
    return (*left[:index], bins, *left[index + 1 :])
