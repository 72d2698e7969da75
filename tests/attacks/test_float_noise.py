"""Mironov's attack (2012) breaks a floating-point Laplace sampler, and finds nothing in the holder's integers."""

import pytest

from checks.attacks.float_noise import attack_float_noise, attack_integer_noise
from checks.attacks.people import accuracy_bound

ANSWERS = 50_000


@pytest.mark.parametrize("epsilon", ["0.1", "0.5"])
def test_holes_between_doubles_reveal_the_count(epsilon: str) -> None:
    """Of six in ten answers the attacker is certain; by chance it would have half of them right and ε of them sure."""
    holes = attack_float_noise(float(epsilon), ANSWERS)

    assert holes.certain > 0.5
    assert holes.accuracy > accuracy_bound(float(epsilon)) + 0.15


@pytest.mark.parametrize("epsilon", ["0.1", "0.5"])
def test_integers_have_no_holes(epsilon: str) -> None:
    """50 000 guesses are above the bound by 0.012 less than once in ten million times."""
    holes = attack_integer_noise(epsilon, ANSWERS)

    assert holes.certain == 0
    assert holes.accuracy <= accuracy_bound(float(epsilon)) + 0.012
