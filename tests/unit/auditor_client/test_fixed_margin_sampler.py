"""Draws under exact numbers of people: against enumeration, for supports and for the local model."""

import math

import numpy as np
import pytest
from scipy import stats

from auditor_client.estimation.drawing import Drawing
from auditor_client.estimation.draws import pooled_rates, posterior_draws
from auditor_client.estimation.fixed_margin_sampler import fixed_margin_draws
from auditor_client.estimation.measurements import ComplementKind, Measurement, NoisyCounts
from auditor_client.estimation.noise_sums import FloatArray
from auditor_client.estimation.posterior import Posterior, estimate_parity, totals_of
from auditor_client.estimation.priors import FlatPrior, PooledPrior, Prior
from shared.privacy.noise import Noise
from testing.invented.measurements import GAUSSIAN, LAPLACE, REPORTS, measured


def enumerated(measurement: Measurement, prior: Prior, accepted: int, refused: int) -> tuple[FloatArray, FloatArray]:
    """The first of two groups' possible rates, in order, and their posterior mass.

    Args:
        measurement: Of one cell on either side.
        prior: Of either group.
        accepted: How many people of both groups are accepted.
        refused: And refused.
    """
    first, other = (part.ravel() for part in np.meshgrid(range(accepted + 1), range(refused + 1), indexing="ij"))
    groups = [(first, other), (accepted - first, refused - other)]
    first_prior, second_prior = (prior(a[None, None], b[None, None])[0, 0] for a, b in groups)
    log_mass: FloatArray = first_prior + second_prior
    for side, part in enumerate((measurement.favourable, measurement.complement)):
        for group in range(part.counts.shape[1]):
            shown = groups[group][side]
            if measurement.complement_is == "everybody" and side == 1:
                shown = groups[group][0] + groups[group][1]
            if measurement.is_local:
                log_mass = log_mass + reported(int(part.counts[0, 0]), shown, (accepted, refused)[side])
                break
            log_mass = log_mass + part.noise.log_mass(part.counts[0, group] - shown)  # type: ignore[union-attr]
    if measurement.bounds is not None:
        for (a, b), least, most in zip(groups, measurement.bounds.least, measurement.bounds.most, strict=True):
            log_mass = np.where((a + b >= least) & (a + b <= most), log_mass, -np.inf)
    some = first + other > 0
    rates, mass = first[some] / (first + other)[some], np.exp(log_mass - log_mass.max())[some]
    order = np.argsort(rates)
    return rates[order], mass[order] / mass.sum()


def reported(first: int, true: np.ndarray[tuple[int], np.dtype[np.int64]], people: int) -> FloatArray:
    """The exact log-probability that so many of the people report the first group, of whom so many are of it."""
    kept = np.arange(first + 1)
    mass = stats.binom.pmf(kept, true[:, None], 0.8) * stats.binom.pmf(first - kept, people - true[:, None], 0.2)
    return np.log(np.maximum(np.sum(mass, axis=1, dtype=np.float64), 1e-300))


CASES = {
    "both groups counted": (measured([[22, 30]], [[40, 12]], LAPLACE, supports=((50,), (60,))), 50, 60),
    "the first group counted": (measured([[22]], [[40]], GAUSSIAN, supports=((50,), (60,))), 50, 60),
    "against everybody": (measured([[22, 30]], [[64, 50]], LAPLACE, "everybody", ((50,), (110,))), 50, 60),
    "answers beyond the people": (measured([[-8]], [[64]], LAPLACE, supports=((30,), (60,))), 30, 60),
    "reports": (measured([[22, 38]], [[40, 40]], REPORTS), 60, 80),
    "sizes known": (
        measured([[22, 30]], [[40, 12]], LAPLACE, supports=((50,), (60,)), bounds=((65, 45), (65, 45))),
        50,
        60,
    ),
    "sizes within bounds": (
        measured([[22, 30]], [[40, 12]], GAUSSIAN, supports=((50,), (60,)), bounds=((66, 0), (72, 10**14))),
        50,
        60,
    ),
    "the first group counted, sizes known": (
        measured([[22]], [[40]], GAUSSIAN, supports=((50,), (60,)), bounds=((65, 45), (65, 45))),
        50,
        60,
    ),
    "reports, sizes known": (measured([[22, 38]], [[40, 40]], REPORTS, bounds=((60, 70), (70, 80))), 60, 80),
}


@pytest.mark.parametrize("case", CASES)
def test_draws_agree_with_enumerating_all_true_counts(case: str) -> None:
    """Under either prior quantiles of the rate are within 0.03 of their level; a chain's draws depend on each other."""
    measurement, accepted, refused = CASES[case]
    totals = totals_of(measurement)

    of_priors = posterior_draws(totals, Drawing(16_384, seed=1))

    priors: tuple[Prior, Prior] = FlatPrior(), PooledPrior(pooled_rates(totals))
    for draws, prior in zip(of_priors, priors, strict=True):
        assert (draws.accepted.sum(axis=1) == accepted).all()
        assert ((draws.size - draws.accepted).sum(axis=1) == refused).all()
        rates, mass = enumerated(measurement, prior, accepted, refused)
        cumulated = np.append(0.0, np.cumsum(mass))
        for level in (0.025, 0.25, 0.5, 0.75, 0.975):
            quantile = np.nanquantile(draws.rates()[0, 0], level, method="inverted_cdf")
            below, above = (cumulated[np.searchsorted(rates, quantile, side)] for side in ("left", "right"))
            assert below - 0.03 <= level <= above + 0.03


