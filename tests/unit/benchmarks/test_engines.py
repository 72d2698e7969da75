"""What a cluster would take is worked out as it is written: from two lines on one core, by tasks that take turns."""

import dataclasses

import pytest

from benchmarks.engines import CORES_PER_EXECUTOR, PART_BYTES, Costs, Line, simulated


def line(records: int, loaded_s: float, counted_s: float) -> Line:
    """A line of one core whose counts all take as long."""
    return Line("spark", 1, records, loaded_s, 100.0, {16: [counted_s] * 5}, {16: ""}, {})


COSTS = Costs.of(line(1_000_000, 12.0, 0.9), line(11_000_000, 62.0, 2.9))
RECORDS = 100 * PART_BYTES // 100
"""As many as fill a hundred tasks."""


def test_costs_are_the_slope_and_what_is_left_of_the_smaller_line() -> None:
    assert COSTS.load_s == pytest.approx(5)
    assert COSTS.count_s[16] == pytest.approx(0.2)
    assert COSTS.fixed_s[16] == pytest.approx(0.7)
    assert COSTS.spread[16] == 0


@pytest.mark.parametrize(("cores", "turns"), [(1, 100), (10, 10), (40, 3), (100, 1), (1000, 1)])
def test_tasks_take_turns(cores: int, turns: int) -> None:
    each_s = 0.2 * RECORDS / 1e6 / 100

    assert simulated(COSTS, 16, records=RECORDS, cores=cores, lost=False, seed=1) == pytest.approx(0.7 + turns * each_s)


def test_a_lost_executor_costs_its_cores_and_its_tasks() -> None:
    each_s = 0.2 * RECORDS / 1e6 / 100
    cores = 10 + CORES_PER_EXECUTOR

    lost_s = simulated(COSTS, 16, records=RECORDS, cores=cores, lost=True, seed=1)

    assert lost_s == pytest.approx(0.7 + 11 * each_s)


def test_tasks_vary_as_counts_did() -> None:
    varied = dataclasses.replace(COSTS, spread={16: 0.5})

    found = {simulated(varied, 16, records=RECORDS, cores=40, lost=False, seed=seed) for seed in range(20)}

    assert len(found) == 20
    assert max(found) > simulated(COSTS, 16, records=RECORDS, cores=40, lost=False, seed=1)
