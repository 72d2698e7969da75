"""XGBoost's models, compared with XGBoost; `python -m checks.model_formats xgboost` does the same at length."""

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xgboost

from auditor_client.errors import ModelRefused
from auditor_client.models.read_model import ModelRequest
from auditor_client.models.readers import load_object, read_object
from auditor_client.models.readers.boosters import xgboost as reader
from auditor_client.models.readers.boosters.xgboost_document import VOCABULARY, parsed
from auditor_client.models.readers.inputs import ModelInput, ModelInputs, float32_below
from auditor_client.models.readers.parsing import DocumentPart
from checks.model_formats.__main__ import survivors
from checks.model_formats.boosting import xgboost_file, xgboost_model
from checks.model_formats.formats import FORMATS
from shared.contract.schema import Column, Schema


@pytest.mark.parametrize("seed", range(6))
def test_a_random_model_is_read_as_it_decides(seed: int) -> None:
    """Two and three classes, categories, base scores, early stopping, parallel trees: every margin to the last bit."""
    model, request = xgboost_model(seed)

    provenance = read_object(model, request).provenance

    assert provenance is not None
    assert (provenance.differing, provenance.largest or 0.0) == (0, 0.0)
    assert provenance.probes >= 4000
    assert provenance.compared_with == f"XGBoost {xgboost.__version__}"


@pytest.mark.parametrize("seed", [2, 3])
def test_a_file_is_read_as_the_model_in_memory_and_compared(seed: int) -> None:
    """One is UBJSON, the other JSON."""
    model, request = xgboost_model(seed)
    content, _ = xgboost_file(seed)

    read = read_object(load_object(content, "model"), request)

    assert read.columns == read_object(model, request).columns
    assert read.provenance is not None
    assert read.provenance.compared_with is not None


@pytest.mark.parametrize(
    "threshold", [0.1, -0.1, 1.0, 3.0, 1e-45, -1e-45, 0.0, 3.4e38, -3.4e38, 1e-38, 0.3, 16777217.0]
)
def test_a_float32_threshold_is_moved_exactly_to_doubles(threshold: float) -> None:
    upper = np.float32(threshold)
    test = float32_below(float(upper))
    middle = (float(upper) + float(np.nextafter(upper, np.float32(-np.inf)))) / 2

    for start in (middle, float(upper), 0.0):
        for number in (
            np.nextafter(start, -np.inf),
            start,
            np.nextafter(start, np.inf),
            start * 1.0001,
            start * 0.9999,
        ):
            assert test.answer(float(number)) == bool(np.float32(number) < upper)


