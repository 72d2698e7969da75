"""How many audits fit: what the charges of both kinds of account add up to, and never one more (8-time §1)."""

import pytest

from auditor_client.exchange.expected_noise import approximate_delta
from shared.privacy.amounts import NANO_PER_UNIT, Loss
from shared.privacy.capacity import AskedNoise, gaussian_times, laplace_times, rho_nano_read_as, times_within
from shared.privacy.noise import DiscreteLaplaceNoise
from shared.privacy.zero_concentrated import epsilon_nano_at, pure_rho_nano

DELTA_NANO = 1000
SUM = Loss(NANO_PER_UNIT, DELTA_NANO)
RHO = Loss.of_rho(24_355_970, DELTA_NANO)


@pytest.mark.parametrize(("epsilon_nano", "changed", "classes"), [(8_000_000, 1, 1), (50_000_000, 2, 3)])
def test_the_last_that_fits_does_and_one_more_does_not(epsilon_nano: int, changed: int, classes: int) -> None:
    variance = DiscreteLaplaceNoise(scale=changed * NANO_PER_UNIT / epsilon_nano).variance
    asked = [AskedNoise(variance, changed, classes)]

    assert asked[0].laplace_nano == epsilon_nano
    assert laplace_times(asked, SUM) == NANO_PER_UNIT // (epsilon_nano * classes)
    assert laplace_times(asked, RHO) == RHO.rho_nano // (pure_rho_nano(epsilon_nano) * classes)  # type: ignore[operator]
    rho = changed / (2 * variance)
    assert gaussian_times(asked, RHO) == int(RHO.rho_nano // (rho * NANO_PER_UNIT * classes))  # type: ignore[operator]
    fitting = gaussian_times(asked, SUM)
    for times in (fitting, fitting + 1):
        shares = times * classes
        delta = DELTA_NANO // shares / NANO_PER_UNIT
        assert (approximate_delta(rho, 1 / shares) <= delta) == (times == fitting)


def test_a_loss_fits_into_a_limit_of_its_own_kind_alone() -> None:
    assert times_within(Loss(300_000_000, 400), SUM) == 2
    assert times_within(Loss.of_rho(8_000_000), RHO) == RHO.rho_nano // 8_000_000  # type: ignore[operator]
    assert times_within(Loss(1), RHO) == times_within(Loss.of_rho(1), SUM) == 0
    with pytest.raises(ValueError, match="nothing"):
        times_within(Loss(0), SUM)


def test_a_cap_in_rho_is_the_largest_that_is_read_so() -> None:
    found = rho_nano_read_as(NANO_PER_UNIT, DELTA_NANO)

    assert epsilon_nano_at(found, DELTA_NANO) <= NANO_PER_UNIT < epsilon_nano_at(found + 1, DELTA_NANO)
