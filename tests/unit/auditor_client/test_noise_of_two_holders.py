"""The noise of two holders together: its mass is the convolution of two, to rounding, and so are sums of it."""

import numpy as np
import pytest

from auditor_client.estimation.noise_sums import laplace_draws, noise_sum
from shared.privacy.noise import AdditiveNoise, DiscreteGaussianNoise, DiscreteLaplaceNoise, of_two_holders

NOISES: list[AdditiveNoise] = [
    *(DiscreteLaplaceNoise(scale=scale) for scale in (0.1, 0.7, 2.5, 40)),
    *(DiscreteGaussianNoise(scale=scale) for scale in (0.1, 0.4, 0.99, 1.0, 1.7, 30)),
]


@pytest.mark.parametrize("noise", NOISES, ids=str)
def test_the_mass_is_the_convolution_of_two(noise: AdditiveNoise) -> None:
    ks = np.arange(-4000, 4001)
    single = np.exp(noise.log_mass(ks))
    both = of_two_holders(noise)

    mass = np.exp(both.log_mass(ks))

    assert mass == pytest.approx(np.convolve(single, single, "same"), abs=1e-13)
    assert mass.sum() == pytest.approx(1, abs=1e-12)
    assert both.variance == pytest.approx((mass * ks**2).sum(), rel=1e-9)
    assert both.variance == pytest.approx(2 * noise.variance)
    assert [both.log_mass(int(k)) for k in (-3, 0, 2)] == pytest.approx(both.log_mass(np.array([-3, 0, 2])))


@pytest.mark.parametrize("noise", NOISES, ids=str)
@pytest.mark.parametrize("terms", [1, 5])
def test_sums_of_it_are_sums_of_twice_as_many(noise: AdditiveNoise, terms: int) -> None:
    both, twice = noise_sum(of_two_holders(noise), terms), noise_sum(noise, 2 * terms)

    assert (both.log_mass == twice.log_mass).all()
    assert both.deviation == pytest.approx(twice.deviation)


def test_draws_have_twice_the_variance() -> None:
    noise = DiscreteLaplaceNoise(scale=3)
    rng = np.random.default_rng(5)

    drawn = laplace_draws(noise.model_copy(update={"terms": 2}), (200_000,), rng)

    assert drawn.var() == pytest.approx(2 * noise.variance, rel=0.05)  # 7 standard deviations


def test_a_holders_own_noise_is_written_as_before() -> None:
    assert DiscreteLaplaceNoise(scale=2).model_dump(mode="json") == {"distribution": "discrete_laplace", "scale": 2}
    assert of_two_holders(DiscreteLaplaceNoise(scale=2)).model_dump()["terms"] == 2
