"""Files as other programs and versions write them: read as they decide, or refused with the right name and remedy."""

import bz2
import gzip
import io
import json
import lzma
import pickle
import warnings
import zipfile
from collections.abc import Callable
from typing import Any

import lightgbm
import numpy as np
import onnx
import pandas as pd
import pytest
import sklearn
import skops.io
import xgboost
from sklearn.compose import make_column_transformer
from sklearn.ensemble import AdaBoostClassifier, GradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from auditor_client.errors import ModelRefused
from auditor_client.models import checking
from auditor_client.models.read_model import ModelRequest
from auditor_client.models.readers import load_object, read_object
from checks.model_formats.onnx_graphs import agreement
from shared.contract.schema import Column, Schema

SCHEMA = Schema(
    person_key="id",
    columns=(
        Column(name="age", type="integer", minimum=18, maximum=99),
        Column(name="income", type="number", minimum=0, maximum=100),
        Column(name="code", type="integer", minimum=1, maximum=5, nullable=True),
        Column(name="job", type="category", categories=("a", "b", "c")),
        Column(name="home", type="category", categories=("own", "rent")),
    ),
)


ONE_HOT = OneHotEncoder(handle_unknown="ignore", sparse_output=False)


@pytest.fixture(autouse=True)
def _few_records(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checking, "RECORDS_MIN", 1500)
    monkeypatch.setattr(checking, "RECORDS_MAX", 1500)


def people() -> tuple[pd.DataFrame, Any]:
    draw = np.random.default_rng(3)
    table = pd.DataFrame({
        "age": draw.integers(18, 99, 400), "income": draw.uniform(0, 100, 400).round(1),
        "code": np.where(draw.random(400) < 0.2, np.nan, draw.integers(1, 5, 400)),
        "job": draw.choice(["a", "b", "c"], 400), "home": draw.choice(["own", "rent"], 400),
    })  # fmt: skip
    score = (table["age"] > 40).astype(int) + (table["income"] > 50) + (table["code"] == 2) + (table["job"] == "a")
    return table, (score > 1).astype(int)


@pytest.mark.parametrize("texts", [["job"], ["job", "home"]])
def test_onnx_behind_a_column_transformer_is_read(texts: list[str]) -> None:
    """Its encoders take their columns by Gather, out of a Concat of several."""
    from skl2onnx import to_onnx

    table, labels = people()
    encoder = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    steps = make_column_transformer((encoder, texts), (StandardScaler(), ["age", "income"]))
    frame = table[["age", "income", *texts]].astype({"age": np.float32, "income": np.float32})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        content = to_onnx(
            make_pipeline(steps, LogisticRegression()).fit(frame, labels), frame[:1], options={"zipmap": False}
        ).SerializeToString()
    assert (b"Gather" in content) == (len(texts) == 1)

    _, found = agreement(content, ModelRequest(SCHEMA, favourable=[1]))

    assert found.outside == 0
    assert found.probes >= 1500


def test_onnx_as_an_earlier_converter_writes_a_column_transformer() -> None:
    """skl2onnx 1.14 takes a column by ArrayFeatureExtractor, and puts one-hot tables together on their third axis."""
    from skl2onnx import to_onnx

    table, labels = people()
    steps = make_column_transformer((ONE_HOT, ["job"]), (StandardScaler(), ["age"]))
    frame = table[["age", "job"]].astype({"age": np.float32})
    model = make_pipeline(steps, LogisticRegression()).fit(frame, labels)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        graph = to_onnx(model, frame[:1], options={"zipmap": False})
    request = ModelRequest(SCHEMA, favourable=[1])
    today = read_object(load_object(graph.SerializeToString(), "m.onnx"), request)
    for node in graph.graph.node:
        if node.op_type == "Gather":
            node.op_type, node.domain = "ArrayFeatureExtractor", "ai.onnx.ml"
            del node.attribute[:]
        if node.op_type == "Concat" and len(node.input) == 1:
            node.attribute[0].i = 2
    earlier = graph.SerializeToString()
    assert b"ArrayFeatureExtractor" in earlier

    assert read_object(load_object(earlier, "m.onnx"), request) == today


