"""What a row of the comparison is about where small groups are left out."""

import math

import numpy as np

from auditor_client.estimation.size_rule import TWO_PERCENT
from benchmarks.accuracy import Case, measure

LARGE, TINY = (4000, 8000), (0, 5)
"""Accepted people and all people; at ε = .5 noise cannot hide which group is which."""


def case_of(*groups: tuple[int, int]) -> Case:
    accepted, sizes = np.array(groups).T
    return Case("", accepted[None], sizes)


def test_truth_and_verdict_are_those_of_the_groups_that_are_judged() -> None:
    """Over all groups the ratio is 0 and "at least" is wrong; of the two large ones it is 1 and right."""
    row = measure(case_of(LARGE, LARGE, TINY), "0.5", 20, rule=TWO_PERCENT)

    assert row.truth == 0
    assert (row.undecided, row.wrong) == (0, 0)
    assert row.error < 0.01


def test_a_ratio_of_one_group_is_undecided_and_has_no_error() -> None:
    row = measure(case_of(LARGE, TINY), "0.5", 20, rule=TWO_PERCENT)

    assert (row.undecided, row.wrong, row.coverage) == (1, 0, 1)
    assert math.isnan(row.error)
    assert math.isnan(row.width)
