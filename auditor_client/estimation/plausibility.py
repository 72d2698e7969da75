"""Whether answers can be about as many people as is known beforehand (3-estimation §2).

Supports and the groups' known sizes are constraints, so wrong ones would make confident nonsense. A cell's answers over
all groups add up to its support plus noise of a known distribution, and a group's answers over all cells to its size.
What is known is refused if noise alone would take a sum that far from it less often than once in a million.
"""

from typing import Final

import numpy as np
from scipy.stats import norm

from auditor_client.errors import EstimationRefused
from auditor_client.estimation.joined_answers import difference_of
from auditor_client.estimation.local_model import UnmixedCounts
from auditor_client.estimation.measurements import COUNT_MAX, IntArray, Measurement, NoisyCounts, SizeBounds
from auditor_client.estimation.noise_sums import FloatArray, noise_sum
from shared.privacy.noise import AdditiveNoise, DiscreteLaplaceNoise, ExponentialNoise, RandomisedResponseNoise
from shared.wire.wording import figure

IMPLAUSIBLE: Final = 1e-6


def check_known(measurement: Measurement) -> None:
    """Refuse what is known beforehand where the answers make it implausible, or where it contradicts itself.

    Raises:
        EstimationRefused: So it is.
    """
    for answer in measurement.answers:
        check_supports(answer)
        check_bounds(answer)
    check_joined(measurement)


def check_joined(measurement: Measurement) -> None:
    """Refuse to join answers that are not about the same people, as far as they show it.

    Raises:
        EstimationRefused: A further answer is so far from the first with p < 10⁻⁶ (two-sided, divided by the groups).
    """
    for other in (*measurement.draws, *measurement.others):
        pairs = ((measurement.favourable, other.favourable), (measurement.complement, other.complement))
        p_values = np.concatenate([_apart(*pair) for pair in pairs])
        if not len(p_values) * float(p_values.min()) >= IMPLAUSIBLE:
            raise EstimationRefused(
                "The answers that are to be joined are not about the same people (p < 0.000001). Read each by itself "
                "(without `join`), and check the receipts (`auditor verify`)."
            )


def _apart(first: NoisyCounts, second: NoisyCounts) -> FloatArray:
    """Return how likely noise takes the totals of two answers so far apart, shape (K',)."""
    noises = (noise_sum(part.added_noise, part.cells) for part in (first, second))
    likelihoods: FloatArray = 2 * difference_of(*noises).at_least(np.abs(first.totals - second.totals))
    return likelihoods


def check_supports(measurement: Measurement) -> None:
    """Refuse supports that the answers make implausible: in any one cell, or altogether.

    Raises:
        EstimationRefused: With p < 10⁻⁶ (two-sided, and divided by the number of cells).
    """
    supports = measurement.supports
    if supports is None:
        return
    parts = zip(
        (measurement.favourable, measurement.complement), (supports.favourable, supports.complement), strict=True
    )
    for part, of_cells in parts:
        exact = np.array(of_cells, dtype=np.int64)
        p_value = min(
            part.cells * float(_p_values(part, part.counts, exact, 1).min()),
            float(_p_values(part, part.totals[None], exact.sum(keepdims=True), part.cells).min()),
        )
        if not p_value >= IMPLAUSIBLE:
            raise EstimationRefused(
                "The answers are not about as many people as the supports say (p < 0.000001): your data are not "
                "those of the holder's records, or its version differs. Estimate without supports."
            )


def _p_values(part: NoisyCounts, answers: IntArray, supports: IntArray, terms: int) -> FloatArray:
    """Return how likely noise takes the sum over the groups as far from the support or farther, shape (R,).

    The answers, shape (R, K'), add up `terms` noises of the part each; the supports have shape (R,).
    """
    noise, counted = part.noise, answers.shape[1]
    sums = answers.sum(axis=1)
    # Where one of two groups was counted, its people are some number from none to the support.
    beyond = np.maximum(np.maximum(sums - supports, -sums), 0) if counted == 1 else np.abs(sums - supports)
    if isinstance(noise, RandomisedResponseNoise):
        exact: FloatArray = (beyond == 0).astype(np.float64)
        return exact
    return _two_sided(noise, beyond, counted * terms)


