"""The log likelihood ratio of an answer between two neighbouring registers, and its distribution.

It is the answer's privacy loss, and the statistic that separates the registers best (Neyman, Pearson). A bound does
not depend on that: any event would do, and a well-chosen one shows more.
"""

import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from shared.privacy.noise import DiscreteGaussianNoise, DiscreteLaplaceNoise, ExponentialNoise

NoiseOnCounts = DiscreteLaplaceNoise | DiscreteGaussianNoise | ExponentialNoise
Answer = tuple[int, ...]
"""The noisy counts that the person can change, in people."""

_DIGITS = 6


def log_likelihood(noise: NoiseOnCounts, answer: int, count: int) -> float:
    """The logarithm of the probability of an answer, given the true count."""
    if isinstance(noise, ExponentialNoise):
        return noise.log_likelihood(answer, count)
    return float(noise.log_mass(answer - count))


@dataclass(frozen=True, slots=True)
class LogLikelihoodRatio:
    """The privacy loss of answers for the first of two registers, against the second.

    Attributes:
        counts: Of each count that differs, the true one in the first register and in the second.
    """

    noise: NoiseOnCounts
    counts: tuple[tuple[int, int], ...]

    def of(self, answer: Answer) -> float:
        """The logarithm of how many times likelier an answer is from the first register, rounded to be compared."""
        loss = 0.0
        for noisy, (first, second) in zip(answer, self.counts, strict=True):
            loss = round(loss + self._of_count(noisy, first, second), _DIGITS)
        return loss

    def tally(self, answers: Iterable[Answer]) -> Counter[float]:
        """Return how often each loss came up."""
        tally: Counter[float] = Counter()
        for answer, times in Counter(answers).items():
            tally[self.of(answer)] += times
        return tally

    def distribution(self) -> dict[float, tuple[float, float]]:
        """Under the noise as stated, the probability of each loss from the first register and from the second."""
        losses: dict[float, tuple[float, float]] = {0.0: (1.0, 1.0)}
        for first, second in self.counts:
            joined: defaultdict[float, list[float]] = defaultdict(lambda: [0.0, 0.0])
            masses = self._masses(first, second)
            for (loss, before), (further, mass) in itertools.product(losses.items(), masses.items()):
                for side in (0, 1):
                    joined[round(loss + further, _DIGITS)][side] += before[side] * mass[side]
            losses = {loss: (mass[0], mass[1]) for loss, mass in joined.items()}
        return losses

    def _masses(self, first: int, second: int) -> dict[float, list[float]]:
        masses: defaultdict[float, list[float]] = defaultdict(lambda: [0.0, 0.0])
        for answer in self._answers(first, second):
            mass = masses[self._of_count(answer, first, second)]
            for side, count in enumerate((first, second)):
                mass[side] += math.exp(log_likelihood(self.noise, answer, count))
        return masses

    def _of_count(self, noisy: int, first: int, second: int) -> float:
        loss = log_likelihood(self.noise, noisy, first) - log_likelihood(self.noise, noisy, second)
        return round(loss, _DIGITS)

    def _answers(self, first: int, second: int) -> Sequence[int]:
        """All answers, but for some that have less than 10⁻¹⁵ together."""
        if isinstance(self.noise, ExponentialNoise):
            return range(self.noise.upper + 1)
        reach = math.ceil(self.noise.scale * (36 if isinstance(self.noise, DiscreteLaplaceNoise) else 9)) + 1
        return range(min(first, second) - reach, max(first, second) + reach + 1)
