"""scikit-learn's trees read exactly: float32, missing values, ties, wrappers; and refused where they cannot be."""

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import FixedThresholdClassifier, GridSearchCV, TunedThresholdClassifierCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeClassifier

from auditor_client.errors import ModelRefused
from auditor_client.models import preprocessing, splits
from auditor_client.models.sklearn_tree import read_tree
from auditor_client.models.tree import Split
from shared.contract.schema import Column, Schema

SCHEMA = Schema(
    person_key="id",
    columns=(
        Column(name="age", type="integer", minimum=0, maximum=99),
        Column(name="hours", type="number", nullable=True),
        Column(name="owner", type="boolean"),
        Column(name="city", type="category", categories=("a", "b")),
        Column(name="sex", type="boolean", sensitive=True),
        Column(name="good", type="boolean", label=True),
    ),
)


def fitted(labels: list[Any], frame: pd.DataFrame | None = None, **options: Any) -> Any:
    frame = pd.DataFrame({"age": range(len(labels))}) if frame is None else frame
    return DecisionTreeClassifier(random_state=0, **options).fit(frame, labels)


def said(model: Any, **options: Any) -> list[str]:
    return [
        f"{rule.rule}: {rule.leaf.decision}"
        for rule in read_tree(model, SCHEMA, **{"favourable": [1], **options}).rules()
    ]


def test_whole_numbers_get_whole_thresholds() -> None:
    assert said(fitted([0] * 38 + [1] * 4)) == ["age ≤ 37: 0", "age > 37: 1"]


def test_the_boundary_is_where_the_cast_to_float32_moves_it() -> None:
    frame = pd.DataFrame({"hours": [0.1, 0.1, math.nextafter(np.float32(0.1), 1), 0.2]})
    model = fitted([0, 0, 0, 1], frame)
    schema = Schema(person_key="id", columns=(Column(name="hours", type="number"),))

    [below, _] = read_tree(model, schema, favourable=[1]).rules()

    [predicate] = below.rule.all_of
    assert isinstance(predicate.value, float)
    last = predicate.value if predicate.op == "le" else math.nextafter(predicate.value, -math.inf)
    assert last != model.tree_.threshold[0]
    assert model.predict(pd.DataFrame({"hours": [last, math.nextafter(last, math.inf)]})).tolist() == [0, 1]


def test_a_threshold_of_infinity_means_not_missing() -> None:
    model = fitted([0, 0, 1, 1], pd.DataFrame({"hours": [1.0, 2.0, math.nan, math.nan]}))

    assert math.isinf(model.tree_.threshold[0])
    assert said(model) == ["hours not missing: 0", "hours is missing: 1"]


@pytest.mark.parametrize(("labels", "decided"), [([0, 0, 0, 1], "0"), ([0, 1, 1, 1], "1")])
def test_missing_values_go_where_the_tree_sends_them_even_if_training_saw_none(labels: list[int], decided: str) -> None:
    model = fitted(labels, pd.DataFrame({"hours": [1.0, 2.0, 3.0, 4.0]}))

    assert [rule.split(": ")[1] for rule in said(model) if "missing" in rule] == [decided]
    assert str(model.predict(pd.DataFrame({"hours": [math.nan]}))[0]) == decided


def test_a_tie_in_a_leaf_takes_the_first_class() -> None:
    model = fitted(["b", "a", "b", "a"], pd.DataFrame({"age": [1, 1, 1, 1]}))

    assert said(model, favourable=["a"]) == ["everybody: a"]


def test_a_leaf_that_nobody_can_reach_is_left_out() -> None:
    frame = pd.DataFrame({"age": [-5, -4, 3, 4]})

    assert said(fitted([0, 0, 1, 1], frame)) == ["everybody: 1"]
    assert isinstance(read_tree(fitted([0, 1, 1, 0], frame), SCHEMA, favourable=[1]).root, Split)


def test_several_classes_may_be_favourable() -> None:
    rules = read_tree(fitted(["bad", "fair", "good"] * 1), SCHEMA, favourable={"fair", "good"}).rules()

    assert [(rule.leaf.decision, rule.favourable) for rule in rules] == [("bad", False), ("fair", True), ("good", True)]


