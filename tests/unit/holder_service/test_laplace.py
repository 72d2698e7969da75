"""The scale costs exactly what is charged: OpenDP's own map confirms it as exact fractions."""

import math
import random
from fractions import Fraction
from typing import Any

import pytest
from opendp.measurements import make_laplace

from holder_service.mechanisms.laplace import SPACE, LaplaceMechanism
from shared.privacy.amounts import EPSILON_NANO_MAX, EPSILON_NANO_MIN


def loss(scale: float, sensitivity: int) -> Fraction:
    """What OpenDP says that noise of a scale costs, exactly."""
    measurement: Any = make_laplace(*SPACE, scale=scale)
    return Fraction(measurement.map(sensitivity))


@pytest.mark.slow
@pytest.mark.parametrize("sensitivity", [1, 2])
def test_the_map_never_exceeds_the_charge_and_no_smaller_scale_would_do(sensitivity: int) -> None:
    source = random.Random(1)
    samples = [source.randint(EPSILON_NANO_MIN, EPSILON_NANO_MAX) for _ in range(4000)]

    for epsilon_nano in [EPSILON_NANO_MIN, EPSILON_NANO_MAX, 10**8, 3 * 10**8, *samples]:
        scale = LaplaceMechanism.calibrated(epsilon_nano=epsilon_nano, sensitivity=sensitivity).scale
        epsilon = Fraction(epsilon_nano, 10**9)
        smaller = math.nextafter(scale, 0.0)

        assert loss(scale, sensitivity) <= epsilon
        assert loss(smaller, sensitivity) > epsilon or scale == sensitivity * 10**9 / epsilon_nano


def test_the_noise_described_is_the_noise_drawn_with() -> None:
    mechanism = LaplaceMechanism.calibrated(epsilon_nano=10**8, sensitivity=1)

    assert mechanism.noise.scale == mechanism.scale
    assert mechanism.scale == pytest.approx(10.0, rel=1e-12)


def test_noise_is_integer_fresh_and_around_the_count() -> None:
    mechanism = LaplaceMechanism.calibrated(epsilon_nano=10**9, sensitivity=1)
    counts = [1000] * 2000

    one, other = mechanism.release(counts), mechanism.release(counts)

    assert all(isinstance(count, int) for count in one)
    assert one != other
    assert abs(sum(one) / len(one) - 1000) < 1
