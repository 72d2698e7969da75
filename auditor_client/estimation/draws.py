"""Draws from the posterior of the true counts, given noisy ones (3-estimation §2).

Model, for each group apart: its size n is flat on the integers ≥ 0; the accepted a | n, p are
binomial; p has one of two priors. Integrated over p that is the beta-binomial mass of a given n.
Counts are never negative, and the noise has its exact mass.

Method: importance sampling. Proposals for the accepted, then for the refused given them, come from
the noise tables at quasi-random points, with twice the noise's tails so that a prior which disagrees
with the answers still finds draws where it wants them. The weighted draws, sorted by rate, are then
resampled to equal weights in a further quasi-random order, so draws of different groups combine freely.
Where exact numbers of people bind the groups to each other, a random walk draws them together instead.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.stats import qmc

from auditor_client.estimation.bound_draws import ReportedGroups, SupportedGroups, bound_draws
from auditor_client.estimation.intervals import RateDraws
from auditor_client.estimation.local_model import LocalTotals
from auditor_client.estimation.measurements import IntArray
from auditor_client.estimation.noise_sums import FloatArray
from auditor_client.estimation.priors import FlatPrior, PooledPrior, Prior
from auditor_client.estimation.totals import BoolArray, CountedTotals, Totals


@dataclass(frozen=True, slots=True, eq=False)
class Draws:
    """Equally weighted draws from the posterior under one prior.

    Attributes:
        accepted: Whole numbers of people, shape (T, K, M).
        size: The group's accepted and refused together, the same shape.
        prior: The prior.
    """

    accepted: FloatArray
    size: FloatArray
    prior: Prior

    def rates(self) -> FloatArray:
        """Acceptance rates, shape (T, K, M), within [0, 1]; NaN where a draw's group is empty: it has no rate."""
        with np.errstate(invalid="ignore"):
            return self.accepted / self.size

    def overall(self) -> FloatArray:
        """The rate over all groups together, shape (T, M); NaN where a draw has nobody."""
        with np.errstate(invalid="ignore"):
            overall: FloatArray = self.accepted.sum(axis=1) / self.size.sum(axis=1)
        return overall

    def population_rates(self, seed: int) -> FloatArray:
        """Rates of the population that the people stand for, shape (T, K, M); NaN where a draw's group is empty."""
        rng = np.random.default_rng((seed, 1))  # another stream than the counts came from
        rates = self.prior.population_rates(self.accepted, self.size - self.accepted, rng)
        return np.where(self.size > 0, rates, np.nan)


@dataclass(frozen=True, slots=True, eq=False)
class BoundedDraws:
    """Draws under one prior, and what truths on the boundary make possible.

    Where nobody of a group is accepted, the posterior has somebody all the same; and where the number of accepted
    people over all groups is known, others lack those. So for an upper end a group gets, beside its own, its part of
    all that other groups have who perhaps have none; and for a lower end likewise of the refused.

    Attributes:
        draws: As drawn.
        least: For lower ends, group by group; the draws themselves where the groups are drawn apart.
        most: For upper ends, likewise.
        none_possible: Whether nobody of a group may be accepted, shape (T, K).
        all_possible: Whether nobody of a group may be refused, shape (T, K).
    """

    draws: Draws
    least: Draws
    most: Draws
    none_possible: BoolArray
    all_possible: BoolArray

    @classmethod
    def of(cls, draws: Draws, totals: Totals, level: float) -> Self:
        """See which boundaries are possible, at the level of an interval."""
        none, everyone = totals.boundaries(level)
        least = most = draws
        known = totals.known_beside_accepted
        if known is not None:
            accepted, size = draws.accepted, draws.size
            more, more_refused = _from_others(accepted, none), _from_others(size - accepted, everyone)
            if known == "everybody":
                least = Draws(np.maximum(accepted - more_refused, 0), size, draws.prior)
                most = Draws(np.minimum(accepted + more, size), size, draws.prior)
            else:
                least = Draws(accepted, size + more_refused, draws.prior)
                most = Draws(accepted + more, size + more, draws.prior)
        return cls(draws, least, most, none, everyone)

    def rates(self) -> list[RateDraws]:
        """Rates of the people in the data, of every release."""
        return self._reaching(lambda draws: draws.rates())

    def population_rates(self, seed: int) -> list[RateDraws]:
        """Rates of the population that they stand for, of every release."""
        return self._reaching(lambda draws: draws.population_rates(seed))

    def _reaching(self, rates_of: Callable[[Draws], FloatArray]) -> list[RateDraws]:
        rates = rates_of(self.draws)
        least, most = (rates if draws is self.draws else rates_of(draws) for draws in (self.least, self.most))
        least = np.where(self.none_possible[..., None], 0.0, least)
        most = np.where(self.all_possible[..., None], 1.0, most)
        return [RateDraws(*of_release) for of_release in zip(rates, least, most, strict=True)]


