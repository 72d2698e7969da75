"""How likely an answered total is, for every true count: what the posterior knows of the noise.

Two kinds: noise that is added, whatever the count is, and the exponential mechanism's answers, whose
distribution depends on it (2-privacy §4).

The exponential mechanism answers within 0..upper, so an answer for a nearly empty cell is too large on
average, and a sum of such answers says little without an assumption about how a group's people spread over
the cells. Here they may spread evenly or stand in a few cells alone: four Dirichlet-multinomial distributions, of which
the answers themselves choose. The likelihood of a total is the mean over them all. It is a convolution of the cells'
weighted likelihoods, computed with an exponential tilt that moves the rounding errors away from where the mass is.
"""

import math
from dataclasses import dataclass
from typing import Final, Protocol, Self

import numpy as np
from numpy.typing import NDArray
from scipy.fft import irfft, next_fast_len, rfft
from scipy.special import gammaln
from scipy.stats import nbinom

from auditor_client.estimation.measurements import IntArray
from auditor_client.estimation.noise_sums import FloatArray, NoiseSum
from shared.noise import DiscreteLaplaceNoise, ExponentialNoise

_REACH_SCALES: Final = 20.0
"""An answer is farther off than so many scales less than once in 10⁸."""
_WINDOW_DEVIATIONS: Final = 8.0
_TILT_STEPS: Final = 6
EVENNESS: Final = (1.0, 0.1, 0.01, 0.001)
"""How evenly people may spread over cells, as the parameter of each distribution; at 1 every way is as likely."""
_UNEVEN: Final = 0.1
"""How likely each uneven distribution is beside the even one, before the answers are known, from so many cells on."""
_TELLING_CELLS: Final = 20
_CELLS_AT_ONCE: Final = 64


class CountLikelihood(Protocol):
    """The likelihood of true counts of K groups, given what was answered about them in T releases."""

    @property
    def answers(self) -> IntArray:
        """What was answered, shape (T, K), in people."""

    @property
    def deviation(self) -> float:
        """The standard deviation of an answer, in people."""

    def propose(self, least: IntArray, points: FloatArray) -> tuple[IntArray, FloatArray]:
        """Propose counts from the likelihood with tails twice as heavy.

        Args:
            least: The least possible counts, shape (T, K, 1) or (T, K, M).
            points: Within (0, 1), shape (M,).

        Returns:
            Counts, shape (T, K, M), and the log of their likelihood over their proposal mass.
        """

    def log_likelihood(self, counts: IntArray, groups: NDArray[np.intp]) -> FloatArray:
        """Of counts of some groups, shape (T, G, M), up to a constant for each group."""

    def as_large(self) -> FloatArray:
        """How likely an answer at least as large is if the true count is zero, shape (T, K)."""


@dataclass(frozen=True, slots=True, eq=False)
class AdditiveAnswers:
    """Answers that are true counts and independent noise.

    Attributes:
        answers: Shape (T, K), in people.
        noise: What was added to each.
    """

    answers: IntArray
    noise: NoiseSum

    @property
    def deviation(self) -> float:
        """Of the noise, in people."""
        return self.noise.deviation

    def propose(self, least: IntArray, points: FloatArray) -> tuple[IntArray, FloatArray]:
        """See `CountLikelihood`. An answer so far below the least count that the table ends is taken to its end:
        the posterior of the count hardly depends on it then, and for a single Laplace noise not at all.
        """
        noise = self.noise
        largest = np.maximum(self.answers[..., None] - least, -noise.reach)
        room = noise.tempered[noise.index(largest)]
        places = np.searchsorted(noise.tempered, points * room)
        return least + largest + noise.reach - places, 0.5 * noise.log_mass[places] + np.log(room)

    def log_likelihood(self, counts: IntArray, groups: NDArray[np.intp]) -> FloatArray:
        """See `CountLikelihood`."""
        likelihood: FloatArray = self.noise.log_mass[self.noise.index(self.answers[:, groups, None] - counts)]
        return likelihood

    def as_large(self) -> FloatArray:
        """See `CountLikelihood`."""
        return self.noise.at_least(self.answers)


