"""At which level the figures of a score's bands hold together, by draws of the noise (`simultaneous`).

The noise of the sums of bands is known exactly, so which level several figures need is found by drawing it: their
errors are sums of noises, of rates given their groups' sizes as they were estimated.

Axes: B bands, K groups, F figures, M draws.
"""

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Self

import numpy as np

from auditor_client.estimation.band_counts import BandCounts, Population
from auditor_client.estimation.measurements import IntArray
from auditor_client.estimation.noise_sums import FloatArray, noise_sum
from auditor_client.estimation.simultaneous import levels_needed, levels_of_errors, simultaneous_level
from auditor_client.estimation.totals import BoolArray
from shared.privacy.noise import AdditiveNoise

NOISE_DRAWS: Final = 8192
JOINT_DRAWS_MAX: Final = 32768
NOISES_MAX: Final = 2**25
"""Of all counts together; so many figures that are to hold together need as many draws as memory allows."""
RATE_MIN: Final = 0.01
"""A rate that is estimated to be nearer to 0 or 1 is taken for this far away where only errors are compared."""


@dataclass(frozen=True, slots=True, eq=False)
class _SumErrors:
    """Draws of the errors of groups' rates, of some sets of bands among all.

    Attributes:
        rates: As estimated, shape (F, K).
        size: People of each group, shape (K,).
        errors: Of the accepted people beyond what the size's error explains, shape (F, K, M).
    """

    rates: FloatArray
    size: FloatArray
    errors: FloatArray

    @classmethod
    def of(cls, counts: IntArray, sets: BoolArray, noise: Iterable[FloatArray], draws: int) -> Self:
        """Of noisy counts, shape (B, parts, K), whose parts have noises of their own, shape (B, K, M) each."""
        totals = np.maximum(counts.astype(np.float64).sum(axis=1), 0)  # (B, K)
        size = np.maximum(totals.sum(axis=0), 1.0)
        rates = np.clip(np.einsum("fb,bk->fk", sets, totals) / size, RATE_MIN, 1 - RATE_MIN)
        errors: FloatArray = np.zeros((*rates.shape, draws))
        for of_part in noise:  # they add up
            accepted = np.einsum("fb,bkm->fkm", sets, of_part)
            errors += accepted - rates[..., None] * of_part.sum(axis=0)[None]
        return cls(rates, size, errors)

    @property
    def relative(self) -> FloatArray:
        """Return the levels of the rates' logarithms, shape (F, K, M)."""
        relative: FloatArray = self.errors / (self.rates * self.size)[..., None]
        return relative

    def of_ratios(self) -> FloatArray:
        """Return the levels of the ratios of the extreme rates, shape (F, M)."""
        return _apart(self.relative, self.rates)

    def of_differences(self) -> FloatArray:
        """Return the levels of their differences, shape (F, M)."""
        return _apart(self.errors / self.size[:, None], self.rates)

    def over_highest(self) -> FloatArray:
        """Return the levels of each group's rate over the highest, shape (F, K, M)."""
        relative = self.relative
        highest = relative[np.arange(len(relative)), self.rates.argmax(axis=1)]
        over: FloatArray = relative - highest[:, None]
        return over


def _apart(errors: FloatArray, rates: FloatArray) -> FloatArray:
    figures = np.arange(len(rates))
    differences: FloatArray = errors[figures, rates.argmin(axis=1)] - errors[figures, rates.argmax(axis=1)]
    return differences


def level_of_sums(bands: BandCounts, of: Population, sets: BoolArray, *, level: float, seed: int = 0) -> float:
    """The level of each interval at which those of several rates, or of their ratios, hold together at `level`.

    Args:
        bands: Noisy counts.
        of: The people whose rates are compared.
        sets: For each figure the bands above its threshold, shape (F, B).
        level: Of all together.
        seed: Of the draws.

    Returns:
        At least `level`, below 1: the largest that any group's rates, or the extreme groups' ratios, need.
    """
    rng = np.random.default_rng((seed, 3))
    counts = bands.counts(of)
    shape = (counts.shape[0], counts.shape[2], NOISE_DRAWS)
    sums = _SumErrors.of(counts, sets, (noises(bands.noise, shape, rng) for _ in range(counts.shape[1])), NOISE_DRAWS)
    statements = [*sums.errors.swapaxes(0, 1), sums.of_ratios()]
    return max(simultaneous_level([levels_of_errors(of_figures)], level) for of_figures in statements)


