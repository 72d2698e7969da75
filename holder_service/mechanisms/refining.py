"""A finer answer that follows an earlier one, so that both together lose what the finer one does (8-time §2)."""

import math
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Self

from holder_service.mechanisms.base import Mechanism
from holder_service.mechanisms.exact_draws import Uniform, coin, geometric
from holder_service.mechanisms.laplace import LaplaceMechanism
from shared.privacy.amounts import Loss
from shared.privacy.noise import DiscreteLaplaceNoise, Noise


@dataclass(frozen=True, slots=True)
class RefinedLaplaceMechanism:
    """Answer counts again with less noise, given what they were answered before.

    Loss of both answers together, and of all that the earlier one refined: that of the finer one, pure ε₂. With
    αᵢ = e^(−1/scaleᵢ), α₁ > α₂, the noise N₁ of the earlier answer is the finer noise N₂ plus a number Z that depends
    on nothing: Z is 0 with probability w = ((1 − α₁)/(1 − α₂))²·α₂/α₁, and else discrete Laplace with α₁. So the
    earlier answer is a post-processing of the finer one.

    Proof: the generating function of discrete Laplace noise is Gᵢ(z) = (1 − αᵢ)²/Dᵢ, Dᵢ = (1 − αᵢz)(1 − αᵢ/z). Since
    D₂ = (α₂/α₁)·D₁ + (1 − α₂/α₁)(1 − α₁α₂), the quotient G₁/G₂ is w + (1 − w)·G₁, with 1 − w = (1 − α₂/α₁)(1 −
    α₁α₂)/(1 − α₂)²: Z's generating function, of two weights that are not negative.

    The finer noise is drawn last, from its law given the first (`FineNoise`). Then the two have the joint law of N₂ + Z
    and N₂, whichever is drawn first. Of a longer chain each answer is drawn given the one before it alone, which is its
    law given all of them, because Z is independent of everything. So for records D and D′, and any course of questions
    in which a chain was refined k times, the likelihood of its answers is P(Aₖ | D) times a factor that no record is
    in, and moves by at most e^(εₖ) between neighbours, wherever the caller stops.

    It rests on the counts being the same: the same version of the records, cells and groups. And on one finer answer of
    each: two of one earlier answer lose 2·ε₂ + ε₁ together, where 2·ε₂ − ε₁ would be charged.

    Source: Koufogiannis, Han, Pappas (2015), *Gradual release of sensitive data under differential privacy*, of which
    this is the discrete form.

    Attributes:
        coarse: What drew the answers.
        fine: What draws the noise that remains, if nothing was answered before.
        answers: The earlier answer to each count, in people, as it left.
    """

    coarse: LaplaceMechanism
    fine: LaplaceMechanism
    answers: tuple[int, ...]

    def __post_init__(self) -> None:
        if self.coarse.sensitivity != self.fine.sensitivity:
            raise ValueError("The two answers are not about the same counts.")

    @property
    def loss(self) -> Loss:
        """Of this answer and of all that it refines, together."""
        return self.fine.loss

    @property
    def rho_nano(self) -> int:
        """The same in ρ, where nothing is refined for the difference (docs/adr/0048)."""
        return self.fine.rho_nano

    @property
    def noise(self) -> DiscreteLaplaceNoise:
        return self.fine.noise

    def release(self, counts: Sequence[int]) -> list[int]:
        """Noisy counts, in people, from the true ones that were answered before.

        Raises:
            ValueError: Other counts were answered before.
        """
        noise = FineNoise.between(self.coarse, self.fine)
        return [count + noise.draw(answer - count) for count, answer in zip(counts, self.answers, strict=True)]


@dataclass(frozen=True, slots=True)
class FineNoise:
    """The law of the finer noise given the first, drawn exactly from uniform integers.

    αᵢ = e^(−rateᵢ/unit), of integers. Write q = α₁α₂, r = α₂/α₁ and let the first noise be m ≥ 0 (else turn both
    round). By the joint law above the finer noise is n with probability α₂^|n|·P(Z = m − n) over its sum, which is

        (1 − q)(1 − r)/(1 − qr) times  q^|n| for n < 0,  r^n for 0 ≤ n < m,  r^m·q^(n − m) for n > m,

    and the rest at m. Drawing: X and Y are geometric, P(X = k) ∝ q^k and P(Y = k) ∝ r^k, and n = Y − X. That is n with
    (1 − q)(1 − r)/(1 − qr) times q^|n| below zero and r^n from there on. An n above m stays with probability
    α₁^(2(n − m)), which makes r^n to r^m·q^(n − m), because r·α₁² = q; otherwise it becomes m.

    Attributes:
        coarse_rate: Of the first noise; positive.
        fine_rate: Of the finer noise; larger.
        unit: What both rates are divided by.
    """

    coarse_rate: int
    fine_rate: int
    unit: int

    def __post_init__(self) -> None:
        if not (0 < self.coarse_rate < self.fine_rate and self.unit > 0):
            raise ValueError("Finer noise has a smaller scale than the noise that it refines.")

    @classmethod
    def between(cls, coarse: LaplaceMechanism, fine: LaplaceMechanism) -> Self:
        """The law for the two scales as they are, each of which is a fraction."""
        rates = [1 / Fraction(mechanism.scale) for mechanism in (coarse, fine)]
        unit = math.lcm(*[rate.denominator for rate in rates])
        coarse_rate, fine_rate = (int(rate * unit) for rate in rates)
        return cls(coarse_rate, fine_rate, unit)

    def draw(self, first: int, uniform: Uniform = secrets.randbelow) -> int:
        """Finer noise, in people, given the first.

        Args:
            first: Earlier answer less true count, in people.
            uniform: The random source; another than the operating system's in tests alone.
        """
        side, reach = (-1 if first < 0 else 1), abs(first)
        towards = geometric(self.fine_rate - self.coarse_rate, self.unit, uniform)
        away = geometric(self.fine_rate + self.coarse_rate, self.unit, uniform)
        noise = towards - away
        if noise > reach and not coin(2 * self.coarse_rate * (noise - reach), self.unit, uniform):
            noise = reach
        return side * noise


@dataclass(frozen=True, slots=True)
class KeptMechanism:
    """Answer as before: what a batch that is asked again at its own ε says in a plan that refines another.

    Loss: that of the earlier answer, which nothing is added to.
    """

    mechanism: Mechanism
    answers: tuple[int, ...]

    @property
    def loss(self) -> Loss:
        return self.mechanism.loss

    @property
    def rho_nano(self) -> int:
        return self.mechanism.rho_nano

    @property
    def noise(self) -> Noise:
        return self.mechanism.noise

    def release(self, counts: Sequence[int]) -> list[int]:
        """The earlier answers, in people.

        Raises:
            ValueError: Other counts were answered before.
        """
        return [answer for _, answer in zip(counts, self.answers, strict=True)]


def refined(fine: Mechanism, coarse: Mechanism, answers: tuple[int, ...]) -> Mechanism:
    """Return what answers a batch again that `coarse` answered, at the loss of `fine` for both together.

    Raises:
        ValueError: Its noise cannot be refined.
    """
    if (fine.loss, fine.noise) == (coarse.loss, coarse.noise):
        return KeptMechanism(fine, answers)
    if isinstance(fine, LaplaceMechanism) and isinstance(coarse, LaplaceMechanism):
        return RefinedLaplaceMechanism(coarse, fine, answers)
    raise ValueError("Discrete Laplace noise alone can be refined.")
