"""A private choice of one candidate, drawn by OpenDP (7-training §2)."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

from opendp.domains import atom_domain, vector_domain
from opendp.measurements import make_noisy_max
from opendp.measures import max_divergence
from opendp.metrics import linf_distance
from opendp.mod import enable_features

from holder_service.mechanisms.base import nano_at_least
from shared.privacy.amounts import NANO_PER_UNIT, Loss
from shared.privacy.zero_concentrated import pure_rho_nano

enable_features("contrib")


@dataclass(frozen=True, slots=True)
class ChoiceMechanism:
    """Choose, of each of several disjoint sets of people, the candidate whose score is largest after noise.

    Scores are whole numbers, and are *monotone*: one person more raises every candidate's score by 0 or by 1, or
    lowers every one so. Loss of one such change: pure ε = 1/scale. Each of m people who may come or go between
    neighbours changes the scores of one set alone, so the loss is m/scale.

    Permute-and-flip, which is never worse than the exponential mechanism: McKenna, Sheldon (2020); monotone scores:
    McSherry, Talwar (2007).

    Attributes:
        people_that_change: m: one who comes or goes, or two where one takes the place of another.
        scale: Of the noise on a score.
    """

    people_that_change: int
    scale: float
    _measurement: Callable[[Sequence[int]], int]

    @classmethod
    def calibrated(cls, *, epsilon_nano: int, people_that_change: int) -> "ChoiceMechanism":
        """The mechanism that costs exactly ε."""
        return _calibrated(epsilon_nano, people_that_change)

    @property
    def loss(self) -> Loss:
        """By OpenDP's map of what draws the noise."""
        measurement: Any = self._measurement
        return Loss(self.people_that_change * nano_at_least(measurement.map(1)))

    @property
    def rho_nano(self) -> int:
        """ε²/2: permute-and-flip is of no bounded range (`shared.privacy.charges.step_rho_nano`)."""
        return pure_rho_nano(self.loss.epsilon_nano)

    def choose(self, scores: Sequence[Sequence[int]]) -> list[int]:
        """The index of the candidate that was chosen of each set, given the scores of each set's candidates."""
        return [self._measurement(list(of_set)) for of_set in scores]


@lru_cache(maxsize=1024)
def _calibrated(epsilon_nano: int, people_that_change: int) -> ChoiceMechanism:
    each = epsilon_nano // people_that_change
    scale = NANO_PER_UNIT / each
    space = vector_domain(atom_domain(T="i64")), linf_distance(T="i64", monotonic=True)
    measurement: Any = make_noisy_max(*space, max_divergence(), scale=scale)
    while not Fraction(measurement.map(1)) <= Fraction(each, NANO_PER_UNIT):
        scale = math.nextafter(scale, math.inf)
        measurement = make_noisy_max(*space, max_divergence(), scale=scale)
    return ChoiceMechanism(people_that_change, scale, measurement)
