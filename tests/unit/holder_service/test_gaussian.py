"""σ costs what is charged: OpenDP's own conversion confirms it exactly, and hardly a smaller one would do."""

import itertools
import math
import random
from fractions import Fraction
from typing import Any

import pytest
from opendp.combinators import make_zCDP_to_approxDP
from opendp.domains import atom_domain, vector_domain
from opendp.measurements import make_gaussian
from opendp.metrics import l2_distance

from auditor_client.exchange.expected_noise import approximate_delta
from holder_service.mechanisms.gaussian import GaussianMechanism
from shared.privacy.amounts import DELTA_NANO_MAX, DELTA_NANO_MIN, EPSILON_NANO_MAX, EPSILON_NANO_MIN, Loss

SPACE = vector_domain(atom_domain(T="i64")), l2_distance(T="f64")
CORNERS = list(itertools.product((EPSILON_NANO_MIN, EPSILON_NANO_MAX), (DELTA_NANO_MIN, DELTA_NANO_MAX)))


def delta_at(scale: float, l2: float, epsilon_nano: int) -> Fraction:
    """The δ that OpenDP gives noise of σ = scale at ε; at the largest double that is not above ε."""
    exact = Fraction(epsilon_nano, 10**9)
    epsilon = float(exact) if Fraction(float(exact)) <= exact else math.nextafter(float(exact), 0)
    approximate: Any = make_zCDP_to_approxDP(make_gaussian(*SPACE, scale=scale))
    return Fraction(approximate.map(l2).delta(epsilon))


# Whether a loss is above the charge by a digit that doubles cannot hold is for many values of ε and δ to show.
@pytest.mark.parametrize("samples", [200, pytest.param(4000, marks=[pytest.mark.slow, pytest.mark.statistical])])
@pytest.mark.parametrize("counts_that_change", [1, 2])
def test_the_conversion_never_exceeds_the_charge_and_hardly_less_noise_would_do(
    counts_that_change: int, samples: int
) -> None:
    l2 = math.sqrt(counts_that_change)
    assert Fraction(l2) ** 2 >= counts_that_change
    source = random.Random(4)
    losses = [(round(10 ** source.uniform(6, 10)), round(10 ** source.uniform(0, 6))) for _ in range(samples)]

    for epsilon_nano, delta_nano in [*CORNERS, *losses]:
        mechanism = GaussianMechanism.calibrated(
            loss=Loss(epsilon_nano, delta_nano), squared_sensitivity=counts_that_change
        )

        charged = Fraction(delta_nano, 10**9)
        assert delta_at(mechanism.scale, l2, epsilon_nano) <= charged
        assert delta_at(mechanism.scale * (1 - 1e-11), l2, epsilon_nano) > charged
        assert mechanism.noise.scale == mechanism.scale


@pytest.mark.parametrize(("scale", "epsilon"), [(30.0, 0.5), (1.0, 3.0), (0.5, 10.0), (1000.0, 0.01)])
def test_the_auditors_formula_is_the_holders_conversion(scale: float, epsilon: float) -> None:
    approximate: Any = make_zCDP_to_approxDP(make_gaussian(*SPACE, scale=scale))

    assert approximate_delta(0.5 / scale**2, epsilon) == pytest.approx(approximate.map(1.0).delta(epsilon), rel=1e-9)


def test_noise_is_integer_fresh_and_around_the_count() -> None:
    mechanism = GaussianMechanism.calibrated(loss=Loss(10**9, 1000), squared_sensitivity=1)
    counts = [1000] * 2000

    one, other = mechanism.release(counts), mechanism.release(counts)

    assert all(isinstance(count, int) for count in one)
    assert one != other
    assert abs(sum(one) / len(one) - 1000) < 1
