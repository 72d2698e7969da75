"""The generated register: the same people for the same seed, and a disparity that is known."""

import pytest

from pafer_demo.model import (
    boosted_model,
    checks_by_rule,
    decisions_by_hand,
    trained_tree,
    true_adverse_ratio,
    true_ratio,
)
from pafer_demo.register import register


def test_the_same_seed_gives_the_same_people() -> None:
    first, again, other = (register(people=500, people_to_train_on=100, seed=seed) for seed in (1, 1, 2))

    assert first.test.equals(again.test)
    assert first.train.equals(again.train)
    assert not first.test.equals(other.test)


def test_it_is_of_a_realistic_size_and_has_missing_incomes() -> None:
    people = register().test

    assert people.num_rows == 50_000
    assert people["income"].null_count / people.num_rows == pytest.approx(0.02, abs=0.005)


def test_a_tree_that_sees_neither_sex_nor_origin_still_treats_the_groups_differently() -> None:
    """The disparity that the demonstration has to find: both fail the four-fifths rule, and together by more."""
    data = register()
    model = trained_tree(data)

    by_sex, by_origin, by_both = (
        true_ratio(model, data, sensitive) for sensitive in (["sex"], ["origin"], ["sex", "origin"])
    )

    assert by_sex == pytest.approx(0.74, abs=0.01)
    assert by_origin == pytest.approx(0.71, abs=0.01)
    assert by_both == pytest.approx(0.48, abs=0.01)
    assert not {"sex", "origin"} & set(model.feature_names_in_)


@pytest.mark.slow
def test_a_boosted_model_and_the_decisions_made_after_it_differ_less() -> None:
    data = register()
    model = boosted_model(data)
    decisions = decisions_by_hand(model, data)

    assert true_ratio(model, data, ["sex"]) == pytest.approx(0.857, abs=0.01)
    assert true_ratio(decisions, data, ["sex"]) == pytest.approx(0.872, abs=0.01)
    assert len(decisions) == pytest.approx(40_000, abs=400)
    assert decisions.equals(decisions_by_hand(model, data))


@pytest.mark.slow
def test_a_rule_for_checks_looks_fair_by_who_is_left_alone_and_is_not_by_who_is_checked() -> None:
    data = register()
    checks = checks_by_rule(boosted_model(data), data)

    assert len(checks) == 50_000
    assert (checks["check"] == "selected").mean() == pytest.approx(0.03, abs=0.001)
    assert true_ratio(checks, data, ["origin"]) == pytest.approx(0.965, abs=0.002)
    assert true_adverse_ratio(checks, data, ["origin"]) == pytest.approx(2.405, abs=0.01)
