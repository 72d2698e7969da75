"""How long making a derived column is supposed to take: beginning, bytes and records each by their own factor."""

from dataclasses import replace

import pytest

from holder_service.domain.column_times import ColumnSize
from holder_service.domain.deadlines import AS_SHIPPED

LINKED = ColumnSize(bytes=10_000, steps=0)
SCORE = ColumnSize(bytes=10_000, steps=50)


@pytest.mark.parametrize("size", [LINKED, SCORE])
def test_what_grows_with_the_records_goes_by_the_factor_of_counting(size: ColumnSize) -> None:
    def records_s(counting: float) -> float:
        factors = replace(AS_SHIPPED, counting=counting)
        few, many = (size.work_s(records_max=records, factors=factors) for records in (1, 10_000_001))
        return many - few

    assert records_s(3.0) == pytest.approx(3 * records_s(1.0))
    assert records_s(0.5) == records_s(1.0), "no machine is supposed to be quicker than as shipped"


def test_a_beginning_does_not() -> None:
    """A cluster that counts slowly starts no process of the holder's slowly: a linked column was refused for it."""
    slow = replace(AS_SHIPPED, counting=500.0, starting=500.0)

    assert LINKED.work_s(records_max=300, factors=slow) < LINKED.work_s(records_max=300) + 10
    assert LINKED.work_s(records_max=300, factors=slow) > LINKED.work_s(records_max=300) + 1.9


def test_a_slow_machine_begins_slowly_and_compiles_slowly() -> None:
    slow = replace(AS_SHIPPED, pricing=4.0)

    assert LINKED.work_s(records_max=1, factors=slow) > 3.9 * LINKED.work_s(records_max=1)
    assert SCORE.work_s(records_max=1, factors=slow) > 3.9 * SCORE.work_s(records_max=1)
