"""scikit-learn's ensembles of trees as `trees` documents: exact, leaf by leaf, in scikit-learn's order of summation.

With several jobs a forest adds its trees in any order, and its probabilities differ in the last bit from call to call;
what is read is the order of one job.
"""

import copy
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from sklearn._loss import HalfBinomialLoss, HalfMultinomialLoss
from sklearn._loss.loss import ExponentialLoss
from sklearn.compose import ColumnTransformer
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.ensemble._hist_gradient_boosting.binning import _BinMapper
from sklearn.ensemble._hist_gradient_boosting.common import PREDICTOR_RECORD_DTYPE
from sklearn.ensemble._hist_gradient_boosting.predictor import TreePredictor
from sklearn.preprocessing import FunctionTransformer
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeClassifier

from auditor_client.errors import ModelRefused
from auditor_client.models.forests import Ensemble, FittedTree, documents
from auditor_client.models.older_sklearn import compares_shares
from auditor_client.models.preprocessing import Preprocessing
from auditor_client.models.score_tests import NumberTest
from auditor_client.models.scoring import Numbers, Scoring
from auditor_client.models.soundness import NODES_MAX, require_sound_tree
from shared.wire.limits import SCORE_NODES_MAX, SCORE_TREES_MAX

_AGAIN: Final = "Save the model again from its source."
_LOSSES: Final = (ExponentialLoss, HalfBinomialLoss, HalfMultinomialLoss)
TREES: Final = (DecisionTreeClassifier, ExtraTreeClassifier)


def steps_inside(model: Any) -> list[Any]:
    """The steps that a model does before its trees, on its own."""
    if type(model) is not HistGradientBoostingClassifier or model._preprocessor is None:  # noqa: SLF001
        return []
    if type(model._preprocessor) is not ColumnTransformer:  # noqa: SLF001
        raise ModelRefused(f"The model's encoder is not from scikit-learn. {_AGAIN}")
    # Its categories are encoded first; its numbers are only checked, which is no transform that could be traced.
    inside = copy.copy(model._preprocessor)  # noqa: SLF001
    inside.transformers_ = [
        (name, FunctionTransformer() if name == "numerical" else part, columns)
        for name, part, columns in inside.transformers_
    ]
    return [inside]


def scoring_of(model: Any, preprocessing: Preprocessing, before: Preprocessing) -> tuple[Scoring, str]:
    """An ensemble as documents, and what it is in words.

    Args:
        model: One of `ENSEMBLES`, fitted.
        preprocessing: The steps before it, and inside of it.
        before: The steps before it.

    Raises:
        ModelRefused: It cannot be read exactly.
    """
    name, of_trees = ENSEMBLES[type(model)]
    ensemble, scoring = of_trees(model, len(preprocessing.features))
    trees = len(ensemble.trees)
    if trees > SCORE_TREES_MAX or sum(len(tree.tests) for tree in ensemble.trees) > 2 * SCORE_NODES_MAX:
        raise ModelRefused(
            f"The model has {trees} trees: {SCORE_TREES_MAX} with {SCORE_NODES_MAX} leaves together can be read."
        )
    before.require_works(lambda table: model.predict(before.transform(table)), before.features, type(model).__name__)
    rounded = type(model) is not HistGradientBoostingClassifier
    parts = documents(ensemble, preprocessing, preprocessing.matrix if rounded else preprocessing.numbers)
    scoring = replace(scoring, documents=parts, complementary=complementary(ensemble))
    return scoring, name if type(model) in TREES else f"{name} of {trees} tree{'s' if trees > 1 else ''}"


def single_trees(trees: Sequence[Any], features: int, classes: int) -> Ensemble:
    """The mean of single trees' probabilities, each tree with all classes."""
    return Ensemble(
        [_classifier_tree(tree, features, range(classes), classes) for tree in _parts(trees, TREES)],
        np.zeros(classes),
        mean=True,
    )


def complementary(ensemble: Ensemble) -> bool:
    """Whether it is a mean of two numbers that are rounded nowhere: multiples of 2^-20 that add up to 1 in each leaf.

    So are the leaves of fully grown trees, which are 0 or 1.
    """
    if not (ensemble.mean and len(ensemble.base) == 2 and len(ensemble.trees) < 2**20):
        return False
    leaves = np.concatenate(
        [tree.values[[node for node, test in enumerate(tree.tests) if test is None]] for tree in ensemble.trees]
    )
    return bool(((leaves * 2**20 == np.rint(leaves * 2**20)) & (leaves >= 0)).all() and (leaves.sum(axis=1) == 1).all())


