"""Features as the coordinates of a vector x in [0, 1]^d, known from public bins alone (7-training §2).

Coordinate 0 is 1 for everybody. An ordered feature has one coordinate: the position of the person's bin between the
first, at 0, and the last, at 1. A category or boolean has one for each value but the first, which is 1 for those who
have that value (one-hot). Where values may be missing, one more coordinate is 1 for those of whom it is, and the
feature's others are 0. So each bin of a feature raises one coordinate at most, and every position is a multiple of
1/GRID: products of two coordinates are whole multiples of 1/GRID², and their sums follow exactly from counts of bins.
"""

from dataclasses import dataclass
from typing import Final

from holder_service.learning.features import BinnedFeature, Path, binned
from shared.contract.schema import Schema
from shared.kinds.trainings import Training
from shared.wire import limits
from shared.wire.problems import TooLarge

GRID: Final = 840
"""Places are multiples of 1/GRID: those of up to nine bins are exactly even, as are many more."""


@dataclass(frozen=True, slots=True)
class RaisingBin:
    """A bin that raises a coordinate.

    Attributes:
        path: Who is in it.
        coordinate: Which one it raises, from 1.
        position: How far, in multiples of 1/GRID.
    """

    path: Path
    coordinate: int
    position: int


@dataclass(frozen=True, slots=True)
class Coordinates:
    """What the vectors of a training are.

    Attributes:
        size: d, with coordinate 0.
        features: Of each feature the bins that raise a coordinate; those of all others are 0.
    """

    size: int
    features: tuple[tuple[RaisingBin, ...], ...]

    @classmethod
    def of(cls, training: Training, schema: Schema) -> "Coordinates":
        """Those of a training that fits a schema.

        Raises:
            TooLarge: They are too many to minimise over.
        """
        size = 1
        features = []
        for feature in binned(training, schema):
            raising = _raising(feature, size)
            size = max([size - 1, *(bin_.coordinate for bin_ in raising)]) + 1
            features.append(raising)
        if size > limits.COORDINATES_PER_TRAINING_MAX:
            raise TooLarge(
                what="coordinates (a category's values but the first, each)", limit=limits.COORDINATES_PER_TRAINING_MAX,
                path="features", asked="training", remedy="name fewer features",
            )  # fmt: skip
        return cls(size, tuple(features))


def _raising(feature: BinnedFeature, first: int) -> tuple[RaisingBin, ...]:
    """The bins of a feature whose first coordinate is `first`."""
    ordered = feature.column.ordered
    raising = []
    for index, path in enumerate(feature.bins[1:], start=1):
        if index >= feature.known:
            raising.append(RaisingBin(path, first + (1 if ordered else feature.known - 1), GRID))
        elif ordered:
            raising.append(RaisingBin(path, first, round(index * GRID / (feature.known - 1))))
        else:
            raising.append(RaisingBin(path, first + index - 1, GRID))
    return tuple(raising)
