"""One-sided geometric noise: the half of OpenDP's discrete Laplace noise that is not above 0."""

from collections.abc import Sequence
from dataclasses import dataclass

from holder_service.mechanisms.laplace import LaplaceMechanism
from shared.privacy.amounts import Loss
from shared.privacy.noise import OneSidedGeometricNoise


@dataclass(frozen=True, slots=True)
class OneSidedGeometricMechanism:
    """Add independent noise of 0, −1, −2, … to numbers: −k with probability (1 − q)·q^k, where q = e^(−1/scale).

    It is drawn by OpenDP as discrete Laplace noise of the same scale, again until it is not above 0. Noise of −k has
    probability (1 − q)/(1 + q)·q^k there, and all that are not above 0 have 1/(1 + q) together, at least half: so the
    quotient is exact, and two draws are enough on average. How often is drawn depends on the noise alone.

    A noisy number by itself is not private: 5 is impossible with noise on 4, and possible with noise on 5. What it
    keeps is two inequalities, for each Δ ≥ 0 and every x, on which `sparse_vector` rests:

        P[noise = x] ≤ e^(Δ/scale) · P[noise = x − Δ]   and   P[noise ≤ x] ≤ e^(Δ/scale) · P[noise ≤ x − Δ].

    Above 0 the left side of the first is 0; else its right side is as large exactly. P[noise ≤ x] is q^(−x) at x < 0
    and 1 from 0 on: it grows by a factor of at most 1/q at each step of 1. With Δ < 0 both are wrong.

    Attributes:
        two_sided: Draws; its loss for a shift by Δ is Δ/scale too.
    """

    two_sided: LaplaceMechanism

    @classmethod
    def calibrated(cls, *, epsilon_nano: int, sensitivity: int) -> "OneSidedGeometricMechanism":
        """The mechanism whose inequalities hold with exactly ε for shifts of at most `sensitivity`."""
        return cls(LaplaceMechanism.calibrated(epsilon_nano=epsilon_nano, sensitivity=sensitivity))

    @property
    def loss(self) -> Loss:
        """The cost of a shift in the direction that the inequalities allow."""
        return self.two_sided.loss

    @property
    def noise(self) -> OneSidedGeometricNoise:
        return OneSidedGeometricNoise(scale=self.two_sided.scale)

    def release(self, numbers: Sequence[int]) -> list[int]:
        """Numbers with noise, none of them above what it was."""
        noises: list[int] = []
        while len(noises) < len(numbers):
            draws = self.two_sided.release([0] * (2 * len(numbers) + 2))  # mostly enough: a call costs more than draws
            noises += [noise for noise in draws if noise <= 0]
        return [number + noise for number, noise in zip(numbers, noises, strict=False)]
