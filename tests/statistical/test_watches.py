"""Whole sequences of a watch's answers lose no more than was charged, and the distance is exact on 10⁵ registers.

Events are fixed beforehand and bounded by Clopper and Pearson's limits, at 10⁻⁷ each: the rate of false alarms is below
10⁻⁶. That each broken variant of the sparse vector technique is found is shown by planting it (`./run planted-bugs`):
by the exact probabilities of its event, noise on numbers for one person is missed 7 times in 10⁷, and every other one
less than once in 10¹³. The control here has noise for half of what one person moves, and is missed less often still.
"""

import numpy as np
import pytest

from checks.watches import (
    EPSILON,
    SEQUENCES,
    THRESHOLDS,
    AnswerSequence,
    both_ways,
    distances_of_two,
    loss_at_least,
    searched_distances,
)

pytestmark = pytest.mark.statistical


@pytest.mark.parametrize("sequence", SEQUENCES, ids=lambda sequence: sequence.name)
def test_a_sequence_of_answers_loses_no_more_than_was_charged(sequence: AnswerSequence) -> None:
    assert loss_at_least(sequence) <= EPSILON


def test_numbers_that_one_person_moves_by_two_are_found() -> None:
    sequence = SEQUENCES[0]
    moved = AnswerSequence("by two", tuple(2 * one for one in sequence.here), sequence.there, sequence.happened)

    assert loss_at_least(moved) > EPSILON


@pytest.mark.parametrize("threshold_nano", THRESHOLDS)
def test_the_distance_of_small_registers_is_what_a_search_finds_and_moves_by_one(threshold_nano: int) -> None:
    """14 641 registers of two groups for each of seven thresholds, and 53 240 pairs of neighbours among them."""
    found = distances_of_two(10, threshold_nano)

    assert (found == both_ways(searched_distances(10, 2, threshold_nano))).all()
    assert max(int(np.abs(np.diff(found, axis=axis)).max()) for axis in range(4)) == 1
