"""What a training is asked as: defaults from the declaration alone, and a clear text where there are none."""

from typing import Any

import pytest

from auditor_client.asking.training import FollowingAudit, TrainingRequest, require_auditable, training_of
from auditor_client.asking.training_columns import BINS, even_cuts
from auditor_client.errors import QuestionRefused
from shared.contract.datasets import DatasetDescription
from shared.contract.schema import Column
from shared.kinds.trainings import FairTree
from testing.registers import LOANS


def dataset(**changes: Any) -> DatasetDescription:
    """The loans, of which every column has a range."""
    columns = tuple(
        column.model_copy(update={"minimum": 0, "maximum": 60}) if column.name == "hours" else column
        for column in LOANS.columns
    )
    return LOANS.model_copy(update={"columns": columns, **changes})


def test_what_is_left_out_follows_from_the_declaration() -> None:
    training = training_of(TrainingRequest(epsilon="1"), dataset())

    cuts = {feature.column: feature.cuts for feature in training.features}
    assert (training.label, training.sensitive, training.version) == ("repaid", ("sex", "origin"), 3)
    assert list(cuts) == ["age", "hours", "education", "citizen", "region", "marital status"]
    assert cuts["age"] == (8, 15, 23, 30, 38, 45, 53, 60, 68, 75, 83, 90, 98, 105, 113)
    assert cuts["hours"] == tuple(3.75 * part for part in range(1, BINS))
    assert cuts["education"] is None
    assert training.algorithm_as(FairTree).depth == 4


def test_what_is_named_is_taken() -> None:
    request = TrainingRequest.model_validate(
        {
            "epsilon": 0.5, "sensitive": "sex", "features": {"age": [25, 35.0], "education": None}, "depth": 2,
            "splits": 0.25, "draw": 2, "version": 1,
        }
    )  # fmt: skip

    training = training_of(request, LOANS)

    assert training.document() == {
        "algorithm": {"name": "fair_tree", "depth": 2, "splits": "0.25"},
        "label": "repaid",
        "sensitive": ["sex"],
        "features": [{"column": "age", "cuts": [25, 35]}, {"column": "education"}],
        "epsilon": "0.5",
        "version": 1,
        "draw": 2,
    }


@pytest.mark.parametrize("features", ["age=25,35", ["age=25,35"], ("age=25,35",)])
def test_a_feature_is_a_column_with_where_bins_begin(features: Any) -> None:
    training = training_of(TrainingRequest(epsilon="1", features=features), LOANS)

    assert [(one.column, one.cuts) for one in training.features] == [("age", (25, 35))]


@pytest.mark.parametrize(
    ("low", "high", "cuts"),
    [
        (0, 4, (1, 2, 3, 4)),
        (-2, 2, (-1, 0, 1, 2)),
        (0, 1, (1,)),
        (0, 32, tuple(range(2, 32, 2))),
        (18, 100, (24, 29, 34, 39, 44, 49, 54, 59, 65, 70, 75, 80, 85, 90, 95)),
    ],
)
def test_even_bins_of_whole_numbers_begin_at_whole_numbers(low: int, high: int, cuts: tuple[int, ...]) -> None:
    assert even_cuts(Column(name="age", type="integer", minimum=low, maximum=high)) == cuts


@pytest.mark.parametrize(("low", "high"), [(None, 10), (0, None), (None, None), (-1e308, 1e308)])
def test_a_column_without_a_range_needs_cuts(low: float | None, high: float | None) -> None:
    with pytest.raises(
        QuestionRefused, match=r"'hours' does not declare a range .*\(`features`\), such as hours=10,20,30"
    ):
        even_cuts(Column(name="hours", type="number", minimum=low, maximum=high))


@pytest.mark.parametrize(
    ("asked", "changes", "reason"),
    [
        ({"epsilon": None}, {}, "`epsilon`"),
        ({"algorithm": "fair tree"}, {}, "did you mean 'fair_tree'"),
        ({"features": "aeg"}, {}, "did you mean 'age'"),
        ({"features": "age=ten"}, {}, "Write it as age=25,35,45"),
        ({"features": "age=200"}, {}, "'age': every band needs values"),
        ({"features": "age=35,25"}, {}, "ascending"),
        ({"features": "education=3"}, {}, "not ordered"),
        ({"features": "repaid"}, {}, "is the label"),
        ({"features": "sex"}, {}, "sensitive"),
        ({"features": ["age=25", "age=35"]}, {}, "named twice"),
        ({"label": "citizen"}, {}, "not declared as a label"),
        ({"label": "shoe"}, {}, "shoe"),
        ({"sensitive": "age"}, {}, "makes no groups"),
        ({"depth": 9}, {}, "depth"),
        ({"splits": "1"}, {}, "probability"),
        ({"epsilon": "11"}, {}, "between 0.001 and 10"),
        ({}, {"version": None}, "are not loaded yet"),
        ({}, {"relation": "sensitive_attribute"}, "whole records"),
        ({}, {"trainings": None}, "does not train models"),
        ({}, {"columns": tuple(one for one in LOANS.columns if not one.label)}, "does not declare a label"),
        ({"features": "hours"}, {"columns": LOANS.columns}, "does not declare a range"),
    ],
)
def test_what_does_not_fit_is_refused_with_what_would(
    asked: dict[str, Any], changes: dict[str, Any], reason: str
) -> None:
    with pytest.raises(QuestionRefused, match=reason):
        training_of(TrainingRequest(**{"epsilon": "1", **asked}), dataset(**changes))


