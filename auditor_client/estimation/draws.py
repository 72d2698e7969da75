"""Draws from the posterior of the true counts, given noisy ones (3-estimation §2).

Model, for each group: its size n is flat on the integers ≥ 0; the accepted a | n, p are
binomial; p has one of two priors. Integrated over p that is the beta-binomial mass of a given n.
Counts are never negative, and the noise has its exact mass.

Method: importance sampling. Proposals for the accepted, then for the refused given them, come from
the noise tables at quasi-random points, with twice the noise's tails so that a prior which disagrees
with the answers still finds draws where it wants them. The weighted draws, sorted by rate, are then
resampled to equal weights in a further quasi-random order, so draws of different groups combine freely.
Where exact numbers of people over all groups are known, `fixed_margin_sampler` draws the groups together instead.
Where a group's size is known, n is flat on what it may be, and proposals keep within it.

Axes: T releases, K groups, M draws.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.stats import qmc

from auditor_client.errors import EstimationRefused
from auditor_client.estimation.drawing import Drawing
from auditor_client.estimation.fixed_margin_sampler import fixed_margin_draws
from auditor_client.estimation.intervals import RateDraws
from auditor_client.estimation.local_model import Totals
from auditor_client.estimation.measurements import COUNT_MAX, IntArray, Members, SizeBounds
from auditor_client.estimation.noise_sums import FloatArray
from auditor_client.estimation.priors import FlatPrior, PooledPrior, Prior
from auditor_client.estimation.totals import BoolArray, CountedTotals


@dataclass(frozen=True, slots=True, eq=False)
class Draws:
    """Equally weighted draws from the posterior under one prior.

    `accepted` and `size` (with the refused) are whole numbers of people, shape (T, K, M) each. Of draws that are
    `turned`, `accepted` are the people with the adverse outcome, whose rates are 1 less those of the others.
    """

    accepted: FloatArray
    size: FloatArray
    prior: Prior
    drawing: Drawing
    turned: bool = False

    def added_up(self, members: Members) -> "Draws":
        """The same draws of coarser groups, whose people are those of some of these groups together."""
        index = np.array(members)
        return replace(self, accepted=self.accepted[:, index].sum(axis=2), size=self.size[:, index].sum(axis=2))

    def turned_round(self) -> "Draws":
        """The same draws of the other outcome."""
        return replace(self, accepted=self.size - self.accepted, turned=not self.turned)

    def rates(self) -> FloatArray:
        """Acceptance rates, shape (T, K, M), within [0, 1]; NaN where a draw's group is empty: it has no rate."""
        with np.errstate(invalid="ignore"):
            return self.accepted / self.size

    def overall(self) -> FloatArray:
        """The rate over all groups together, shape (T, M); NaN where a draw has nobody."""
        with np.errstate(invalid="ignore"):
            overall: FloatArray = self.accepted.sum(axis=1) / self.size.sum(axis=1)
        return overall

    def population_rates(self) -> FloatArray:
        """Rates of the population that the people represent, shape (T, K, M); NaN where a draw's group is empty."""
        rng = np.random.default_rng((self.drawing.seed, 1))  # another stream than the counts came from
        refused = self.size - self.accepted
        if self.turned:
            rates = 1 - self.prior.population_rates(refused, self.accepted, rng)
        else:
            rates = self.prior.population_rates(self.accepted, refused, rng)
        return np.where(self.size > 0, rates, np.nan)


