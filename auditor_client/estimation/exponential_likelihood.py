"""The likelihood of the exponential mechanism's answers, for every true total (2-privacy §4).

It answers within 0..upper, so an answer for a nearly empty cell is too large on average, and the sum of answers
over several cells says little without an assumption about how a group's people are spread over the cells. The
assumption is a mixture of four Dirichlet-multinomial distributions, from evenly spread to all people in a few cells,
which the answers weigh. A total's likelihood is the mean over all ways to spread it: a convolution of the cells'
weighted likelihoods, computed by FFT with an exponential tilt that keeps rounding errors away from the mass.

Axes: T releases, R cells, K groups, M draws, W columns of a table.
"""

import math
from dataclasses import dataclass
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray
from scipy.fft import irfft, next_fast_len, rfft
from scipy.special import gammaln
from scipy.stats import nbinom

from auditor_client.estimation.likelihoods import proposed_from_table
from auditor_client.estimation.measurements import IntArray
from auditor_client.estimation.noise_sums import FloatArray, noise_sum
from shared.privacy.noise import DiscreteLaplaceNoise, ExponentialNoise

_REACH_SCALES: Final = 20.0
"""An answer is farther off than so many scales less than once in 10⁸."""
_WINDOW_DEVIATIONS: Final = 8.0
_TILT_STEPS: Final = 6
CONCENTRATIONS: Final = (1.0, 0.1, 0.01, 0.001)
"""The Dirichlet parameter of each distribution over the cells: at 1 every way is as likely; near 0 few have all."""
_CONCENTRATED_WEIGHT: Final = 0.1
"""Prior weight of each distribution but the first, whose weight is 1, from `_CONCENTRATED_CELLS` on."""
_CONCENTRATED_CELLS: Final = 20
_CELLS_AT_ONCE: Final = 64


@dataclass(frozen=True, slots=True, eq=False)
class ExponentialAnswers:
    """Sums over R cells of the exponential mechanism's answers.

    Attributes:
        answers: Shape (T, K), in people.
        cells: R.
        noise: Of each cell's answer.
        start: The first count of each group's table, shape (T, K).
        table: The log-likelihood of counts from `start` on, shape (T, K, W); minus infinity where impossible.
    """

    answers: IntArray
    cells: int
    noise: ExponentialNoise
    start: IntArray
    table: FloatArray

    @classmethod
    def of(cls, answers: IntArray, noise: ExponentialNoise) -> Self:
        """Tabulate the likelihood of every total, of the cells' answers, shape (T, R, K), in people.

        Where the second of two groups has what the first leaves of the supports, an answer may be negative; it counts
        as zero.
        """
        answers = np.maximum(answers, 0)
        releases, cells, groups = answers.shape
        likelihoods = [[_of_total(answers[t, :, k], noise) for k in range(groups)] for t in range(releases)]
        width = max(len(table) for row in likelihoods for _, table in row)
        table = np.full((releases, groups, width), -np.inf)
        for t, row in enumerate(likelihoods):
            for k, (_, of_group) in enumerate(row):
                table[t, k, : len(of_group)] = of_group - of_group.max()
        start = np.array([[first for first, _ in row] for row in likelihoods], dtype=np.int64)
        return cls(answers.sum(axis=1), cells, noise, start, table)

    @property
    def estimate(self) -> FloatArray:
        """The mean of the likelihood as if it were a distribution, shape (T, K), in people."""
        mass = np.exp(self.table)
        counts = self.start[..., None] + np.arange(self.table.shape[-1])
        mean: FloatArray = (mass * counts).sum(axis=-1) / mass.sum(axis=-1)
        return mean

    @property
    def deviation(self) -> float:
        """The standard deviation of a sum of answers that are far from both ends, in people."""
        return math.sqrt(self.cells * DiscreteLaplaceNoise(scale=self.noise.scale).variance)

    def propose(self, minimum: IntArray, maximum: IntArray, points: FloatArray) -> tuple[IntArray, FloatArray]:
        """Propose counts, shape (T, K, M), from the likelihood with tails twice as heavy; as `AdditiveAnswers` does."""
        return proposed_from_table(self.start, self.table, (minimum, maximum), points)

    def log_likelihood(self, counts: IntArray, groups: NDArray[np.intp]) -> FloatArray:
        """The log-likelihood of counts of some groups, shape (T, G, M); −∞ outside the table."""
        columns = counts - self.start[:, groups, None]
        width = self.table.shape[-1]
        values = np.take_along_axis(self.table[:, groups], np.clip(columns, 0, width - 1), axis=-1)
        likelihood: FloatArray = np.where((columns >= 0) & (columns < width), values, -np.inf)
        return likelihood

    def tail_probability(self) -> FloatArray:
        """How likely empty cells are answered so high, shape (T, K): geometric numbers, but for the upper end."""
        tail: FloatArray = nbinom.sf(self.answers - 1, self.cells, -math.expm1(-1 / self.noise.scale))
        return tail


