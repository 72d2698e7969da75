"""How many more questions like one fit under what is left, with either noise at an equal variance (8-time §1).

An interval is as wide as the variance of the noise makes it, so noise of the same variance gives the same width. Both
parties count so: an auditor before it asks, and an administrator before the kind of an account is fixed.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from math import asinh, ceil, sqrt

from shared.privacy.amounts import (
    DELTA_NANO_MAX,
    EPSILON_NANO_MAX,
    EPSILON_NANO_MIN,
    NANO_PER_UNIT,
    RHO_NANO_MIN,
    RHO_NANO_SUM_MAX,
    Loss,
)
from shared.privacy.zero_concentrated import epsilon_nano_at, pure_rho_nano


@dataclass(frozen=True, slots=True)
class AskedNoise:
    """Noise of some variance on the counts of a batch, be it Laplace or Gaussian.

    Attributes:
        variance: In people squared.
        counts_that_change: With one person, by one.
        classes: Of disjoint cells, each of which is charged.
    """

    variance: float
    counts_that_change: int = 1
    classes: int = 1

    @property
    def laplace_nano(self) -> int:
        """ε of Laplace noise for one class: its variance is 1/(2 sinh²(ε/2)) where one count changes."""
        return round(2 * self.counts_that_change * asinh(sqrt(0.5 / self.variance)) * NANO_PER_UNIT)

    @property
    def gaussian_nano(self) -> int:
        """ρ of Gaussian noise for one class."""
        return ceil(self.counts_that_change * NANO_PER_UNIT / (2 * self.variance))


def times_within(loss: Loss, left: Loss) -> int:
    """Return how many times a loss fits into what is left of the same kind.

    Raises:
        ValueError: Nothing is lost, which fits any number of times.
    """
    if loss.is_nothing:
        raise ValueError("What costs nothing fits any number of times.")
    if loss.rho_nano is not None or left.rho_nano is not None:
        return (left.rho_nano or 0) // loss.rho_nano if loss.rho_nano else 0
    pairs = (left.epsilon_nano, loss.epsilon_nano), (left.delta_nano, loss.delta_nano)
    return min(limit // one for limit, one in pairs if one)


def laplace_times(asked: Sequence[AskedNoise], left: Loss) -> int:
    """Return how many questions with Laplace noise on all of their batches fit."""
    if left.rho_nano is not None:
        return left.rho_nano // sum(one.classes * pure_rho_nano(one.laplace_nano) for one in asked)
    return left.epsilon_nano // sum(one.classes * one.laplace_nano for one in asked)


def gaussian_times(asked: Sequence[AskedNoise], left: Loss) -> int:
    """How many with Gaussian noise fit; where ε and δ are added up, each class of each has an equal share of δ."""
    if left.rho_nano is not None:
        return left.rho_nano // sum(one.classes * max(one.gaussian_nano, RHO_NANO_MIN) for one in asked)
    classes = sum(one.classes for one in asked)

    def exceeds(times: int) -> bool:
        delta_nano = min(left.delta_nano // (times * classes), DELTA_NANO_MAX)
        if not delta_nano:
            return True
        needed = [max(epsilon_nano_at(one.gaussian_nano, delta_nano), EPSILON_NANO_MIN) for one in asked]
        epsilon_nano = sum(one.classes * each for one, each in zip(asked, needed, strict=True))
        return max(needed) > EPSILON_NANO_MAX or times * epsilon_nano > left.epsilon_nano

    return bisect_left(range(1, left.epsilon_nano // EPSILON_NANO_MIN + 1), True, key=exceeds)


def rho_nano_read_as(epsilon_nano: int, delta_nano: int) -> int:
    """The largest ρ, in units of 10⁻⁹, that is read as at most an ε at a δ."""
    rhos = range(RHO_NANO_SUM_MAX + 1)
    return bisect_right(rhos, epsilon_nano, key=lambda rho_nano: epsilon_nano_at(rho_nano, delta_nano)) - 1
