"""The sampler draws the mass that `shared.noise` states, and a scale that is off is caught.

χ² over 100 000 draws against the exact mass, bins of at least 25 expected draws, rejected below
p = 10⁻⁶: that is the false-alarm rate. The twin draws with a scale 5 % off and must be rejected.
"""

import numpy as np
import pytest
from scipy import stats

from holder_service.mechanisms.laplace import LaplaceMechanism
from shared.noise import DiscreteLaplaceNoise

DRAWS = 100_000
P_MIN = 1e-6

pytestmark = pytest.mark.statistical


def p_value(draws: list[int], noise: DiscreteLaplaceNoise) -> float:
    """How well draws fit a mass function, tails pooled."""
    reach = 0
    while DRAWS * np.exp(noise.log_mass(reach)) >= 25:
        reach += 1
    support = np.arange(-reach + 1, reach)
    expected = DRAWS * np.exp(noise.log_mass(support))
    tail = (DRAWS - expected.sum()) / 2
    values = np.asarray(draws)
    observed = [np.sum(values <= -reach), *(np.sum(values == k) for k in support), np.sum(values >= reach)]
    return float(stats.chisquare(observed, [tail, *expected, tail]).pvalue)


@pytest.mark.parametrize("epsilon_nano", [10**9, 10**8, 5 * 10**7])
def test_the_draws_fit_the_stated_mass(epsilon_nano: int) -> None:
    mechanism = LaplaceMechanism.calibrated(epsilon_nano=epsilon_nano, sensitivity=1)

    assert p_value(mechanism.release([0] * DRAWS), mechanism.noise) >= P_MIN


@pytest.mark.parametrize("epsilon_nano", [10**9, 10**8, 5 * 10**7])
def test_a_scale_that_is_off_is_rejected(epsilon_nano: int) -> None:
    mechanism = LaplaceMechanism.calibrated(epsilon_nano=epsilon_nano, sensitivity=1)
    claimed = DiscreteLaplaceNoise(scale=mechanism.scale * 1.05)

    assert p_value(mechanism.release([0] * DRAWS), claimed) < P_MIN
