"""Models that an earlier scikit-learn saved: what the installed one would read otherwise, and what it does not find.

A file has the numbers that its maker fitted; what the maker made of them has changed since. Until 1.3 a tree's leaves
hold counts and are divided when the tree predicts; until 1.7 a gradient boosting keeps its first probability further
from 0 and 1; until 1.4 a histogram gradient boosting compares rounded probabilities. So the objects are changed until
the installed scikit-learn predicts with them as the one of the file did, or the file is refused.
"""

import inspect
import io
import json
import re
import sys
import warnings
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Final

import numpy as np
import sklearn
from sklearn import ensemble, impute, linear_model, preprocessing, tree
from sklearn.base import BaseEstimator
from sklearn.dummy import DummyClassifier
from sklearn.tree._tree import NODE_DTYPE

from auditor_client.errors import ModelRefused

OLDEST: Final = (1, 2)
Version = tuple[int, int]

_HARMLESS: Final[Mapping[str, tuple[Any, ...]]] = {
    "algorithm": ("SAMME", "deprecated"),
    "base_estimator": ("deprecated", None),
    "multi_class": ("auto", "deprecated"),  # "multinomial" of two classes has other probabilities today
    "penalty": ("l2", "deprecated", None),
    "n_jobs": (None, 1, -1),
    "verbose": (0, "deprecated", False),
    "sparse": ("deprecated", True, False),
    "max_fpr": (None,),
    "force_int_remainder_cols": (True, False, "deprecated"),
}
"""Parameters that scikit-learn has no more, and the values with which a fitted model predicts the same without them."""
_OF_TRAINING: Final = ("C", "epsilon", "average", "standard_coef_", "standard_intercept_", "average_coef_", "t_")
"""Members of linear models fitted by gradient steps that only training reads."""
_KNOWN: Final[Mapping[str, str]] = {
    "_sklearn_version": "it is looked at here",
    "feature_names_in_": "the inputs' names, which are compared with the columns",
    "n_features_in_": "how many inputs there are",
    "_sklearn_output_config": "whether steps make frames or arrays of the same numbers",
    "_n_features": "how many inputs there are",
    "_n_classes": "how many classes there are",
    "_name_to_fitted_passthrough": "steps that hand on what they get",
    "loss_function_": "the parameter `loss` says it",
}
"""Members that the source of the installed classes does not name, and why a model predicts the same without them."""
_STEPWISE: Final = ("SGDClassifier", "Perceptron", "PassiveAggressiveClassifier")
_LOSSES: Final = ("_loss", "loss_function_", "_loss_function_")
_BOOSTINGS: Final = ("GradientBoostingClassifier", "HistGradientBoostingClassifier")
_NOTHING: Final = {
    "__class__": "str", "__module__": "builtins", "__loader__": "JsonNode", "content": "null", "is_json": True,
}  # fmt: skip
_TREES: Final = (tree.DecisionTreeClassifier, tree.ExtraTreeClassifier)
_AGAIN: Final = "Fit the model with a newer one, and save it again."


def saved_by(schema: Any) -> Version | None:
    """The version of scikit-learn that saved a file, if it is not the installed one; of several, the oldest.

    Args:
        schema: The parsed `schema.json` of a skops file.
    """
    versions = {
        version
        for state in states(schema)
        if isinstance(text := member(state, "_sklearn_version"), str) and (version := _version(text)) != _today()
    }
    return min(versions, default=None)


def with_todays_nodes(content: bytes) -> bytes:
    """The nodes of a tree of scikit-learn 1.2, which say nothing about missing values, as the installed one has them.

    Args:
        content: An array of a skops file, in numpy's format; any other array comes back as it is.
    """
    nodes = np.lib.format.read_array(io.BytesIO(content), allow_pickle=False)
    if nodes.dtype.names is None or set(NODE_DTYPE.names) - set(nodes.dtype.names) != {"missing_go_to_left"}:
        return content
    changed = np.zeros(nodes.shape, NODE_DTYPE)
    for name in nodes.dtype.names:
        changed[name] = nodes[name]
    written = io.BytesIO()
    np.lib.format.write_array(written, changed, allow_pickle=False)
    return written.getvalue()


