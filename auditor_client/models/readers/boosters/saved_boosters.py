"""LightGBM and XGBoost at the end of a Pipeline in a skops file: their own text and bytes, taken out of the archive.

skops would build these models by the state that the file gives them. So it never sees them: each is replaced by a mark
before skops reads the rest, and its maker's own document is parsed as a file of it would be. What predicts afterwards
is the maker's Booster of the document that was checked.
"""

import json
import math
import zipfile
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline

from auditor_client.errors import ModelRefused
from auditor_client.models.readers.boosters import lightgbm_text, xgboost_document
from auditor_client.models.readers.frames import installed

_MAKERS: Final[Mapping[str, str]] = {
    "lightgbm.sklearn.LGBMClassifier": "lightgbm",
    "lightgbm.sklearn.LGBMRegressor": "lightgbm",
    "xgboost.sklearn.XGBClassifier": "xgboost",
    "xgboost.sklearn.XGBRegressor": "xgboost",
    "xgboost.sklearn.XGBRFClassifier": "xgboost",
    "xgboost.sklearn.XGBRFRegressor": "xgboost",
}
_ALONE: Final = (
    "has a model of LightGBM or XGBoost that is not the last step of a Pipeline. Of one by itself save the maker's own "
    "file: model.booster_.save_model('model.txt') of LightGBM, model.save_model('model.json') of XGBoost."
)
_MARK: Final = "a booster of this archive: "


class SavedBooster(BaseEstimator, ABC):  # type: ignore[misc]  # scikit-learn has no types
    """A model at the end of a Pipeline, out of its maker's own document.

    Attributes:
        document: The maker's document, parsed and checked.
        booster: The maker's model of that document.
        classes_: The labels of its classes; of a model that predicts a number, nothing.
        n_features_in_: How many inputs it has.
    """

    def __init__(self, document: Any, booster: Any, classes: Any) -> None:
        self.document, self.booster = document, booster
        self.classes_ = np.array([]) if classes is None else np.asarray(classes)
        self.n_features_in_ = len(document.names)

    def fit(self, *_: Any) -> None:
        """Refuse: the model is fitted."""
        raise TypeError("A saved model is not fitted again.")

    @abstractmethod
    def _raw(self, table: Any, *, margin: bool) -> Any:
        """Return what the maker's model predicts, or its score before the link."""

    @abstractmethod
    def _decided(self, predicted: Any) -> Any:
        """Return the index of each record's class."""

    def predict_proba(self, table: Any) -> Any:
        """Each class's probability, shape (records, classes)."""
        predicted = self._raw(table, margin=False)
        return np.column_stack([1 - predicted, predicted]) if predicted.ndim == 1 else predicted

    def predict(self, table: Any, *, raw_score: bool = False, output_margin: bool = False) -> Any:
        """Each record's class, or number; or its score before the link."""
        if raw_score or output_margin:
            return self._raw(table, margin=True)
        predicted = self._raw(table, margin=False)
        return predicted if len(self.classes_) == 0 else self.classes_[self._decided(predicted)]


class SavedLightGBM(SavedBooster):
    """LightGBM at the end of a Pipeline."""

    def _raw(self, table: Any, *, margin: bool) -> Any:
        return self.booster.predict(table, raw_score=margin)

    def _decided(self, predicted: Any) -> Any:
        return np.argmax(np.column_stack([1 - predicted, predicted]) if predicted.ndim == 1 else predicted, axis=1)


class SavedXGBoost(SavedBooster):
    """XGBoost at the end of a Pipeline."""

    def _raw(self, table: Any, *, margin: bool) -> Any:
        matrix = installed("xgboost").DMatrix(table, feature_names=self.booster.feature_names)
        return self.booster.predict(matrix, output_margin=margin)

    def _decided(self, predicted: Any) -> Any:
        if predicted.ndim == 2:
            return np.argmax(predicted, axis=1)
        return (predicted > 0.5).astype(int) if len(self.classes_) == 2 else predicted.astype(int)


@dataclass(frozen=True, slots=True)
class _TakenOut:
    """A model as the archive describes it: the maker's name, and the members of its state."""

    maker: str
    state: Mapping[str, Any]