def _argmax(numbers: Numbers) -> NDArray[np.intp]:
    indices: NDArray[np.intp] = np.argmax(numbers, axis=1)
    return indices


def mean_of_probabilities(model: Any) -> Scoring:
    """Return what follows from the mean probability of each class."""
    return Scoring(
        model.classes_.tolist(),
        (),
        _argmax,
        probabilities=lambda numbers: numbers,
        own=getattr(model, "predict_proba", None),
    )


def _forest(model: Any, features: int) -> tuple[Ensemble, Scoring]:
    trees = [model] if type(model) in TREES else model.estimators_
    return single_trees(trees, features, len(model.classes_)), mean_of_probabilities(model)


def _bagging(model: Any, features: int) -> tuple[Ensemble, Scoring]:
    trees, classes = [], len(model.classes_)
    for tree, chosen in zip(_parts(model.estimators_, TREES), model.estimators_features_, strict=True):
        columns, labels = np.asarray(chosen).tolist(), np.asarray(tree.classes_).tolist()
        if not (len(columns) == tree.n_features_in_ and all(0 <= column < features for column in columns)):
            raise ModelRefused(f"A tree of the model takes features that there are not. {_AGAIN}")
        if not all(type(label) is int and 0 <= label < classes for label in labels):
            raise ModelRefused(f"A tree of the model decides what the model does not know. {_AGAIN}")
        trees.append(_classifier_tree(tree, len(columns), labels, classes, columns))
    return Ensemble(trees, np.zeros(classes), mean=True), mean_of_probabilities(model)


def _gradient_boosting(model: Any, features: int) -> tuple[Ensemble, Scoring]:
    stages = np.asarray(model.estimators_, object)
    scores = 1 if len(model.classes_) == 2 else len(model.classes_)
    if stages.ndim != 2 or stages.shape[1] != scores:
        raise ModelRefused(f"The model has {stages.shape} trees for {len(model.classes_)} classes. {_AGAIN}")
    rate, before = float(model.learning_rate), model.init_
    if not (before == "zero" if isinstance(before, str) else type(before) is DummyClassifier):
        raise ModelRefused(
            f"The model begins with a {type(before).__name__}, whose probabilities are not a sum of trees. Train "
            "it with init=None or init='zero'."
        )
    if type(before) is DummyClassifier and before.strategy not in ("prior", "most_frequent", "constant"):
        raise ModelRefused("The model begins with what is drawn at random: train it with init=None.")
    trees = []
    for stage in stages:
        for score, tree in enumerate(_parts(stage, (DecisionTreeRegressor,))):
            values = rate * _values(tree, features, 1)
            trees.append(_fitted(tree, values, range(tree.n_features_in_), (score,)))
    base = model._raw_predict_init(np.zeros((1, features)))[0]  # noqa: SLF001  # the same for everybody
    return Ensemble(trees, base), _boosted(model, scores, lambda numbers: (numbers[:, 0] >= 0).astype(np.intp))


def _histogram_boosting(model: Any, features: int) -> tuple[Ensemble, Scoring]:
    scores = 1 if len(model.classes_) == 2 else len(model.classes_)
    base = np.zeros(scores) + np.asarray(model._baseline_prediction, np.float64).reshape(-1)  # noqa: SLF001
    if type(model._bin_mapper) is not _BinMapper:  # noqa: SLF001
        raise ModelRefused(f"The model's bins are not from scikit-learn. {_AGAIN}")
    categorical = np.asarray(model._bin_mapper.is_categorical_, bool)  # noqa: SLF001
    encoded = np.zeros(features, bool)
    if model.is_categorical_ is not None:
        encoded[: np.count_nonzero(model.is_categorical_)] = True  # the encoder's columns come first
    if not np.array_equal(categorical, encoded):
        raise ModelRefused(f"The model's categories do not fit its encoder. {_AGAIN}")
    trees = []
    for stage in model._predictors:  # noqa: SLF001
        if len(stage) != scores:
            raise ModelRefused(f"The model has {len(stage)} trees a round for {len(model.classes_)} classes. {_AGAIN}")
        for score, tree in enumerate(stage):
            trees.append(_histogram_tree(tree, score, categorical, model._bin_mapper.bin_thresholds_))  # noqa: SLF001
    if not compares_shares(model):
        return Ensemble(trees, base), _boosted(model, scores, lambda numbers: (numbers[:, 0] > 0).astype(np.intp))
    scoring = _boosted(model, scores, lambda numbers: _argmax(model._loss.predict_proba(numbers)))  # noqa: SLF001
    # Of several classes two sums that differ in the last bits may have equal probabilities.
    bounds = None if scores == 1 else lambda records: np.full(records.count, 2.0**-50)
    return Ensemble(trees, base), replace(scoring, bounds=bounds)


