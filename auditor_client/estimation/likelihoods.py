"""The likelihood of an answered total, for every true count: what the posterior knows of the noise (2-privacy §4).

Here for noise that is added, whatever the count is. The distribution of the exponential mechanism's answers depends on
the count: see `exponential_likelihood`. Of several independent answers about the same counts: see `joined_answers`.

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

    def lower_tail_probability(self, count: IntArray) -> FloatArray:
        """Return how likely a count, of shape (K,) in people, is answered so low, shape (T, K)."""
        return self.noise.at_least(count - self.answers)


def proposed_from_table(
    start: IntArray, table: FloatArray, bounds: tuple[IntArray, IntArray], points: FloatArray
) -> tuple[IntArray, FloatArray]:
    """Propose counts from tables of their likelihood, with tails twice as heavy.

    Args:
        start: The first count of each table, shape (T, K).
        table: The log-likelihood of counts from there on, shape (T, K, W), at most zero; minus infinity where
            impossible.
        bounds: The smallest and the largest possible counts, shape (T, K, 1) or (T, K, M) each.
        points: Within (0, 1), shape (M,).

    Returns:
        Counts, shape (T, K, M), and the log of their likelihood over their proposal mass, the same shape.
    """
    (releases, groups, width), (minimum, maximum) = table.shape, bounds
    tempered = np.cumsum(np.exp(0.5 * table), axis=-1)
    rows = np.arange(releases * groups).reshape(releases, groups, 1)
    whole = tempered[..., -1:]
    first = np.clip(minimum - start[..., None], 0, width - 1)
    below = np.where(first > 0, np.take_along_axis(tempered, np.maximum(first - 1, 0), axis=-1), 0.0)
    last = np.clip(maximum - start[..., None], first, width - 1)
    mass = np.maximum(np.take_along_axis(tempered, last, axis=-1) - below, np.finfo(np.float64).tiny)
    # One search over all rows at once: row r's cumulated shares lie in (r, r + 1].
    shares = (tempered / whole + rows).ravel()
    columns = np.searchsorted(shares, (below + points * mass) / whole + rows) - rows * width
    columns = np.clip(columns, first, last)
    log_weight = 0.5 * np.take_along_axis(table, columns, axis=-1) + np.log(mass)
    return np.clip(start[..., None] + columns, minimum, maximum), log_weight
