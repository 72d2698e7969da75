"""Draws where exact numbers of people bind the groups to each other: a random walk that keeps the sums.

Given supports, and in the local model, what one group has another has not: groups cannot be drawn apart. Each
chain walks over (accepted, refused) of all groups by moving people between two groups at a time
(Metropolis). Steps are spread over all magnitudes from one person to three deviations of the noise, so that
a group of a dozen and one of thousands both move. Chains start near the answers, walk a warm-up, and give
a few snapshots each.
"""

from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np

from auditor_client.estimation.local_model import LocalTotals, UnmixedCounts
from auditor_client.estimation.measurements import IntArray
from auditor_client.estimation.noise_sums import FloatArray
from auditor_client.estimation.priors import LogPrior
from auditor_client.estimation.totals import CountedTotals, People, Totals

WARM_UP_SWEEPS: Final = 40
SNAPSHOTS: Final = 8
SNAPSHOT_SWEEPS: Final = 6
"""A sweep tries as many moves as there are groups, and half as many again."""


class Binding(Protocol):
    """What holds the chains: how likely the answers make counts, and how many people there are."""

    @property
    def people(self) -> tuple[IntArray, IntArray]:
        """Exact numbers of accepted and of refused people, shape (T,) each."""

    @property
    def totals(self) -> Totals:
        """What was answered: the chains start near its estimates and step by its deviations."""

    def log_change(self, state: "State", moved: "State", pair: IntArray) -> FloatArray:
        """The log-likelihood of a state in which two groups have moved, less that of the state, shape (T, M).

        Args:
            state: All groups.
            moved: The two groups after the move.
            pair: Which they are, shape (2,).
        """


@dataclass(frozen=True, slots=True, eq=False)
class State:
    """Accepted and refused people in every chain, shape (T, K, M) each."""

    accepted: IntArray
    refused: IntArray

    def of(self, pair: IntArray) -> "State":
        """Two groups alone, shape (T, 2, M)."""
        return State(self.accepted[:, pair], self.refused[:, pair])


@dataclass(frozen=True, slots=True, eq=False)
class SupportedGroups:
    """Groups that the holder counted, with their likelihoods, and exact numbers of people over all of them."""

    totals: CountedTotals
    known: People

    @property
    def people(self) -> tuple[IntArray, IntArray]:
        """See `Binding`."""
        everybody = self.totals.complement_is == "everybody"
        refused = self.known.complement - self.known.accepted if everybody else self.known.complement
        return self.known.accepted, refused

    def log_change(self, state: State, moved: State, pair: IntArray) -> FloatArray:
        """See `Binding`."""
        return self._log_likelihood(moved, pair) - self._log_likelihood(state.of(pair), pair)

    def _log_likelihood(self, state: State, pair: IntArray) -> FloatArray:
        """Of two groups, shape (T, M); a group that was not counted says nothing."""
        accepted, complement = self.totals.likelihoods
        shown = state.accepted + state.refused if self.totals.complement_is == "everybody" else state.refused
        both = accepted.log_likelihood(state.accepted, pair) + complement.log_likelihood(shown, pair)
        likelihood: FloatArray = both[:, pair < self.known.counted].sum(axis=1)
        return likelihood


@dataclass(frozen=True, slots=True, eq=False)
class ReportedGroups:
    """Groups of the local model: two normal likelihoods."""

    totals: LocalTotals

    @property
    def people(self) -> tuple[IntArray, IntArray]:
        """See `Binding`."""
        return np.array([self.totals.accepted.people]), np.array([self.totals.refused.people])

    def log_change(self, state: State, moved: State, pair: IntArray) -> FloatArray:
        """See `Binding`."""
        return self._of_part(self.totals.accepted, state.accepted, moved.accepted, pair) + self._of_part(
            self.totals.refused, state.refused, moved.refused, pair
        )

    @staticmethod
    def _of_part(part: UnmixedCounts, counts: IntArray, moved: IntArray, pair: IntArray) -> FloatArray:
        # −½(e + d)ᵀP(e + d) + ½eᵀPe = −dᵀP(e + ½d), where d is zero but for the pair.
        step = moved - counts[:, pair]
        slope = np.einsum("ik,tkm->tim", part.precision[pair], counts - part.estimate[None, :, None])
        slope += 0.5 * np.einsum("ij,tjm->tim", part.precision[np.ix_(pair, pair)], step)
        change: FloatArray = -(step * slope).sum(axis=1)
        return change


