"""Draws where the groups' sizes are known: against enumeration, and what they buy, and what is refused."""

import math

import numpy as np
import pytest

from auditor_client.errors import EstimationRefused
from auditor_client.estimation.drawing import Drawing
from auditor_client.estimation.draws import pooled_rates, posterior_draws
from auditor_client.estimation.measurements import COUNT_MAX, ComplementKind, Measurement, SizeBounds
from auditor_client.estimation.noise_sums import FloatArray
from auditor_client.estimation.plausibility import check_bounds
from auditor_client.estimation.posterior import estimate_parity, totals_of
from auditor_client.estimation.priors import FlatPrior, PooledPrior, Prior
from shared.privacy.noise import Noise
from testing.invented.measurements import EXPONENTIAL, GAUSSIAN, LAPLACE, REPORTS, measured

PEOPLE_MAX = 400


def enumerated(measurement: Measurement, prior: Prior) -> tuple[FloatArray, FloatArray]:
    """The first group's possible rates, in order, and their posterior mass; of one cell on either side."""
    accepted, refused = (part.ravel() for part in np.meshgrid(range(PEOPLE_MAX), range(PEOPLE_MAX), indexing="ij"))
    totals, first = totals_of(measurement), np.array([0])
    complement = accepted + refused if measurement.complement_is == "everybody" else refused
    log_mass: FloatArray = prior(accepted[None, None], refused[None, None])[0, 0]
    log_mass = log_mass + totals.accepted.log_likelihood(accepted[None, None], first)[0, 0]  # type: ignore[union-attr]
    log_mass = log_mass + totals.complement.log_likelihood(complement[None, None], first)[0, 0]  # type: ignore[union-attr]
    bounds = measurement.bounds
    assert bounds is not None
    possible = (
        (accepted + refused >= bounds.least[0]) & (accepted + refused <= bounds.most[0]) & (accepted + refused > 0)
    )
    rates, mass = accepted[possible] / (accepted + refused)[possible], np.exp(log_mass - log_mass.max())[possible]
    order = np.argsort(rates)
    return rates[order], mass[order] / mass.sum()


CASES = {
    "exact": measured([[22, 30]], [[40, 12]], LAPLACE, bounds=((65, 45), (65, 45))),
    "within bounds": measured([[22, 30]], [[40, 12]], GAUSSIAN, bounds=((60, 45), (80, 45))),
    "answers apart": measured([[22, 30]], [[70, 12]], LAPLACE, bounds=((65, 45), (65, 45))),
    "the refused more exact": measured([[12, 8], [5, 7], [3, 8], [2, 7]], [[40, 12]], LAPLACE, bounds=((65, 45),) * 2),
    "against everybody": measured([[22, 30]], [[64, 50]], LAPLACE, "everybody", bounds=((60, 0), (66, COUNT_MAX))),
    "everybody exact": measured([[22, 30]], [[64, 50]], GAUSSIAN, "everybody", bounds=((65, 45), (65, 45))),
    "below nobody": measured([[-8, 30]], [[40, 12]], LAPLACE, bounds=((30, 45), (30, 45))),
    "exponential": measured([[22, 30]], [[40, 12]], EXPONENTIAL, bounds=((60, 45), (66, 45))),
}


@pytest.mark.parametrize("case", CASES)
def test_draws_agree_with_enumerating_all_true_counts(case: str) -> None:
    """Under either prior quantiles of the rate are within 0.01 of their level."""
    measurement = CASES[case]
    totals = totals_of(measurement)

    of_priors = posterior_draws(totals, Drawing(16_384, seed=1))

    priors: tuple[Prior, Prior] = FlatPrior(), PooledPrior(pooled_rates(totals))
    least, most = SizeBounds.arrays(measurement.bounds)  # type: ignore[arg-type]
    for draws, prior in zip(of_priors, priors, strict=True):
        assert ((draws.size[0] >= least[:, None]) & (draws.size[0] <= most[:, None])).all()
        rates, mass = enumerated(measurement, prior)
        cumulated = np.append(0.0, np.cumsum(mass))
        for level in (0.025, 0.25, 0.5, 0.75, 0.975):
            quantile = np.nanquantile(draws.rates()[0, 0], level, method="inverted_cdf")
            below, above = (cumulated[np.searchsorted(rates, quantile, side)] for side in ("left", "right"))
            assert below - 0.01 <= level <= above + 0.01, (level, below, above)


