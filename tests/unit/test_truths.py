"""What simulations call true: an interval that holds, a verdict that is wrong, the parity of true rates."""

import numpy as np
import pytest

from auditor_client.estimation.estimates import Estimate, Verdict
from testing.truths import all_hold, holds, is_wrong, surely_holds, true_parity

INTERVAL = Estimate(0.5, 0.4, 0.6, level=0.95, method="posterior")
UNDEFINED = Estimate(np.nan, np.nan, np.nan, level=0.95, method="posterior")


@pytest.mark.parametrize(
    ("truth", "held"), [(0.4, True), (0.6, True), (0.4 - 1e-13, True), (0.4 - 1e-11, False), (0.6 + 1e-11, False)]
)
def test_an_interval_holds_its_ends_and_nothing_beyond_rounding(truth: float, held: bool) -> None:
    assert holds(INTERVAL, truth) is held


def test_an_undefined_figure_claims_nothing_and_no_truth_is_claimed() -> None:
    assert holds(UNDEFINED, 0.9)
    assert holds(None, 0.9)
    assert holds(INTERVAL, np.nan)


def test_figures_hold_together_if_each_does() -> None:
    assert all_hold([(INTERVAL, 0.5), (UNDEFINED, 0.9)])
    assert not all_hold([(INTERVAL, 0.5), (INTERVAL, 0.7)])


@pytest.mark.parametrize(("truth", "held"), [(0.23, True), (0.75, True), (0.21, False), (0.77, False)])
def test_a_single_release_surely_holds_within_several_widths(truth: float, held: bool) -> None:
    skewed = Estimate(0.4, 0.37, 0.46, level=0.95, method="posterior")

    assert surely_holds(skewed, truth) is held


def test_no_release_surely_holds_whose_noise_is_less_than_a_person() -> None:
    with pytest.raises(AssertionError, match="too small"):
        surely_holds(Estimate(0.5, 0.5, 0.5, level=0.95, method="posterior"), 0.5)


@pytest.mark.parametrize(
    ("verdict", "truth", "wrong"),
    [
        (Verdict.MEETS, 0.79, True),
        (Verdict.MEETS, 0.8, False),
        (Verdict.FAILS, 0.8, True),
        (Verdict.FAILS, 0.79, False),
        (Verdict.UNDECIDED, 0.79, False),
        (Verdict.NONE, 0.79, False),
        (Verdict.FAILS, np.nan, False),
    ],
)
def test_a_verdict_is_wrong_if_it_contradicts_the_truth(verdict: Verdict, truth: float, wrong: bool) -> None:
    assert is_wrong(verdict, truth, 0.8) is wrong


@pytest.mark.parametrize(
    ("rates", "parity"),
    [
        ([0.2, 0.4, 0.3], (0.5, 0.2)),
        ([0.0, 0.4], (0.0, 0.4)),
        ([0.2, np.nan, 0.4], (0.5, 0.2)),
        ([0.0, 0.0], (np.nan, 0.0)),
        ([np.nan, np.nan], (np.nan, np.nan)),
    ],
)
def test_true_parity_is_of_the_rates_that_there_are(rates: list[float], parity: tuple[float, float]) -> None:
    assert true_parity(np.array(rates)) == pytest.approx(parity, nan_ok=True)
