"""tanh and logistic: how far from the true values, and the same bits in arrays of every length."""

import mpmath
import numpy as np
import pytest

from shared.scores.elementary import logistic, tanh

RNG = np.random.default_rng(20261122)
NUMBERS = np.concatenate(
    [
        RNG.uniform(-3, 3, 12_000),
        RNG.uniform(-40, 40, 3000),
        RNG.uniform(-746, -700, 500),
        np.exp(RNG.uniform(-40, 5, 4000)) * RNG.choice([-1.0, 1.0], 4000),
    ]
)
FUNCTIONS = {
    "tanh": (tanh, mpmath.tanh, 2.0),
    "logistic": (logistic, lambda number: 1 / (1 + mpmath.exp(-number)), 1.3),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_in_float64_the_error_is_as_stated(name: str) -> None:
    function, true, limit = FUNCTIONS[name]

    with mpmath.workprec(200):
        expected = [true(mpmath.mpf(float(number))) for number in NUMBERS]
        errors = [
            float(abs(mpmath.mpf(float(one)) - other) / float(np.spacing(abs(float(other)))))
            for one, other in zip(function(NUMBERS), expected, strict=True)
        ]

    assert 0.4 < max(errors) < limit


@pytest.mark.parametrize("name", FUNCTIONS)
def test_in_float32_the_error_is_as_stated(name: str) -> None:
    function, true, _ = FUNCTIONS[name]
    numbers = NUMBERS[:6000].astype(np.float32)

    with mpmath.workprec(100):
        expected = [true(mpmath.mpf(float(number))) for number in numbers]
    errors = [
        float(abs(mpmath.mpf(float(one)) - other) / float(np.spacing(np.float32(abs(float(other))))))
        for one, other in zip(function(numbers), expected, strict=True)
    ]

    assert function(numbers).dtype == np.float32
    assert 0.4 < max(errors) < 0.501


@pytest.mark.parametrize("function", [tanh, logistic])
def test_a_number_has_the_same_bits_in_arrays_of_every_length_and_at_every_index(function: type) -> None:
    whole = function(NUMBERS)

    for size in (1, 2, 3, 7, 8, 9, 63, 64, 65):
        parts = [function(NUMBERS[start : start + size]) for start in range(0, 2000, size)]
        assert np.concatenate(parts)[:2000].tobytes() == whole[:2000].tobytes()
    assert function(NUMBERS[::-1])[::-1].tobytes() == whole.tobytes()


def test_the_ends_are_defined() -> None:
    ends = np.array([np.inf, -np.inf, np.nan, 0.0, -0.0, 1e-320, 1e300])

    assert repr(tanh(ends).tolist()) == "[1.0, -1.0, nan, 0.0, -0.0, 1e-320, 1.0]"
    assert repr(logistic(ends).tolist()) == "[1.0, 0.0, nan, 0.5, 0.5, 0.5, 1.0]"
