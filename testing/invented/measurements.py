"""Measurements of invented answers."""

from collections.abc import Sequence
from typing import Final

from auditor_client.estimation.measurements import ComplementKind, Measurement, NoisyCounts, SizeBounds, Supports
from shared.privacy.noise import DiscreteGaussianNoise, DiscreteLaplaceNoise, ExponentialNoise, KeptValue, Noise
from shared.privacy.noise import RandomisedResponseNoise as Reports

LAPLACE: Final = DiscreteLaplaceNoise(scale=5)
GAUSSIAN: Final = DiscreteGaussianNoise(scale=7)
EXPONENTIAL: Final = ExponentialNoise(scale=5, upper=20_000)
REPORTS: Final = Reports(kept=(KeptValue(column="group", probability="0.8"),))


def measured(
    favourable: Sequence[Sequence[int]],
    complement: Sequence[Sequence[int]],
    noise: Noise = LAPLACE,
    kind: ComplementKind = "unfavourable",
    supports: tuple[tuple[int, ...], tuple[int, ...]] | None = None,
    *,
    bounds: tuple[tuple[int, ...], tuple[int, ...]] | None = None,
) -> Measurement:
    """A measurement of groups "group 0", "group 1", …: as many as the counts have columns, and at least two."""
    groups = tuple((f"group {k}",) for k in range(max(len(complement[0]), 2)))
    return Measurement(
        groups,
        NoisyCounts.of(favourable, noise),
        NoisyCounts.of(complement, noise),
        kind,
        supports=None if supports is None else Supports(*supports),
        bounds=None if bounds is None else SizeBounds(*bounds),
    )
