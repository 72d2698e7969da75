"""The discrete Laplace mechanism, drawn by OpenDP (2-privacy §4)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, Final

from opendp.domains import atom_domain, vector_domain
from opendp.measurements import make_laplace
from opendp.metrics import l1_distance
from opendp.mod import enable_features

from holder_service.mechanisms.base import nano_at_least
from shared.privacy.amounts import NANO_PER_UNIT, Loss
from shared.privacy.noise import DiscreteLaplaceNoise
from shared.privacy.zero_concentrated import pure_rho_nano

# Not opendp.prelude: it imports scikit-learn and pandas where they are installed, seconds at every start.
enable_features("contrib")

SPACE: Final = vector_domain(atom_domain(T="i64")), l1_distance(T="i64")


@dataclass(frozen=True)  # without slots: its loss is worked out once, as it is itself
class LaplaceMechanism:
    """Add independent discrete Laplace noise to every count of a batch of disjoint cells.

    Loss: pure ε = L1/scale, where L1 is how far the batch's counts of one class of disjoint cells can
    move between neighbours. The scale is L1/ε, raised by as few ulps as make OpenDP's own map at most
    ε as exact fractions; then exactly ε is charged.

    In ρ, zero-concentrated: ε²/2, as of any mechanism of pure ε.

    Source: Ghosh, Roughgarden, Sundararajan (2009); sampler: Canonne, Kamath, Steinke (2020), in OpenDP.

    Attributes:
        sensitivity: L1 under the population's neighbouring relation, in people.
        scale: Of the noise, in people.
    """

    sensitivity: int
    scale: float
    _measurement: Any

    @classmethod
    def calibrated(cls, *, epsilon_nano: int, sensitivity: int) -> "LaplaceMechanism":
        """The mechanism that costs exactly ε; kept, because building one costs more than a small draw."""
        return _calibrated(epsilon_nano, sensitivity)

    @cached_property
    def loss(self) -> Loss:
        """By OpenDP's map of what draws the noise."""
        return Loss(nano_at_least(self._measurement.map(self.sensitivity)))

    @cached_property
    def rho_nano(self) -> int:
        """ε²/2."""
        return pure_rho_nano(self.loss.epsilon_nano)

    @property
    def noise(self) -> DiscreteLaplaceNoise:
        return DiscreteLaplaceNoise(scale=self.scale)

    def release(self, counts: Sequence[int]) -> list[int]:
        """Noisy counts, in people, from true ones; they may be negative."""
        answers: list[int] = self._measurement(counts)
        return answers


@lru_cache(maxsize=1024)
def _calibrated(epsilon_nano: int, sensitivity: int) -> LaplaceMechanism:
    epsilon = Fraction(epsilon_nano, NANO_PER_UNIT)
    scale = sensitivity * NANO_PER_UNIT / epsilon_nano
    measurement: Any = make_laplace(*SPACE, scale=scale)
    while not Fraction(measurement.map(sensitivity)) <= epsilon:
        scale = math.nextafter(scale, math.inf)
        measurement = make_laplace(*SPACE, scale=scale)
    return LaplaceMechanism(sensitivity, scale, measurement)
