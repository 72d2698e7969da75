"""The chances of a watch's answers: as summed by hand, in the right direction, and least distances that are least."""

import itertools

import pytest

from auditor_client.estimation.watch_rates import WatchRates
from holder_service.mechanisms.sparse_vector import SparseVectorMechanism
from shared.kinds.watches import WatchNoise
from shared.privacy.noise import DiscreteLaplaceNoise, OneSidedGeometricNoise

NOISES = {
    "one-sided": SparseVectorMechanism.calibrated(epsilon_nano=10**9, sensitivity=2).noise,
    "two-sided": SparseVectorMechanism.two_sided(epsilon_nano=10**9, sensitivity=2).noise,
}


def by_hand(noise: WatchNoise, limit: int, distance: int, versions: int) -> float:
    """The chance of "unchanged" so many times, by adding up every pair of noises."""
    reach = 250
    masses = [{k: _mass(one, k) for k in range(-reach, reach + 1)} for one in (noise.threshold, noise.number)]
    unchanged = {
        rho: sum(mass for nu, mass in masses[1].items() if distance + nu > limit + noise.shift + rho)
        for rho in masses[0]
    }
    return sum(mass * unchanged[rho] ** versions for rho, mass in masses[0].items())


def _mass(noise: OneSidedGeometricNoise | DiscreteLaplaceNoise, k: int) -> float:
    """The probability of noise k, written again."""
    q = 2.718281828459045 ** (-1 / noise.scale)
    if isinstance(noise, OneSidedGeometricNoise):
        return (1 - q) * q**-k if k <= 0 else 0.0
    return float((1 - q) / (1 + q) * q ** abs(k))


@pytest.mark.parametrize("name", NOISES)
@pytest.mark.parametrize(("margin", "distance", "versions"), [(0, 20, 3), (5, -10, 1), (-8, 0, 12)])
def test_the_chances_are_what_adding_up_gives(name: str, margin: int, distance: int, versions: int) -> None:
    rates, unchanged = WatchRates(NOISES[name], margin), by_hand(NOISES[name], margin, distance, versions)

    assert rates.miss(distance, versions) == pytest.approx(unchanged, abs=1e-9)
    assert rates.false_alarm(distance, versions) == pytest.approx(1 - unchanged, abs=1e-9)


@pytest.mark.parametrize("name", NOISES)
@pytest.mark.parametrize("margin", [0, -40, 1000])
def test_the_distances_are_the_least_that_have_the_chance(name: str, margin: int) -> None:
    rates = WatchRates(NOISES[name], margin)

    for chance, versions in itertools.product((0.05, 0.01), (1, 12)):
        safe, sure = rates.safe_distance(chance, versions), rates.sure_distance(chance, versions)
        assert rates.false_alarm(safe, versions) <= chance < rates.false_alarm(safe - 1, versions)
        assert rates.miss(sure, versions) <= chance < rates.miss(sure + 1, versions)
    assert rates.sure_distance(0.05) < margin < rates.safe_distance(0.05, 1)