@dataclass(frozen=True, slots=True, eq=False)
class ExponentialDifference:
    """The refused, estimated as everybody minus the accepted, where the exponential mechanism answered both."""

    everybody: ExponentialAnswers
    accepted: ExponentialAnswers

    @property
    def estimate(self) -> FloatArray:
        """Everybody minus the accepted, shape (T, K), in people; not negative."""
        estimate: FloatArray = np.maximum(self.everybody.estimate - self.accepted.estimate, 0)
        return estimate

    @property
    def deviation(self) -> float:
        """The standard deviation of the difference of two independent estimates, in people."""
        return float(np.hypot(self.accepted.deviation, self.everybody.deviation))

    def tail_probability(self) -> FloatArray:
        """An upper bound of how likely empty cells are answered so high, shape (T, K)."""
        difference = self.everybody.answers - self.accepted.answers
        return _at_least(difference, (self.everybody, self.accepted), above=self.everybody.cells)


@dataclass(frozen=True, slots=True, eq=False)
class ExponentialSum:
    """Everybody, where the exponential mechanism answered: the sum of some answers about disjoint cells."""

    parts: tuple[ExponentialAnswers, ...]

    def tail_probability(self, count: IntArray) -> FloatArray:
        """An upper bound of how likely a count, of shape (T, 1) in people, is answered so high, shape (T, K)."""
        answers = np.sum([part.answers for part in self.parts], axis=0)
        return _at_least(answers - count, self.parts, above=sum(part.cells for part in self.parts))


def _at_least(noise: IntArray, parts: tuple[ExponentialAnswers, ...], *, above: int) -> FloatArray:
    """An upper bound of how likely some answers together are so far above their counts, of the same shape.

    With q = exp(−1/scale), an answer is below its count by t less often than discrete Laplace noise is, and above it
    at most (1 + q) times as often, whatever the count is. `above` is how many answers count upwards.
    """
    scale = max(part.noise.scale for part in parts)
    likely = noise_sum(DiscreteLaplaceNoise(scale=scale), sum(part.cells for part in parts)).at_least(noise)
    bound: FloatArray = np.minimum((1 + math.exp(-1 / scale)) ** above * likely, 1.0)
    return bound


def concentration_weights(cells: int) -> tuple[float, ...]:
    """The prior weight of each of `CONCENTRATIONS`: few cells hardly show one, and are taken for evenly filled."""
    return 1.0, *[_CONCENTRATED_WEIGHT * min(cells / _CONCENTRATED_CELLS, 1.0) ** 3] * (len(CONCENTRATIONS) - 1)


def _of_total(answers: IntArray, noise: ExponentialNoise) -> tuple[int, FloatArray]:
    """The first possible total of one group's R answers, shape (R,), and the log-likelihood of totals from there on."""
    reach = math.ceil(_REACH_SCALES * noise.scale) + 1
    lowest = np.maximum(answers - reach, 0)
    counts = lowest[:, None] + np.arange(2 * reach + 1)
    cells = _log_likelihoods(answers[:, None], counts, noise)
    if len(answers) == 1:
        return int(lowest[0]), cells[0]
    spreads = [_of_spread(cells, counts, concentration, noise.scale) for concentration in CONCENTRATIONS]
    first = min(start for start, _ in spreads)
    table = np.full((len(spreads), max(start + len(of_total) for start, of_total in spreads) - first), -np.inf)
    for row, (start, of_total), weight in zip(table, spreads, concentration_weights(len(answers)), strict=True):
        row[start - first : start - first + len(of_total)] = of_total + math.log(weight)
    return first, np.logaddexp.reduce(table)