def bound_draws(binding: Binding, prior: LogPrior, *, number: int, seed: int) -> tuple[IntArray, IntArray]:
    """Draw from the posterior under a prior.

    Args:
        binding: What the answers and the numbers of people say.
        prior: Of each group's (accepted, refused).
        number: How many draws, a multiple of `SNAPSHOTS`.
        seed: The same seed gives the same draws.

    Returns:
        Accepted and refused people, shape (T, K, number) each; their sums over the groups are exact.
    """
    rng = np.random.default_rng(seed)
    chains = max(number // SNAPSHOTS, 1)
    state = State(
        *(
            _near(estimate, people, deviation, chains, rng)
            for estimate, people, deviation in zip(
                binding.totals.estimates, binding.people, binding.totals.deviations, strict=True
            )
        )
    )
    groups = state.accepted.shape[1]
    log_prior = prior(state.accepted, state.refused)
    snapshots = []
    for snapshot in range(SNAPSHOTS):
        sweeps = WARM_UP_SWEEPS if snapshot == 0 else SNAPSHOT_SWEEPS
        for _ in range(sweeps * groups * 3 // 2):
            _step(binding, prior, state, log_prior, rng)
        snapshots.append((state.accepted.copy(), state.refused.copy()))
    accepted, refused = (np.concatenate(part, axis=-1) for part in zip(*snapshots, strict=True))
    return accepted, refused


def _step(binding: Binding, prior: LogPrior, state: State, log_prior: FloatArray, rng: np.random.Generator) -> None:
    """Try to move people between two groups in every chain; state and log prior are changed in place."""
    releases, groups, chains = state.accepted.shape
    pair = rng.choice(groups, 2, replace=False)
    which = rng.integers(3)  # the accepted, the refused, or as many whole people of both
    steps = [
        _lengths(deviation, (releases, chains), rng) if which in (part, 2) else np.zeros((releases, chains), np.int64)
        for part, deviation in enumerate(binding.totals.deviations)
    ]
    sign = rng.choice(np.array([-1, 1]), (releases, chains))
    across = np.array([1, -1])[None, :, None] * sign[:, None]
    moved = State(
        state.accepted[:, pair] + across * steps[0][:, None], state.refused[:, pair] + across * steps[1][:, None]
    )
    possible = (moved.accepted >= 0).all(axis=1) & (moved.refused >= 0).all(axis=1)
    within = State(np.maximum(moved.accepted, 0), np.maximum(moved.refused, 0))
    moved_prior = prior(within.accepted, within.refused)
    change = binding.log_change(state, within, pair) + (moved_prior - log_prior[:, pair]).sum(axis=1)
    taken = (possible & (np.log(rng.random((releases, chains))) < change))[:, None]
    state.accepted[:, pair] = np.where(taken, within.accepted, state.accepted[:, pair])
    state.refused[:, pair] = np.where(taken, within.refused, state.refused[:, pair])
    log_prior[:, pair] = np.where(taken, moved_prior, log_prior[:, pair])


def _lengths(deviation: float, shape: tuple[int, int], rng: np.random.Generator) -> IntArray:
    """How many people to move: 1 to three deviations, every magnitude as often."""
    lengths: IntArray = np.exp(rng.random(shape) * np.log(1 + 3 * deviation)).astype(np.int64)
    return lengths


def _near(estimate: FloatArray, people: IntArray, deviation: float, chains: int, rng: np.random.Generator) -> IntArray:
    """Counts near an estimate that add up to so many people, shape (T, K, chains)."""
    around = np.maximum(estimate[..., None] + deviation * rng.standard_normal((*estimate.shape, chains)), 0) + 1e-9
    counts: IntArray = np.floor(around * (people[:, None] / around.sum(axis=1))[:, None]).astype(np.int64)
    rest = people[:, None] - counts.sum(axis=1)
    largest = counts.argmax(axis=1)[:, None]
    np.put_along_axis(counts, largest, np.take_along_axis(counts, largest, axis=1) + rest[:, None], axis=1)
    return counts
