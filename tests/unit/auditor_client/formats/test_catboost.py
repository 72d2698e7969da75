"""CatBoost's export. CatBoost itself is too large to be installed for tests: its own numbers were recorded."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from auditor_client.errors import ModelRefused
from auditor_client.models.read_model import ModelRequest
from auditor_client.models.readers import load_object, read_object
from auditor_client.models.readers.boosters.catboost import VOCABULARY
from auditor_client.models.readers.boosters.category_hashes import category_hash
from checks.model_formats.__main__ import survivors
from checks.model_formats.boosting import catboost_file
from checks.model_formats.data import SCHEMA
from checks.model_formats.formats import Format
from shared.contract.schema import Schema
from shared.scores.documents import Choice, Trees
from shared.scores.values import score_value

RECORDED = json.loads((Path(__file__).parent / "catboost_models.json").read_text())["models"]


CATEGORIES = json.loads((Path(__file__).parent / "catboost_categories.json").read_text())["models"]
"""Recorded like the others: splits on single categories of a text and of a whole number, by their hashes."""


@pytest.mark.parametrize("recorded", RECORDED + CATEGORIES)
def test_every_recorded_number_is_the_documents_own(recorded: dict[str, Any]) -> None:
    """Oblivious and leaf-wise trees, missing below and above all borders, numbers on the borders."""
    content = json.dumps(recorded["document"]).encode()
    classes = recorded["document"]["model_info"]["class_params"]["class_names"]

    read = read_object(load_object(content, "model.json"), ModelRequest(SCHEMA, favourable=[classes[-1]]))

    document = read.columns[0].origin.score  # type: ignore[union-attr]
    for record, raw in zip(recorded["records"], recorded["raw"], strict=True):
        if isinstance(document, Choice):
            assert [score_value(part, record) for part in document.of] == raw
            assert read.tree.decide({"score": score_value(document, record)}).favourable == (np.argmax(raw) == 2)
        else:
            assert score_value(document, record) == raw
            assert read.tree.decide({"score": raw}).favourable == (raw > 0)
    assert read.provenance is not None
    assert read.provenance.compared_with is None


def test_a_tree_of_one_leaf_has_null_for_splits() -> None:
    """As CatBoost exports it where no split helps."""
    recorded = json.loads(json.dumps(RECORDED[0]))
    recorded["document"]["oblivious_trees"][0] = {"leaf_values": [0.25], "leaf_weights": [400], "splits": None}
    before, after = (
        read_object(load_object(json.dumps(one["document"]).encode(), "m"), ModelRequest(SCHEMA, favourable=[1]))
        .columns[0]
        .origin.score  # type: ignore[union-attr]
        for one in (RECORDED[0], recorded)
    )

    assert isinstance(after, Trees)
    assert isinstance(before, Trees)
    assert after.trees[0].values == (0.25,)
    assert len(after.trees) == len(before.trees)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda d: d["oblivious_trees"][0]["splits"][0].update(split_type="OnlineCtr"), "one_hot_max_size"),
        (lambda d: d["oblivious_trees"][0]["splits"][0].update(split_type="Other"), "FloatFeature"),
        (lambda d: d["oblivious_trees"][0].update(leaf_values=[0.5]), "list of 8 numbers"),
        (lambda d: d["oblivious_trees"][0]["splits"][0].update(border=float("nan")), "finite"),
        (lambda d: d.update(scale_and_bias=[2, [0]]), "scale"),
        (lambda d: d["model_info"]["params"]["loss_function"].update(type="Tweedie"), "Tweedie"),
        (lambda d: d.update(text_features=[]), "text_features"),
        (lambda d: d["model_info"].update(surprise=1), "surprise"),
        (lambda d: d["features_info"]["float_features"][0].update(surprise=1), "surprise"),
        (lambda d: d["oblivious_trees"][0]["splits"][0].update(surprise=1), "surprise"),
        (lambda d: d["features_info"]["float_features"][0].update(feature_id="sex"), "sensitive"),
    ],
)
def test_what_is_not_known_is_refused_by_name(change: Any, text: str) -> None:
    document = json.loads(json.dumps(RECORDED[0]["document"]))
    change(document)

    with pytest.raises(ModelRefused, match=text):
        read_object(load_object(json.dumps(document).encode(), "m"), ModelRequest(SCHEMA))


def test_a_pool_without_categories_has_no_hashes() -> None:
    """CatBoost 1.2 writes null for them where the export is made with its pool."""
    document = json.loads(json.dumps(RECORDED[0]["document"]))
    document["features_info"]["cat_features_hash"] = None
    plain, exported = (
        read_object(load_object(json.dumps(one).encode(), "m"), ModelRequest(SCHEMA, favourable=[1]))
        for one in (RECORDED[0]["document"], document)
    )

    assert exported == plain


WITHOUT_OTHER = Schema.model_validate(
    json.loads(SCHEMA.model_dump_json(by_alias=True).replace('["own","rent","other"]', '["own","rent","villa"]'))
)


@pytest.mark.parametrize(
    ("change", "schema", "text"),
    [
        (lambda d: d["features_info"].pop("cat_features_hash"), SCHEMA, "pool=pool"),
        (lambda d: None, WITHOUT_OTHER, "villa"),
        (lambda d: d["features_info"]["categorical_features"][0].update(feature_id="work"), SCHEMA, "missing"),
        (lambda d: d["features_info"]["categorical_features"][0].update(feature_id="owner"), SCHEMA, "integer column"),
    ],
)
def test_categories_that_cannot_be_distinguished_are_refused(change: Any, schema: Schema, text: str) -> None:
    document = json.loads(json.dumps(CATEGORIES[0]["document"]))
    change(document)

    with pytest.raises(ModelRefused, match=text):
        read_object(load_object(json.dumps(document).encode(), "m"), ModelRequest(schema, favourable=[1]))


def test_each_member_of_the_vocabulary_has_its_reason() -> None:
    assert all(why for members in VOCABULARY.values() for why in members.values())
    written = "catboost_version_info class_params model_guid output_options params train_finish_time training"
    assert set(VOCABULARY["model_info"]) == set(written.split())  # what CatBoost 1.2 writes


def test_damaged_files_are_refused_and_nothing_else() -> None:
    survived, _, faults = survivors(Format(None, catboost_file), 200)

    assert faults == []
    assert survived < 200


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda document: _split(document).pop("split_index"), "split_index"),
        (lambda document: _split(document).update(split_index=_split(document)["split_index"] + 1e-6), "split_index"),
        (
            lambda document: _split(document).update(split_index=0 if _split(document)["split_index"] else 1),
            "split_ind",
        ),
        (lambda document: _split(document).update(border=-1234.5), "split_index"),
        (lambda document: _split(document).update(split_index=-1), "split_index"),
        (lambda document: _feature(document).pop("borders"), "borders"),
        (lambda document: _feature(document)["borders"].reverse(), "ascending"),
        (lambda document: _feature(document)["borders"].insert(0, -1e9), "split_index"),
        (lambda document: _feature(document).update(has_nans=not _feature(document)["has_nans"]), "has_nans"),
        (lambda document: _feature(document).pop("has_nans"), "has_nans"),
    ],
)
def test_a_split_is_what_its_index_says(change: Any, text: str) -> None:
    """CatBoost looks at the index alone, and at `has_nans` before it looks where missing goes."""
    document = json.loads(json.dumps(RECORDED[0]["document"]))
    change(document)

    with pytest.raises(ModelRefused, match=text):
        read_object(load_object(json.dumps(document).encode(), "m"), ModelRequest(SCHEMA, favourable=[1]))


def _split(document: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = document["oblivious_trees"][0]["splits"][0]
    return found


def _feature(document: dict[str, Any]) -> dict[str, Any]:
    features: list[dict[str, Any]] = document["features_info"]["float_features"]
    return max(features, key=lambda feature: len(feature["borders"]))


def test_hashes_are_those_of_the_categories() -> None:
    """As CatBoost computed them; a file with another hash of a text is refused."""
    listed = CATEGORIES[0]["document"]["features_info"]["cat_features_hash"]
    assert all(category_hash(one["value"]) == one["hash"] for one in listed)
    assert category_hash("seventeen letters") is None

    document = json.loads(json.dumps(CATEGORIES[0]["document"]))
    document["features_info"]["cat_features_hash"][0]["hash"] += 1
    with pytest.raises(ModelRefused, match="not CatBoost's hash"):
        read_object(load_object(json.dumps(document).encode(), "m"), ModelRequest(SCHEMA, favourable=[1]))