@dataclass(frozen=True, slots=True, eq=False)
class DrawsWithBoundaryCases:
    """Draws under one prior, and what true totals on the boundary would make of them.

    Where perhaps nobody of a group is accepted, the draws have somebody all the same. If the number of accepted people
    over all groups is known, those people are missing in the other groups. `upper`, for upper ends of one group's
    figures, gives each group its part of them, and `lower` takes from it people whom other groups lack among the
    refused; both are `draws` where the groups are drawn independently.

    Attributes:
        none_possible: Whether nobody of a group may be accepted, shape (T, K).
        all_possible: Whether nobody of a group may be refused, shape (T, K).
    """

    draws: Draws
    lower: Draws
    upper: Draws
    none_possible: BoolArray
    all_possible: BoolArray

    @classmethod
    def of(cls, draws: Draws, totals: Totals, level: float) -> Self:
        """See which boundaries are possible, at the level of an interval."""
        none, everyone = possible_boundaries(totals, level)
        lower = upper = draws
        if totals.known is not None:
            accepted, size = draws.accepted, draws.size
            more, more_refused = _missing_elsewhere(accepted, none), _missing_elsewhere(size - accepted, everyone)
            if totals.complement_is == "everybody" or totals.bounds is not None:  # then sizes stay as drawn
                lower = replace(draws, accepted=np.maximum(accepted - more_refused, 0))
                upper = replace(draws, accepted=np.minimum(accepted + more, size))
            else:
                lower = replace(draws, size=size + more_refused)
                upper = replace(draws, accepted=accepted + more, size=size + more)
        return cls(draws, lower, upper, none, everyone)

    def turned_round(self) -> "DrawsWithBoundaryCases":
        """The same of the other outcome: what was the lower end of its rate is the upper end of this one's."""
        draws = self.draws.turned_round()
        lower, upper = (
            draws if boundary is self.draws else boundary.turned_round() for boundary in (self.upper, self.lower)
        )
        return DrawsWithBoundaryCases(draws, lower, upper, self.all_possible, self.none_possible)

    def rates(self) -> list[RateDraws]:
        """Rates of the people in the data, of every release."""
        return self._rate_draws(Draws.rates)

    def population_rates(self) -> list[RateDraws]:
        """Rates of the population that they represent, of every release."""
        return self._rate_draws(Draws.population_rates)

    def _rate_draws(self, rates_of: Callable[[Draws], FloatArray]) -> list[RateDraws]:
        rates = rates_of(self.draws)
        lower, upper = (rates if draws is self.draws else rates_of(draws) for draws in (self.lower, self.upper))
        lower = np.where(self.none_possible[..., None], 0.0, lower)
        upper = np.where(self.all_possible[..., None], 1.0, upper)
        edition = self.draws.drawing.edition
        return [RateDraws(*of_release, edition) for of_release in zip(rates, lower, upper, strict=True)]


def _missing_elsewhere(people: FloatArray, may_be_none: BoolArray) -> FloatArray:
    """Return how many more people each group has if the other groups that may have nobody do have nobody.

    The people drawn for those groups, of shape (T, K, M), are shared out evenly among all the rest, this group
    included. `may_be_none` has shape (T, K), the result (T, K, M).
    """
    to_share = np.where(may_be_none[..., None], people, 0.0)
    from_others = to_share.sum(axis=1, keepdims=True) - to_share
    empty_others = may_be_none.sum(axis=1, keepdims=True) - may_be_none
    part: FloatArray = from_others / (may_be_none.shape[1] - empty_others)[..., None]
    return part


def posterior_draws(totals: Totals, drawing: Drawing) -> tuple[Draws, Draws]:
    """Draw from the posterior under the flat prior and under the pooled one.

    Of coarser groups each draw adds up the people of a draw of the finer groups that the answer has.
    """
    if totals.finer is not None:
        flat, pooled = posterior_draws(totals.finer.totals, drawing)
        return flat.added_up(totals.finer.members), pooled.added_up(totals.finer.members)
    number, seed = drawing.number, drawing.seed
    priors: tuple[Prior, Prior] = FlatPrior(), PooledPrior(pooled_rates(totals))
    if isinstance(totals, CountedTotals) and totals.known is None:
        counts = _importance_draws(totals, priors, number=number, seed=seed)
    else:
        counts = [fixed_margin_draws(totals, prior, number=number, seed=seed) for prior in priors]
    order = np.random.default_rng((seed, 5)).permutation(number) if drawing.edition.shuffled else slice(None)
    flat, pooled = (
        Draws(accepted[..., order].astype(float), (accepted + refused)[..., order].astype(float), prior, drawing)
        for (accepted, refused), prior in zip(counts, priors, strict=True)
    )
    return flat, pooled


def pooled_rates(totals: Totals) -> FloatArray:
    """The acceptance rate over all groups, shape (T,), strictly within (0, 1).

    On either side as many people are added as noise may hide (one standard deviation of it), so that a
    total which noise swallowed does not make a prior that is sure of nobody.
    """
    accepted, refused = (
        np.maximum(of_groups.sum(axis=1), 0) + np.sqrt(of_groups.shape[1]) * deviation
        for of_groups, deviation in zip(totals.estimates, totals.deviations, strict=True)
    )
    rates: FloatArray = accepted / (accepted + refused)
    return rates


