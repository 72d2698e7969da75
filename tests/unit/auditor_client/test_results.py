"""What an estimate says of itself."""

import math

import pytest

from auditor_client.estimation.results import Estimate, Verdict


def estimate(low: float, high: float, value: float = 0.7) -> Estimate:
    """An estimate with an interval."""
    return Estimate(value, low, high, 0.95, "posterior")


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (0.8, 0.9, Verdict.MEETS),
        (0.81, 1.0, Verdict.MEETS),
        (0.5, 0.79, Verdict.FAILS),
        (0.5, 0.8, Verdict.UNDECIDED),
        (0.79, 0.81, Verdict.UNDECIDED),
        (math.nan, math.nan, Verdict.UNDECIDED),
    ],
)
def test_a_verdict_needs_the_whole_interval_on_one_side(low: float, high: float, verdict: Verdict) -> None:
    assert estimate(low, high).against(0.8) is verdict


def test_an_estimate_knows_its_width_and_whether_it_is_defined() -> None:
    assert estimate(0.5, 0.75).width == 0.25
    assert estimate(0.5, 0.75).defined
    assert not estimate(math.nan, math.nan, math.nan).defined


@pytest.mark.parametrize(
    ("shown", "text"),
    [
        (estimate(0.5, 0.75), "0.700 [0.500, 0.750]"),
        (estimate(math.nan, math.nan), "0.700"),
        (estimate(math.nan, math.nan, math.nan), "undefined"),
    ],
)
def test_an_estimate_shows_what_it_has(shown: Estimate, text: str) -> None:
    assert str(shown) == text
