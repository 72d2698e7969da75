"""Preprocessing read exactly: each transform's own trap, with the thresholds that come out of it."""

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer, make_column_selector, make_column_transformer
from sklearn.decomposition import PCA
from sklearn.feature_selection import SelectKBest
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    QuantileTransformer,
    StandardScaler,
)
from sklearn.tree import DecisionTreeClassifier

from auditor_client.errors import ModelRefused
from auditor_client.models.sklearn_tree import read_tree
from auditor_client.models.tree import Tree
from shared.contract.schema import Column, Schema

SCHEMA = Schema(
    person_key="id",
    columns=(
        Column(name="age", type="integer", minimum=0, maximum=99),
        Column(name="grade", type="integer", minimum=1, maximum=4),
        Column(name="income", type="number", nullable=True),
        Column(name="hours", type="number"),
        Column(name="city", type="category", categories=("a", "b", "c"), nullable=True),
        Column(name="owner", type="boolean"),
        Column(name="insured", type="boolean", nullable=True),
    ),
)
FRAME = pd.DataFrame(
    {
        "age": [20, 30, 40, 50, 60, 70],
        "grade": [1, 2, 3, 4, 1, 2],
        "income": [0.1, 0.2, math.nan, 0.7, 0.8, 0.9],
        "hours": [0.1, 0.2, 0.3, 0.4, 0.5, 0.6],
        "city": ["a", "b", "a", "b", math.nan, "b"],
        "owner": [True, False, True, False, True, False],
        "insured": pd.Series([True, False, math.nan, False, True, False], dtype=object),
    }
)


def trained(step: Any, columns: list[str], labels: list[int] | None = None, frame: pd.DataFrame = FRAME) -> Any:
    tree = DecisionTreeClassifier(random_state=0)
    return make_pipeline(step, tree).fit(frame[columns], labels or [0, 0, 0, 1, 1, 1])


def said(model: Any, **options: Any) -> list[str]:
    """The tree's rules in words, with their decisions."""
    return [
        f"{rule.rule}: {rule.leaf.decision}"
        for rule in read_tree(model, SCHEMA, **{"favourable": [1], **options}).rules()
    ]


def edge(tree: Tree) -> tuple[float, float]:
    """The last double on the left of a tree of one split, and the first on its right."""
    [predicate] = tree.rules()[0].rule.all_of
    assert isinstance(predicate.value, float)
    if predicate.op == "lt":
        return math.nextafter(predicate.value, -math.inf), predicate.value
    return predicate.value, math.nextafter(predicate.value, math.inf)


def test_a_threshold_behind_a_scaler_is_the_last_double_that_the_scaler_sends_left() -> None:
    model = trained(StandardScaler(), ["hours"])

    last, first = edge(read_tree(model, SCHEMA, favourable=[1]))

    assert model.predict(pd.DataFrame({"hours": [last, first]})).tolist() == [0, 1]
    assert 0.3 < last < 0.4


def test_whole_numbers_behind_a_scaler_get_whole_thresholds() -> None:
    assert said(trained(MinMaxScaler(), ["age"])) == ["age ≤ 45: 0", "age > 45: 1"]


def test_float32_into_a_scaler_is_read_as_such_where_it_is_said() -> None:
    model = trained(StandardScaler(), ["hours"], frame=FRAME.astype({"hours": "float32"}))

    values = np.array(edge(read_tree(model, SCHEMA, favourable=[1], input_dtypes={"hours": "float32"})))

    assert model.predict(pd.DataFrame({"hours": values.astype(np.float32)})).tolist() == [0, 1]
    assert edge(read_tree(model, SCHEMA, favourable=[1])) != tuple(values)


def test_a_bin_in_the_middle_makes_three_branches_and_edges_are_pretty() -> None:
    bins = KBinsDiscretizer(3, strategy="uniform", encode="onehot-dense")

    rules = said(trained(bins, ["hours"], [0, 0, 1, 1, 0, 0], FRAME.assign(hours=[0.0, 1.0, 3.0, 5.0, 7.0, 9.0])))

    assert rules == ["hours < 3: 0", "hours ≥ 3 and hours < 6: 1", "hours ≥ 6: 0"]


def test_numbers_that_an_encoder_knows_one_by_one_become_equalities() -> None:
    rules = said(trained(OneHotEncoder(handle_unknown="ignore"), ["grade"], [0, 1, 0, 0, 0, 1]))

    assert rules == ["grade ≠ 2: 0", "grade = 2: 1"]


