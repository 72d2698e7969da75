"""What a mechanism is: a class that states its loss and adds its noise (2-privacy §4)."""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Protocol

from shared.privacy.amounts import NANO_PER_UNIT, Loss
from shared.privacy.noise import Noise


class Mechanism(Protocol):
    """Answers the counts of one class of disjoint cells with a loss that is known beforehand."""

    @property
    def loss(self) -> Loss:
        """What it costs, computed from the noise that it adds and from nothing that was asked of it.

        Rounded up to whole nano-units: so it is what was asked, or the calibration is wrong.
        """

    @property
    def rho_nano(self) -> int:
        """What it costs as ρ, zero-concentrated, in units of 10⁻⁹ and rounded up; from the noise that it adds."""

    @property
    def noise(self) -> Noise:
        """What a client has to know of the noise on each count."""

    def release(self, counts: Sequence[int]) -> list[int]:
        """As many noisy counts as true ones, all in people; any number of them."""


def nano_at_least(amount: float | Fraction) -> int:
    """The smallest whole number of 10⁻⁹ that is not below an amount."""
    return math.ceil(Fraction(amount) * NANO_PER_UNIT)
