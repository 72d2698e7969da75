"""The mechanism behind watches: what it costs, that it ends, and what the proof says of every sequence of answers."""

import itertools
import math
from dataclasses import dataclass, replace

import numpy as np
import pytest
from numpy.typing import NDArray

from holder_service.mechanisms.sparse_vector import SparseVectorMechanism, SparseVectorState, UsedUp
from shared.privacy.amounts import Loss
from shared.privacy.noise import DiscreteLaplaceNoise, OneSidedGeometricNoise

EPSILONS = (1_000_000, 100_000_001, 333_333_333, 1_000_000_000, 10_000_000_000)


@pytest.mark.parametrize("epsilon_nano", EPSILONS)
@pytest.mark.parametrize("sensitivity", [1, 2])
def test_it_costs_what_was_asked_and_three_tenths_are_the_threshold_s(epsilon_nano: int, sensitivity: int) -> None:
    mechanism = SparseVectorMechanism.calibrated(epsilon_nano=epsilon_nano, sensitivity=sensitivity)

    assert mechanism.loss == Loss(epsilon_nano)
    assert mechanism.noise.is_one_sided
    assert mechanism.noise.threshold.scale == pytest.approx(1e9 * sensitivity / (0.3 * epsilon_nano), rel=1e-3)
    assert mechanism.noise.number.scale == pytest.approx(2 * sensitivity * 1e9 / (0.7 * epsilon_nano), rel=1e-3)


@pytest.mark.parametrize("epsilon_nano", EPSILONS)
def test_a_watch_that_was_set_with_noise_on_both_sides_keeps_it(epsilon_nano: int) -> None:
    mechanism = SparseVectorMechanism.two_sided(epsilon_nano=epsilon_nano, sensitivity=1)

    assert mechanism.loss == Loss(epsilon_nano)
    assert mechanism.noise.model_dump(mode="json") == {
        name: {"distribution": "discrete_laplace", "scale": pytest.approx(scale * 1e9 / epsilon_nano, rel=1e-3)}
        for name, scale in (("threshold", 2.5), ("number", 10 / 3))
    }
    assert {mechanism.begun(0).noisy_threshold > 0 for _ in range(100)} == {True, False}


@pytest.mark.parametrize("epsilon_nano", [10**7, 10**8, 10**9, 10**10])
@pytest.mark.parametrize("sensitivity", [1, 2])
def test_a_number_at_the_threshold_has_about_even_chances(epsilon_nano: int, sensitivity: int) -> None:
    """The shift is the difference of the means; 9/20 to 3/5 but where it is rounded to whole people of tiny noise."""
    mechanism = SparseVectorMechanism.calibrated(epsilon_nano=epsilon_nano, sensitivity=sensitivity)
    threshold, number = (
        1 / math.expm1(1 / noise.scale) for noise in (mechanism.noise.threshold, mechanism.noise.number)
    )

    assert abs(mechanism.shift - (threshold - number)) < 0.6
    changed, _ = AnswerLaw.of(mechanism).outcomes((0,))
    assert 0.45 < changed < (0.97 if epsilon_nano == 10**10 else 0.7)


def test_noise_is_never_above_zero() -> None:
    mechanism = SparseVectorMechanism.calibrated(epsilon_nano=10**7, sensitivity=1)

    assert max(mechanism.of_threshold.release([0] * 1000)) <= 0
    assert max(mechanism.of_number.release([0] * 1000)) <= 0
    assert len(mechanism.of_number.release([3, 4, 5])) == 3


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


Mass = NDArray[np.float64]