def test_an_encoder_may_refuse_unknown_numbers_if_it_knows_all_declared_ones() -> None:
    strict = OneHotEncoder(handle_unknown="error")

    assert said(trained(strict, ["grade"], [0, 1, 0, 0, 0, 1])) == ["grade ≠ 2: 0", "grade = 2: 1"]
    with pytest.raises(ModelRefused, match=r"OneHotEncoder fails .*'age'.*handle_unknown"):
        said(trained(strict, ["age"]))


def test_a_declared_category_that_training_never_saw_goes_where_the_encoder_sends_it() -> None:
    ordinal = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=7, encoded_missing_value=-1)

    assert said(trained(ordinal, ["city"], [0, 1, 0, 1, 0, 1])) == ["city = a or missing: 0", "city ≠ a: 1"]


def test_an_imputer_that_takes_a_number_for_missing_has_a_piece_of_its_own_around_it() -> None:
    frame = FRAME.assign(hours=[-1.0, -1.0, 2.0, 3.0, 8.0, 9.0])
    imputer = SimpleImputer(missing_values=-1, strategy="constant", fill_value=100)

    rules = said(trained(imputer, ["hours"], [1, 1, 0, 0, 1, 1], frame))

    assert [rule.replace("5.50000023841858", "t") for rule in rules] == [
        "hours < t and hours ≠ -1: 0",
        "hours = -1: 1",
        "hours ≥ t: 1",
    ]


def test_an_indicator_is_read_as_missing() -> None:
    frame = FRAME.assign(income=[1.0, math.nan, 1.0, math.nan, 1.0, math.nan])

    rules = said(trained(SimpleImputer(add_indicator=True), ["income"], [0, 1, 0, 1, 0, 1], frame))

    assert rules == ["income not missing: 0", "income is missing: 1"]


@pytest.mark.parametrize("missing", [None, math.nan])
def test_missing_is_shown_to_the_model_as_its_encoder_knows_it(missing: float | None) -> None:
    frame = FRAME.assign(insured=pd.Series([True, False, missing, missing, True, missing], dtype=object))
    frame["city"] = pd.Series(["a", "b", missing, missing, "b", missing], dtype=object)
    encoder = OneHotEncoder(handle_unknown="ignore")

    for column in ("insured", "city"):
        rules = said(trained(encoder, [column], [0, 0, 1, 1, 0, 1], frame))

        assert rules == [f"{column} not missing: 0", f"{column} is missing: 1"]


def test_columns_are_found_by_name_index_mask_slice_and_selector() -> None:
    for columns in (["hours"], [1], slice(1, 2), [False, True, False], make_column_selector(pattern="^hours$")):
        model = trained(ColumnTransformer([("x", StandardScaler(), columns)]), ["age", "hours", "city"])

        assert {q.column for rule in read_tree(model, SCHEMA, favourable=[1]).rules() for q in rule.rule.all_of} == {
            "hours"
        }


def test_what_is_dropped_is_not_asked_of_the_dataset() -> None:
    frame = FRAME.assign(unknown=["x"] * 6)
    model = trained(
        make_column_transformer((StandardScaler(), ["age"]), ("drop", ["unknown"])), ["age", "unknown"], frame=frame
    )

    assert said(model) == ["age ≤ 45: 0", "age > 45: 1"]


def test_nested_pipelines_with_pandas_output_are_read() -> None:
    inner = make_pipeline(SimpleImputer(), MinMaxScaler(clip=True))
    outer = make_column_transformer((inner, ["income", "age"]), (OneHotEncoder(sparse_output=False), ["owner"]))
    model = trained(make_pipeline(outer, "passthrough").set_output(transform="pandas"), ["owner", "age", "income"])

    assert said(model) == ["age ≤ 45: 0", "age > 45: 1"]


def test_a_model_fitted_on_an_array_is_read_with_the_columns_named() -> None:
    array = FRAME[["city", "age"]].to_numpy(dtype=object, na_value=math.nan)
    step = make_column_transformer((OneHotEncoder(), [0]), remainder="passthrough")
    model = make_pipeline(step, DecisionTreeClassifier(random_state=0)).fit(array, [0, 0, 0, 1, 1, 1])

    with pytest.raises(ModelRefused, match="columns"):
        read_tree(model, SCHEMA, favourable=[1])
    with pytest.raises(ModelRefused, match="2 inputs"):
        read_tree(model, SCHEMA, favourable=[1], columns=["age"])
    schema = Schema(
        person_key="id",
        columns=(SCHEMA.columns[0], Column(name="city", type="category", categories=("a", "b"), nullable=True)),
    )
    assert [str(rule.rule) for rule in read_tree(model, schema, favourable=[1], columns=["city", "age"]).rules()] == [
        "age ≤ 45",
        "age > 45",
    ]


