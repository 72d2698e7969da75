"""The discrete Gaussian mechanism, drawn by OpenDP (2-privacy §4)."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, Final

from opendp.combinators import make_zCDP_to_approxDP
from opendp.domains import atom_domain, vector_domain
from opendp.measurements import make_gaussian
from opendp.metrics import l2_distance
from opendp.mod import enable_features

from holder_service.mechanisms.base import nano_at_least
from shared.privacy.amounts import NANO_PER_UNIT, Loss
from shared.privacy.noise import DiscreteGaussianNoise

enable_features("contrib")

_SPACE: Final = vector_domain(atom_domain(T="i64")), l2_distance(T="f64")
_TOLERANCE: Final = 1e-12


@dataclass(frozen=True)  # without slots: its loss is worked out once, as it is itself
class GaussianMechanism:
    """Add independent discrete Gaussian noise to every count of a batch of disjoint cells.

    Loss: ρ = L2²/(2σ²) of zero-concentrated differential privacy, and by OpenDP's conversion (ε, δ). σ is at
    most 10⁻¹² of itself above the smallest at which the conversion's δ at ε is at most the δ charged, in exact
    fractions; exactly (ε, δ) is charged. It holds for every ε, not only below 1 as the textbook's
    formula does. Where ρ is asked for, σ is L2/√(2ρ), raised by as few ulps as make OpenDP's own map at most ρ as exact
    fractions; then exactly ρ is charged.

    Source: Canonne, Kamath, Steinke (2020), theorem 14 and corollary 13; sampler of the same, in OpenDP.

    Attributes:
        epsilon_nano: ε, in units of 10⁻⁹; a scale belongs to many pairs of ε and δ. `None` where ρ was asked for.
        squared_sensitivity: L2² under the population's neighbouring relation: how many counts change by one person.
        scale: σ of the noise, in people.
    """

    epsilon_nano: int | None
    squared_sensitivity: int
    scale: float
    _measurement: Any

    @classmethod
    def calibrated(cls, *, loss: Loss, squared_sensitivity: int) -> "GaussianMechanism":
        """The mechanism that costs (ε, δ), or ρ; kept, because finding σ takes some."""
        return (_calibrated if loss.rho_nano is None else _calibrated_in_rho)(loss, squared_sensitivity)

    @cached_property
    def loss(self) -> Loss:
        """ε, and δ at it by OpenDP's map of what draws the noise; ρ where that was asked for."""
        if self.epsilon_nano is None:
            return Loss.of_rho(self.rho_nano)
        delta = _delta(self._measurement, self.epsilon_nano, self.squared_sensitivity)
        return Loss(self.epsilon_nano, nano_at_least(delta))

    @cached_property
    def rho_nano(self) -> int:
        """L2²/(2σ²), by OpenDP's map of what draws the noise."""
        return nano_at_least(_rho(self._measurement, self.squared_sensitivity))

    @property
    def noise(self) -> DiscreteGaussianNoise:
        return DiscreteGaussianNoise(scale=self.scale)

    def release(self, counts: Sequence[int]) -> list[int]:
        """Noisy counts, in people, from true ones; they may be negative."""
        answers: list[int] = self._measurement(counts)
        return answers


@lru_cache(maxsize=1024)
def _calibrated(loss: Loss, squared_sensitivity: int) -> GaussianMechanism:
    charged = Fraction(loss.delta_nano, NANO_PER_UNIT)

    def relative_delta(scale: float) -> Fraction:
        return _delta(make_gaussian(*_SPACE, scale=scale), loss.epsilon_nano, squared_sensitivity) / charged

    near = _at_least_root(squared_sensitivity) / _at_most(Fraction(loss.epsilon_nano, NANO_PER_UNIT))
    scale = _smallest_scale(relative_delta, near=near)
    return GaussianMechanism(loss.epsilon_nano, squared_sensitivity, scale, make_gaussian(*_SPACE, scale=scale))


@lru_cache(maxsize=1024)
def _calibrated_in_rho(loss: Loss, squared_sensitivity: int) -> GaussianMechanism:
    rho = Fraction(loss.rho_nano or 0, NANO_PER_UNIT)
    scale = math.sqrt(squared_sensitivity / (2 * rho))
    measurement: Any = make_gaussian(*_SPACE, scale=scale)
    while not _rho(measurement, squared_sensitivity) <= rho:
        scale = math.nextafter(scale, math.inf)
        measurement = make_gaussian(*_SPACE, scale=scale)
    return GaussianMechanism(None, squared_sensitivity, scale, measurement)


def _rho(measurement: Any, squared_sensitivity: int) -> Fraction:
    """ρ by OpenDP's map of discrete Gaussian noise."""
    return Fraction(measurement.map(_at_least_root(squared_sensitivity)))


def _delta(measurement: Any, epsilon_nano: int, squared_sensitivity: int) -> Fraction:
    """δ at an ε, by OpenDP's conversion of the ρ of discrete Gaussian noise."""
    epsilon = _at_most(Fraction(epsilon_nano, NANO_PER_UNIT))
    approximate: Any = make_zCDP_to_approxDP(measurement)
    return Fraction(approximate.map(_at_least_root(squared_sensitivity)).delta(epsilon))


def _smallest_scale(loss: Callable[[float], Fraction], *, near: float) -> float:
    """A scale at which a falling loss is at most 1, and hardly larger than it has to be.

    The logarithm of the loss is nearly straight against that of the scale, so false position (in the Illinois
    variant, in which neither end is stuck) takes a quarter of the steps that halving would.
    """
    low = high = near
    while (at_low := _log(loss(low))) <= 0:
        low /= 2
    while (at_high := _log(loss(high))) > 0:
        high *= 2
    moved = ""
    while high > low * (1 + _TOLERANCE):
        straight = low * (high / low) ** (at_low / (at_low - at_high))
        middle = min(max(straight, low * (1 + _TOLERANCE / 2)), high * (1 - _TOLERANCE / 2))
        at_middle = _log(loss(middle))
        if at_middle > 0:
            low, at_low, at_high = middle, at_middle, at_high / (2 if moved == "low" else 1)
            moved = "low"
        else:
            high, at_high, at_low = middle, at_middle, at_low / (2 if moved == "high" else 1)
            moved = "high"
    return high


def _log(loss: Fraction) -> float:
    """The logarithm of a loss, above 0 exactly if the loss is above 1: rounded to a double first, it might not be."""
    return math.log1p(float(loss - 1)) if 2 * loss > 1 else math.log(loss)


def _at_least_root(square: int) -> float:
    """The smallest double whose exact square is not below."""
    root = math.sqrt(square)
    return root if Fraction(root) ** 2 >= square else math.nextafter(root, math.inf)


def _at_most(exact: Fraction) -> float:
    """The largest double that is not above."""
    near = float(exact)
    return near if Fraction(near) <= exact else math.nextafter(near, 0)
