"""tanh and logistic, bit for bit the same on every machine, at every position and for arrays of every length.

A mathematical library's own functions differ from machine to machine, and some from the middle of an array to its end,
by the vector instructions they take; then one record's score would depend on who stands beside it. Here there is
nothing but +, −, ×, ÷, rounding to a whole number and scaling by powers of two, one operation after the other over
whole arrays: IEEE 754 defines each to the last bit, and numpy never fuses two.

In float64 tanh is off by less than 2 and logistic by less than 1.3 units in the last place (`test_elementary.py`
compares them with mpmath). In float32 both are computed in float64 and rounded once: off by less than 0.501.

Source: the reduction and the approximation of e^r − 1 are fdlibm's `expm1` (Sun Microsystems, 1993).
"""

from typing import Any, Final, TypeVar

import numpy as np
import numpy.typing as npt

_FloatT = TypeVar("_FloatT", np.float32, np.float64)
_Array = npt.NDArray[Any]

_LN2_HIGH: Final = 6.93147180369123816490e-01
"""The first 33 bits of ln 2: a multiple of it by a whole number below 2^20 is exact."""
_LN2_LOW: Final = 1.90821492927058770002e-10
_LN2_INVERSE: Final = 1.44269504088896338700e00
_Q: Final = (
    -3.33333333333331316428e-02,
    1.58730158725481460165e-03,
    -7.93650757867487942473e-05,
    4.00821782732936239552e-06,
    -2.01099218183624371326e-07,
)
_LOWEST: Final = -750.0
"""Below it e^x is 0 in float64."""


def tanh(numbers: npt.NDArray[_FloatT]) -> npt.NDArray[_FloatT]:
    """The hyperbolic tangent of each number, of the same type and shape; NaN stays NaN."""
    return _odd(_tanh, numbers)


def logistic(numbers: npt.NDArray[_FloatT]) -> npt.NDArray[_FloatT]:
    """1 / (1 + e^−x) of each number, of the same type and shape; NaN stays NaN."""
    return _odd(_logistic, numbers)


def _odd(function: Any, numbers: npt.NDArray[_FloatT]) -> npt.NDArray[_FloatT]:
    """Apply a function of float64 to numbers of either type; NaN stays NaN."""
    wide = np.asarray(numbers, dtype=np.float64)
    is_number = wide == wide  # noqa: PLR0124 - false for NaN alone
    results = np.where(is_number, function(np.where(is_number, wide, 0.0)), wide)
    return results.astype(np.asarray(numbers).dtype)


def _tanh(numbers: _Array) -> _Array:
    """−t / (t + 2), where t = e^(−2|x|) − 1, and from 1 on 1 − 2s / (1 + s), where s = t + 1; with the sign of x."""
    doubled = np.maximum(-2.0 * np.abs(numbers), _LOWEST)
    k, power, _, less_one = _reduced(doubled)
    s = np.ldexp(power, k)
    t = np.where(k == 0, less_one, np.where(k == -1, 0.5 * less_one - 0.5, s - 1.0))
    below = 2.0 + t
    below_lost = (2.0 - below) + t
    quotient = -t / below
    return np.copysign(
        np.where(doubled <= -2.0, 1.0 - 2.0 * s / (1.0 + s), quotient - quotient * below_lost / below), numbers
    )


def _logistic(numbers: _Array) -> _Array:
    """1 / (1 + s) where x ≥ 0, else s / (1 + s), where s = e^−|x|; corrected by what roundings of s and 1 + s lost."""
    k, power, lost, _ = _reduced(np.maximum(-np.abs(numbers), _LOWEST))
    s, s_lost = np.ldexp(power, k), np.ldexp(lost, k)
    below = 1.0 + s
    below_lost = ((1.0 - below) + s) + s_lost
    upper = numbers >= 0.0
    quotient = np.where(upper, 1.0, s) / below
    return quotient + (np.where(upper, 0.0, s_lost) - quotient * below_lost) / below


def _reduced(numbers: _Array) -> tuple[_Array, _Array, _Array, _Array]:
    """Of each number x = k·ln 2 + r with |r| ≤ ln 2 / 2: k, e^r, what e^r lost by its last rounding, and e^r − 1."""
    k = np.rint(numbers * _LN2_INVERSE)
    high, low = numbers - k * _LN2_HIGH, k * _LN2_LOW
    r = high - low
    r_lost = (high - r) - low
    half = 0.5 * r
    square = r * half
    r1 = 1.0 + square * (_Q[0] + square * (_Q[1] + square * (_Q[2] + square * (_Q[3] + square * _Q[4]))))
    t = 3.0 - r1 * half
    e = square * ((r1 - t) / (6.0 - r * t))
    e = (r * (e - r_lost) - r_lost) - square
    less_one = r - e
    power = 1.0 + less_one
    return k.astype(np.int32), power, (1.0 - power) + less_one, less_one
