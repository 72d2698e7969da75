"""The posterior is calibrated: where its own prior made the truth, the truth's rank in it is uniform.

Groups are drawn from the flat prior (sizes uniform, rates uniform, accepted people binomial), answered
with the noise that the estimator gets, and ranked among the posterior's draws (Talts et al. 2018,
simulation-based calibration). Sizes end at 40 scales; only answers below 25 are looked at, where that end
is not felt, and looking at answers alone keeps the ranks uniform. χ² over 20 bins and 4 000 groups rejects
below p = 10⁻⁹: with six ranks looked at, and what finitely many draws of each posterior are off, the false-alarm
rate stays below 10⁻⁶. In the negative control the estimator gets half the scale and must be rejected: its χ² is
above 1 400, eighteen times what is needed, so it is never missed.
"""

import numpy as np
import pytest
from scipy import stats

from auditor_client.estimation.drawing import Drawing
from auditor_client.estimation.draws import posterior_draws
from auditor_client.estimation.measurements import ComplementKind, IntArray
from auditor_client.estimation.totals import CountedTotals
from holder_service.mechanisms.laplace import LaplaceMechanism
from shared.privacy.noise import DiscreteLaplaceNoise

GROUPS = 4_000
BINS = 20
P_MIN = 1e-9
SCALE = 4.0
SIZE_SCALES_MAX = 40
ANSWER_SCALES_MAX = 25

pytestmark = pytest.mark.statistical


def p_values(kind: ComplementKind, cells: int, *, scale_factor: float = 1.0) -> list[float]:
    """How well the ranks of true sizes and of true numbers of accepted people fit the uniform distribution."""
    rng = np.random.default_rng()
    mechanism = LaplaceMechanism.calibrated(epsilon_nano=int(1e9 / SCALE), sensitivity=1)
    noise = DiscreteLaplaceNoise(scale=scale_factor * mechanism.scale)
    sizes = rng.integers(0, int(SIZE_SCALES_MAX * SCALE) + 1, 3 * GROUPS)
    accepted = rng.binomial(sizes, rng.random(len(sizes)))
    complement = sizes if kind == "everybody" else sizes - accepted

    def answered(counts: IntArray, terms: int) -> IntArray:
        parts = [counts, *([np.zeros_like(counts)] * (terms - 1))]
        noisy: IntArray = np.array([mechanism.release(part.tolist()) for part in parts], dtype=np.int64).sum(axis=0)
        return noisy

    of_accepted, of_complement = answered(accepted, cells)[:, None], answered(complement, 1)[:, None]
    of_everybody = of_complement if kind == "everybody" else of_accepted + of_complement
    seen = np.flatnonzero(of_everybody[:, 0] <= ANSWER_SCALES_MAX * SCALE)[:GROUPS]
    totals = CountedTotals.with_noise(
        of_accepted[seen], of_complement[seen], (noise, noise), cells=(cells, 1), complement_is=kind
    )
    found, _ = posterior_draws(totals, Drawing(512))
    values = []
    for draws, truth in ((found.size, sizes), (found.accepted, accepted)):
        below = (draws[:, 0] < truth[seen, None]).mean(axis=1)
        ties = (draws[:, 0] == truth[seen, None]).mean(axis=1)
        ranks = below + rng.random(len(seen)) * ties
        values.append(float(stats.chisquare(np.histogram(ranks, BINS, (0, 1))[0]).pvalue))
    return values


@pytest.mark.parametrize(("kind", "cells"), [("unfavourable", 1), ("everybody", 1), ("everybody", 3)])
def test_the_truth_ranks_uniformly_in_its_posterior(kind: ComplementKind, cells: int) -> None:
    assert min(p_values(kind, cells)) >= P_MIN


@pytest.mark.parametrize(("kind", "cells"), [("unfavourable", 1), ("everybody", 3)])
def test_a_posterior_that_gets_half_the_noise_is_rejected(kind: ComplementKind, cells: int) -> None:
    assert max(p_values(kind, cells, scale_factor=0.5)) < P_MIN
