"""Several answers about the same people as one: against enumeration, and what is refused."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest

from auditor_client.errors import EstimationRefused
from auditor_client.estimation.attribution import attribute, flipped
from auditor_client.estimation.drawing import Drawing
from auditor_client.estimation.draws import pooled_rates, posterior_draws
from auditor_client.estimation.joined_answers import JoinedAnswers
from auditor_client.estimation.likelihoods import AdditiveAnswers
from auditor_client.estimation.measurements import Measurement
from auditor_client.estimation.noise_sums import FloatArray, noise_sum
from auditor_client.estimation.posterior import estimate_parity, totals_of
from auditor_client.estimation.priors import FlatPrior, PooledPrior, Prior
from auditor_client.estimation.totals import CountedTotals
from shared.privacy.noise import AdditiveNoise, DiscreteGaussianNoise, DiscreteLaplaceNoise
from testing.invented.measurements import EXPONENTIAL, GAUSSIAN, LAPLACE, REPORTS, measured

PEOPLE_MAX = 200
WIDE = DiscreteLaplaceNoise(scale=15)


def joined(first: Measurement, *draws: Measurement, others: tuple[Measurement, ...] = ()) -> Measurement:
    """A measurement with further answers."""
    return replace(first, draws=draws, others=others)


CASES = {
    "two draws": joined(measured([[22, 30]], [[40, 12]]), measured([[29, 25]], [[33, 15]])),
    "another mechanism": joined(measured([[22, 30]], [[40, 12]]), measured([[29, 25]], [[33, 15]], GAUSSIAN)),
    "another epsilon": joined(
        measured([[22, 30]], [[40, 12]]), measured([[40, 2]], [[20, 30]], WIDE), measured([[20, 31]], [[44, 9]])
    ),
    "other cells": joined(
        measured([[22, 30]], [[40, 12]]), others=(measured([[9, 12], [15, 20]], [[14, 3], [21, 8], [2, 1]]),)
    ),
    "nobody": joined(measured([[-8, 30]], [[40, 12]]), measured([[-3, 25]], [[33, 15]])),
    "everybody": joined(
        measured([[22, 30]], [[64, 50]], kind="everybody"), measured([[30, 25]], [[58, 44]], kind="everybody")
    ),
    "known sizes": joined(
        measured([[22, 30]], [[40, 12]], bounds=((60, 40), (66, 40))),
        measured([[29, 25]], [[33, 15]], bounds=((60, 40), (66, 40))),
    ),
}


def enumerated(measurement: Measurement, prior: Prior) -> tuple[FloatArray, FloatArray]:
    """The first group's possible rates, in order, and their posterior mass, by the product of all noises' masses."""
    accepted, refused = (part.ravel() for part in np.meshgrid(range(PEOPLE_MAX), range(PEOPLE_MAX), indexing="ij"))
    complement = accepted + refused if measurement.complement_is == "everybody" else refused
    log_mass: FloatArray = prior(accepted[None, None], refused[None, None])[0, 0]
    for one in measurement.answers:
        for part, people in ((one.favourable, accepted), (one.complement, complement)):
            noise = noise_sum(part.added_noise, part.cells)
            log_mass = log_mass + noise.log_mass[noise.index(int(part.totals[0]) - people)]
    possible = accepted + refused > 0
    if measurement.bounds is not None:
        possible &= (accepted + refused >= measurement.bounds.least[0]) & (
            accepted + refused <= measurement.bounds.most[0]
        )
    rates, mass = accepted[possible] / (accepted + refused)[possible], np.exp(log_mass - log_mass.max())[possible]
    order = np.argsort(rates)
    return rates[order], mass[order] / mass.sum()


@pytest.mark.parametrize("case", CASES)
def test_draws_agree_with_enumerating_all_true_counts(case: str) -> None:
    """Under either prior quantiles of the rate are within 0.01 of their level."""
    totals = totals_of(CASES[case])

    of_priors = posterior_draws(totals, drawing=Drawing(16_384, seed=1))

    priors: tuple[Prior, Prior] = FlatPrior(), PooledPrior(pooled_rates(totals))
    for draws, prior in zip(of_priors, priors, strict=True):
        rates, mass = enumerated(CASES[case], prior)
        drawn = draws.rates()[0, 0]
        for level in (0.025, 0.25, 0.5, 0.75, 0.975):
            quantile = np.quantile(drawn[~np.isnan(drawn)], level)
            below, upto = mass[rates < quantile - 1e-9].sum(), mass[rates <= quantile + 1e-9].sum()
            assert below - 0.01 <= level <= upto + 0.01, (case, level)


def test_draws_with_supports_agree_with_enumerating_all_true_counts() -> None:
    """The walk over groups with known totals sees all answers: two draws of two groups whose people are 60 and 60."""
    supports = ((55,), (65,))
    one = joined(
        measured([[22, 33]], [[41, 20]], supports=supports), measured([[29, 24]], [[34, 30]], supports=supports)
    )
    totals = totals_of(one)

    flat, _ = posterior_draws(totals, drawing=Drawing(16_384, seed=1))

    accepted, refused = (part.ravel() for part in np.meshgrid(range(56), range(66), indexing="ij"))
    prior = FlatPrior()
    log_mass = sum(prior(*(part[None, None] for part in pair))[0, 0] for pair in (
        (accepted, refused), (55 - accepted, 65 - refused)
    ))  # fmt: skip
    noise = noise_sum(LAPLACE, 1)
    for answer in one.answers:
        for group, (yes, no) in enumerate(((accepted, refused), (55 - accepted, 65 - refused))):
            log_mass = log_mass + noise.log_mass[noise.index(int(answer.favourable.counts[0, group]) - yes)]
            log_mass = log_mass + noise.log_mass[noise.index(int(answer.complement.counts[0, group]) - no)]
    mass = np.exp(log_mass - np.max(log_mass))
    mean = float((mass * accepted).sum() / mass.sum())
    assert abs(float(flat.accepted[0, 0].mean()) - mean) < 0.15


@pytest.mark.parametrize("noises", [(LAPLACE, LAPLACE), (LAPLACE, WIDE), (GAUSSIAN, LAPLACE, WIDE)])
def test_how_likely_answers_are_so_high_is_what_the_noises_make_of_it(noises: tuple[AdditiveNoise, ...]) -> None:
    """The tail is that of the noises' sum, weighted by precision, as simulated noise has it (10⁶ draws, 0.003)."""
    rng = np.random.default_rng(1)
    answers = np.array([[3 * index + 4 for index in range(len(noises))]])
    sums = [noise_sum(noise, 1) for noise in noises]
    parts = tuple(AdditiveAnswers(answers[:, [index]], one) for index, one in enumerate(sums))

    found, lower = JoinedAnswers(parts).tail_probability(), JoinedAnswers(parts).lower_tail_probability(np.array([20]))

    weights = np.array([1 / one.deviation**2 for one in sums])
    weights = np.round(8 * weights / weights.max())
    drawn = sum(weight * one.quantile(rng.random(1_000_000)) for weight, one in zip(weights, sums, strict=True))
    assert found[0, 0] == pytest.approx(float((drawn >= weights @ answers[0]).mean()), abs=0.003)
    assert lower[0, 0] == pytest.approx(float((drawn <= weights @ (answers[0] - 20)).mean()), abs=0.003)


