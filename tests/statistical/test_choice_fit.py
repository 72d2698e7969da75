"""A choice is drawn with the exact probabilities of permute-and-flip, and a scale that is off is caught.

χ² over 40 000 draws against the probabilities of four candidates, summed over all orders in which they may be looked
at, rejected below p = 10⁻⁶ for all choices together: that is the false-alarm rate. In the negative control the noise is
half of what it has to be, and the largest χ² by chance is far below what is seen.

Source: McKenna, Sheldon (2020), Permute-and-Flip: a new mechanism for differentially private selection.
"""

import itertools
import math
from collections import Counter
from collections.abc import Sequence
from typing import Final

import pytest
from scipy import stats

from holder_service.mechanisms.choice import ChoiceMechanism

DRAWS: Final = 40_000
SCORES: Final = (7, 9, 10, 9)
CHOICES: Final = list(itertools.product((10**9, 4 * 10**8), (1, 2)))
P_MIN: Final = 1e-6 / len(CHOICES)

pytestmark = pytest.mark.statistical
every_choice = pytest.mark.parametrize(("epsilon_nano", "people"), CHOICES)


def p_value(epsilon_nano: int, people: int, scale: float) -> float:
    mechanism = ChoiceMechanism.calibrated(epsilon_nano=epsilon_nano, people_that_change=people)
    seen = Counter(mechanism.choose([SCORES] * DRAWS))
    expected = [DRAWS * share for share in exact(SCORES, scale)]
    return float(stats.chisquare([seen[index] for index in range(len(SCORES))], expected).pvalue)


@every_choice
def test_the_draws_fit_the_exact_probabilities(epsilon_nano: int, people: int) -> None:
    assert sum(exact(SCORES, 1.0)) == pytest.approx(1)
    assert p_value(epsilon_nano, people, people * 10**9 / epsilon_nano) >= P_MIN


@every_choice
def test_half_the_noise_is_rejected(epsilon_nano: int, people: int) -> None:
    assert p_value(2 * epsilon_nano, people, people * 10**9 / epsilon_nano) < P_MIN


@pytest.mark.parametrize("scores", [(0, 0), (0, 1), (5, 3, 5)])
def test_one_person_changes_no_probability_by_more_than_the_charge(scores: tuple[int, ...]) -> None:
    """Of the exact probabilities: any scores, and all that one person may raise by one."""
    epsilon = 0.7
    for raised in itertools.product((0, 1), repeat=len(scores)):
        before, after = (
            exact([score + more for score, more in zip(scores, changes, strict=True)], 1 / epsilon)
            for changes in ((0,) * len(scores), raised)
        )
        for one, other in zip(before, after, strict=True):
            assert abs(math.log(one / other)) <= epsilon + 1e-12


def exact(scores: Sequence[int], scale: float) -> list[float]:
    """Of each candidate: that it is the first in a random order whose coin, e^((score − best)/scale), comes up."""
    coins = [math.exp((score - max(scores)) / scale) for score in scores]
    chosen = [0.0] * len(scores)
    orders = list(itertools.permutations(range(len(scores))))
    for order in orders:
        left = 1 / len(orders)
        for candidate in order:
            chosen[candidate] += left * coins[candidate]
            left *= 1 - coins[candidate]
    return chosen
