"""Whole sequences of a watch's answers lose no more than was charged, and the distance is exact on 10⁵ registers.

Events are fixed beforehand and bounded by Clopper and Pearson's limits, at 10⁻⁷ each: the rate of false alarms is below
10⁻⁶. That each broken variant of the sparse vector technique is found is shown by planting it (`./run planted-bugs`):
by the exact probabilities of its event each is missed less than once in 10¹³. The control here has noise for half of
what one person moves, and is missed less often still.
"""

import numpy as np
import pytest
from scipy import stats

from auditor_client.estimation.watch_rates import WatchRates
from benchmarks.watches import said_changed
from checks.watches import (
    CONSTRUCTIONS,
    EPSILON,
    SEQUENCES,
    THRESHOLDS,
    AnswerSequence,
    both_ways,
    distances_of_two,
    loss_at_least,
    searched_distances,
)
from holder_service.mechanisms.sparse_vector import SparseVectorMechanism

WATCHES = 6000

pytestmark = pytest.mark.statistical


@pytest.mark.parametrize("construction", CONSTRUCTIONS)
@pytest.mark.parametrize("sequence", SEQUENCES, ids=lambda sequence: sequence.name)
def test_a_sequence_of_answers_loses_no_more_than_was_charged(sequence: AnswerSequence, construction: str) -> None:
    assert loss_at_least(sequence, construction) <= EPSILON


def test_false_alarms_and_misses_are_as_often_as_the_exact_law_says() -> None:
    """Binomial tests of 6 000 watches each, at 10⁻⁷ together; the law of noise on both sides is rejected."""
    mechanism = SparseVectorMechanism.calibrated(epsilon_nano=10**8, sensitivity=1)
    law = WatchRates(mechanism.noise)
    before = WatchRates(SparseVectorMechanism.two_sided(epsilon_nano=10**8, sensitivity=1).noise)
    cases = [(100, 12, True), (-50, 1, False)]

    for distance, versions, is_alarm in cases:
        alarms = sum(said_changed(mechanism, distance, versions) for _ in range(WATCHES))
        expected, of_before = (
            one.false_alarm(distance, versions) if is_alarm else 1 - one.miss(distance, versions)
            for one in (law, before)
        )
        assert stats.binomtest(alarms, WATCHES, expected).pvalue > 5e-8
        assert stats.binomtest(alarms, WATCHES, of_before).pvalue < 5e-8


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