def test_draws_of_gaussian_noise_are_as_good_as_one_of_their_precision() -> None:
    """Four draws at a deviation of 14 are one at 7 of their mean: the same interval, to a fiftieth."""
    single = measured([[220, 300]], [[400, 300]], GAUSSIAN)
    wide = DiscreteGaussianNoise(scale=2 * GAUSSIAN.scale)
    four = [
        measured([[220 + move, 300 - move]], [[400 - move, 300 + move]], wide) for move in (-20, -4, 4, 20)
    ]  # fmt: skip

    one, of_four = (estimate_parity(measurement).ratio for measurement in (single, joined(four[0], *four[1:])))

    assert of_four.value == pytest.approx(one.value, rel=0.005)
    assert of_four.width == pytest.approx(one.width, rel=0.02)


def test_the_order_of_answers_changes_no_draw() -> None:
    """Answers are independent, so whichever comes first."""
    first, second = measured([[220, 300]], [[400, 300]]), measured([[231, 290]], [[388, 310]], GAUSSIAN)

    one, other = (estimate_parity(joined(*pair)).ratio for pair in itertools.permutations((first, second)))

    assert math.isclose(one.low, other.low, abs_tol=1e-9)
    assert math.isclose(one.high, other.high, abs_tol=1e-9)


def test_rules_that_were_drawn_twice_have_narrower_shares() -> None:
    """Shares still add up to the difference; an answer of other cells makes no rule more exact than the totals do."""
    rules = measured([[100, 160], [120, 60]], [[200, 180], [80, 90]])
    again = measured([[106, 155], [113, 66]], [[207, 175], [82, 91]])

    once, twice = (attribute(one, pair=(("group 0",), ("group 1",))) for one in (rules, joined(rules, again)))

    for share, narrower in zip(once.shares, twice.shares, strict=True):
        assert narrower.share.width < 0.85 * share.share.width
    assert sum(share.share.value for share in twice.shares) == pytest.approx(twice.difference.value)


