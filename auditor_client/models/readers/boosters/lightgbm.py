"""LightGBM: its text in a file, or a Booster, LGBMClassifier or LGBMRegressor in memory (which is read by its text).

A number is compared as a double. What counts as missing differs from split to split: nothing (NaN is then 0), NaN, or
zero, which is everything up to 1e-35 as float32 around 0. Whatever is as near to 0 as that becomes 0 before it is
compared. A category goes left if its code is one of some; missing and unknown ones go right. Leaves are added in double
precision, in order, from 0.
"""

import importlib
import json
import math
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from auditor_client.errors import ModelRefused
from auditor_client.models.checking import MakersAnswers
from auditor_client.models.forests import Ensemble, FittedTree
from auditor_client.models.inventing import Invented
from auditor_client.models.read_model import ModelRequest, Provenance, ReadModel
from auditor_client.models.readers.boosters.lightgbm_text import VERSIONS, LightGBMModel, LightGBMTree, parsed
from auditor_client.models.readers.decisions import by_choice, compared, makers_answers, one_number, two_classes
from auditor_client.models.readers.frames import frame, installed
from auditor_client.models.readers.inputs import InputTest, ModelInputs
from auditor_client.models.readers.links import exp
from auditor_client.models.readers.tree_tables import TestTable, binary_table, made, tree_table
from auditor_client.models.score_tests import NumberTest
from shared.scores.documents import ScoreTree, Trees

ZERO: Final = float(np.float32(1e-35))
TIES: Final = 2.0**-50
"""Classes whose sums are nearer than this may have probabilities that round to the same double."""
_TIES_MAX: Final = 2.0**-20
_NONE, _ZERO, _NAN = 0, 1, 2
_READ: Final = (
    f"Read are LightGBM's text of the versions {', '.join(VERSIONS)} and boosters in memory, with the objectives "
    "binary, multiclass, multiclassova, cross_entropy, regression (l1, l2, huber, fair, quantile, mape), poisson, "
    "gamma and tweedie."
)
_SAME: Final = ("regression", "regression_l1", "huber", "fair", "quantile", "mape", "lambdarank", "rank_xendcg")
_EXPONENTIAL: Final = ("poisson", "gamma", "tweedie")


def load_file(content: bytes, name: str) -> LightGBMModel:
    """Take a file's text apart; LightGBM itself does not see it yet.

    Raises:
        ModelRefused: It is damaged, or of a kind that is not read.
    """
    return parsed(content, name)


def read_object(model: Any, request: ModelRequest) -> ReadModel:
    """Read a model over a dataset's columns.

    Raises:
        ModelRefused: It cannot be read exactly.
    """
    if type(model).__name__ == "Pipeline":
        return _pipeline(model, request)
    text, booster, labels = (model, None, None) if isinstance(model, LightGBMModel) else _in_memory(model)
    features = ModelInputs(text.names, request)
    for index, categories in text.categories.items():
        features.encode(index, categories)
    documents = _documents(text, features)
    read, classes = _decided(text, documents, request, labels)
    read = features.noted(read)
    maker = installed("lightgbm")
    if maker is None:
        return read

    def ask(records: Invented) -> MakersAnswers:
        own = maker.Booster(model_str=text.text + _pandas(text)) if booster is None else booster
        table = frame(records, request.schema, features.names, text.names, text.categories)
        predicted, raw = own.predict(table), own.predict(table, raw_score=True)
        if len(classes) == 2:
            predicted = np.column_stack([1.0 - predicted, predicted])
        return makers_answers(
            read,
            request,
            classes=classes,
            probabilities=predicted,
            raw=None if text.average else raw,
            ties=_ties(text) if len(classes) > 2 else None,
        )

    return compared(read, request, ask, f"LightGBM {maker.__version__}")


def _in_memory(model: Any) -> tuple[LightGBMModel, Any, list[Any] | None]:
    """A model's text, its Booster, and the labels of its classes."""
    if isinstance(getattr(model, "document", None), LightGBMModel):  # out of a skops file
        return model.document, model.booster, model.classes_.tolist() or None
    if type(model).__name__ not in ("Booster", "LGBMClassifier", "LGBMRegressor"):
        raise ModelRefused(f"{type(model).__name__} is not read as a LightGBM model. {_READ}")
    labels = model.classes_.tolist() if hasattr(model, "classes_") else None
    booster = model if type(model).__name__ == "Booster" else model.booster_
    text = parsed(booster.model_to_string().encode(), "The model")
    if booster.pandas_categorical and not text.categories:
        raise ModelRefused("The model's categories are not in its own text: save it with LightGBM 3 or 4.")
    return text, booster, labels


