"""How likely an answered total is, for every true count: what the posterior knows of the noise (2-privacy §4).

Here for noise that is added, whatever the count is. The distribution of the exponential mechanism's answers depends on
the count: see `exponential_likelihood`.

Axes: T releases, K groups, G some of them, M draws.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from auditor_client.estimation.measurements import IntArray
from auditor_client.estimation.noise_sums import FloatArray, NoiseSum


@dataclass(frozen=True, slots=True, eq=False)
class AdditiveAnswers:
    """Answers that are true counts plus independent noise, shape (T, K), in people."""

    answers: IntArray
    noise: NoiseSum

    @property
    def estimate(self) -> FloatArray:
        """The answers themselves, shape (T, K), in people: the noise has mean zero."""
        return self.answers.astype(np.float64)

    @property
    def deviation(self) -> float:
        """The standard deviation of the noise, in people."""
        return self.noise.deviation

    def propose(self, minimum: IntArray, maximum: IntArray, points: FloatArray) -> tuple[IntArray, FloatArray]:
        """Propose counts from the likelihood with tails twice as heavy.

        An answer so far outside that the table ends is taken to its end: the posterior of the count hardly
        depends on it then, and for a single Laplace noise not at all.

        Args:
            minimum: The smallest possible counts, shape (T, K, 1) or (T, K, M).
            maximum: The largest, likewise; not below the smallest.
            points: Within (0, 1), shape (M,).

        Returns:
            Counts, shape (T, K, M), and the log of their likelihood over their proposal mass, the same shape.
        """
        noise = self.noise
        largest = np.maximum(self.answers[..., None] - minimum, -noise.reach)
        last, first = noise.index(largest), noise.index(largest - (maximum - minimum))
        below = np.where(first > 0, noise.tempered[first - 1], 0.0)
        mass = np.maximum(noise.tempered[last] - below, np.finfo(np.float64).tiny)
        columns = np.clip(np.searchsorted(noise.tempered, below + points * mass), first, last)
        counts = np.minimum(minimum + largest + noise.reach - columns, maximum)
        return counts, 0.5 * noise.log_mass[columns] + np.log(mass)

    def log_likelihood(self, counts: IntArray, groups: NDArray[np.intp]) -> FloatArray:
        """The log mass of the noise between answers and counts of some groups, shape (T, G, M)."""
        likelihood: FloatArray = self.noise.log_mass[self.noise.index(self.answers[:, groups, None] - counts)]
        return likelihood

    def tail_probability(self, count: IntArray | int = 0) -> FloatArray:
        """How likely a count, of shape (T, 1) in people, is answered so high, shape (T, K); by default nobody."""
        return self.noise.at_least(self.answers - count)