def possible_boundaries(totals: Totals, level: float) -> tuple[BoolArray, BoolArray]:
    """Whether nobody of a group may be accepted, and whether nobody may be refused; shape (T, K) each.

    Possible means not rejected: with probability (1 − level)/2 or more, noise alone reaches what was answered.
    """
    accepted, refused = totals.tail_probabilities()
    return accepted >= (1 - level) / 2, refused >= (1 - level) / 2


def _importance_draws(
    totals: CountedTotals, priors: Sequence[Prior], *, number: int, seed: int
) -> list[tuple[IntArray, IntArray]]:
    """Accepted and refused people under each prior, shape (T, K, M) each; the groups are drawn independently."""
    points = quasi_random_points(2 + totals.accepted.estimate.shape[1], number, seed)
    nobody = np.zeros((1, 1, 1), dtype=np.int64)
    smallest, largest = _size_range(totals.bounds)
    if totals.complement_is == "everybody":
        accepted, log_weight = totals.accepted.propose(nobody, largest, points[:, 0])
        everybody, of_second = totals.complement.propose(np.maximum(accepted, smallest), largest, points[:, 1])
        refused = everybody - accepted
    else:
        # What is proposed first leaves a narrow range to the other where sizes are known: so the more exact one first.
        turned = totals.bounds is not None and totals.complement.deviation < totals.accepted.deviation
        parts = (totals.complement, totals.accepted) if turned else (totals.accepted, totals.complement)
        first, log_weight = parts[0].propose(nobody, largest, points[:, 0])
        second, of_second = parts[1].propose(np.maximum(smallest - first, 0), largest - first, points[:, 1])
        accepted, refused = (second, first) if turned else (first, second)
    log_weight = log_weight + of_second
    order = np.argsort(accepted / np.maximum(accepted + refused, 1), axis=-1)
    ranks = points[:, 2:].argsort(axis=0).argsort(axis=0).T
    chosen = [_resampled(log_weight + prior(accepted, refused), order, ranks) for prior in priors]
    return [
        (np.take_along_axis(accepted, draws, axis=-1), np.take_along_axis(refused, draws, axis=-1)) for draws in chosen
    ]


def _size_range(bounds: SizeBounds | None) -> tuple[IntArray, IntArray]:
    """How many people each group may have, at least and at most, shape (1, K, 1) each, or (1, 1, 1) for all alike."""
    smallest, largest = (np.zeros(1, np.int64), np.full(1, COUNT_MAX)) if bounds is None else bounds.arrays()
    return smallest[None, :, None], largest[None, :, None]


def _resampled(log_weight: FloatArray, order: IntArray, ranks: IntArray) -> NDArray[np.intp]:
    """Indices of equally weighted draws, shape (T, K, M): each group's weighted quantiles at points of given ranks.

    `log_weight` is of the proposed draws, `order` their indices in ascending order of their rates, shape (T, K, M)
    each; `ranks` of the points has shape (K, M).
    """
    highest = log_weight.max(axis=-1, keepdims=True)
    if np.isneginf(highest).any():
        raise EstimationRefused(
            "No numbers of people fit the answers: more people are accepted than there are. If the mechanism is "
            "exponential, ask with an upper that no count exceeds."
        )
    weight = np.exp(log_weight - highest)
    share = np.cumsum(np.take_along_axis(weight, order, axis=-1), axis=-1)
    releases, groups, number = share.shape
    # Of the points (i + ½)/M, how many lie below each share; counted, that inverts the shares without a search.
    below = np.minimum(np.ceil(share * (number / share[..., -1:]) - 0.5), number).astype(np.intp)
    rows = np.arange(releases * groups).reshape(releases, groups, 1) * (number + 1)
    counted = np.bincount((below + rows).ravel(), minlength=releases * groups * (number + 1))
    quantiles = counted.reshape(releases, groups, number + 1).cumsum(axis=-1)
    sorted_index = np.take_along_axis(quantiles, np.broadcast_to(ranks, share.shape), axis=-1)
    return np.take_along_axis(order, np.minimum(sorted_index, number - 1), axis=-1)


@lru_cache(maxsize=8)
def quasi_random_points(dimensions: int, number: int, seed: int) -> FloatArray:
    """A scrambled Sobol sequence within (0, 1), shape (number, dimensions)."""
    points: FloatArray = qmc.Sobol(dimensions, rng=np.random.default_rng(seed)).random(number)
    return np.clip(points, 1e-12, 1 - 1e-12)