def _pipeline(model: Any, request: ModelRequest) -> ReadModel:
    """A scikit-learn Pipeline that ends in a model."""
    from auditor_client.models.readers.pipelines import BoosterPipeline  # noqa: PLC0415 - needs scikit-learn

    whole = BoosterPipeline(model, request)
    text, _, labels = _in_memory(whole.booster)
    trees = [_fitted(tree, number % text.classes) for number, tree in enumerate(text.trees)]
    documents = whole.documents(Ensemble(trees, np.zeros(text.classes), text.average))
    read, classes = _decided(text, documents, request, labels)
    maker = importlib.import_module("lightgbm")
    return whole.compared(
        read, classes, f"LightGBM {maker.__version__}",
        None if text.average else lambda table: model.predict(table, raw_score=True),
        _ties(text) if len(classes) > 2 else None,
    )  # fmt: skip


def _fitted(tree: LightGBMTree, score: int) -> FittedTree:
    """A tree over the numbers that the steps of a pipeline make; its leaves are behind its inner nodes."""
    if tree.categories or _ZERO in tree.missing:
        raise ModelRefused(
            "Behind the steps of a Pipeline, LightGBM is read with its inputs as numbers: leave categorical_feature "
            "and zero_as_missing out, and encode categories with OneHotEncoder."
        )
    inner, leaves = len(tree.feature), len(tree.values)
    tests: list[NumberTest | None] = [
        NumberTest(feature, _around_zero(threshold), default if missing == _NAN else threshold >= 0)
        for feature, threshold, missing, default in zip(
            tree.feature, tree.threshold, tree.missing, tree.default_left, strict=True
        )
    ]
    left, right = (
        [child if child >= 0 else inner + ~child for child in children[:inner]] + [-1] * leaves
        for children in (tree.left, tree.right)
    )
    values = np.append(np.zeros(inner), tree.values)[:, None]
    return FittedTree(tests + [None] * leaves, left, right, values, (score,))


def _documents(text: LightGBMModel, features: ModelInputs) -> list[Trees]:
    """One document for each class."""
    documents = []
    for first in range(text.classes):
        tests = TestTable()
        trees = tuple(_table(tree, features, tests) for tree in text.trees[first :: text.classes])
        documents.append(
            made(Trees, kind="trees", precision="float64", tests=tests.tests, trees=trees, mean=text.average)
        )
    return documents


def _table(tree: LightGBMTree, features: ModelInputs, tests: TestTable) -> ScoreTree:
    """A node of the table is a node of the tree and one of its tests: one that takes zero for missing has three."""
    if not tree.categories and _ZERO not in tree.missing:
        nodes = zip(tree.feature, tree.threshold, tree.missing, tree.default_left, strict=True)
        answers = [
            features[feature].compared_with(
                "le", _around_zero(threshold), default if missing == _NAN else threshold >= 0
            )
            for feature, threshold, missing, default in nodes
        ]
        return binary_table(tree.left, tree.right, answers, tree.values, tests)

    def step(node: Any) -> Any:
        index, stage = node
        if index < 0:
            return tree.values[~index]
        feature, left, right = features[tree.feature[index]], (tree.left[index], 0), (tree.right[index], 0)
        if index in tree.categories:
            return feature.predicate(_category_test(tree.categories[index], features, tree.feature[index])), left, right
        threshold, default = tree.threshold[index], left if tree.default_left[index] else right
        if tree.missing[index] == _ZERO:
            if stage == 0:  # missing is 0, so it is taken out first, with all that is near 0
                return feature.predicate(InputTest("lt", -ZERO, missing=False)), (index, 2), (index, 1)
            if stage == 1:
                return feature.predicate(InputTest("le", ZERO, missing=True)), default, (index, 2)
            return feature.predicate(InputTest("le", threshold, missing=False)), left, right
        missing = tree.default_left[index] if tree.missing[index] == _NAN else threshold >= 0
        return feature.predicate(InputTest("le", _around_zero(threshold), missing)), left, right

    return tree_table((0 if tree.feature else -1, 0), step, tests)


