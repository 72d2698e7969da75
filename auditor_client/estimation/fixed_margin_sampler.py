"""A sampler of true totals whose sums over the groups are known: a random walk that keeps the margins.

Given supports, and in the local model, what one group has another has not, so groups cannot be drawn independently.
Each chain walks over (accepted, refused) of all groups by moving people between two groups at a time
(Metropolis). The lengths of the moves are spread over all magnitudes, from one person to three deviations of the noise,
so that groups of a dozen and of thousands both move. Chains start near the answers, walk a warm-up, and give a few
snapshots each. Where sizes are known, moves keep within them: by some, as many accepted people go one way as refused
people go the other.

Axes: T releases, K groups, C chains.
"""

from typing import Final

import numpy as np

from auditor_client.estimation.local_model import Totals
from auditor_client.estimation.measurements import IntArray, SizeBounds
from auditor_client.estimation.noise_sums import FloatArray
from auditor_client.estimation.priors import Prior
from auditor_client.estimation.totals import TrueTotals

WARM_UP_SWEEPS: Final = 40
SNAPSHOTS: Final = 8
SNAPSHOT_SWEEPS: Final = 6
"""A sweep tries as many moves as there are groups, and half as many again."""
_EXCHANGE: Final = 3
"""The kind of move that leaves sizes as they are; the others move the accepted, the refused, or both."""


def fixed_margin_draws(totals: Totals, prior: Prior, *, number: int, seed: int) -> tuple[IntArray, IntArray]:
    """Draw true totals from the posterior under a prior; the same seed gives the same draws.

    Returns:
        Accepted and refused people, shape (T, K, number) each; their sums over the groups are the known ones, and
        sizes are within their bounds. The number is a multiple of `SNAPSHOTS`.

    Raises:
        ValueError: The groups share no known number.
    """
    if totals.known is None:
        raise ValueError("Groups that share no known number of people are drawn independently.")
    rng = np.random.default_rng(seed)
    chains = max(number // SNAPSHOTS, 1)
    margins = (totals.known.accepted, totals.known.refused)
    starts = [
        _start(estimate, margin, deviation, chains, rng)
        for estimate, margin, deviation in zip(totals.estimates, margins, totals.deviations, strict=True)
    ]
    accepted, refused = starts if totals.bounds is None else _within(starts[0], starts[1], totals.bounds)
    state = TrueTotals(accepted, refused)
    groups = state.accepted.shape[1]
    log_prior = prior(state.accepted, state.refused)
    snapshots = []
    for snapshot in range(SNAPSHOTS):
        sweeps = WARM_UP_SWEEPS if snapshot == 0 else SNAPSHOT_SWEEPS
        for _ in range(sweeps * groups * 3 // 2):
            _step(totals, prior, state, log_prior, rng)
        snapshots.append((state.accepted.copy(), state.refused.copy()))
    accepted, refused = (np.concatenate(part, axis=-1) for part in zip(*snapshots, strict=True))
    return accepted, refused


def _step(totals: Totals, prior: Prior, state: TrueTotals, log_prior: FloatArray, rng: np.random.Generator) -> None:
    """Try to move people between two groups in every chain; state and log prior, shape (T, K, C), change in place."""
    releases, groups, chains = state.accepted.shape
    pair = rng.choice(groups, 2, replace=False)
    which = _kind_of_move(totals.bounds, rng)
    if which == _EXCHANGE:
        length = _lengths(min(totals.deviations), (releases, chains), rng)
        lengths = [length, -length]
    else:
        still = np.zeros((releases, chains), np.int64)
        lengths = [
            _lengths(deviation, (releases, chains), rng) if which in (part, 2) else still
            for part, deviation in enumerate(totals.deviations)
        ]
    sign = rng.choice(np.array([-1, 1]), (releases, chains))
    across = np.array([1, -1])[None, :, None] * sign[:, None]
    accepted, refused = (
        of_groups[:, pair] + across * length[:, None]
        for of_groups, length in zip((state.accepted, state.refused), lengths, strict=True)
    )
    possible = (accepted >= 0).all(axis=1) & (refused >= 0).all(axis=1)
    if totals.bounds is not None:
        smallest, largest = (sizes[pair, None] for sizes in totals.bounds.arrays())
        possible &= ((accepted + refused >= smallest) & (accepted + refused <= largest)).all(axis=1)
    # Impossible moves are computed as if they ended at zero, and not taken.
    moved = TrueTotals(np.maximum(accepted, 0), np.maximum(refused, 0))
    moved_prior = prior(moved.accepted, moved.refused)
    log_ratio = totals.log_ratio(state, moved, pair) + (moved_prior - log_prior[:, pair]).sum(axis=1)
    taken = (possible & (np.log(rng.random((releases, chains))) < log_ratio))[:, None]
    state.accepted[:, pair] = np.where(taken, moved.accepted, state.accepted[:, pair])
    state.refused[:, pair] = np.where(taken, moved.refused, state.refused[:, pair])
    log_prior[:, pair] = np.where(taken, moved_prior, log_prior[:, pair])


def _kind_of_move(bounds: SizeBounds | None, rng: np.random.Generator) -> int:
    """Of the accepted (0), of the refused (1), of both (2), or an exchange, which alone keeps sizes that are exact."""
    if bounds is None:
        return int(rng.integers(_EXCHANGE))
    return _EXCHANGE if bounds.exact else int(rng.integers(_EXCHANGE + 1))


def _lengths(deviation: float, shape: tuple[int, int], rng: np.random.Generator) -> IntArray:
    """Return how many people to move, of this shape: from 1 to three deviations, every magnitude as often."""
    lengths: IntArray = np.exp(rng.random(shape) * np.log(1 + 3 * deviation)).astype(np.int64)
    return lengths


def _start(estimate: FloatArray, margin: IntArray, deviation: float, chains: int, rng: np.random.Generator) -> IntArray:
    """Counts, shape (T, K, C), near an estimate, shape (T, K), that add up to the margin, shape (T,); in people."""
    around = np.maximum(estimate[..., None] + deviation * rng.standard_normal((*estimate.shape, chains)), 0) + 1e-9
    counts: IntArray = np.floor(around * (margin[:, None] / around.sum(axis=1))[:, None]).astype(np.int64)
    remainder = margin[:, None] - counts.sum(axis=1)
    largest = counts.argmax(axis=1)[:, None]
    np.put_along_axis(counts, largest, np.take_along_axis(counts, largest, axis=1) + remainder[:, None], axis=1)
    return counts


def _within(accepted: IntArray, refused: IntArray, bounds: SizeBounds) -> tuple[IntArray, IntArray]:
    """Accepted and refused, shape (T, K, C) each, near those given and with the same sums; sizes are within bounds."""
    smallest, largest = (sizes[None, :, None] for sizes in bounds.arrays())
    size = _fitted(accepted + refused, smallest, largest)
    fitted = _fitted(accepted, np.zeros_like(smallest), size)
    return fitted, size - fitted


def _fitted(counts: IntArray, smallest: IntArray, largest: IntArray) -> IntArray:
    """Counts, shape (T, K, C), taken into a range that allows their sum over the groups, which stays."""
    fitted = np.clip(counts, smallest, largest)
    missing = (counts.sum(axis=1) - fitted.sum(axis=1))[:, None]
    room = np.where(missing > 0, largest - fitted, fitted - smallest)
    before = room.cumsum(axis=1) - room
    taken: IntArray = fitted + np.sign(missing) * np.clip(np.abs(missing) - before, 0, room)
    return taken
