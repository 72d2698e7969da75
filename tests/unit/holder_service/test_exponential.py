"""The exponential mechanism's loss is what is charged, computed from its exact mass on neighbouring counts."""

import math
import random
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from opendp.domains import atom_domain, vector_domain
from opendp.measurements import make_noisy_max
from opendp.measures import zero_concentrated_divergence
from opendp.metrics import linf_distance
from scipy import stats

from holder_service.mechanisms.exponential import ExponentialMechanism
from shared.privacy.amounts import EPSILON_NANO_MAX, EPSILON_NANO_MIN
from shared.privacy.noise import ExponentialNoise


@pytest.mark.parametrize("counts_that_change", [1, 2])
def test_the_loss_of_the_scale_never_exceeds_the_charge(counts_that_change: int) -> None:
    source = random.Random(1)
    samples = [source.randint(EPSILON_NANO_MIN, EPSILON_NANO_MAX) for _ in range(4000)]

    for epsilon_nano in [EPSILON_NANO_MIN, EPSILON_NANO_MAX, 10**8, 3 * 10**8, *samples]:
        scale = ExponentialMechanism.calibrated(
            epsilon_nano=epsilon_nano, upper=1000, counts_that_change=counts_that_change
        ).scale
        epsilon = Fraction(epsilon_nano, 10**9)

        assert Fraction(2 * counts_that_change) / Fraction(scale) <= epsilon
        smaller = Fraction(math.nextafter(scale, 0.0))
        assert Fraction(2 * counts_that_change) / smaller > epsilon or scale == 2e9 * counts_that_change / epsilon_nano


@given(
    epsilon_nano=st.integers(10**7, 3 * 10**9),
    upper=st.integers(100, 400),
    count=st.integers(0, 420),
)
@settings(max_examples=200)
def test_no_answer_distinguishes_neighbouring_counts_by_more_than_epsilon(
    epsilon_nano: int, upper: int, count: int
) -> None:
    """The proof of the docstring, checked on the mass itself: one count that changes by one person."""
    noise = ExponentialMechanism.calibrated(epsilon_nano=epsilon_nano, upper=upper, counts_that_change=1).noise

    losses = [
        abs(noise.log_likelihood(answer, count) - noise.log_likelihood(answer, count + 1))
        for answer in range(upper + 1)
    ]

    assert max(losses) <= epsilon_nano / 1e9 * (1 + 1e-9)


def test_half_the_scale_would_exceed_epsilon() -> None:
    """The negative control, at the edge of the candidates, where the loss is largest: too little noise shows."""
    noise = ExponentialNoise(scale=1.0, upper=100)

    loss = max(abs(noise.log_likelihood(answer, 0) - noise.log_likelihood(answer, 1)) for answer in range(101))

    assert loss > 1.0


@pytest.mark.parametrize("count", [0, 3, 500, 10**6])
def test_answers_stay_within_the_candidates(count: int) -> None:
    mechanism = ExponentialMechanism.calibrated(epsilon_nano=10**7, upper=100, counts_that_change=2)

    answers = mechanism.release([count] * 500)

    assert len(answers) == 500
    assert all(0 <= answer <= 100 for answer in answers)
    assert len(set(answers)) > 20


def test_opendp_draws_alike() -> None:
    """The oracle: OpenDP's noisy maximum under zCDP is Gumbel noise, which is the exponential mechanism.

    4 000 draws each, two-sample χ² in ten bins, rejected below 10⁻⁷. Twin: half the scale is rejected.
    """
    upper, count, runs = 40, 9, 4000
    mechanism, halved = (
        ExponentialMechanism.calibrated(epsilon_nano=epsilon_nano, upper=upper, counts_that_change=1)
        for epsilon_nano in (5 * 10**8, 10**9)
    )
    space = vector_domain(atom_domain(T="f64", nan=False)), linf_distance(T="f64")
    oracle: Any = make_noisy_max(*space, zero_concentrated_divergence(), scale=mechanism.scale)
    scores = [-abs(float(count - candidate)) for candidate in range(upper + 1)]

    theirs = [oracle(scores) for _ in range(runs)]

    edges = [0, 3, 6, 8, 9, 10, 11, 13, 17, 24, upper + 1]
    right, wrong = (
        stats.chi2_contingency([np.histogram(answers, edges)[0] for answers in (drawn.release([count] * runs), theirs)])
        for drawn in (mechanism, halved)
    )
    assert right.pvalue >= 1e-7
    assert wrong.pvalue < 1e-7