def without_earlier_objects(schema: Any) -> None:
    """Take losses, which `completed` gives back from their names, and lists that warn out of a schema.

    Args:
        schema: The parsed `schema.json`, which changes.
    """
    for state in states(schema):
        inside = _members(state)
        kind = state.get("__class__")
        if inside is not None and kind == "_RemainderColsList" and isinstance(inside.get("data"), dict):
            listed = inside["data"]  # a list that warns, of 1.5 and 1.6
            state.clear()
            state.update(listed)
            continue
        for name in _LOSSES if inside is not None and kind in (*_BOOSTINGS, *_STEPWISE) else ():
            if name in inside:  # type: ignore[operator]
                inside[name] = dict(_NOTHING)  # type: ignore[index]


def require_todays_parameters(state: Mapping[str, Any], estimator: type, name: str) -> None:
    """Refuse an estimator with a member that the installed scikit-learn does not know, so that it is ignored.

    The vocabulary of a class is what it has before it is fitted, and each attribute that its source names.
    """
    inside, text = _members(state), member(state, "_sklearn_version")
    members, names = _todays_members(estimator), _named_in_source(estimator)
    for attribute in inside or ():
        fitted = attribute.startswith("_") or attribute.endswith("_")
        if attribute in members or (fitted and (names is None or attribute in names or attribute in _KNOWN)):
            continue
        if estimator.__name__ in _STEPWISE and attribute in _OF_TRAINING:
            continue
        value = member(state, attribute)
        if fitted or value not in _HARMLESS.get(attribute, ()):
            raise ModelRefused(
                f"{name} was saved by scikit-learn {text or '(no version)'}: its {estimator.__name__} has "
                f"{attribute}={value!r}, which the installed {sklearn.__version__} "
                f"does not know and would ignore. {_AGAIN}"
            )


def completed(model: Any, version: Version, file: str) -> None:
    """Give the objects of an earlier scikit-learn what the installed one reads, so that it predicts as theirs did.

    Args:
        model: As skops built it; it changes.
        version: Of the scikit-learn that saved it.
        file: The file's name, for errors.

    Raises:
        ModelRefused: A part of it predicts otherwise today, whatever is given to it.
    """
    if not version >= OLDEST:
        raise ModelRefused(f"{file} was saved by scikit-learn {_text(version)}, older than 1.2. {_AGAIN}")
    for part in _parts(model):
        kind = type(part)
        if not any(name.endswith("_") and not name.startswith("_") for name in vars(part)):
            continue  # it is not fitted: a parameter of another
        if kind is impute.SimpleImputer and not hasattr(part, "_fill_dtype"):
            part._fill_dtype = part._fit_dtype  # noqa: SLF001
        elif kind is preprocessing.OrdinalEncoder and not hasattr(part, "_infrequent_enabled"):
            part._infrequent_enabled = False  # noqa: SLF001  # it groups none before 1.3
        elif kind is linear_model.RidgeClassifier and not hasattr(part, "classes_"):
            part.classes_ = part._label_binarizer.classes_  # noqa: SLF001
        elif kind in _TREES:
            _complete_tree(part, version)
        elif kind in (ensemble.RandomForestClassifier, ensemble.ExtraTreesClassifier):
            without = version < ((1, 4) if kind is ensemble.RandomForestClassifier else (1, 6))
            for tree in part.estimators_ if without else ():
                tree._support_missing_values = _never  # noqa: SLF001  # they refused missing values then
        elif kind is ensemble.GradientBoostingClassifier:
            _complete_boosting(part, version, file)
        elif kind is ensemble.HistGradientBoostingClassifier:
            _complete_histograms(part, version, file)


def compares_shares(model: Any) -> bool:
    """Whether a histogram gradient boosting decides by its rounded probabilities, as it did until 1.4."""
    return getattr(model, "predict", None).__class__.__name__ == "_ByShares"


class _ByShares:
    """`predict` by the largest probability."""

    def __init__(self, model: Any) -> None:
        self._model = model

    def __call__(self, table: Any) -> Any:
        return self._model.classes_[np.argmax(self._model.predict_proba(table), axis=1)]


def _never(_: Any) -> bool:
    return False


def _complete_tree(part: Any, version: Version) -> None:
    values = part.tree_.value
    if version < (1, 4):  # counts, which predict_proba divided
        whole = values.sum(axis=2, keepdims=True)
        values /= np.where(whole == 0, 1.0, whole)
    if version < ((1, 3) if type(part) is tree.DecisionTreeClassifier else (1, 6)):
        part._support_missing_values = _never  # noqa: SLF001