@pytest.mark.parametrize(
    ("labels", "favourable", "decisions"),
    [
        ([False, True], "true", {"True"}),
        ([-1, 1], [1], {"1"}),
        ([0, 1], [0], {"0"}),
        ([0, 1], ["1"], {"1"}),
        ([1, 2, 3], (1, 3), {"1", "3"}),
        (["<=50K", ">50K"], ">50K", {">50K"}),
        ([False, True], ["False"], {"False"}),
    ],
)
def test_favourable_classes_are_found_by_value_or_text(labels: list[Any], favourable: Any, decisions: set[str]) -> None:
    rules = read_tree(fitted(labels), SCHEMA, favourable=favourable).rules()

    assert {rule.leaf.decision for rule in rules if rule.favourable} == decisions


@pytest.mark.parametrize(
    ("labels", "favourable"),
    [
        (["no", "yes"], None),
        ([0, 1, 2], None),
        ([0, 1], None),
        ([-1, 1], None),
        ([False, True], None),
        ([0, 1], [2]),
        ([0, 1], []),
        ([0, 1], [0, 1]),
        ([0, 1], [1, "x"]),
    ],
)
def test_favourable_classes_that_are_not_clear_are_asked_for(labels: list[Any], favourable: Any) -> None:
    with pytest.raises(ModelRefused, match="favourable"):
        read_tree(fitted(labels), SCHEMA, favourable=favourable)


def test_a_wrapper_that_moves_the_threshold_decides() -> None:
    frame = pd.DataFrame({"age": [10] * 10 + [60] * 10})
    labels = ["no"] * 7 + ["yes"] * 3 + ["no"] * 4 + ["yes"] * 6
    tree = make_pipeline(StandardScaler(), DecisionTreeClassifier(max_depth=1)).fit(frame, labels)

    def wrapped(threshold: float, label: str) -> Any:
        return FixedThresholdClassifier(FrozenEstimator(tree), threshold=threshold, pos_label=label).fit(frame, labels)

    plain = said(tree, favourable="yes")
    assert [rule.split(": ")[1] for rule in plain] == ["no", "yes"]
    assert [rule.split(": ")[1] for rule in said(wrapped(0.25, "yes"), favourable="yes")] == ["yes", "yes"]
    assert [rule.split(": ")[1] for rule in said(wrapped(0.7, "yes"), favourable="yes")] == ["no", "no"]
    assert [rule.split(": ")[1] for rule in said(wrapped(0.65, "no"), favourable="yes")] == ["no", "yes"]


def test_a_tuned_threshold_and_an_extra_tree_are_read() -> None:
    frame = pd.DataFrame({"age": list(range(60)), "owner": [True, False] * 30})
    labels = [int(age > 30) for age in range(60)]
    tuned = TunedThresholdClassifierCV(ExtraTreeClassifier(max_depth=3, random_state=0)).fit(frame, labels)

    tree = read_tree(tuned, SCHEMA, favourable=[1])

    people = [{"age": age, "owner": owner} for age in range(100) for owner in (False, True)]
    assert [int(tree.decide(person).decision) for person in people] == tuned.predict(pd.DataFrame(people)).tolist()


def test_columns_may_be_renamed_for_the_dataset() -> None:
    model = fitted([0, 1], pd.DataFrame({"Age (years)": [1, 2]}))

    with pytest.raises(ModelRefused, match="does not declare"):
        read_tree(model, SCHEMA, favourable=[1])
    assert said(model, columns=["age"]) == ["age ≤ 1: 0", "age > 1: 1"]


def test_a_sensitive_column_that_no_split_uses_does_no_harm() -> None:
    model = fitted([0, 0, 1, 1], pd.DataFrame({"age": [1, 2, 3, 4], "sex": [True] * 4}))

    assert said(model) == ["age ≤ 2: 0", "age > 2: 1"]


X = pd.DataFrame({"age": [1, 2, 3, 4], "hours": [1.0, 2.0, 3.0, 4.0]})
Y = [0, 0, 1, 1]


