"""The law of a finer answer given an earlier one, in exact fractions, and that no float decides a draw (8-time §2)."""

import itertools
import math
from collections import defaultdict
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holder_service.mechanisms import exact_draws, refining
from holder_service.mechanisms.exact_draws import Uniform, coin, geometric
from holder_service.mechanisms.exponential import ExponentialMechanism
from holder_service.mechanisms.laplace import LaplaceMechanism
from holder_service.mechanisms.refining import FineNoise, KeptMechanism, RefinedLaplaceMechanism, refined

ALPHAS: Final = [
    (Fraction(9, 10), Fraction(1, 2)),
    (Fraction(99, 100), Fraction(98, 100)),
    (Fraction(1, 3), Fraction(1, 1000)),
    (Fraction(999, 1000), Fraction(1, 7)),
]
"""α₁ > α₂."""
every_pair = pytest.mark.parametrize(("coarse", "fine"), ALPHAS)


def laplace(alpha: Fraction, k: int) -> Fraction:
    return (1 - alpha) / (1 + alpha) * alpha ** abs(k)


def weight(coarse: Fraction, fine: Fraction) -> Fraction:
    """w: that the coarse noise is the fine noise."""
    return ((1 - coarse) / (1 - fine)) ** 2 * fine / coarse


def difference(coarse: Fraction, fine: Fraction, k: int) -> Fraction:
    """P(Z = k)."""
    point = weight(coarse, fine)
    return point * (k == 0) + (1 - point) * laplace(coarse, k)


def given_first(coarse: Fraction, fine: Fraction, first: int, n: int) -> Fraction:
    """The probability of finer noise n given the first, as `FineNoise` says it."""
    if first < 0:
        first, n = -first, -n
    q, r = coarse * fine, fine / coarse
    share = (1 - q) * (1 - r) / (1 - q * r)
    if n != first:
        return share * (q**-n if n < 0 else r**n if n < first else r**first * q ** (n - first))
    below = q / (1 - q) + (1 - r**first) / (1 - r)
    return 1 - share * (below + r**first * q / (1 - q))


@every_pair
def test_the_coarse_noise_is_the_fine_noise_and_an_independent_number(coarse: Fraction, fine: Fraction) -> None:
    """G₁ = G₂·(w + (1 − w)·G₁): both sides are polynomials in z and 1/z over the same denominator, of degree 2."""

    def generating(alpha: Fraction, z: Fraction) -> Fraction:
        return (1 - alpha) ** 2 / ((1 - alpha * z) * (1 - alpha / z))

    w = weight(coarse, fine)

    assert 0 < w < 1
    for z in (Fraction(n, 7) for n in range(2, 50)):
        if z not in (coarse, fine, 1 / coarse, 1 / fine):
            first = generating(coarse, z)
            assert first == generating(fine, z) * (w + (1 - w) * first)


@every_pair
def test_a_weight_that_is_off_gives_another_law(coarse: Fraction, fine: Fraction) -> None:
    """The mass at 0 of the convolution, summed up in closed form, is the coarse noise's for w alone."""

    def at_zero(w: Fraction) -> Fraction:
        both = laplace(coarse, 0) * laplace(fine, 0) * (1 + 2 * coarse * fine / (1 - coarse * fine))
        return w * laplace(fine, 0) + (1 - w) * both

    assert at_zero(weight(coarse, fine)) == laplace(coarse, 0)
    assert at_zero(weight(coarse, fine) * Fraction(51, 50)) != laplace(coarse, 0)


@every_pair
@given(first=st.integers(-30, 30), n=st.integers(-40, 40))
def test_the_law_given_the_first_noise_is_that_of_the_joint_law(
    coarse: Fraction, fine: Fraction, first: int, n: int
) -> None:
    joint = laplace(fine, n) * difference(coarse, fine, first - n)

    assert given_first(coarse, fine, first, n) * laplace(coarse, first) == joint


@given(
    scales=st.tuples(st.integers(1, 60), st.integers(1, 60)).filter(lambda pair: pair[0] > pair[1]),
    first=st.integers(-20, 20),
)
def test_neighbours_move_the_likelihood_of_a_chain_by_the_last_alpha(scales: tuple[int, int], first: int) -> None:
    """Of both answers together, wherever they are: exactly by 1/α₂ at most, and not by 1/(α₁α₂)."""
    coarse, fine = (Fraction(scale, scale + 1) for scale in scales)
    for n in range(-25, 26):
        here, there = (
            laplace(coarse, first - count) * given_first(coarse, fine, first - count, n - count) for count in (0, 1)
        )
        assert fine <= here / there <= 1 / fine


