"""AttributeConceal's answer to a plain statistical parity query: noise on the answer, scaled by smooth sensitivity.

For comparison alone. The holder answers counts: this mechanism adds its noise to the figure instead, as much as one
person's group could move it in the register at hand and in registers near it. It is (ε, δ) for each query; nothing in
it adds queries up.

A register is the number of accepted and of refused people in the first group; features and decisions are known, so the
numbers accepted and refused in all are public. One step moves one person to the other group.

Source: Hamman, Chen, Dutta (2022); smooth sensitivity and its Laplace noise, S with β = ε/(2 ln(2/δ)) and noise of
scale 2S/ε: Nissim, Raskhodnikova, Smith (2007), definition 2.2 and corollary 2.4.
"""

import math
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from checks.attacks.people import People
from checks.attacks.statistical_parity import Model, Parity

DELTA = 1e-6


def concealed_parity(people: People, epsilon: float, delta: float = DELTA) -> Parity:
    """Who answers each query with (ε, δ), and every query anew."""
    source = np.random.default_rng()

    def answer(model: Model) -> float:
        first_accepted = sum(people.groups[person] == 0 for person in model)
        first_refused = people.groups.count(0) - first_accepted
        accepted, refused = len(model), len(people.groups) - len(model)
        smooth = smooth_sensitivity(first_accepted, first_refused, accepted, refused, epsilon=epsilon, delta=delta)
        exact = float(_parity(np.array(first_accepted), np.array(first_refused), accepted, refused))
        return exact + float(source.laplace(scale=2 * smooth / epsilon))

    return answer


@lru_cache(maxsize=100_000)
def smooth_sensitivity(
    first_accepted: int, first_refused: int, accepted: int, refused: int, *, epsilon: float, delta: float
) -> float:
    """The largest of e^(−βk) times the local sensitivity of any register k steps away."""
    beta = epsilon / (2 * math.log(2 / delta))
    local = _local_sensitivities(accepted, refused)
    steps_accepted = np.abs(np.arange(accepted + 1) - first_accepted)[:, None]
    steps_refused = np.abs(np.arange(refused + 1) - first_refused)[None, :]
    return float(np.max(np.exp(-beta * (steps_accepted + steps_refused)) * local))


@lru_cache(maxsize=1000)
def _local_sensitivities(accepted: int, refused: int) -> npt.NDArray[np.float64]:
    """By how many of the first group are accepted and refused: how far one step moves the figure at most."""
    figure = _parity(np.arange(accepted + 1)[:, None], np.arange(refused + 1)[None, :], accepted, refused)
    local = np.zeros_like(figure)
    for axis in (0, 1):
        moved = np.abs(np.diff(figure, axis=axis))
        before, behind = ((0, 1), (0, 0)), ((1, 0), (0, 0))
        for padding in (before, behind):
            local = np.maximum(local, np.pad(moved, padding if axis == 0 else padding[::-1]))
    return local


def _parity(
    first_accepted: npt.NDArray[np.int64], first_refused: npt.NDArray[np.int64], accepted: int, refused: int
) -> npt.NDArray[np.float64]:
    """The difference in acceptance; a group without people has the rate 0."""
    first = first_accepted + first_refused
    second = accepted + refused - first
    rate_first = first_accepted / np.maximum(first, 1)
    rate_second = (accepted - first_accepted) / np.maximum(second, 1)
    difference: npt.NDArray[np.float64] = rate_first - rate_second
    return difference
