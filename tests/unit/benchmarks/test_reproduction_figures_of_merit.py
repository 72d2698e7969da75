"""AASPE, t-tests, UAR and verdicts, on tables small enough to work out by hand."""

import numpy as np
import pandas as pd
import pytest

from benchmarks.accuracy import Case
from benchmarks.reproduction.estimates import by_the_paper
from benchmarks.reproduction.summaries import (
    baseline_tests,
    errors,
    mechanism_tests,
    recalls,
    speeds,
    tenths,
    verdicts,
)


def rows(**columns: object) -> pd.DataFrame:
    """Runs of one analysis at one ε."""
    fixed = {"dataset": "adult", "sensitive": "sex", "epsilon": 0.1, "leaf": 0.01, "invalid": 0.0}
    return pd.DataFrame({**fixed, **columns})


def test_an_invalid_answer_is_replaced_by_an_even_share_of_the_people_or_of_the_rules_support() -> None:
    case = Case("invented", favourable=np.array([[30, 10], [20, 20]]), sizes=np.array([100, 60]))
    everybody = np.array([[[-5, 60]]])
    favourable = np.array([[[-1, 16], [28, 161]]])

    found = by_the_paper(everybody, favourable, case)

    # Of 160 / 2 people 40 / 2 + 28 are accepted, and of 60 people 16 + 40 / 2: rates of .6 and .6.
    assert found.value.tolist() == [pytest.approx(1)]
    assert found.invalid.tolist() == [0.5]


def test_the_error_is_the_mean_distance_and_an_undefined_estimate_has_none() -> None:
    runs = rows(method="laplace", truth=0.5, estimate=[0.4, 0.8, np.nan], invalid=[0.0, 0.5, 0.25])

    found = errors(runs, ["method"]).to_dict("records")[0]

    assert found["aaspe"] == pytest.approx(0.2)
    assert found["se"] == pytest.approx(np.std([0.1, 0.3], ddof=1) / np.sqrt(2))
    assert (found["invalid"], found["undefined"], found["runs"]) == (0.25, pytest.approx(1 / 3), 3)


def test_mechanisms_are_compared_at_each_analysis_and_epsilon_and_the_better_one_is_the_negative_difference() -> None:
    near, far = [0.51, 0.49, 0.52], [0.9, 0.1, 0.8]
    runs = pd.concat([rows(method="a", truth=0.5, estimate=near), rows(method="b", truth=0.5, estimate=far)])
    runs = runs.reset_index(drop=True)

    found = mechanism_tests(runs, "a", "b").to_dict("records")[0]
    reversed_order = mechanism_tests(runs, "b", "a").to_dict("records")[0]

    assert found["p"] < 0.01
    assert found["difference"] < 0 < reversed_order["difference"]


def test_the_baseline_is_beaten_by_a_smaller_error_and_beats_a_larger_one() -> None:
    good = rows(truth=0.5, estimate=[0.5, 0.52, 0.48, 0.5], baseline=[0.9, 0.1, 0.8, 0.0])
    bad = rows(truth=0.5, estimate=[0.9, 0.1, 0.8, 0.0], baseline=[0.5, 0.52, 0.48, 0.5], leaf=0.2)

    better, worse = baseline_tests(pd.concat([good, bad], ignore_index=True)).to_dict("records")

    assert better["p"] < 0.01
    assert worse["p_worse"] < 0.01
    assert better["p"] + better["p_worse"] == pytest.approx(1)


def test_recall_is_averaged_over_the_tenths_that_occur_and_not_over_runs() -> None:
    runs = rows(truth=[0.31, 0.32, 0.33, 0.85], estimate=[0.35, 0.39, 0.41, 0.79])

    uar = recalls(runs, ["dataset"])["uar"].item()

    assert uar == pytest.approx((2 / 3 + 0) / 2)


def test_a_tenth_is_not_lost_to_rounding() -> None:
    assert tenths(pd.Series([0.1 * 3, 0.7999999999999999, 0.79, 1.0])).tolist() == [3, 8, 7, 10]


def test_a_verdict_is_right_wrong_or_undecided() -> None:
    runs = rows(truth=[0.9, 0.9, 0.5, 0.5, 0.9], low=[0.82, 0.7, 0.4, 0.81, 0.5], high=[0.95, 0.95, 0.6, 0.9, 0.7])

    found = verdicts(runs, ["dataset"]).to_dict("records")[0]

    assert (found["right"], found["undecided"], found["wrong"]) == (0.4, 0.2, 0.4)
    assert found["coverage"] == 0.6


def test_speed_counts_estimates_over_the_time_that_they_took() -> None:
    assert list(speeds(rows(seconds=[0.1, 0.3], cpu_seconds=[0.1, 0.1]))) == pytest.approx([5, 10])