@dataclass(frozen=True)
class AnswerLaw:
    """The exact law of a sparse vector's answers, from the masses of its two noises: of −R to R, R in the middle."""

    threshold: Mass
    number: Mass
    shift: int = 0

    @classmethod
    def of(cls, mechanism: SparseVectorMechanism) -> "AnswerLaw":
        noise = mechanism.noise
        return cls(mass(noise.threshold), mass(noise.number), noise.shift)

    def outcomes(self, numbers: tuple[int, ...]) -> list[float]:
        """The probabilities of "changed" at each number first, and of never."""
        left, found = self.threshold, []
        for number in numbers:
            changed = self.changed(number)
            found.append(float((left * changed).sum()))
            left = left * (1 - changed)
        return [*found, float(left.sum())]

    def changed(self, number: int) -> Mass:
        """The chance that a noisy number is at most the noisy threshold, for each noise on the threshold."""
        at_most = np.concatenate([[0.0], np.cumsum(self.number)])
        reach = len(self.threshold) // 2
        most = np.arange(-reach, reach + 1) + self.shift - number
        chances: Mass = at_most[np.clip(most + len(self.number) // 2 + 1, 0, len(self.number))]
        return chances

    def loss(self, values: range, length: int) -> float:
        """The largest loss of an outcome, over all streams of values and all neighbours of each, in both directions.

        Infinite where an outcome is possible for one of the two alone: below 10⁻¹² here, above 10⁻⁸ there.
        """
        streams = np.array([self.outcomes(one) for one in itertools.product(values, repeat=length)])
        law = streams.reshape(*[len(values)] * length, length + 1)
        largest = 0.0
        for moves in itertools.product((-1, 0, 1), repeat=length):
            one = law[tuple(slice(max(move, 0), len(values) + min(move, 0)) for move in moves)]
            other = law[tuple(slice(max(-move, 0), len(values) + min(-move, 0)) for move in moves)]
            if ((one > 1e-8) & (other < 1e-12)).any():
                return math.inf
            possible = one > 1e-8
            largest = max(largest, float(np.log(one[possible] / other[possible]).max()))
        return largest


def mass(noise: DiscreteLaplaceNoise | OneSidedGeometricNoise) -> Mass:
    """The probabilities of −R to R, where R is 40 scales: what is beyond is less than 10⁻¹⁷ of all."""
    reach = math.ceil(40 * noise.scale)
    return np.array([math.exp(noise.log_mass(k)) for k in range(-reach, reach + 1)])


STREAMS = range(-3, 4), 4
"""2 401 streams of four numbers, and all that one person may do to each."""
CONSTRUCTIONS = {"one side": SparseVectorMechanism.calibrated, "both sides": SparseVectorMechanism.two_sided}


@pytest.mark.parametrize("construction", CONSTRUCTIONS)
@pytest.mark.parametrize("epsilon_nano", [300_000_000, 900_000_000, 2_000_000_000])
def test_one_person_changes_no_stream_of_answers_by_more_than_the_charge(construction: str, epsilon_nano: int) -> None:
    """Of the exact probabilities, in both directions; and hardly less noise would do."""
    law = AnswerLaw.of(CONSTRUCTIONS[construction](epsilon_nano=epsilon_nano, sensitivity=1))

    assert sum(law.outcomes((3, -2, 1))) == pytest.approx(1, abs=1e-12)
    assert 0.8 < law.loss(*STREAMS) / (epsilon_nano / 1e9) <= 1 + 1e-9


def test_noise_on_the_wrong_side_is_found_without_bound() -> None:
    """On the wrong side an answer is possible with a person and impossible without, or the reverse."""
    law = AnswerLaw.of(SparseVectorMechanism.calibrated(epsilon_nano=2 * 10**9, sensitivity=1))
    turned = {
        "threshold": replace(law, threshold=law.threshold[::-1]),
        "number": replace(law, number=law.number[::-1]),
        "no noise on the threshold": replace(law, threshold=mass(OneSidedGeometricNoise(scale=0.02))),
        "no noise on numbers": replace(law, number=mass(OneSidedGeometricNoise(scale=0.02))),
    }

    assert law.loss(*STREAMS) <= 2 + 1e-9
    assert {name: one.loss(*STREAMS) > 4 for name, one in turned.items()} == dict.fromkeys(turned, True)
    assert turned["threshold"].loss(*STREAMS) == turned["number"].loss(*STREAMS) == math.inf


def test_noise_of_other_scales_or_of_two_kinds_is_found() -> None:
    """Noise on numbers for one person, not for two; all of ε for each; a threshold of before with new numbers."""
    epsilon_nano = 10**9
    new, before = (AnswerLaw.of(one(epsilon_nano=epsilon_nano, sensitivity=1)) for one in CONSTRUCTIONS.values())
    broken = (
        replace(new, number=mass(OneSidedGeometricNoise(scale=1 / 0.7))),
        AnswerLaw(mass(OneSidedGeometricNoise(scale=1)), mass(OneSidedGeometricNoise(scale=2))),
        replace(before, number=new.number),
    )

    assert [law.loss(*STREAMS) > 1.02 for law in broken] == [True] * 3