@pytest.mark.parametrize("fault", ["double", "missing", "float64"])
def test_a_fault_in_reading_is_noticed(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The negative control."""
    model, request = xgboost_model(0)
    of_one_number = ModelInput.compared_with
    faults: dict[str, Any] = {
        "double": (reader, "all_float32_below", lambda thresholds: [("lt", one) for one in thresholds]),
        "missing": (
            ModelInput, "compared_with", lambda self, op, value, missing: of_one_number(self, op, value, not missing)
        ),
        "float64": (reader, "_margin", lambda _, base: base),
    }  # fmt: skip
    monkeypatch.setattr(*faults[fault])

    with pytest.raises(ModelRefused, match="decides otherwise"):
        read_object(model, request)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda d: d["learner"]["gradient_booster"].update(name="dart"), "'model'"),
        (lambda d: d["learner"]["gradient_booster"].update(name="gblinear"), "gblinear"),
        (lambda d: d.update(version=[4, 0, 0]), "1.6 to 3"),
        (lambda d: d.update(version=[1, 5, 0]), "1.6 to 3"),
        (lambda d: d["learner"].update(weights=[]), "weights"),
        (lambda d: d["learner"].update(attributes={"scikit_learn": '{"missing": -999}'}), "-999"),
        (lambda d: d["learner"]["objective"].update(name="survival:cox"), "survival:cox"),
        (lambda d: d["learner"]["gradient_booster"]["model"]["trees"][0].update(left_children=[0]), "list of"),
        (lambda d: d["learner"]["gradient_booster"]["model"]["trees"][0]["left_children"].__setitem__(0, 0), "tree"),
        (
            lambda d: d["learner"]["gradient_booster"]["model"]["trees"][0]["split_conditions"].__setitem__(-1, 1e999),
            "finite",
        ),
        (lambda d: d["learner"]["learner_model_param"].update(base_score="2"), "base score"),
        (lambda d: d["learner"].update(feature_names=["sex", *d["learner"]["feature_names"][1:]]), "sensitive"),
    ],
)
def test_what_is_not_known_is_refused_by_name(change: Any, text: str) -> None:
    content, request = xgboost_file(3)
    document = json.loads(content)
    change(document)

    with pytest.raises(ModelRefused, match=text):
        read_object(load_object(json.dumps(document).encode(), "model.json"), request)


def test_a_category_that_xgboost_refuses_is_refused() -> None:
    """XGBoost 3.1 and later fail on a category that training did not know."""
    model, request = next(
        made for made in map(xgboost_model, range(20))
        if any(tree.categories for tree in parsed(bytes(made[0].get_booster().save_raw("json")), "m").trees)
    )  # fmt: skip
    content = bytes(model.get_booster().save_raw("json")).decode()
    document = json.loads(content)
    encodings = document["learner"]["gradient_booster"]["model"]["cats"]["enc"]
    for encoding in encodings:
        encoding["values"] = [value + 1 for value in encoding["values"]]

    with pytest.raises(ModelRefused, match="never seen"):
        read_object(load_object(json.dumps(document).encode(), "model.json"), request)


@pytest.mark.parametrize("way", ["estimator", "file of the estimator", "booster"])
def test_dart_is_read_as_each_way_of_predicting_adds_it(way: str, tmp_path: Path) -> None:
    """An estimator adds the margin to each leaf and takes it away again; a Booster does not."""
    model, request = xgboost_model(24)
    assert model.get_booster().num_boosted_rounds() > 5
    made: Any = {"estimator": model, "booster": model.get_booster()}.get(way)
    if made is None:
        model.save_model(tmp_path / "model.json")
        made = load_object((tmp_path / "model.json").read_bytes(), "model.json")

    provenance = read_object(made, request).provenance

    assert provenance is not None
    assert (provenance.differing, provenance.largest or 0.0) == (0, 0.0)
    assert provenance.probes >= 4000


def test_a_dart_that_is_added_in_the_other_way_is_noticed() -> None:
    """The negative control: the last bits of a margin differ."""
    model, request = xgboost_model(24)
    document = parsed(bytes(model.get_booster().save_raw("json")), "m", stopped_early=True)
    other = replace(document, by_estimator=False)
    inputs = [ModelInputs(document.names, request) for _ in range(2)]
    for index, categories in document.categories.items():
        for one in inputs:
            one.encode(index, categories or ())

    found = [reader._document(one, own, 0) for one, own in zip((document, other), inputs, strict=True)]

    assert found[0].trees != found[1].trees


CODES = Schema(
    person_key="id",
    columns=(
        Column(name="code", type="integer", minimum=0, maximum=7, nullable=True),
        Column(name="pay", type="number", minimum=-9, maximum=9, nullable=True),
        Column(name="word", type="category", categories=("a", "b")),
    ),
)


def of_an_earlier_version(version: list[int]) -> bytes:
    """A model of coded categories as XGBoost before 3.1 writes it: NaN conditions, and no names."""
    draw = np.random.default_rng(3)
    table = np.column_stack([draw.integers(0, 6, 600), draw.normal(size=600)]).astype(float)
    table[::9, 0], table[::7, 1] = np.nan, np.nan
    labels = np.isin(table[:, 0], [1, 3, 4]) ^ (table[:, 1] > 0.3)
    matrix = xgboost.DMatrix(
        table, labels, feature_types=["c", "float"], feature_names=["code", "pay"], enable_categorical=True
    )
    booster = xgboost.train(
        {"objective": "binary:logistic", "max_depth": 4, "max_cat_to_onehot": 1, "nthread": 1}, matrix, 8
    )
    document = json.loads(bytes(booster.save_raw("json")))
    document["version"] = version
    document["learner"]["learner_model_param"]["base_score"] = "5E-1"
    model = document["learner"]["gradient_booster"]["model"]
    del model["cats"]
    for tree in model["trees"]:
        for node, kind in enumerate(tree["split_type"]):
            if kind == 1:
                tree["split_conditions"][node] = math.nan
    return json.dumps(document).encode()


@pytest.mark.parametrize("version", [[2, 0, 3], [3, 0, 0]])
def test_codes_of_an_earlier_version_are_those_of_an_integer_column(version: list[int]) -> None:
    content = of_an_earlier_version(version)

    provenance = read_object(load_object(content, "m.json"), ModelRequest(CODES, favourable=[1])).provenance

    assert provenance is not None
    assert (provenance.differing, provenance.largest) == (0, 0.0)
    assert provenance.probes >= 4000
    named = ModelRequest(CODES, favourable=[1], columns=["word", "pay"])
    with pytest.raises(ModelRefused, match=r"3\.1"):
        read_object(load_object(content, "m.json"), named)


def test_categories_before_xgboost_2_are_refused() -> None:
    with pytest.raises(ModelRefused, match=r"since 2\.0"):
        load_object(of_an_earlier_version([1, 7, 6]), "m.json")


SCHEMA_OF_XGBOOST = {
    "learner": "feature_names feature_types gradient_booster objective learner_model_param attributes",
    "gbtree": "name model",
    "dart": "name gbtree weight_drop",
    "model": "gbtree_model_param trees tree_info",
    "gbtree_model_param": "num_trees num_parallel_tree size_leaf_vector",
    "tree_param": "num_nodes size_leaf_vector num_feature",
    "tree": "tree_param id loss_changes sum_hessian base_weights left_children right_children parents split_indices "
    "split_conditions split_type default_left categories categories_nodes categories_segments categories_sizes",
    "learner_model_param": "base_score num_class num_feature",
    "objective": "name reg_loss_param softmax_multiclass_param poisson_regression_param tweedie_regression_param "
    "lambda_rank_param",
}
"""What XGBoost's published JSON schema (doc/model.schema) has of the objects that are read."""


def test_the_vocabulary_has_what_xgboosts_schema_has() -> None:
    for part, names in SCHEMA_OF_XGBOOST.items():
        assert set(names.split()) <= set(VOCABULARY[part]), part
    assert all(why for members in VOCABULARY.values() for why in members.values())


@pytest.mark.parametrize("objective", sorted({*reader._SAME, *reader._EXPONENTIAL, *reader._LOGISTIC} - {"reg:linear"}))
def test_each_objective_that_is_read_is_in_the_vocabulary(objective: str) -> None:
    """The installed XGBoost writes it: a member that the vocabulary lacks would refuse it."""
    draw = np.random.default_rng(1)
    matrix = xgboost.DMatrix(draw.normal(size=(60, 2)), draw.integers(0, 2, 60) * 0.5 + 0.25)
    if objective.startswith(("rank", "binary")):
        matrix = xgboost.DMatrix(matrix.get_data(), draw.integers(0, 2, 60))
    if objective.startswith("rank"):
        matrix.set_group([60])
    booster = xgboost.train({"objective": objective, "max_depth": 2, "nthread": 1}, matrix, 2)

    assert parsed(bytes(booster.save_raw("json")), "m").objective == objective


@pytest.mark.parametrize("part", ["objective", "gbtree_model_param", "tree_param"])
def test_a_member_outside_of_the_vocabulary_is_refused(part: str) -> None:
    document = json.loads(xgboost_file(3)[0])
    model = document["learner"]["gradient_booster"]["model"]
    {
        "objective": document["learner"]["objective"], "gbtree_model_param": model["gbtree_model_param"],
        "tree_param": model["trees"][0]["tree_param"],
    }[part]["surprise"] = "7"  # fmt: skip

    with pytest.raises(ModelRefused, match="surprise"):
        load_object(json.dumps(document).encode(), "model.json")


def test_an_estimators_nan_is_no_sentinel() -> None:
    document = json.loads(xgboost_file(3)[0])
    document["learner"]["attributes"] = {"scikit_learn": '{"missing": NaN, "n_estimators": 3}'}

    load_object(json.dumps(document).encode(), "model.json")


@pytest.mark.slow
def test_damaged_files_are_refused_and_nothing_else() -> None:
    survived, peak, faults = survivors(FORMATS["xgboost"], 100)

    assert faults == []
    assert survived < 100
    assert peak < 200e6


@pytest.mark.parametrize(("best", "parallel", "used"), [("2", "1", 3), ("5", "1", 6), ("0", "3", 3), ("1", "3", 6)])
def test_an_estimator_of_xgboost_1_7_predicts_up_to_its_best_iteration(best: str, parallel: str, used: int) -> None:
    """Its file has no `iteration_indptr`, and a best iteration also where nothing was stopped early."""
    table = np.random.default_rng(1).normal(size=(60, 2))
    model = xgboost.XGBClassifier(n_estimators=6, max_depth=1, n_jobs=1).fit(table, np.arange(60) % 2)
    document = json.loads(model.get_booster().save_raw("json"))
    learner = document["learner"]
    inner = learner["gradient_booster"]["model"]
    document["version"], inner["gbtree_model_param"]["num_parallel_tree"] = [1, 7, 6], parallel
    learner["attributes"] = {"best_iteration": best, "scikit_learn": "{}"}
    learner["learner_model_param"]["base_score"] = "5E-1"
    for name in ("iteration_indptr", "cats"):
        inner.pop(name, None)

    read = parsed(json.dumps(document).encode(), "m")

    assert len(read.trees) == used


@pytest.mark.parametrize(
    "change",
    [
        lambda cats: cats["enc"][0]["offsets"].pop(), lambda cats: cats["enc"].pop(),
        lambda cats: cats["sorted_idx"].pop(), lambda cats: cats["sorted_idx"].__setitem__(0, 7),
        lambda cats: cats["feature_segments"].__setitem__(1, 1), lambda cats: cats["enc"][0]["values"].pop(),
    ],
)  # fmt: skip
def test_categories_that_contradict_themselves_are_refused(change: Any) -> None:
    """XGBoost 3.2 ends the whole process over some of them."""
    work = pd.Categorical(list("xyz") * 20)
    model = xgboost.XGBClassifier(n_estimators=1, enable_categorical=True, n_jobs=1)
    model.fit(pd.DataFrame({"work": work, "tiny": np.arange(60.0)}), np.arange(60) % 3 == 0)
    document = json.loads(model.get_booster().save_raw("json"))
    assert parsed(json.dumps(document).encode(), "m").categories == {0: ["x", "y", "z"]}
    change(document["learner"]["gradient_booster"]["model"]["cats"])

    with pytest.raises(ModelRefused, match=r"fit together|whole numbers"):
        parsed(json.dumps(document).encode(), "m")


@pytest.mark.parametrize("written", ["1_0", " 10", "\u0661", "1.0", "+1", ""])
def test_a_whole_number_that_only_python_would_read_so_is_refused(written: str) -> None:
    """XGBoost keeps parameters as texts; of `1_0` it reads 1, and Python 10."""
    assert DocumentPart("-10", "num_class").integer() == -10
    with pytest.raises(ModelRefused, match="num_class"):
        DocumentPart(written, "num_class").integer()