def test_onnx_that_makes_more_records_of_one_is_refused() -> None:
    from skl2onnx import to_onnx

    table, labels = people()
    steps = make_column_transformer((ONE_HOT, ["job"]), (StandardScaler(), ["age"]))
    frame = table[["age", "job"]].astype({"age": np.float32})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        graph = to_onnx(make_pipeline(steps, LogisticRegression()).fit(frame, labels), frame[:1])
    shape = next(one for one in graph.graph.initializer if one.name.startswith("shape_tensor"))
    shape.CopyFrom(onnx.numpy_helper.from_array(np.array([-1, 1], np.int64), shape.name))

    with pytest.raises(ModelRefused, match="changes a table's width"):
        read_object(load_object(graph.SerializeToString(), "m.onnx"), ModelRequest(SCHEMA, favourable=[1]))


def test_onnx_trees_with_numbers_for_both_of_two_classes_are_refused() -> None:
    """ONNX Runtime takes the second class wherever its number is positive, and does not look at the first one's."""
    from skl2onnx import to_onnx

    table, labels = people()
    inputs = table[["age", "income"]].to_numpy(np.float32)
    tree = DecisionTreeClassifier(max_depth=2).fit(inputs, labels)
    graph = to_onnx(tree, inputs[:1], options={"zipmap": False})
    node = next(one for one in graph.graph.node if one.op_type == "TreeEnsembleClassifier")
    ids = next(one for one in node.attribute if one.name == "class_ids")
    request = ModelRequest(SCHEMA, favourable=[1], columns=["age", "income"])
    read_object(load_object(graph.SerializeToString(), "m.onnx"), request)
    ids.ints[0] = 1 - ids.ints[0]

    with pytest.raises(ModelRefused, match="both of two classes"):
        read_object(load_object(graph.SerializeToString(), "m.onnx"), request)


def test_whole_numbers_that_pandas_made_floats_are_the_declared_integers() -> None:
    table, labels = people()
    frame = table[["code", "income"]].assign(code=table["code"].astype("category"))
    booster = lightgbm.LGBMClassifier(
        n_estimators=9, min_child_samples=5, min_data_per_group=5, verbose=-1, n_jobs=1
    ).fit(frame, labels)
    text = booster.booster_.model_to_string()
    assert "[1.0, 2.0, 3.0, 4.0]" in text

    provenance = read_object(load_object(text.encode(), "m.txt"), ModelRequest(SCHEMA, favourable=[1])).provenance

    assert provenance is not None
    assert provenance.differing == 0
    assert provenance.probes >= 1500
    halves = text.replace("[1.0, 2.0, 3.0, 4.0]", "[1.5, 2.0, 3.0, 4.0]")
    with pytest.raises(ModelRefused, match=r"1\.5"):
        read_object(load_object(halves.encode(), "m.txt"), ModelRequest(SCHEMA, favourable=[1]))


def test_codes_that_are_declared_as_texts_are_the_whole_numbers_of_training() -> None:
    table, labels = people()
    frame = table[["code", "income"]].assign(code=table["code"].astype("category"))
    booster = lightgbm.LGBMClassifier(
        n_estimators=9, min_child_samples=5, min_data_per_group=5, verbose=-1, n_jobs=1
    ).fit(frame, labels)
    text = booster.booster_.model_to_string().encode()
    columns = [
        column.model_copy(update={"type": "category", "categories": CODES, "minimum": None, "maximum": None})
        if column.name == "code"
        else column
        for column in SCHEMA.columns
    ]
    schema = Schema(person_key=SCHEMA.person_key, columns=tuple(columns))

    read = read_object(load_object(text, "m.txt"), ModelRequest(schema, favourable=[1]))

    assert read.provenance is not None
    assert (read.provenance.differing, read.provenance.largest) == (0, 0.0)
    assert any(test.column == "code" for test in read.columns[0].origin.score.tests)  # type: ignore[union-attr]
    padded = Schema(
        person_key=SCHEMA.person_key,
        columns=tuple(
            one.model_copy(update={"categories": ("01", *CODES[1:])}) if one.name == "code" else one for one in columns
        ),
    )
    with pytest.raises(ModelRefused, match="categories of 'code'"):
        read_object(load_object(text, "m.txt"), ModelRequest(padded, favourable=[1]))