def _boosted(model: Any, scores: int, by_sign: Callable[[Numbers], NDArray[np.intp]]) -> Scoring:
    """Return what follows from sums at the scale of the loss."""
    if type(model._loss) not in _LOSSES:  # noqa: SLF001
        raise ModelRefused(f"The model's loss is not from scikit-learn. {_AGAIN}")

    def own(matrix: Any) -> Numbers:
        numbers = np.asarray(model.decision_function(matrix), np.float64)
        return numbers.reshape(len(numbers), -1)

    return Scoring(
        model.classes_.tolist(),
        (),
        by_sign if scores == 1 else _argmax,
        probabilities=model._loss.predict_proba,  # noqa: SLF001
        margins=lambda numbers: numbers[:, 0] if scores == 1 else numbers,
        own=own,
    )


def _adaboost(model: Any, features: int) -> tuple[Ensemble, Scoring]:
    """Votes. The sum of all weights, which scikit-learn divides by, makes no difference between two classes."""
    classes, labels = len(model.classes_), model.classes_.tolist()
    two, weights = classes == 2, np.asarray(model.estimator_weights_, np.float64)
    whole = weights.sum()
    trees = []
    for tree, weight in zip(_parts(model.estimators_, TREES), weights, strict=False):
        own = np.asarray(tree.classes_).tolist()
        if not set(own) <= set(labels):
            raise ModelRefused(f"A tree of the model decides what the model does not know. {_AGAIN}")
        votes = np.array([labels.index(label) for label in own])[np.argmax(_values(tree, features, len(own)), 1)]
        values = np.where(votes[:, None] == np.arange(classes), weight, -1 / (classes - 1) * weight)
        trees.append(_fitted(tree, values[:, 1:] if two else values, range(features), (0,) if two else range(classes)))
    if not (np.isfinite(weights).all() and whole > 0):
        raise ModelRefused(f"The weights of the model's trees do not have a positive sum. {_AGAIN}")

    def margins(numbers: Numbers) -> Numbers:
        margin: Numbers = (numbers[:, 0] / whole) * 2 if two else numbers / whole
        return margin

    scoring = Scoring(
        labels,
        (),
        lambda numbers: (margins(numbers) > 0).astype(np.intp) if two else _argmax(margins(numbers)),
        probabilities=lambda numbers: model._compute_proba_from_decision(margins(numbers).copy(), classes),  # noqa: SLF001
        margins=margins,
        # Two sums that differ in the last bit may be equal once they are divided.
        bounds=None if two else lambda records: np.full(records.count, 2**-51 * whole),
    )
    return Ensemble(trees, np.zeros(1 if two else classes)), scoring


ENSEMBLES: Final[Mapping[type, tuple[str, Callable[[Any, int], tuple[Ensemble, Scoring]]]]] = {
    RandomForestClassifier: ("a random forest", _forest),
    ExtraTreesClassifier: ("an extra-trees forest", _forest),
    BaggingClassifier: ("a bagged ensemble", _bagging),
    GradientBoostingClassifier: ("a gradient-boosted model", _gradient_boosting),
    HistGradientBoostingClassifier: ("a histogram gradient-boosted model", _histogram_boosting),
    AdaBoostClassifier: ("an AdaBoost model", _adaboost),
    **dict.fromkeys(TREES, ("a decision tree", _forest)),
}


def _parts(estimators: Any, kinds: tuple[type, ...]) -> list[Any]:
    """An ensemble's trees, after what scikit-learn would follow in them was checked."""
    trees = list(estimators)
    for part in trees:
        if type(part) not in kinds:
            raise ModelRefused(
                f"The model is made of {type(part).__name__}s. Ensembles of {kinds[0].__name__}s are read exactly."
            )
        require_sound_tree(part)
    if not trees:
        raise ModelRefused(f"The model does not have trees. {_AGAIN}")
    return trees