def _forged(**parts: Any) -> Any:
    model = fitted([0, 1, 1, 0])
    state = model.tree_.__getstate__()
    nodes = state["nodes"].copy()
    for name, (node, value) in parts.items():
        if name == "node_count":
            state["node_count"] = value
        else:
            nodes[name][node] = value
    model.tree_.__setstate__({**state, "nodes": nodes})
    return model


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (make_pipeline(StandardScaler(), RandomForestClassifier(2)).fit(X, Y), "is not read exactly"),
        (DecisionTreeRegressor().fit(X, Y), "predicts a number"),
        (KMeans(2, n_init=1).fit(X), "KMeans is not read exactly"),
        (LogisticRegression().fit(X, Y), "is not read exactly"),
        (GridSearchCV(DecisionTreeClassifier(), {"max_depth": [1]}, cv=2).fit(X, Y), "best_estimator_"),
        (type("OwnTree", (DecisionTreeClassifier,), {})().fit(X, Y), "OwnTree is not read"),
        (DecisionTreeClassifier(), "not fitted"),
        (make_pipeline(StandardScaler(), DecisionTreeClassifier()), "not fitted"),
        (make_pipeline(StandardScaler(), clone(fitted(Y))), "not fitted"),
        (FixedThresholdClassifier(DecisionTreeClassifier()), "not fitted"),
        (DecisionTreeClassifier().fit(X, [[0, 1], [0, 1], [1, 0], [1, 0]]), "several things"),
        (fitted(Y, pd.DataFrame({"sex": [0, 0, 1, 1]})), "'sex', which is sensitive"),
        (fitted(Y, pd.DataFrame({"good": [0, 0, 1, 1]})), "'good', which is the label"),
        (fitted(Y, pd.DataFrame({"id": [0, 0, 1, 1]})), "does not declare"),
        (fitted(Y, pd.DataFrame({"city": [0, 0, 1, 1]})), "The tree fails"),
        (make_pipeline(make_column_transformer(
            (OneHotEncoder(handle_unknown="ignore"), ["owner"]), remainder="passthrough", sparse_threshold=1.0
        ), DecisionTreeClassifier()).fit(X.assign(owner=[True, False] * 2), Y), "takes no missing values"),
        (DecisionTreeClassifier().fit(X.to_numpy(), Y), "fitted on an array"),
        (None, "NoneType"),
        ("model.skops", "str is not"),
        (_forged(left_child=(0, 0)), "do not make a tree"),
        (_forged(right_child=(0, 10**9)), "do not make a tree"),
        (_forged(feature=(0, 77)), "do not make a tree"),
        (_forged(left_child=(0, -1)), "do not make a tree"),
        (_forged(node_count=(0, 10**6)), "nodes"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_exactly_is_refused_with_advice(model: Any, said: str) -> None:
    with pytest.raises(ModelRefused, match=said):
        read_tree(model, SCHEMA, favourable=[1])


def test_a_tree_deeper_than_a_rule_may_be_is_refused() -> None:
    chain = pd.DataFrame({"hours": np.cumprod(np.full(600, 1.1))})

    with pytest.raises(ModelRefused, match="set max_depth"):
        read_tree(fitted([0, 1] * 300, chain), SCHEMA, favourable=[1])
    read_tree(fitted([0, 1] * 300, chain, max_depth=200), SCHEMA, favourable=[1])


def test_values_beyond_float32_go_where_its_largest_value_goes() -> None:
    largest = float(np.finfo(np.float32).max)
    model = fitted([0, 1, 0], pd.DataFrame({"hours": [-largest, 0.0, largest]}))
    tree = read_tree(model, SCHEMA, favourable=[1])

    for beyond, within in ((1e300, largest), (math.inf, largest), (-1e300, -largest)):
        assert tree.decide({"hours": beyond}) == tree.decide({"hours": within})


@pytest.mark.parametrize("options", [{"input_dtypes": {"age": "int8"}}, {"input_dtypes": {"height": "float32"}}])
def test_options_that_fit_nothing_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ModelRefused, match="input_dtypes"):
        read_tree(fitted(Y), SCHEMA, **{"favourable": [1], **options})


def test_a_reading_that_forgets_the_cast_to_float32_is_refused_by_its_own_witnesses(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model = fitted([0, 0, 1, 1], pd.DataFrame({"hours": [0.1, 0.2, 0.3, 0.4]}))
    read_tree(model, SCHEMA, favourable=[1])

    monkeypatch.setattr(preprocessing.Preprocessing, "matrix", lambda self, table: np.asarray(self.transform(table)))

    with pytest.raises(ModelRefused, match="does not follow its own tree"):
        read_tree(model, SCHEMA, favourable=[1])


def test_a_reading_that_forgets_where_missing_goes_is_refused_by_its_own_witnesses(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model = fitted([0, 0, 0, 1], pd.DataFrame({"hours": [0.1, 0.2, 0.3, 0.4]}))
    read_tree(model, SCHEMA, favourable=[1])

    masks = splits.Splits._masks
    missing = 1 << 2  # behind the two stretches that one threshold makes
    monkeypatch.setattr(splits.Splits, "_masks", lambda self: {n: m & ~missing for n, m in masks(self).items()})

    with pytest.raises(ModelRefused, match="does not follow its own tree"):
        read_tree(model, SCHEMA, favourable=[1])
