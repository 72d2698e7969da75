"""The paper's procedure, answer by answer (1-method §4)."""

import math
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from auditor_client.errors import EstimationRefused
from auditor_client.estimation.estimates import Verdict
from auditor_client.estimation.measurements import Supports
from auditor_client.estimation.plug_in import (
    NEGATIVE_POLICIES,
    TOO_LARGE_POLICIES,
    PlugInCounts,
    Policy,
    estimate_parity,
    plug_in_counts,
)
from shared.privacy.noise import DiscreteLaplaceNoise
from testing.invented import measurements as invented_measurements

measured = partial(invented_measurements.measured, noise=DiscreteLaplaceNoise(scale=20), kind="everybody")


def counted(favourable: list[list[int]], everybody: list[list[int]], supports: Supports, *policy: str) -> PlugInCounts:
    histograms = np.array(favourable), np.array(everybody)
    return plug_in_counts(*histograms, "everybody", supports=supports, policy=Policy(*policy))


def test_valid_answers_are_summed_and_divided() -> None:
    measurement = measured([[10, 30], [10, 10]], [[100, 80]])

    parity = estimate_parity(measurement, supports=Supports((40, 20), (180,)))

    assert [group.rate.value for group in parity.groups] == [0.2, 0.5]
    assert [group.size.value for group in parity.groups] == [100, 80]
    assert [group.accepted.value for group in parity.groups] == [20, 40]
    assert parity.ratio.value == pytest.approx(0.4)
    assert parity.difference.value == pytest.approx(0.3)
    assert parity.invalid_share == 0


def test_a_verdict_measurement_gives_sizes_as_accepted_and_refused() -> None:
    parity = estimate_parity(measured([[20, 40]], [[80, 40]], kind="unfavourable"))

    assert [group.rate.value for group in parity.groups] == [0.2, 0.5]


@pytest.mark.parametrize(
    ("negative", "expected"),
    [("zero", [0, 9]), ("one", [1, 9]), ("uniform", [10, 9]), ("total-valid", [11, 9])],
)
def test_each_policy_for_a_negative_answer_of_a_rule(negative: str, expected: list[int]) -> None:
    """The rule applies to 20 people in two groups, of whom 9 were answered for the second."""
    counts = counted([[-4, 9]], [[50, 50]], Supports((20,), (100,)), negative, "uniform")

    assert counts.accepted.tolist() == expected
    assert counts.invalid_share == 0.25


@pytest.mark.parametrize(("too_large", "expected"), [("uniform", [10, 9]), ("total-valid", [11, 9])])
def test_each_policy_for_an_answer_above_the_number_of_people(too_large: str, expected: list[int]) -> None:
    counts = counted([[101, 9]], [[50, 50]], Supports((20,), (100,)), "zero", too_large)

    assert counts.accepted.tolist() == expected


def test_zero_the_number_of_people_and_more_than_a_rules_own_support_are_valid_answers() -> None:
    counts = counted([[25, 0]], [[100, 50]], Supports((20,), (100,)), "uniform", "uniform")

    assert counts.accepted.tolist() == [25, 0]
    assert counts.sizes.tolist() == [100, 50]
    assert counts.invalid_share == 0


def test_uniform_is_whole_for_a_rule_and_n_over_k_for_a_groups_size() -> None:
    counts = counted([[-1, 9]], [[-1, 50]], Supports((21,), (101,)), "uniform", "uniform")

    assert counts.accepted.tolist() == [10, 9]
    assert counts.sizes.tolist() == [50.5, 50]


def test_total_valid_shares_what_is_left_among_the_invalid_and_is_never_negative() -> None:
    counts = counted(
        [[-1, -2, 8, 4], [-1, -2, 30, 4]],
        [[50, 50, 50, 50]],
        Supports((20, 20), (200,)),
        "total-valid",
        "total-valid",
    )

    assert counts.accepted.tolist() == [4 + 0, 4 + 0, 8 + 30, 4 + 4]


def test_a_group_of_size_zero_has_no_rate_and_no_part_in_the_ratio() -> None:
    parity = estimate_parity(measured([[5, 10, 20]], [[0, 40, 40]]), negative="zero")

    assert math.isnan(parity.groups[0].rate.value)
    assert parity.ratio.value == pytest.approx(0.5)


def test_nobody_accepted_leaves_the_ratio_undefined_and_the_difference_zero() -> None:
    parity = estimate_parity(measured([[0, 0]], [[40, 40]]))

    assert not parity.ratio.defined
    assert parity.difference.value == 0


def test_it_has_no_interval_and_gives_no_verdict_and_says_so() -> None:
    parity = estimate_parity(measured([[40, -5]], [[40, 40]]))

    assert math.isnan(parity.ratio.low)
    assert math.isnan(parity.ratio.high)
    assert parity.ratio.method == "plug-in"
    assert parity.verdict is Verdict.UNDECIDED
    assert parity.invalid_share == 0.25
    assert any(warning.startswith("25\u202f%") for warning in parity.warnings)


@pytest.mark.parametrize(
    "changes", [{"negative": "ignore"}, {"too_large": "zero"}, {"negative": ""}, {"too_large": "one"}]
)
def test_an_unknown_policy_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(EstimationRefused, match="is no policy"):
        estimate_parity(measured([[1, 2]], [[3, 4]]), **changes)


@pytest.mark.parametrize(
    "supports", [Supports((1,), (2,)), Supports((1, 2), (2, 3)), Supports((1, -1), (9,)), Supports((5, 5), (9,))]
)
def test_supports_that_cannot_be_of_the_cells_are_refused(supports: Supports) -> None:
    with pytest.raises(EstimationRefused):
        estimate_parity(measured([[1, 2], [3, 4]], [[9, 9]]), supports=supports)


@settings(deadline=None)
@given(
    counts=st.lists(st.lists(st.integers(-(10**6), 10**6), min_size=3, max_size=3), min_size=2, max_size=5),
    everybody=st.booleans(),
    negative=st.sampled_from(NEGATIVE_POLICIES),
    too_large=st.sampled_from(TOO_LARGE_POLICIES),
)
def test_every_policy_makes_something_valid_of_any_answer(
    counts: list[list[int]], everybody: bool, negative: str, too_large: str
) -> None:
    measurement = measured(counts[1:], counts[:1], kind="everybody" if everybody else "unfavourable")

    parity = estimate_parity(measurement, negative=negative, too_large=too_large)

    assert all(group.size.value >= 0 and group.accepted.value >= 0 for group in parity.groups)
    assert math.isnan(parity.ratio.value) or 0 <= parity.ratio.value <= 1


def test_many_releases_at_once_are_estimated_as_each_alone() -> None:
    rng = np.random.default_rng(5)
    favourable, everybody = rng.integers(-20, 60, (50, 2, 3)), rng.integers(-20, 90, (50, 1, 3))
    supports, policy = Supports((40, 30), (120,)), Policy("total-valid", "uniform")

    together = plug_in_counts(favourable, everybody, "everybody", supports=supports, policy=policy)
    alone = [
        plug_in_counts(favourable[run], everybody[run], "everybody", supports=supports, policy=policy).ratio()
        for run in range(50)
    ]

    np.testing.assert_array_equal(together.ratio(), alone)