def _complete_boosting(part: Any, version: Version, name: str) -> None:
    if version < (1, 4):
        raise ModelRefused(
            f"{name} was saved by scikit-learn {_text(version)}, whose gradient boosting rounds and decides ties "
            f"otherwise. {_AGAIN}"
        )
    part._loss = part._get_loss(sample_weight=None)  # noqa: SLF001
    if version < (1, 8) and type(part.init_) is DummyClassifier:
        part._raw_predict_init = _Beginning(part)  # noqa: SLF001


class _Beginning:
    """Where a gradient boosting of 1.4 to 1.7 begins: a probability that is at least float32's epsilon from 0 and 1."""

    def __init__(self, model: Any) -> None:
        self._model = model

    def __call__(self, table: Any) -> Any:
        shares = self._model.init_.predict_proba(table)
        two = not self._model._loss.is_multiclass  # noqa: SLF001
        least = np.finfo(np.float32).eps
        shares = np.clip(shares[:, 1] if two else shares, least, 1 - least, dtype=np.float64)
        raw = self._model._loss.link.link(shares)  # noqa: SLF001
        return raw.reshape(-1, 1) if two else raw


def _complete_histograms(part: Any, version: Version, name: str) -> None:
    if not hasattr(part, "_preprocessor"):
        if part.is_categorical_ is not None:
            raise ModelRefused(
                f"{name} was saved by scikit-learn {_text(version)}, whose histogram gradient boosting keeps "
                f"categories otherwise. {_AGAIN}"
            )
        part._preprocessor = None  # noqa: SLF001
    part._loss = part._get_loss(sample_weight=None)  # noqa: SLF001
    if version < (1, 5):
        part.predict = _ByShares(part)


def _parts(model: Any) -> Iterator[Any]:
    """The objects of scikit-learn inside of one, and it itself."""
    waiting, visited = [model], set()
    while waiting:
        part = waiting.pop()
        if id(part) in visited:
            continue
        visited.add(id(part))
        if isinstance(part, BaseEstimator) or type(part).__module__.startswith("sklearn.calibration"):
            yield part
            waiting += vars(part).values()
        elif isinstance(part, dict):
            waiting += part.values()
        elif isinstance(part, list | tuple):
            waiting += part
        elif isinstance(part, np.ndarray) and part.dtype == object:
            waiting += part.ravel().tolist()


def states(document: Any) -> Iterator[dict[str, Any]]:
    """Every object that skops would build, at any depth."""
    waiting = [document]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            if "__loader__" in node:
                yield node
            waiting += node.values()
        elif isinstance(node, list):
            waiting += node


def member(state: Mapping[str, Any], name: str) -> Any:
    """A plain member of an object's state; None if it has none."""
    try:
        return json.loads(state["content"]["content"][name]["content"])
    except (KeyError, TypeError, ValueError):
        return None


def _members(state: Mapping[str, Any]) -> dict[str, Any] | None:
    inside = state.get("content")
    members = inside.get("content") if isinstance(inside, dict) else None
    return members if isinstance(members, dict) else None


@cache
def _named_in_source(estimator: type) -> frozenset[str] | None:
    """Each attribute that the modules of a class and of those it comes from name; None where there is no source."""
    names: set[str] = set()
    for ancestor in estimator.__mro__:
        if ancestor.__module__.startswith("sklearn."):
            try:
                names |= set(re.findall(r"\.([A-Za-z_]\w*)", inspect.getsource(sys.modules[ancestor.__module__])))
            except (OSError, TypeError):
                return None
    return frozenset(names)


@cache
def _todays_members(estimator: type) -> set[str]:
    """The names of what the installed class has before it is fitted."""
    parameters = inspect.signature(estimator).parameters
    required = {name: None for name, parameter in parameters.items() if parameter.default is parameter.empty}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {*parameters, *vars(estimator(**required))}


def _version(text: str) -> Version:
    match = re.match(r"(\d{1,4})\.(\d{1,4})", text)
    return (int(match[1]), int(match[2])) if match else (0, 0)


def _today() -> Version:
    return _version(sklearn.__version__)


def _text(version: Version) -> str:
    return f"{version[0]}.{version[1]}"