@dataclass(frozen=True, slots=True, eq=False)
class ExponentialAnswers:
    """Sums over R cells of the exponential mechanism's answers.

    Attributes:
        answers: Shape (T, K), in people.
        cells: R.
        noise: Of each cell's answer.
        start: The first count of each group's table, shape (T, K).
        table: The log-likelihood of counts from `start` on, shape (T, K, W); minus infinity where impossible.
        tempered: The cumulated square root of the likelihood, the same shape.
    """

    answers: IntArray
    cells: int
    noise: ExponentialNoise
    start: IntArray
    table: FloatArray
    tempered: FloatArray

    @classmethod
    def of(cls, answers: IntArray, noise: ExponentialNoise) -> Self:
        """Tabulate the likelihood of every total.

        Args:
            answers: The cells' answers, shape (T, R, K), in people. Where the second of two groups has what the
                first leaves of the supports they may be negative, and count as zero.
            noise: Of each.
        """
        answers = np.maximum(answers, 0)
        releases, cells, groups = answers.shape
        found = [[_of_total(answers[t, :, k], noise) for k in range(groups)] for t in range(releases)]
        width = max(len(table) for row in found for _, table in row)
        table = np.full((releases, groups, width), -np.inf)
        for t, row in enumerate(found):
            for k, (_, of_group) in enumerate(row):
                table[t, k, : len(of_group)] = of_group - of_group.max()
        start = np.array([[first for first, _ in row] for row in found], dtype=np.int64)
        return cls(answers.sum(axis=1), cells, noise, start, table, np.cumsum(np.exp(0.5 * table), axis=-1))

    @property
    def deviation(self) -> float:
        """Of a sum of answers that are far from both ends, in people."""
        return math.sqrt(self.cells * DiscreteLaplaceNoise(scale=self.noise.scale).variance)

    def propose(self, least: IntArray, points: FloatArray) -> tuple[IntArray, FloatArray]:
        """See `CountLikelihood`. Where the least count is beyond the table, the table's end takes its place."""
        releases, groups, width = self.table.shape
        rows = np.arange(releases * groups).reshape(releases, groups, 1)
        most = self.tempered[..., -1:]
        first = np.clip(least - self.start[..., None], 0, width - 1)
        below = np.where(first > 0, np.take_along_axis(self.tempered, np.maximum(first - 1, 0), axis=-1), 0.0)
        room = np.maximum(most - below, np.finfo(np.float64).tiny)
        # One search over all rows at once: row r's cumulated shares lie in (r, r + 1].
        shares = (self.tempered / most + rows).ravel()
        places = np.searchsorted(shares, (below + points * room) / most + rows) - rows * width
        places = np.clip(places, first, width - 1)
        log_weight = 0.5 * np.take_along_axis(self.table, places, axis=-1) + np.log(room)
        return np.maximum(self.start[..., None] + places, least), log_weight

    def log_likelihood(self, counts: IntArray, groups: NDArray[np.intp]) -> FloatArray:
        """See `CountLikelihood`."""
        places = counts - self.start[:, groups, None]
        width = self.table.shape[-1]
        found = np.take_along_axis(self.table[:, groups], np.clip(places, 0, width - 1), axis=-1)
        likelihood: FloatArray = np.where((places >= 0) & (places < width), found, -np.inf)
        return likelihood

    def expected(self) -> FloatArray:
        """The mean of the likelihood as if it were a distribution, shape (T, K), in people."""
        mass = np.exp(self.table)
        counts = self.start[..., None] + np.arange(self.table.shape[-1])
        mean: FloatArray = (mass * counts).sum(axis=-1) / mass.sum(axis=-1)
        return mean

    def as_large(self) -> FloatArray:
        """See `CountLikelihood`: empty cells are answered with geometric numbers, but for the upper end."""
        tail: FloatArray = nbinom.sf(self.answers - 1, self.cells, -math.expm1(-1 / self.noise.scale))
        return tail


def spread_weights(cells: int) -> tuple[float, ...]:
    """How likely each of `EVENNESS` is before the answers are known; few cells hardly tell, and are taken for even."""
    return 1.0, *[_UNEVEN * min(cells / _TELLING_CELLS, 1.0) ** 3] * (len(EVENNESS) - 1)


def _of_total(answers: IntArray, noise: ExponentialNoise) -> tuple[int, FloatArray]:
    """The first possible total of one group and the log-likelihood of totals from there on.

    Args:
        answers: Of the R cells, shape (R,).
        noise: Of each.
    """
    reach = math.ceil(_REACH_SCALES * noise.scale) + 1
    lowest = np.maximum(answers - reach, 0)
    counts = lowest[:, None] + np.arange(2 * reach + 1)
    cells = _log_likelihoods(answers[:, None], counts, noise)
    if len(answers) == 1:
        return int(lowest[0]), cells[0]
    found = [_of_spread(cells, counts, evenness, noise.scale) for evenness in EVENNESS]
    first = min(start for start, _ in found)
    table = np.full((len(found), max(start + len(of_total) for start, of_total in found) - first), -np.inf)
    for row, (start, of_total), likely in zip(table, found, spread_weights(len(answers)), strict=True):
        row[start - first : start - first + len(of_total)] = of_total + math.log(likely)
    return first, np.logaddexp.reduce(table)


