"""Conversion of a zero-concentrated loss ρ to ε at a δ, and of a mechanism's loss to ρ (8-time §1).

ρ-zero-concentrated differential privacy bounds the Rényi divergence of every order α > 1 between neighbours by ρ·α.
Losses in ρ add up, whatever is asked next in view of the answers before. Amounts are integers of 10⁻⁹ and are always
rounded up.

Source: Bun, Steinke (2016), *Concentrated Differential Privacy: Simplifications, Extensions, and Lower Bounds*.
"""

import math
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

_NANO_PER_UNIT: Final = 10**9  # `amounts` has it too, and reads its losses by this file
_STEPS: Final = 12
_READ_UNIT_NANO: Final = 1000
"""Readings are rounded up to 10⁻⁶: far above what doubles err."""


def pure_rho_nano(epsilon_nano: int) -> int:
    """ρ of a mechanism of pure ε: ε²/2.

    Source: Bun, Steinke (2016), proposition 1.4.
    """
    return _up(epsilon_nano * epsilon_nano, 2 * _NANO_PER_UNIT)


def bounded_range_rho_nano(epsilon_nano: int) -> int:
    """ρ of a mechanism whose logarithm of P(r)/P′(r) varies by at most ε over all its answers r: ε²/8.

    Source: Cesar, Rogers (2021), *Bounding, Concentrating, and Truncating*.
    """
    return _up(epsilon_nano * epsilon_nano, 8 * _NANO_PER_UNIT)


@lru_cache(maxsize=4096)
def epsilon_nano_at(rho_nano: int, delta_nano: int) -> int:
    """The ε that a ρ is read as at a δ, rounded up to 10⁻⁶: what OpenDP's conversion gives.

    Every order α > 1 gives an ε that holds, α·ρ + log(1/δ)/(α − 1) + log(1 − 1/α) − log(α)/(α − 1); the smallest is
    where (α − 1)²·ρ = log(1/δ) − log α, which is found by putting α in on the right again and again.

    Raises:
        ValueError: δ is not between 0 and 1.

    Source: Canonne, Kamath, Steinke (2020), proposition 12.
    """
    if not 0 < delta_nano < _NANO_PER_UNIT:
        raise ValueError("A loss in rho is read at a delta between 0 and 1.")
    if rho_nano == 0:
        return 0
    rho, surprise, least = rho_nano / _NANO_PER_UNIT, math.log(_NANO_PER_UNIT / delta_nano), math.inf
    for above in _orders(rho, surprise):
        alpha = 1 + above
        least = min(least, alpha * rho + (surprise - math.log(alpha)) / above - math.log1p(1 / above))
    units = max(least, 0.0) * (1 + 1e-12) * _NANO_PER_UNIT / _READ_UNIT_NANO
    return math.ceil(units) * _READ_UNIT_NANO


def _orders(rho: float, surprise: float) -> Iterator[float]:
    """Orders to try, less 1: those near the best one; and 1/δ, where ρ is so small that no ε is needed."""
    yield math.expm1(surprise)
    above = math.sqrt(surprise / rho)
    for _ in range(_STEPS):
        yield above
        above = math.sqrt(max(surprise - math.log1p(above), surprise / 100) / rho)


def _up(dividend: int, divisor: int) -> int:
    return -(-dividend // divisor)
