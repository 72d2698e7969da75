"""How many people lie between two verdicts: against searches over small records, and where it may not be off."""

import random

import numpy as np
import pytest

from checks.watches import THRESHOLDS, both_ways, distance_of, distances_of_two, searched_distances
from holder_service.domain.verdict_distance import GroupCounts, verdict_distance

PEOPLE_MAX = 10**6


@pytest.mark.parametrize("threshold_nano", THRESHOLDS)
def test_of_two_groups_it_is_what_a_search_finds_and_moves_by_one(threshold_nano: int) -> None:
    found = distances_of_two(4, threshold_nano)

    assert (found == both_ways(searched_distances(4, 2, threshold_nano))).all()
    for axis in range(4):
        assert np.abs(np.diff(found, axis=axis)).max() <= 1


def test_of_three_groups_it_is_the_search_s_where_the_decision_meets_and_no_more_where_it_fails() -> None:
    searched = searched_distances(2, 3, 800_000_000)
    for people in np.ndindex(*searched.shape):
        counts = people[:2], people[2:4], people[4:]
        found = distance_of(counts, 800_000_000, people_max=20)
        assert (found > 0) == (searched[people] > 0)
        assert found == searched[people] if found > 0 else found >= searched[people]


@pytest.mark.slow
def test_one_person_moves_the_distance_of_large_registers_by_one_at_most() -> None:
    draw = random.Random(16)
    moved = set()
    for _ in range(300):
        groups = [[draw.randint(0, 10 ** draw.randint(0, 5)) for _ in range(2)] for _ in range(draw.randint(2, 4))]
        nearby = [list(one) for one in groups]
        nearby[draw.randrange(len(groups))][draw.randrange(2)] += 1
        threshold_nano = draw.choice((800_000_000, 950_000_000, 123_456_789))
        here, there = (distance_of(one, threshold_nano, people_max=PEOPLE_MAX) for one in (groups, nearby))
        moved.add(abs(here - there))

    assert moved == {0, 1}


def test_it_is_one_where_the_next_person_breaks_the_threshold_and_zero_behind() -> None:
    at = [GroupCounts(80, 20), GroupCounts(100, 0)]
    below = [GroupCounts(79, 20), GroupCounts(100, 0)]

    assert verdict_distance(at, threshold_nano=800_000_000, people_max=PEOPLE_MAX) == 1
    assert verdict_distance(below, threshold_nano=800_000_000, people_max=PEOPLE_MAX) == 0


def test_the_order_of_the_groups_says_nothing() -> None:
    groups = [GroupCounts(700, 300), GroupCounts(40, 60), GroupCounts(9, 1)]

    assert len({verdict_distance(one, threshold_nano=800_000_000, people_max=PEOPLE_MAX)
                for one in (groups, groups[::-1], groups[1:] + groups[:1])}) == 1  # fmt: skip