CODES = ("1", "2", "3", "4")


def _xgboost(change: Callable[[dict[str, Any]], Any]) -> bytes:
    table, labels = people()
    booster = xgboost.XGBClassifier(n_estimators=2, max_depth=2, n_jobs=1).fit(table[["age", "income"]], labels)
    document = json.loads(bytes(booster.get_booster().save_raw("json")))
    change(document["learner"]["gradient_booster"])
    return json.dumps(document).encode()


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda booster: booster.update(weight_drop=[1.0, 0.5]), "dart"),
        (lambda booster: booster.update(name="dart"), "model"),
        (lambda booster: booster["model"]["trees"][0]["split_conditions"].__setitem__(0, float("nan")), "not finite"),
    ],
)
def test_xgboost_of_other_kinds_and_versions_is_named(change: Any, text: str) -> None:
    with pytest.raises(ModelRefused, match=text):
        load_object(_xgboost(change), "model.json")


def _zipped(*entries: str) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for entry in entries:
            archive.writestr(entry, "{}")
    return made.getvalue()


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"binf" + bytes(60), r"XGBoost's old binary .*one to 3.0 .*save_model\('model.json'\)"),
        (bytes(40) + b"\x0f\0\0\0\0\0\0\0binary:logistic\x06\0\0\0\0\0\0\0gbtree", "XGBoost's old binary"),
        (b'{"name": "tree", "feature_names": ["a"], "tree_info": [{"tree_structure": {}}]}', r"dump of LightGBM"),
        (b'[{"nodeid": 0, "leaf": 1}]', "dump of XGBoost"),
        (b"booster[0]:\n0:[f0<0.5] yes=1,no=2,missing=1", "dump of XGBoost"),
        (b"X\n\x00\x00\x00\x03", r"R's own format .*pmml::pmml\(model\)"),
        (gzip.compress(b"X\n\x00\x00\x00\x03", mtime=0), "R's own format"),  # as saveRDS writes it by default
        (bz2.compress(b"RDX3\nX\n"), "R's own format"),
        (lzma.compress(b"X\n\x00\x00\x00\x03"), "R's own format"),
        (gzip.compress(b"<PMML/>", mtime=0), "compressed files are not opened"),
        (gzip.compress(pickle.dumps({}), mtime=0), "as joblib compresses pickles"),
        (b"\x1f\x8bdamaged", "as joblib compresses pickles"),
        (b"CBM1" + bytes(30), r"CatBoost's binary .*format='json'"),
        (b"\x89HDF\r\n\x1a\n", "HDF5 .*tf2onnx"),
        (b"\x40\x00\x00\x00\x00\x00\x00\x00" + b'{"weight":{"dtype":"F32"}}', "safetensors .*torch.onnx.export"),
        (b"\x1c\x00\x00\x00TFL3" + bytes(30), "TensorFlow Lite .*tf2onnx"),
        (b"<!DOCTYPE html><html>Sign in</html>", "a web page"),
        (b"\x08\x01\x12\xa0\x10\n\x10\n\x04test" + bytes(90), "saved_model.pb"),
        (_zipped("archive/data.pkl", "archive/version"), "PyTorch .*torch.onnx.export"),
        (_zipped("config.json", "model.weights.h5"), r"Keras .*format='onnx'"),
        (_zipped("model.ini", "domains/d000.txt"), "MOJO of H2O"),
        (_zipped("[Content_Types].xml", "xl/workbook.xml"), "Office document"),
        (_zipped("model.joblib"), "archive with a pickle"),
        (b"a,b\n1,2\n", r"booster.save_model\('model.txt'\) for LightGBM"),
    ],
)
def test_known_formats_are_named_with_their_remedy(content: bytes, text: str) -> None:
    with pytest.raises(ModelRefused, match=text):
        load_object(content, "model.bin")