def _of_spread(cells: FloatArray, counts: IntArray, concentration: float, scale: float) -> tuple[int, FloatArray]:
    """The first total, and the log-likelihood from there on, of people in a Dirichlet-multinomial distribution.

    `cells` has each cell's log-likelihood of its `counts`, shape (R, W) each; the counts of a row have no gaps. The
    scale is the noise's, in people.
    """
    reach, lowest = counts.shape[1] // 2, counts[:, 0]
    weighted = cells + gammaln(counts + concentration) - gammaln(counts + 1.0) - gammaln(concentration)
    people = concentration * len(cells)
    tilt, mean, deviation = _tilt(weighted, counts, people, minimum=scale * math.sqrt(2 * len(cells)))
    first = max(math.floor(mean - _WINDOW_DEVIATIONS * deviation) - reach, int(lowest.sum()))
    length = math.ceil(mean + _WINDOW_DEVIATIONS * deviation) + reach - first
    table = _convolved(weighted - tilt * counts, lowest, first, length)
    totals = first + np.arange(length)
    ways = gammaln(totals + people) - gammaln(totals + 1.0) - gammaln(people)
    return first, np.where(np.isneginf(table), -np.inf, table + tilt * totals - ways)


def _log_likelihoods(answers: IntArray, counts: IntArray, noise: ExponentialNoise) -> FloatArray:
    """`ExponentialNoise.log_likelihood` for arrays, of the counts' shape, less a constant; −∞ above the upper end."""
    above = -np.expm1(-(counts + 1) / noise.scale)
    below = -np.expm1(-np.maximum(noise.upper - counts, 0) / noise.scale)
    likelihood = -np.abs(answers - counts) / noise.scale - np.log(above + math.exp(-1 / noise.scale) * below)
    possible: FloatArray = np.where(counts <= noise.upper, likelihood, -np.inf)
    return possible


def _tilt(cells: FloatArray, counts: IntArray, people: float, *, minimum: float) -> tuple[float, float, float]:
    """The tilt that centres the convolution on the likely totals, by fixed-point iteration.

    A total A has Γ(A + people)/Γ(A + 1) weighted ways, by which the convolution is divided: their logarithm grows by
    about log((A + people)/A) a person. The tilt is half the sum of itself and that at the tilted mean. Here `people` is
    the sum of the Dirichlet parameters over the cells; totals up to `minimum` are resolved even where hardly anybody
    is.

    Returns:
        The tilt for each person, and the tilted total's mean and standard deviation, in people.
    """
    tilt, mean, variance = 0.0, 1.0, 1.0
    for _ in range(_TILT_STEPS):
        mass = cells - tilt * counts
        mass = np.exp(mass - mass.max(axis=1, keepdims=True))
        mass /= mass.sum(axis=1, keepdims=True)
        means = (mass * counts).sum(axis=1)
        mean = float(means.sum())
        variance = float((mass * (counts - means[:, None]) ** 2).sum())
        tilt = 0.5 * (tilt + math.log1p(people / max(mean, minimum)))
    return tilt, mean, math.sqrt(variance)


def _convolved(cells: FloatArray, lowest: IntArray, first: int, length: int) -> FloatArray:
    """The log of the convolution of exp(cells), shape (R, W), over totals from `first` on, shape (length,).

    Row r starts at the count `lowest[r]`.
    """
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
    # The transform is periodic: a total's index is counted from the sum of the rows' starts.
    density = whole[(first - int(lowest.sum()) + np.arange(length)) % size]
    is_positive = density > 1e-13 * density.max()
    return np.where(is_positive, np.log(np.where(is_positive, density, 1.0)) + scale, -np.inf)