def test_one_group_is_refused() -> None:
    columns = tuple(
        column.model_copy(update={"categories": ("Female",)}) if column.name == "sex" else column
        for column in LOANS.columns
    )

    with pytest.raises(QuestionRefused, match="one group"):
        training_of(TrainingRequest(epsilon="1", sensitive=("sex",), features=("education",)), dataset(columns=columns))


@pytest.mark.parametrize("given", [{"audit_on": "other"}, {"audit_epsilon": "1"}, {"audit_version": 2}])
def test_an_audit_in_the_same_run_has_a_dataset_and_a_price(given: dict[str, Any]) -> None:
    with pytest.raises(QuestionRefused, match="`audit_on`"):
        FollowingAudit(**given)


@pytest.mark.parametrize("lacking", ["education", "sex", "repaid"])
def test_a_dataset_that_lacks_a_column_cannot_be_audited(lacking: str) -> None:
    training = training_of(TrainingRequest(epsilon="1", sensitive=("sex",), features=("education",)), LOANS)
    other = LOANS.model_copy(update={"columns": tuple(one for one in LOANS.columns if one.name != lacking)})

    require_auditable(training, LOANS)
    with pytest.raises(QuestionRefused, match=f"does not have the column '{lacking}'"):
        require_auditable(training, other)


def test_scores_are_asked_for_without_depth_and_splits() -> None:
    asked: dict[str, Any] = {"epsilon": "1", "algorithm": "fair_linear", "sensitive": ("sex",)}

    training = training_of(TrainingRequest(**asked), dataset())

    assert training.document()["algorithm"] == {
        "name": "fair_linear", "points": 10, "tables": "0.4", "group_quantiles": ["0.3", "0.5", "0.7", "0.85"],
        "label_quantiles": ["0.6", "0.7", "0.8", "0.87", "0.92", "0.96"],
    }  # fmt: skip
    with pytest.raises(QuestionRefused, match="depth"):
        training_of(TrainingRequest(**asked, depth=3), dataset())


def test_a_column_called_like_a_score_is_no_hindrance() -> None:
    request = TrainingRequest(epsilon="1", algorithm="fair_linear", sensitive=("sex",), features=("education",))
    columns = (Column(name=name, type="number") for name in ("label_score", "group_score"))

    require_auditable(training_of(request, LOANS), LOANS.model_copy(update={"columns": (*LOANS.columns, *columns)}))


@pytest.mark.parametrize(
    ("asked", "algorithm"),
    [
        ({"algorithm": "fair_tree", "groups": 0.1}, {"depth": 4, "groups": "0.1", "splits": "0.5"}),
        (
            {"algorithm": "private_fair_tree", "depth": 2, "similarity": 0.2},
            {"depth": 2, "splits": "0.5", "similarity": "0.2"},
        ),
        ({"algorithm": "pflr", "penalty": 3, "free_covariance": "2.5"}, {"penalty": "3", "threshold": "2.5"}),
        ({"algorithm": "pflr_star", "lowered": "Female"}, {"fairness": "0.5", "lowered": 0}),
        ({"algorithm": "pflr_star", "lowered": "Male", "fairness": 0.25}, {"fairness": "0.25", "lowered": 1}),
        (
            {"algorithm": "fair_linear", "points": 5, "tables": 0.5, "label_quantiles": [0.5, "0.75"],
             "group_quantiles": ("0.5",)},
            {"points": 5, "tables": "0.5", "label_quantiles": ["0.5", "0.75"], "group_quantiles": ["0.5"]},
        ),
    ],
)  # fmt: skip
def test_every_algorithm_has_what_is_its_own(asked: dict[str, Any], algorithm: dict[str, Any]) -> None:
    training = training_of(TrainingRequest(epsilon="1", sensitive=("sex",), **asked), dataset())

    assert training.document()["algorithm"] == {"name": asked["algorithm"], **algorithm}


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        ({"similarity": "0.2"}, "`similarity` applies to private_fair_tree, not to fair_tree"),
        ({"algorithm": "pflr", "depth": 3}, "`depth` applies to fair_tree and private_fair_tree, not to pflr"),
        ({"algorithm": "pflr", "lowered": "Male"}, "`lowered` applies to pflr_star"),
        ({"algorithm": "pflr_star"}, "Name the better-off group .*Female or Male"),
        ({"algorithm": "pflr_star", "lowered": "1"}, "Female or Male"),
        ({"algorithm": "pflr", "sensitive": ("sex", "origin")}, "needs two groups, but these columns make"),
        ({"algorithm": "pflr_star", "sensitive": ("shoe",), "lowered": "Male"}, "shoe"),
        ({"algorithm": "fair_linear", "label_quantiles": ("0.9", "0.5")}, "ascending"),
    ],
)
def test_what_is_of_another_algorithm_or_lacks_is_refused(asked: dict[str, Any], reason: str) -> None:
    with pytest.raises(QuestionRefused, match=reason):
        training_of(TrainingRequest(**{"epsilon": "1", "sensitive": ("sex",), **asked}), dataset())


def test_an_algorithm_that_this_client_does_not_know_is_not_asked_for() -> None:
    later = dataset(trainings=("fair_tree", "fair_forest"))

    with pytest.raises(QuestionRefused, match="fair_forest"):
        training_of(TrainingRequest(epsilon="1", algorithm="fair_forest"), later)
