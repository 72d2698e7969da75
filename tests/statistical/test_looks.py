"""Chains of answers, each read at its share of the error: the intervals of all looks hold together at the level.

400 chains of one invented register, at nine looks, drawn by the holder's own mechanisms and read as the client reads
them. Whether all nine intervals hold the truth is 93 % likely at least, as everywhere (1-method §4), so fewer than the
binomial's 10⁻⁶ quantile are a fault: that is the rate of false alarms. The control has each look take the whole error,
as whoever looks again and again without saying so: some 72 % hold then.
"""

import numpy as np
import pytest
from scipy.stats import binom

from auditor_client.estimation.measurements import IntArray
from auditor_client.findings.looks import Looks
from benchmarks.accuracy import Case
from benchmarks.until_decided import LEVEL, chained, invented_cases, joint_share, read
from shared.privacy.amounts import Loss

CHAINS = 400
DRAWS = 512
LEAST = binom.ppf(1e-6, CHAINS, 0.93) / CHAINS

pytestmark = pytest.mark.statistical


@pytest.fixture(scope="module")
def looks() -> Looks:
    return Looks.of(12_500_000, Loss(3_200_000_000), LEVEL)


@pytest.fixture(scope="module")
def case() -> Case:
    return invented_cases()[0]


@pytest.fixture(scope="module")
def answers(case: Case, looks: Looks) -> list[IntArray]:
    return chained(np.stack([case.accepted, case.sizes - case.accepted]), looks, CHAINS)


def test_the_intervals_of_all_looks_hold_together(answers: list[IntArray], looks: Looks, case: Case) -> None:
    assert joint_share(read(answers, looks, looks.each, draws=DRAWS), case.ratio) >= LEAST


def test_looks_that_each_take_the_whole_error_are_found(answers: list[IntArray], looks: Looks, case: Case) -> None:
    assert joint_share(read(answers, looks, LEVEL, draws=DRAWS), case.ratio) < LEAST
