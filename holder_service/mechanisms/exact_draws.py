"""Coins and geometric numbers whose probabilities are powers of e, from uniform integers alone: no float decides.

Every draw compares whole numbers with uniform ones of the operating system's random source, so each probability is
what its docstring says, without rounding. OpenDP draws the noise of a first answer by the same algorithms; it offers
none of them by itself.

Source: Canonne, Kamath, Steinke (2020), *The Discrete Gaussian for Differential Privacy*, algorithms 1 and 2.
"""

import secrets
from collections.abc import Callable

Uniform = Callable[[int], int]
"""Given n, one of 0..n − 1, each as likely."""


def coin(numerator: int, denominator: int, uniform: Uniform = secrets.randbelow) -> bool:
    """True with probability e^(−numerator/denominator), of integers from 0 and 1 on."""
    whole, remainder = divmod(numerator, denominator)
    return all(_short_coin(1, 1, uniform) for _ in range(whole)) and _short_coin(remainder, denominator, uniform)


def geometric(numerator: int, denominator: int, uniform: Uniform = secrets.randbelow) -> int:
    """Draw k ≥ 0 with probability (1 − q)·q^k, where q = e^(−numerator/denominator), of positive integers.

    A geometric number of rate 1/denominator is drawn by its remainder and its quotient, which are independent; of
    every `numerator` of its values one is made.
    """
    remainder = uniform(denominator)
    while not _short_coin(remainder, denominator, uniform):
        remainder = uniform(denominator)
    quotient = 0
    while _short_coin(1, 1, uniform):
        quotient += 1
    return (remainder + denominator * quotient) // numerator


def _short_coin(numerator: int, denominator: int, uniform: Uniform) -> bool:
    """The same for a fraction x of at most 1.

    The k-th trial succeeds with probability x/k. The first n succeed with x^n/n!, so the first that fails is an odd
    one with probability 1 − x + x²/2 − … = e^(−x).
    """
    trial = 1
    while uniform(denominator * trial) < numerator:
        trial += 1
    return trial % 2 == 1
