"""What a measurement may be, and what follows from supports and from reports."""

import math

import numpy as np
import pytest

from auditor_client.errors import EstimationRefused
from auditor_client.estimation.measurements import response_matrix
from auditor_client.estimation.noise_sums import noise_sum
from auditor_client.estimation.plausibility import check_supports
from auditor_client.estimation.posterior import estimate_parity
from shared.privacy.noise import KeptValue, Noise, RandomisedResponseNoise
from testing.invented.measurements import EXPONENTIAL, GAUSSIAN, LAPLACE, REPORTS, measured


def test_the_first_of_two_groups_is_enough_with_supports() -> None:
    measurement = measured([[10], [4]], [[90]], supports=((30, 5), (150,)))

    favourable, complement = measurement.completed()

    assert measurement.counted == 1
    assert favourable.counts.tolist() == [[10, 20], [4, 1]]
    assert complement.counts.tolist() == [[90, 60]]


def test_the_first_of_two_groups_is_not_enough_without_supports() -> None:
    with pytest.raises(EstimationRefused, match="supports"):
        measured([[10]], [[90]])


def test_supports_of_another_number_of_cells_are_refused() -> None:
    with pytest.raises(EstimationRefused, match="one support"):
        measured([[10, 20]], [[90, 60]], supports=((30, 5), (150,)))


@pytest.mark.parametrize(
    ("noise", "count"), [(EXPONENTIAL, -1), (EXPONENTIAL, 20_001), (REPORTS, -1)], ids=["below", "above", "reports"]
)
def test_counts_that_the_mechanism_never_answers_are_refused(noise: Noise, count: int) -> None:
    with pytest.raises(EstimationRefused, match="never answers"):
        measured([[count, 2]], [[3, 4]], noise)


@pytest.mark.parametrize("noise", [LAPLACE, GAUSSIAN, EXPONENTIAL])
def test_supports_that_the_answers_make_implausible_are_refused(noise: Noise) -> None:
    """Noise of deviation 7 on each of two answers: a sum 20 off is usual, one 200 off is not."""
    check_supports(measured([[400, 300]], [[500, 600]], noise, supports=((720,), (1_085,))))

    with pytest.raises(EstimationRefused, match="not about as many people"):
        check_supports(measured([[400, 300]], [[500, 600]], noise, supports=((900,), (1_085,))))


def test_one_implausible_cell_among_many_refuses_the_supports() -> None:
    cells, supports = [[10, 10]] * 50, [20] * 50
    check_supports(measured(cells, [[50, 50]], supports=(tuple(supports), (100,))))

    with pytest.raises(EstimationRefused):
        check_supports(measured(cells, [[50, 50]], supports=((*supports[1:], 150), (100,))))


def test_the_more_cells_the_rarer_a_sum_has_to_be() -> None:
    """One sum that noise makes once in two million, two-sided: enough against one cell, not against fifty."""
    noise = noise_sum(LAPLACE, 2)
    off = next(off for off in range(200) if 2 * noise.at_least(np.array([off])) < 0.5e-6)
    plain, wrong = [[10, 10]] * 49, [10, 10 + off]

    check_supports(measured([*plain, wrong], [[50, 50]], supports=((20,) * 50, (100,))))

    with pytest.raises(EstimationRefused):
        check_supports(measured([wrong], [[50, 50]], supports=((20,), (100,))))


@pytest.mark.parametrize(("support", "refused"), [(395, False), (300, True)])
def test_a_group_counted_alone_is_part_of_its_support(support: int, refused: bool) -> None:
    measurement = measured([[400]], [[500]], supports=((support,), (1_000,)))

    if refused:
        with pytest.raises(EstimationRefused):
            estimate_parity(measurement)
    else:
        assert estimate_parity(measurement).groups[1].accepted.value < 30


def test_supports_of_reports_are_exact() -> None:
    check_supports(measured([[40, 30]], [[50, 60]], REPORTS, supports=((70,), (110,))))

    with pytest.raises(EstimationRefused):
        check_supports(measured([[40, 30]], [[50, 60]], REPORTS, supports=((71,), (110,))))


def test_response_probabilities_multiply_over_the_columns() -> None:
    groups = [(sex, origin) for sex in ("f", "m") for origin in ("a", "b", "c")]
    noise = RandomisedResponseNoise(
        kept=(KeptValue(column="sex", probability="0.9"), KeptValue(column="origin", probability="0.8"))
    )

    matrix = response_matrix(groups, ["sex", "origin"], noise)

    assert matrix.sum(axis=1) == pytest.approx(np.ones(6))
    assert matrix[0, 0] == pytest.approx(0.9 * 0.8)
    assert matrix[0, 1] == pytest.approx(0.9 * 0.1)
    assert matrix[0, 3] == pytest.approx(0.1 * 0.8)
    assert matrix[0, 5] == pytest.approx(0.1 * 0.1)


@pytest.mark.parametrize("probability", ["0.5", "nan", "0", "1.1"])
def test_reports_that_do_not_depend_on_the_truth_are_refused(probability: str) -> None:
    noise = RandomisedResponseNoise(kept=(KeptValue(column="sex", probability=probability),))

    with pytest.raises(EstimationRefused, match="do not depend"):
        response_matrix([("f",), ("m",)], ["sex"], noise)


def test_reported_and_true_groups_cannot_be_mixed() -> None:
    reports, true = measured([[1, 2]], [[3, 4]], REPORTS), measured([[1, 2]], [[3, 4]])

    with pytest.raises(EstimationRefused, match="mixes"):
        type(reports)(reports.groups, reports.favourable, true.complement, "unfavourable")


def test_reports_say_who_is_known_and_who_is_not() -> None:
    """With Q = (.8, .2), 232 and 2227 people are reported as 631 and 1828 on average: the estimate undoes that."""
    parity = estimate_parity(measured([[631, 1828]], [[3635, 8966]], REPORTS))

    assert parity.groups[0].accepted.value == pytest.approx(232, abs=5)
    assert parity.groups[1].size.value == pytest.approx(12_969, abs=30)
    assert parity.overall is not None
    assert parity.overall.width == 0
    assert not math.isnan(parity.ratio.low)
