"""Registers in which hardly anybody has the adverse outcome: what `checks.coverage --only adverse` releases.

Two to six groups of 300 to 200 000 people each, adverse rates of .1 to 5 %, ε of .02 to 1: a small count under noise is
where plain intervals of a relative risk fail.
"""

import math
from typing import Final

import numpy as np

from auditor_client.estimation.estimates import Estimate
from auditor_client.estimation.results import JudgedFigures, RatioKind
from testing.invented.registers import Register
from testing.truths import is_wrong

EPSILONS: Final = ("0.02", "0.05", "0.1", "0.2", "0.5", "1")
SIZES: Final = (300, 200_000)
RATES: Final = (0.001, 0.05)
"""Of the adverse outcome."""


def rare_register(seed: int) -> Register:
    """A register of its own for each seed; in every fourth the groups have one rate, so that the ratio is near 1."""
    rng = np.random.default_rng(seed)
    groups = int(rng.integers(2, 7))
    sizes = np.exp(rng.uniform(math.log(SIZES[0]), math.log(SIZES[1]), groups)).astype(np.int64)
    rates = np.exp(rng.uniform(math.log(RATES[0]), math.log(RATES[1]), groups))
    rates = np.full(groups, rates[0]) if seed % 4 == 0 else rates
    adverse = np.maximum(rng.binomial(sizes, rates), 1)
    strategy = str(rng.choice(["verdict", "pafer"]))
    return Register((sizes - adverse)[None], adverse[None], 1 - rates, str(rng.choice(EPSILONS)), strategy)


def true_adverse(register: Register) -> tuple[float, float]:
    """The adverse ratio and the difference of the people in the register."""
    rates = register.unfavourable.sum(axis=0) / register.sizes
    return float(rates.max() / rates.min()), float(rates.max() - rates.min())


def wrong_verdict(ratio: Estimate, truth: float, threshold: float) -> bool:
    """Whether the verdict that an adverse ratio gives is not that of the truth."""
    figures = JudgedFigures(ratio=ratio, difference=ratio, threshold=threshold, ratio_kind=RatioKind.HIGHEST)
    return is_wrong(figures.verdict, 1 / truth, threshold)