def test_two_finer_answers_of_one_would_lose_more_than_their_charge() -> None:
    """Why a release is refined once: 2·ε₂ + ε₁, where 2·ε₂ − ε₁ would be charged."""
    coarse, fine = Fraction(1, 2), Fraction(1, 3)

    def likelihood(count: int, first: int, second: int, third: int) -> Fraction:
        given = (given_first(coarse, fine, first - count, n - count) for n in (second, third))
        return laplace(coarse, first - count) * math.prod(given)

    worst = max(
        likelihood(0, *answers) / likelihood(1, *answers) for answers in itertools.product(range(-4, 6), repeat=3)
    )

    assert worst == fine**-2 / coarse
    assert worst > fine**-2 * coarse


def power_after_stopping(epsilons: tuple[float, float], order: int) -> float:
    """Of e^(order·loss), over what ρ = ε²/2 of the last answer allows, of a chain that stops by what it saw.

    It is refined only where the first answer says that the person is there. Above 1 the rest of a limit on ρ, spent
    elsewhere, comes to more than the limit.
    """
    coarse, fine = (math.exp(-epsilon) for epsilon in epsilons)
    weight = ((1 - coarse) / (1 - fine)) ** 2 * fine / coarse

    def allowed(epsilon: float) -> float:
        return math.exp(order * (order + 1) * epsilon**2 / 2)

    def beyond(k: int) -> float:
        """P(Z > k)."""
        tail = coarse ** (k + 1) / (1 + coarse) if k >= 0 else 1 - coarse**-k / (1 + coarse)
        return weight * (k < 0) + (1 - weight) * tail

    stopped = math.exp(order * epsilons[0]) / (1 + coarse) / allowed(epsilons[0])
    refined = sum(
        (1 - fine) / (1 + fine) * fine ** abs(n) * beyond(-n) * math.exp(order * epsilons[1] * (1 if n <= 0 else -1))
        for n in range(-2000, 2000)
    )
    return stopped + refined / allowed(epsilons[1])


def test_a_sum_of_rho_does_not_bound_a_chain_that_stops_by_what_it_saw() -> None:
    """Why a chain is charged the difference where ε is added up alone, and is refused where ρ is (docs/adr/0048)."""
    assert power_after_stopping((0.05, 0.2), 3) > 1.003
    assert power_after_stopping((0.01, 0.05), 10) > 1.001


class Tree:
    """Runs something that draws through every outcome of its uniform numbers, with the probability of each.

    A uniform number is only ever compared with `cut`, so of each two outcomes do: one below it, and one not.
    """

    def __init__(self, cut: int, least: Fraction) -> None:
        self.cut, self.least, self.left_out = cut, least, Fraction(0)

    def masses(self, draw: Callable[[Uniform], int]) -> dict[int, Fraction]:
        found: defaultdict[int, Fraction] = defaultdict(Fraction)
        for path, mass in self._paths(draw):
            found[path] += mass
        return found

    def _paths(self, draw: Callable[[Uniform], int]) -> Iterator[tuple[int, Fraction]]:
        open_paths: list[tuple[tuple[int, ...], Fraction]] = [((), Fraction(1))]
        while open_paths:
            path, mass = open_paths.pop()
            if mass < self.least:
                self.left_out += mass
                continue
            taken = iter(path)
            asked: list[int] = []

            def uniform(n: int, taken: Iterator[int] = taken, asked: list[int] = asked) -> int:
                for outcome in taken:
                    return outcome
                asked.append(n)
                raise _Undecided

            try:
                yield draw(uniform), mass
            except _Undecided:
                below = Fraction(min(self.cut, asked[0]), asked[0])
                open_paths.append(((*path, 0), mass * below))
                if below < 1:
                    open_paths.append(((*path, asked[0] - 1), mass * (1 - below)))


class _Undecided(Exception):
    """A draw asks for one uniform number more."""


@pytest.mark.parametrize(("numerator", "denominator"), [(0, 1), (1, 1), (2, 3), (1, 10**6)])
def test_a_coin_has_exactly_its_probability(numerator: int, denominator: int) -> None:
    """To thirty digits: a double has sixteen, so a coin of floats is found."""
    tree = Tree(numerator, Fraction(1, 10**32))

    masses = tree.masses(lambda uniform: coin(numerator, denominator, uniform))

    assert tree.left_out < Fraction(1, 10**30)
    assert abs(masses[True] - power_of_e(Fraction(numerator, denominator))) < Fraction(1, 10**30)
    assert masses[True] + masses[False] + tree.left_out == 1


