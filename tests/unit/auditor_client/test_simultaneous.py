"""Levels at which intervals hold together: what they are for independent, equal, tied and undefined figures.

Draws are of fixed seeds. Where a figure is compared with its theory, the bound is five standard errors of it and more:
with any other seed it would fail with a chance below 1e-6.
"""

from collections.abc import Callable

import numpy as np
import pytest

from auditor_client.estimation.noise_sums import FloatArray
from auditor_client.estimation.simultaneous import levels_needed, levels_of_errors, simultaneous_level

DRAWS = 8192
LEVEL = 0.95
Needed = Callable[[FloatArray], FloatArray]


def normal(figures: int, seed: int = 0, draws: int = DRAWS) -> FloatArray:
    return np.random.default_rng(seed).standard_normal((figures, draws))


def within(draws: FloatArray, others: FloatArray, level: float) -> float:
    """How many of other draws lie within all equal-tailed intervals of some draws."""
    low, high = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2], axis=1)
    return float(((low[:, None] <= others) & (others <= high[:, None])).all(axis=0).mean())


@pytest.mark.parametrize("needed", [levels_needed, levels_of_errors])
def test_one_figure_needs_the_level_alone_however_often_it_is_stated(needed: Needed) -> None:
    draws = normal(1)

    one = simultaneous_level([needed(draws)], LEVEL)
    again = simultaneous_level([needed(np.repeat(draws, 9, axis=0))], LEVEL)

    assert one == again == pytest.approx(LEVEL, abs=2 / DRAWS)
    assert one >= LEVEL


@pytest.mark.parametrize("figures", [2, 5, 16])
@pytest.mark.parametrize("needed", [levels_needed, levels_of_errors])
def test_independent_figures_need_the_root_of_the_level(needed: Needed, figures: int) -> None:
    """The standard error of the level is that of a quantile, (1 - level) over the square root of .05 · M at most."""
    found = simultaneous_level([needed(normal(figures))], LEVEL)

    root = LEVEL ** (1 / figures)
    assert found == pytest.approx(root, abs=5 * (1 - root) / np.sqrt((1 - LEVEL) * DRAWS))
    assert found > LEVEL


def test_independent_measurements_need_the_same_apart_as_together() -> None:
    draws = normal(6)

    together = simultaneous_level([levels_needed(draws)], LEVEL)
    apart = simultaneous_level([levels_needed(draws[:2]), levels_needed(draws[2:, ::2])], LEVEL)

    root = LEVEL ** (1 / 6)
    assert (1 - apart) / (1 - root) == pytest.approx(1, abs=0.3)
    assert (1 - together) / (1 - root) == pytest.approx(1, abs=0.3)


def test_at_the_level_new_draws_of_dependent_figures_are_held_and_at_single_ones_not() -> None:
    """The planted fault is the single level. The share of 100 000 new draws has a standard error of .0007, the level
    found from 8192 one of .0024: the bound is more than five of both together.
    """
    mixing = np.random.default_rng(1).standard_normal((12, 4))
    draws, others = mixing @ normal(4, 2), mixing @ normal(4, 3, 100_000)

    found = simultaneous_level([levels_needed(draws)], LEVEL)

    assert within(draws, others, found) > LEVEL - 0.015
    assert within(draws, others, LEVEL) < LEVEL - 0.1
    assert found < 1 - (1 - LEVEL) / 12


def test_of_equal_draws_all_are_held() -> None:
    certain = np.full((3, DRAWS), 0.25)
    coin = np.random.default_rng(0).integers(0, 2, (5, DRAWS)).astype(float)

    assert simultaneous_level([levels_needed(certain)], LEVEL) == LEVEL
    assert simultaneous_level([levels_needed(coin)], LEVEL) == LEVEL
    assert simultaneous_level([levels_needed(np.vstack([certain, normal(1)]))], LEVEL) < LEVEL + 2 / DRAWS


def test_an_undefined_figure_claims_nothing() -> None:
    draws = normal(2)
    mostly, sometimes = draws.copy(), draws.copy()
    mostly[1, : DRAWS * 3 // 4] = np.nan
    sometimes[1, : DRAWS // 4] = np.nan

    alone, partly, both = (simultaneous_level([levels_needed(of)], LEVEL) for of in (mostly, sometimes, draws))

    assert alone == simultaneous_level([levels_needed(draws[:1])], LEVEL)
    assert alone < partly < both


def test_infinite_draws_have_a_rank_as_others_have() -> None:
    draws = normal(4)
    infinite = np.where(draws > 1, np.inf, draws)

    at_infinity, everywhere = (simultaneous_level([levels_needed(of)], LEVEL) for of in (infinite, draws))

    assert LEVEL < at_infinity < everywhere


def test_more_figures_than_draws_distinguish_take_the_highest_level_that_there_is() -> None:
    found = simultaneous_level([levels_needed(normal(500, draws=256))], LEVEL)

    assert found == 1 - 1 / 256
