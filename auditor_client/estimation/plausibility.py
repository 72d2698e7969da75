"""Whether answers can be the mechanism's, and about as many people as the auditor's own data have (3-estimation §2).

Supports are exact constraints, so wrong ones would make confident nonsense. A cell's answers over all groups
add up to its support plus noise of a known distribution. Supports are refused if noise alone would take a sum that far
from them less often than once in a million.
"""

from typing import Final

import numpy as np

from auditor_client.errors import EstimationRefused
from auditor_client.estimation.measurements import IntArray, Measurement, NoisyCounts
from auditor_client.estimation.noise_sums import FloatArray, noise_sum
from shared.noise import DiscreteLaplaceNoise, ExponentialNoise, RandomisedResponseNoise

IMPLAUSIBLE: Final = 1e-6


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
    for part, known in parts:
        exact = np.array(known, dtype=np.int64)
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
    """How likely noise takes the sum over the groups as far from the support, shape (R,).

    The answers, shape (R, K'), add up `terms` noises of the part each; the supports have shape (R,).
    """
    noise, counted = part.noise, answers.shape[1]
    sums = answers.sum(axis=1)
    # Where one of two groups was counted, its people are some number from none to the support.
    beyond = np.maximum(np.maximum(sums - supports, -sums), 0) if counted == 1 else np.abs(sums - supports)
    if isinstance(noise, RandomisedResponseNoise):
        exact: FloatArray = (beyond == 0).astype(np.float64)
        return exact
    if isinstance(noise, ExponentialNoise):
        # A nearly empty cell is answered too high on average, by the scale at most.
        beyond = beyond - int(np.ceil(counted * terms * noise.scale))
        noise = DiscreteLaplaceNoise(scale=noise.scale)
    tail: FloatArray = np.minimum(2 * noise_sum(noise, counted * terms).at_least(np.maximum(beyond, 0)), 1.0)
    return tail
