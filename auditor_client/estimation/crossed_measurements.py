"""What one release measured of two models together: noisy counts of disjoint cells, and what either decides of them."""

from collections.abc import Collection
from dataclasses import dataclass, replace

from auditor_client.errors import EstimationRefused
from auditor_client.estimation.measurements import NoisyCounts
from shared.contract.schema import Group


@dataclass(frozen=True, slots=True)
class Sides:
    """The cells that a model accepts and those that it refuses, by their indices; others have no part in its rate."""

    accepted: tuple[int, ...]
    refused: tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class CrossedMeasurement:
    """Noisy counts of K groups by both decisions: whom both models accept, only one of them, or neither.

    Attributes:
        groups: In the release's order.
        cells: Histograms of disjoint cells, shape (R, K) each; the R counts of one are added up.
        first: What one model decides.
        second: What the other decides.
    """

    groups: tuple[Group, ...]
    cells: tuple[NoisyCounts, ...]
    first: Sides
    second: Sides

    def __post_init__(self) -> None:
        if {cell.counts.shape[1:] for cell in self.cells} != {(len(self.groups),)}:
            raise EstimationRefused("The answer's counts do not fit its groups: do not use it.")

    def without(self, groups: Collection[Group]) -> "CrossedMeasurement":
        """The same of the other groups alone."""
        indices = [index for index, group in enumerate(self.groups) if group not in groups]
        cells = tuple(NoisyCounts(cell.counts[:, indices], cell.noise) for cell in self.cells)
        return replace(self, groups=tuple(self.groups[index] for index in indices), cells=cells)