def _older(model: Any, change: Callable[[dict[str, Any]], Any]) -> bytes:
    """A skops file as an earlier scikit-learn would have written it."""
    content = skops.io.dumps(model)
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    text = entries.pop("schema.json").decode()
    version = json.dumps(json.dumps(sklearn.__version__))
    schema = json.loads(text.replace(version, json.dumps('"1.4.2"')))
    change(schema["content"]["content"])
    changed = io.BytesIO()
    with zipfile.ZipFile(changed, "w") as archive:
        for name, entry in (*entries.items(), ("schema.json", json.dumps(schema).encode())):
            archive.writestr(name, entry)
    return changed.getvalue()


def _parameter(name: str, value: Any) -> Callable[[dict[str, Any]], Any]:
    state = {"__class__": "str", "__module__": "builtins", "__loader__": "JsonNode", "is_json": True}
    return lambda members: members.update({name: {**state, "content": json.dumps(value)}})


@pytest.mark.parametrize(
    ("name", "value", "read"),
    [
        ("algorithm", "SAMME.R", False), ("algorithm", "SAMME", True), ("base_estimator", "deprecated", True),
        ("surprise", 7, False), ("_surprise", 7, False), ("surprise_", 7, False), ("_n_classes", 2, True),
    ],
)  # fmt: skip
def test_a_parameter_that_scikit_learn_has_no_more_is_not_ignored(name: str, value: Any, *, read: bool) -> None:
    """AdaBoost of 1.4 decides by SAMME.R where the file says so, and today's class does not know it."""
    table, labels = people()
    model = AdaBoostClassifier(DecisionTreeClassifier(max_depth=1), n_estimators=3).fit(table[["age"]], labels)
    content = _older(model, _parameter(name, value))

    if read:
        assert read_object(load_object(content, "m.skops"), ModelRequest(SCHEMA, favourable=[1])).provenance
    else:
        with pytest.raises(ModelRefused, match=rf"scikit-learn 1\.4\.2: its AdaBoostClassifier has {name}="):
            load_object(content, "m.skops")


@pytest.mark.parametrize(("value", "read"), [("auto", True), ("multinomial", False), ("ovr", False)])
def test_probabilities_of_an_earlier_multinomial_of_two_classes_are_not_todays(value: str, *, read: bool) -> None:
    table, labels = people()
    model = LogisticRegression().fit(table[["age"]], labels)
    content = _older(model, _parameter("multi_class", value))

    if read:
        assert read_object(load_object(content, "m.skops"), ModelRequest(SCHEMA, favourable=[1])).provenance
    else:
        with pytest.raises(ModelRefused, match="multi_class"):
            read_object(load_object(content, "m.skops"), ModelRequest(SCHEMA, favourable=[1]))


def test_the_loss_of_an_earlier_scikit_learn_comes_from_its_name() -> None:
    table, labels = people()
    model = GradientBoostingClassifier(n_estimators=2).fit(table[["age"]], labels)
    loss = {
        "__class__": "CyHalfOldLoss",
        "__module__": "sklearn._loss._loss",
        "__loader__": "ObjectNode",
        "content": {},
    }

    loaded = load_object(_older(model, lambda members: members.update(_loss=loss)), "m.skops")

    assert np.array_equal(loaded.predict_proba(table[["age"]]), model.predict_proba(table[["age"]]))