def test_a_reversed_rule_is_reversed_in_every_draw() -> None:
    """Answers by other cells cannot say what a reversed rule would do."""
    rules = measured([[100, 160], [120, 60]], [[200, 180], [80, 90]])
    again = measured([[106, 155], [113, 66]], [[207, 175], [82, 91]])
    totals = measured([[220, 220]], [[280, 270]])

    reversed_rule = flipped(joined(rules, again, others=(totals,)), 0)

    assert reversed_rule.draws[0].favourable.counts.tolist() == [[113, 66]]
    assert reversed_rule.others == ()


@pytest.mark.parametrize(
    ("as_draw", "other"),
    [
        (False, measured([[22, 30]], [[62, 42]], kind="everybody")),
        (False, measured([[22, 30, 9]], [[40, 12, 9]])),
        (True, measured([[10, 15], [12, 15]], [[40, 12]])),
        (False, CASES["two draws"]),
    ],
    ids=["another complement", "other groups", "other cells as a draw", "joined already"],
)
def test_answers_about_other_people_are_refused(as_draw: bool, other: Measurement) -> None:
    """A measurement that joins them does not come to be."""
    with pytest.raises(EstimationRefused):
        joined(measured([[22, 30]], [[40, 12]]), *([other] if as_draw else []), others=() if as_draw else (other,))


@pytest.mark.parametrize("noise", [EXPONENTIAL, REPORTS])
def test_answers_to_which_no_noise_was_added_are_refused(noise: AdditiveNoise) -> None:
    """The sentence says which mechanisms are joined."""
    with pytest.raises(EstimationRefused, match="laplace and gaussian"):
        totals_of(joined(measured([[22, 30]], [[40, 12]], noise), measured([[22, 30]], [[40, 12]], noise)))


def test_answers_that_cannot_be_about_the_same_people_are_refused() -> None:
    """Noise of scale 5 does not take two answers 200 people apart; 30 people it does."""
    one = measured([[220, 300]], [[400, 300]])

    assert isinstance(totals_of(joined(one, measured([[250, 300]], [[400, 300]]))), CountedTotals)
    with pytest.raises(EstimationRefused, match="not about the same people"):
        totals_of(joined(one, measured([[420, 300]], [[400, 300]])))
