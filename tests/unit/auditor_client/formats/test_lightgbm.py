"""LightGBM's models, compared with LightGBM; `python -m checks.model_formats lightgbm` does the same at length."""

from typing import Any

import lightgbm
import numpy as np
import pytest

from auditor_client.errors import ModelRefused
from auditor_client.models.read_model import ModelRequest
from auditor_client.models.readers import load_object, read_object
from auditor_client.models.readers.boosters import lightgbm as reader
from auditor_client.models.readers.boosters.lightgbm_text import VOCABULARY, parsed
from checks.model_formats.__main__ import survivors
from checks.model_formats.boosting import lightgbm_file, lightgbm_model
from checks.model_formats.data import SCHEMA, labels, table
from checks.model_formats.formats import FORMATS


@pytest.mark.parametrize("seed", range(6))
def test_a_random_model_is_read_as_it_decides(seed: int) -> None:
    """Forests, two and three classes, zero as missing, categories, thresholds on roundings."""
    model, request = lightgbm_model(seed)

    provenance = read_object(model, request).provenance

    assert provenance is not None
    assert (provenance.differing, provenance.largest or 0.0) == (0, 0.0)
    assert provenance.probes >= 4000
    assert provenance.compared_with == f"LightGBM {lightgbm.__version__}"


def test_a_file_is_read_as_the_model_in_memory_and_compared() -> None:
    model, request = lightgbm_model(1)
    content, _ = lightgbm_file(1)

    from_file = read_object(load_object(content, "model.txt"), request)

    assert from_file.columns == read_object(model, request).columns
    assert from_file.provenance is not None
    assert from_file.provenance.compared_with is not None


def test_a_file_is_read_without_lightgbm_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "installed", lambda _: None)
    content, request = lightgbm_file(1)

    read = read_object(load_object(content, "model.txt"), request)

    assert read.provenance is not None
    assert read.provenance.compared_with is None


