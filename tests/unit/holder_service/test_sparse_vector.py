"""The mechanism behind watches: what it costs, that it ends, and what the proof says of every sequence of answers."""

import itertools
import math

import pytest

from holder_service.mechanisms.sparse_vector import SparseVectorMechanism, SparseVectorState, UsedUp
from shared.privacy.amounts import Loss

EPSILONS = (1_000_000, 100_000_001, 333_333_333, 1_000_000_000, 10_000_000_000)


@pytest.mark.parametrize("epsilon_nano", EPSILONS)
@pytest.mark.parametrize("sensitivity", [1, 2])
def test_it_costs_what_was_asked_and_two_fifths_are_the_threshold_s(epsilon_nano: int, sensitivity: int) -> None:
    mechanism = SparseVectorMechanism.calibrated(epsilon_nano=epsilon_nano, sensitivity=sensitivity)

    assert mechanism.loss == Loss(epsilon_nano)
    assert mechanism.threshold_noise.scale == pytest.approx(2.5e9 * sensitivity / epsilon_nano, rel=1e-3)
    assert mechanism.number_noise.scale == pytest.approx(2 * sensitivity * 1e9 / (0.6 * epsilon_nano), rel=1e-3)


def test_nothing_is_answered_after_the_first_change() -> None:
    mechanism = SparseVectorMechanism.calibrated(epsilon_nano=10**9, sensitivity=1)
    state = mechanism.answered(SparseVectorState(0), -10_000)

    assert state.is_changed
    with pytest.raises(UsedUp):
        mechanism.answered(state, 10_000)


def test_the_threshold_is_drawn_once_and_nothing_prints_it() -> None:
    mechanism = SparseVectorMechanism.calibrated(epsilon_nano=10**7, sensitivity=1)
    begun = mechanism.begun(5)
    state = begun
    for _ in range(20):
        state = mechanism.answered(state, 10**9)

    assert state == begun
    assert "noisy_threshold" not in repr(state)
    assert len({mechanism.begun(5).noisy_threshold for _ in range(20)}) > 1


def test_a_number_is_compared_with_the_threshold_that_was_drawn() -> None:
    mechanism = SparseVectorMechanism.calibrated(epsilon_nano=10**9, sensitivity=1)

    assert mechanism.answered(SparseVectorState(10**9), 10**6).is_changed
    assert not mechanism.answered(SparseVectorState(-(10**9)), -(10**6)).is_changed


def probabilities(numbers: tuple[int, ...], mechanism: SparseVectorMechanism) -> list[float]:
    """Of "changed" at each number first, and of never, exactly, by summing over the noise on the threshold."""
    b, c = math.exp(-1 / mechanism.threshold_noise.scale), math.exp(-1 / mechanism.number_noise.scale)
    found = [0.0] * (len(numbers) + 1)
    for rho in range(-400, 401):
        left = (1 - b) / (1 + b) * b ** abs(rho)
        for index, number in enumerate(numbers):
            most = rho - number
            changed = c ** (-most) / (1 + c) if most < 0 else 1 - c ** (most + 1) / (1 + c)
            found[index] += left * changed
            left *= 1 - changed
        found[-1] += left
    return found


@pytest.mark.slow
def test_one_person_changes_no_sequence_of_answers_by_more_than_the_charge() -> None:
    """Of the exact probabilities: sequences of six numbers, and all that one person may do to each of them."""
    epsilon = 0.9
    mechanism = SparseVectorMechanism.calibrated(epsilon_nano=900_000_000, sensitivity=1)
    largest = 0.0
    for numbers in ((1, 1, 1, 1, 1, -1), (0, 0, 0, 0, 0, 0), (3, -2, 5, 0, 1, 2)):
        before = probabilities(numbers, mechanism)
        assert sum(before) == pytest.approx(1)
        for moves in itertools.product((-1, 0, 1), repeat=len(numbers)):
            after = probabilities(tuple(map(sum, zip(numbers, moves, strict=True))), mechanism)
            largest = max(largest, *(abs(math.log(one / other)) for one, other in zip(before, after, strict=True)))

    assert 0.85 < largest / epsilon <= 1