@pytest.mark.parametrize(("accepted", "narrower"), [(100, math.sqrt(1.64)), (500, 1.0)])
def test_known_sizes_make_intervals_narrower_where_rates_are_low(accepted: int, narrower: float) -> None:
    """The noise of a rate p has variance σ²((1 − p)² + p²)/n²; with n known, and both answers used, σ²/2n²."""
    counts = [[accepted, 300]], [[1_000 - accepted, 700]]

    plain, known, about = (
        estimate_parity(measured(*counts, GAUSSIAN, bounds=bounds)).groups[0].rate
        for bounds in (None, ((1_000, 0), (1_000, COUNT_MAX)), ((998, 0), (1_002, COUNT_MAX)))
    )

    assert known.width == pytest.approx(plain.width / narrower, rel=0.1)
    assert about.width == pytest.approx(known.width, rel=0.1)


def test_a_group_that_noise_swallows_has_its_known_size_all_the_same() -> None:
    parity = estimate_parity(measured([[3, 700]], [[-2, 800]], bounds=((9, 1_500), (9, 1_500))))

    assert (parity.groups[0].size.low, parity.groups[0].size.high) == (9, 9)
    assert (parity.groups[0].rate.low, parity.groups[0].rate.high) == (0, 1)


def test_unknown_sizes_change_nothing() -> None:
    counts = [[40, 120]], [[62, 78]]

    open_bounds = estimate_parity(measured(*counts, bounds=((0, 0), (COUNT_MAX, COUNT_MAX))))

    assert open_bounds == estimate_parity(measured(*counts))


@pytest.mark.parametrize("noise", [LAPLACE, GAUSSIAN, EXPONENTIAL])
@pytest.mark.parametrize("kind", ["unfavourable", "everybody"])
def test_implausible_sizes_are_refused(noise: Noise, kind: ComplementKind) -> None:
    """The first group of a thousand is said to have 800 people; a size that noise explains passes."""
    complement = [1_000, 500] if kind == "everybody" else [400, 200]
    counts = [[600, 300]], [complement]

    check_bounds(measured(*counts, noise, kind, bounds=((990, 0), (1_005, COUNT_MAX))))

    with pytest.raises(EstimationRefused, match="group totals"):
        check_bounds(measured(*counts, noise, kind, bounds=((800, 0), (800, COUNT_MAX))))
    with pytest.raises(EstimationRefused, match="group totals"):
        check_bounds(measured(*counts, noise, kind, bounds=((0, 700), (COUNT_MAX, 800))))


def test_sizes_that_are_off_together_are_refused() -> None:
    """Each of sixteen is off by less than noise explains, all of them by more."""
    counts = [[500] * 16], [[500] * 16]

    check_bounds(measured(*counts, bounds=((1_000,) * 16, (1_000,) * 16)))

    with pytest.raises(EstimationRefused, match="group totals"):
        check_bounds(measured(*counts, bounds=((1_025,) * 16, (1_025,) * 16)))


def test_implausible_sizes_of_perturbed_groups_are_refused() -> None:
    counts = [[400, 300]], [[500, 600]]

    check_bounds(measured(*counts, REPORTS, bounds=((800, 900), (950, 1_000))))

    with pytest.raises(EstimationRefused, match="group totals"):
        check_bounds(measured(*counts, REPORTS, bounds=((1_300, 500), (1_300, 500))))


@pytest.mark.parametrize("bounds", [((40, 45), (40, 45)), ((70, 45), (80, 60))])
def test_sizes_that_contradict_exact_numbers_of_people_are_refused(bounds: tuple[tuple[int, int], ...]) -> None:
    supported = measured([[22, 30]], [[40, 12]], supports=((50,), (60,)), bounds=(bounds[0], bounds[1]))

    with pytest.raises(EstimationRefused, match="110 people"):
        totals_of(supported)


@pytest.mark.parametrize("bounds", [((5, 3), (4, 3)), ((-1, 3), (4, 3))])
def test_bounds_that_hold_no_number_are_refused(bounds: tuple[tuple[int, int], ...]) -> None:
    with pytest.raises(EstimationRefused, match="zero or more"):
        SizeBounds(*bounds)


def test_bounds_of_other_groups_are_refused() -> None:
    with pytest.raises(EstimationRefused, match="each group"):
        measured([[22, 30]], [[40, 12]], bounds=((65,), (65,)))