def _from_others(people: FloatArray, may_be_none: BoolArray) -> FloatArray:
    """What each group gets of others who may have nobody: shared out evenly with all who are not such, (T, K, M)."""
    given = np.where(may_be_none[..., None], people, 0.0)
    of_others = given.sum(axis=1, keepdims=True) - given
    such = may_be_none.sum(axis=1, keepdims=True) - may_be_none
    shared: FloatArray = of_others / (may_be_none.shape[1] - such)[..., None]
    return shared


def posterior_draws(totals: CountedTotals | LocalTotals, *, number: int, seed: int) -> tuple[Draws, Draws]:
    """Draw from the posterior under the flat and under the pooled prior.

    Args:
        totals: What was answered.
        number: M, how many draws; a power of two.
        seed: The same seed gives the same draws.

    Returns:
        Draws under the flat prior, draws under the pooled prior.
    """
    priors: tuple[Prior, Prior] = FlatPrior(), PooledPrior(totals.pooled_rates())
    if isinstance(totals, LocalTotals):
        counts = [bound_draws(ReportedGroups(totals), prior, number=number, seed=seed) for prior in priors]
    elif totals.bound_by is not None:
        binding = SupportedGroups(totals, totals.bound_by)
        counts = [bound_draws(binding, prior, number=number, seed=seed) for prior in priors]
    else:
        counts = _importance_draws(totals, priors, number=number, seed=seed)
    flat, pooled = (
        Draws(accepted.astype(np.float64), (accepted + refused).astype(np.float64), prior)
        for (accepted, refused), prior in zip(counts, priors, strict=True)
    )
    return flat, pooled


def _importance_draws(
    totals: CountedTotals, priors: Sequence[Prior], *, number: int, seed: int
) -> list[tuple[IntArray, IntArray]]:
    """Accepted and refused people under each prior, shape (T, K, M) each."""
    of_accepted, of_complement = totals.likelihoods
    points = _quasi_random_points(2 + of_accepted.answers.shape[1], number, seed)
    nobody = np.zeros((1, 1, 1), dtype=np.int64)
    accepted, log_weight = of_accepted.propose(nobody, points[:, 0])
    if totals.complement_is == "everybody":
        everybody, more = of_complement.propose(accepted, points[:, 1])
        refused = everybody - accepted
    else:
        refused, more = of_complement.propose(nobody, points[:, 1])
    log_weight = log_weight + more
    order = np.argsort(accepted / np.maximum(accepted + refused, 1), axis=-1)
    ranks = points[:, 2:].argsort(axis=0).argsort(axis=0).T
    chosen = [_resampled(log_weight + prior(accepted, refused), order, ranks) for prior in priors]
    return [
        (np.take_along_axis(accepted, places, axis=-1), np.take_along_axis(refused, places, axis=-1))
        for places in chosen
    ]


def _resampled(log_weight: FloatArray, order: IntArray, ranks: IntArray) -> NDArray[np.intp]:
    """Places of equally weighted draws: each group's weighted quantile function at points of these ranks, (K, M)."""
    weight = np.exp(log_weight - log_weight.max(axis=-1, keepdims=True))
    share = np.cumsum(np.take_along_axis(weight, order, axis=-1), axis=-1)
    releases, groups, number = share.shape
    # Of the points (i + ½)/M, how many lie below each share; counted, that inverts the shares without a search.
    below = np.minimum(np.ceil(share * (number / share[..., -1:]) - 0.5), number).astype(np.intp)
    rows = np.arange(releases * groups).reshape(releases, groups, 1) * (number + 1)
    counted = np.bincount((below + rows).ravel(), minlength=releases * groups * (number + 1))
    quantiles = counted.reshape(releases, groups, number + 1).cumsum(axis=-1)
    places = np.take_along_axis(quantiles, np.broadcast_to(ranks, share.shape), axis=-1)
    return np.take_along_axis(order, np.minimum(places, number - 1), axis=-1)


@lru_cache(maxsize=8)
def _quasi_random_points(dimensions: int, number: int, seed: int) -> FloatArray:
    """A scrambled Sobol sequence within (0, 1), shape (number, dimensions)."""
    points: FloatArray = qmc.Sobol(dimensions, rng=np.random.default_rng(seed)).random(number)
    return np.clip(points, 1e-12, 1 - 1e-12)
