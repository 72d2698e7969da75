"""Mironov's attack (2012): a floating-point Laplace sampler has holes, and they reveal the count.

The textbook sampler is scale · ln(u) with a sign, u a multiple of 2⁻⁵³. Between the doubles that it can reach lie
doubles that it cannot, and which those are depends on what the noise is added to: an answer that no u reaches from the
one count must come from the other, however large the noise is.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from holder_service.mechanisms.laplace import LaplaceMechanism
from shared.privacy.amounts import parse_nano

Doubles = npt.NDArray[np.float64]
_NEIGHBOURS = 12
"""How far from the nearest u one is looked for that rounds to the answer: more than rounding can move it."""


@dataclass(frozen=True, slots=True)
class Holes:
    """What holes reveal of a count of 0 or 1, equally likely before.

    Attributes:
        certain: The share of answers that only one of the counts reaches.
        accuracy: How often the attacker is right, who takes the nearer count where holes do not reveal it.
    """

    certain: float
    accuracy: float


def float_laplace(count: Doubles, scale: float, source: np.random.Generator) -> Doubles:
    """The textbook sampler: inverse of the distribution function, in doubles."""
    uniform = source.integers(1, 2**53, size=count.shape) * 2.0**-53
    sign = source.choice([-1.0, 1.0], size=count.shape)
    return np.asarray(count + sign * (scale * np.log(uniform)))


def reachable(answer: Doubles, count: float, scale: float) -> npt.NDArray[np.bool_]:
    """Which answers the textbook sampler can give on a count."""
    noise = answer - count
    nearest = np.rint(np.exp(-np.abs(noise) / scale) * 2.0**53)
    found = np.zeros(answer.shape, dtype=bool)
    for step in range(-_NEIGHBOURS, _NEIGHBOURS + 1):
        uniform = np.clip(nearest + step, 1, 2.0**53 - 1) * 2.0**-53
        found |= count + np.sign(noise) * -(scale * np.log(uniform)) == answer
    return found


def attack_float_noise(epsilon: float, answers: int) -> Holes:
    """Attack the textbook sampler."""
    source = np.random.default_rng()
    count = source.integers(0, 2, size=answers).astype(np.float64)
    noisy = float_laplace(count, 1 / epsilon, source)
    from_zero, from_one = (reachable(noisy, of, 1 / epsilon) for of in (0.0, 1.0))
    certain = from_zero != from_one
    guess = np.where(certain, from_one, noisy >= 0.5)
    return Holes(float(certain.mean()), float((guess == count).mean()))


def attack_integer_noise(epsilon: str, answers: int) -> Holes:
    """Attack the holder's sampler: every integer is reached from either count."""
    mechanism = LaplaceMechanism.calibrated(epsilon_nano=parse_nano(epsilon), sensitivity=1)
    count = np.random.default_rng().integers(0, 2, size=answers)
    noisy = mechanism.release(count.tolist())
    outside = sum(not isinstance(answer, int) for answer in noisy)
    return Holes(outside / answers, float(((np.array(noisy) >= 1) == count).mean()))
