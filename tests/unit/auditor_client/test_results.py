"""What an estimate says of itself."""

import math
from dataclasses import replace

import pytest

from auditor_client.estimation.estimates import Estimate, Unit, Verdict


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
        (estimate(0.69996, 0.70002), "0.70000 [0.69996, 0.70002]"),
        (estimate(0.7, 0.7), "0.700 [0.700, 0.700]"),
        (estimate(math.nan, math.nan), "0.700"),
        (estimate(math.nan, math.nan, math.nan), "undefined"),
    ],
)
def test_an_estimate_shows_what_it_has(shown: Estimate, text: str) -> None:
    assert str(shown) == text


@pytest.mark.parametrize(
    ("low", "high", "value", "known"),
    [
        (0.4, 0.9, 0.7, True),
        (0.39, 0.9, 0.7, False),
        (0.0, 1.0, 0.7, False),
        (-0.3, 0.3, 0.0, False),
        (2.0, 3.4, 2.8, True),
        (2.0, 3.5, 2.8, False),
        (0.5, math.inf, 2.8, False),
        (math.nan, math.nan, 0.7, True),
        (math.nan, math.nan, math.nan, False),
        (0.0, 1.0, math.nan, False),
    ],
)
def test_a_share_is_known_within_half_of_what_it_could_be(low: float, high: float, value: float, known: bool) -> None:
    assert estimate(low, high, value).known is known


def test_a_value_that_is_not_known_stays_and_is_not_shown() -> None:
    found = estimate(0.1, 0.9)

    assert str(found) == "unknown [0.100, 0.900]"
    assert float(found) == found.value == 0.7


@pytest.mark.parametrize("unit", [Unit.PEOPLE, Unit.POINTS])
def test_numbers_that_are_no_shares_are_known_however_wide(unit: Unit) -> None:
    assert replace(estimate(3.0, 25.0, 12.0), unit=unit).known