def taken_out(schema: Any, name: str) -> list[_TakenOut]:
    """Replace every model of LightGBM and XGBoost in a skops schema by a mark with its classes.

    Args:
        schema: The parsed `schema.json`, which changes.
        name: The file's name, for errors.

    Raises:
        ModelRefused: The whole file is such a model.
    """
    models: list[_TakenOut] = []
    waiting = [schema]
    if _maker(schema) is not None:
        raise ModelRefused(f"{name} {_ALONE}")
    while waiting:
        node = waiting.pop()
        for key, child in list(node.items() if isinstance(node, dict) else enumerate(node)):
            maker = _maker(child)
            if maker is None:
                waiting += [child] if isinstance(child, dict | list) else []
                continue
            state = _members(child)
            node[key] = _list_of(_text(f"{_MARK}{len(models)}"), *([state["_classes"]] if "_classes" in state else []))
            models.append(_TakenOut(maker, state))
    return models


def put_back(model: Any, found: list[_TakenOut], archive: zipfile.ZipFile, name: str) -> Any:
    """The model that skops built, with the maker's model again at the end of its Pipeline.

    Raises:
        ModelRefused: The model is not the last step of a Pipeline, or its document is not one that is read.
    """
    if not found:
        return model
    last = model
    while type(last) is Pipeline and type(last.steps[-1][1]) is Pipeline:
        last = last.steps[-1][1]
    step = last.steps[-1][1] if type(last) is Pipeline else None
    if len(found) != 1 or not isinstance(step, list) or not step or step[0] != f"{_MARK}0":
        raise ModelRefused(f"{name} {_ALONE}")
    load = _lightgbm if found[0].maker == "lightgbm" else _xgboost
    last.steps[-1] = (last.steps[-1][0], load(found[0].state, step[1:], archive, name))
    return model


def _lightgbm(state: Mapping[str, Any], classes: list[Any], _: zipfile.ZipFile, name: str) -> SavedLightGBM:
    maker = _required("lightgbm", name)
    inner = _members(state["_Booster"])
    text = lightgbm_text.parsed(str(_plain(inner.get("_handle", inner.get("handle")))).encode(), name)
    best = _plain(inner["best_iteration"]) if "best_iteration" in inner else 0
    booster = maker.Booster(model_str=f"{text.text}\npandas_categorical:null\n")
    if isinstance(best, int) and 0 < best < booster.current_iteration():  # what predict uses after early stopping
        text = lightgbm_text.parsed(booster.model_to_string(num_iteration=best).encode(), name)
        booster = maker.Booster(model_str=f"{text.text}\npandas_categorical:null\n")
    return SavedLightGBM(text, booster, classes[0] if classes else None)


def _xgboost(state: Mapping[str, Any], _: list[Any], archive: zipfile.ZipFile, name: str) -> SavedXGBoost:
    maker = _required("xgboost", name)
    missing = _plain(state["missing"])
    if not (isinstance(missing, float) and math.isnan(missing)):
        raise ModelRefused(f"The model takes {missing!r} for missing: train it with missing values as NaN.")
    content = archive.read(str(_members(state["_Booster"])["handle"]["file"]))
    document = xgboost_document.parsed(content, name, stopped_early=True)
    booster = maker.Booster(model_file=bytearray(json.dumps(document.document).encode()))
    classes = np.arange(int(_plain(state["n_classes_"]))) if "n_classes_" in state else None
    return SavedXGBoost(document, booster, classes)


def _required(library: str, name: str) -> Any:
    maker = installed(library)
    if maker is None:
        raise ModelRefused(f"{name} ends in a model of {library}: install pafer[auditor,{library}] to read it.")
    return maker


def _maker(node: Any) -> str | None:
    if not isinstance(node, dict) or node.get("__loader__") != "ObjectNode":
        return None
    return _MAKERS.get(f"{node.get('__module__')}.{node.get('__class__')}")


def _members(node: Any) -> Mapping[str, Any]:
    """The state of an object of the schema."""
    inside = node["content"]["content"]
    if not isinstance(inside, dict):
        raise TypeError("an object without members")
    return inside


def _plain(node: Any) -> Any:
    """A text, number or truth value of the schema."""
    if node["__loader__"] != "JsonNode":
        raise TypeError("a plain value is something else")
    return json.loads(node["content"])


def _text(text: str) -> dict[str, Any]:
    return {
        "__class__": "str", "__module__": "builtins", "__loader__": "JsonNode", "content": json.dumps(text),
        "is_json": True,
    }  # fmt: skip


def _list_of(*nodes: dict[str, Any]) -> dict[str, Any]:
    return {"__class__": "list", "__module__": "builtins", "__loader__": "ListNode", "content": list(nodes)}
