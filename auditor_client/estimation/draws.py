"""Draws from the posterior of the true counts, given noisy ones (3-estimation §2).

Model, for each group apart: its size n is flat on the integers ≥ 0; the accepted a | n, p are
binomial; p has one of two priors. Integrated over p that is the beta-binomial mass of a given n.
Counts are never negative, and the noise has its exact mass.

Method: importance sampling. Proposals for the accepted, then for the refused given them, come from
the noise tables at quasi-random points, with twice the noise's tails so that a prior which disagrees
with the answers still finds draws where it wants them. The weighted draws, sorted by rate, are then
resampled to equal weights at further quasi-random points, so draws of different groups combine freely.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Final

import numpy as np
from scipy.special import betaln, gammaln
from scipy.stats import qmc

from auditor_client.estimation.measurements import IntArray
from auditor_client.estimation.noise_sums import FloatArray, NoiseSum
from auditor_client.estimation.totals import NoisyTotals

LogPrior = Callable[[IntArray, IntArray], FloatArray]
"""Natural logarithm of the prior mass of (accepted, refused) of a group."""

POOLING: Final = 20.0
"""κ: how many people's worth of the pooled rate the pooled prior adds to a group (docs/adr/0006-prior.md)."""
POOLED_SHARE: Final = 0.97
"""How much of the pooled prior is that Beta; the rest is flat, so that clear answers overrule it."""


@dataclass(frozen=True, slots=True, eq=False)
class Draws:
    """Equally weighted draws from the posterior; groups are independent given the totals.

    Attributes:
        accepted: Whole numbers of people, shape (T, K, M).
        size: The group's accepted and refused together, the same shape.
    """

    accepted: FloatArray
    size: FloatArray

    def rates(self) -> FloatArray:
        """Acceptance rates, shape (T, K, M), within [0, 1]; NaN where a draw's group is empty: it has no rate."""
        with np.errstate(invalid="ignore"):
            return self.accepted / self.size


def flat(accepted: IntArray, refused: IntArray) -> FloatArray:
    """The flat prior: p uniform on (0, 1), so every a from 0 to n is as likely."""
    log_prior: FloatArray = -np.log(accepted + refused + 1.0)
    return log_prior


def pooled(accepted: IntArray, refused: IntArray, *, rates: FloatArray) -> FloatArray:
    """The pooled prior: p ~ Beta(κμ, κ(1 − μ)) around the pooled rate μ, or with a small probability uniform.

    Args:
        accepted: Shape (T, K, M), in people.
        refused: The same shape.
        rates: μ, shape (T,).
    """
    alpha = (POOLING * rates)[:, None, None]
    beta = POOLING - alpha
    choose = gammaln(accepted + refused + 1.0) - gammaln(accepted + 1.0) - gammaln(refused + 1.0)
    around = choose + betaln(accepted + alpha, refused + beta) - betaln(alpha, beta)
    log_prior: FloatArray = np.logaddexp(
        np.log(POOLED_SHARE) + around, np.log1p(-POOLED_SHARE) + flat(accepted, refused)
    )
    return log_prior


def posterior_draws(totals: NoisyTotals, *, number: int, seed: int) -> tuple[Draws, Draws]:
    """Draw from the posterior under the flat and under the pooled prior.

    Args:
        totals: What was answered.
        number: M, how many draws; a power of two.
        seed: The same seed gives the same draws.

    Returns:
        Draws under the flat prior, draws under the pooled prior.
    """
    points = _quasi_random_points(2 + totals.accepted.shape[1], number, seed)
    accepted, refused, log_weight = _proposals(totals, points[:, 0], points[:, 1])
    priors: tuple[LogPrior, LogPrior] = (flat, partial(pooled, rates=totals.pooled_rates()))
    order = np.argsort(accepted / np.maximum(accepted + refused, 1), axis=-1)
    first, second = (
        _resample(accepted, refused, log_weight + prior(accepted, refused), order, points[:, 2:].T) for prior in priors
    )
    return first, second


def _proposals(totals: NoisyTotals, first: FloatArray, second: FloatArray) -> tuple[IntArray, IntArray, FloatArray]:
    """Accepted and refused people, never negative, and the log of likelihood over proposal mass; (T, K, M) each."""
    accepted, log_weight = _never_negative(totals.accepted[..., None], totals.noise.accepted, first)
    rest = totals.complement[..., None]
    if totals.noise.complement_is == "everybody":
        rest = rest - accepted
    refused, more = _never_negative(rest, totals.noise.complement, second)
    return accepted, refused, log_weight + more


def _never_negative(noisy: IntArray, noise: NoiseSum, points: FloatArray) -> tuple[IntArray, FloatArray]:
    """Counts of zero or more, proposed from the tempered mass of the noise on them.

    Args:
        noisy: Noisy counts, shape (T, K, 1) or (T, K, M). One below the noise's table is taken to its end: so
            far below zero, the posterior of the count hardly depends on it (for a single noise not at all).
        noise: What was added.
        points: Within (0, 1), shape (M,).

    Returns:
        The counts, shape (T, K, M), and the log of their noise's mass over its proposal mass.
    """
    noisy = np.maximum(noisy, -noise.reach)
    room = noise.tempered[noise.index(noisy)]
    places = np.searchsorted(noise.tempered, points * room)
    return noisy + noise.reach - places, 0.5 * noise.log_mass[places] + np.log(room)


def _resample(
    accepted: IntArray, refused: IntArray, log_weight: FloatArray, order: IntArray, points: FloatArray
) -> Draws:
    """Equally weighted draws: each group's weighted quantile function at points of shape (K, M)."""
    weight = np.exp(log_weight - log_weight.max(axis=-1, keepdims=True))
    share = np.cumsum(np.take_along_axis(weight, order, axis=-1), axis=-1)
    share /= share[..., -1:]
    releases, groups, number = share.shape
    # One search over all rows at once: row r's shares lie in (r, r + 1].
    rows = np.arange(releases * groups).reshape(releases, groups, 1)
    places = np.searchsorted((share + rows).ravel(), (points + rows).ravel()).reshape(share.shape) - rows * number
    chosen = np.take_along_axis(order, np.clip(places, 0, number - 1), axis=-1)
    drawn = np.take_along_axis(accepted, chosen, axis=-1).astype(np.float64)
    return Draws(drawn, drawn + np.take_along_axis(refused, chosen, axis=-1))


@lru_cache(maxsize=8)
def _quasi_random_points(dimensions: int, number: int, seed: int) -> FloatArray:
    """A scrambled Sobol sequence within (0, 1), shape (number, dimensions)."""
    points: FloatArray = qmc.Sobol(dimensions, rng=np.random.default_rng(seed)).random(number)
    return np.clip(points, 1e-12, 1 - 1e-12)