def _around_zero(threshold: float) -> float:
    """The threshold for numbers as they are, of one for numbers that became 0 near it."""
    if 0 <= threshold < ZERO:
        return ZERO
    return math.nextafter(-ZERO, -math.inf) if -ZERO <= threshold < 0 else threshold


def _category_test(codes: frozenset[float], features: ModelInputs, index: int) -> InputTest:
    column = features[index].column
    if not features.encoded(index) and not (
        column.type in ("integer", "boolean")
        and (column.type == "boolean" or -(2**31) < column.low <= column.high < 2**31)
    ):
        raise ModelRefused(
            f"The model takes {column.name!r} for categories by their code: declare it as an integer with a range, or "
            "train the model on a DataFrame whose column is categorical."
        )
    return InputTest("in", codes, missing=False)


def _decided(
    text: LightGBMModel, documents: list[Trees], request: ModelRequest, labels: list[Any] | None
) -> tuple[ReadModel, list[Any]]:
    name, *settings = text.objective or ["none"]
    parameters = dict(word.split(":", 1) for word in settings if ":" in word)
    words = [word for word in settings if ":" not in word]
    about = f"{len(text.trees)} tree{'s' if len(text.trees) > 1 else ''}, LightGBM's text {text.version}"
    provenance = Provenance(f"a {'random forest' if text.average else 'gradient-boosted model'} of {about}", "lightgbm")
    if name == "multiclass" and len(documents) > 1 and not words:
        classes = list(range(len(documents))) if labels is None else labels
        return by_choice(documents, request, provenance, classes=classes), classes
    if name == "multiclassova" and len(documents) > 1 and parameters.keys() <= {"num_class", "sigmoid"} and not words:
        classes = list(range(len(documents))) if labels is None else labels
        if _ties(text) > _TIES_MAX:
            raise ModelRefused(
                "The sums of the model's classes are so large that different ones have the same probability: train "
                'with objective="multiclass", or fewer trees.'
            )
        return by_choice(documents, request, provenance, classes=classes), classes
    if len(documents) == 1 and name == "binary" and parameters.keys() <= {"sigmoid"} and not words:
        classes = [0, 1] if labels is None else labels
        rising = _sigmoid(float(parameters.get("sigmoid", "1")))
        read = two_classes(
            documents[0], request, provenance, classes=classes,
            decides=lambda score: rising(score) > 1.0 - rising(score),
            shares=lambda score: (1.0 - rising(score), rising(score)),
        )  # fmt: skip
        return read, classes
    images: dict[str, Callable[[float], float]] = {
        "cross_entropy": _sigmoid(1.0), **dict.fromkeys(_SAME, float), **dict.fromkeys(_EXPONENTIAL, exp)
    }  # fmt: skip
    if len(documents) == 1 and name in images and labels is None and not (words or parameters.keys() - _HARMLESS):
        return one_number(documents[0], request, provenance, image=images[name]), []
    raise ModelRefused(f"The objective {' '.join(text.objective)[:80]!r} is not read. {_READ}")


def _ties(text: LightGBMModel) -> float:
    """How near two classes' sums have to be for their probabilities to round to the same double.

    Of one against all each probability is a sigmoid of its own, which is flat where the sum is large.
    """
    if text.objective[:1] != ["multiclassova"]:
        return TIES
    parameters = dict(word.split(":", 1) for word in text.objective if ":" in word)
    slope = float(parameters.get("sigmoid", "1"))
    _sigmoid(slope)
    largest = [
        sum(max(map(abs, tree.values)) for tree in text.trees[number :: text.classes]) for number in range(text.classes)
    ]
    count = len(text.trees) // text.classes if text.average else 1
    return TIES * (1.0 + exp(slope * max(largest) / count)) / slope


_HARMLESS: Final = frozenset({"alpha", "fair_c", "tweedie_variance_power", "poisson_max_delta_step"})


def _pandas(text: LightGBMModel) -> str:
    """The line in which LightGBM keeps pandas' categories."""
    return f"\npandas_categorical:{json.dumps(list(text.categories.values())) if text.categories else 'null'}\n"


def _sigmoid(slope: float) -> Callable[[float], float]:
    if not 0 < slope < math.inf:
        raise ModelRefused("The objective's sigmoid is not a positive number.")
    return lambda score: 1.0 / (1.0 + exp(-slope * score))