@pytest.mark.parametrize(("noise", "narrower"), [(LAPLACE, 2), (GAUSSIAN, math.sqrt(2))])
def test_supports_make_intervals_narrower(noise: Noise, narrower: float) -> None:
    """For two groups each count is then measured twice; where both answers agree, Laplace noise gains most."""
    counts = [[120, 800]], [[480, 700]]

    plain = estimate_parity(measured(*counts, noise)).ratio
    supported = estimate_parity(measured(*counts, noise, supports=((920,), (1_180,)))).ratio

    assert supported.width == pytest.approx(plain.width / narrower, rel=0.15)
    assert supported.value == pytest.approx(plain.value, abs=0.01)


def test_five_groups_keep_their_sums_and_their_rates() -> None:
    counts = [[50, 100, 150, 200, 250]], [[250, 200, 150, 100, 50]]

    posterior = Posterior.of(measured(*counts, supports=((750,), (750,))), level=0.95, drawing=Drawing(seed=1))

    for drawn in posterior.draws_by_prior:
        assert (drawn.draws.accepted.sum(axis=1) == 750).all()
        assert np.median(drawn.draws.rates()[0], axis=1) == pytest.approx(np.arange(1, 6) / 6, abs=0.02)


@pytest.mark.parametrize(
    ("kind", "sizes", "supports"),
    [("everybody", [150, 320], ((160,), (470,))), ("unfavourable", [150, 160], ((160,), (310,)))],
)
def test_where_perhaps_nobody_of_a_group_is_accepted_the_others_may_have_all_who_are(
    kind: ComplementKind, sizes: list[int], supports: tuple[tuple[int, ...], tuple[int, ...]]
) -> None:
    """The answers leave room for 0 of the first group, and there are exactly 160 accepted people."""
    asked = measured([[3, 157]], [sizes], GAUSSIAN, kind, supports)

    posterior = Posterior.of(asked, level=0.95, drawing=Drawing(seed=1))
    found = estimate_parity(asked)

    for drawn in posterior.draws_by_prior:
        assert drawn.none_possible[0].tolist() == [True, False]
        assert (drawn.upper.accepted[0, 1] == 160).all()
        np.testing.assert_array_equal(drawn.lower.accepted, drawn.draws.accepted)
        assert (drawn.upper.accepted <= drawn.upper.size).all()
    assert found.groups[1].accepted.high == 160
    assert found.difference.high > np.quantile(posterior.draws_by_prior[1].draws.rates()[0, 1], 0.975)


def test_where_perhaps_nobody_of_a_group_is_refused_the_others_may_be_all_who_are() -> None:
    asked = measured([[157, 160]], [[3, 157]], GAUSSIAN, supports=((317,), (160,)))

    posterior = Posterior.of(asked, level=0.95, drawing=Drawing(seed=1))

    for drawn in posterior.draws_by_prior:
        assert drawn.all_possible[0].tolist() == [True, False]
        assert (drawn.lower.size - drawn.lower.accepted)[0, 1] == pytest.approx(np.full(4096, 160))
        np.testing.assert_array_equal(drawn.upper.accepted, drawn.draws.accepted)


def test_what_a_group_may_lack_is_shared_by_all_who_may_have_it() -> None:
    """Of five groups two may have nobody accepted: each of the others gets a third of their people."""
    asked = measured([[2, 1, 150, 200, 250]], [[300, 300, 150, 100, 50]], GAUSSIAN, supports=((603,), (900,)))

    posterior = Posterior.of(asked, level=0.95, drawing=Drawing(seed=1))

    for drawn in posterior.draws_by_prior:
        accepted = drawn.draws.accepted[0]
        assert drawn.none_possible[0].tolist() == [True, True, False, False, False]
        more = drawn.upper.accepted[0] - accepted
        np.testing.assert_allclose(more[2:], np.tile(accepted[:2].sum(axis=0) / 3, (3, 1)))
        np.testing.assert_allclose(more[0], accepted[1] / 4)


def test_groups_that_share_no_number_of_people_take_nothing_from_each_other() -> None:
    posterior = Posterior.of(measured([[3, 157]], [[150, 160]], GAUSSIAN), level=0.95, drawing=Drawing(seed=1))

    for drawn in posterior.draws_by_prior:
        assert drawn.none_possible[0, 0]
        assert drawn.lower is drawn.upper is drawn.draws


def test_groups_that_share_no_number_of_people_have_no_margin_to_keep() -> None:
    totals = totals_of(measured([[3, 157]], [[150, 160]], GAUSSIAN))

    with pytest.raises(ValueError, match="independently"):
        fixed_margin_draws(totals, FlatPrior(), number=8, seed=1)


def test_reports_of_four_groups_are_undone_together() -> None:
    """Two columns, each reported as it is with .8: the mean reports of 200, 400, 600 and 800 accepted people."""
    true = np.array([[200, 400, 600, 800], [800, 600, 400, 200]])
    one = np.array([[0.8, 0.2], [0.2, 0.8]])
    mean = np.rint(true @ np.kron(one, one)).astype(int).tolist()
    groups = tuple((sex, origin) for sex in "fm" for origin in "ab")
    plain = measured([mean[0]], [mean[1]])
    noise = REPORTS.model_copy(
        update={"kept": (*REPORTS.kept, REPORTS.kept[0].model_copy(update={"column": "origin"}))}
    )
    favourable, refused = (NoisyCounts(part.counts, noise) for part in (plain.favourable, plain.complement))

    parity = estimate_parity(Measurement(groups, favourable, refused, "unfavourable"))

    assert [group.rate.value for group in parity.groups] == pytest.approx([0.2, 0.4, 0.6, 0.8], abs=0.03)


def test_the_same_seed_gives_the_same_figures() -> None:
    measurement = CASES["both groups counted"][0]

    one, again = (estimate_parity(measurement, drawing=Drawing(seed=3)) for _ in range(2))

    assert one == again
