"""How often a verdict can be decided: no procedure is beyond the bound, by linear programming."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import linprog

from auditor_client.estimation.drawing import LATEST
from auditor_client.estimation.noise_sums import FloatArray
from benchmarks.accuracy import Case, grid_cases
from benchmarks.most_decisions import SIZES, measured, most_decided, shifts_of_others
from shared.privacy.noise import DiscreteLaplaceNoise
from testing.truths import true_parity

NOISE = DiscreteLaplaceNoise(scale=1.5)
THRESHOLD = 0.8
SIZE = SIZES[0]
REACH = 14
"""Answers farther from the truth are left undecided, which costs less than one in ten thousand."""


def case_of(*groups: tuple[int, int]) -> Case:
    """Groups of so many accepted and refused people."""
    accepted, refused = np.array(groups).T
    return Case("", accepted[None], accepted + refused)


def best_procedure(case: Case, others: list[tuple[int, int]], size: float) -> float:
    """The largest share decided rightly that wrong verdicts for no others allow, by linear programming.

    Others differ from the case in their first group, whose counts they list. Of the second group the answers are known
    to be exact, which can only help.
    """
    truth = int(case.accepted[0]), int(case.sizes[0] - case.accepted[0])
    answers = [np.arange(count - REACH, count + REACH + 1) for count in truth]

    def mass(counts: tuple[int, int]) -> FloatArray:
        first, second = (np.exp(NOISE.log_mass(seen - count)) for seen, count in zip(answers, counts, strict=True))
        return np.outer(first, second).ravel()

    wrong = np.stack([mass(counts) for counts in others])
    found = linprog(-mass(truth), A_ub=wrong, b_ub=np.full(len(others), size), bounds=(0, 1), method="highs")
    assert found.fun is not None
    return -found.fun


def others_of(case: Case, threshold: float) -> list[tuple[int, int]]:
    """Counts of the first group with which the right verdict about the case is wrong, within the answers' reach."""
    accepted, refused = int(case.accepted[0]), int(case.sizes[0] - case.accepted[0])
    second = case.accepted[1] / case.sizes[1]
    counts = itertools.product(
        *(range(max(count - REACH, 0), count + REACH + 1) for count in (accepted, refused)),
    )
    return [
        (first, other)
        for first, other in counts
        if first + other
        and (true_parity(np.array([first / (first + other), second]))[0] >= threshold) == (case.ratio < threshold)
    ]


CASES = {
    "below": case_of((3, 11), (500, 500)),
    "far below": case_of((1, 15), (500, 500)),
    "at least": case_of((9, 9), (500, 500)),
    "nearly below": case_of((7, 9), (500, 500)),
    "one person": case_of((1, 0), (500, 500)),
    "two refused": case_of((0, 2), (900, 100)),
    "two accepted": case_of((2, 0), (850, 150)),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_no_procedure_decides_more_often_than_the_bound(case: Case) -> None:
    best = best_procedure(case, others_of(case, THRESHOLD), SIZE)

    assert SIZE < best <= most_decided(case, NOISE, SIZE, THRESHOLD) + 1e-6


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_the_bound_is_that_of_the_others_who_are_hardest_to_distinguish(case: Case) -> None:
    """Of each of the others by themselves the best test decides so often, and the bound is the smallest of these."""
    each = [best_procedure(case, [others], SIZE) for others in nearest(case, others_of(case, THRESHOLD))]

    assert most_decided(case, NOISE, SIZE, THRESHOLD) == pytest.approx(min(each), abs=1e-4)


def nearest(case: Case, others: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Those others of whom no others are nearer in both counts."""
    truth = int(case.accepted[0]), int(case.sizes[0] - case.accepted[0])
    off = {counts: tuple(abs(count - true) for count, true in zip(counts, truth, strict=True)) for counts in others}
    return [
        counts
        for counts, shift in off.items()
        if not any(other != shift and other[0] <= shift[0] and other[1] <= shift[1] for other in off.values())
    ]


@pytest.mark.parametrize(
    ("size", "threshold"), [(SIZE / 2, THRESHOLD), (SIZE, 0.6)], ids=["half of the level", "others who are nearer"]
)
def test_a_bound_with_a_fault_is_broken_by_the_best_procedure(size: float, threshold: float) -> None:
    """The negative control: with half of the wrong verdicts, or with others for whom "below" is right too."""
    case = CASES["below"]

    assert best_procedure(case, others_of(case, THRESHOLD), SIZE) > most_decided(case, NOISE, size, threshold) + 0.05


@pytest.mark.parametrize(
    "groups",
    [
        ((3, 11), (500, 500)),
        ((6, 14), (8, 12), (20, 20), (30, 33)),
        ((1, 0), (0, 1), (30, 33)),
        ((40, 60), (45, 55), (9, 11), (1, 1)),
        ((9, 1), (8, 2), (10, 0)),
    ],
    ids=str,
)
def test_others_have_the_other_verdict(groups: tuple[tuple[int, int], ...]) -> None:
    case = case_of(*groups)
    found = list(shifts_of_others(case, DiscreteLaplaceNoise(scale=4), SIZE, THRESHOLD))

    assert found
    for shifts in found:
        people = np.array(groups) + np.array(shifts).reshape(len(groups), 2)
        rates = [Fraction(accepted, accepted + refused) for accepted, refused in people.tolist()]
        assert people.min() >= 0
        assert (min(rates) / max(rates) >= Fraction(4, 5)) != (case.ratio >= THRESHOLD)


def test_others_who_are_far_off_bound_nothing() -> None:
    assert most_decided(case_of((100, 900), (900, 100)), NOISE, SIZE, THRESHOLD) == 1


def test_ours_decide_no_more_often_than_any_can() -> None:
    """Of 1 000 releases 27 % were decided rightly, where 53 % can be: 8 standard errors of 200 below it."""
    row = measured(small(), "0.25", 200, [LATEST])

    assert row.right[0] < row.most[0]


def test_verdicts_that_suppose_half_of_the_noise_are_decided_more_often_than_any_may_be() -> None:
    """The negative control: of 1 000 releases 73 %, 6 standard errors of 200 above 53 %."""
    row = measured(small(), "0.25", 200, [LATEST], DiscreteLaplaceNoise(scale=2))

    assert row.right[0] > row.most[0]


def small() -> Case:
    """Forty people among 5 000, accepted at half of their rate."""
    return next(case for case in grid_cases() if case.name == "grid K=2 n=40 0.5")