def _values(tree: Any, features: int, width: int) -> Numbers:
    """The values of a tree's nodes, shape (nodes, width)."""
    values = np.asarray(tree.tree_.value, np.float64)
    if values.shape != (tree.tree_.node_count, 1, width) or tree.n_features_in_ != features:
        raise ModelRefused(f"A tree of the model does not fit the others. {_AGAIN}")
    if not np.isfinite(values).all():
        raise ModelRefused(f"A leaf of the model is not a number. {_AGAIN}")
    by_node: Numbers = values[:, 0, :]
    return by_node


def _classifier_tree(
    tree: Any, features: int, labels: Sequence[int], classes: int, columns: Sequence[int] | None = None
) -> FittedTree:
    """A tree's probabilities; of a class that it never saw, 0."""
    values = np.zeros((tree.tree_.node_count, classes))
    values[:, list(labels)] = _values(tree, features, len(labels))
    return _fitted(tree, values, range(features) if columns is None else columns, range(classes))


def _fitted(tree: Any, values: Numbers, columns: Sequence[int], scores: Iterable[int]) -> FittedTree:
    nodes = tree.tree_
    if np.isnan(nodes.threshold).any():
        raise ModelRefused(f"A threshold of the model is not a number. {_AGAIN}")
    left, right = nodes.children_left.tolist(), nodes.children_right.tolist()
    of_nan = (nodes.missing_go_to_left != 0).tolist()
    tests = [
        None if low == -1 else NumberTest(columns[feature], threshold, nan)
        for low, feature, threshold, nan in zip(
            left, nodes.feature.tolist(), nodes.threshold.tolist(), of_nan, strict=True
        )
    ]
    return FittedTree(tests, left, right, values, tuple(scores))


def _histogram_tree(tree: Any, score: int, categorical: NDArray[np.bool_], categories: Any) -> FittedTree:
    if type(tree) is not TreePredictor:
        raise ModelRefused(f"One of the model's trees is a {type(tree).__name__}. {_AGAIN}")
    nodes = tree.nodes
    count = len(nodes)
    leaf = nodes["is_leaf"].astype(bool)
    left, right = (np.where(leaf, -1, nodes[side].astype(np.int64)) for side in ("left", "right"))
    inner, here = ~leaf, np.arange(count)
    sound = (
        nodes.dtype == PREDICTOR_RECORD_DTYPE
        and tree.raw_left_cat_bitsets.shape[1:] == (8,)
        and 1 <= count <= NODES_MAX
        and ((left > here) & (left < count) & (right > here) & (right < count) | leaf).all()
        and count == 2 * inner.sum() + 1
        and len(np.unique(np.concatenate([left[inner], right[inner]]))) == count - 1
        and ((nodes["feature_idx"] >= 0) & (nodes["feature_idx"] < len(categorical)) | leaf).all()
        and ((nodes["bitset_idx"] < len(tree.raw_left_cat_bitsets)) | (nodes["is_categorical"] == 0) | leaf).all()
        and np.isfinite(nodes["value"]).all()
        and not np.isnan(nodes["num_threshold"][inner]).any()
    )
    if not sound:
        raise ModelRefused(f"The nodes of one of the model's trees do not make a tree. {_AGAIN}")
    tests = [
        None if node["is_leaf"] else _histogram_test(node, tree.raw_left_cat_bitsets, categorical, categories)
        for node in nodes
    ]
    return FittedTree(tests, left.tolist(), right.tolist(), nodes["value"].astype(np.float64)[:, None], (score,))


def _histogram_test(node: Any, bitsets: Any, categorical: NDArray[np.bool_], categories: Any) -> NumberTest:
    feature, of_nan = int(node["feature_idx"]), bool(node["missing_go_to_left"])
    if not node["is_categorical"]:
        return NumberTest(feature, float(node["num_threshold"]), of_nan)
    if not categorical[feature]:
        raise ModelRefused(f"The model takes a number for a category. {_AGAIN}")
    bits = np.asarray(bitsets[node["bitset_idx"]], np.uint32)
    codes = frozenset(code for code in range(32 * len(bits)) if bits[code // 32] >> np.uint32(code % 32) & np.uint32(1))
    return NumberTest(feature, 0.0, of_nan, codes, frozenset(int(code) for code in categories[feature]))
