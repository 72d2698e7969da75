"""The share of each group's people in a cell, with the interval that the noise of its own count gives."""

import math
from collections.abc import Sequence
from typing import Final

from auditor_client.estimation.estimates import Estimate
from auditor_client.estimation.measurements import NoisyCounts
from shared.privacy.noise import DiscreteGaussianNoise, DiscreteLaplaceNoise, Noise

METHOD: Final = "count over estimated size"


def noise_reach(noise: Noise, level: float) -> int | None:
    """The smallest number of people that the noise of a count exceeds with a chance of at most 1 − level.

    None for mechanisms whose error depends on the count.
    """
    if not isinstance(noise, DiscreteLaplaceNoise | DiscreteGaussianNoise):
        return None
    within, reach = math.exp(noise.log_mass(0)), 0
    while within < level and (beyond := math.exp(noise.log_mass(reach + 1))) > 0:  # rounded sums may stop below a level
        reach += 1
        within += 2 * beyond
    return reach


def cell_shares(counted: NoisyCounts, sizes: Sequence[Estimate]) -> tuple[tuple[Estimate, ...], ...] | None:
    """Return, for each cell and group, the share of the group's people who are in the cell.

    Post-processing: spends no budget. An interval goes from the least count over the largest size to the largest
    count over the least size, so it is wider than it need be. None where a count has no interval by itself.

    Args:
        counted: A cell's histogram in each row, with a column for each group.
        sizes: People of each group; their level is that of the intervals.
    """
    reach = noise_reach(counted.noise, sizes[0].level)
    if reach is None or counted.counts.shape[1] != len(sizes):
        return None
    return tuple(
        tuple(_share(int(count), reach, size) for count, size in zip(row, sizes, strict=True)) for row in counted.counts
    )


def _share(count: int, reach: int, size: Estimate) -> Estimate:
    if not size.low >= 1:
        return Estimate(math.nan, math.nan, math.nan, size.level, METHOD)
    shares = (count / size.value, (count - reach) / size.high, (count + reach) / size.low)
    value, low, high = (min(max(share, 0.0), 1.0) for share in shares)
    return Estimate(value, low, high, size.level, METHOD)
