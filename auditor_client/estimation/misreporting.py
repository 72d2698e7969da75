"""Groups that are recorded wrongly for some people: from recorded counts to true ones, within the posterior.

A reinterview study found s[k, j] people who truly belong to group k and are recorded as j. Each row k of the matrix
M[k, j], the probability that a person of group k is recorded as j, then has the posterior Dirichlet(s[k] + ½)
(Jeffreys' prior). Given M, the people with one outcome who are recorded as j are r[j], with probabilities

    r ~ Multinomial(n, πM),  the shares π of the true groups uniform a priori, 0 ≤ π and Σπ = 1,

and those recorded as j divide among the true groups by Multinomial(r[j], π[k]M[k, j]/(πM)[j]). The true counts of a
group are the sum over j. A priori all true counts with the same sum are equally likely. Their posterior cannot leave
what is possible: where M hardly tells groups apart, the likelihood is flat, and intervals are as wide as that leaves
them. Inverting M instead would magnify the noise without limit, and give negative counts.

Every draw of the recorded counts from the posterior of the noisy answers meets a draw of M of its own, so an interval
holds the noise of privacy, the errors of the records and the uncertainty of the study. The register does not change
what the study says of M. The records' errors must not depend on the outcome, given the true group.

Two groups have one free share, which is drawn exactly. For more, shares are drawn line by line, each from its exact
distribution on the line, whose logarithm is concave: along the principal axes of what the records tell, since a group
may be recorded as a mixture of others is, and between pairs of groups, since the axes leave the corners badly.

Axes: T releases, K groups, M draws; N = T·M; S points of a grid.
"""

from dataclasses import replace
from itertools import combinations
from typing import Final

import numpy as np

from auditor_client.estimation.confusion import ConfusionCounts
from auditor_client.estimation.draws import Draws, DrawsWithBoundaryCases
from auditor_client.estimation.noise_sums import FloatArray

MANY_DRAWS: Final = 1024
"""So many draws for more than two groups, for intervals of a level that they suffice for."""
LEVEL_OF_FEWER: Final = 0.95
SWEEPS: Final = 8
POINTS: Final = 33
STAGES: Final = 3
"""A grid is refined so often: to a part of about 10⁻⁴ of the range."""
DEPTH: Final = 12.0
"""Log-likelihoods that are lower by this much do not count."""


def corrected(recorded: Draws, confusion: ConfusionCounts, level: float) -> Draws:
    """Draws of the true counts for intervals of a level, from those of the recorded ones."""
    releases, groups, number = recorded.accepted.shape
    number = number if groups == 2 or level > LEVEL_OF_FEWER else min(number, MANY_DRAWS)
    matrices = np.tile(confusion.matrices(number), (releases, 1, 1))
    rng = np.random.default_rng((recorded.drawing.seed, 13))
    accepted, refused = (
        true_counts(np.moveaxis(part[..., :number], 1, 2).reshape(-1, groups), matrices, rng)
        for part in (recorded.accepted, recorded.size - recorded.accepted)
    )
    accepted, refused = (np.moveaxis(part.reshape(releases, number, groups), 2, 1) for part in (accepted, refused))
    return replace(recorded, accepted=accepted, size=accepted + refused)


def corrected_cases(recorded: Draws, confusion: ConfusionCounts, level: float) -> DrawsWithBoundaryCases:
    """Corrected draws, with the groups of which perhaps nobody is accepted or refused.

    Nobody is possible where the lower end of the number's interval is within a quarter of a standard deviation of none:
    posteriors of numbers that are not negative never reach it themselves.
    """
    draws = corrected(recorded, confusion, level)
    none, everyone = (
        np.quantile(people, (1 - level) / 2, axis=-1) <= people.std(axis=-1) / 4
        for people in (draws.accepted, draws.size - draws.accepted)
    )
    return DrawsWithBoundaryCases(draws, draws, draws, none, everyone)


def true_counts(recorded: FloatArray, matrices: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Draw true counts, shape (N, K), from recorded ones, shape (N, K), and matrices, shape (N, K, K)."""
    groups = recorded.shape[1]
    shares = (recorded + 1) / (recorded + 1).sum(axis=1, keepdims=True)
    unit = np.eye(groups)
    pairs = [(unit[first] - unit[second])[None] for first, second in combinations(range(groups), 2)]
    axes = [] if groups == 2 else list(np.moveaxis(_axes(recorded, matrices), 1, 0))
    for _ in range(1 if groups == 2 else SWEEPS):
        for direction in (*axes, *pairs):
            shares = _moved(shares, recorded, matrices, direction, rng)
    joint = shares[:, :, None] * matrices
    by_recorded = np.moveaxis(joint, 2, 1) / joint.sum(axis=1)[:, :, None]
    divided = rng.multinomial(recorded.astype(np.int64), by_recorded)
    true: FloatArray = divided.sum(axis=1).astype(float)
    return true


def _axes(recorded: FloatArray, matrices: FloatArray) -> FloatArray:
    """Return the principal axes of the information about the shares, shape (N, K − 1, K); each adds up to 0."""
    groups = recorded.shape[1]
    basis = np.linalg.svd(np.ones((1, groups)))[2][1:]  # orthonormal, of the changes that add up to 0
    response = basis @ matrices
    information = (response / (recorded + 1)[:, None, :]) @ np.swapaxes(response, 1, 2)
    axes: FloatArray = np.swapaxes(np.linalg.eigh(information)[1], 1, 2) @ basis
    return axes


def _moved(
    shares: FloatArray, recorded: FloatArray, matrices: FloatArray, direction: FloatArray, rng: np.random.Generator
) -> FloatArray:
    """Draw shares anew on the line through them, shape (N, K), from their distribution on it.

    The direction, shape (N, K) or (1, K), adds up to 0.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        steps = np.where(direction == 0, np.inf, shares / np.abs(direction))
    back = np.where(direction > 0, steps, np.inf).min(axis=1)
    forth = np.where(direction < 0, steps, np.inf).min(axis=1)
    start = shares - back[:, None] * direction
    base = np.einsum("nk,nkj->nj", start, matrices)
    slope = np.einsum("nk,nkj->nj", np.broadcast_to(direction, shares.shape), matrices)
    low, high = np.zeros_like(back), forth + back
    grid = np.linspace(0, 1, POINTS)
    for stage in range(STAGES):
        points = low[:, None] + (high - low)[:, None] * grid
        fit = np.zeros_like(points)
        for group in range(recorded.shape[1]):
            likely = np.maximum(base[:, group, None] + points * slope[:, group, None], 1e-300)
            fit += recorded[:, group, None] * np.log(likely)
        fit -= fit.max(axis=1, keepdims=True)
        if stage < STAGES - 1:
            counts = fit > -DEPTH
            first = np.maximum(counts.argmax(axis=1) - 1, 0)
            last = np.minimum(POINTS - counts[:, ::-1].argmax(axis=1), POINTS - 1)
            low, high = (np.take_along_axis(points, index[:, None], axis=1)[:, 0] for index in (first, last))
    weight = np.exp(fit)
    cells = np.cumsum((weight[:, 1:] + weight[:, :-1]) / 2, axis=1)
    target = rng.random(len(cells)) * cells[:, -1]
    cell = np.minimum((cells < target[:, None]).sum(axis=1), POINTS - 2)
    within = (cell + rng.random(len(cells))) / (POINTS - 1)
    moved: FloatArray = np.maximum(start + (low + (high - low) * within)[:, None] * direction, 0.0)
    return moved
