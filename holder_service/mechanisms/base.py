"""What a mechanism is: a class that states its loss and adds its noise (2-privacy §4)."""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Protocol

from shared.contract.shares import noisy_word
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


def noisy_words(mechanism: Mechanism, words: Sequence[int]) -> list[str]:
    """Halves of counts with the full noise of a mechanism, modulo 2⁶⁴.

    The noise is drawn by itself, about nobody, and added modulo 2⁶⁴: a sampler's own addition would stop at the largest
    integer. Each of two holders adds it, so that one alone is enough to keep ε.

    Args:
        mechanism: One that adds noise that does not depend on the count.
        words: This holder's halves, as any integers that stand for them modulo 2⁶⁴.
    """
    return [noisy_word(word, noise) for word, noise in zip(words, mechanism.release([0] * len(words)), strict=True)]


def nano_at_least(amount: float | Fraction) -> int:
    """The smallest whole number of 10⁻⁹ that is not below an amount."""
    return math.ceil(Fraction(amount) * NANO_PER_UNIT)
