"""All intervals of a chain of decisions hold together in at least 93 % of releases (9-adverse-outcomes §4).

Each chain is released 120 times by the holder's mechanism. The least number of releases of which all intervals hold is
the 10⁻⁶ quantile of the binomial with 93 %: what covers more often raises a false alarm in at most one run in a
million. In the negative controls the estimator hears of half the noise's scale, and holds less than half of them.
"""

import pytest
from scipy import stats

from checks.coverage import Task, of_chains

RUNS = 120
HOLDING_MIN = int(stats.binom.ppf(1e-6, RUNS, 0.93))
CHAINS = (0, 9)


@pytest.mark.statistical
@pytest.mark.parametrize("seed", CHAINS)
def test_all_intervals_of_a_chain_hold_together(seed: int) -> None:
    found = {covered.name.rsplit(" ", 1)[0]: covered for covered in of_chains(Task(seed, RUNS))}

    assert found["chain together"].holding >= HOLDING_MIN
    assert found["decisive step"].holding >= HOLDING_MIN


@pytest.mark.statistical
@pytest.mark.parametrize("seed", CHAINS)
def test_half_the_noise_is_seen(seed: int) -> None:
    found = {covered.name.rsplit(" ", 1)[0]: covered for covered in of_chains(Task(seed, RUNS, scale_factor=0.5))}

    assert found["chain together"].holding < HOLDING_MIN