def needed_by_bands(bands: BandCounts, edge: int, *, seed: int = 0) -> FloatArray:
    """In each draw of the noise, the least level at which the intervals of all figures of a score hold it, shape (M,).

    The figures are the groups' rates, their ratio and their difference at every edge, among everybody and by label; the
    shares of bands; the rates over the highest at the edge of this index; how often people of a band turn out positive;
    and the AUC.
    """
    rng = np.random.default_rng((seed, 5))
    counts = bands.counts("everybody")
    draws = min(max(NOISE_DRAWS, 2 ** int(math.log2(NOISES_MAX / counts.size))), JOINT_DRAWS_MAX)
    noise = noises(bands.noise, (counts.shape[1], counts.shape[0], counts.shape[2], draws), rng)
    labelled = len(bands.positive)
    of_labels: dict[Population, FloatArray] = {
        "everybody": noise,
        "negative": noise[len(noise) - labelled :],
        "positive": noise[len(noise) - 2 * labelled : len(noise) - labelled],
    }
    needed = np.zeros(draws)
    for of_figures in _errors(bands, edge, of_labels):
        # Of equal rates neither is the lower, and the highest over itself has no error: such figures need no level.
        needed = np.maximum(needed, levels_of_errors(of_figures[of_figures.any(axis=1)]))
    if bands.labelled:
        positive, negative = (
            bands.counts(of).sum(axis=1)[..., None] - of_labels[of].sum(axis=0) for of in ("positive", "negative")
        )
        needed = np.maximum(needed, levels_needed(auc_draws(positive, negative)))
    return needed


def _errors(bands: BandCounts, edge: int, noise: Mapping[Population, FloatArray]) -> Iterator[FloatArray]:
    """Draws of the errors of all figures but the AUC, shape (F, M) each; noise of shape (parts, B, K, M)."""
    draws = noise["everybody"].shape[-1]
    curve = np.array([bands.accepted(each) for each in range(len(bands.edges))])
    for of in ("everybody", "positive", "negative") if bands.labelled else ("everybody",):
        sums = _SumErrors.of(bands.counts(of), curve, noise[of], draws)
        yield from (*sums.errors.swapaxes(0, 1), sums.of_ratios(), sums.of_differences())
        if of == "everybody":
            yield sums.over_highest()[edge]
    each_band = np.eye(len(bands.edges) + 1, dtype=bool)
    yield from _SumErrors.of(bands.counts("everybody"), each_band, noise["everybody"], draws).errors
    if bands.labelled:
        positive, negative = (bands.counts(of).sum(axis=1) for of in ("positive", "negative"))
        rates = np.clip(positive / np.maximum(positive + negative, 1), RATE_MIN, 1 - RATE_MIN)[..., None]
        yield from (1 - rates) * noise["positive"].sum(axis=0) - rates * noise["negative"].sum(axis=0)


def auc_draws(positive: FloatArray, negative: FloatArray) -> FloatArray:
    """Each group's AUC, shape (K, M), from its people of each band, shape (B, K, M); NaN where there are no pairs."""
    of_pairs = (positive * (np.cumsum(negative, axis=0) - negative / 2)).sum(axis=0)
    positives, negatives = positive.sum(axis=0), negative.sum(axis=0)
    pairs = positives * negatives
    has_pairs = (positives >= 1) & (negatives >= 1)
    auc: FloatArray = np.divide(of_pairs, pairs, out=np.full_like(of_pairs, np.nan), where=has_pairs)
    return np.clip(auc, 0, 1)


def noises(noise: AdditiveNoise, shape: tuple[int, ...], rng: np.random.Generator) -> FloatArray:
    """Independent noises of this shape, in people."""
    return noise_sum(noise, 1).quantile(rng.random(shape)).astype(np.float64)


def median_edge(bands: BandCounts) -> int:
    """The index of the edge that most nearly halves everybody, by the noisy counts."""
    of_band = bands.counts("everybody").sum(axis=(1, 2)).astype(np.float64)
    below = np.cumsum(of_band)[:-1]
    return int(np.abs(below - of_band.sum() / 2).argmin())
