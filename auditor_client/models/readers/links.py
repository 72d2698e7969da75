"""Where a decision turns on a score's own scale: the smallest number whose image is on the other side, exactly.

Makers turn a sum into a probability by a function that rises, and compare that. The holder compares the sum, so the
threshold is moved: searched over all numbers of the sum's precision, by the maker's own arithmetic.
"""

import ctypes
import math
import struct
from collections.abc import Callable
from functools import cache
from typing import Any, Final

import numpy as np

from shared.scores.documents import Dense, Layers, Precision, Product, RuleTerm, TableTerm, Term, Terms, Trees

_FORMATS: Final = {"float64": ("<d", "<Q", 63), "float32": ("<f", "<I", 31)}
_MAX: Final = {"float64": float(np.finfo(np.float64).max), "float32": float(np.finfo(np.float32).max)}


def least(image: Callable[[float], bool], precision: Precision) -> float:
    """The smallest finite number of a precision for which something holds; +∞ if for none, −∞ if for all.

    Args:
        image: False up to some number and True from there on.
        precision: Which numbers there are.
    """
    low, high = _key(-_MAX[precision], precision), _key(_MAX[precision], precision)
    if not image(_MAX[precision]):
        return math.inf
    if image(-_MAX[precision]):
        return -math.inf
    while high - low > 1:
        middle = (low + high) // 2
        if image(_number(middle, precision)):
            high = middle
        else:
            low = middle
    return _number(high, precision)


def _key(number: float, precision: Precision) -> int:
    real, whole, sign = _FORMATS[precision]
    bits: int = struct.unpack(whole, struct.pack(real, number))[0]
    return -(bits ^ (1 << sign)) if bits >> sign else bits


def _number(key: int, precision: Precision) -> float:
    real, whole, sign = _FORMATS[precision]
    bits = (-key) | (1 << sign) if key < 0 else key
    number: float = struct.unpack(real, struct.pack(whole, bits))[0]
    return number


def expf(number: float) -> float:
    """The C library's own exponential in single precision, which makers in C and C++ call."""
    return _single("expf", math.exp, number)


def logf(number: float) -> float:
    """The C library's own logarithm in single precision."""
    return _single("logf", math.log, number)


def _single(name: str, double: Callable[[float], float], number: float) -> float:
    function = _c_function(name)
    if function is not None:
        return float(function(number))
    try:
        return float(np.float32(double(number)))
    except OverflowError:
        return math.inf


@cache
def _c_function(name: str) -> Any:
    """A function of the C library from float to float; None where it cannot be found."""
    try:
        function = getattr(ctypes.CDLL(None), name)
    except (AttributeError, OSError, TypeError):
        return None
    function.argtypes, function.restype = [ctypes.c_float], ctypes.c_float
    return function


def exp(number: float) -> float:
    """The exponential in double precision; infinity beyond its range."""
    try:
        return math.exp(number)
    except OverflowError:
        return math.inf


def logistic(number: float) -> float:
    """1/(1 + e^−x) in double precision, as most makers write it."""
    return 1.0 / (1.0 + exp(-number))


def negated(document: Trees | Terms | Layers) -> Trees | Terms | Layers:
    """The document of the opposite number, exactly: rounding to nearest is symmetric."""
    changes: dict[str, Any]
    match document:
        case Trees():
            trees = tuple(
                tree.model_copy(update={"values": tuple(-value for value in tree.values)}) for tree in document.trees
            )
            changes = {"base": -document.base, "trees": trees}
        case Terms():
            changes = {"base": -document.base, "terms": tuple(_negated_term(term) for term in document.terms)}
        case Layers():
            last = document.layers[-1]
            turned: tuple[Dense, ...]
            if last.activation == "identity":
                weights = tuple(tuple(-weight for weight in row) for row in last.weights)
                turned = (last.model_copy(update={"weights": weights, "bias": tuple(-bias for bias in last.bias)}),)
            else:
                again = Dense(weights=((-1.0,),), bias=(0.0,), activation="identity")
                turned = (last, again)
            changes = {"layers": (*document.layers[:-1], *turned)}
    return document.model_copy(update=changes)


def _negated_term(term: Term) -> Term:
    match term:
        case Product():
            missing = None if term.missing is None else -term.missing
            return term.model_copy(update={"slope": -term.slope, "missing": missing})
        case TableTerm():
            return term.model_copy(update={"table": tuple(-number for number in term.table)})
        case RuleTerm():
            return term.model_copy(update={"value": -term.value})