@pytest.mark.parametrize(
    ("step", "columns"),
    [
        (PCA(1), ["age", "hours"]),
        (PolynomialFeatures(2), ["age", "hours"]),
        (Normalizer(), ["age", "hours"]),
        (FunctionTransformer(np.log1p), ["age"]),
        (QuantileTransformer(n_quantiles=5), ["age"]),
        (KNNImputer(), ["age", "income"]),
        (SelectKBest(k=1), ["age", "hours"]),
        (FeatureUnion([("scaler", StandardScaler())]), ["age"]),
        (make_column_transformer((PCA(1), ["age", "hours"])), ["age", "hours"]),
        (type("OwnScaler", (StandardScaler,), {})(), ["age"]),
    ],
)
def test_a_transform_that_is_not_known_column_by_column_is_refused(step: Any, columns: list[str]) -> None:
    with pytest.raises(ModelRefused, match="Supported are Pipeline"):
        read_tree(trained(step, columns), SCHEMA, favourable=[1])


@pytest.mark.parametrize(
    ("step", "frame", "columns", "said"),
    [
        (OneHotEncoder(), FRAME, ["city"], "OneHotEncoder fails"),
        (OrdinalEncoder(), FRAME.dropna(), ["city"], "OrdinalEncoder fails"),
        (KBinsDiscretizer(2, strategy="uniform"), FRAME.fillna({"income": 0.0}), ["income"], "KBinsDiscretizer fails"),
        (OneHotEncoder(handle_unknown="ignore"), FRAME.assign(age=list("abcabc")), ["age"], "declared type"),
        (OneHotEncoder(handle_unknown="ignore"), FRAME.assign(city=[1, 2, 3, 1, 2, 3]), ["city"], "declared type"),
        (OneHotEncoder(handle_unknown="ignore"), FRAME.assign(owner=["y", "n"] * 3), ["owner"], "declared type"),
        (OneHotEncoder(handle_unknown="ignore"), FRAME.assign(city=["e\u0301", "b"] * 3), ["city"], "NFC"),
        ("passthrough", FRAME.assign(city=[1, 2, 3, 1, 2, 3]), ["city"], "The tree fails"),
        (make_column_transformer((OneHotEncoder(), ["age"]), remainder="passthrough", sparse_threshold=1.0),
         FRAME.assign(income=1.0), ["age", "income"], "OneHotEncoder fails"),
        (OneHotEncoder(), FRAME.assign(unknown=["x", "y"] * 3), ["unknown"], "reads 'unknown', which"),
        (Pipeline([("empty", "passthrough")]), FRAME.assign(unknown=range(6)), ["unknown"], "'unknown' is no column"),
    ],
)  # fmt: skip
def test_a_model_that_fails_for_a_declared_value_or_means_another_type_is_refused(
    step: Any, frame: pd.DataFrame, columns: list[str], said: str
) -> None:
    labels = [0, 0, 0, 1, 1, 1][: len(frame)]
    with pytest.raises(ModelRefused, match=said):
        read_tree(trained(step, columns, labels, frame), SCHEMA, favourable=[1])


def test_both_none_and_nan_for_missing_is_refused() -> None:
    frame = FRAME.assign(city=pd.Series(["a", None, math.nan, "b", "a", "b"], dtype=object))

    with pytest.raises(ModelRefused, match="None and NaN"):
        read_tree(trained(OneHotEncoder(handle_unknown="ignore"), ["city"], frame=frame), SCHEMA, favourable=[1])


@pytest.mark.parametrize("forge", ["_n_features_outs", "_drop_idx_after_grouping", "_default_to_infrequent_mappings"])
def test_an_encoder_that_contradicts_itself_is_refused_before_it_runs(forge: str) -> None:
    frame = pd.DataFrame({"city": ["a"] * 6 + ["b"] * 6 + ["c"]})
    encoder = OneHotEncoder(handle_unknown="ignore", drop="first", min_frequency=2)
    model = make_pipeline(encoder, DecisionTreeClassifier()).fit(frame, [0] * 6 + [1] * 7)
    state = vars(model[0])
    state[forge] = {
        "_n_features_outs": [1],
        "_drop_idx_after_grouping": np.array([-9], dtype=object),
        "_default_to_infrequent_mappings": [np.array([0, 1, 10**9])],
    }[forge]

    with pytest.raises(ModelRefused, match="contradicts itself"):
        read_tree(model, SCHEMA, favourable=[1])
