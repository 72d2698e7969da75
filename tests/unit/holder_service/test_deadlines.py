"""The deadline is a public multiple of the quantum, and an overrun waits for a public multiple of it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holder_service.domain.deadlines import PlanSize, release_deadline_s, wait_s

SIZE = PlanSize(rules=16, counts=32, classes=1)


@given(st.integers(1, 8192), st.integers(1, 16384), st.integers(1, 100), st.integers(1, 10**9), st.integers(1, 1000))
def test_it_is_a_positive_multiple_of_the_quantum(
    rules: int, counts: int, classes: int, records_max: int, quantum_ms: int
) -> None:
    size = PlanSize(rules=rules, counts=counts, classes=classes)

    quanta = release_deadline_s(size, records_max=records_max, quantum_ms=quantum_ms) * 1000 / quantum_ms

    assert quanta >= 1
    assert quanta == pytest.approx(round(quanta))


def test_it_depends_on_the_declared_maximum_of_records() -> None:
    small = release_deadline_s(SIZE, records_max=10_000, quantum_ms=25)
    large = release_deadline_s(SIZE, records_max=10_000_000, quantum_ms=25)

    assert small < large


def test_without_a_quantum_nothing_waits() -> None:
    assert release_deadline_s(SIZE, records_max=10**6, quantum_ms=0) == 0.0
    assert wait_s(elapsed_s=3.0, deadline_s=0.0) == (0.0, False)


@pytest.mark.parametrize(
    ("elapsed_s", "remaining_s", "overran"),
    [(0.0, 0.1, False), (0.1, 0.0, False), (0.15, 0.05, True), (0.3, 0.1, True)],
)
def test_an_overrun_waits_for_the_double(elapsed_s: float, remaining_s: float, overran: bool) -> None:
    waits_s, did_overrun = wait_s(elapsed_s=elapsed_s, deadline_s=0.1)

    assert waits_s == pytest.approx(remaining_s)
    assert did_overrun is overran