def _two_sided(noise: AdditiveNoise | ExponentialNoise, beyond: IntArray, terms: int) -> FloatArray:
    """Return how likely so many noises together go so far to either side, of the shape of `beyond`."""
    if isinstance(noise, ExponentialNoise):
        # A nearly empty cell is answered too high on average, by the scale at most.
        beyond = beyond - int(np.ceil(terms * noise.scale))
        noise = DiscreteLaplaceNoise(scale=noise.scale)
    tail: FloatArray = np.minimum(2 * noise_sum(noise, terms).at_least(np.maximum(beyond, 0)), 1.0)
    return tail


def check_bounds(measurement: Measurement) -> None:
    """Refuse sizes that the answers make implausible: of any one group, or of all whose size is known together.

    Raises:
        EstimationRefused: With p < 10⁻⁶ (two-sided, and divided by the number of groups); or supports or reports count
            other people altogether.
    """
    bounds, people = measurement.bounds, _people(measurement)
    if bounds is None:
        return
    if people is not None and not sum(bounds.least) <= people <= sum(bounds.most):
        raise EstimationRefused(
            f"The group totals do not fit {figure(people)} people, whom your own data or the reports have: they are of "
            "other people. Give those of the people that this question is about, within bounds where they are not "
            "exact."
        )
    p_values = _size_p_values(measurement, bounds)
    if not len(p_values) * float(p_values.min()) >= IMPLAUSIBLE:
        raise EstimationRefused(
            "The answers are not about as many people of each group as the group totals say (p < 0.000001): they are "
            "of other people than the holder's records, or of another scope or time. Give bounds, or estimate without "
            "group totals."
        )


def _people(measurement: Measurement) -> int | None:
    """Return how many people there are altogether, where that is exact."""
    supports = measurement.supports
    if supports is not None:
        accepted, complement = sum(supports.favourable), sum(supports.complement)
    elif measurement.is_local:
        accepted, complement = int(measurement.favourable.counts.sum()), int(measurement.complement.counts.sum())
    else:
        return None
    return complement if measurement.complement_is == "everybody" else accepted + complement


def _size_p_values(measurement: Measurement, bounds: SizeBounds) -> FloatArray:
    """Return how likely noise takes each group's size as far from its bounds or farther, shape (K,).

    Where noise was added, the last of shape (K + 1,) is of all groups together whose size is known.
    """
    favourable, complement = measurement.completed()
    parts = [complement] if measurement.complement_is == "everybody" else [favourable, complement]
    answers = np.sum([part.totals for part in parts], axis=0)
    smallest, largest = bounds.arrays()
    if measurement.is_local:
        unmixed = UnmixedCounts.of(answers, measurement.response_probabilities())
        outside = np.maximum(np.maximum(smallest - unmixed.estimate, unmixed.estimate - largest), 0)
        normal: FloatArray = 2 * norm.sf(outside / unmixed.deviations)
        return normal
    noises = [part.noise for part in parts if not isinstance(part.noise, RandomisedResponseNoise)]
    noise, cells = max(noises, key=lambda noise: noise.scale), sum(part.cells for part in parts)
    beyond, is_bounded = np.stack([smallest - answers, answers - largest]), largest < COUNT_MAX
    of_groups = _two_sided(noise, np.maximum(beyond.max(axis=0), 0), cells)
    together = np.maximum(beyond[:, is_bounded].sum(axis=1).max(keepdims=True), 0)
    return np.append(of_groups, _two_sided(noise, together, cells * max(int(is_bounded.sum()), 1)))
