"""Rates without a prior: the exact test of a rate, inverted, and where an answer has none."""

from dataclasses import replace
from typing import Final

import numpy as np
import pytest

from auditor_client.estimation.drawing import DRAWING, EDITIONS, LATEST, Drawing
from auditor_client.estimation.intervals import RateDraws, quantile_estimate
from auditor_client.estimation.inversion import inverted_rates
from auditor_client.estimation.measurements import ComplementKind, Measurement, SizeBounds, Supports
from auditor_client.estimation.noise_sums import noise_sum
from auditor_client.estimation.posterior import estimate_parity, totals_of
from auditor_client.findings.reading import Reading
from shared.privacy.noise import Noise
from testing.invented.measurements import EXPONENTIAL, GAUSSIAN, LAPLACE, REPORTS, measured

MANY: Final = Drawing(65_536)
WITHOUT: Final = replace(DRAWING, edition=replace(EDITIONS[LATEST], inverted=False))


def rates_of(measurement: Measurement, drawing: Drawing = MANY) -> RateDraws:
    """The only release's rates."""
    found = inverted_rates(totals_of(measurement), drawing, 0.95)
    assert found is not None
    return found[0]


def rejected(rate: float, accepted: int, others: int, scale: float, kind: ComplementKind) -> float:
    """How likely noise alone makes a − p(a + r) as large as it was answered: the exact test, by its definition."""
    noise = noise_sum(LAPLACE.model_copy(update={"scale": scale}), 1)
    values = np.arange(-noise.reach, noise.reach + 1)
    mass = np.diff(noise.cumulated, prepend=0.0) / noise.cumulated[-1]
    both = (1 - rate) * values[:, None] - rate * values if kind == "unfavourable" else values[:, None] - rate * values
    answered = accepted - rate * (accepted + others if kind == "unfavourable" else others)
    return float((mass[:, None] * mass)[both >= answered].sum())


@pytest.mark.parametrize(("accepted", "others", "kind"), [(30, 20, "unfavourable"), (12, 60, "everybody")])
def test_an_end_is_the_rate_that_the_exact_test_just_rejects(accepted: int, others: int, kind: ComplementKind) -> None:
    measurement = measured([[accepted, 500]], [[others, 900]], LAPLACE.model_copy(update={"scale": 4.0}), kind)

    found = quantile_estimate(rates_of(measurement).rates[0], 0.95)

    assert rejected(found.low, accepted, others, 4.0, kind) == pytest.approx(0.025, abs=0.004)
    assert rejected(found.high, accepted, others, 4.0, kind) == pytest.approx(0.975, abs=0.004)
    assert rejected(found.low - 0.05, accepted, others, 4.0, kind) < 0.02, "the control: another rate is rejected"


@pytest.mark.parametrize("refused", [-15, 0, 15])
def test_ends_reach_a_group_that_is_accepted_as_a_whole_where_the_answers_allow_it(refused: int) -> None:
    """Without it 90 % of intervals hold the ratio of such a group and another."""
    measurement = measured([[300, 1000]], [[refused, 2000]], LAPLACE.model_copy(update={"scale": 6.7}))

    found, other = estimate_parity(measurement), quantile_estimate(rates_of(measurement, DRAWING).rates[1], 0.95)

    assert found.ratio.low == pytest.approx(other.low, abs=1e-12)
    assert found.difference.high == pytest.approx(1 - other.low, abs=1e-12)


def test_ends_stay_away_from_a_group_that_is_accepted_as_a_whole_where_the_answers_speak_against_it() -> None:
    measurement = measured([[300, 1000]], [[40, 2000]], LAPLACE.model_copy(update={"scale": 6.7}))

    found, other = estimate_parity(measurement), quantile_estimate(rates_of(measurement, DRAWING).rates[1], 0.95)

    assert found.ratio.low > other.low + 0.01


@pytest.mark.parametrize("noise", [LAPLACE, GAUSSIAN], ids=["laplace", "gaussian"])
def test_ratio_and_difference_have_their_intervals_from_it(noise: Noise) -> None:
    measurement = measured([[40, 700]], [[60, 300]], noise)
    draws = rates_of(measurement, DRAWING)

    found, by_priors = estimate_parity(measurement), estimate_parity(measurement, drawing=WITHOUT)

    ratio = quantile_estimate(draws.rates[0] / draws.rates[1], 0.95)
    assert (found.ratio.low, found.ratio.high) == pytest.approx((ratio.low, ratio.high), abs=0.002)
    assert found.ratio.value == pytest.approx(by_priors.ratio.value, abs=1e-12)
    assert found.ratio.width < by_priors.ratio.width
    assert found.population_ratio == by_priors.population_ratio


def test_a_group_that_may_be_empty_may_have_any_rate() -> None:
    draws = rates_of(measured([[-9, 500]], [[-8, 500]], LAPLACE.model_copy(update={"scale": 3.0})))

    assert (draws.lower[0].min(), draws.upper[0].max()) == (0.0, 1.0)
    assert np.isnan(draws.rates[0]).mean() > 0.9
    assert not np.isnan(draws.lower).any()


@pytest.mark.parametrize(
    "measurement",
    [
        measured([[40, 700]], [[60, 300]], EXPONENTIAL),
        measured([[4_000, 7_000]], [[6_000, 3_000]], REPORTS),
        replace(measured([[40, 700]], [[60, 300]]), bounds=SizeBounds((100, 1000), (100, 1000))),
        replace(measured([[40, 700]], [[60, 300]]), supports=Supports((740,), (360,))),
    ],
    ids=["exponential", "reports", "known sizes", "supports"],
)
def test_answers_of_other_kinds_keep_the_hull_of_two_priors(measurement: Measurement) -> None:
    assert inverted_rates(totals_of(measurement), DRAWING, 0.95) is None
    assert estimate_parity(measurement).ratio == estimate_parity(measurement, drawing=WITHOUT).ratio


def test_the_first_edition_and_intervals_that_hold_together_have_none() -> None:
    totals = totals_of(measured([[40, 700]], [[60, 300]]))

    assert inverted_rates(totals, Drawing(edition=EDITIONS[1]), 0.95) is None
    assert inverted_rates(totals, Reading(joint=True).drawing(), 0.95) is None
    assert inverted_rates(totals, Reading().drawing(), 0.95) is not None
