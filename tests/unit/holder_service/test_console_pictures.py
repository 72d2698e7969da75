"""Bars and charts of the console: they show the ledger's balances, and stay inside their frame."""

import re
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holder_service.domain.ledger import Balance
from holder_service.web.console.pictures import TICKS_MAX, UNITS, balance_bar, spending_chart
from shared.privacy.amounts import NANO_PER_UNIT, Loss

BEGIN = datetime(2026, 11, 20, 22, 35, tzinfo=UTC)
AMOUNTS = st.integers(0, 1000 * NANO_PER_UNIT - 1)


def balance(*, limit: float, spent: float) -> Balance:
    return Balance(Loss(round(limit * NANO_PER_UNIT)), Loss(round(spent * NANO_PER_UNIT)))


@pytest.mark.parametrize(
    ("limit", "spent", "within", "beyond"),
    [(1, 0, 0, 0), (1, 0.25, 250, 0), (1, 1, 1000, 0), (1, 4, 250, 750), (0, 0, 0, 0), (0, 3, 0, 1000)],
)
def test_a_bar_is_the_spent_part_of_a_limit_and_what_is_beyond(
    limit: float, spent: float, within: float, beyond: float
) -> None:
    drawn = balance_bar(balance(limit=limit, spent=spent))

    assert (drawn.spent, drawn.beyond) == (within, beyond)
    assert drawn.text == f"{spent} of {limit} spent"


def test_nothing_spent_is_no_chart() -> None:
    assert spending_chart([], BEGIN) is None
    assert spending_chart([(BEGIN, balance(limit=1, spent=0))], BEGIN) is None


def test_spending_is_a_line_of_steps() -> None:
    hour = timedelta(hours=1)
    points = [(BEGIN + n * hour, balance(limit=1, spent=n / 4)) for n in range(4)]

    chart = spending_chart(points, BEGIN + 4 * hour)

    assert chart is not None
    assert chart.spent == "M0.0 1000.0H250.0V750.0H500.0V500.0H750.0V250.0H1000"
    assert chart.cap == "M0.0 0.0H250.0V0.0H500.0V0.0H750.0V0.0H1000"
    assert [tick.text for tick in chart.amounts] == ["0", "0.2", "0.4", "0.6", "0.8", "1"]
    assert [(round(tick.at, 1), tick.text) for tick in chart.times] == [
        (10.4, "23:00"), (35.4, "00:00"), (60.4, "01:00"), (85.4, "02:00"),
    ]  # fmt: skip


def test_a_cap_far_above_the_spending_stays_outside() -> None:
    chart = spending_chart([(BEGIN, balance(limit=100, spent=0.3))], BEGIN + timedelta(hours=1))

    assert chart is not None
    assert chart.cap is None
    assert chart.amounts[-1].text == "0.3"


def test_a_cap_that_was_lowered_is_shown_as_it_is_now() -> None:
    hour = timedelta(hours=1)
    points = [(BEGIN, balance(limit=100, spent=0)), (BEGIN + hour, balance(limit=2, spent=1))]

    chart = spending_chart(points, BEGIN + 2 * hour)

    assert chart is not None
    assert chart.cap == "M0.0 0.0H500.0V0.0H1000"
    assert chart.amounts[-1].text == "2"


@given(
    steps=st.lists(st.tuples(st.integers(-(10**5), 10**7), AMOUNTS, AMOUNTS), min_size=1, max_size=20),
    rest_s=st.integers(0, 10**8),
)
def test_every_picture_stays_inside_its_frame(steps: list[tuple[int, int, int]], rest_s: int) -> None:
    at, points = BEGIN, []
    for after_s, limit, spent in steps:
        at += timedelta(seconds=after_s)
        points.append((at, Balance(Loss(limit), Loss(spent))))
        drawn = balance_bar(points[-1][1])
        assert 0 <= drawn.spent <= drawn.spent + drawn.beyond <= UNITS * 1.000001

    chart = spending_chart(points, at + timedelta(seconds=rest_s))

    if chart is None:
        assert points[-1][1].spent.epsilon_nano == 0
        return
    numbers = [
        float(number) for path in (chart.spent, chart.area, chart.cap or "") for number in re.findall(r"[-0-9.]+", path)
    ]
    assert all(0 <= number <= UNITS for number in numbers)
    assert len(chart.times) <= TICKS_MAX + 1
    assert 2 <= len(chart.amounts) <= 7
    assert all(-0.01 <= tick.at <= 100.01 for tick in (*chart.times, *chart.amounts))