@pytest.mark.slow
def test_a_finer_draw_has_its_law() -> None:
    """Without a random number: α₁ = 1/e, α₂ = 1/e², every path but some of 1/500 together."""
    coarse, fine = (power_of_e(Fraction(rate)) for rate in (1, 2))
    for first in (-2, 0, 3):
        tree = Tree(1, Fraction(1, 10**7))

        masses = tree.masses(lambda uniform, first=first: FineNoise(1, 2, 1).draw(first, uniform))  # type: ignore[misc]

        assert tree.left_out < Fraction(1, 500)
        for n in range(-6, 7):
            exact = given_first(coarse, fine, first, n)
            assert masses[n] <= exact + Fraction(1, 10**20)
            assert exact <= masses[n] + tree.left_out + Fraction(1, 10**20)


def test_no_float_is_in_a_draw() -> None:
    """Whatever the scales: every number that is compared is an integer."""
    asked = []

    def uniform(n: int) -> int:
        assert type(n) is int
        asked.append(n)
        return len(asked) * 7919 % n

    coarse, fine = (LaplaceMechanism.calibrated(epsilon_nano=nano, sensitivity=1) for nano in (3_000_000, 7_000_000))

    law = FineNoise.between(coarse, fine)

    assert {type(part) for part in (law.coarse_rate, law.fine_rate, law.unit)} == {int}
    assert [Fraction(law.unit, rate) for rate in (law.coarse_rate, law.fine_rate)] == [
        Fraction(mechanism.scale) for mechanism in (coarse, fine)
    ]
    drawn = [law.draw(first, uniform) for first in range(-50, 50)]
    assert {type(one) for one in drawn} == {int}
    for module in (exact_draws, refining):
        assert not {"random", "numpy", "np"} & vars(module).keys()


def power_of_e(exponent: Fraction) -> Fraction:
    """e^(−exponent) to some forty digits, from its series."""
    return sum(((-exponent) ** k / math.factorial(k) for k in range(60)), Fraction(0))


def test_a_geometric_number_has_its_law() -> None:
    """Of ratio 1/e."""
    tree = Tree(1, Fraction(1, 10**9))

    masses = tree.masses(lambda uniform: geometric(1, 1, uniform))

    ratio = power_of_e(Fraction(1))
    for k in range(10):
        exact = (1 - ratio) * ratio**k
        assert masses[k] <= exact <= masses[k] + tree.left_out
    assert tree.left_out < Fraction(1, 10**5)


def test_what_refines_costs_the_finer_loss_and_has_its_noise() -> None:
    coarse, fine = (LaplaceMechanism.calibrated(epsilon_nano=nano, sensitivity=2) for nano in (10**8, 3 * 10**8))

    mechanism = refined(fine, coarse, (3, -4))

    assert isinstance(mechanism, RefinedLaplaceMechanism)
    assert (mechanism.loss, mechanism.noise) == (fine.loss, fine.noise)
    assert len(mechanism.release([1, 2])) == 2
    with pytest.raises(ValueError, match="argument"):
        mechanism.release([1])


def test_the_same_loss_is_the_same_answer() -> None:
    same = LaplaceMechanism.calibrated(epsilon_nano=10**8, sensitivity=1)

    kept = refined(same, same, (3, -4))

    assert isinstance(kept, KeptMechanism)
    assert kept.release([1, 2]) == [3, -4]


def test_other_noise_and_other_counts_cannot_be_refined() -> None:
    one, two = (LaplaceMechanism.calibrated(epsilon_nano=10**8, sensitivity=m) for m in (1, 2))
    exponential = ExponentialMechanism.calibrated(epsilon_nano=10**8, upper=50, counts_that_change=1)
    finer = ExponentialMechanism.calibrated(epsilon_nano=2 * 10**8, upper=50, counts_that_change=1)

    with pytest.raises(ValueError, match="same counts"):
        refined(one, two, (3,))
    with pytest.raises(ValueError, match="alone"):
        refined(finer, exponential, (3,))
    coarser = LaplaceMechanism.calibrated(epsilon_nano=5 * 10**7, sensitivity=1)
    with pytest.raises(ValueError, match="smaller scale"):
        refined(coarser, one, (3,)).release([3])