def _of_spread(cells: FloatArray, counts: IntArray, evenness: float, scale: float) -> tuple[int, FloatArray]:
    """The log-likelihood of totals whose people are spread over the cells by a Dirichlet-multinomial distribution.

    Args:
        cells: Each cell's log-likelihood, shape (R, W).
        counts: Of these counts, the same shape; each row without gaps.
        evenness: The distribution's parameter.
        scale: Of the noise, in people.
    """
    reach, lowest = counts.shape[1] // 2, counts[:, 0]
    weighted = cells + gammaln(counts + evenness) - gammaln(counts + 1.0) - gammaln(evenness)
    people = evenness * len(cells)
    tilt, mean, deviation = _tilt(weighted, counts, people, least=scale * math.sqrt(2 * len(cells)))
    first = max(math.floor(mean - _WINDOW_DEVIATIONS * deviation) - reach, int(lowest.sum()))
    length = math.ceil(mean + _WINDOW_DEVIATIONS * deviation) + reach - first
    table = _convolved(weighted - tilt * counts, lowest, first, length)
    totals = first + np.arange(length)
    ways = gammaln(totals + people) - gammaln(totals + 1.0) - gammaln(people)
    return first, np.where(np.isneginf(table), -np.inf, table + tilt * totals - ways)


def _log_likelihoods(answers: IntArray, counts: IntArray, noise: ExponentialNoise) -> FloatArray:
    """`ExponentialNoise.log_likelihood` for arrays; impossible above the upper end, where nothing can be told."""
    likelihood = -np.abs(answers - counts) / noise.scale - np.log(_all_answers(counts, noise))
    possible: FloatArray = np.where(counts <= noise.upper, likelihood, -np.inf)
    return possible


def _all_answers(counts: IntArray, noise: ExponentialNoise) -> FloatArray:
    """The sum of q^|c − r| over all answers r, times 1 − q; counts above the upper end are taken to it."""
    above = -np.expm1(-(counts + 1) / noise.scale)
    below = -np.expm1(-np.maximum(noise.upper - counts, 0) / noise.scale)
    total: FloatArray = above + math.exp(-1 / noise.scale) * below
    return total


def _tilt(cells: FloatArray, counts: IntArray, people: float, *, least: float) -> tuple[float, float, float]:
    """The tilt at which the tilted total agrees with it, the tilted total's mean and its standard deviation.

    What divides the convolution falls by log((A + people)/A) for each person less than A. Where hardly anybody is,
    totals up to `least` still have to be seen.
    """
    tilt, mean, variance = 0.0, 1.0, 1.0
    for _ in range(_TILT_STEPS):
        mass = cells - tilt * counts
        mass = np.exp(mass - mass.max(axis=1, keepdims=True))
        mass /= mass.sum(axis=1, keepdims=True)
        means = (mass * counts).sum(axis=1)
        mean = float(means.sum())
        variance = float((mass * (counts - means[:, None]) ** 2).sum())
        tilt = 0.5 * (tilt + math.log1p(people / max(mean, least)))
    return tilt, mean, math.sqrt(variance)


def _convolved(cells: FloatArray, lowest: IntArray, first: int, length: int) -> FloatArray:
    """The log of the convolution of exp(cells) over totals from `first` on; row r starts at `lowest[r]`."""
    size = int(next_fast_len(max(length, cells.shape[1]) + cells.shape[1], real=True))
    transformed, scale = np.ones(size // 2 + 1, dtype=np.complex128), 0.0
    for start in range(0, len(cells), _CELLS_AT_ONCE):
        part = cells[start : start + _CELLS_AT_ONCE]
        highest = part.max(axis=1, keepdims=True)
        mass = np.exp(part - highest)
        total = mass.sum(axis=1, keepdims=True)
        scale += float((highest + np.log(total)).sum())
        transformed *= rfft(mass / total, size, axis=1).prod(axis=0)
    whole = irfft(transformed, size)
    # The transform is periodic: a total's place is counted from the sum of the rows' starts.
    places = (first - int(lowest.sum()) + np.arange(length)) % size
    found = whole[places]
    seen = found > 1e-13 * found.max()
    return np.where(seen, np.log(np.where(seen, found, 1.0)) + scale, -np.inf)
