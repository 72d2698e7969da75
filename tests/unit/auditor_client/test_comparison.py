"""Two audits side by side."""

import math

import pytest

from auditor_client.estimation.comparison import compare_estimates
from auditor_client.estimation.drawing import Drawing
from auditor_client.estimation.posterior import estimate_parity
from auditor_client.estimation.results import Change
from testing.invented.measurements import LAPLACE, measured

BEFORE = estimate_parity(measured([[200, 900]], [[800, 300]]))
AFTER = estimate_parity(measured([[400, 800]], [[600, 400]]), drawing=Drawing(seed=1))


def test_a_model_closer_to_parity_is_distinguished_from_the_one_before() -> None:
    found = compare_estimates(BEFORE, AFTER)

    assert found.change is Change.CLOSER
    assert found.ratio.value == pytest.approx(found.second.ratio.value - found.first.ratio.value)
    assert found.difference.value == pytest.approx(0.27 - 0.55, abs=0.02)
    assert found.ratio.low < 0.6 - 0.27 < found.ratio.high
    assert compare_estimates(AFTER, BEFORE).change is Change.FARTHER


def test_its_interval_holds_the_noise_of_both_audits() -> None:
    found = compare_estimates(BEFORE, AFTER)

    assert found.ratio.width == pytest.approx(math.hypot(found.first.ratio.width, found.second.ratio.width), rel=0.05)
    assert found.ratio.width > max(found.first.ratio.width, found.second.ratio.width)
    assert found.population_ratio.width > found.ratio.width


def test_the_same_model_twice_is_undecided() -> None:
    assert compare_estimates(BEFORE, BEFORE).change is Change.UNDECIDED
    notes = compare_estimates(BEFORE, BEFORE).notes
    assert any("same people" in note for note in notes)
    assert any("do not show whether" in note for note in notes)
    assert not any("do not show" in note for note in compare_estimates(BEFORE, AFTER).notes)


def test_what_is_undefined_in_either_is_undefined_in_the_comparison() -> None:
    nobody = estimate_parity(measured([[0, 0]], [[400, 600]], LAPLACE.model_copy(update={"scale": 0.1})))

    found = compare_estimates(BEFORE, nobody)

    assert not found.ratio.defined
    assert found.change is Change.UNDECIDED
    assert found.difference.defined