@pytest.mark.parametrize("fault", ["threshold", "missing", "category", "order"])
def test_a_fault_in_reading_is_noticed(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The negative control: each of these is a way to read LightGBM wrongly."""
    model, request = lightgbm_model(5)
    text = parsed(model.booster_.model_to_string().encode(), "model")
    tree = text.trees[0]
    faults: dict[str, Any] = {
        "threshold": lambda: tree.threshold.__setitem__(0, tree.threshold[0] + 1e-6 * abs(tree.threshold[0])),
        "missing": lambda: tree.default_left.__setitem__(slice(None), [not one for one in tree.default_left]),
        "category": lambda: [
            one.categories.update({n: c | {0.0, 1.0, 2.0} for n, c in one.categories.items()}) for one in text.trees
        ],
        "order": text.trees.reverse,
    }
    faults[fault]()
    monkeypatch.setattr(reader, "parsed", lambda *_: text)

    with pytest.raises(ModelRefused, match="decides otherwise"):
        read_object(model, request)


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        (b"version=v4", b"version=v2", "v3, v4"),
        (b"is_linear=0", b"is_linear=1", "linear_tree=False"),
        (b"objective=binary sigmoid:1", b"objective=multiclassova num_class:3 sigmoid:1", "multiclassova"),
        (b"leaf_value=", b"leaf_value=nan ", "numbers"),
        (b"num_leaves=", b"split_mode=3\nnum_leaves=", "split_mode"),
        (b"left_child=", b"left_child=99 ", "left_child"),
        (
            b"left_child=1 ",
            b"left_child=1.0 ",
            "left_child has signs",
        ),  # LightGBM goes round for ever
        (b"leaf_value=", b"leaf_value=1_0 ", "leaf_value has signs"),  # Python reads 10, LightGBM 1
        (b"num_cat=0", b"num_cat=3", "'cat_boundaries'"),  # LightGBM ends the process
        (b"num_cat=0", b"", "'num_cat'"),
        (b"num_cat=0", b"num_cat=2\ncat_boundaries=0 2 1\ncat_threshold=1", "do not ascend"),
        (b"num_leaves=", "num_leaves=\u0661".encode(), "num_leaves has signs"),
        (b"end of trees", b"end", "ends early"),
    ],
)
def test_what_is_not_known_is_refused_by_name(old: bytes, new: bytes, text: str) -> None:
    content, request = lightgbm_file(0)
    assert old in content

    with pytest.raises(ModelRefused, match=text):
        read_object(load_object(content.replace(old, new), "model.txt"), request)


def test_a_column_that_is_not_declared_or_sensitive_is_refused() -> None:
    content, request = lightgbm_file(0)

    for name, text in ((b"wealth", "does not declare"), (b"sex", "sensitive")):
        with pytest.raises(ModelRefused, match=text):
            read_object(load_object(content.replace(b"income", name), "model.txt"), request)


def test_columns_name_the_inputs_in_order() -> None:
    content, request = lightgbm_file(0)
    names = ["income", "tiny", "age", "children", "work", "home", "owner", "insured"]
    renamed = content.replace(b"feature_names=income tiny", b"feature_names=f1 f2")

    read = read_object(
        load_object(renamed, "m"), ModelRequest(request.schema, request.favourable, names, request.above)
    )

    assert read.tree == read_object(load_object(content, "m"), request).tree


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["gbdt", "rf"])
@pytest.mark.parametrize("sigmoid", [1.0, 2.5])
def test_one_against_all_is_the_largest_of_the_sums(kind: str, sigmoid: float) -> None:
    draw = np.random.default_rng(4)
    frame = table(draw)
    options: dict[str, Any] = {"bagging_fraction": 0.7, "bagging_freq": 1} if kind == "rf" else {}
    model = lightgbm.LGBMClassifier(
        objective="multiclassova", boosting_type=kind, sigmoid=sigmoid, n_estimators=7, min_child_samples=5,
        verbose=-1, n_jobs=1, **options,
    ).fit(frame, labels(draw, frame, 3))  # fmt: skip

    provenance = read_object(model, ModelRequest(SCHEMA, favourable=[1])).provenance

    assert provenance is not None
    assert (provenance.differing, provenance.largest or 0.0) == (0, 0.0)
    assert provenance.probes >= 4000


def test_one_against_all_whose_probabilities_round_to_one_is_refused() -> None:
    content, request = next(
        made for made in map(lightgbm_file, range(30)) if b"objective=multiclass num_class:3" in made[0]
    )
    steep = content.replace(b"objective=multiclass num_class:3", b"objective=multiclassova num_class:3 sigmoid:999")

    with pytest.raises(ModelRefused, match="so large"):
        read_object(load_object(steep, "model.txt"), request)


def test_what_lightgbm_writes_is_in_the_vocabulary() -> None:
    """A linear tree has the most lines: they are known, and the tree is refused for what it is."""
    draw = np.random.default_rng(4)
    numbers = draw.normal(size=(300, 3))
    data = lightgbm.Dataset(numbers, numbers[:, 0], params={"verbose": -1})
    booster = lightgbm.train(
        {"linear_tree": True, "verbose": -1, "num_threads": 1, "monotone_constraints": [1, 0, 0]}, data, 3
    )
    head, *blocks = booster.model_to_string().partition("end of trees")[0].split("\nTree=")

    names = {line.partition("=")[0] for line in head.split("\n") if line} - {"tree"}
    assert names <= set(VOCABULARY["head"])
    of_trees = {line.partition("=")[0] for block in blocks for line in block.split("\n")[1:] if line.strip()}
    assert {"leaf_coeff", "split_gain"} <= of_trees <= set(VOCABULARY["tree"])
    assert all(why for members in VOCABULARY.values() for why in members.values())


@pytest.mark.slow
def test_damaged_files_are_refused_and_nothing_else() -> None:
    survived, peak, faults = survivors(FORMATS["lightgbm"], 100)

    assert faults == []
    assert survived < 100
    assert peak < 200e6
