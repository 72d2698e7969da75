"""The exponential mechanism for a count, drawn exactly by rejection from discrete Laplace noise (2-privacy §4)."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

from opendp.measurements import make_laplace

from holder_service.mechanisms.base import nano_at_least
from holder_service.mechanisms.laplace import SPACE
from shared.privacy.amounts import NANO_PER_UNIT, Loss
from shared.privacy.noise import ExponentialNoise
from shared.privacy.zero_concentrated import bounded_range_rho_nano


@dataclass(frozen=True, slots=True)
class ExponentialMechanism:
    """Answer every count with a candidate r from 0 to `upper`, of mass proportional to exp(−|c − r|/s).

    c is the count clamped to 0..upper. Loss: pure ε. Proof: between neighbours at most m counts of a class of
    disjoint cells change, each by one person. Clamping moves no two counts further apart, so the utility −|c − r| of
    any candidate changes by at most 1. Then for a count that changes the weight exp(−|c − r|/s) of a candidate changes
    by a factor of at most e^(1/s), and so does the sum of all weights, by which it is divided: the probability changes
    by a factor of at most e^(2/s). The counts are drawn independently, so m of them change it by e^(2m/s) at most. The
    scale is s = 2m/ε, raised by as few ulps as make 2m/s at most ε as exact fractions; then exactly ε is charged.

    In ρ, zero-concentrated: ε²/8, because its range is bounded by ε. Proof: where a count changes by one, the logarithm
    of P(r)/P′(r) is (|c′ − r| − |c − r|)/s, between −1/s and 1/s, plus the logarithm of the ratio of the two sums of
    weights, which is the same for every candidate r. So over all candidates it varies by at most 2/s. The logarithm for
    all counts together is the sum over those that change, at most m, so it varies by at most 2m/s ≤ ε over all answers.

    Drawing: discrete Laplace noise of scale s around c, again until the sum lies within 0..upper. Given that it does,
    its mass is the one above. With `upper` ≥ 1/ε it does at least one time in nine (in five where m = 1).

    Source: McSherry, Talwar (2007); bounded range: Durfee, Rogers (2019); ρ: Cesar, Rogers (2021).

    Attributes:
        upper: The largest candidate, in people; public.
        counts_that_change: m, under the population's neighbouring relation.
        scale: s, in people.
    """

    upper: int
    counts_that_change: int
    scale: float
    _measurement: Callable[[Sequence[int]], list[int]]

    @classmethod
    def calibrated(cls, *, epsilon_nano: int, upper: int, counts_that_change: int) -> "ExponentialMechanism":
        """The mechanism that costs exactly ε."""
        return _calibrated(epsilon_nano, upper, counts_that_change)

    @property
    def loss(self) -> Loss:
        """2m/s, exactly."""
        return Loss(nano_at_least(2 * self.counts_that_change / Fraction(self.scale)))

    @property
    def rho_nano(self) -> int:
        """ε²/8."""
        return bounded_range_rho_nano(self.loss.epsilon_nano)

    @property
    def noise(self) -> ExponentialNoise:
        return ExponentialNoise(scale=self.scale, upper=self.upper)

    def release(self, counts: Sequence[int]) -> list[int]:
        """Candidates from 0 to `upper`, in people, as many as the true counts."""
        clamped = [min(max(count, 0), self.upper) for count in counts]
        answers = self._measurement(clamped)
        rejected = self._outside(answers, range(len(answers)))
        while rejected:
            for index, again in zip(rejected, self._measurement([clamped[index] for index in rejected]), strict=True):
                answers[index] = again
            rejected = self._outside(answers, rejected)
        return answers

    def _outside(self, answers: Sequence[int], indices: Sequence[int]) -> list[int]:
        return [index for index in indices if not 0 <= answers[index] <= self.upper]


@lru_cache(maxsize=1024)
def _calibrated(epsilon_nano: int, upper: int, counts_that_change: int) -> ExponentialMechanism:
    epsilon = Fraction(epsilon_nano, NANO_PER_UNIT)
    scale = 2 * counts_that_change * NANO_PER_UNIT / epsilon_nano
    while not Fraction(2 * counts_that_change) / Fraction(scale) <= epsilon:
        scale = math.nextafter(scale, math.inf)
    measurement: Any = make_laplace(*SPACE, scale=scale)
    return ExponentialMechanism(upper, counts_that_change, scale, measurement)
