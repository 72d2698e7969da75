"""Intervals where rules name the attribute that groups are compared by: half of the counts are of nobody for certain.

A cell "sex = Female and …" has no men, but its answer for men has noise all the same, and the totals add it up. Their
likelihood counts that noise, so coverage keeps; it is wider than it would have to be.

Sample: 400 releases; two groups, four rules of each decision of which each applies to one group alone. Threshold: 90 %
of intervals of level 95 % hold the truth, four and a half standard deviations below 95 %. Negative control: read as
if the noise were half as large, fewer than that do. Noise and estimator are seeded, so neither fails by chance.
"""

import numpy as np
import pytest

from auditor_client.estimation.drawing import Drawing
from auditor_client.estimation.measurements import Measurement, NoisyCounts
from auditor_client.estimation.noise_sums import discrete_laplace
from auditor_client.estimation.posterior import estimate_parity
from shared.privacy.noise import DiscreteLaplaceNoise

RELEASES = 400
SCALE = 10.0
FAVOURABLE = np.array([[150, 0], [120, 0], [0, 260], [0, 90]])
UNFAVOURABLE = np.array([[400, 0], [130, 0], [0, 300], [0, 150]])

pytestmark = pytest.mark.statistical


def covered(said: float) -> float:
    """How often the ratio's interval holds the true ratio, if the noise is said to be of a scale."""
    rng = np.random.default_rng(8)
    accepted, refused = FAVOURABLE.sum(axis=0), UNFAVOURABLE.sum(axis=0)
    rates = accepted / (accepted + refused)
    truth = rates.min() / rates.max()
    held = 0
    for release in range(RELEASES):
        accepted_counts, refused_counts = (
            NoisyCounts(counts + discrete_laplace(SCALE, counts.shape, rng), DiscreteLaplaceNoise(scale=said))
            for counts in (FAVOURABLE, UNFAVOURABLE)
        )
        measured = Measurement((("Female",), ("Male",)), accepted_counts, refused_counts, "unfavourable")
        ratio = estimate_parity(measured, drawing=Drawing(seed=release)).ratio
        held += ratio.low <= truth <= ratio.high
    return held / RELEASES


def test_intervals_hold_the_truth_as_often_as_they_say() -> None:
    assert covered(SCALE) >= 0.9


def test_noise_that_is_said_to_be_half_as_large_is_noticed() -> None:
    assert covered(SCALE / 2) < 0.9
